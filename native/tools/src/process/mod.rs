//! How the port starts processes, and how nothing that it started stays behind.
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
//! A reaper tends one command at a time and ends everything beneath it when its command ends, when it is told to,
//! when its control socket closes (the port is gone) and when the launcher is gone. As the init of a pid namespace it
//! cannot be outrun: the kernel ends the namespace with it. Where namespaces are refused it is a child subreaper, to
//! which every orphan beneath it falls, and hunts them down until none is left.
//! Where they are refused to this program and not to `bwrap`, the launcher clones that, and it starts the reaper.
//!
//! A reaper enters the layers of a [`Confinement`] (`linux/sandbox`) before its first command, which costs as much as
//! several small commands do. One whose command ended by itself and left nothing behind (no process, no mount, no shared
//! memory, no changed limit; what it was told is wiped) therefore takes the next order with the same confinement;
//! otherwise it ends, and its namespaces with it.

mod isolation;
pub use isolation::{Isolation, LayerOff};
mod leftover;
pub use leftover::Planted;
mod start;
pub use start::{Coverage, Decision, HeldStart, Start, StartJudge, Starter};
#[cfg(all(feature = "port", target_os = "linux"))]
pub(crate) use start::{is_loader, loaded_arguments};

#[cfg(all(feature = "port", target_os = "linux"))]
mod confinement;
#[cfg(all(feature = "port", target_os = "linux"))]
mod environment;
#[cfg(all(feature = "port", target_os = "linux"))]
mod linux;
#[cfg(all(feature = "port", target_os = "linux"))]
mod planted;
#[cfg(all(feature = "port", target_os = "linux"))]
mod survey;
#[cfg(all(feature = "port", target_os = "linux"))]
pub use confinement::{Bounds, Confinement};
#[cfg(all(feature = "port", target_os = "linux"))]
pub(crate) use environment::environment;
#[cfg(all(feature = "port", target_os = "linux"))]
pub use linux::*;
#[cfg(all(feature = "port", target_os = "linux"))]
pub use planted::Snapshot;
#[cfg(all(feature = "port", target_os = "linux"))]
pub use survey::Found;
