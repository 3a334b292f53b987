//! git: status, diff, log, add, commit, as they are described. The crate `beamai-git` does the work.

mod add;
pub mod answer;
mod commit;
mod diff;
mod for_model;
mod log;
pub mod path;
mod status;

pub use add::{Add, Added};
pub use answer::Answer;
pub use commit::{Commit, Committed};
pub use diff::Diff;
pub use log::{History, Log};
pub use status::Status;

use beamai_tool::{Door, Pace, Traits};

const READS: Traits = Traits { door: Door::Port, ..Traits::SEARCHES };
const WRITES: Traits =
    Traits { door: Door::Port, pace: Pace::Long, destructive: false, idempotent: false, ..Traits::WRITES };
