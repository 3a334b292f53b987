//! The pattern of a rule, whose kind depends on the rule's tool.

use super::network::NETWORK;
use super::permission_request::{FilePath, Operand};
use super::repository;
use super::rule::PermissionRule;
use super::url::UrlPattern;
use super::words::CommandPattern;
use beamai_base::{Destination, HostPattern};
use beamai_path_rules::{PathRoots, PathRule, clean};
use beamai_workspace::decode_path;
use globset::{GlobBuilder, GlobMatcher};

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) enum RulePattern {
    Command(CommandPattern),
    Path(PathRule),
    Url(UrlPattern),
    /// A destination of commands' connections.
    Host(HostPattern),
    /// A name, or a search query.
    Text(GlobMatcher),
}

/// The kind of pattern that a tool takes; `None` if it takes none.
fn kind(tool: &str) -> Option<&'static str> {
    Some(match tool {
        "Bash" => "a command: git status, git:*, or a glob",
        "Read" | "Write" | "Edit" | "Glob" | "Grep" | "LSP" | "GitAdd" | "GitDiff" => {
            "a path: .env, src/**, ~/x, or /x"
        }
        "WebFetch" => "domain:example.com or an address",
        NETWORK => "domain:example.com, perhaps with a port",
        "WebSearch" => "the words of a search, as a glob",
        "Skill" | "Task" => "a name, as a glob",
        _ => return None,
    })
}

impl RulePattern {
    /// The pattern of a rule for a tool.
    ///
    /// # Errors
    /// The problem and what is accepted, as the end of a sentence.
    pub(super) fn new(tool: &str, text: &str, roots: &PathRoots) -> Result<Self, String> {
        let kind = kind(tool).ok_or_else(|| format!("{tool} takes no pattern; write {tool} alone"))?;
        let pattern = match tool {
            "Bash" => CommandPattern::new(text, roots.tilde()).map(Self::Command),
            "WebFetch" => UrlPattern::new(text).map(Self::Url),
            NETWORK => host(text).map(Self::Host),
            "WebSearch" | "Skill" | "Task" => name(text).map(Self::Text),
            _ => file(text, roots).map(Self::Path),
        };
        pattern.map_err(|why| format!("{why} ({tool} takes {kind})"))
    }

    /// Whether the pattern matches any part of an operand: enough to ask or deny.
    pub(super) fn touches(&self, operand: &Operand, roots: &PathRoots) -> bool {
        match (self, operand) {
            (Self::Path(pattern), Operand::File(file) | Operand::Project(file)) => {
                let touches =
                    |path| pattern.matches(path, roots) || file.is_tree && pattern.covers(path, roots);
                paths(file).iter().any(|path| touches(path))
            }
            _ => self.covers(operand, roots),
        }
    }

    /// Whether the pattern matches all of an operand: required to allow.
    pub(super) fn covers(&self, operand: &Operand, roots: &PathRoots) -> bool {
        match (self, operand) {
            (Self::Path(pattern), Operand::File(file) | Operand::Project(file)) => {
                paths(file).iter().all(|path| match file.is_tree {
                    true => pattern.covers(path, roots),
                    false => pattern.matches(path, roots),
                })
            }
            (Self::Url(pattern), Operand::Url { url, .. }) => pattern.matches(url),
            (Self::Host(pattern), Operand::Name(text)) => {
                Destination::parse(text, Some(443)).is_some_and(|to| pattern.covers(&to))
            }
            (Self::Text(glob), Operand::Name(text) | Operand::Query(text)) => glob.is_match(text),
            _ => false,
        }
    }
}

/// Whether the rule may cover the operand if that is in a repository's `.git`.
pub(super) fn covers_repository(rule: &PermissionRule, operand: &Operand) -> bool {
    match operand {
        Operand::File(file) => repository::covers_all(rule, &paths(file)),
        _ => true,
    }
}

/// The path as given, and the path it leads to.
fn paths(file: &FilePath) -> [std::path::PathBuf; 2] {
    [clean(&decode_path(&file.written)), clean(&decode_path(&file.path))]
}

