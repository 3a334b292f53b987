//! Availability of git: the program, and a repository.

use beamai_git_repository::{GitError, probe};
use beamai_workspace::Workspace;
use serde::Serialize;
use std::ffi::OsStr;
use std::path::Path;

/// The availability of git, as shown to a person at start-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GitAvailability {
    /// Whether the git program is on the PATH. The git tools do not need it; shell commands do.
    pub program: bool,
    /// Whether the workspace is a git repository that the git tools can use.
    pub repository: bool,
    /// Why the repository cannot be used.
    pub problem: Option<String>,
}

/// Looks for the git program, and for a repository at the top of the workspace. Starts no process.
pub fn availability(workspace: &Workspace) -> GitAvailability {
    let problem = match probe(workspace) {
        Ok(()) => None,
        Err(GitError::Unavailable(why)) => Some(why),
        Err(GitError::Error(error)) => Some(error.message),
    };
    GitAvailability { program: program(), repository: problem.is_none(), problem }
}

/// Whether a program called `git` is on the PATH.
pub(super) fn program() -> bool {
    std::env::var_os("PATH").is_some_and(|path| program_on(&path))
}

fn program_on(path: &OsStr) -> bool {
    let is_program = |dir: &Path| {
        let file = dir.join("git");
        rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok()
            && rustix::fs::stat(&file).is_ok_and(|stat| stat.st_mode & 0o170_000 == 0o100_000)
    };
    std::env::split_paths(path).filter(|dir| dir.is_absolute()).any(|dir| is_program(&dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_program_is_an_executable_file_on_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().as_os_str();
        assert!(!program_on(path));
        std::fs::create_dir(dir.path().join("git")).unwrap();
        assert!(!program_on(path));
        std::fs::remove_dir(dir.path().join("git")).unwrap();
        std::fs::write(dir.path().join("git"), "").unwrap();
        assert!(!program_on(path));
        std::fs::set_permissions(dir.path().join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(program_on(path));
    }
}
