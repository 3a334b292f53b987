//! git status, diff, log, add and commit on libgit2, in a sandboxed worker process.
//!
//! Diffs, logs and the short status equal the output of the git program byte for byte, except as noted below; tests
//! compare them. The long status is shorter than git's.
//!
//! - The repository is the one that contains the workspace, or a path argument in it. Its top or its own directory may
//!   be outside of the workspace: subdirectories, linked work trees, submodules. A `.git` file is accepted only if the
//!   directory that it names refers back to the work tree. Only files in the workspace are shown and staged. For a
//!   repository that borrows objects from another, or that libgit2 cannot open, the answer refers to the shell.
//! - Nothing in a repository can start a program. Commits with an active hook or with signing are refused, and so is
//!   staging a file whose attributes name a filter or an encoding. Diffs ignore `textconv` and external diff programs;
//!   a note says so.
//! - Settings that change what is compared are honoured: line endings, attributes, ignored files, file modes, quoting
//!   of names, abbreviation of hashes, renames, untracked files. Settings of presentation are not: colours, formats,
//!   prefixes, context, dates, status columns.
//! - If a path is replaced by a link before libgit2 uses it, nothing outside can be changed: the worker may write only
//!   to the repository's own directory. Work-tree files are opened by handle.
//! - Not supported: the content of submodules (a note says so), replace references and grafts (a note says so),
//!   `mailmap.file`, hunk headings by language, split and sparse indexes, SHA-256 repositories.
//!
//! There is no worker on systems other than Linux: operations run in the port process.

mod availability;
mod hooks;
mod kept;
mod page;
mod parents;
mod people;
mod record;
mod replaced;
mod stage;
mod submodule_list;
mod task;
mod text;
mod work;
#[cfg(target_os = "linux")]
mod worker;

pub use availability::{GitAvailability, availability};
pub use beamai_git_repository::use_system_settings;

pub use work::serve_here;
#[cfg(not(target_os = "linux"))]
pub use work::serve_here as serve;
#[cfg(target_os = "linux")]
pub use worker::{COMMAND, KEEPER, keeper_main, serve, worker_main};

/// Whether a path is in a repository's own directory.
fn is_administrative(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}
