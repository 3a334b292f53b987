//! A running command's connections by host name: decides about them, asks for approval, and records them.

use super::asking::{self, MOST_OPEN, PendingQuestion, StartChoice, lock};
use beamai_base::{Destination, HostHint, HostTerms};
use beamai_isolation::{HostCredentials, NetworkUse, Outlet, SandboxMode};
use beamai_net::Transport;
use beamai_network_proxy::{Admission, Gate, Proxy};
use beamai_policy::{NETWORK, NetworkPolicy, NetworkVerdict};
use beamai_process::Pause;
use beamai_tool::{CallContext, Progress};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::oneshot;

/// Maximum number of names that a result lists individually.
const MOST_NAMES: usize = 100;
/// The name under which the others are summed up.
const OTHERS: &str = "other names";

/// The network of a command that may connect to some names only.
pub(super) struct NamedNetwork {
    gate: Arc<ConnectionMonitor>,
    proxy: Arc<Proxy>,
    session: String,
}

/// Networks of running commands, whose connections may have to be closed when rules change.
static RUNNING: Mutex<Vec<Weak<NamedNetwork>>> = Mutex::new(Vec::new());

impl NamedNetwork {
    /// The network of a call's command; `None` if the network is off, or unrestricted.
    pub(super) fn of(
        cx: &CallContext,
        command: &str,
        in_background: bool,
        pause: &Arc<Pause>,
    ) -> Option<Arc<Self>> {
        let policy = cx.network.as_ref()?;
        let gate = Arc::new(ConnectionMonitor {
            policy: Mutex::new(Some(Arc::clone(policy))),
            command: command.to_owned(),
            credentials: cx.sandbox.credentials.clone(),
            asker: asking::asker(cx, in_background),
            pause: Arc::clone(pause),
            host_terms: cx.services.host_terms(),
            noted: Mutex::default(),
        });
        let asked: Arc<dyn Gate> = Arc::new(ConnectionGate(Arc::clone(&gate)));
        let transport = Transport::for_commands(&cx.web);
        let proxy = Arc::new(Proxy::new(asked, transport, cx.sandbox.credentials.clone()));
        let network = Arc::new(Self { gate, proxy, session: cx.session_id.clone().unwrap_or_default() });
        let mut running = lock(&RUNNING);
        running.retain(|other| other.strong_count() > 0);
        running.push(Arc::downgrade(&network));
        Some(network)
    }

    /// The service for the command's connections.
    pub(super) fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::clone(&self.proxy) as Arc<dyn Outlet>
    }

    /// The names reached and refused so far.
    pub(super) fn uses(&self) -> Vec<NetworkUse> {
        lock(&self.gate.noted).uses.clone()
    }

    /// Ends it with the command: open requests are withdrawn.
    pub(super) fn end(&self) {
        let open = {
            let mut noted = lock(&self.gate.noted);
            noted.has_ended = true;
            noted.waiting.clear();
            std::mem::take(&mut noted.open)
        };
        asking::take_back(&open);
    }
}

impl std::fmt::Debug for NamedNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("NamedNetwork").field(&self.session).finish()
    }
}

/// Applies a call's rules to the commands that its session is running: connections that they do not allow are closed.
pub(super) fn renew(cx: &CallContext) {
    let Some(session) = cx.session_id.as_deref() else { return };
    if cx.network.is_none() && (cx.sandbox.network.is_all() || cx.sandbox.mode == SandboxMode::Off) {
        return;
    }
    let running: Vec<_> = lock(&RUNNING).iter().filter_map(Weak::upgrade).collect();
    for network in running.iter().filter(|network| network.session == session) {
        if network.gate.renew(cx.network.as_ref()) {
            network.proxy.look_again();
        }
    }
}

/// Decides about the connections of one command.
struct ConnectionMonitor {
    /// The rules, including those that were added by answers; `None` once the network has been switched off.
    policy: Mutex<Option<Arc<NetworkPolicy>>>,
    /// The command, for display.
    command: String,
    /// The host's credentials, to say which requests have some added.
    credentials: HostCredentials,
    /// The channel for approval requests; `None` if nobody can be asked.
    asker: Option<Progress>,
    pause: Arc<Pause>,
    host_terms: HostTerms,
    noted: Mutex<ConnectionLog>,
}

