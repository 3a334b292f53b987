//! What in a workspace is to be protected from commands, and what they leave behind for the person's own git.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod planted;
mod survey;

pub use planted::{Snapshot, take_out};
pub use survey::{Found, survey};
