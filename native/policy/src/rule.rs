//! One rule: a tool's canonical name, optionally with a pattern.

use super::arguments::Arguments;
use super::command_mistakes::check_reach;
use super::pattern::RulePattern;
use super::permission_request::{CommandLine, FilePath, Operand};
use super::rule_effect::check_effect;
use super::text::Examples;
use super::words::{Certainty, CommandPattern};
use beamai_base::{Reason, Result, ToolError, nearest};
use beamai_bash_reader::analyse;
use beamai_path_rules::{PathRoots, PathRule, literal_pattern};
use beamai_text::{is_hidden, is_unseen};
use beamai_workspace::encode_path;
use std::path::Path;
use std::sync::LazyLock;

/// The prefix of names of MCP servers' tools.
const SERVERS: &str = "mcp__";

/// Maximum length of such a name in bytes: a longer one of a server is cut and ends in a hash.
const LONGEST_OF_SERVERS: usize = 64;

/// Names that other agents' rules have for `Bash`, in lower case.
const SHELLS: [&str; 5] = ["shell", "terminal", "command", "exec", "run"];

/// A rule that has been checked.
#[derive(Debug, Clone)]
pub(super) struct PermissionRule {
    /// The rule as given.
    pub(super) text: String,
    /// The canonical name.
    pub(super) tool: String,
    /// Its pattern, if any.
    pub(super) pattern: Option<RulePattern>,
}

/// The names that rules can use.
pub(super) struct RuleNames<'a> {
    /// Canonical names.
    pub(super) rules: &'a [&'a str],
    /// The canonical name of a tool.
    pub(super) rule_of: &'a dyn Fn(&str) -> Option<String>,
}

/// A pattern that matches every file; it is a valid one.
static EVERY_FILE: LazyLock<Option<PathRule>> =
    LazyLock::new(|| PathRule::new("**", &PathRoots::default()).ok());

impl PermissionRule {
    /// Parses a rule and checks its examples.
    pub(super) fn new(text: &Examples, names: &RuleNames<'_>, roots: &PathRoots) -> Result<Self> {
        let rule = Self::parse(&text.rule, names, roots).map_err(|why| malformed(&text.rule, &why))?;
        for (examples, wanted) in [(&text.matching, true), (&text.no_match, false)] {
            for example in examples {
                if rule.fits(example, roots) != wanted {
                    let (does, should) =
                        if wanted { ("does not match", "should") } else { ("matches", "should not") };
                    let why = format!("it {does} its example {example:?}, which it {should}");
                    return Err(malformed(&text.rule, &why));
                }
            }
        }
        Ok(rule)
    }

