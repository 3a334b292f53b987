//! Availability of git: the program, and a repository.

use beamai_base::program_directories;
use beamai_git_repository::{GitError, probe};
use beamai_workspace::Workspace;
use serde::Serialize;
use std::path::{Path, PathBuf};

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

/// Whether commands find a program called `git`.
pub(super) fn program() -> bool {
    is_in(program_directories())
}

fn is_in(directories: &[PathBuf]) -> bool {
    let is_program = |dir: &Path| {
        let file = dir.join("git");
        rustix::fs::access(&file, rustix::fs::Access::EXEC_OK).is_ok()
            && rustix::fs::stat(&file).is_ok_and(|stat| stat.st_mode & 0o170_000 == 0o100_000)
    };
    directories.iter().any(|dir| is_program(dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_program_is_an_executable_file_on_the_path() {
        let dir = tempfile::tempdir().unwrap();
        let directories = [dir.path().to_owned()];
        assert!(!is_in(&directories));
        std::fs::create_dir(dir.path().join("git")).unwrap();
        assert!(!is_in(&directories));
        std::fs::remove_dir(dir.path().join("git")).unwrap();
        std::fs::write(dir.path().join("git"), "").unwrap();
        assert!(!is_in(&directories));
        std::fs::set_permissions(dir.path().join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_in(&directories));
    }
}
