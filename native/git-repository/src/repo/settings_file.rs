//! Reads a settings file by git's rules, and makes sure that libgit2 finds the same in it.
//!
//! The two join lines differently where one ends in a backslash: to libgit2, the line after an empty line or a comment
//! still belongs to the value. What git takes for a setting, such as a hook, could then be hidden from libgit2, and the
//! other way round.

use beamai_git_config::ConfigEntry;
use git2::Config;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Maximum size of a settings file.
const MAX_BYTES: u64 = 1 << 20;

/// An entry by its whole name.
type NamedEntry = (Vec<u8>, Option<Vec<u8>>);

/// The entries of an open file.
///
/// # Errors
/// What is wrong with it. The text continues "the settings FILE".
pub(super) fn entries(file: File) -> Result<Vec<ConfigEntry>, String> {
    let mut bytes = Vec::new();
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot be read ({error})"))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("are larger than 1 MiB".to_owned());
    }
    let entries = beamai_git_config::read(&bytes)
        .map_err(|_| "are malformed: git rejects them too, until a person corrects them".to_owned())?;
    match entries.iter().find(|entry| entry.value.is_none() && wants_value(entry)) {
        Some(entry) => Err(format!("have {} without a value: git rejects that", entry.name())),
        None => Ok(entries),
    }
}

/// Whether git ends at the setting where it has no value. libgit2 passes over it.
fn wants_value(ConfigEntry { section, subsection, key, .. }: &ConfigEntry) -> bool {
    matches!(
        (section.as_str(), subsection, key.as_str()),
        ("user" | "author" | "committer", None, "name" | "email")
            | ("core", None, "hookspath" | "excludesfile" | "attributesfile")
            | ("i18n", None, "commitencoding")
            | ("include", None, "path")
            | ("includeif", Some(_), "path")
    )
}

/// Fails if libgit2 finds other entries in the file than git. It also opens the files that this one includes without a
/// condition. Where it cannot, it fails itself when a repository takes these settings.
///
/// # Errors
/// As [`entries`].
pub(super) fn expect_alike(path: &Path, entries: &[ConfigEntry]) -> Result<(), String> {
    let Ok(by_library) = by_library(path) else { return Ok(()) };
    let by_git: Vec<NamedEntry> =
        entries.iter().map(|entry| (entry.full_name(), entry.value.clone())).collect();
    if by_git == by_library {
        return Ok(());
    }
    let alike = by_git.iter().zip(&by_library).take_while(|(git, library)| git == library).count();
    let (name, _) = by_git.get(alike).or(by_library.get(alike)).cloned().unwrap_or_default();
    Err(format!(
        "can be read in two ways, from {:?} on; a person should correct the line there, such as one that ends in \\ before an \
         empty line or a comment",
        String::from_utf8_lossy(&name)
    ))
}

fn by_library(path: &Path) -> Result<Vec<NamedEntry>, git2::Error> {
    let mut found = Vec::new();
    Config::open(path)?.entries(None)?.for_each(|entry| {
        if entry.include_depth() == 0 {
            let value = entry.has_value().then(|| entry.value_bytes().to_vec());
            found.push((entry.name_bytes().to_vec(), value));
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is wrong with a file, if anything.
    fn judged(text: &[u8]) -> Result<Vec<ConfigEntry>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        let entries = entries(file.reopen().unwrap())?;
        expect_alike(file.path(), &entries).map(|()| entries)
    }

    #[test]
    fn files_that_git_and_its_library_read_differently_are_refused() {
        for (text, from) in [
            (&b"[user]\n\tname = A\\\n\n[core]\n\thooksPath = x\n"[..], "user.name"),
            (b"[alias]\n\tst = status \\\n\n[include]\n\tpath = x\n", "alias.st"),
            (b"[alias]\n\tst = status \\\n  \t\n[a]\n", "alias.st"),
            (b"[alias]\n\tst = status \\\n# comment\n[commit]\n\tgpgSign = true\n", "alias.st"),
            (b"[a]\n\tb = 1\n\tc = x\\\r\n\r\n[user]\n\temail = x\n", "a.c"),
            (b"[a]\n\tb = \"x\\\\\"; c\n\td = e\n", "a.b"),
        ] {
            let why = judged(text).unwrap_err();
            let shown = String::from_utf8_lossy(text);
            assert!(why.contains(&format!("two ways, from {from:?} on")), "{shown}: {why}");
        }
    }

    #[test]
    fn files_that_git_rejects_are_refused() {
        for text in ["[a]\n\tb = \"open\n", "[a\n", "[a]\n\tb = \\q\n", "[a]\n\t1 = 2\n", "[a]\nb\0c\n"] {
            let why = judged(text.as_bytes()).unwrap_err();
            assert!(why.contains("git rejects them"), "{text}: {why}");
        }
        for text in ["[user]\n\tname\n", "[core]\n\thooksPath\n", "[includeIf \"gitdir:x\"]\n\tpath\n"] {
            let why = judged(text.as_bytes()).unwrap_err();
            assert!(why.contains("without a value"), "{text}: {why}");
        }
        assert_eq!(judged(&vec![b'\n'; (1 << 20) + 1]), Err("are larger than 1 MiB".to_owned()));
    }

    /// Lines as people and git write them.
    fn line() -> impl Strategy<Value = String> {
        proptest::sample::select(vec![
            "[core]",
            "[Remote \"origin\"]",
            "[url \"git@example.com:\"]",
            "[a \"b \\\"c\\\" \\\\ d]#\"]",
            "[color.Diff]",
            "[includeIf \"gitdir:~/projects/\"] path = no-such-file",
            "\tbare = false",
            "\tfileMode",
            "  Editor=vim -f   ",
            "\tst = status --short # comment",
            "\turl = https://example.com/a;b",
            "\tname = \"A; U # Thor\" ; comment",
            "\tlg = log \"--format=%h  %s\"\t--graph",
            "\tf = \"!f() { echo \\\"$1\\\" | sed 's/\\\\t/x/'; }; f\"",
            "\tlong = !echo \\\n\t  one \\\n\ttwo",
            "\tquoted = \"one \\\n  two\" # comment",
            "\tg = \"!f() { \\\n\t\techo \\\"$1\\\"; # not a comment \\\n\t\t: '#' ; \\\n\t}; f\"",
            "\th = !sh -c 'a \\\n\tb' # comment",
            "\ti = %C(yellow)%h%Creset\\t%s \\\\ \\\"x\\\"",
            "\tpath=C:/a b/c",
            "\tn=1k#c",
            "\tempty =",
            "\ttab = a\\tb\\nc",
            "\tx-Y2 = \"  spaces  \"",
            "\tumlaut = Käse",
            "# comment \\",
            "; comment \"",
            "",
            "   ",
        ])
        .prop_map(str::to_owned)
    }

    proptest! {
        #[test]
        fn ordinary_files_are_read_alike(
            lines in proptest::collection::vec(line(), 0..20), is_crlf: bool, has_mark: bool, ends: bool,
        ) {
            let end = if is_crlf { "\r\n" } else { "\n" };
            let mark = if has_mark { "\u{feff}" } else { "" };
            let last = if ends { end } else { "" };
            let text = format!("{mark}[s]\n{}", lines.join("\n")).replace('\n', end) + last;
            prop_assert_eq!(judged(text.as_bytes()).err(), None);
        }
    }
}
