//! Whatever happens to a repository, the tools print what git prints.

use super::repo::{Repo, same};
use std::collections::BTreeMap;

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn text(&mut self) -> String {
        let words =
            ["fn main() {", "}", "", "    let x = 1;", "alpha", "\tbeta", "gamma", "// note", "delta "];
        let mut text: String = (0..self.below(40)).map(|_| format!("{}\n", self.pick(&words))).collect();
        if self.below(8) == 0 {
            text.push_str("no newline at the end");
        }
        text
    }

    /// The text with a few lines changed.
    fn edited(&mut self, text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=self.below(3) {
            let at = self.below(lines.len() + 1);
            match self.below(3) {
                0 => lines.insert(at, format!("line {}", self.below(100))),
                1 if at < lines.len() => _ = lines.remove(at),
                _ if at < lines.len() => lines[at] = format!("changed {}", self.below(100)),
                _ => {}
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

const PATHS: [&str; 14] = [
    "a",
    "b.txt",
    "c d",
    "dir/x",
    "dir/y",
    "dir/sub/z",
    "ä",
    "other/b.txt",
    "other/a",
    ".hidden",
    "dir/.x",
    "z-last",
    "q\"uote",
    "tab\there",
];

fn step(repo: &Repo, dice: &mut Dice, files: &mut BTreeMap<String, String>) {
    let path = dice.pick(&PATHS);
    match dice.below(12) {
        0..=3 => put(repo, files, path, dice.text()),
        4..=6 => {
            let text = files.get(path).cloned().unwrap_or_default();
            put(repo, files, path, dice.edited(&text));
        }
        7 if files.remove(path).is_some() => repo.remove(path),
        8 => {
            let to = dice.pick(&PATHS);
            if let (Some(text), false) = (files.get(path).cloned(), files.contains_key(to)) {
                files.remove(path);
                repo.remove(path);
                let text = if dice.below(2) == 0 { dice.edited(&text) } else { text };
                put(repo, files, to, text);
            }
        }
        9 => _ = repo.git(&["add", "-A"]),
        10 if files.contains_key(path) => _ = repo.git(&["add", path]),
        11 if files.contains_key(path) => repo.executable(path),
        _ => {}
    }
}

fn put(repo: &Repo, files: &mut BTreeMap<String, String>, path: &str, text: String) {
    repo.write(path, &text);
    files.insert(path.to_owned(), text);
}

fn play(seed: u64, rounds: usize) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (repo, mut files) = (Repo::new(), BTreeMap::new());
    for round in 0..rounds {
        for _ in 0..=dice.below(6) {
            step(&repo, &mut dice, &mut files);
        }
        repo.is_shown_alike();
        if dice.below(3) == 0 {
            repo.commit(&format!("round {round}"));
            repo.is_logged_alike();
        }
    }
}

fn merge(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let base = dice.text() + &dice.text();
    let paths = ["a", "b c", "dir/x"];
    let repo = Repo::with(&paths.map(|path| (path, base.as_str())));
    let change = |dice: &mut Dice, message: &str| {
        for path in paths {
            match dice.below(6) {
                0 => repo.remove(path),
                1 => repo.executable(path),
                _ => repo.write(path, dice.edited(&base)),
            }
        }
        repo.commit(message);
    };
    repo.git(&["checkout", "-q", "-b", "side"]);
    change(&mut dice, "side");
    repo.git(&["checkout", "-q", "main"]);
    change(&mut dice, "main");
    repo.git_output(&["merge", "side"]);
    repo.is_shown_alike();
    for path in paths {
        if let Ok(text) = std::fs::read_to_string(repo.path().join(path)) {
            let marks = |line: &&str| !["<<<<", "====", ">>>>"].iter().any(|mark| line.starts_with(mark));
            let resolved: String = text.lines().filter(marks).map(|line| format!("{line}\n")).collect();
            repo.write(path, if dice.below(2) == 0 { dice.edited(&resolved) } else { resolved });
        }
    }
    repo.is_shown_alike();
}

#[test]
fn random_merges_are_shown_alike() {
    (1..=15).for_each(merge);
}

#[test]
fn random_changes_are_shown_alike() {
    (1..=8).for_each(|seed| play(seed, 12));
}

/// A pattern that may or may not mean something.
fn pattern(dice: &mut Dice) -> String {
    let parts = [
        "a",
        "b",
        "ab",
        "*",
        "**",
        "/",
        "?",
        "[ab]",
        "[!a]",
        "[^b]",
        "[a-c]",
        "[]a]",
        "\\*",
        "\\",
        "**/",
        "/**",
        "/**/",
        ".",
        "a*",
        "*b",
        " ",
        "#",
        "!",
        "[[:alpha:]]",
        "[a",
        "d",
        "{a,b}",
        "***",
        "x.o",
        "*.o",
    ];
    (0..=dice.below(4)).map(|_| dice.pick(&parts)).collect()
}

const TREE: [&str; 18] = [
    "a", "b", "ab/a", "ab/b", "d/a", "d/ab/a", "d/d/ab", "d/x.o", "x.o", "a b", "d/#", "!", "d/\\*",
    "c/d/a/b", "c/{a,b}", "d/b/c/a", "*", "c/.",
];

fn tree() -> Repo {
    let repo = Repo::new();
    for path in TREE.iter().filter(|path| **path != "c/.") {
        repo.write(path, "1\n");
    }
    repo
}

#[test]
fn random_ignore_files_leave_out_the_same() {
    let repo = tree();
    repo.git(&["config", "status.showUntrackedFiles", "all"]);
    let mut dice = Dice(7);
    for round in 0..40 {
        for file in [".gitignore", "d/.gitignore", ".git/info/exclude"] {
            let lines: Vec<String> = (0..dice.below(4)).map(|_| pattern(&mut dice)).collect();
            repo.write(file, lines.join(if round % 5 == 0 { "\r\n" } else { "\n" }));
        }
        let patterns = [".gitignore", "d/.gitignore", ".git/info/exclude"]
            .map(|file| std::fs::read_to_string(repo.path().join(file)).unwrap());
        let own = repo.text("git_status", serde_json::json!({"short": true}));
        same(&repo.git(&["status", "--short"]), &own, &format!("status with {patterns:?}"));
    }
}

#[test]
fn random_attributes_hold_for_the_same_files() {
    let repo = tree();
    repo.commit("all");
    TREE.iter().filter(|path| **path != "c/.").for_each(|path| repo.write(path, "2\n"));
    let mut dice = Dice(7);
    for _ in 0..40 {
        for file in [".gitattributes", "d/.gitattributes", ".git/info/attributes"] {
            let states = ["-diff", "diff", "!diff", "binary", "-binary text", "binary diff"];
            let lines: Vec<String> = (0..dice.below(4))
                .map(|_| format!("{} {}", pattern(&mut dice), dice.pick(&states)))
                .collect();
            repo.write(file, lines.join("\n"));
        }
        let own = repo.text("git_diff", serde_json::json!({}));
        let patterns = [".gitattributes", "d/.gitattributes", ".git/info/attributes"]
            .map(|file| std::fs::read_to_string(repo.path().join(file)).unwrap());
        same(&repo.git(&["diff"]), &own, &format!("diff with {patterns:?}"));
    }
}
