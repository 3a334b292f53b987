//! The sandbox: layers of isolation between a command and the machine.
//!
//! Linux only; empty on other systems.

#![cfg(target_os = "linux")]

mod attack;
mod confinement;
mod environment;
mod failure;
mod foreign;
pub mod layers;
mod network_environment;
mod obstacle;
mod repository;

pub use attack::{attack_main, started};
pub use confinement::{Confinement, ResourceLimits, TrustedAuthorities};
pub use environment::environment;
pub use failure::SetupFailure;
pub use foreign::{FOREIGN_REMEDY, ForeignPath};
pub use layers::{PROXY, ReadableDir, forbid_starts, limit_reads};
pub use network_environment::network_environment;
pub use obstacle::{Obstacle, obstacles, obstacles_to};
pub use repository::RepositoryPaths;
