//! The worker's side: serves requests until its input ends.

use super::{WorkerMessage, WorkerRequest, confine, exchanged, frame};
use beamai_base::{Reason, Result, ToolError};
use beamai_git_repository::{DeniedReads, GitCall};
use beamai_sandbox::{ReadableDir, SetupFailure};
use beamai_tool::Limits;
use beamai_workspace::Workspace;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io::{Stdin, Stdout};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Directories of the machine that a worker may read.
const MACHINE: [&str; 2] = ["/etc", "/usr"];

/// The connection to the port.
struct PortLink {
    from: Stdin,
    to: Stdout,
    /// Whether the sandbox confines this process to the directories that it was given.
    is_confined: bool,
}

/// Confines this process to its directories, without the paths that the first request hides, and forbids starting programs.
fn confine_to(own: &[ReadableDir], first: &WorkerRequest) -> Result<(), SetupFailure> {
    if !own.is_empty() {
        let hidden: Vec<PathBuf> = first.hidden.iter().map(|path| OsStr::from_bytes(path).into()).collect();
        let settings = MACHINE.into_iter().map(Path::new).chain(first.settings.paths());
        beamai_sandbox::limit_reads(own, &settings.map(Path::to_owned).collect::<Vec<_>>(), &hidden)?;
    }
    beamai_sandbox::forbid_starts()
}

type Shared = Rc<RefCell<PortLink>>;

/// Runs a worker until the port closes its input. The arguments are the directories that it may read besides the host's
/// settings; without arguments there is no sandbox, and it may read what its user can.
pub fn worker_main() -> ExitCode {
    let own: Option<Vec<_>> = std::env::args_os().skip(2).map(|dir| confine::from_argument(&dir)).collect();
    let Some(own) = own else {
        eprintln!("the git worker is started by the port program alone");
        return ExitCode::FAILURE;
    };
    beamai_git_repository::use_system_settings();
    // Loads the time zone once, before the sandbox hides its file.
    _ = git2::Signature::now("now", "now");
    let is_confined = !own.is_empty();
    let mut line = PortLink { from: std::io::stdin(), to: std::io::stdout(), is_confined };
    let mut next = line.hear::<WorkerRequest>();
    if let Ok(Some(first)) = &next
        && let Err(failure) = confine_to(&own, first)
    {
        eprintln!("the git worker refuses to run without its confinement: {failure}");
        if failure.is_stale() {
            _ = line.say(&WorkerMessage::Failed(exchanged().into()));
        }
        return ExitCode::FAILURE;
    }
    let line = Rc::new(RefCell::new(line));
    loop {
        let request = std::mem::replace(&mut next, Ok(None));
        let answered = match request {
            Ok(Some(request)) => answer(&request, &line),
            Ok(None) => return ExitCode::SUCCESS,
            Err(error) => Err(error),
        };
        if let Err(error) = answered {
            eprintln!("the git worker lost its port: {error}");
            return ExitCode::FAILURE;
        }
        next = line.borrow_mut().hear();
    }
}

fn answer(request: &WorkerRequest, line: &Shared) -> std::io::Result<()> {
    let done = perform(request, line);
    line.borrow_mut().say(&match done {
        Ok(value) => WorkerMessage::Done(value),
        Err(error) => WorkerMessage::Failed(error.into()),
    })
}

fn perform(request: &WorkerRequest, line: &Shared) -> Result<serde_json::Value> {
    let limits = Limits {
        content_bytes: request.content_bytes,
        whole_file_bytes: request.whole_file_bytes,
        ..Limits::default()
    };
    let denied = match request.is_guarded {
        true => asking(line),
        false => DeniedReads::none(),
    };
    let deadline = request.remaining.map(|left| Instant::now() + Duration::from_millis(left));
    let workspace = Workspace::pinned(&request.workspace)?;
    let teller = Rc::clone(line);
    let is_confined = line.borrow().is_confined;
    let call = GitCall::alone(workspace, limits, denied, request.settings.clone(), deadline)
        .confined(is_confined)
        .telling(move |locks| {
            let mut line = teller.borrow_mut();
            line.say(&WorkerMessage::Locks(locks.to_vec())).map_err(lost)?;
            let heard = line.hear::<bool>().map_err(lost)?;
            heard.map(drop).ok_or_else(|| lost("it is gone"))
        });
    request.task.run(&call)
}

/// Asks the port, which knows the rules.
fn asking(line: &Shared) -> DeniedReads {
    let line = Rc::clone(line);
    DeniedReads::by(move |paths| {
        let mut line = line.borrow_mut();
        line.say(&WorkerMessage::Denied(paths.to_vec())).map_err(lost)?;
        let answers: Vec<bool> = line.hear().map_err(lost)?.unwrap_or_default();
        match answers.len() == paths.len() {
            true => Ok(answers),
            false => Err(lost("it did not answer for every path")),
        }
    })
}

fn lost(why: impl std::fmt::Display) -> ToolError {
    ToolError::new(Reason::Crash, format!("the git worker lost its port: {why}"))
}

impl PortLink {
    fn hear<T: DeserializeOwned>(&mut self) -> std::io::Result<Option<T>> {
        frame::read(&mut self.from)
    }

    fn say(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        frame::write(&mut self.to, value)
    }
}
