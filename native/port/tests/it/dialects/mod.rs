//! The tools of the specified dialects: their lists, parameters, results, and what they refuse.
#![cfg(target_os = "linux")]

mod coder;
mod env;
mod ide;
mod microai;
mod server;
mod signature;
mod task;
