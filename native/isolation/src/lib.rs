//! Settings and reports of the sandbox, as plain data and three traits, and the secrets that it hides.
//!
//! [`SandboxSettings`] are the host's settings, [`Isolation`] reports the layers that were active for a command, and
//! [`Planted`] a file that a command left for the person's own git. A [`GuardJudge`] decides about each program that is
//! started in the sandbox, an [`Outlet`] serves its network connections. [`secrets`] lists where people and tools keep
//! secrets. Nothing here starts a process.

#![forbid(unsafe_code)]

mod credentials;
mod environment;
mod layers;
mod network;
mod planted;
pub mod secrets;
mod settings;
mod start;

pub use credentials::{CredentialHeader, HOP_BY_HOP, HostCredentials};
pub use environment::{PASSED, TRUST, is_in_environment};
pub use layers::{Isolation, LayerOff};
pub use network::{Network, NetworkUse, Outlet};
pub use planted::Planted;
pub use settings::{DISPENSABLE, IsolationReporting, SANDBOXES, SandboxMode, SandboxSettings, Tier};
pub use start::{
    FileIdentity, GuardJudge, HeldStart, Interpreter, NamedFile, ProgramStart, StartCoverage, StartDecision,
    Starter, interpreter_arguments, is_loader, loaded_arguments,
};
