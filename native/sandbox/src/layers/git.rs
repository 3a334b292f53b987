//! Protects git repositories: files that make git run something, at its next use outside of the sandbox, are read-only.
//!
//! The repository's directory is pinned in place; its settings and hooks are read-only, as are files that name another
//! directory for them. Objects, references and the index stay writable, so that commands can commit.

use super::protected::MountPlanner;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::Path;

/// Files in a repository's directory that determine settings and executed programs.
pub(super) const SEALED: [&str; 5] = ["config", "config.worktree", "commondir", "gitdir", "hooks"];

/// Protects a repository found at a path: its directory, or the file that names it.
pub(super) fn protect(guard: &mut MountPlanner<'_, '_>, path: &Path) -> Result<(), Errno> {
    if path.as_os_str().is_empty() {
        // A writable directory that is itself a bare repository.
        return protect_directory(guard, path);
    }
    match guard.kind(path) {
        Some(FileType::Directory) => protect_directory(guard, path),
        Some(FileType::RegularFile) => guard.seal(path),
        // A link cannot be covered by a mount; its target is found separately, or is outside.
        _ => Ok(()),
    }
}

fn protect_directory(guard: &mut MountPlanner<'_, '_>, path: &Path) -> Result<(), Errno> {
    guard.pin_the_way(path)?;
    let kind = |name: &str| guard.kind(&path.join(name));
    let is_repository = kind("HEAD").is_some();
    let has_links = SEALED.iter().any(|name| kind(name) == Some(FileType::Symlink));
    if (!is_repository || has_links) && !path.as_os_str().is_empty() {
        // Not a usable repository, or nothing that could be pinned.
        return guard.seal(path);
    }
    guard.pin(path)?;
    for name in SEALED {
        if guard.kind(&path.join(name)).is_some_and(|kind| kind != FileType::Symlink) {
            match guard.seal(&path.join(name)) {
                // A placeholder of another port program, which has just removed it.
                Err(Errno::NOENT) => {}
                sealed => sealed?,
            }
        }
    }
    seal_what_is_absent(guard, path)
}

fn seal_what_is_absent(guard: &mut MountPlanner<'_, '_>, path: &Path) -> Result<(), Errno> {
    let is_absent = |guard: &MountPlanner<'_, '_>, name: &str| guard.kind(&path.join(name)).is_none();
    // A linked work tree has no settings and hooks of its own: git uses those of the repository.
    if is_absent(guard, "commondir") {
        guard.keep_absent(path, "commondir")?;
        if is_absent(guard, "config") {
            guard.seal_absent(&path.join("config"), FileType::RegularFile)?;
        }
        if is_absent(guard, "hooks") {
            guard.seal_absent(&path.join("hooks"), FileType::Directory)?;
        }
    }
    if is_absent(guard, "config.worktree") {
        guard.keep_absent(path, "config.worktree")?;
    }
    Ok(())
}
