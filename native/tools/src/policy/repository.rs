//! Repositories as far as the judge minds them: git runs programs that a repository's settings name.

use super::path::{Roots, clean};
use super::rule::Rule;
use crate::workspace::{Place, decode_path, encode_path};
use rustix::fs::FileType;
use std::io::Read;
use std::path::Path;

/// Longest `.git` file that is read.
const MOST: u64 = 4096;

/// Whether a path is in the directory in which git keeps a repository, or is that itself.
fn is_in_repository(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether a rule for changing files may cover these paths: within a `.git`, only one that names it.
pub(super) fn covers_all(rule: &Rule, paths: &[impl AsRef<Path>]) -> bool {
    !matches!(&*rule.tool, "Edit" | "Write")
        || rule.text.split(|char| "/(){},".contains(char)).any(|part| part.eq_ignore_ascii_case(".git"))
        || !paths.iter().any(|path| is_in_repository(path.as_ref()))
}

/// Whether git, started in a directory of the workspace, would take its settings from where files of the workspace tell
/// it to, rather than from a `.git` directory, which no tool writes to without leave.
pub(super) fn is_feigned(roots: &Roots, directory: &Path) -> bool {
    for above in directory.ancestors() {
        if is_in_repository(above) {
            return false;
        }
        let entry = |name: &str| roots.place(&encode_path(&above.join(name)));
        // What is no place is none of which anything is known; without a workspace nothing is.
        let Some(git) = entry(".git") else { return roots.has_workspace() };
        if git.is_link() {
            return true;
        }
        match git.stat().map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Directory) => return false,
            Ok(_) => return leads_astray(roots, &git, above),
            Err(_) => {}
        }
        let is_there = |name| entry(name).is_some_and(|place| place.stat().is_ok() || place.is_link());
        if ["HEAD", "objects", "refs"].into_iter().all(is_there) {
            return true;
        }
    }
    false
}

/// Whether a `.git` file names a directory that tools can write to and that is not within a repository.
fn leads_astray(roots: &Roots, git: &Place, directory: &Path) -> bool {
    let mut text = Vec::new();
    let read = git.open_file().map(|(file, _)| file.take(MOST).read_to_end(&mut text));
    let target = std::str::from_utf8(&text).ok().and_then(|text| text.strip_prefix("gitdir:"));
    match (read, target) {
        (Ok(Ok(_)), Some(target)) => {
            let target = clean(&directory.join(decode_path(target.trim())));
            !is_in_repository(&target) && !roots.are_far_from(&target)
        }
        // git does not take it for a repository either.
        _ => false,
    }
}
