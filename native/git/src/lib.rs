//! git: status, diff, log, add, commit, on libgit2, in a worker process that the sandbox confines.
//!
//! Diffs, logs and the short status are those of the git program, byte for byte, where nothing below says otherwise;
//! tests compare them. The long status says the same facts in fewer words.
//!
//! - The repository is the one that the workspace, or a path argument in it, lies in, also where its top or its own
//!   directory is outside of the workspace: subdirectories, linked work trees, submodules. A `.git` file counts only if
//!   what it names names the work tree back. Only what lies in the workspace is shown and staged. A repository that
//!   borrows objects from another, and one that libgit2 cannot open, are answered with a hint to use the shell.
//! - Nothing of a repository starts a program. A commit with an active hook or with signing is refused, and so is
//!   staging a file whose attributes name a filter or an encoding. Diffs take no `textconv` and no external
//!   program, and compare such files as they are, which a note says.
//! - Settings that change what is compared are honoured: line endings, attributes, ignored files, file modes,
//!   quoting of names, abbreviation of hashes, renames, untracked files. Settings of taste are not: colours,
//!   formats, prefixes, context, dates, the columns of a status.
//! - A path that leads out of the repository by the time that libgit2 uses it leads nowhere that could be changed: the
//!   worker may write the repository's own directory and nothing else. Work-tree files are opened by handle.
//! - Not done: what is inside a submodule (a note says so), replace references, grafts other than shallow ones,
//!   `mailmap.file`, headings of hunks by language, indexes that are split or sparse, repositories in SHA-256.
//!
//! On systems other than Linux there is no worker: the operations run in the port itself.

mod availability;
mod call;
mod changes;
mod fail;
mod hooks;
mod page;
mod record;
mod repo;
mod stage;
mod task;
mod text;
mod tree;
mod work;
#[cfg(target_os = "linux")]
mod worker;

pub use availability::{GitAvailability, availability};

pub use work::serve_here;
#[cfg(not(target_os = "linux"))]
pub use work::serve_here as serve;
#[cfg(target_os = "linux")]
pub use worker::{COMMAND, serve, worker_main};

/// Whether a path leads into a repository's own directory.
fn is_administrative(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}
