//! Servers that are kept between calls: language servers and MCP servers.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]

mod identity;
mod pool;
mod program;
mod rustup;

pub use identity::{ServerIdentity, ServerView};
pub use pool::{Lease, PooledServer, ServerPool, watch};
pub use program::{in_workspace, program};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, ignoring poison: for data that a panic cannot leave inconsistent.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