type ConnectionAnswer = Result<(), String>;

#[derive(Default)]
struct ConnectionLog {
    uses: Vec<NetworkUse>,
    /// Answers so far, by destination.
    decided: HashMap<String, ConnectionAnswer>,
    /// Connections that wait for an answer, by the same key.
    waiting: HashMap<String, Vec<oneshot::Sender<ConnectionAnswer>>>,
    /// Ids of open requests.
    open: Vec<String>,
    has_ended: bool,
}

impl ConnectionLog {
    fn of(&mut self, name: &str) -> &mut NetworkUse {
        let known = |uses: &[NetworkUse], name: &str| uses.iter().position(|other| other.name == name);
        let name =
            if self.uses.len() < MOST_NAMES || known(&self.uses, name).is_some() { name } else { OTHERS };
        let at = known(&self.uses, name).unwrap_or_else(|| {
            let (reached, refused, why, wanted, configure) = Default::default();
            self.uses.push(NetworkUse { name: name.to_owned(), reached, refused, why, wanted, configure });
            self.uses.len() - 1
        });
        &mut self.uses[at]
    }
}

/// An open request.
struct ConnectionQuestion {
    connections: Arc<ConnectionMonitor>,
    to: String,
}

impl PendingQuestion for ConnectionQuestion {
    fn add(&self, rule: &str) -> beamai_base::Result<()> {
        let mut policy = lock(&self.connections.policy);
        // Rules about programs that the session allows are added too.
        if let (false, Some(known)) = (rule.starts_with("Bash"), policy.as_ref()) {
            *policy = Some(Arc::new(known.with_rule(rule)?));
        }
        Ok(())
    }

    fn answered(self: Box<Self>, id: &str, decision: StartChoice, reason: Option<String>) {
        let Self { connections, to } = *self;
        let answer = match (decision, reason) {
            (StartChoice::Allow, _) => Ok(()),
            (StartChoice::Deny, Some(reason)) => Err(reason),
            (StartChoice::Deny, None) => Err("it was not allowed".to_owned()),
        };
        let mut noted = lock(&connections.noted);
        noted.open.retain(|open| open != id);
        noted.decided.insert(to.clone(), answer.clone());
        let waiting = noted.waiting.remove(&to).unwrap_or_default();
        drop(noted);
        connections.pause.end();
        // The program may have closed its connection in the meantime.
        waiting.into_iter().for_each(|one| _ = one.send(answer.clone()));
    }
}

/// An answer, or a channel that it will arrive on.
enum PendingAnswer {
    Now(ConnectionAnswer),
    Later(oneshot::Receiver<ConnectionAnswer>),
}

impl ConnectionMonitor {
    /// Takes new rules. Returns whether anything changed.
    fn renew(&self, policy: Option<&Arc<NetworkPolicy>>) -> bool {
        let mut known = lock(&self.policy);
        let is_same = match (known.as_ref(), policy) {
            (Some(known), Some(policy)) => Arc::ptr_eq(known, policy),
            (known, policy) => known.is_none() && policy.is_none(),
        };
        *known = policy.cloned();
        !is_same
    }

    fn judge(&self, to: &Destination) -> NetworkVerdict {
        let policy = lock(&self.policy).clone();
        let off = || NetworkVerdict::Refuse("the network was switched off".to_owned(), None);
        policy.map_or_else(off, |policy| policy.judge(to))
    }

