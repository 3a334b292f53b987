//! Arguments of the dialect's tools.

use super::listing::{ALL, FileListing};
use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_files::{FileRead, FileWrite};
use beamai_port_tools::lsp::LspDiagnostics;
use beamai_search::{glob::Glob, grep::Grep};
use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum file size in bytes.
const LARGEST: u64 = 10 << 20;

/// Rejects paths and patterns with a `..` component.
fn straight(path: String) -> Result<String> {
    if !path.split('/').any(|component| component == "..") {
        return Ok(path);
    }
    let message = format!(
        "the path {:?} has a \"..\" component, which is not allowed; write the path without it",
        excerpt(&path)
    );
    Err(ToolError::new(Reason::OutsideWorkspace, message).file(path))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadFile {
    /// Absolute or relative file path, such as "src/index.ts".
    path: String,
    /// First line, 1-based.
    #[schemars(range(min = 1))]
    offset: Option<i64>,
    /// Maximum number of lines; default all.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// First character of the first line, for very long lines.
    #[schemars(range(min = 1), extend("self_evident" = true))]
    column: Option<u64>,
}

impl TryFrom<ReadFile> for FileRead {
    type Error = ToolError;

    fn try_from(read: ReadFile) -> Result<Self> {
        let ReadFile { path, offset, limit, column } = read;
        let lines = Self::lines(straight(path)?, offset.unwrap_or(1), limit.unwrap_or(u64::MAX));
        Ok(Self { largest: Some(LARGEST), column, ..lines })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteFile {
    /// Absolute or relative file path, such as "src/index.ts".
    path: String,
    /// Replace only this text, which must occur exactly once unless replace_all is set.
    old_string: Option<String>,
    /// Replace every occurrence of old_string.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    replace_all: bool,
    /// The text. It replaces the whole file.
    #[schemars(extend("self_evident" = true))]
    content: String,
}

impl TryFrom<WriteFile> for FileWrite {
    type Error = ToolError;

    fn try_from(write: WriteFile) -> Result<Self> {
        let WriteFile { path, content, old_string, replace_all } = write;
        if replace_all && old_string.is_none() {
            let message = "replace_all needs old_string, the text to replace; without both, content replaces the whole file";
            return Err(ToolError::new(Reason::InvalidArgument, message).with("argument", "replace_all"));
        }
        Ok(Self { largest: Some(LARGEST), old_string, replace_all, ..Self::whole(straight(path)?, content) })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListFiles {
    /// "." is the workspace.
    directory: String,
    /// Glob relative to the directory: "**/*.ts" at any depth.
    #[serde(default = "any")]
    pattern: String,
    /// Number of files to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
}

fn any() -> String {
    ALL.to_owned()
}

impl TryFrom<ListFiles> for FileListing {
    type Error = ToolError;

    fn try_from(list: ListFiles) -> Result<Self> {
        let ListFiles { directory, pattern, offset } = list;
        Ok(Self(Glob { offset, ..Glob::plain(straight(pattern)?, straight(directory)?) }))
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchCode {
    /// What to search for.
    #[schemars(extend("self_evident" = true))]
    query: String,
    /// How to search.
    #[schemars(extend("self_evident" = true))]
    options: Option<SearchOptions>,
}

#[derive(Deserialize, JsonSchema)]
struct SearchOptions {
    /// By default, case is ignored.
    #[serde(default)]
    case_sensitive: bool,
    /// Whether the query is a regular expression.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    regex: bool,
    /// Only these files, such as "*.ts".
    #[serde(default)]
    glob: Option<String>,
    /// Lines to show before and after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    context: Option<usize>,
    /// Maximum number of matches to return.
    #[serde(default = "most_results")]
    #[schemars(range(min = 1, max = 100_000))]
    #[schemars(extend("self_evident" = true))]
    max_results: usize,
    /// Number of matches to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
}

fn most_results() -> usize {
    100
}

impl Default for SearchOptions {
    fn default() -> Self {
        let (case_sensitive, regex, glob, context) = Default::default();
        Self { case_sensitive, regex, glob, context, max_results: most_results(), offset: 0 }
    }
}

impl TryFrom<SearchCode> for Grep {
    type Error = ToolError;

    fn try_from(search: SearchCode) -> Result<Self> {
        let SearchOptions { case_sensitive, regex, glob, context, max_results, offset } =
            search.options.unwrap_or_default();
        Ok(Self {
            glob: glob.map(straight).transpose()?,
            case_insensitive: !case_sensitive,
            literal: !regex,
            largest: Some(LARGEST),
            context,
            offset,
            ..Self::plain(search.query, ".".to_owned(), max_results)
        })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GetDiagnostics {
    /// The file to check. Default: every file that the running language servers know.
    #[schemars(extend("self_evident" = true))]
    file: Option<String>,
}

impl TryFrom<GetDiagnostics> for LspDiagnostics {
    type Error = ToolError;

    fn try_from(get: GetDiagnostics) -> Result<Self> {
        Ok(Self { path: get.file.map(straight).transpose()?, largest: Some(LARGEST) })
    }
}
