//! What in a workspace is to be protected from commands, and what they leave behind for the person's own git.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod index;
mod planted;

pub use index::{ProtectedPaths, protected_paths};
pub use planted::{RepositorySnapshot, take_out};
