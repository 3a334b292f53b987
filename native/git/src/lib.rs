//! git: status, diff, log, add, commit, on libgit2.
//!
//! The texts are those of the git program, byte for byte, where nothing below says otherwise; tests compare them.
//!
//! - A repository counts if its work tree is the workspace, or lies in it and is named by a path argument. One
//!   above the workspace, one whose `.git` leads out of it (work trees of a repository elsewhere), one that
//!   borrows objects from another, and one that libgit2 cannot open are answered with a hint to use the shell.
//! - Nothing of a repository starts a program. A commit with an active hook or with signing is refused, and so is
//!   staging a file whose attributes name a filter or an encoding. Diffs take no `textconv` and no external
//!   program, and compare such files as they are, which a note says.
//! - Settings that change what is compared are honoured: line endings, attributes, ignored files, file modes,
//!   quoting of names, abbreviation of hashes, renames, untracked files. Settings of taste are not: colours,
//!   formats, prefixes, context, dates, the columns of a status.
//! - libgit2 works in `.git` alone, after a guard has looked over it; work-tree files are opened by handle,
//!   through the workspace. Between the guard's look and libgit2's work another process could still change
//!   `.git`: libgit2 takes paths.
//! - Not done: what is inside a submodule (a note says so), replace references, grafts other than shallow ones,
//!   `mailmap.file`, headings of hunks by language, indexes that are split or sparse, repositories in SHA-256.

mod availability;
mod changes;
mod fail;
mod hooks;
mod page;
mod record;
mod repo;
mod stage;
mod text;
mod tree;
mod work;

pub use availability::{GitAvailability, availability};

use beamai_tool::{OperationBackend, Services};

/// Adds the work of the git tools.
#[must_use]
pub fn serve(services: Services) -> Services {
    services
        .with(OperationBackend(work::status))
        .with(OperationBackend(work::diff))
        .with(OperationBackend(work::log))
        .with(OperationBackend(work::add))
        .with(OperationBackend(work::commit))
}

/// Whether a path leads into a repository's own directory.
fn is_administrative(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part.eq_ignore_ascii_case(b".git"))
}
