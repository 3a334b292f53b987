//! A policy in its serialised form.

use super::mode::PolicyMode;
use beamai_base::{Reason, Result, SettingsMap, ToolError, nearest};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A policy in its serialised form.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyText {
    /// Allow rules.
    pub allow: Vec<RuleText>,
    /// Ask rules.
    pub ask: Vec<RuleText>,
    /// Deny rules.
    pub deny: Vec<RuleText>,
    /// The default mode.
    pub default: PolicyMode,
    /// The contents of a JSON settings file whose rules are added.
    pub settings: Option<String>,
}

/// A settings file; other keys are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SettingsFile {
    permissions: Option<PolicyText>,
    permission: Map<String, Value>,
}

/// Tool names in settings that are neither canonical nor in the catalogue.
const NAMES: [(&str, &str); 5] = [
    ("fetch", "WebFetch"),
    ("list", "Glob"),
    ("patch", "Edit"),
    ("question", "AskUserQuestion"),
    ("todoread", "TodoWrite"),
];

/// A rule in its serialised form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "a rule is a text such as \"Bash(git:*)\", or {\"rule\", \"match\", \"no_match\"}"
)]
pub enum RuleText {
    /// `Tool` or `Tool(pattern)`.
    Plain(String),
    /// A rule with examples, which are checked when it is loaded.
    Checked(Examples),
}

/// A rule with examples: commands, paths, addresses or names, depending on the pattern.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examples {
    /// `Tool` or `Tool(pattern)`.
    pub rule: String,
    /// Examples that it must match.
    #[serde(default, rename = "match")]
    pub matching: Vec<String>,
    /// Examples that it must not match.
    #[serde(default)]
    pub no_match: Vec<String>,
}

impl RuleText {
    /// The rule with its examples.
    pub fn examples(&self) -> Examples {
        match self {
            Self::Plain(rule) => Examples { rule: rule.clone(), ..Examples::default() },
            Self::Checked(examples) => examples.clone(),
        }
    }
}

/// The keys of a settings file.
pub const SETTINGS_PARTS: [&str; 6] = ["permissions", "permission", "sandbox", "web", "skills", "lsp"];

/// Checks the keys of a settings file: unknown ones, or a list in place of an object, are errors, so that a typing
/// error drops no rules. `$schema` and other keys that begin with a dollar sign are ignored.
///
/// # Errors
/// The problem, with what to write.
pub fn check_parts(parts: &Map<String, Value>) -> std::result::Result<(), String> {
    for (name, part) in parts.iter().filter(|(name, _)| !name.starts_with('$')) {
        if !SETTINGS_PARTS.contains(&&**name) {
            let instead = match &**name {
                "allow" | "ask" | "deny" | "default" => {
                    format!("write it as {{\"permissions\": {{{name:?}: …}}}}")
                }
                _ if name.to_lowercase().starts_with("perm") => "write \"permissions\"".to_owned(),
                _ => match nearest(name, SETTINGS_PARTS.into_iter()).first() {
                    Some(near) => format!("write {near:?}"),
                    None => format!("there are: {}", SETTINGS_PARTS.join(", ")),
                },
            };
            return Err(format!("there is no key {name:?}; {instead}"));
        }
        if name.starts_with("perm") && !part.is_object() && !part.is_null() {
            return Err(format!("{name:?} must be an object"));
        }
    }
    Ok(())
}

/// Says what is wrong with `permissions`. It cannot replace the parser, which also refuses keys that are given twice.
fn check_permissions(text: &str) -> std::result::Result<(), String> {
    let mut parts: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let permissions = parts.remove("permissions").unwrap_or_default();
    let mut settings = SettingsMap::new("permissions", permissions, &["allow", "ask", "deny", "default"])?;
    for list in ["allow", "ask", "deny"] {
        settings.take::<Vec<RuleText>>(list, "a list of rules, such as [\"Bash(git:*)\"]")?;
    }
    settings.take::<PolicyMode>("default", "\"auto\", \"allow\", \"ask\" or \"deny\"")?;
    Ok(())
}

impl From<String> for RuleText {
    fn from(rule: String) -> Self {
        Self::Plain(rule)
    }
}

impl From<&str> for RuleText {
    fn from(rule: &str) -> Self {
        Self::Plain(rule.to_owned())
    }
}

impl PolicyText {
    /// The policy with the rules of its settings file.
    ///
    /// # Errors
    /// `invalid_argument` if the text is not a settings file, or has no permissions.
    pub(super) fn whole(&self, rules: &[&str], rule_of: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let mut whole = self.clone();
        let Some(text) = whole.settings.take() else { return Ok(whole) };
        let wrong = |why: &str| {
            ToolError::new(Reason::InvalidArgument, format!("the settings file is not valid: {why}"))
        };
        let parts = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
        check_parts(&parts).map_err(|why| wrong(&why))?;
        let file: SettingsFile = serde_json::from_str(&text)
            .map_err(|error| wrong(&check_permissions(&text).err().unwrap_or_else(|| error.to_string())))?;
        if file.permissions.is_none() && file.permission.is_empty() {
            return Err(wrong("it has neither \"permissions\" nor \"permission\""));
        }
        let listed = file.permissions.unwrap_or_default();
        if listed.settings.is_some() {
            return Err(wrong("\"permissions\" has no \"settings\""));
        }
        whole.add(listed);
        whole.add_by_tool(&file.permission, rules, rule_of)?;
        Ok(whole)
    }

    /// Adds settings by tool, such as `{"fetch": "allow"}`. Names are those of tools or of rules.
    fn add_by_tool(
        &mut self,
        by_tool: &Map<String, Value>,
        rules: &[&str],
        rule_of: &dyn Fn(&str) -> Option<String>,
    ) -> Result<()> {
        let canonical = |tool: &str| {
            let same = rules.iter().find(|rule| rule.eq_ignore_ascii_case(tool));
            let named = NAMES.iter().find(|(name, _)| *name == tool).map(|(_, rule)| rule);
            rule_of(tool).or_else(|| same.or(named).map(|rule| (*rule).to_owned()))
        };
        for (tool, mode) in by_tool {
            let wrong = |why: String| {
                ToolError::new(
                    Reason::InvalidArgument,
                    format!("\"permission\" of {tool:?} is not valid: {why}"),
                )
            };
            let rule = canonical(tool).ok_or_else(|| wrong("there is no tool of that name".into()))?;
            let list = match mode.as_str() {
                Some("allow") => &mut self.allow,
                Some("ask") => &mut self.ask,
                Some("deny") => &mut self.deny,
                _ => return Err(wrong(format!("write \"allow\", \"ask\" or \"deny\", not {mode}"))),
            };
            list.push(rule.into());
        }
        Ok(())
    }

    /// Adds the rules of another policy, and its mode if this one has none.
    fn add(&mut self, other: Self) {
        self.allow.extend(other.allow);
        self.ask.extend(other.ask);
        self.deny.extend(other.deny);
        if self.default == PolicyMode::Auto {
            self.default = other.default;
        }
    }
}
