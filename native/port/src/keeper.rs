//! A second process of this program, which outlives it: what it leaves half done when it is killed is undone at once.
//!
//! It is started before the first change of several files, waits until this program has ended, however that happens,
//! and looks for journals then. It is in a process group of its own, so that a signal to the group of this program does
//! not end both. Calls that change one file, or none, start nothing.

use beamai_workspace::journal;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The command that starts this program as the keeper of another one.
pub(crate) const COMMAND: &str = "keeper";

/// How long a program that has closed its end of the pipe may take to let go of its journals.
const PATIENCE: Duration = Duration::from_secs(2);

/// Has a keeper started before the first change of several files.
pub(crate) fn promise() {
    journal::before_changes(see_to_one);
}

/// Undoes what others have left that have just ended, such as the host.
pub(crate) fn clean_up() {
    journal::recover(PATIENCE);
}

/// The keeper: waits for the end of its input.
pub(crate) fn main() -> ExitCode {
    _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    clean_up();
    ExitCode::SUCCESS
}

/// Its input ends with this program: only this has the other end of the pipe, and never closes it.
static KEEPER: Mutex<Option<Child>> = Mutex::new(None);

fn see_to_one() {
    let mut keeper = KEEPER.lock().unwrap_or_else(PoisonError::into_inner);
    if keeper.as_mut().is_some_and(|keeper| matches!(keeper.try_wait(), Ok(None))) {
        return;
    }
    match start() {
        Ok(child) => *keeper = Some(child),
        // The change is safe all the same: whoever uses tools next undoes it.
        Err(error) => eprintln!("beamai-port: no process can be started to watch over a change: {error}"),
    }
}

fn start() -> std::io::Result<Child> {
    use std::os::unix::process::CommandExt;
    let mut keeper = Command::new(program()?);
    keeper.arg(COMMAND).current_dir("/").process_group(0);
    keeper.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// This program, also where its file has been replaced since it was started.
#[cfg(target_os = "linux")]
fn program() -> std::io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

#[cfg(not(target_os = "linux"))]
fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
