//! What an operation asks leave for.

use beamai_base::Result;
use beamai_text::{extent, one_line};
use beamai_workspace::WorkspacePath;

/// What an operation asks leave for.
#[derive(Debug, Clone)]
pub struct PermissionRequest {
    /// Canonical name of the operation in rules, such as `Bash`.
    pub rule: String,
    /// Rules that refuse, or ask about, the operation too: `Read` for whatever discloses contents, `Edit` and
    /// `Write` for whatever changes them.
    pub touches: &'static [&'static str],
    /// Rules that allow the operation besides its own.
    pub allowed_by: &'static [&'static str],
    /// Whether it only reads or touches only the session, and so runs by default.
    pub is_safe: bool,
    /// What it works on.
    pub operand: Operand,
}

/// A path as it was written, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath {
    /// The path with every link followed, relative to the workspace; as people see it.
    pub path: String,
    /// The path as it was written, relative to the workspace.
    pub written: String,
    /// Whether all that is below it is meant, too.
    pub is_tree: bool,
}

impl FilePath {
    /// A path that leads where it says.
    pub fn plain(path: impl Into<String>) -> Self {
        let path = path.into();
        Self { written: path.clone(), path, is_tree: false }
    }

    /// A file that is read. What cannot be followed, and so cannot be opened either, is taken as it is written.
    pub fn read(path: &WorkspacePath) -> Self {
        let written = path.display();
        Self { path: path.resolved().unwrap_or_else(|_| written.clone()), written, is_tree: false }
    }

    /// A file that must be there.
    ///
    /// # Errors
    /// `no_such_file` or `outside_workspace`.
    pub fn existing(path: &WorkspacePath) -> Result<Self> {
        Ok(Self { is_tree: false, ..Self::tree(path)? })
    }

    /// A file that is written, which need not be there yet.
    ///
    /// # Errors
    /// `outside_workspace` when the path leads out, or what else the operating system reports.
    pub fn written(path: &WorkspacePath) -> Result<Self> {
        Ok(Self { path: path.destination()?, written: path.display(), is_tree: false })
    }

    /// A file, or a directory with all that is in it.
    ///
    /// # Errors
    /// `no_such_file` or `outside_workspace`.
    pub fn tree(path: &WorkspacePath) -> Result<Self> {
        Ok(Self { path: path.resolved()?, written: path.display(), is_tree: true })
    }
}

/// A shell command with what bears on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The command with its variables in front, as one would type it; as people see it.
    pub typed: String,
    /// The command alone.
    pub command: String,
    /// Names of the variables that are set for it.
    pub variables: Vec<String>,
    /// The directory that it runs in, relative to the workspace.
    pub directory: String,
}

/// What an operation works on, as rules and people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// Nothing that can be named.
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
        /// What is done with the address: [`FETCH`], or a method and whatever else a person should know of it, such
        /// as `send POST to`.
        action: String,
        /// The address, without credentials.
        url: String,
    },
    /// A question to a search engine.
    Query(String),
}

/// What is done with an address by a call that only reads it.
pub const FETCH: &str = "fetch";

impl Operand {
    /// The operand as a detail of questions and errors: key and text.
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
    /// The need with its operand: `Bash(git status)`. Approvals for a session hold for this text.
    pub fn subject(&self) -> String {
        let text = match &self.operand {
            Operand::None => return self.rule.clone(),
            Operand::File(file) | Operand::Project(file) => &file.path,
            Operand::Command(line) => &line.typed,
            Operand::Name(text) | Operand::Query(text) => text,
            Operand::Url { action, url } if action == FETCH => url,
            Operand::Url { action, url } => return format!("{}({action} {url})", self.rule),
        };
        format!("{}({text})", self.rule)
    }

    /// What would be done, for the person who is asked: on one line, whatever the operand is.
    pub fn question(&self, tool: &str) -> String {
        let tool = one_line(tool);
        match &self.operand {
            Operand::None => format!("{tool} wants to run"),
            Operand::Name(name) => format!("{tool} wants to use {}", one_line(name)),
            Operand::File(file) if self.is_safe => format!("{tool} wants to read {}", one_line(&file.path)),
            Operand::File(file) => format!("{tool} wants to change {}", one_line(&file.path)),
            Operand::Project(file) => format!(
                "{tool} wants to read {} with a program that may run code of the project it is in",
                one_line(&file.path)
            ),
            Operand::Command(line) => format!("{tool} wants to run: {}", one_line(&line.typed)),
            Operand::Url { action, url } => format!("{tool} wants to {} {}", one_line(action), one_line(url)),
            Operand::Query(query) => format!("{tool} wants to search the web for: {}", one_line(query)),
        }
    }
}

/// All that one call asks leave for; mostly a single need.
#[derive(Debug, Clone)]
pub struct PermissionRequests {
    /// The first.
    pub first: PermissionRequest,
    /// The others, in the call's order.
    pub more: Vec<PermissionRequest>,
}

impl From<PermissionRequest> for PermissionRequests {
    fn from(first: PermissionRequest) -> Self {
        Self { first, more: vec![] }
    }
}

impl PermissionRequests {
    /// Needs that the question to a person names one by one.
    const NAMED: usize = 50;

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &PermissionRequest> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// How large what they are about is, where that is worth saying: a person must see it however long the question is.
    pub fn extent(&self) -> String {
        extent(&self.subject())
    }

    /// Their subjects in one text: `Edit(a), Write(b)`.
    pub fn subject(&self) -> String {
        self.iter().map(PermissionRequest::subject).collect::<Vec<_>>().join(", ")
    }

    /// What would be done, for the person who is asked.
    pub fn question(&self, tool: &str) -> String {
        if self.more.is_empty() {
            return self.first.question(tool);
        }
        let subjects = self.iter().take(Self::NAMED).map(|permission| one_line(&permission.subject()));
        let named = subjects.collect::<Vec<_>>().join(", ");
        match (1 + self.more.len()).saturating_sub(Self::NAMED) {
            0 => format!("{tool} wants to do all of: {named}"),
            rest => format!("{tool} wants to do all of: {named}, and {rest} more"),
        }
    }
}
