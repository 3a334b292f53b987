//! A workspace with something to be kept, and with links to it.

use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A word of the file that is kept from tools, and of a name beside it.
pub(crate) const SECRET: &str = "treasure";
/// A word of the files that are not.
pub(crate) const HARMLESS: &str = "pebble";

const KEPT: &str = "one\ntreasure\n";

/// What is exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file and a link to the kept one.
    File,
    /// A directory and a link to the kept one.
    Directory,
    /// Two directories, in each of which a link leads elsewhere.
    Directories,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::File, Self::Directory, Self::Directories];
    /// Those that lead to a directory.
    pub(crate) const OF_DIRECTORIES: [Self; 2] = [Self::Directory, Self::Directories];

    pub(crate) fn exchanged(self) -> (&'static str, &'static str) {
        match self {
            Self::File => ("f", "g"),
            Self::Directory => ("d", "e"),
            Self::Directories => ("p", "q"),
        }
    }

    /// The directory that tools are called with.
    pub(crate) fn directory(self) -> &'static str {
        match self {
            Self::File => ".",
            Self::Directory => "d",
            Self::Directories => "p/to",
        }
    }

    /// The file that tools are called with.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::File => "f",
            Self::Directory => "d/f",
            Self::Directories => "p/to/f",
        }
    }

    /// Where files are that tools may make, whichever is there.
    pub(crate) fn places(self) -> &'static [&'static str] {
        match self {
            Self::File => &["."],
            Self::Directory => &["d", "e"],
            Self::Directories => &["open"],
        }
    }
}

pub(crate) struct Fixture(TempDir);

impl Fixture {
    pub(crate) fn new() -> Self {
        let fixture = Self(TempDir::new().unwrap());
        for directory in ["kept", "open", "d", "p", "q"] {
            fs::create_dir(fixture.path(directory)).unwrap();
        }
        fs::write(fixture.path("kept/f"), KEPT).unwrap();
        fs::write(fixture.path("kept/treasure"), KEPT).unwrap();
        fs::write(fixture.path("kept/both"), "one\n").unwrap();
        for directory in ["open", "d", "."] {
            fs::write(fixture.path(directory).join("f"), format!("one\n{HARMLESS}\n")).unwrap();
            fs::write(fixture.path(directory).join(HARMLESS), "").unwrap();
        }
        for (target, link) in [("kept/f", "g"), ("kept", "e"), ("../open", "p/to"), ("../kept", "q/to")] {
            std::os::unix::fs::symlink(target, fixture.path(link)).unwrap();
        }
        fixture
    }

    pub(crate) fn root(&self) -> &std::path::Path {
        self.0.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// What has become of what is kept, if anything has; it is as it was then.
    pub(crate) fn harm(&self) -> Option<String> {
        let text = fs::read_to_string(self.path("kept/f")).unwrap_or_else(|error| error.to_string());
        let mut names: Vec<_> =
            fs::read_dir(self.path("kept")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        // A draft on a file system without nameless files would show here, too.
        (text != KEPT || names != ["both", "f", "treasure"])
            .then(|| format!("kept/f is {text:?} beside {names:?}"))
    }
}