    fn parse(text: &str, names: &RuleNames<'_>, roots: &PathRoots) -> Result<Self, String> {
        if let Some(char) = unseen(text) {
            return Err(format!(
                "it has {}, which nobody sees; remove it, or write * if it is meant",
                code(char)
            ));
        }
        let (tool, pattern) = split(text)?;
        let is_canonical = names.rules.contains(&tool);
        if !is_canonical {
            check_name(tool, pattern, names)?;
        }
        let pattern = pattern.map(|pattern| RulePattern::new(tool, pattern, roots)).transpose()?;
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), pattern })
    }

    /// The rule that denies changes at an absolute path; `None` if the path has a NUL character.
    pub(super) fn against_changes(path: &Path, roots: &PathRoots) -> Option<Self> {
        let pattern = literal_pattern(&encode_path(path));
        let text = format!("Edit({pattern})");
        let pattern = RulePattern::Path(PathRule::new(&pattern, roots).ok()?);
        Some(Self { text, tool: "Edit".to_owned(), pattern: Some(pattern) })
    }

    /// Checks that a rule that denies or asks is about more than exactly its text.
    pub(super) fn check_reach(&self) -> Result<()> {
        let Some(pattern) = self.command() else { return Ok(()) };
        check_reach(pattern).map_err(|why| malformed(&self.text, &why))
    }

    /// Checks that a rule that allows has an effect beside the patterns of all such rules.
    pub(super) fn check_effect(&self, all: &[&CommandPattern], roots: &PathRoots) -> Result<()> {
        let Some(pattern) = self.command() else { return Ok(()) };
        check_effect(pattern, all, roots.tilde()).map_err(|why| malformed(&self.text, &why))
    }

    /// The pattern of a rule about files; without one in the rule, every file.
    pub(super) fn files(&self) -> Option<&PathRule> {
        match &self.pattern {
            _ if !matches!(&*self.tool, "Read" | "Edit" | "Write") => None,
            Some(RulePattern::Path(pattern)) => Some(pattern),
            Some(_) => None,
            None => EVERY_FILE.as_ref(),
        }
    }

    /// The same rule for what its path leads to now, if it leads through links.
    pub(super) fn followed(&self, roots: &PathRoots) -> Option<Self> {
        let Some(RulePattern::Path(pattern)) = &self.pattern else { return None };
        let pattern = RulePattern::Path(pattern.followed(roots)?);
        Some(Self { text: self.text.clone(), tool: self.tool.clone(), pattern: Some(pattern) })
    }

    /// Whether the rule is about the operation with that name, or about the MCP server that the operation belongs to.
    pub(super) fn is_about(&self, name: &str) -> bool {
        self.tool == name
            || server(&self.tool)
                .is_some_and(|server| name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__")))
    }

    /// The pattern of a rule about commands.
    pub(super) fn command(&self) -> Option<&CommandPattern> {
        match &self.pattern {
            Some(RulePattern::Command(pattern)) if self.tool == "Bash" => Some(pattern),
            _ => None,
        }
    }

    /// Whether the rule holds for an example.
    fn fits(&self, example: &str, roots: &PathRoots) -> bool {
        match &self.pattern {
            None => true,
            Some(RulePattern::Command(pattern)) => {
                let found = analyse(example, roots.tilde());
                pattern.is_whole(example)
                    || found.programs.iter().any(|program| {
                        let arguments = Arguments::of(&program.words[1..]);
                        pattern.allows_words(&program.words[0], &arguments)
                            || pattern.holds(&program.words[0], &arguments) == Certainty::Surely
                    })
            }
            Some(pattern) => operands(example).iter().any(|operand| pattern.touches(operand, roots)),
        }
    }
}

/// The prefix of all tools of a server, if a rule names the whole server, as `mcp__files` or `mcp__files__*` do.
fn server(rule: &str) -> Option<&str> {
    let server = rule.strip_suffix("__*").unwrap_or(rule);
    server
        .strip_prefix(SERVERS)
        .is_some_and(|name| !name.is_empty() && !name.contains("__"))
        .then_some(server)
}

fn operands(example: &str) -> [Operand; 3] {
    [
        Operand::File(FilePath::plain(example)),
        Operand::Name(example.to_owned()),
        Operand::Url { action: super::FETCH.to_owned(), url: example.to_owned(), sent: None },
    ]
}

impl CommandLine {
    /// A command by itself, in the workspace.
    pub fn plain(command: &str) -> Self {
        let (typed, command) = (command.to_owned(), command.to_owned());
        Self { typed, command, variables: vec![], directory: ".".to_owned(), is_background: false }
    }
}

/// Whether a tool takes a pattern, in any workspace.
pub(super) fn is_pattern(tool: &str, pattern: &str) -> bool {
    unseen(pattern).is_none() && RulePattern::new(tool, pattern, &PathRoots::default()).is_ok()
}

fn malformed(rule: &str, why: &str) -> ToolError {
    let message = format!("permission rule {rule:?} is not valid: {why}");
    ToolError::new(Reason::InvalidArgument, message).with("rule", rule)
}

/// The first character that nobody sees, so that the rule matches something else than it seems to: a zero-width space,
/// a carriage return. Joiners and variation selectors are part of some scripts and of emoji, and follow no ASCII
/// character there.
fn unseen(text: &str) -> Option<char> {
    let before = std::iter::once('a').chain(text.chars());
    let is_unseen = |(before, char): &(char, char)| match char {
        '\t' | '\n' => false,
        '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => before.is_ascii(),
        // Spaces that are no ASCII can be seen as such.
        char => is_hidden(*char) || !char.is_whitespace() && is_unseen(*char),
    };
    before.zip(text.chars()).find(is_unseen).map(|(_, char)| char)
}

