//! The tools of the specified dialects: their lists, parameters, results, and what they refuse.
#![cfg(target_os = "linux")]

mod coder;
mod cuts;
mod env;
mod examples;
mod ide;
mod messages;
mod microai;
mod round_trip;
mod server;
mod signature;
mod task;
