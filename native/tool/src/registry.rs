//! Tools by name.

use crate::Tool;
use beamai_base::{Reason, Result, ToolError, excerpt, nearest};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of tools with unique names.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl ToolRegistry {
    /// A registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// `invalid_argument` when the name is taken; the registry is unchanged then.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<()> {
        let name = tool.name().to_owned();
        if self.tools.contains_key(&name) {
            let message = format!("a tool named {name:?} is registered already; give this one another name");
            return Err(ToolError::new(Reason::InvalidArgument, message));
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    /// The tool of that name, or `None`.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// The tool of that name.
    ///
    /// # Errors
    /// `unknown_tool` with the most similar names.
    pub fn find(&self, name: &str) -> Result<&Arc<dyn Tool>> {
        self.get(name).ok_or_else(|| {
            let near = nearest(name, self.tools.keys().map(String::as_str));
            let advice = match near.is_empty() {
                true => format!("there are: {}", self.tools.keys().cloned().collect::<Vec<_>>().join(", ")),
                false => format!("did you mean {}?", near.join(", ")),
            };
            let message = format!("there is no tool named {:?}; {advice}", excerpt(name));
            ToolError::new(Reason::UnknownTool, message).with("nearest", near)
        })
    }

    /// Every tool, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Name and description of every tool, sorted by name.
    pub fn list(&self) -> Vec<(&str, &str)> {
        self.iter().map(|tool| (tool.name(), tool.description())).collect()
    }

    /// The tools with these names; unknown names are ignored.
    #[must_use]
    pub fn filter(&self, names: &[&str]) -> Self {
        let tools = names.iter().filter_map(|name| Some(((*name).to_owned(), Arc::clone(self.get(name)?))));
        Self { tools: tools.collect() }
    }
}

impl std::fmt::Debug for ToolRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}
