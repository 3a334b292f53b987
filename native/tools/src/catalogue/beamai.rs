//! The dialect `beamai`.

use super::registry_of;
use crate::operation::Face;
use crate::ops::file::{FileEdit, FileRead, FileWrite};
use crate::ops::question::Ask;
use crate::ops::skill::Skill;
use crate::ops::todo::{TodoAdd, TodoList, TodoUpdate};
use crate::registry::Registry;
use std::sync::Arc;

pub(super) fn registry() -> Registry {
    registry_of(vec![
        Arc::new(Face::<FileRead>::new(
            "file_read",
            "Read lines of a text file in any encoding, or an image. Tells the number of lines, the encoding, the \
             line ends, and a hash by which a later change can be refused if the file is no longer the same.",
        )),
        Arc::new(Face::<FileWrite>::new(
            "file_write",
            "Write a whole file, or add to its end; answers with a diff. The file changes at once or not at all; \
             missing directories are made. To change a part of a file, use file_edit.",
        )),
        Arc::new(Face::<FileEdit>::new(
            "file_edit",
            "Replace an exact piece of text in a file; answers with a diff. The text must occur exactly once, unless \
             replace_all is set. Encoding, line ends, mode and everything else of the file stay as they are.",
        )),
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
    ])
}
