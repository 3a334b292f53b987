//! The tests of the port program, a module for each subject. One program, so that everything is linked once.
//!
//! They run beside each other. A test that changes its process, or looks at all of it, runs in a process of its own
//! (`own_process`).

mod checkout;
mod common;
#[path = "../../../engine/tests/it/own_process.rs"]
mod own_process;
mod processes;

// Its tests take longest, and tests start in the order of their names.
mod all_tiers;
mod architecture;
mod background;
mod bash_judge;
mod command_line;
mod crowd;
mod dialects;
mod doctor;
mod edits;
mod edits_killed;
mod exec_guard;
mod exhaustion;
mod fetch;
mod file_size_limit;
mod for_people;
mod foreign_files;
mod git_worker;
mod host_environment;
mod isolation;
mod kill;
mod launcher_lost;
mod lsp_env;
mod lsp_files;
mod lsp_protocol;
mod lsp_servers;
mod mcp;
mod network;
mod own_settings;
mod permissions;
mod planted;
mod reaper_again;
mod sandbox_files;
mod sandbox_kernel;
mod sandbox_limits;
mod sandbox_network;
mod sandbox_paths;
mod sandbox_secrets;
mod secrets;
mod serve;
mod several_programs;
mod shell;
mod shell_shortcut;
mod terminal;
