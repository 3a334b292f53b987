//! What a door provides to tools: processes, connections.

use crate::{CallContext, Interrupt, Operation, Tool, ToolRegistry};
use beamai_base::{HostTerms, Reason, ToolError};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

type Service = Box<dyn Any + Send + Sync>;

/// The services of a door, by type. The NIF has none; the port has all that its operating system supports.
pub struct Services {
    by_type: HashMap<TypeId, Service>,
    host_acts: ToolRegistry,
    missing: &'static str,
    host_terms: HostTerms,
}

/// The service that implements an operation.
pub struct OperationBackend<O: Operation>(pub fn(O, &CallContext) -> Result<O::Output, Interrupt>);

impl Services {
    /// No services. `missing` ends the error message, such as "runs on Linux only".
    pub fn without(missing: &'static str) -> Self {
        Self {
            by_type: HashMap::new(),
            host_acts: ToolRegistry::new(),
            missing,
            host_terms: HostTerms::Erlang,
        }
    }

    /// Adds a service; replaces another one of its type.
    #[must_use]
    pub fn with<S: Any + Send + Sync>(mut self, service: S) -> Self {
        self.by_type.insert(TypeId::of::<S>(), Box::new(service));
        self
    }

    /// Adds the [host's own tools](crate::host_act()).
    ///
    /// # Panics
    /// When two have the same name, which is a bug.
    #[must_use]
    pub fn with_host_acts(mut self, acts: Vec<Arc<dyn Tool>>) -> Self {
        for act in acts {
            self.host_acts.register(act).expect("names of the host's acts are unique");
        }
        self
    }

    /// Makes hints for the host name command-line options.
    #[must_use]
    pub fn for_command_line(mut self) -> Self {
        self.host_terms = HostTerms::CommandLine;
        self
    }

    /// How the host of this door is configured.
    pub fn host_terms(&self) -> HostTerms {
        self.host_terms
    }

    /// The host's own tools, by name.
    pub fn host_acts(&self) -> &ToolRegistry {
        &self.host_acts
    }

    /// The service of a type, if the door has it.
    pub fn get<S: Any>(&self) -> Option<&S> {
        self.by_type.get(&TypeId::of::<S>())?.downcast_ref()
    }

    /// Runs an operation through its service.
    ///
    /// # Errors
    /// Those of the operation; `door_lost` if the door does not have the service.
    pub fn run<O: Operation>(&self, operation: O, cx: &CallContext) -> Result<O::Output, Interrupt> {
        match self.get::<OperationBackend<O>>() {
            Some(work) => (work.0)(operation, cx),
            None => Err(ToolError::new(Reason::DoorLost, format!("{} {}", O::RULE, self.missing)).into()),
        }
    }
}

impl Default for Services {
    /// For a door without services; the message names the door that has them.
    fn default() -> Self {
        Self::without("runs in the port program only; call the tool through the port door")
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Services({})", self.by_type.len())
    }
}
