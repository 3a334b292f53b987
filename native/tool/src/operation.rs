//! One operation, several tool bindings.
//!
//! An [`Operation`] is a typed piece of work: a struct of arguments that can run. A [`ToolBinding`] gives it a name, a
//! description and, if a dialect needs other shapes, other argument and output types that convert to and from the
//! operation's own, or a subset of its parameters. The catalogue lists tool bindings; no work is implemented twice.

use crate::{
    CallContext, Interrupt, Prepared, Preview, Tool, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{PermissionRequest, PermissionRequests};
use beamai_schema::{self as schema, Parameters};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use std::marker::PhantomData;
use std::sync::OnceLock;

/// A typed piece of work; the value holds its arguments.
pub trait Operation: Sized + Send + 'static {
    /// The type of its result.
    type Output: Serialize + JsonSchema;
    /// Properties known before any call.
    const TRAITS: Traits;
    /// Its canonical name in permission rules.
    const RULE: &'static str;
    /// Whether a call needs approval, unless a rule allows it.
    const ASKS: bool = !Self::TRAITS.read_only && !Self::TRAITS.session;
    /// Whether a call waits for a person or a sub-agent, which may take any time.
    const WAITS: bool = Self::TRAITS.asks_user;
    /// Whether it reads or changes files whose content hashes the session keeps.
    const SEES_FILES: bool = false;
    /// Whether it changes several files together.
    const CHANGES_SEVERAL_FILES: bool = false;

    /// The permission that this call needs.
    ///
    /// # Errors
    /// For a path outside the workspace.
    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest>;

    /// Further permissions that it needs, if one call works on several objects. All are judged, and the strictest
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
    /// Its own, or [`Interrupt::Defer`] when it is too large for this thread and has had no effect yet.
    fn run(self, cx: &CallContext) -> Result<Self::Output, Interrupt>;

    /// Tries the work without doing any of it, before somebody is asked whether it may be done: the diff that it would
    /// make, for those who can tell. It may read the files that the call is about, and nothing else.
    ///
    /// # Errors
    /// Those that the work would fail with.
    fn preview(&self, _: &CallContext) -> Result<Option<Preview>, Interrupt> {
        Ok(None)
    }

    /// A note for the result on an argument that the tool binding has changed by itself.
    fn adjusted(&self) -> Option<String> {
        None
    }

    /// Renders a result, as the shortest text from which a model knows what to do next. It must accept the output of
    /// every dialect. `None`, with an empty page, if it does not recognize the value (a filter may have changed it): it
    /// is then rendered as JSON.
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
    /// The parameters to keep; `None` keeps all.
    only: Option<&'static [&'static str]>,
    /// Replaced descriptions, by parameter.
    described: Vec<(&'static str, &'static str)>,
    /// Other names of parameters.
    aliases: Vec<(&'static str, &'static str)>,
    /// All parameters that are accepted. Made when they are first needed: a program that makes one call needs those of one
    /// tool.
    accepted: OnceLock<Parameters>,
    /// Those of them that are listed.
    parameters: OnceLock<Parameters>,
    output_schema: OnceLock<Value>,
    types: PhantomData<fn(A) -> (O, R)>,
}

impl<O, A, R> ToolBinding<O, A, R>
where
    O: Operation,
    A: DeserializeOwned + JsonSchema + TryInto<O> + Send + 'static,
    R: Serialize + JsonSchema + From<O::Output> + 'static,
{
    /// The operation as a tool with this name and this description for models.
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self {
            name,
            description,
            only: None,
            described: Vec::new(),
            aliases: Vec::new(),
            accepted: OnceLock::new(),
            parameters: OnceLock::new(),
            output_schema: OnceLock::new(),
            types: PhantomData,
        }
    }

    /// Keeps only these parameters, and those that are accepted without being listed; the others get their defaults.
    ///
    /// # Panics
    /// On first use of the parameters, if one does not exist or a required one is left out: a mistake in the catalogue.
    #[must_use]
    pub fn only(mut self, names: &'static [&'static str]) -> Self {
        self.only = Some(names);
        self
    }

    /// Replaces the description of a parameter, if the operation's mentions a tool of another dialect.
    ///
    /// # Panics
    /// On first use of the parameters, if the parameter does not exist: a mistake in the catalogue.
    #[must_use]
    pub fn described(mut self, parameter: &'static str, text: &'static str) -> Self {
        self.described.push((parameter, text));
        self
    }

    fn make_parameters(&self) -> Parameters {
        let tool = self.name;
        let mut parameters = schema::parameters_of::<A>();
        for (name, text) in &self.described {
            let param = parameters.get_mut(*name).unwrap_or_else(|| panic!("{tool} has no parameter {name}"));
            param.description = Some((*text).to_owned());
        }
        let Some(names) = self.only else { return parameters };
        for name in names {
            assert!(parameters.contains_key(*name), "{tool} has no parameter {name}");
        }
        parameters.retain(|name, param| {
            let is_kept = param.unlisted || names.contains(&name.as_str());
            assert!(is_kept || !param.required, "{tool}: {name} is required");
            is_kept
        });
        parameters
    }

    /// Gives a parameter another name, which models know it by from elsewhere. It is not listed.
    #[must_use]
    pub fn alias(mut self, alias: &'static str, parameter: &'static str) -> Self {
        self.aliases.push((alias, parameter));
        self
    }

    fn accepted(&self) -> &Parameters {
        self.accepted.get_or_init(|| self.make_parameters())
    }

    /// The arguments under the parameters' own names.
    fn named(&self, mut args: Map<String, Value>) -> Map<String, Value> {
        for (alias, parameter) in &self.aliases {
            if !args.contains_key(*parameter)
                && let Some(value) = args.shift_remove(*alias)
            {
                args.insert((*parameter).to_owned(), value);
            }
        }
        args
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
        self.parameters.get_or_init(|| schema::listed(self.accepted()))
    }

    fn takes(&self, name: &str) -> bool {
        self.accepted().contains_key(name)
    }

    fn output_schema(&self) -> &Value {
        self.output_schema.get_or_init(|| output_schema(schema::json_schema_of::<R>(), self.parameters()))
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
        let (args, adjusted) = schema::coerce(self.accepted(), self.named(args));
        let args = schema::check(self.accepted(), args)?;
        let args: A = serde_json::from_value(Value::Object(args)).map_err(|error| {
            ToolError::new(Reason::InvalidArgument, format!("an argument is not valid: {error}"))
        })?;
        let operation: O = args.try_into()?;
        let adjusted = adjusted.into_iter().chain(operation.adjusted()).collect();
        Ok(Box::new(PreparedOperation::<O, R> { operation, adjusted, output: PhantomData }))
    }
}

/// Key of a result that lists arguments that exceeded their maximum.
pub(crate) const ADJUSTED: &str = "adjusted";

/// The output schema, with the key for adjusted arguments.
fn output_schema(mut schema: Value, parameters: &Parameters) -> Value {
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties.filter(|_| schema::may_adjust(parameters)) {
        let about =
            "Arguments that exceeded their maximum, and the values used instead; absent if there are none.";
        properties.insert(
            ADJUSTED.to_owned(),
            json!({"type": "array", "description": about, "items": {"type": "string"}}),
        );
    }
    schema
}

struct PreparedOperation<O, R> {
    operation: O,
    /// Notes on adjusted arguments.
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

    fn preview(&self, cx: &CallContext) -> Result<Option<Preview>, Interrupt> {
        self.operation.preview(cx)
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
