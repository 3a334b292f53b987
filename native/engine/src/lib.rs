//! Runs calls: finds the tool in the [`catalogue`], checks arguments and permissions, and runs it. [`Host`] does that
//! for one workspace and policy; [`display`] shows results to people, and [`refusal`] has the errors of calls that needed an
//! approval and did not get it.

#![forbid(unsafe_code)]

mod approval;
pub mod catalogue;
mod default_workspace;
pub mod display;
#[doc(hidden)]
pub mod fuzz;
mod host;
pub mod refusal;

pub use default_workspace::too_wide;
pub use host::{CallOptions, CallOutcome, CallRequest, CallSession, Host, HostSettings, listing};
