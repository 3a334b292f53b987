//! The tools for skills and sub-agents, shared by several dialects.

use beamai_session::{skill::Skill, task::SubAgentTask};
use beamai_tool::{Tool, ToolBinding};
use std::sync::Arc;

pub(super) fn skill() -> Arc<dyn Tool> {
    Arc::new(ToolBinding::<Skill>::new(
        "skill",
        "List skills, or load one by name. A skill is instructions for a kind of work; load a fitting one before \
         you begin.",
    ))
}

pub(super) fn task() -> Arc<dyn Tool> {
    Arc::new(ToolBinding::<SubAgentTask>::new(
        "task",
        "Delegate work to a sub-agent with tools of its own; returns its summary. Use it for wide searches, not \
         for small steps.",
    ))
}
