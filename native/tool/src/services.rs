//! What a door can do beyond the tools' own work: start processes, open connections.

use crate::{CallContext, Interrupt, Operation, Tool, ToolRegistry};
use beamai_base::{Reason, ToolError};
use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

type Service = Box<dyn Any + Send + Sync>;

/// The services of a door, by their type. The NIF has none; the port has all that its operating system allows.
pub struct Services {
    by_type: HashMap<TypeId, Service>,
    host_acts: ToolRegistry,
    missing: &'static str,
}

/// The service that does the work of an operation.
pub struct OperationBackend<O: Operation>(pub fn(O, &CallContext) -> Result<O::Output, Interrupt>);

impl Services {
    /// No services. `missing` ends the sentence that says so, such as "runs on Linux only".
    pub fn without(missing: &'static str) -> Self {
        Self { by_type: HashMap::new(), host_acts: ToolRegistry::new(), missing }
    }

    /// Adds a service; another one of its type makes way.
    #[must_use]
    pub fn with<S: Any + Send + Sync>(mut self, service: S) -> Self {
        self.by_type.insert(TypeId::of::<S>(), Box::new(service));
        self
    }

    /// Adds [acts of the host](crate::host_act()).
    ///
    /// # Panics
    /// When two have the same name, which is a mistake in a list of this program.
    #[must_use]
    pub fn with_host_acts(mut self, acts: Vec<Arc<dyn Tool>>) -> Self {
        for act in acts {
            self.host_acts.register(act).expect("names of the host's acts are unique");
        }
        self
    }

    /// What the host itself may ask for, by name.
    pub fn host_acts(&self) -> &ToolRegistry {
        &self.host_acts
    }

    /// The service of a type, if the door has it.
    pub fn get<S: Any>(&self) -> Option<&S> {
        self.by_type.get(&TypeId::of::<S>())?.downcast_ref()
    }

    /// Has the service of an operation do its work.
    ///
    /// # Errors
    /// Those of the work; `door_lost` where the door does not have the service.
    pub fn run<O: Operation>(&self, operation: O, cx: &CallContext) -> Result<O::Output, Interrupt> {
        match self.get::<OperationBackend<O>>() {
            Some(work) => (work.0)(operation, cx),
            None => Err(ToolError::new(Reason::DoorLost, format!("{} {}", O::RULE, self.missing)).into()),
        }
    }
}

impl Default for Services {
    /// Those of a door without any, which names the one that has them.
    fn default() -> Self {
        Self::without("runs in the port program only; call the tool through the port door")
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Services({})", self.by_type.len())
    }
}
