//! The tools of beamai, with no BEAM in them.
//!
//! A call comes in as plain data ([`engine::Call`]) and is run by a [`engine::Host`], which was made from plain
//! data too ([`engine::Settings`]): a workspace, a policy, limits. The engine finds the tool in the
//! [`catalogue`], has its arguments checked against its [`schema`], asks the [`policy`], and runs the
//! [`operation`] with a [`context::CallContext`]: the one way to files (a [`workspace::Workspace`]), a
//! deadline, and a token that says when to stop. Everything that describes a tool is read from the catalogue.

pub mod cancel;
pub mod catalogue;
pub mod command;
pub mod consultation;
pub mod context;
pub mod display;
pub mod domain;
pub mod engine;
pub mod error;
pub mod for_model;
#[doc(hidden)]
pub mod fuzz;
pub mod lsp;
#[cfg(all(feature = "port", target_os = "linux"))]
mod mcp;
mod nearest;
#[cfg(feature = "port")]
mod net;
pub mod operation;
pub mod ops;
pub mod panics;
pub mod policy;
pub mod process;
pub mod protocol;
mod pulse;
pub mod registry;
pub mod sandbox;
pub mod schema;
pub mod secrets;
pub mod seen;
#[cfg(all(feature = "port", target_os = "linux"))]
mod servers;
pub mod session;
pub mod text;
pub mod tool;
pub mod web_settings;
pub mod workspace;

pub use error::{ErrorKind, Reason, Result, ToolError};
