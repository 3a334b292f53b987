//! Processes on Linux.

mod attack;
mod child;
mod client;
mod collect;
mod frame;
mod guard;
mod launcher;
mod message;
mod pause;
mod pipes;
mod sandbox;
mod signal_name;
mod spec;

pub use attack::attack_main;
pub use child::Child;
pub use client::{Launcher, set_program};
pub use collect::{Collected, End, Listener, Sink, Source, Terms, Wake, collect};
pub use launcher::{launcher_main, reaper_main};
pub use message::{Cause, Excess, Exit, Failure, Report};
pub use pause::Pause;
pub use signal_name::signal_name;
pub use spec::{Shortcut, Spec, Stdin};
