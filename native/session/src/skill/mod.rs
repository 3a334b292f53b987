//! Skills: instructions for a kind of work that a model loads when it needs them.

mod file;
mod for_model;
mod store;

use beamai_base::{Reason, Result, ToolError, excerpt, nearest};
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SkillStore;

/// What to do with skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillAction {
    /// Name and description of every skill.
    #[default]
    List,
    /// The instructions of one.
    Load,
}

/// Lists the skills or loads one.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Skill {
    /// "list" to list the skills, "load" for the instructions of one.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub action: SkillAction,
    /// Name of the skill to load.
    #[schemars(extend("self_evident" = true))]
    pub name: Option<String>,
}

/// The origin of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// From beamai itself.
    BuiltIn,
    /// From a directory that the host configured.
    User,
}

/// A skill in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// When to load it.
    pub description: String,
    /// Its origin.
    pub source: SkillSource,
}

/// A file named like a skill that is not valid.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BrokenSkill {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// What [`Skill`] returns.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct SkillOutput {
    /// With "list": all skills, sorted by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<SkillSummary>>,
    /// Invalid skill files; empty if there are none.
    pub broken: Vec<BrokenSkill>,
    /// With "load": the skill's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// With "load": the instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// With "load" of a user's skill: the directory that its instructions may refer to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

impl Operation for Skill {
    type Output = SkillOutput;
    const TRAITS: Traits = Traits::SEARCHES;
    const RULE: &'static str = "Skill";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        let operand = match (self.action, &self.name) {
            (SkillAction::Load, Some(name)) => Operand::Name(name.clone()),
            (SkillAction::Load, None) => {
                let message = "\"load\" needs the name of a skill; use \"list\" to see all";
                return Err(ToolError::new(Reason::InvalidArgument, message));
            }
            (SkillAction::List, _) => Operand::None,
        };
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            // Skills are files; rules with a pattern hold for those that it reads.
            touches: &["Read"],
            allowed_by: &[],
            is_safe: true,
            operand,
        })
    }

    fn run(self, cx: &CallContext) -> Result<SkillOutput, Interrupt> {
        let store = SkillStore::open(&cx.skills, cx)?;
        match self.action {
            SkillAction::List => Ok(store.list()),
            SkillAction::Load => Ok(load(store, &self.name.unwrap_or_default())?),
        }
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::skills(result, call, page)
    }
}

impl SkillStore {
    fn list(self) -> SkillOutput {
        let listed = self.skills.into_iter().map(|(name, skill)| SkillSummary {
            name,
            description: skill.description,
            source: if skill.directory.is_some() { SkillSource::User } else { SkillSource::BuiltIn },
        });
        SkillOutput { skills: Some(listed.collect()), broken: self.broken, ..SkillOutput::default() }
    }
}

fn load(mut store: SkillStore, name: &str) -> Result<SkillOutput> {
    match store.skills.remove(name) {
        Some(skill) => Ok(SkillOutput {
            broken: store.broken,
            name: Some(name.to_owned()),
            content: Some(skill.instructions),
            directory: skill.directory,
            ..SkillOutput::default()
        }),
        None => Err(missing(&store, name)),
    }
}

fn missing(store: &SkillStore, name: &str) -> ToolError {
    let names: Vec<&str> = store.skills.keys().map(String::as_str).collect();
    let near = nearest(name, names.iter().copied());
    let advice = match near.is_empty() {
        true => format!("there are: {}", names.join(", ")),
        false => format!("did you mean {}?", near.join(", ")),
    };
    let broken = match store.broken.as_slice() {
        [] => String::new(),
        broken => {
            let one = |broken: &BrokenSkill| format!("{} ({})", broken.path, broken.problem);
            format!("; broken: {}", broken.iter().map(one).collect::<Vec<_>>().join(", "))
        }
    };
    ToolError::new(
        Reason::NoSuchSkill,
        format!("there is no skill named {:?}; {advice}{broken}", excerpt(name)),
    )
    .with("nearest", near)
}
