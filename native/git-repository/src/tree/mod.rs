//! The work tree: its files, ignore rules, attributes, and conversion to blobs.

mod attributes;
mod content;
mod convert;
mod dirs;
mod ignore;
mod lookahead;
mod pattern;
mod sparse;
mod tracked;
mod untracked;

pub use attributes::{AttributeState, AttributeStates};
pub use content::{FILE, LINK, SUBMODULE, WorkTreeReader, failed, named, stage};
pub use convert::Conversion;
pub use dirs::Dirs;
pub(crate) use dirs::{DirEntries, join, split};
pub use ignore::IgnoreStack;
pub use sparse::SparseDefinition;
pub(crate) use tracked::{is_intended, is_left_alone};
pub use tracked::{low, mode};
pub use untracked::{UntrackedFiles, UntrackedFinder};
