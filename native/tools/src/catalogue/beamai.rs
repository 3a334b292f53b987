//! The dialect `beamai`.

use super::registry_of;
use crate::operation::Face;
use crate::ops::question::Ask;
use crate::ops::shell::Shell;
use crate::ops::skill::Skill;
use crate::ops::todo::{TodoAdd, TodoList, TodoUpdate};
use crate::registry::Registry;
use std::sync::Arc;

pub(super) fn registry() -> Registry {
    registry_of(vec![
        Arc::new(Face::<TodoAdd>::new(
            "todo_add",
            "Add a task to the session's list. Keep a list for work of several steps, and keep it true.",
        )),
        Arc::new(Face::<TodoList>::new("todo_list", "List the session's tasks.")),
        Arc::new(Face::<TodoUpdate>::new(
            "todo_update",
            "Change a task of the session's list: its status, its words, or remove it.",
        )),
        Arc::new(Face::<Ask>::new(
            "human_input",
            "Ask the user questions when a decision is theirs to make. Each has two to four options, the recommended \
             one first, or none for free text; the user can always answer something else.",
        )),
        Arc::new(Face::<Skill>::new(
            "skill",
            "List the skills, or load one. A skill is a set of instructions for a kind of work; load the one that fits \
             before you begin.",
        )),
        Arc::new(Face::<Shell>::new(
            "shell_exec",
            "Runs a shell command with bash in the workspace and returns its exit code, standard output and standard \
             error. A command that outlasts its timeout is killed with everything that it started. For reading, \
             searching and editing files, the file tools are better.",
        )),
    ])
}
