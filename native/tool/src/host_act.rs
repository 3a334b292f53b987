//! Requests of the host itself, in the form of a tool: calls of servers, answers to questions of running commands.

use crate::{CallContext, Door, ExecutionClass, Interrupt, Prepared, Tool, Traits};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{Operand, PermissionRequest, PermissionRequests};
use beamai_schema::Parameters;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::marker::PhantomData;
use std::sync::Arc;

/// A request of the host. Its arguments are deserialized without a schema, as no model writes them.
struct HostAct<A> {
    name: &'static str,
    pace: ExecutionClass,
    run: fn(A, &CallContext) -> Result<Value>,
    parameters: Parameters,
    output_schema: Value,
    arguments: PhantomData<fn(A)>,
}

/// A tool for the host's own use, carried out by `run`. Its arguments are deserialized without a schema, no model sees
/// it, and no policy is asked: the host has checked the underlying call before.
pub fn host_act<A: DeserializeOwned + Send + 'static>(
    name: &'static str,
    pace: ExecutionClass,
    run: fn(A, &CallContext) -> Result<Value>,
) -> Arc<dyn Tool> {
    Arc::new(HostAct {
        name,
        pace,
        run,
        parameters: Parameters::new(),
        output_schema: Value::Bool(true),
        arguments: PhantomData,
    })
}

impl<A: DeserializeOwned + Send + 'static> Tool for HostAct<A> {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        ""
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn output_schema(&self) -> &Value {
        &self.output_schema
    }

    fn traits(&self) -> Traits {
        Traits { door: Door::Port, pace: self.pace, open_world: true, ..Traits::WRITES }
    }

    fn rule(&self) -> &str {
        self.name
    }

    fn is_judged(&self) -> bool {
        false
    }

    fn prepare(&self, args: Map<String, Value>) -> Result<Box<dyn Prepared>> {
        let act = serde_json::from_value(Value::Object(args)).map_err(|error| {
            ToolError::new(
                Reason::InvalidArgument,
                format!("an argument of {} is not valid: {error}", self.name),
            )
        })?;
        Ok(Box::new(PreparedAct { act, run: self.run }))
    }
}

struct PreparedAct<A> {
    act: A,
    run: fn(A, &CallContext) -> Result<Value>,
}

impl<A: Send> Prepared for PreparedAct<A> {
    fn permissions(&self, _: &CallContext) -> Result<PermissionRequests> {
        let permission = PermissionRequest {
            rule: "Mcp".into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::None,
        };
        Ok(permission.into())
    }

    fn run(self: Box<Self>, cx: &CallContext) -> Result<Value, Interrupt> {
        Ok((self.run)(self.act, cx)?)
    }
}
