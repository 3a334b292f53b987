//! Starts processes on behalf of the port, and ensures that none of them is left behind.
//!
//! ```text
//! port (many threads)                     a Launcher: one per program, started at the first command
//!   |  "make a reaper"  ──────────────►  launcher (one thread, exec'd clean, sees no command)
//!   |  ◄── control socket of a reaper ──    |  clone, with its namespaces
//!   |                                       ▼
//!   |  order: program, directory, fds ──► reaper (one for each command that runs; init of a pid namespace)
//!   |  ◄── report: exit, killed ────────    |  fork and exec
//!   ▼                                       ▼
//! a Child: pipes, kill, report            the command and whatever it starts
//! ```
//!
//! A reaper runs one command at a time. It kills all processes below it when its command ends, when it is told to, when
//! its control socket closes (the port is gone), and when the launcher is gone. As the init of a pid namespace it
//! cannot miss a process: the Linux kernel ends the namespace with it. Without namespaces it is a child subreaper, to
//! which all orphans are reparented, and kills them until none is left.
//!
//! A reaper enters the layers of a confinement (`beamai-sandbox`) before its first command, which costs as much as
//! several small commands. If its command ended by itself and left nothing behind (no process, mount, shared memory or
//! changed limit; the order is wiped), it is reused for the next command with the same confinement; otherwise it exits,
//! and its namespaces with it.
//!
//! Linux only; empty on other systems.

#![cfg(target_os = "linux")]

mod child;
mod client;
mod collect;
mod frame;
mod launcher;
mod message;
mod pause;
mod pipes;
mod running;
mod signal_name;
mod spec;

pub use beamai_sandbox::layers::NetworkAttempts;
pub use child::Child;
pub use client::{Launcher, program, set_program};
pub use collect::{
    CancelWaker, OutputSink, OutputStream, ProgressListener, RunEnd, RunOptions, RunResult, collect,
};
pub use launcher::{ignore_signals_of_writes, launcher_main};
pub use message::{CommandReport, ExitStatus, KillCause, MemoryExcess};
pub use pause::Pause;
pub use running::end_all;
pub use signal_name::signal_name;
pub use spec::{ProgramSpec, Shortcut, Stdin};
