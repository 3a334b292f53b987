//! The layers of isolation between a command and the machine.

mod attack;
mod confinement;
mod environment;
mod failure;
pub mod layers;

pub use attack::attack_main;
pub use confinement::{Bounds, Confinement};
pub use environment::environment;
pub use failure::Failure;
