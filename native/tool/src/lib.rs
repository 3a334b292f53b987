//! Tools, and what a call of one may use.
//!
//! An [`Operation`] is a typed piece of work. A [`ToolBinding`] gives it a name, a description and, if a dialect needs
//! other shapes, other types, and makes a [`Tool`] of it. A call runs with a [`CallContext`]: access to files, a
//! deadline, a cancel token, the state of its session, and the [`Services`] of its door. A door that lacks a service
//! describes the operations that need it, but does not run them.

#![forbid(unsafe_code)]

pub mod consultation;
mod context;
pub mod delegation;
pub mod for_model;
mod host_act;
pub mod lsp_language;
pub mod lsp_settings;
mod operation;
mod preview;
mod progress_reporter;
pub mod question;
mod registry;
mod seen_files;
mod services;
mod session;
mod skill_settings;
pub mod todo;
mod tool;
pub mod web_settings;

pub use consultation::{Consultation, Consulted, Reply};
pub use context::{CallContext, Interrupt, Limits, Progress};
pub use host_act::host_act;
pub use operation::{Operation, ToolBinding};
pub use preview::Preview;
pub use progress_reporter::ProgressReporter;
pub use registry::ToolRegistry;
pub use seen_files::{SeenFiles, SeenMoment};
pub use services::{OperationBackend, Services};
pub use session::{Session, SessionState};
pub use skill_settings::SkillSettings;
pub use tool::{Door, ExecutionClass, Prepared, Tool, Traits};
pub use web_settings::WebSettings;
