//! A tool: a name, a description, parameters, and work to do.

use crate::{
    CallContext, Interrupt,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_base::Result;
use beamai_policy::PermissionRequests;
use beamai_schema::Parameters;
use serde::Serialize;
use serde_json::{Map, Value};

/// Which door runs a tool when the host leaves the choice to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// Inside the VM: fast and safe.
    Nif,
    /// In the port program: it starts processes.
    Port,
}

/// How long a tool's work can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionClass {
    /// A few microseconds of thinking about small arguments: no file, no lock that another call holds. May run
    /// on a normal scheduler.
    Instant,
    /// Microseconds where the operating system has all of it in memory, which the call finds out without waiting;
    /// otherwise bounded. Changes nothing. May be tried on a normal scheduler.
    Cached,
    /// Bounded by size, or it says so before it does anything: may run on a dirty scheduler.
    Bounded,
    /// As long as the input makes it: always a cancellable job.
    Long,
}

/// What hosts, providers and protocols may know of a tool besides its schema. `destructive`, `idempotent` and
/// `open_world` mean what they mean in the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Traits {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy what was there.
    pub destructive: bool,
    /// The same call again changes nothing more.
    pub idempotent: bool,
    /// Reaches beyond the workspace.
    pub open_world: bool,
    /// Its own choice of door.
    pub door: Door,
    /// How long it can take.
    pub pace: ExecutionClass,
    /// Works on the session's state, and on nothing else.
    pub session: bool,
    /// Puts questions to a person; the time that takes does not count.
    pub asks_user: bool,
}

impl Traits {
    /// A tool that touches nothing outside its arguments.
    pub const THINKS: Self = Self { pace: ExecutionClass::Instant, ..Self::READS };
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
    /// A tool that changes nothing but the session's state.
    pub const SESSION: Self = Self {
        read_only: false,
        idempotent: false,
        session: true,
        pace: ExecutionClass::Instant,
        ..Self::READS
    };
    /// A tool that only reads, as much as there is.
    pub const SEARCHES: Self = Self { pace: ExecutionClass::Long, ..Self::READS };
    /// A tool that changes files, bounded by size.
    pub const WRITES: Self = Self { read_only: false, destructive: true, idempotent: false, ..Self::READS };
}

/// A tool of the catalogue, or a host's own.
pub trait Tool: Send + Sync {
    /// The name it is called by, unique in its registry.
    fn name(&self) -> &str;

    /// What it does, for the model that chooses it.
    fn description(&self) -> &str;

    /// What it accepts.
    fn parameters(&self) -> &Parameters;

    /// JSON Schema of what it returns.
    fn output_schema(&self) -> &Value;

    /// What is known of it beforehand.
    fn traits(&self) -> Traits;

    /// Its name in permission rules.
    fn rule(&self) -> &str;

    /// Whether a person confirms a call, unless a rule allows it.
    fn requires_permission(&self) -> bool {
        !self.traits().read_only && !self.traits().session
    }

    /// Whether a call waits for somebody that the host asks: its time is not limited then.
    fn waits(&self) -> bool {
        self.traits().asks_user
    }

    /// Whether it reads or changes files whose contents the session remembers having seen.
    fn sees_files(&self) -> bool {
        false
    }

    /// Whether it changes several files in one go; a host may want somebody to survive it meanwhile.
    fn changes_several_files(&self) -> bool {
        false
    }

    /// Whether a policy is asked; not for what the host does itself.
    fn is_judged(&self) -> bool {
        true
    }

    /// Puts a result on the page for a model; `None`, with nothing put there, where it is rendered as any other value.
    fn for_model(&self, _: Fields<'_>, _: &ModelCall<'_>, _: &mut ModelPage) -> Option<()> {
        None
    }

    /// Checks arguments and makes the call ready to be judged and run. Does nothing else.
    ///
    /// # Errors
    /// `invalid_argument` that names every wrong argument.
    fn prepare(&self, args: Map<String, Value>) -> Result<Box<dyn Prepared>>;

    /// Checks the arguments and runs the tool, without asking a policy; the engine does that.
    ///
    /// # Errors
    /// Those of the tool.
    fn execute(&self, args: Map<String, Value>, cx: &CallContext) -> Result<Value, Interrupt> {
        self.prepare(args)?.run(cx)
    }
}

/// A call whose arguments are right and which has done nothing yet.
pub trait Prepared: Send {
    /// All that it asks leave for.
    ///
    /// # Errors
    /// A path outside the workspace shows here.
    fn permissions(&self, cx: &CallContext) -> Result<PermissionRequests>;

    /// Does the work.
    ///
    /// # Errors
    /// Those of the tool, or [`Interrupt::Defer`].
    fn run(self: Box<Self>, cx: &CallContext) -> Result<Value, Interrupt>;
}
