//! The reader and the writer against git.

use super::*;
use proptest::prelude::*;
use std::process::Command;

/// What git parses in a file; `None` if it rejects it.
fn by_git(text: &[u8]) -> Option<Vec<u8>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, text).unwrap();
    let mut git = Command::new("git");
    let output =
        git.args(["config", "--list", "-z", "--no-includes", "-f"]).arg(file.path()).output().unwrap();
    output.status.success().then_some(output.stdout)
}

/// The entries in the format of `git config --list -z`.
fn listed(entries: &[ConfigEntry]) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in entries {
        text.extend(entry.full_name());
        for value in entry.value.iter() {
            text.push(b'\n');
            text.extend(value);
        }
        text.push(0);
    }
    text
}

#[test]
fn the_right_lines_of_a_file_are_read_around_a_mistake() {
    let right = "[core]\n\thooksPath = a\n[include]\n\tpath = b\n";
    let entries = read(right.as_bytes()).unwrap();
    assert_eq!(read_right_lines(right.as_bytes()), entries);
    for mistake in [
        "[user\n",
        "\tfoo bar\n",
        "x = \"open\n",
        "[a \"b]\n",
        "\tx = \\q\n",
        "1 = 2\n",
        "%\n",
        "e = \"C:\\\n",
    ] {
        for text in
            [format!("{mistake}{right}"), format!("{right}{mistake}"), format!("{right}{}", &mistake[..1])]
        {
            let found = read_right_lines(text.as_bytes());
            assert!(entries.iter().all(|entry| found.contains(entry)), "{text:?}");
        }
        let (hooks, include) = right.split_at(right.find("[i").unwrap());
        assert!(
            read_right_lines(format!("{hooks}{mistake}{include}").as_bytes()).ends_with(&entries[1..]),
            "{mistake:?}"
        );
    }
}

fn assert_as_git(text: &[u8]) {
    let shown = String::from_utf8_lossy(text);
    match (read(text), by_git(text)) {
        (Ok(entries), Some(listing)) => {
            assert_eq!(listed(&entries), listing, "{shown:?}");
            // Written files are parsed back identically, by both.
            let again = write(&entries);
            assert_eq!(by_git(&again).as_deref(), Some(&*listing), "{shown:?} written");
            assert_eq!(read(&again).as_ref(), Ok(&entries), "{shown:?} written");
        }
        (Err(Malformed), None) => {}
        (own, git) => panic!("{shown:?}: {own:?}, and git: {}", git.is_some()),
    }
}

#[test]
fn files_are_read_as_git_reads_them() {
    for text in [
        "[core]\n\tbare = false\n\tfsmonitor = ./p\n",
        "[Core]FSMonitor=./p",
        "\u{feff}[core]\r\n\tpager = less \\\r\n -R ; comment\r\n",
        "[a \"B \\\" \\\\ \\x\"] k = \"v # no\" # yes\n[a.B.c]\nk\n",
        "[core]\n# pager = a\n; b\n pager = x\"y  z\"  w   \n",
        "[core] pager = a\\tb\\nc\\bd\\\"e\\\\\n",
        "[core] pager = a\\qb\n",
        "[core\n]pager = a",
        "[core] pager = \"open\n",
        "[a \"b\"\n] c = d\n",
        "[a \"b\nc\"] c = d\n",
        "[a] 1c = d\n",
        "[a] c d = e\n",
        "[a] c- = e\r\r\n d=\r\n",
        "[alias]\n\tx = !echo \\\n\tf\n",
        "[a]",
        "[a",
        "[]\n",
        "[ \"a\"] b = c\n",
        "",
    ] {
        assert_as_git(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_file_is_read_otherwise_than_by_git(parts in proptest::collection::vec(proptest::sample::select(vec![
        "[core]", "[a \"", "\"]", "[", "]", "\"", "\\", "\n", "\r\n", "\r", " ", "\t", "#", ";", "=", "fsmonitor",
        "K-1", ".", "x", "!", "true", "\\\n", "é", "[inc.Lude]", "[a \"b\"]", "\n\tpager = v", "\u{b}", "\u{c}",
    ]), 0..14)) {
        // An entry must be in a section.
        assert_as_git(format!("[s]\n{}", parts.concat()).as_bytes());
    }
}
