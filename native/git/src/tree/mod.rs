//! The work tree: what is in it, what git is told to ignore, and how files become blobs.

pub(super) mod attributes;
pub(super) mod content;
pub(super) mod convert;
pub(super) mod dirs;
pub(super) mod ignore;
mod pattern;
pub(super) mod tracked;
pub(super) mod untracked;
