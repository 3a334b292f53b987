//! Permission requests: what an operation wants to do.

use super::rule::is_pattern;
use beamai_base::Result;
use beamai_path_rules::{clean, literal_patterns};
use beamai_text::{extent, name_in_sentence, one_line};
use beamai_workspace::{WorkspacePath, decode_path, encode_path};

/// A request for permission by an operation.
#[derive(Debug, Clone)]
pub struct PermissionRequest {
    /// Canonical name of the operation in rules, such as `Bash`.
    pub rule: String,
    /// Further rules that can deny or ask about the operation: `Read` if it discloses contents, `Edit` and `Write` if it
    /// changes them.
    pub touches: &'static [&'static str],
    /// Further rules that can allow the operation.
    pub allowed_by: &'static [&'static str],
    /// Whether it only reads, or changes only the session, and so runs by default.
    pub is_safe: bool,
    /// What it works on.
    pub operand: Operand,
}

/// A path as given, and the path it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath {
    /// The path with every link followed, relative to the workspace, for display.
    pub path: String,
    /// The path as given, relative to the workspace.
    pub written: String,
    /// Whether it includes everything below it.
    pub is_tree: bool,
}

impl FilePath {
    /// A path without links.
    pub fn plain(path: impl Into<String>) -> Self {
        let path = path.into();
        Self { written: path.clone(), path, is_tree: false }
    }

    /// A file to read. A path that cannot be resolved, and so cannot be opened either, is taken as given.
    pub fn read(path: &WorkspacePath) -> Self {
        let written = path.display();
        Self { path: path.resolved().unwrap_or_else(|_| written.clone()), written, is_tree: false }
    }

    /// A file that must exist.
    ///
    /// # Errors
    /// `no_such_file` or `outside_workspace`.
    pub fn existing(path: &WorkspacePath) -> Result<Self> {
        Ok(Self { is_tree: false, ..Self::tree(path)? })
    }

    /// A file to write, which need not exist yet.
    ///
    /// # Errors
    /// `outside_workspace` if the path leads outside, or an error of the operating system.
    pub fn written(path: &WorkspacePath) -> Result<Self> {
        Ok(Self { path: path.destination()?, written: path.display(), is_tree: false })
    }

    /// A file, or a directory with everything in it.
    ///
    /// # Errors
    /// `no_such_file` or `outside_workspace`.
    pub fn tree(path: &WorkspacePath) -> Result<Self> {
        Ok(Self { path: path.resolved()?, written: path.display(), is_tree: path.is_directory() })
    }
}

/// A shell command with its variables and directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The command with its variables in front, as one would type it, for display.
    pub typed: String,
    /// The command alone.
    pub command: String,
    /// Names of the variables that are set for it.
    pub variables: Vec<String>,
    /// The directory that it runs in, relative to the workspace.
    pub directory: String,
    /// Whether it goes on after the call.
    pub is_background: bool,
}

/// What an operation works on, as rules and messages show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// Nothing with a name.
    None,
    /// A path.
    File(FilePath),
    /// A path, for a program that may run the project's own code.
    Project(FilePath),
    /// A shell command.
    Command(CommandLine),
    /// The name of a skill or an agent.
    Name(String),
    /// A request over the network.
    Url {
        /// The action: [`FETCH`], or a phrase with the method and other facts relevant for a decision, such as
        /// `send POST to`.
        action: String,
        /// The address, without credentials.
        url: String,
        /// A digest of headers, body and credentials, if there are any. An approval holds for these alone.
        sent: Option<String>,
    },
    /// A query to a search engine.
    Query(String),
}

/// The action of a call that only reads from an address.
pub const FETCH: &str = "fetch";

impl Operand {
    /// Key and text for the details of questions and errors.
    pub fn detail(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::None | Self::Name(_) => None,
            Self::File(file) | Self::Project(file) => Some(("file", &file.path)),
            Self::Command(line) => Some(("command", &line.typed)),
            Self::Url { url, .. } => Some(("url", url)),
            Self::Query(query) => Some(("query", query)),
        }
    }
}

impl PermissionRequest {
    /// The request as a rule, such as `Bash(git status)`. Approvals for a session hold for this text.
    pub fn subject(&self) -> String {
        let text = match &self.operand {
            Operand::None => return self.rule.clone(),
            Operand::File(file) | Operand::Project(file) => &file.path,
            Operand::Command(line) => &line.typed,
            Operand::Name(text) | Operand::Query(text) => text,
            Operand::Url { action, url, .. } if action == FETCH => url,
            Operand::Url { action, url, sent: None } => return format!("{}({action} {url})", self.rule),
            Operand::Url { action, url, sent: Some(sent) } => {
                return format!("{}({action} {url}, digest {sent})", self.rule);
            }
        };
        format!("{}({text})", self.rule)
    }

