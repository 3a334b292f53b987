//! Tells when a command has failed because files belong to another user.

use super::symptoms::is_printed;
use beamai_isolation::SandboxMode;
use beamai_port_tools::shell::ShellOutput;
use beamai_sandbox::{FOREIGN_REMEDY, ForeignPath};
use beamai_tool::CallContext;

/// What programs print that may not change a file, in lower case.
const MESSAGES: [&str; 5] = ["permission", "not permitted", "eacces", "not writable", "dubious ownership"];

/// Advice for the host, if the command has failed in a workspace with files that root may change and its commands may not.
pub(super) fn hint(output: &ShellOutput, cx: &CallContext) -> Option<String> {
    let can_be = output.exit_code != Some(0) && cx.sandbox.mode != SandboxMode::Off;
    if !can_be || !is_printed(&MESSAGES, &output.printed) {
        return None;
    }
    let foreign = ForeignPath::within(cx.workspace.path())?;
    Some(format!("Files in the workspace belong to user {}: {FOREIGN_REMEDY}", foreign.uid))
}
