//! Searches file contents for lines that match a pattern.

mod filter;
mod for_model;
mod match_collector;
mod matched_files;
mod multiline;
mod output;
mod pattern;
mod scope;
mod search;
#[cfg(test)]
mod tests;
mod text;

pub use output::{CutLine, GrepMatch, GrepOutput};

use beamai_base::{Result, ToolError};
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_walk::{Tally, Walk, coverage::Hints};
use filter::FileFilter;
use matched_files::MatchedFiles;
use pattern::GrepPattern;
use schemars::JsonSchema;
use scope::Scope;
use search::FileSearch;
use serde::{Deserialize, Serialize};

/// Searches the contents of files.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Grep {
    /// Regular expression (Rust syntax: no look-around, no backreferences) to search each line for.
    #[schemars(extend("self_evident" = true))]
    pub pattern: String,
    /// File or directory.
    #[serde(default = "super::here")]
    pub path: String,
    /// Only these files, such as "*.go" at any depth, "src/*.go" or "!*_test.go".
    #[serde(default)]
    pub glob: Option<String>,
    /// ripgrep file type, such as rust or py.
    #[serde(default, rename = "type")]
    pub file_type: Option<String>,
    /// content: the matching lines with their text; files_with_matches: only the files that have any; count: these
    /// files and how many lines match in each.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub output_mode: OutputMode,
    /// Case-insensitive.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub case_insensitive: bool,
    /// Plain text, not a regular expression.
    #[serde(default)]
    pub literal: bool,
    /// Whole words only.
    #[serde(default)]
    pub word: bool,
    /// Matches may span lines, and `.` matches line ends.
    #[serde(default)]
    pub multiline: bool,
    /// Lines of context before each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100), extend("self_evident" = true))]
    pub before: Option<usize>,
    /// Lines of context after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100), extend("self_evident" = true))]
    pub after: Option<usize>,
    /// Lines before and after each match.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub context: Option<usize>,
    /// Maximum number of matches, or files.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000), extend("self_evident" = true))]
    pub limit: usize,
    /// Matches, or files, to skip first; the order is by path and line, so a next page can be asked for.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000), extend("self_evident" = true))]
    pub offset: usize,
    /// Include hidden files.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub hidden: bool,
    /// Include ignored files.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub ignored: bool,
    /// Maximum size of a searched file, in bytes; larger ones are left out.
    #[serde(skip)]
    #[schemars(skip)]
    pub largest: Option<u64>,
    /// Whether the answer omits line numbers.
    #[serde(skip)]
    #[schemars(skip)]
    pub unnumbered: bool,
    /// Whether notes for models suggest arguments; set by the dialect.
    #[serde(skip)]
    #[schemars(skip)]
    pub hints: Hints,
}

impl Grep {
    /// A call with the defaults, for a tool binding that lacks some of the parameters.
    pub fn plain(pattern: String, path: String, limit: usize) -> Self {
        Self {
            pattern,
            path,
            glob: None,
            file_type: None,
            output_mode: OutputMode::Content,
            case_insensitive: false,
            literal: false,
            word: false,
            multiline: false,
            before: None,
            after: None,
            context: None,
            limit,
            offset: 0,
            hidden: false,
            ignored: false,
            largest: None,
            unnumbered: false,
            hints: Hints::Withheld,
        }
    }
}

fn default_limit() -> usize {
    100
}

/// What a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// Every match with its text.
    #[default]
    Content,
    /// The files with a match.
    FilesWithMatches,
    /// The files with a match, and how many lines match in each.
    Count,
}

/// Everything that the search of one file needs.
struct GrepPlan<'a> {
    pattern: GrepPattern,
    mode: OutputMode,
    largest: Option<u64>,
    before: usize,
    after: usize,
    found: &'a MatchedFiles,
    scope: &'a Scope,
    cx: &'a CallContext,
}

impl Operation for Grep {
    type Output = GrepOutput;
    const TRAITS: Traits = Traits::SEARCHES;
    const RULE: &'static str = "Grep";

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        let operand = Operand::File(FilePath::tree(&cx.workspace.parse_path(&self.path)?)?);
        Ok(PermissionRequest {
            rule: "Grep".into(),
            touches: &["Read"],
            allowed_by: &["Read"],
            is_safe: true,
            operand,
        })
    }

    fn run(self, cx: &CallContext) -> Result<GrepOutput, Interrupt> {
        let pattern = GrepPattern::new(&self)?;
        let filter = FileFilter::new(self.glob.as_deref(), self.file_type.as_deref())?;
        let scope = Scope::open(&cx.workspace.parse_path(&self.path)?)?;
        let found = MatchedFiles::new(self.output_mode, self.offset.saturating_add(self.limit));
        let context = self.context.unwrap_or(0);
        let plan = GrepPlan {
            pattern,
            mode: self.output_mode,
            largest: self.largest,
            before: self.before.unwrap_or(context),
            after: self.after.unwrap_or(context),
            found: &found,
            scope: &scope,
            cx,
        };
        let tally = self.search(&plan, &filter).map_err(|error| found.so_far(error))?;
        Ok(output::page(&plan, &tally, &self)?)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::found(result, call, page)
    }
}

impl Grep {
    fn search(&self, plan: &GrepPlan<'_>, filter: &FileFilter) -> Result<Tally, ToolError> {
        match plan.scope {
            Scope::Tree(tree) => {
                let (hidden, ignored) = (self.hidden, self.ignored);
                let walk = Walk { tree, select: filter, hidden, ignored, depth: None, cx: plan.cx };
                Ok(walk.run(|| FileSearch::new(plan)).finish()?.1)
            }
            Scope::File { .. } => {
                let mut tally = Tally::default();
                FileSearch::new(plan).search_named(b"", &mut tally)?;
                Ok(tally)
            }
        }
    }
}
