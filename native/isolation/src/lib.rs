//! What a sandbox is told and what it tells, as plain data and three traits.
//!
//! [`SandboxSettings`] is the sandbox as a host states it, [`Isolation`] what of it stood between a command and the
//! machine, and [`Planted`] what a command left for the person's own git. A [`StartJudge`] decides about each program
//! that something in the sandbox starts, an [`Outlet`] serves what connects to the network. Nothing here starts a process.

#![forbid(unsafe_code)]

mod layers;
mod network;
mod planted;
mod settings;
mod start;

pub use layers::{Isolation, LayerOff};
pub use network::{Network, NetworkUse, Outlet};
pub use planted::Planted;
pub use settings::{DISPENSABLE, IsolationReporting, SandboxMode, SandboxSettings, Tier};
pub use start::{
    HeldStart, ProgramStart, StartCoverage, StartDecision, StartJudge, Starter, is_loader, loaded_arguments,
};
