//! The dialect `beamai`.

use super::registry_of;
use crate::operation::Face;
use crate::ops::shell::Shell;
use crate::registry::Registry;
use std::sync::Arc;

pub(super) fn registry() -> Registry {
    registry_of(vec![Arc::new(Face::<Shell>::new(
        "shell_exec",
        "Runs a shell command with bash in the workspace and returns its exit code, standard output and standard \
         error. A command that outlasts its timeout is killed with everything that it started. For reading, \
         searching and editing files, the file tools are better.",
    ))])
}
