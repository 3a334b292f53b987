//! A second process of this program that outlives it, and undoes interrupted changes immediately if it is killed.
//!
//! It is started before the first change of several files, waits until this program has exited for whatever reason, and
//! then looks for journals. It is in its own process group, so that a signal to this program's group does not kill
//! both. Calls that change at most one file do not start it.

use beamai_workspace::journal;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The subcommand that runs the keeper.
pub(crate) const COMMAND: &str = "keeper";

/// How long a program that has closed its end of the pipe may take to release its journals.
const PATIENCE: Duration = Duration::from_secs(2);

/// Starts a keeper before the first change of several files.
pub(crate) fn promise() {
    journal::before_changes(see_to_one);
}

/// Undoes changes of processes that have just exited, such as the host.
pub(crate) fn clean_up() {
    journal::recover(PATIENCE);
}

/// The keeper: waits for the end of its input.
pub(crate) fn main() -> ExitCode {
    _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    clean_up();
    ExitCode::SUCCESS
}

/// The pipe whose only writing end is in this program, which never closes it.
static KEEPER: Mutex<Option<Child>> = Mutex::new(None);

fn see_to_one() {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if keeper.as_mut().is_some_and(|keeper| matches!(keeper.try_wait(), Ok(None))) {
        return;
    }
    match start() {
        Ok(child) => *keeper = Some(child),
        // The change is still safe: it is undone when tools are used the next time.
        Err(error) => eprintln!("beamai-port: no process can be started to watch over a change: {error}"),
    }
}

fn start() -> std::io::Result<Child> {
    use std::os::unix::process::CommandExt;
    let mut keeper = Command::new(program()?);
    keeper.arg(COMMAND).current_dir("/").process_group(0);
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// The executable of this program, even if its file has been replaced since.
#[cfg(target_os = "linux")]
fn program() -> std::io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

#[cfg(not(target_os = "linux"))]
fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
