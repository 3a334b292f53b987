//! Text output of the git tools.

pub(super) mod branch;
mod conflict;
mod decode;
pub(super) mod diff;
pub(super) mod history;
mod patch;
mod progress;
mod quote;
pub(super) mod short;
mod stat;
pub(super) mod state;
pub(super) mod status;
