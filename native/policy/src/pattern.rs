//! The pattern of a rule, whose kind depends on the rule's tool.

use super::network::NETWORK;
use super::path_mistakes::path_mistake;
use super::permission_request::{FilePath, Operand};
use super::repository;
use super::rule::PermissionRule;
use super::url::UrlPattern;
use super::words::CommandPattern;
use beamai_base::{Destination, HostPattern};
use beamai_path_rules::{PathRoots, PathRule, clean};
use beamai_workspace::decode_path;
use globset::{Glob, GlobBuilder, GlobMatcher};
use std::path::Path;

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
            "Skill" | "Task" if is_no_name(text) || tool == "Skill" && is_no_skill(text) => {
                Err("a rule is about one name; write it without other marks, and * for what varies".into())
            }
            "WebSearch" | "Skill" | "Task" => name(text).map(Self::Text),
            _ => file(text, roots).map(Self::Path),
        };
        pattern.map_err(|why| format!("{why} ({tool} takes {kind})"))
    }

    /// Whether the pattern matches any part of an operand: enough to ask or deny.
    pub(super) fn touches(&self, operand: &Operand, roots: &PathRoots) -> bool {
        match (self, operand) {
            (Self::Path(pattern), Operand::File(file) | Operand::Project(file)) => {
                touches_file(pattern, file, roots)
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

/// Whether the pattern matches a file or directory, or all that is in it.
pub(super) fn touches_file(pattern: &PathRule, file: &FilePath, roots: &PathRoots) -> bool {
    let touches = |path| pattern.matches(path, roots) || file.is_tree && pattern.covers(path, roots);
    paths(file).iter().any(|path| touches(path))
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

fn file(text: &str, roots: &PathRoots) -> Result<PathRule, String> {
    match path_mistake(text) {
        Some(mistake) => Err(mistake.to_owned()),
        None if is_at_wrong_top(text, roots) => Err(format!(
            "{text} begins at the top of the machine, where nothing has that name; write ./{} for the workspace",
            text.trim_start_matches("/./").trim_start_matches('/')
        )),
        None if names_class(text, roots) => Err(format!(
            "a class in brackets stands for one character, and the workspace has a file of that name; write {}",
            literal_brackets(text)
        )),
        None => PathRule::new(text, roots),
    }
}

/// Whether a path of the workspace has brackets that a pattern takes for a class which matches nothing there, as in
/// `pages/[id].tsx`.
fn names_class(text: &str, roots: &PathRoots) -> bool {
    const MOST_NAMES: usize = 10_000;
    let Some(workspace) = roots.workspace().filter(|_| !text.starts_with('/')) else { return false };
    let names: Vec<&str> = text.split('/').collect();
    let Some(at) = names.iter().position(|name| name.contains('[')) else { return false };
    let above = names[..at].join("/");
    if [&above, names[at]].iter().any(|text| text.contains(['*', '?', '{', '\\'])) {
        return false;
    }
    let Ok(entries) = std::fs::read_dir(workspace.path().join(above)) else { return false };
    let found: Vec<_> = entries.take(MOST_NAMES).filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    let is_class = |glob: Glob| found.iter().any(|name| glob.compile_matcher().is_match(name));
    found.iter().any(|name| name == names[at]) && !Glob::new(names[at]).is_ok_and(is_class)
}

fn literal_brackets(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]")
}

/// Whether a path from the top of the machine can only be meant from the top of the workspace, as in the rules of other
/// agents.
fn is_at_wrong_top(text: &str, roots: &PathRoots) -> bool {
    let mut names = text.strip_prefix('/').unwrap_or_default().split('/');
    let first = names.find(|name| !matches!(*name, "" | ".")).unwrap_or_default();
    let is_name = !first.is_empty() && !first.contains(['*', '?', '[', '{', '\\']);
    let is_in = |top: &Path| top.join(first).symlink_metadata().is_ok();
    is_name && !is_in(Path::new("/")) && roots.workspace().is_some_and(|workspace| is_in(workspace.path()))
}

fn host(text: &str) -> Result<HostPattern, String> {
    let domain =
        text.strip_prefix("domain:").ok_or_else(|| format!("write domain:example.com, not {text:?}"))?;
    HostPattern::domain(domain)
}

/// Whether a text has more than a name with wildcards: quotes, several names, what other kinds of rules end with.
fn is_no_name(text: &str) -> bool {
    text.trim() != text
        || text.contains([';', '|', '"', '\'', '`', '$', '^', '&', '(', ')', '\n'])
        || text.contains(',') && !text.contains('{')
        || [":*", " *", "/"].iter().any(|end| text.ends_with(end))
}

/// Whether a text has characters that are neither of skills' names nor of wildcards.
fn is_no_skill(text: &str) -> bool {
    let is_name = |char: char| char.is_alphanumeric() || "-_*?[]{},".contains(char);
    !text.replace("[!", "[").replace("[^", "[").chars().all(is_name)
}

fn name(text: &str) -> Result<GlobMatcher, String> {
    if text.is_empty() {
        return Err("the pattern is empty".into());
    }
    let glob = GlobBuilder::new(text).literal_separator(false).build();
    Ok(glob.map_err(|error| error.kind().to_string())?.compile_matcher())
}
