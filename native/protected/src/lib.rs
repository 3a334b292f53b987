//! Protects files in a workspace from commands, and cleans up what commands leave behind for the user's own git.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod index;
mod planted;

pub use index::{ProtectedPaths, protected_paths};
pub use planted::{RepositorySnapshot, remove_planted};
