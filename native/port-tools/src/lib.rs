//! What only the port program runs, described for every door: commands, git, the web, language servers.
//!
//! Here is what each operation takes, returns and asks permission for. The work is a [service](beamai_tool::Services)
//! of the port, in a crate for each family; a door without it lists the tools and says where they run.

#![forbid(unsafe_code)]

pub mod git;
pub mod lsp;
pub mod shell;
pub mod web;
