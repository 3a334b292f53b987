//! A history made up for this: edits, renames, copies, deletions, modes, line ends, odd names.

use super::random::Random;
use super::twins::{Twins, difference, git, tree};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Commits of the history; with `BEAMAI_LONG`, more of them.
fn commits() -> usize {
    if std::env::var_os("BEAMAI_LONG").is_some() { 300 } else { 100 }
}

/// Ways to have the diff written, and what `git apply` must be told then.
const STYLES: [(&[&str], &[&str]); 8] = [
    (&["-M"], &[]),
    (&["-M50%", "-C"], &[]),
    (&["--no-renames"], &[]),
    (&["-M", "-U1"], &[]),
    (&["-M", "-U0"], &["--unidiff-zero"]),
    (&["-M", "--no-prefix"], &["-p0"]),
    (&["-M", "--src-prefix=i/", "--dst-prefix=w/", "--full-index"], &[]),
    (&["-C", "--find-copies-harder", "--patience"], &[]),
];

#[test]
fn a_made_up_history_comes_out_as_git_has_it() {
    let mut history = History::new();
    let mut twins = Twins::new();
    for at in 0..commits() {
        let is_changed = history.commit();
        if !is_changed {
            continue;
        }
        let (style, options) = STYLES[at % STYLES.len()];
        let patch = history.diff(style, "HEAD~1", "HEAD");
        let tree = twins.apply(&patch, options);
        history.compare(&tree);
        if at % 4 == 0 {
            // There and back again.
            let now = history.tree();
            twins.apply(&history.diff(style, "HEAD", "HEAD~1"), options);
            let again = twins.apply(&patch, options);
            assert!(now == again, "{}", difference(&now, &again));
        }
    }
    assert!(twins.files > 2 * commits(), "{} files were patched", twins.files);
}

#[test]
fn a_mailbox_of_commits_is_applied_in_order() {
    let mut history = History::new();
    (0..60).for_each(|_| _ = history.commit());
    let mut twins = Twins::new();
    // As `git am` would: git apply knows no mailboxes, so it gets one commit after the other.
    let commits = String::from_utf8(history.git(&["rev-list", "--reverse", "HEAD"])).unwrap();
    // The first one is empty.
    for commit in commits.lines().skip(1) {
        let mail = history.git(&["format-patch", "--stdout", "-1", commit]);
        twins.apply(&mail, &[]);
    }
    let whole = history.git(&["format-patch", "--stdout", "--root", "HEAD"]);
    let fixture = super::twins::Ours::new();
    let value = fixture.apply(std::str::from_utf8(&whole).unwrap());
    assert_eq!(value["applied"], true);
    let (wanted, got) = (history.tree(), fixture.tree());
    assert!(wanted == got, "{}", difference(&wanted, &got));
}

/// A repository that grows.
struct History {
    dir: TempDir,
    random: Random,
    is_begun: bool,
}

impl History {
    fn new() -> Self {
        let history = Self { dir: tempfile::tempdir().unwrap(), random: Random::new(7), is_begun: false };
        history.git(&["init", "-q"]);
        history.git(&["commit", "-q", "--allow-empty", "-m", "nothing"]);
        history
    }

    fn git(&self, args: &[&str]) -> Vec<u8> {
        git(self.dir.path(), args, b"").unwrap_or_else(|error| panic!("{args:?}: {error}"))
    }

    fn diff(&self, style: &[&str], from: &str, to: &str) -> Vec<u8> {
        self.git(&[&["diff"], style, &[from, to]].concat())
    }

    fn tree(&self) -> super::twins::Tree {
        tree(self.dir.path())
    }

    fn compare(&self, got: &super::twins::Tree) {
        let own = self.tree();
        assert!(own == *got, "{}", difference(&own, got));
    }

    /// Changes some files and commits that; false when nothing changed.
    fn commit(&mut self) -> bool {
        let changes = if self.is_begun { 1 + self.random.below(4) } else { 12 };
        for _ in 0..changes {
            if self.is_begun { self.change() } else { self.create() }
        }
        self.is_begun = true;
        self.remove_empty_directories();
        self.git(&["add", "-A"]);
        git(self.dir.path(), &["commit", "-q", "-m", "a change\n\n- of files\n+ and more"], b"").is_ok()
    }

    fn files(&self) -> Vec<PathBuf> {
        let tree = self.tree();
        tree.into_iter().filter(|(_, file)| file.is_some()).map(|(path, _)| path).collect()
    }

