//! A tool: a name, a description, parameters, and the work to do.

use crate::{
    CallContext, Interrupt, Preview,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_base::Result;
use beamai_policy::PermissionRequests;
use beamai_schema::Parameters;
use serde::Serialize;
use serde_json::{Map, Value};

/// Which door runs a tool if the host does not choose one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// Inside the VM: fast and safe.
    Nif,
    /// In the port program: it starts processes.
    Port,
}

/// How long a tool's work can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionClass {
    /// A few microseconds of computation on small arguments: no file, no contended lock. May run on a normal scheduler.
    Instant,
    /// Microseconds if the operating system has the data in memory, which the call finds out without blocking; bounded
    /// otherwise. Changes nothing. May be tried on a normal scheduler.
    Cached,
    /// Bounded by size, or defers before any effect: may run on a dirty scheduler.
    Bounded,
    /// Unbounded: always a cancellable job.
    Long,
}

/// Properties of a tool besides its schema, for hosts, providers and protocols. `destructive`, `idempotent` and
/// `open_world` are defined as in the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traits {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy existing data.
    pub destructive: bool,
    /// Repeating the same call has no further effect.
    pub idempotent: bool,
    /// Reaches beyond the workspace.
    pub open_world: bool,
    /// The default door.
    pub door: Door,
    /// How long it can take.
    pub pace: ExecutionClass,
    /// Works on the session's state only.
    pub session: bool,
    /// Asks a person; the time that takes does not count towards the timeout.
    pub asks_user: bool,
}

impl Traits {
    /// A tool that uses nothing but its arguments.
    pub const PURE: Self = Self { pace: ExecutionClass::Instant, ..Self::READS };
    /// A tool that only reads, bounded by size.
    pub const READS: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: false,
        door: Door::Nif,
        pace: ExecutionClass::Bounded,
        session: false,
        asks_user: false,
    };
    /// A tool that changes only the session's state.
    pub const SESSION: Self = Self {
        read_only: false,
        idempotent: false,
        session: true,
        pace: ExecutionClass::Instant,
        ..Self::READS
    };
    /// A tool that only reads, unbounded.
    pub const SEARCHES: Self = Self { pace: ExecutionClass::Long, ..Self::READS };
    /// A tool that changes files, bounded by size.
    pub const WRITES: Self = Self { read_only: false, destructive: true, idempotent: false, ..Self::READS };
}

/// A tool of the catalogue, or a custom one.
pub trait Tool: Send + Sync {
    /// Its name, unique in its registry.
    fn name(&self) -> &str;

    /// What it does, for the model that chooses it.
    fn description(&self) -> &str;

    /// Its parameters.
    fn parameters(&self) -> &Parameters;

    /// Whether it takes this argument, listed or not.
    fn takes(&self, name: &str) -> bool {
        self.parameters().contains_key(name)
    }

    /// JSON Schema of its result.
    fn output_schema(&self) -> &Value;

    /// Properties known before any call.
    fn traits(&self) -> Traits;

    /// Its name in permission rules.
    fn rule(&self) -> &str;

    /// Whether a call needs approval, unless a rule allows it.
    fn requires_permission(&self) -> bool {
        !self.traits().read_only && !self.traits().session
    }

    /// Whether a call waits for a person or a sub-agent: it has no timeout then.
    fn waits(&self) -> bool {
        self.traits().asks_user
    }

    /// Whether it reads or changes files whose content hashes the session keeps.
    fn sees_files(&self) -> bool {
        false
    }

    /// Whether it changes several files together; a host may start the process that recovers such changes first.
    fn changes_several_files(&self) -> bool {
        false
    }

    /// Whether the policy is asked; not for the host's own tools.
    fn is_judged(&self) -> bool {
        true
    }

    /// Renders a result for a model; `None`, with an empty page, to have it rendered like any other value.
    fn for_model(&self, _: Fields<'_>, _: &ModelCall<'_>, _: &mut ModelPage) -> Option<()> {
        None
    }

    /// Checks the arguments and prepares the call. Has no effect.
    ///
    /// # Errors
    /// `invalid_argument` that names every wrong argument.
    fn prepare(&self, args: Map<String, Value>) -> Result<Box<dyn Prepared>>;

    /// Checks the arguments and runs the tool without asking a policy; the engine does that.
    ///
    /// # Errors
    /// Those of the tool.
    fn execute(&self, args: Map<String, Value>, cx: &CallContext) -> Result<Value, Interrupt> {
        self.prepare(args)?.run(cx)
    }
}

/// A call with valid arguments that has had no effect yet.
pub trait Prepared: Send {
    /// All permissions that it needs.
    ///
    /// # Errors
    /// For a path outside the workspace.
    fn permissions(&self, cx: &CallContext) -> Result<PermissionRequests>;

    /// Tries the work without doing any of it: the diff that it would make, where it can tell.
    ///
    /// # Errors
    /// Those that the work would fail with.
    fn preview(&self, _: &CallContext) -> Result<Option<Preview>, Interrupt> {
        Ok(None)
    }

    /// Does the work.
    ///
    /// # Errors
    /// Those of the tool, or [`Interrupt::Defer`].
    fn run(self: Box<Self>, cx: &CallContext) -> Result<Value, Interrupt>;
}
