//! Sessions: state that outlives a call, while a client is connected.

use beamai_base::{CancelToken, Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, CallSession, Host, HostSettings};
use beamai_private_dir::PrivateDir;
use beamai_services::services;
use beamai_tool::{SessionState, Tool};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The session of a connection.
pub(crate) struct McpSession {
    id: String,
    /// Whether it serves requests of several clients, which must not share approvals.
    is_shared: bool,
    state: Mutex<SessionState>,
    held: Mutex<SessionResources>,
    /// Held while the session ends, so that others that end it wait until it has ended.
    ending: Mutex<()>,
}

#[derive(Default)]
struct SessionResources {
    temp: Option<PrivateDir>,
    /// Subjects approved for the rest of the session.
    allowed: BTreeSet<String>,
    /// The host with the rules that were added for the rest of the session.
    host: Option<(HostSettings, Arc<Host>)>,
    /// The cancel tokens of running calls.
    running: BTreeMap<u64, CancelToken>,
    calls: u64,
    has_ended: bool,
    /// Its name in HTTP requests.
    http_id: Option<String>,
}

/// A running call of a session; cancelled if dropped before it has ended.
pub(crate) struct CancelOnDrop {
    session: Arc<McpSession>,
    number: u64,
    /// Cancels it.
    pub(crate) cancel: CancelToken,
}

impl McpSession {
    /// Its id: unique and unguessable.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether approvals may be remembered for the session.
    pub(crate) fn is_of_one_client(&self) -> bool {
        !self.is_shared
    }

    /// Sets its name in HTTP requests, if it is of one client.
    pub(crate) fn set_http_id(&self, id: &str) {
        if !self.is_shared {
            self.held().http_id.get_or_insert_with(|| id.to_owned());
        }
    }

    /// Whether the subject has been approved for the session.
    pub(crate) fn has_allowed(&self, subject: &str) -> bool {
        self.held().allowed.contains(subject)
    }

    /// Approves the subject for the rest of the session.
    pub(crate) fn allow(&self, subject: &str) {
        self.held().allowed.insert(subject.to_owned());
    }

    /// Adds rules for the rest of the session, besides those in the server's settings.
    ///
    /// # Errors
    /// For a malformed rule, or if the workspace is gone.
    pub(crate) fn add_rules(&self, servers: &HostSettings, rules: &[String]) -> Result<(), ToolError> {
        let mut held = self.held();
        let mut settings = held.host.as_ref().map_or(servers, |(settings, _)| settings).clone();
        settings.permissions.allow.extend(rules.iter().map(|rule| rule.as_str().into()));
        let host = Arc::new(Host::new(&settings, Arc::new(services().for_command_line()))?);
        held.host = Some((settings, host));
        Ok(())
    }

    /// Registers a call, so that it ends with the session.
    pub(crate) fn begin(self: &Arc<Self>) -> CancelOnDrop {
        let (mut held, cancel) = (self.held(), CancelToken::new());
        if held.has_ended {
            cancel.cancel();
        }
        held.calls += 1;
        let number = held.calls;
        held.running.insert(number, cancel.clone());
        CancelOnDrop { session: Arc::clone(self), number, cancel }
    }

    /// Runs a call on this thread, on the server's host, or on one with the added rules.
    pub(crate) fn call(
        &self,
        host: &Host,
        tool: &dyn Tool,
        call: &CallRequest,
        run: impl Fn() -> CallOptions,
    ) -> CallOutcome {
        let own = self.held().host.as_ref().map(|(_, host)| Arc::clone(host));
        let host = own.as_deref().unwrap_or(host);
        if tool.traits().session {
            // Serialized, so that no change is lost. Such calls are instant.
            let mut state = lock(&self.state);
            let outcome = self.in_temp_dir(host, tool, call, &run, &state);
            if let CallOutcome::Ok(_, Some(changed)) = &outcome {
                state.clone_from(changed);
            }
            return outcome;
        }
        match self.in_temp_dir(host, tool, call, &run, &SessionState::default()) {
            // A command can delete the directory. The call has done nothing yet.
            CallOutcome::Error(error) if error.reason == Reason::NoTempDir => {
                self.in_temp_dir(host, tool, call, &run, &SessionState::default())
            }
            outcome => outcome,
        }
    }

