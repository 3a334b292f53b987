//! Background commands by session.

use super::command::BackgroundCommand;
use beamai_base::{Reason, Result, ToolError, excerpt};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of running commands per session.
const MOST_IN_SESSION: usize = 16;
/// Maximum number of running commands in total; each needs a thread.
const MOST: usize = 256;
/// Number of ended commands that a session remembers.
const REMEMBERED: usize = 64;
/// Maximum number of commands that an error names.
const MOST_NAMED: usize = 5;
/// Number of ended sessions that are remembered, so that late calls are refused.
const ENDED: usize = 8192;
/// Upper bound for killing a command; see [`collect`](beamai_process::collect).
pub(super) const PATIENCE: Duration = Duration::from_secs(12);

/// The commands of this process.
static SHARED: LazyLock<CommandRegistry> = LazyLock::new(CommandRegistry::default);

/// Commands by session. Sessions cannot see each other's commands.
#[derive(Debug, Default)]
pub(super) struct CommandRegistry(Mutex<SessionCommands>);

#[derive(Debug, Default)]
struct SessionCommands {
    commands: HashMap<String, Vec<Arc<BackgroundCommand>>>,
    ended: VecDeque<String>,
}

/// The commands of an ended session that have not ended yet.
#[derive(Debug)]
pub struct EndingCommands(Vec<Arc<BackgroundCommand>>);

impl EndingCommands {
    /// Waits until they have ended, at most a few seconds.
    pub fn wait(self) {
        let deadline = Instant::now() + PATIENCE;
        self.0.iter().for_each(|command| _ = command.wait(deadline));
    }
}

/// Ends a session: its commands are killed and no more can be started. Does not wait. `None` if no command is running.
pub fn end_session(id: &str) -> Option<EndingCommands> {
    let mut commands = CommandRegistry::shared().end(id);
    commands.retain(|command| command.is_running());
    (!commands.is_empty()).then_some(EndingCommands(commands))
}

impl CommandRegistry {
    pub(super) fn shared() -> &'static Self {
        &SHARED
    }

    /// Registers a command before its start.
    ///
    /// # Errors
    /// `busy` if too many are running, `bad_state` if the session has ended.
    pub(super) fn add(&self, session: &str, command: &Arc<BackgroundCommand>) -> Result<()> {
        let mut sessions = self.lock();
        if sessions.ended.iter().any(|ended| ended == session) {
            let message = "the command was not run: its session has ended";
            return Err(ToolError::new(Reason::BadState, message));
        }
        let all = sessions.commands.values().flatten().filter(|command| command.is_running()).count();
        let own = sessions.commands.entry(session.to_owned()).or_default();
        let running: Vec<&str> =
            own.iter().filter(|command| command.is_running()).map(|command| command.id.as_str()).collect();
        if running.len() >= MOST_IN_SESSION {
            return Err(too_many(&running));
        }
        if all >= MOST {
            let message =
                format!("the command was not run: {MOST} run in the background already; try again later");
            return Err(ToolError::new(Reason::Busy, message));
        }
        let ended = own.len() - running.len();
        forget(own, (ended + 1).saturating_sub(REMEMBERED));
        own.push(Arc::clone(command));
        Ok(())
    }

    /// Removes a command that could not be started.
    pub(super) fn remove(&self, session: &str, id: &str) {
        if let Some(own) = self.lock().commands.get_mut(session) {
            own.retain(|command| command.id != id);
        }
    }

    /// Looks up a command of a session.
    ///
    /// # Errors
    /// `no_such_command`, listing the session's commands.
    pub(super) fn find(&self, session: Option<&str>, id: &str) -> Result<Arc<BackgroundCommand>> {
        let sessions = self.lock();
        let own = session.and_then(|session| sessions.commands.get(session)).map_or(&[][..], Vec::as_slice);
        match own.iter().find(|command| command.id == id) {
            Some(command) => Ok(Arc::clone(command)),
            None => Err(unknown(id, own.iter().map(|command| command.id.as_str()).collect())),
        }
    }

    fn end(&self, session: &str) -> Vec<Arc<BackgroundCommand>> {
        let mut sessions = self.lock();
        let own = sessions.commands.remove(session).unwrap_or_default();
        if sessions.ended.len() >= ENDED {
            sessions.ended.pop_front();
        }
        sessions.ended.push_back(session.to_owned());
        drop(sessions);
        own.iter().for_each(|command| command.cancel.cancel());
        own
    }

    fn lock(&self) -> MutexGuard<'_, SessionCommands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops the `count` oldest ended commands.
fn forget(commands: &mut Vec<Arc<BackgroundCommand>>, mut count: usize) {
    commands.retain(|command| {
        let stays = count == 0 || command.is_running();
        count -= usize::from(!stays);
        stays
    });
}

fn too_many(running: &[&str]) -> ToolError {
    let message = format!(
        "the command was not run: {} of this session run in the background already ({}); kill one of them, or \
         wait until one has ended",
        running.len(),
        running.join(", ")
    );
    ToolError::new(Reason::Busy, message).with("running", running.to_vec())
}

fn unknown(id: &str, known: Vec<&str>) -> ToolError {
    let there_are = match known.as_slice() {
        [] => "the session has none; start one, and use the id that its result gives".to_owned(),
        known if known.len() <= MOST_NAMED => format!("the session has {}", known.join(", ")),
        known => format!(
            "the latest of the session's {} are {}",
            known.len(),
            known[known.len() - MOST_NAMED..].join(", ")
        ),
    };
    let message = format!("there is no background command {:?}; {there_are}", excerpt(id));
    ToolError::new(Reason::NoSuchCommand, message).with("nearest", known)
}
