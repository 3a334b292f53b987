//! git: status, diff, log, add, commit, on libgit2.
//!
//! The texts are those of the git program, byte for byte, where nothing below says otherwise; tests compare them.
//!
//! - A repository counts if its work tree is the workspace, or lies in it and is named by a path argument. One
//!   above the workspace, one whose `.git` leads out of it (work trees of a repository elsewhere), one that
//!   borrows objects from another, and one that libgit2 cannot open are answered with a hint to use the shell.
//! - Nothing of a repository starts a program. A commit with an active hook or with signing is refused, and so is
//!   staging a file whose attributes name a filter or an encoding. Diffs take no `textconv` and no external
//!   program, and compare such files as they are, which a note says.
//! - Settings that change what is compared are honoured: line endings, attributes, ignored files, file modes,
//!   quoting of names, abbreviation of hashes, renames, untracked files. Settings of taste are not: colours,
//!   formats, prefixes, context, dates, the columns of a status.
//! - libgit2 works in `.git` alone, after a guard has looked over it; work-tree files are opened by handle,
//!   through the workspace. Between the guard's look and libgit2's work another process could still change
//!   `.git`: libgit2 takes paths.
//! - Not done: what is inside a submodule (a note says so), replace references, grafts other than shallow ones,
//!   `mailmap.file`, headings of hunks by language, indexes that are split or sparse, repositories in SHA-256.

mod add;
mod answer;
mod commit;
mod diff;
mod for_model;
mod log;
mod path;
mod status;

#[cfg(feature = "port")]
mod changes;
#[cfg(feature = "port")]
mod fail;
#[cfg(feature = "port")]
mod hooks;
#[cfg(feature = "port")]
mod presence;
#[cfg(feature = "port")]
mod record;
#[cfg(feature = "port")]
mod repo;
#[cfg(feature = "port")]
mod stage;
#[cfg(feature = "port")]
mod text;
#[cfg(feature = "port")]
mod tree;

pub use add::{Add, Added};
pub use answer::Answer;
pub use commit::{Commit, Committed};
pub use diff::Diff;
pub use log::{History, Log};
#[cfg(feature = "port")]
pub use presence::{Presence, presence};
pub use status::Status;

use crate::tool::{Door, Pace, Traits};

const READS: Traits = Traits { door: Door::Port, ..Traits::SEARCHES };
const WRITES: Traits =
    Traits { door: Door::Port, pace: Pace::Long, destructive: false, idempotent: false, ..Traits::WRITES };

/// The work, where the port's libraries are there; elsewhere the error that names the port.
macro_rules! in_port {
    ($work:expr, $cx:ident) => {{
        #[cfg(feature = "port")]
        let answer = $work;
        #[cfg(not(feature = "port"))]
        let answer = {
            _ = $cx;
            Err($crate::ops::git::elsewhere().into())
        };
        answer
    }};
}
use in_port;

#[cfg(not(feature = "port"))]
fn elsewhere() -> crate::error::ToolError {
    let message = "git runs in the port program only; call the tool through the port door";
    crate::error::ToolError::new(crate::error::Reason::DoorLost, message)
}

/// A text, or why there is none.
#[cfg(feature = "port")]
fn answered(outcome: fail::Outcome<Answer>) -> Result<Answer, crate::context::Stop> {
    match outcome {
        Ok(answer) => Ok(answer),
        Err(fail::Fail::Unavailable(why)) => Ok(Answer::unavailable(&why)),
        Err(fail::Fail::Error(error)) => Err(error.into()),
    }
}

#[cfg(all(test, not(feature = "port")))]
mod tests {
    use crate::context::{CallContext, Stop};
    use crate::workspace::Workspace;
    use crate::{Reason, catalogue};
    use serde_json::json;

    #[test]
    fn without_the_port_the_tools_are_listed_but_do_not_run() {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        for (name, args) in [
            ("git_status", json!({})),
            ("git_diff", json!({})),
            ("git_log", json!({})),
            ("git_add", json!({"path": "."})),
            ("git_commit", json!({"message": "m"})),
        ] {
            let tool = catalogue::find(name, Some("beamai")).unwrap();
            let Err(Stop::Failed(error)) = tool.execute(args.as_object().unwrap().clone(), &cx) else {
                panic!()
            };
            assert_eq!(error.reason, Reason::DoorLost);
            assert!(error.message.contains("port"), "{}", error.message);
        }
    }
}