    fn decide(self: &Arc<Self>, to: &Destination) -> PendingAnswer {
        let refuse = |wanted: Option<String>, why: String| {
            let mut noted = lock(&self.noted);
            let used = noted.of(&to.to_string());
            used.configure = wanted.as_deref().map(|rule| HostHint::allow([rule]).in_terms(self.host_terms));
            used.wanted = wanted;
            drop(noted);
            PendingAnswer::Now(Err(why))
        };
        match (self.judge(to), &self.asker) {
            (NetworkVerdict::Allow, _) => PendingAnswer::Now(Ok(())),
            (NetworkVerdict::Refuse(why, wanted), _) => refuse(wanted, why),
            (NetworkVerdict::Ask { rule, wanted }, Some(asker)) => self.ask(asker, to, rule, wanted),
            (NetworkVerdict::Ask { rule, wanted }, None) => {
                let because = rule.map_or_else(
                    || "no rule allows it".to_owned(),
                    |rule| format!("the rule {rule} requires approval"),
                );
                refuse(Some(wanted), format!("{because}, and nobody can be asked"))
            }
        }
    }

    /// Asks once per name and port, for all connections to it.
    fn ask(
        self: &Arc<Self>,
        asker: &Progress,
        to: &Destination,
        rule: Option<String>,
        wanted: String,
    ) -> PendingAnswer {
        let (tell, told) = oneshot::channel();
        let name = to.to_string();
        let id = {
            let mut noted = lock(&self.noted);
            if let Some(answer) = noted.decided.get(&name) {
                return PendingAnswer::Now(answer.clone());
            }
            if let Some(waiting) = noted.waiting.get_mut(&name) {
                waiting.push(tell);
                return PendingAnswer::Later(told);
            }
            if noted.has_ended || noted.open.len() >= MOST_OPEN {
                return PendingAnswer::Now(Err("too many questions were open".to_owned()));
            }
            let id = asking::next_id();
            noted.open.push(id.clone());
            noted.waiting.insert(name.clone(), vec![tell]);
            id
        };
        self.pause.begin();
        let request = self.request(to, rule.as_deref(), &wanted);
        let asked = ConnectionQuestion { connections: Arc::clone(self), to: name };
        asking::ask(asker, &id, request, Box::new(asked));
        PendingAnswer::Later(told)
    }

    /// The approval request for the host.
    fn request(&self, to: &Destination, rule: Option<&str>, wanted: &str) -> Value {
        let with = match () {
            () if self.credentials.has_any_for(to) => {
                "; the host's credentials for it are added to its requests"
            }
            () if self.credentials.has_any_at(&to.host()) => {
                "; the host's credentials are added to requests to another port or name of it, which a rule for the name covers"
            }
            () => "",
        };
        // A rule that asks takes precedence over one that would allow it.
        let helpful: Vec<&str> = rule.is_none().then_some(wanted).into_iter().collect();
        json!({
            "rule": NETWORK,
            // With its port, so that an approval is about no other one.
            "subject": format!("{NETWORK}(domain:{to})"),
            "message": format!("a running command wants to connect to {to}{with}"),
            "matched_rule": rule,
            "wanted": helpful,
            "command": self.command,
        })
    }
}

/// The gate that the proxy asks.
struct ConnectionGate(Arc<ConnectionMonitor>);

impl Gate for ConnectionGate {
    fn admit<'a>(&'a self, to: &'a Destination) -> Admission<'a> {
        Box::pin(async move {
            match self.0.decide(to) {
                PendingAnswer::Now(answer) => answer,
                PendingAnswer::Later(told) => {
                    told.await.unwrap_or_else(|_| Err("the command ended before it was decided".to_owned()))
                }
            }
        })
    }

    fn still_admits(&self, to: &Destination) -> bool {
        match self.0.judge(to) {
            NetworkVerdict::Allow => true,
            NetworkVerdict::Refuse(..) => false,
            NetworkVerdict::Ask { .. } => {
                lock(&self.0.noted).decided.get(&to.to_string()).is_some_and(Result::is_ok)
            }
        }
    }

    fn reached(&self, to: &Destination) {
        lock(&self.0.noted).of(&to.to_string()).reached += 1;
    }

    fn refused(&self, to: &str, why: &str) {
        let mut noted = lock(&self.0.noted);
        let used = noted.of(to);
        used.refused += 1;
        used.why = Some(why.to_owned());
    }

    fn advised(&self, to: &str, hint: HostHint) {
        lock(&self.0.noted).of(to).configure = Some(hint.in_terms(self.0.host_terms));
    }
}
