//! Tools that use the session, people and sub-agents: tasks, questions, skills, delegation.

#![forbid(unsafe_code)]

#[cfg(feature = "probes")]
pub mod probe;
pub mod question;
pub mod skill;
pub mod task;
pub mod todo;
