//! One operation, several faces.
//!
//! An [`Operation`] is a typed piece of work: a struct of arguments that knows how to run. A [`ToolBinding`] gives it a
//! name, a description and, where a dialect wants other shapes, other argument and output types that convert to
//! and from the operation's own, or fewer of its parameters. Faces are what the catalogue lists; no work is written
//! twice.

use crate::{
    CallContext, Interrupt, Prepared, Tool, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{PermissionRequest, PermissionRequests};
use beamai_schema::{self as schema, Parameters};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::marker::PhantomData;

/// A typed piece of work; the value holds its arguments.
pub trait Operation: Sized + Send + 'static {
    /// What it returns.
    type Output: Serialize + JsonSchema;
    /// What is known of it before any call.
    const TRAITS: Traits;
    /// Its canonical name in permission rules.
    const RULE: &'static str;
    /// Whether a person confirms a call, unless a rule allows it.
    const ASKS: bool = !Self::TRAITS.read_only && !Self::TRAITS.session;
    /// Whether a call waits for somebody that the host asks, a person or a sub-agent, which may take any time.
    const WAITS: bool = Self::TRAITS.asks_user;
    /// Whether it reads or changes files whose contents the session remembers having seen.
    const SEES_FILES: bool = false;
    /// Whether it changes several files in one go.
    const CHANGES_SEVERAL_FILES: bool = false;

    /// What this call asks leave for.
    ///
    /// # Errors
    /// A path outside the workspace shows here.
    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest>;

    /// What it asks leave for besides, where one call works on several things. All of it is judged, and the worst
    /// verdict counts.
    ///
    /// # Errors
    /// As [`Operation::permission`].
    fn more_permissions(&self, _: &CallContext) -> Result<Vec<PermissionRequest>> {
        Ok(vec![])
    }

    /// Does the work.
    ///
    /// # Errors
    /// Its own, or [`Interrupt::Defer`] when it is too large for this thread and has done nothing yet.
    fn run(self, cx: &CallContext) -> Result<Self::Output, Interrupt>;

    /// Puts a result on the page, as the smallest text from which a model knows what to do next. It is the output as
    /// any dialect has it. `None`, with nothing put on the page, where it is not (a filter may have changed it): it is
    /// then given as JSON.
    fn for_model(_: Fields<'_>, _: &ModelCall<'_>, _: &mut ModelPage) -> Option<()> {
        None
    }
}

/// An operation as one tool of one dialect.
pub struct ToolBinding<O, A = O, R = <O as Operation>::Output>
where
    O: Operation,
{
    name: &'static str,
    description: &'static str,
    parameters: Parameters,
    output_schema: Value,
    types: PhantomData<fn(A) -> (O, R)>,
}

impl<O, A, R> ToolBinding<O, A, R>
where
    O: Operation,
    A: DeserializeOwned + JsonSchema + TryInto<O> + Send + 'static,
    R: Serialize + JsonSchema + From<O::Output> + 'static,
{
    /// The operation under a name, described for a model.
    pub fn new(name: &'static str, description: &'static str) -> Self {
        let parameters = schema::parameters_of::<A>();
        let output_schema = output_schema(schema::json_schema_of::<R>(), &parameters);
        Self { name, description, parameters, output_schema, types: PhantomData }
    }

    /// The face with these parameters only; the others keep their defaults.
    ///
    /// # Panics
    /// When there is no parameter of such a name, or a required one is left out: a mistake in the catalogue.
    #[must_use]
    pub fn only(mut self, names: &[&str]) -> Self {
        for name in names {
            assert!(self.parameters.contains_key(*name), "{} has no parameter {name}", self.name);
        }
        self.parameters.retain(|name, param| {
            let is_kept = names.contains(&name.as_str());
            assert!(is_kept || !param.required, "{name} is required");
            is_kept
        });
        self
    }

    /// The face with another description of a parameter, where the operation's names a tool of another dialect.
    ///
    /// # Panics
    /// When there is no parameter of that name: a mistake in the catalogue.
    #[must_use]
    pub fn described(mut self, parameter: &str, text: &str) -> Self {
        let name = self.name;
        let param = self.parameters.get_mut(parameter);
        param.unwrap_or_else(|| panic!("{name} has no parameter {parameter}")).description =
            Some(text.to_owned());
        self
    }
}

impl<O, A, R> Tool for ToolBinding<O, A, R>
where
    O: Operation,
    A: DeserializeOwned + JsonSchema + TryInto<O> + Send + 'static,
    R: Serialize + JsonSchema + From<O::Output> + 'static,
    ToolError: From<A::Error>,
{
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        self.description
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn output_schema(&self) -> &Value {
        &self.output_schema
    }

    fn traits(&self) -> Traits {
        O::TRAITS
    }

    fn rule(&self) -> &str {
        O::RULE
    }

    fn requires_permission(&self) -> bool {
        O::ASKS
    }

    fn waits(&self) -> bool {
        O::WAITS
    }

    fn sees_files(&self) -> bool {
        O::SEES_FILES
    }

    fn changes_several_files(&self) -> bool {
        O::CHANGES_SEVERAL_FILES
    }

    fn for_model(&self, result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        O::for_model(result, call, page)
    }

    fn prepare(&self, args: Map<String, Value>) -> Result<Box<dyn Prepared>> {
        let (args, adjusted) = schema::forgive(&self.parameters, args);
        let args = schema::check(&self.parameters, args)?;
        let args: A = serde_json::from_value(Value::Object(args)).map_err(|error| {
            ToolError::new(Reason::InvalidArgument, format!("an argument is not valid: {error}"))
        })?;
        Ok(Box::new(PreparedOperation::<O, R> { operation: args.try_into()?, adjusted, output: PhantomData }))
    }
}

/// The key of a result under which it says which arguments were over their maximum.
pub(crate) const ADJUSTED: &str = "adjusted";

/// The schema of an output, with what a result may say of the arguments.
fn output_schema(mut schema: Value, parameters: &Parameters) -> Value {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties.filter(|_| schema::may_adjust(parameters)) {
        let about =
            "Which arguments were over their maximum, and what was taken instead; absent when none was.";
        properties.insert(
            ADJUSTED.to_owned(),
            json!({"type": "array", "description": about, "items": {"type": "string"}}),
        );
    }
    schema
}

struct PreparedOperation<O, R> {
    operation: O,
    /// What is to be said of the arguments.
    adjusted: Vec<String>,
    output: PhantomData<fn() -> R>,
}

impl<O, R> Prepared for PreparedOperation<O, R>
where
    O: Operation,
    R: Serialize + From<O::Output>,
{
    fn permissions(&self, cx: &CallContext) -> Result<PermissionRequests> {
        Ok(PermissionRequests {
            first: self.operation.permission(cx)?,
            more: self.operation.more_permissions(cx)?,
        })
    }

    fn run(self: Box<Self>, cx: &CallContext) -> Result<Value, Interrupt> {
        let output = R::from(self.operation.run(cx)?);
        let mut value = serde_json::to_value(output).map_err(|error| {
            ToolError::new(Reason::Crash, format!("the result cannot be encoded: {error}"))
        })?;
        if let Some(result) = value.as_object_mut().filter(|_| !self.adjusted.is_empty()) {
            result.insert(ADJUSTED.to_owned(), self.adjusted.into());
        }
        Ok(value)
    }
}
