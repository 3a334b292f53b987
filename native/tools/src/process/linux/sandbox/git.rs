//! Git repositories: what git runs by itself the next time somebody uses it, outside, cannot be written.
//!
//! A repository's directory stays where it is, its settings and hooks are read-only, and so is what names another
//! directory to take them from. Objects, references and the index can be written, so that commands can commit.

use super::protected::Guard;
use rustix::fs::{Dir, FileType, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most directories that are looked into for repositories, nearest first.
const MOST_DIRECTORIES: usize = 2_000;
/// How deep beneath a repository's `modules` those of submodules are looked for.
const DEPTH_OF_MODULES: usize = 4;
/// What in a repository's directory says where settings come from and what is run.
const SEALED: [&str; 5] = ["config", "config.worktree", "commondir", "gitdir", "hooks"];

/// Protects the repositories beneath a directory that are there now.
pub(super) fn protect(guard: &mut Guard<'_, '_>) -> Result<(), Errno> {
    let own = Path::new(".git");
    if guard.kind(own).is_none() {
        guard.expect(own);
    }
    for repository in repositories(guard) {
        pin_the_way(guard, &repository)?;
        match guard.kind(&repository) {
            Some(FileType::Directory) => protect_directory(guard, &repository)?,
            // A file that names the repository's directory.
            Some(FileType::RegularFile) => guard.seal(&repository)?,
            // A link cannot be mounted over; where it leads to is found by itself, or lies outside.
            _ => {}
        }
    }
    Ok(())
}

/// Every directory on the way, so that none is moved off with what is protected and replaced.
fn pin_the_way(guard: &Guard<'_, '_>, path: &Path) -> Result<(), Errno> {
    let above: Vec<&Path> = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
    above.into_iter().rev().try_for_each(|path| guard.pin(path))
}

fn protect_directory(guard: &mut Guard<'_, '_>, path: &Path) -> Result<(), Errno> {
    let kind = |name: &str| guard.kind(&path.join(name));
    let is_repository = kind("HEAD").is_some();
    let has_links = SEALED.iter().any(|name| kind(name) == Some(FileType::Symlink));
    if !is_repository || has_links {
        // Nothing to commit to, or nothing that could be kept where it is.
        return guard.seal(path);
    }
    guard.pin(path)?;
    for name in SEALED {
        if guard.kind(&path.join(name)).is_some() {
            guard.seal(&path.join(name))?;
        }
    }
    seal_what_is_absent(guard, path)?;
    for inner in inner_directories(guard, path)? {
        let below = inner.strip_prefix(path).unwrap_or(&inner);
        for above in
            below.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect::<Vec<_>>()
        {
            guard.pin(&path.join(above))?;
        }
        protect_directory(guard, &inner)?;
    }
    Ok(())
}

fn seal_what_is_absent(guard: &mut Guard<'_, '_>, path: &Path) -> Result<(), Errno> {
    let is_absent = |guard: &Guard<'_, '_>, name: &str| guard.kind(&path.join(name)).is_none();
    // A linked work tree has neither of its own: git takes those of the repository.
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

/// The directories of submodules and linked work trees.
fn inner_directories(guard: &Guard<'_, '_>, path: &Path) -> Result<Vec<PathBuf>, Errno> {
    let mut found = directories(guard, &path.join("worktrees"));
    let mut level = directories(guard, &path.join("modules"));
    for _ in 0..DEPTH_OF_MODULES {
        let (repositories, others): (Vec<_>, Vec<_>) =
            level.into_iter().partition(|path| guard.kind(&path.join("HEAD")).is_some());
        found.extend(repositories);
        level = others.iter().flat_map(|path| directories(guard, path)).collect();
    }
    Ok(found)
}

/// The `.git` of every repository, nearest first.
fn repositories(guard: &Guard<'_, '_>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([PathBuf::new()]);
    let mut seen = 0;
    while let Some(directory) = queue.pop_front() {
        seen += 1;
        if seen > MOST_DIRECTORIES {
            break;
        }
        for (path, kind) in entries(guard, &directory) {
            if path.file_name().is_some_and(|name| name == ".git") {
                found.push(path);
            } else if kind == FileType::Directory {
                queue.push_back(path);
            }
        }
    }
    found
}

fn directories(guard: &Guard<'_, '_>, path: &Path) -> Vec<PathBuf> {
    let entries = entries(guard, path).into_iter();
    entries.filter(|(_, kind)| *kind == FileType::Directory).map(|(path, _)| path).collect()
}

/// What is in a directory; nothing where it cannot be read.
fn entries(guard: &Guard<'_, '_>, path: &Path) -> Vec<(PathBuf, FileType)> {
    let name = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let opened = guard.open(name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW);
    let Ok(entries) = opened.and_then(Dir::new) else { return Vec::new() };
    let entry = |entry: rustix::fs::DirEntry| {
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
        (name != "." && name != "..").then(|| (path.join(name), entry.file_type()))
    };
    entries.flatten().filter_map(entry).collect()
}
