//! The texts that the git program prints.

pub(super) mod branch;
mod combined;
mod decode;
pub(super) mod diff;
pub(super) mod history;
pub(super) mod long;
mod patch;
mod quote;
mod rebase;
pub(super) mod short;
pub(super) mod state;