/// The pattern of a path, unless it seems to mean something else than it does. What follows a backslash is meant.
fn file(text: &str, roots: &PathRoots) -> Result<PathRule, String> {
    let seen = without_escapes(text);
    let mistake = if is_quoted(&seen) || seen.trim() != seen {
        "quotes and blanks around a path would be part of it; write it without them, or ? for one"
    } else if seen.contains('{') && ["{ ", ", ", " }"].iter().any(|blank| seen.contains(blank)) {
        "blanks around alternatives in braces would be part of them; write {a,b}"
    } else if !has_pairs(&seen) {
        "a parenthesis has no counterpart; write one rule for each path, and ? for a parenthesis that is meant"
    } else if lists_paths(&seen) {
        "a rule is about one path; write one rule for each, or {a,b}, and \\ before a mark or a blank that is meant"
    } else if is_variable(&seen) {
        "variables and commands are not expanded; write the path, which may begin with ~/, or \\ before a mark that is meant"
    } else if is_position(&seen) {
        "a rule is about whole files, by their paths alone; write the path, or \\ before a mark that is meant"
    } else {
        return PathRule::new(text, roots);
    };
    Err(mistake.to_owned())
}

/// The text without its backslashes and what follows them.
fn without_escapes(text: &str) -> String {
    let mut is_escaped = false;
    let is_seen = |char: &char| {
        let was_escaped = is_escaped;
        is_escaped = !was_escaped && *char == '\\';
        !was_escaped && !is_escaped
    };
    text.chars().filter(is_seen).collect()
}

fn is_quoted(text: &str) -> bool {
    const QUOTES: [(char, char); 4] =
        [('"', '"'), ('\'', '\''), ('\u{201c}', '\u{201d}'), ('\u{2018}', '\u{2019}')];
    QUOTES.iter().any(|(open, close)| text.strip_prefix(*open).is_some_and(|rest| rest.ends_with(*close)))
}

/// Whether a text lists several paths: with a mark outside of braces and brackets, with a blank before what begins a path, or as JSON.
/// `file,v` is a file of RCS.
fn lists_paths(text: &str) -> bool {
    let mut depth = 0_usize;
    let outside: String = text
        .chars()
        .filter(|char| {
            depth += usize::from(matches!(char, '{' | '['));
            let is_outside = depth == 0;
            depth = depth.saturating_sub(usize::from(matches!(char, '}' | ']')));
            is_outside
        })
        .collect();
    let outside = outside.strip_suffix(",v").unwrap_or(&outside);
    let is_list = text.len() > 3 && text.starts_with('[') && text.ends_with(']') && text.contains(',');
    is_list
        || outside.contains([',', ';', '|'])
        || [" .", " *", " /", " ~", " & ", "** "].iter().any(|start| outside.contains(start))
}

/// Whether a path begins as with a variable of the environment or a command. Names such as `$types` are common in programs.
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    name.starts_with(|char: char| matches!(char, '{' | '(') || char.is_ascii_uppercase())
        || text.starts_with('`')
        || text.strip_prefix('%').is_some_and(|rest| rest.contains('%'))
}

/// Whether a text has something besides a path: its kind before it, a line behind it, or the ends of a regular expression.
fn is_position(text: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|char: char| char.is_ascii_digit());
    let has_line = text.rsplit_once(':').is_some_and(|(_, line)| is_number(line))
        || text.rsplit_once("#L").is_some_and(|(_, line)| is_number(line));
    let kinds = ["path:", "file:", "glob:", "regex:"];
    has_line
        || text.starts_with('^')
        || text.ends_with('$')
        || kinds.iter().any(|kind| text.starts_with(kind))
}

/// Whether each parenthesis has its counterpart.
fn has_pairs(text: &str) -> bool {
    let open = text.chars().try_fold(0_usize, |open, char| match char {
        '(' => Some(open + 1),
        ')' => open.checked_sub(1),
        _ => Some(open),
    });
    open == Some(0)
}

fn host(text: &str) -> Result<HostPattern, String> {
    let domain =
        text.strip_prefix("domain:").ok_or_else(|| format!("write domain:example.com, not {text:?}"))?;
    HostPattern::domain(domain)
}

fn name(text: &str) -> Result<GlobMatcher, String> {
    if text.is_empty() {
        return Err("the pattern is empty".into());
    }
    let glob = GlobBuilder::new(text).literal_separator(false).build();
    Ok(glob.map_err(|error| error.kind().to_string())?.compile_matcher())
}