    /// [`Self::subject`] for the person who is asked, on one line.
    fn subject_in_sentence(&self) -> String {
        match &self.operand {
            Operand::File(file) | Operand::Project(file) => {
                format!("{}({})", self.rule, name_in_sentence(&file.path))
            }
            _ => one_line(&self.subject()),
        }
    }

    /// The rule that allows the request, and no other if there is a pattern for it alone.
    pub fn wanted(&self) -> String {
        let pattern = match &self.operand {
            Operand::File(file) | Operand::Project(file) => {
                let cleaned = |path: &str| encode_path(&clean(&decode_path(path)));
                literal_patterns(&cleaned(&file.written), &cleaned(&file.path))
            }
            Operand::Url { url, .. } => literal_url(url),
            Operand::Name(text) | Operand::Query(text) => globset::escape(text),
            Operand::Command(line) => line.typed.clone(),
            Operand::None => return self.rule.clone(),
        };
        match is_pattern(&self.rule, &pattern) {
            true => format!("{}({pattern})", self.rule),
            false => self.rule.clone(),
        }
    }

    /// A description for the person who is asked, always on one line.
    pub fn question(&self, tool: &str) -> String {
        let tool = one_line(tool);
        match &self.operand {
            Operand::None => format!("{tool} wants to run"),
            Operand::Name(name) => format!("{tool} wants to use {}", one_line(name)),
            Operand::File(file) if self.is_safe => {
                format!("{tool} wants to read {}", name_in_sentence(&file.path))
            }
            Operand::File(file) => format!("{tool} wants to change {}", name_in_sentence(&file.path)),
            Operand::Project(file) => format!(
                "{tool} wants to read {} with a program that may run code of the project it is in",
                name_in_sentence(&file.path)
            ),
            Operand::Command(line) => {
                let how = if line.is_background { " in the background" } else { "" };
                format!("{tool} wants to run{how}: {}", one_line(&line.typed))
            }
            Operand::Url { action, url, .. } => {
                format!("{tool} wants to {} {}", one_line(action), one_line(url))
            }
            Operand::Query(query) => format!("{tool} wants to search the web for: {}", one_line(query)),
        }
    }
}

/// The pattern for an address alone. Behind the host, wildcards and what patterns refuse are percent-encoded. Empty if
/// the host is an IPv6 address, because its brackets would be wildcards.
fn literal_url(url: &str) -> String {
    let at = url.match_indices('/').nth(2).map_or(url.len(), |(at, _)| at);
    let (host, rest) = url.split_at(at);
    if host.contains('[') {
        return String::new();
    }
    let encoded = |char: char| match char {
        '*' | '[' | ']' | '{' | '}' | '\\' | '^' | '$' | '!' | ',' | ';' | '|' => {
            format!("%{:02X}", u32::from(char))
        }
        char => char.to_string(),
    };
    rest.chars().map(encoded).fold(host.to_owned(), |all, char| all + &char)
}

/// The permission requests of one call, usually one.
#[derive(Debug, Clone)]
pub struct PermissionRequests {
    /// The first one.
    pub first: PermissionRequest,
    /// The others, in order of the call.
    pub more: Vec<PermissionRequest>,
}

impl From<PermissionRequest> for PermissionRequests {
    fn from(first: PermissionRequest) -> Self {
        Self { first, more: vec![] }
    }
}

impl PermissionRequests {
    /// How many requests a question lists individually.
    const NAMED: usize = 50;

    /// Those that `is_first` holds for first, each part in its order.
    #[must_use]
    pub(super) fn sorted(&self, is_first: impl Fn(&PermissionRequest) -> bool) -> Self {
        let mut all: Vec<_> = self.iter().cloned().collect();
        all.sort_by_key(|permission| !is_first(permission));
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_else(|| self.first.clone());
        Self { first, more: all.collect() }
    }

    /// All requests.
    pub fn iter(&self) -> impl Iterator<Item = &PermissionRequest> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// The size of the operands if it is remarkable, since a person must see it however long the question is.
    pub fn extent(&self) -> String {
        extent(&self.subject())
    }

    /// Their subjects in one text: `Edit(a), Write(b)`.
    pub fn subject(&self) -> String {
        self.iter().map(PermissionRequest::subject).collect::<Vec<_>>().join(", ")
    }

    /// A description for the person who is asked.
    pub(super) fn question(&self, tool: &str) -> String {
        if self.more.is_empty() {
            return self.first.question(tool);
        }
        let subjects = self.iter().take(Self::NAMED).map(PermissionRequest::subject_in_sentence);
        let named = subjects.collect::<Vec<_>>().join(", ");
        match (1 + self.more.len()).saturating_sub(Self::NAMED) {
            0 => format!("{tool} wants to do all of: {named}"),
            rest => format!("{tool} wants to do all of: {named}, and {rest} more"),
        }
    }
}