    fn change(&mut self) {
        let files = self.files();
        if files.len() < 8 {
            return self.create();
        }
        let path = self.dir.path().join(self.random.pick(&files));
        match self.random.below(12) {
            0 => self.create(),
            1 => std::fs::remove_file(path).unwrap(),
            2 => self.relocate(&path, true, false),
            3 => self.relocate(&path, true, true),
            4 => self.relocate(&path, false, true),
            5 => self.flip_mode(&path),
            6 => self.swap_line_ends(&path),
            7 => self.swap_final_newline(&path),
            _ => self.edit(&path),
        }
    }

    fn create(&mut self) {
        let path = self.fresh_path();
        let lines = if self.random.one_in(8) { 0 } else { 1 + self.random.below(60) };
        let end = if self.random.one_in(4) { "\r\n" } else { "\n" };
        let mut text: String = (0..lines).map(|_| self.line() + end).collect();
        if self.random.one_in(4) {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        if self.random.one_in(10) {
            text.insert(0, '\u{FEFF}');
        }
        std::fs::write(&path, text).unwrap();
        if self.random.one_in(6) {
            self.flip_mode(&path);
        }
    }

    /// A path where nothing is, in a directory that can be made.
    fn fresh_path(&mut self) -> PathBuf {
        const NAMES: [&str; 12] = [
            "a",
            "b",
            "main.rs",
            "x y",
            "ä",
            "tab\there",
            "quo\"te",
            "back\\slash",
            "漢字",
            "-dash",
            "b.txt",
            " lead",
        ];
        const DIRS: [&str; 7] = ["", "src", "src/deep/er", "a dir", "b", "ü", "a"];
        loop {
            let dir = self.dir.path().join(self.random.pick(&DIRS));
            let path = dir.join(format!("{}{}", self.random.pick(&NAMES), self.random.below(10)));
            if !path.exists() {
                std::fs::create_dir_all(dir).unwrap();
                return path;
            }
        }
    }

    fn relocate(&mut self, path: &Path, is_gone: bool, is_edited: bool) {
        let to = self.fresh_path();
        match is_gone {
            true => std::fs::rename(path, &to).unwrap(),
            false => _ = std::fs::copy(path, &to).unwrap(),
        }
        if is_edited {
            self.edit(&to);
        }
    }

    fn flip_mode(&self, path: &Path) {
        let is_executable = std::fs::metadata(path).unwrap().permissions().mode() & 0o100 != 0;
        let mode = if is_executable { 0o644 } else { 0o755 };
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn swap_line_ends(&self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let text = match text.contains("\r\n") {
            true => text.replace("\r\n", "\n"),
            false => text.replace('\n', "\r\n"),
        };
        std::fs::write(path, text).unwrap();
    }

    fn swap_final_newline(&self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let text = match text.strip_suffix('\n') {
            Some(text) => text.to_owned(),
            None => text + "\n",
        };
        std::fs::write(path, text).unwrap();
    }

    /// Changes lines in a few places.
    fn edit(&mut self, path: &Path) {
        let text = std::fs::read_to_string(path).unwrap();
        let end = if text.contains("\r\n") && !self.random.one_in(5) { "\r\n" } else { "\n" };
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        for _ in 0..1 + self.random.below(3) {
            let at = self.random.below(lines.len() + 1);
            let gone = self.random.below(4).min(lines.len() - at);
            let new: Vec<String> = (0..self.random.below(4)).map(|_| self.line() + end).collect();
            lines.splice(at..at + gone, new);
        }
        std::fs::write(path, lines.concat()).unwrap();
    }

    /// A line, often one that there are more of.
    fn line(&mut self) -> String {
        const COMMON: [&str; 10] =
            ["", "}", "{", "    x = 1;", "-- x", "++ y", "- item", "\\ no", " ", "@@ -1 +1 @@"];
        match self.random.one_in(2) {
            true => (*self.random.pick(&COMMON)).to_owned(),
            false => format!("line {} of ä 漢", self.random.below(100_000)),
        }
    }

    fn remove_empty_directories(&self) {
        let tree = self.tree();
        // Those below come after those above.
        for dir in tree.into_iter().rev().filter(|(_, file)| file.is_none()).map(|(path, _)| path) {
            _ = std::fs::remove_dir(self.dir.path().join(dir));
        }
    }
}
