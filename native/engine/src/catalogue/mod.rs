//! All built-in tools, by dialect. Doors, command line, schemas and docs all read these lists.

mod beamai;
mod coder;
mod for_model;
#[cfg(test)]
mod for_model_tests;
mod git;
mod ide;
mod microai;
#[cfg(feature = "probes")]
mod probe;
mod session;
mod shapes;

pub use for_model::{TextForModel, ToolOrigin, notes, object_for_model, text_for_model};

use beamai_base::{Reason, Result, ToolError};
use beamai_policy::NETWORK;
use beamai_tool::{Tool, ToolRegistry};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

type Dialect = (&'static str, LazyLock<ToolRegistry>);

static DIALECTS: [Dialect; 4 + cfg!(feature = "probes") as usize] = [
    ("beamai", LazyLock::new(beamai::registry)),
    ("microai", LazyLock::new(microai::registry)),
    ("coder", LazyLock::new(coder::registry)),
    ("ide", LazyLock::new(ide::registry)),
    #[cfg(feature = "probes")]
    ("probe", LazyLock::new(probe::registry)),
];

/// The dialect for tests, which no help and no message names.
const PROBE: &str = "probe";

/// The names of all dialects.
pub fn dialects() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().map(|(name, _)| *name)
}

/// The names of the dialects that help, completions and messages name: all but the one for tests.
pub fn offered_dialects() -> impl Iterator<Item = &'static str> {
    dialects().filter(|name| *name != PROBE)
}

/// The tools of a dialect.
///
/// # Errors
/// `invalid_argument`, listing the dialects.
pub fn dialect(name: &str) -> Result<&'static ToolRegistry> {
    DIALECTS.iter().find(|(known, _)| *known == name).map(|(_, registry)| &**registry).ok_or_else(|| {
        let known = offered_dialects().collect::<Vec<_>>().join(", ");
        ToolError::new(Reason::InvalidArgument, format!("there is no dialect {name:?}; there are: {known}"))
    })
}

/// The tool of this name in a dialect; without a dialect, in the first one that has it.
///
/// # Errors
/// `unknown_tool` with the nearest names, `invalid_argument` for an unknown dialect.
pub fn find(name: &str, in_dialect: Option<&str>) -> Result<&'static Arc<dyn Tool>> {
    match in_dialect {
        Some(wanted) => dialect(wanted)?.find(name),
        None => match DIALECTS.iter().find_map(|(_, registry)| registry.get(name)) {
            Some(tool) => Ok(tool),
            None => dialect("beamai")?.find(name),
        },
    }
}

/// The canonical rule name of a built-in tool; canonical names map to themselves.
pub fn canonical_rule(name: &str) -> Option<String> {
    let tool = DIALECTS.iter().find_map(|(_, registry)| registry.get(name)).map(|tool| tool.rule());
    tool.or_else(|| rules().iter().copied().find(|rule| *rule == name)).map(str::to_owned)
}

/// All canonical rule names.
pub fn rules() -> &'static [&'static str] {
    static RULES: LazyLock<Vec<&'static str>> = LazyLock::new(|| rules_of(dialects()));
    &RULES
}

/// The canonical rule names of the [offered](offered_dialects) dialects.
pub fn offered_rules() -> Vec<&'static str> {
    rules_of(offered_dialects())
}

fn rules_of(dialects: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    let tools = dialects.filter_map(|name| dialect(name).ok()).flat_map(ToolRegistry::iter);
    // These two are not tools of the catalogue: delegation to agents, and network access of commands.
    let rules: BTreeSet<&str> = tools.map(|tool| tool.rule()).chain(["Task", NETWORK]).collect();
    rules.into_iter().collect()
}

/// A registry of these tools.
///
/// # Panics
/// If two tools have the same name, which is a bug in this module.
fn registry_of(tools: Vec<Arc<dyn Tool>>) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for tool in tools {
        registry.register(tool).expect("names in a dialect are unique");
    }
    registry
}
