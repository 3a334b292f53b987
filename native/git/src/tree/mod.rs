//! The work tree: its files, ignore rules, attributes, and conversion to blobs.

pub(super) mod attributes;
pub(super) mod content;
pub(super) mod convert;
pub(super) mod dirs;
pub(super) mod ignore;
pub(super) mod lookahead;
mod pattern;
pub(super) mod tracked;
pub(super) mod untracked;
