//! Tells when a command has failed because the sandbox keeps a path in its place.

use super::symptoms::is_printed;
use beamai_isolation::SandboxMode;
use beamai_port_tools::shell::ShellOutput;
use beamai_tool::CallContext;

/// What programs print that may not move or delete a mount point, in lower case.
const MESSAGES: [&str; 2] = ["device or resource busy", "ebusy"];

const HELD: &str = "While a command runs, the sandbox keeps git repositories that were there before, and files that rules protect, in \
                    their place. Move or delete them yourself";

/// Advice for the host, if the command has failed because a path was busy.
pub(super) fn hint(output: &ShellOutput, cx: &CallContext) -> Option<String> {
    let can_be = output.exit_code != Some(0) && cx.sandbox.mode != SandboxMode::Off;
    (can_be && is_printed(&MESSAGES, &output.printed)).then(|| HELD.to_owned())
}
