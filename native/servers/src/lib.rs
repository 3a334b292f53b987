//! Servers that are kept from one call to the next: language servers, and servers of tools.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]

mod identity;
mod pool;
mod program;
mod rustup;

pub use identity::{ServerIdentity, ServerView};
pub use pool::{Lease, PooledServer, ServerPool, watch};
pub use program::program;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what no panic leaves half done.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
