//! Tools that work on the session and on whoever stands behind it: tasks, questions, skills, sub-agents.

#![forbid(unsafe_code)]

pub mod probe;
pub mod question;
pub mod skill;
pub mod task;
pub mod todo;
