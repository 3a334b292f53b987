//! The start of a program in the sandbox, as the exec guard sees it, and who decides about it.
//!
//! The guard (the crate `beamai-exec-guard`) reports every `execve` and `execveat` before it happens. It finds out which file would run
//! and who starts it; what may start is the judge's business, which lives with the host of the call, outside of the
//! sandbox.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options of the loader whose value is the next word.
const LOADERS_VALUED: [&str; 6] =
    ["--library-path", "--inhibit-rpath", "--audit", "--preload", "--argv0", "--glibc-hwcaps-prepend"];

/// A program that is about to start. Paths are absolute and as the sandbox sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStart {
    /// The path as the caller gave it, made absolute and without `.` and `..`.
    pub called: PathBuf,
    /// The path after each symbolic link on the way to the file, in order: each is another name of the file.
    pub links: Vec<PathBuf>,
    /// The file itself.
    pub file: PathBuf,
    /// Every name of the program that is to be loaded, where this one is the loader and that one is found. It shows no start of
    /// its own.
    pub loaded: Vec<PathBuf>,
    /// The chain of `#!` interpreters: each as the line names it, followed by its own links and its file.
    pub interpreters: Vec<PathBuf>,
    /// The arguments, cut where they are long. The first is the name of the program as the caller gave it, which need not
    /// be that of the file: programs of several names do what it says.
    pub arguments: Vec<OsString>,
    /// Whether [`arguments`](Self::arguments) is all of them.
    pub has_all_arguments: bool,
    /// Whether commands can write the file, a link that leads to it, or a directory that holds one of these.
    pub is_writable: bool,
    /// Who starts it.
    pub starter: Starter,
}

impl ProgramStart {
    /// Whether the file is the loader of programs, which starts one without the Linux kernel's help.
    pub fn is_loader(&self) -> bool {
        is_loader(&self.called) || is_loader(&self.file)
    }

    /// The arguments of the loader that begin with the program that it is to load.
    pub fn loaded_arguments(&self) -> &[OsString] {
        loaded_arguments(&self.arguments)
    }
}

/// Whether a file has the name of a loader of programs.
pub fn is_loader(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" || name == "ld64.so"
}

/// The loader's arguments from the program on that it is to load.
pub fn loaded_arguments(arguments: &[OsString]) -> &[OsString] {
    let mut is_value = false;
    let mut is_own = |text: &OsString| {
        let was_value = std::mem::replace(&mut is_value, LOADERS_VALUED.iter().any(|option| text == option));
        was_value || text.as_encoded_bytes().starts_with(b"-")
    };
    let own = arguments.iter().skip(1).take_while(|text| is_own(text)).count();
    arguments.get(1 + own..).unwrap_or_default()
}

/// The process that starts a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// Its id, as the port sees it.
    pub pid: i32,
    /// The file that it runs.
    pub program: PathBuf,
    /// The arguments that it was started with, cut where they are long.
    pub arguments: Vec<OsString>,
    /// Whether [`arguments`](Self::arguments) is all of them.
    pub has_all_arguments: bool,
    /// What its own start covers.
    pub coverage: StartCoverage,
}

/// What the start of a program covers of what that starts in turn, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartCoverage {
    /// Nothing but the parts of the program: this entry of the judge's table.
    Parts(u16),
    /// Nothing: what it starts is judged as if the shell started it. Shells and wrappers.
    Judged,
    /// Everything that no rule denies. Runners, and commands that were approved as a whole.
    Everything,
}

impl StartCoverage {
    /// The parts of no program. A table has no such entry.
    pub const NOTHING: Self = Self::Parts(u16::MAX);

    /// What both cover.
    pub fn least(self, other: Self) -> Self {
        match (self, other) {
            (Self::Parts(one), Self::Parts(another)) if one != another => Self::NOTHING,
            _ => self.min(other),
        }
    }
}

/// What becomes of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    /// It goes on, and covers this much.
    Start(StartCoverage),
    /// It fails with `EACCES`.
    Refuse,
    /// It waits: the guard hands it to [`StartJudge::hold`] and goes on with other starts.
    Hold,
}

/// Decides about the starts of one command. Called on the guard's thread, so it must not wait.
///
/// It is asked only about files that are there and may be executed. Two things it need not allow for: the start of the
/// order's own program is not judged; a program that an order has started in place of a shell is
/// judged as a start by that shell, and where it does not go on at once, it fails, and the shell comes to start the same.
pub trait StartJudge: Send + Sync {
    /// What becomes of a start.
    fn decide(&self, start: &ProgramStart) -> StartDecision;

    /// Takes a start for which somebody has to be asked. Dropping `held` refuses it.
    fn hold(&self, start: ProgramStart, held: Box<dyn HeldStart>);
}

impl std::fmt::Debug for dyn StartJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StartJudge")
    }
}

/// A start that waits for an answer. Dropped without one, it is refused.
pub trait HeldStart: Send {
    /// Lets it go on.
    fn start(self: Box<Self>, coverage: StartCoverage);

    /// Has it fail with `EACCES`.
    fn refuse(self: Box<Self>);
}
