//! Declarations of the tools that only the port program runs: commands, git, the web, language servers.
//!
//! Each operation declares its arguments, its result and the permission it needs. A [service](beamai_tool::Services) of
//! the port, in a crate per family, implements it; other doors can list the tools and say where they run.

#![forbid(unsafe_code)]

pub mod git;
pub mod lsp;
pub mod shell;
pub mod web;
