//! The task list of a session, as plain data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not started.
    #[default]
    Pending,
    /// In progress; at most one task is.
    InProgress,
    /// Done.
    Completed,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Todo {
    /// Number of the task, unique in the session.
    pub id: u64,
    /// What to do, as an instruction.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// What is being done, for display while the task is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
}
