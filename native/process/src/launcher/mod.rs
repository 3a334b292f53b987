//! The launcher: the process that all reapers are cloned from.
//!
//! It is the port's own program, started with an empty environment and no open descriptors except one socket. It never
//! sees a command: it creates reapers, passes their control sockets to the port, and cleans up after reapers that were
//! killed. It is single-threaded, because a parent-death signal is tied to the thread that cloned.

mod baseline;
mod clean;
mod clone;
mod memory;
mod process_tree;
mod reaper;
mod server;
mod shared_memory;
mod shortcut;
mod signals;
mod start;

pub use signals::ignore_signals_of_writes;
use std::process::ExitCode;

/// The launcher's main function, for the port's hidden subcommand `launcher`. Expects the port's socket as standard
/// input, and returns when the port is gone. In a reaper, which is a clone of the launcher, it returns when the command
/// has ended.
///
/// Must be called from the main thread, before any other thread is started.
pub fn launcher_main() -> ExitCode {
    let (socket, signals) = match clean::clean_up() {
        Ok(cleaned) => cleaned,
        Err(error) => {
            eprintln!("the launcher is started by the port program itself, not by hand: {error}");
            return ExitCode::from(2);
        }
    };
    match server::LauncherServer::new(socket, signals).serve() {
        Ok(server::LoopTurn::End) => ExitCode::SUCCESS,
        Ok(server::LoopTurn::Reaper(reaper)) => reaper.run(),
        Err(_) => ExitCode::FAILURE,
    }
}
