//! Whether there is a language server for a workspace's files.

use super::plan::{availability, is_known, serves};
use beamai_tool::lsp_settings::LspSettings;
use std::collections::{HashSet, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Number of directory levels that are looked at, the workspace's own included.
const LEVELS: u32 = 4;
/// Maximum number of directory entries that are looked at.
const MOST_ENTRIES: usize = 2_000;

/// Whether a server is installed that is of use in a workspace. Starts none, and goes by the extensions of files at the top
/// levels: if these are of known languages and none of them has a server, there is none of use. Where no file is of a known
/// language, there may be such files later, or further down.
pub fn is_of_use(settings: &LspSettings, workspace: &Path) -> bool {
    if !availability(settings, workspace).iter().any(|server| server.program.is_some()) {
        return false;
    }
    let extensions = extensions(workspace);
    let mut known = extensions.iter().filter(|extension| is_known(settings, extension)).peekable();
    known.peek().is_none() || known.any(|extension| serves(settings, workspace, extension))
}

/// The extensions of files at the top levels. Hidden entries and links are left out.
fn extensions(workspace: &Path) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut directories = VecDeque::from([(workspace.to_owned(), 1)]);
    let mut room = MOST_ENTRIES;
    while let Some((directory, level)) = directories.pop_front() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if room == 0 {
                return found;
            }
            room -= 1;
            let name: OsString = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() && level < LEVELS {
                directories.push_back((entry.path(), level + 1));
            }
            if let (true, Some(extension)) = (kind.is_file(), PathBuf::from(name).extension()) {
                found.insert(extension.to_string_lossy().into_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_are_of_use_unless_the_files_are_of_languages_without_one() {
        let settings = |servers| serde_json::from_value::<LspSettings>(json!({"servers": servers})).unwrap();
        let languages = ["sh", "python", "c", "rust", "go", "typescript", "erlang"];
        let disabled: serde_json::Map<_, _> =
            languages.map(|name| (name.to_owned(), json!({"disabled": true}))).into_iter().collect();
        let mut own = disabled.clone();
        own.insert("zig".to_owned(), json!({"command": ["/bin/sh"], "extensions": ["zig"]}));
        let (none, zig) = (settings(disabled), settings(own));
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        assert!(is_of_use(&zig, dir.path()) && !is_of_use(&none, dir.path()), "nothing is there yet");
        file("README.md");
        file(".hidden/a.py");
        assert!(is_of_use(&zig, dir.path()), "nothing is of a known language");
        file("a.py");
        assert!(!is_of_use(&zig, dir.path()));
        file("one/two/three/four/a.zig");
        assert!(!is_of_use(&zig, dir.path()), "that is too far down");
        file("one/two/three/a.zig");
        assert!(is_of_use(&zig, dir.path()));
    }
}
