//! What hosts ask of servers of tools, and what they answer to questions of running commands. No dialect: models do not see these, and no policy is asked, because the host has
//! judged the server's tool by its own name before.

use super::registry_of;
use crate::context::{CallContext, Stop};
use crate::error::{Reason, Result, ToolError};
use crate::mcp::{Answer, CallTool, Close, ListTools};
use crate::ops::shell::StartAnswer;
use crate::policy::{Need, Needs, Operand};
use crate::registry::Registry;
use crate::schema::Parameters;
use crate::tool::{Door, Pace, Prepared, Tool, Traits};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn registry() -> Registry {
    registry_of(vec![
        act("mcp_tools", Pace::Long, |act: ListTools, cx| act.run(cx)),
        act("mcp_call", Pace::Long, |act: CallTool, cx| act.run(cx)),
        act("mcp_answer", Pace::Instant, |act: Answer, cx| act.run(cx)),
        act("start_answer", Pace::Instant, |act: StartAnswer, cx| act.run(cx)),
        act("mcp_close", Pace::Long, |act: Close, cx| act.run(cx)),
    ])
}

/// An act of the host. Its arguments are not a model's, so they are read as they are.
struct Act<A> {
    name: &'static str,
    pace: Pace,
    run: fn(A, &CallContext) -> Result<Value>,
    parameters: Parameters,
    output_schema: Value,
    arguments: PhantomData<fn(A)>,
}

fn act<A: DeserializeOwned + Send + 'static>(
    name: &'static str,
    pace: Pace,
    run: fn(A, &CallContext) -> Result<Value>,
) -> Arc<dyn Tool> {
    Arc::new(Act {
        name,
        pace,
        run,
        parameters: Parameters::new(),
        output_schema: Value::Bool(true),
        arguments: PhantomData,
    })
}

impl<A: DeserializeOwned + Send + 'static> Tool for Act<A> {
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
        Ok(Box::new(Ready { act, run: self.run }))
    }
}

struct Ready<A> {
    act: A,
    run: fn(A, &CallContext) -> Result<Value>,
}

impl<A: Send> Prepared for Ready<A> {
    fn needs(&self, _: &CallContext) -> Result<Needs> {
        let need = Need {
            rule: "Mcp".into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::None,
        };
        Ok(need.into())
    }

    fn run(self: Box<Self>, cx: &CallContext) -> Result<Value, Stop> {
        Ok((self.run)(self.act, cx)?)
    }
}