    fn in_temp_dir(
        &self,
        host: &Host,
        tool: &dyn Tool,
        call: &CallRequest,
        run: &impl Fn() -> CallOptions,
        state: &SessionState,
    ) -> CallOutcome {
        let temp_dir = match self.temp_dir() {
            Ok(path) => Some(path),
            Err(error) => return CallOutcome::Error(ToolError { tool: call.tool.clone(), ..error }),
        };
        let seen_as = (tool.sees_files() && !self.is_shared).then(|| self.id.clone());
        let session = CallSession { id: Some(self.id.clone()), temp_dir, seen_as, state: state.clone() };
        host.call(CallRequest { session: Some(session), ..call.clone() }, run())
    }

    fn temp_dir(&self) -> Result<String, ToolError> {
        let mut held = self.held();
        if held.has_ended {
            return Err(ToolError::new(Reason::Cancelled, "the session has ended"));
        }
        if !held.temp.as_ref().is_some_and(PrivateDir::is_there) {
            let made = PrivateDir::new().map_err(|error| {
                ToolError::new(Reason::Io, format!("no temporary directory could be made: {error}"))
            })?;
            held.temp = Some(made);
        }
        let path = held.temp.as_ref().and_then(|dir| dir.path().to_str());
        path.map(str::to_owned).ok_or_else(|| {
            ToolError::new(Reason::Io, "the path of the temporary directory is not UTF-8; set TMPDIR")
        })
    }

    /// Cancels the running calls, and those that begin later.
    fn stop(&self) {
        self.held().has_ended = true;
        self.cancel_all();
    }

    /// Cancels the running calls.
    pub(crate) fn cancel_all(&self) {
        self.held().running.values().for_each(CancelToken::cancel);
    }

    /// Ends the session: cancels its calls, waits until its background commands have been killed, deletes its temporary
    /// directory. Nothing can be started in it any more.
    fn end(&self) {
        let _ending = lock(&self.ending);
        self.stop();
        if let Some(wait) = beamai_services::end_session(&self.id) {
            wait();
        }
        let temp = self.held().temp.take();
        drop(temp);
    }

    fn held(&self) -> MutexGuard<'_, SessionResources> {
        lock(&self.held)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.session.held().running.remove(&self.number);
        self.cancel.cancel();
    }
}

/// The open sessions of a server.
#[derive(Default)]
pub(crate) struct McpSessions(Mutex<BTreeMap<String, Arc<McpSession>>>);

impl McpSessions {
    /// Starts the session of a client.
    pub(crate) fn begin(&self) -> Arc<McpSession> {
        self.add(false)
    }

    /// Starts a session for requests without one.
    pub(crate) fn begin_shared(&self) -> Arc<McpSession> {
        self.add(true)
    }

    fn add(&self, is_shared: bool) -> Arc<McpSession> {
        let id = random_name();
        let (state, held, ending) = (Mutex::default(), Mutex::default(), Mutex::default());
        let session = Arc::new(McpSession { id: id.clone(), is_shared, state, held, ending });
        lock(&self.0).insert(id, Arc::clone(&session));
        session
    }

    /// Ends a session; returns when nothing of it is running.
    pub(crate) fn end(&self, session: &McpSession) {
        session.end();
        lock(&self.0).remove(&session.id);
    }

    /// Cancels the calls of the session with this name in HTTP requests, which is about to end.
    pub(crate) fn stop(&self, http_id: &str) {
        let all: Vec<_> = lock(&self.0).values().cloned().collect();
        let named = all.iter().filter(|session| session.held().http_id.as_deref() == Some(http_id));
        named.for_each(|session| session.stop());
    }

    /// Ends all sessions.
    pub(crate) fn end_all(&self) {
        let all: Vec<_> = lock(&self.0).values().cloned().collect();
        all.iter().for_each(|session| session.cancel_all());
        all.iter().for_each(|session| self.end(session));
    }
}

/// 32 random hexadecimal digits.
fn random_name() -> String {
    let mut bytes = [0; 16];
    let flags = rustix::rand::GetRandomFlags::empty();
    let drawn = rustix::rand::getrandom(&mut bytes, flags).expect("the kernel gives 16 random bytes");
    assert_eq!(drawn, bytes.len(), "up to 256 bytes come at once");
    format!("{:032x}", u128::from_ne_bytes(bytes))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
