//! How every call runs: the tool is found in the [`catalogue`], its arguments are checked, the policy is asked, the work is
//! done. [`Host`] does that for one workspace and one policy; [`display`] shows what came of it to people.

#![forbid(unsafe_code)]

mod approval;
pub mod catalogue;
pub mod display;
#[doc(hidden)]
pub mod fuzz;
mod host;

pub use host::{CallOptions, CallOutcome, CallRequest, CallSession, Host, HostSettings, listing};
