//! Finds the programs of servers.

use crate::rustup;
use beamai_base::program_directories;
use rustix::fs::Access;
use std::path::{Path, PathBuf};

/// Where projects keep programs of their own, relative to their top.
const OF_PROJECTS: [&str; 4] = ["node_modules/.bin", "venv/bin", ".venv/bin", "vendor/bin"];

/// A program of that name that the workspace holds, relative to it. It is not taken unless the host names it by its absolute
/// path.
pub fn in_workspace(name: &str, workspace: &Path) -> Option<PathBuf> {
    let candidates = OF_PROJECTS.iter().map(|directory| Path::new(directory).join(name));
    candidates.into_iter().find(|path| workspace.join(path).is_file())
}

/// A program by absolute path or by name. Programs in the workspace are never found by name: a model may have written
/// them.
pub fn program(name: &str, workspace: &Path) -> Option<PathBuf> {
    let is_there = |file: &PathBuf| file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|file| file.is_absolute() && is_there(file));
    }
    let outside = |dir: &&PathBuf| dir.canonicalize().is_ok_and(|real| !real.starts_with(workspace));
    let is_whole = |file: &PathBuf| is_there(file) && !rustup::is_hollow(file);
    program_directories().iter().filter(outside).map(|dir| dir.join(name)).find(is_whole)
}
