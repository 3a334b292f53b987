//! A git repository and what has changed in its work tree, as git sees it.
//!
//! [`Repo`] finds a repository, checks it and opens it with libgit2; no program is run. [`tree`] reads the work tree by
//! handle, with git's rules for ignored files, attributes and line endings. [`changes`] compares commit, staging area and
//! work tree. A [`GitCall`] has the workspace, the limits and the deadline of one operation, and a judge that knows which
//! paths must not be read.

mod call;
pub mod changes;
mod fail;
mod repo;
pub mod tree;

pub use call::{DeniedReads, GitCall, out_of_time};
pub use fail::{GitError, GitResult};
pub use repo::{
    GitSettings, HashAbbreviator, HostSettings, MOST_SYMBOLIC, Repo, RepoLocation, Staging, Untracked,
    locate, nested, probe, setting_path, use_system_settings,
};
