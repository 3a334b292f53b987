//! A process that outlives this program, and removes the lock files of a worker if this program is killed meanwhile.
//!
//! Its standard input tells what is announced; its end without a retraction means that the program was killed. The
//! worker's standard output, which the keeper holds, then tells when the worker has ended as well: a lock that somebody
//! else takes later is not touched.

use super::locks::{AnnouncedLocks, LockNotice};
use beamai_process::program;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use std::io::{Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

/// The subcommand of the port program that runs a keeper.
pub const KEEPER: &str = "git-locks";

/// How long a worker may take to end after the program that was killed.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// A running keeper process. Dropping this tells the process that no lock file is left to remove, and waits for its end.
pub(super) struct LockKeeper(Child);

impl LockKeeper {
    /// Starts the keeper of the worker that writes to `stdout`.
    pub(super) fn start(stdout: OwnedFd) -> Result<Self> {
        let program = program().ok_or(std::io::ErrorKind::NotFound)?;
        let mut keeper = Command::new(program);
        // A signal to this program's group must not end both.
        keeper.arg(KEEPER).env_clear().current_dir("/").process_group(0);
        keeper.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::null()).spawn().map(Self)
    }

    /// Tells it which lock files may exist from now on.
    pub(super) fn tell(&mut self, notice: Option<&LockNotice>) -> Result<()> {
        let line = serde_json::to_string(&notice)? + "\n";
        self.0.stdin.as_mut().map_or(Ok(()), |stdin| stdin.write_all(line.as_bytes()))
    }
}

impl Drop for LockKeeper {
    fn drop(&mut self) {
        _ = self.tell(None);
        self.0.stdin = None;
        _ = self.0.wait();
    }
}

/// Runs a keeper.
pub fn keeper_main() -> ExitCode {
    let mut announced: Option<LockNotice> = None;
    for line in std::io::stdin().lines().map_while(Result::ok) {
        announced = serde_json::from_str(&line).unwrap_or(None);
    }
    if let Some(locks) = announced.and_then(AnnouncedLocks::noticed)
        && has_ended()
    {
        locks.remove();
    }
    ExitCode::SUCCESS
}

/// Waits until the worker has ended, which had the only writing end of the pipe.
fn has_ended() -> bool {
    let stdout = std::io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    retry_on_intr(|| poll(&mut fds, Some(&PATIENCE))).is_ok_and(|ready| ready > 0)
}