/// The character as Unicode numbers it.
pub(super) fn code(char: char) -> String {
    format!("U+{:04X}", u32::from(char))
}

/// Name and pattern.
fn split(text: &str) -> Result<(&str, Option<&str>), String> {
    const SHAPE: &str = "write Tool or Tool(pattern), such as Read or Bash(git:*)";
    let (tool, pattern) = match text.split_once('(') {
        None if text.contains(')') => return Err(format!("a parenthesis closes that none opens; {SHAPE}")),
        None => (text, None),
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(pattern) => (tool, Some(pattern)),
            None => return Err(format!("the parenthesis is not closed; {SHAPE}")),
        },
    };
    match is_name(tool) {
        true => Ok((tool, pattern)),
        false => Err(SHAPE.to_owned()),
    }
}

/// Whether it can be the name of a tool. Servers name their tools as they like.
fn is_name(tool: &str) -> bool {
    let is_plain = |char: char| !char.is_whitespace() && !char.is_control() && !"\"'`,;()".contains(char);
    let is_own = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '.');
    match tool.strip_prefix(SERVERS) {
        Some(rest) => rest.chars().all(is_plain),
        None => {
            tool.starts_with(|char: char| char.is_alphanumeric() || char == '_') && tool.chars().all(is_own)
        }
    }
}

/// Checks a name that is not canonical. It may belong to a custom tool, unless it looks misspelt.
fn check_name(tool: &str, pattern: Option<&str>, names: &RuleNames<'_>) -> Result<(), String> {
    let spelled =
        |name: &str| pattern.map_or_else(|| name.to_owned(), |pattern| format!("{name}({pattern})"));
    if let Some(canonical) = (names.rule_of)(tool) {
        return match canonical == tool {
            true => Ok(()),
            false => Err(format!(
                "rules use canonical names; write {}, which holds for {tool} too",
                spelled(&canonical)
            )),
        };
    }
    if tool.starts_with(SERVERS) && tool.contains('*') && server(tool).is_none_or(|name| name.contains('*')) {
        return Err(
            "of servers, a rule names one tool, mcp__server__tool, or all of them, mcp__server__*".to_owned()
        );
    }
    let is_of_names = |char: char| char.is_ascii_alphanumeric() || "_-*".contains(char);
    if let Some(name) = tool.strip_prefix(SERVERS)
        && (name.is_empty()
            || name.ends_with("__")
            || !name.chars().all(is_of_names)
            || tool.len() > LONGEST_OF_SERVERS)
    {
        return Err(format!(
            "{tool} is the name of no server's tool; write mcp__server__tool as it is listed, with up to {LONGEST_OF_SERVERS} letters, digits, _ and -, or mcp__server__*"
        ));
    }
    let same = names.rules.iter().find(|rule| rule.eq_ignore_ascii_case(tool));
    let slip = names
        .rules
        .iter()
        .find(|rule| tool.starts_with(|char: char| char.is_ascii_uppercase()) && is_slip(tool, rule));
    let foreign = SHELLS.contains(&&*tool.to_lowercase()) && pattern.is_some();
    if let Some(rule) = same.or(slip).copied().or(foreign.then_some("Bash")) {
        return Err(format!("there is no tool {tool}; did you mean {}?", spelled(rule)));
    }
    if pattern.is_some() {
        let near = nearest(tool, names.rules.iter().copied());
        let names = if near.is_empty() { names.rules.join(", ") } else { near.join(", ") };
        return Err(format!("{tool} takes no pattern: only built-in tools do; did you mean one of {names}?"));
    }
    Ok(())
}

/// Whether two words differ by a single typing error.
fn is_slip(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let start = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    matches!((a, b), ([], [_]) | ([_], []) | ([_], [_]))
        || matches!((a, b), ([x, y], [v, w]) if x == w && y == v)
}
