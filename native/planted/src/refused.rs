//! Paths that git refuses in an index when it makes one, as the tests find out from git itself.
//!
//! What HFS+ and NTFS take for `.git` is refused as well, whatever `core.protectHFS` and `core.protectNTFS` say.

/// The bits of a mode that say what a file is.
const TYPE: u32 = 0o170_000;

/// Whether a mode is that of a directory, which only a sparse index has.
pub(super) fn is_directory(mode: u32) -> bool {
    mode & TYPE == 0o040_000
}

/// Whether a mode is that of a submodule.
pub(super) fn is_submodule(mode: u32) -> bool {
    mode & TYPE == 0o160_000
}

/// Whether git refuses a path with this file mode.
pub(super) fn is_refused(path: &[u8], mode: u32) -> bool {
    let is_link = mode & TYPE == 0o120_000;
    // Directories of a sparse index end with a slash: without one, git would put the names in the tree right behind the
    // path.
    let stripped = if is_directory(mode) { path.strip_suffix(b"/") } else { Some(path) };
    let Some(path) = stripped else { return true };
    path.contains(&0)
        || path.split(|byte| *byte == b'/').any(|part| {
            matches!(part, b"" | b"." | b"..")
                || part.split(|byte| *byte == b'\\').any(|part| is_git(part, is_link))
        })
}

/// Whether a file system may take a name for `.git`, or for `.gitmodules` where it is a link's.
fn is_git(name: &[u8], is_link: bool) -> bool {
    let seen = [on_ntfs(name), on_hfs(name)];
    seen.iter().any(|name| {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        is(".git") || is("git~1") || is_link && is(".gitmodules")
    })
}

/// Without a stream's name, and what NTFS leaves off.
fn on_ntfs(name: &[u8]) -> Vec<u8> {
    let name = name.split(|byte| *byte == b':').next().unwrap_or_default();
    let end = name.iter().rposition(|byte| !matches!(byte, b'.' | b' ')).map_or(0, |last| last + 1);
    name[..end].to_vec()
}

/// Without the characters that HFS+ leaves out of comparisons, and without anything from an invalid one on.
fn on_hfs(name: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(name);
    let valid = text.chars().take_while(|char| *char != char::REPLACEMENT_CHARACTER);
    let is_left_out = |char: &char| matches!(char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    valid.filter(|char| !is_left_out(char)).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_sparse_directory_ends_with_a_slash() {
        let refused = ["a/", "a", ".gi", "a/.git/", ""].map(|path| is_refused(path.as_bytes(), 0o040_000));
        assert_eq!(refused, [false, true, true, true, true]);
    }

    #[test]
    fn paths_are_refused_as_by_git() {
        let directory = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut git = Command::new("git");
            git.args(words).current_dir(&directory).stdout(Stdio::null()).stderr(Stdio::null());
            git.status().unwrap().success()
        };
        assert!(git(&["init", "-q"]));
        let id = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        for path in [
            "a",
            "a/b",
            ".gitignore",
            ".github/x",
            "a.git",
            "git",
            "git~2",
            ".git2",
            "a..b",
            "...",
            ".gitmodules",
            "a\\b",
            ".git",
            ".GIT/x",
            "a/.giT/hooks/x",
            "..",
            "../x",
            "a/../b",
            "./a",
            "a/.",
            "a//b",
            "/a",
            "a/",
            ".git./x",
            ".git /x",
            ".git...",
            "git~1/x",
            "GIT~1",
            ".git:x/y",
            ".git::$INDEX_ALLOCATION/config",
            "a\\.git\\x",
            ".git\\x",
            "\u{200c}.git/x",
            ".g\u{200d}it/config",
            ".gi\u{feff}T",
            "a/.git\u{206f}/x",
            ".git\u{e9}",
        ] {
            for mode in ["100644", "120000"] {
                let info = format!("{mode},{id},{path}");
                let words = ["-c", "core.protectHFS=true", "update-index", "--add", "--cacheinfo", &info];
                let number = u32::from_str_radix(mode, 8).unwrap();
                assert_eq!(is_refused(path.as_bytes(), number), !git(&words), "{path:?} {mode}");
                git(&["read-tree", "--empty"]);
            }
        }
    }
}
