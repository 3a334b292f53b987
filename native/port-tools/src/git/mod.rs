//! Declarations of the git tools: status, diff, log, add, commit. The crate `beamai-git` implements them.

mod add;
pub mod answer;
mod commit;
mod diff;
mod for_model;
mod log;
mod log_entry;
pub mod path;
mod status;

pub use add::{GitAdd, GitAddOutput};
pub use answer::GitText;
pub use commit::{GitCommit, GitCommitOutput};
pub use diff::GitDiff;
pub use log::{GitLog, GitLogOutput};
pub use status::GitStatus;

use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{Door, ExecutionClass, Traits};

const READS: Traits = Traits { door: Door::Port, ..Traits::SEARCHES };
const WRITES: Traits = Traits {
    door: Door::Port,
    pace: ExecutionClass::Long,
    destructive: false,
    idempotent: false,
    ..Traits::WRITES
};

/// The permission to show current or past contents of files.
fn reading(rule: &str, operand: Operand) -> PermissionRequest {
    let read = &["Read"];
    PermissionRequest { rule: rule.into(), touches: read, allowed_by: read, is_safe: true, operand }
}
