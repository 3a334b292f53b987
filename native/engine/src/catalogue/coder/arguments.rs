//! What the tools of the dialect take.

use beamai_files::FileRead;
use beamai_port_tools::lsp::{Lsp, LspDiagnostics, LspOperation};
use beamai_search::{glob, grep, list};
use beamai_session::question;
use beamai_tool::question::Choice;
use schemars::JsonSchema;
use serde::Deserialize;

fn one() -> i64 {
    1
}

fn fifty() -> u64 {
    50
}

fn two_hundred() -> usize {
    200
}

fn here() -> String {
    ".".to_owned()
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadArgs {
    /// Path of the file, relative to the workspace or absolute inside it.
    path: String,
    /// First line to read, counted from 1. A negative number counts from the end: -20 begins with the twentieth line
    /// from the end.
    #[serde(default = "one")]
    offset: i64,
    /// Maximum number of lines to read.
    #[serde(default = "fifty")]
    #[schemars(range(min = 1, max = 200))]
    limit: u64,
}

impl From<ReadArgs> for FileRead {
    fn from(read: ReadArgs) -> Self {
        Self::lines(read.path, read.offset, read.limit)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListArgs {
    /// Directory to list.
    #[serde(default = "here")]
    path: String,
}

impl From<ListArgs> for list::List {
    fn from(list: ListArgs) -> Self {
        Self::all(list.path)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GlobArgs {
    /// Glob pattern of paths relative to the workspace, never absolute: "*.md" finds files in the workspace itself,
    /// "**/*.md" at any depth, "src/**" everything under src.
    pattern: String,
}

impl From<GlobArgs> for glob::Glob {
    fn from(glob: GlobArgs) -> Self {
        Self::plain(glob.pattern, here())
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GrepArgs {
    /// Regular expression to search each line for.
    pattern: String,
    /// Directory or file to search.
    #[serde(default = "here")]
    path: String,
    /// Maximum number of matches to return.
    #[serde(default = "two_hundred")]
    #[schemars(range(min = 1, max = 100_000))]
    max_matches: usize,
}

impl From<GrepArgs> for grep::Grep {
    fn from(grep: GrepArgs) -> Self {
        Self::plain(grep.pattern, grep.path, grep.max_matches)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct AskArgs {
    /// The questions, put one after the other.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<QuestionArgs>,
}

#[derive(Deserialize, JsonSchema)]
struct QuestionArgs {
    /// The question, a full sentence.
    question: String,
    /// Two to four options, the recommended one first (it is marked as such), or none for free text.
    #[schemars(length(max = 4))]
    options: Vec<Choice>,
}

impl From<AskArgs> for question::AskQuestions {
    fn from(ask: AskArgs) -> Self {
        let questions = ask.questions.into_iter().map(|QuestionArgs { question, options }| {
            question::Question { question, header: None, options, multi_select: false }
        });
        Self { questions: questions.collect(), recommends: true }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct DiagnoseArgs {
    /// The file to check.
    path: String,
}

impl From<DiagnoseArgs> for LspDiagnostics {
    fn from(diagnose: DiagnoseArgs) -> Self {
        Self { path: Some(diagnose.path), largest: None }
    }
}

/// A symbol in a file.
#[derive(Deserialize, JsonSchema)]
struct SymbolPosition {
    /// The file that the symbol is in.
    path: String,
    /// Line of the symbol, counted from 1.
    #[schemars(range(min = 1))]
    line: u64,
    /// Any character of the symbol's name in that line, counted from 1.
    #[schemars(range(min = 1))]
    character: u64,
}

impl SymbolPosition {
    fn asked(self, operation: LspOperation) -> Lsp {
        let Self { path, line, character } = self;
        Lsp { operation, path, line: Some(line), character: Some(character), query: None }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct DefineArgs {
    #[serde(flatten)]
    at: SymbolPosition,
}

impl From<DefineArgs> for Lsp {
    fn from(define: DefineArgs) -> Self {
        define.at.asked(LspOperation::GoToDefinition)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct HoverArgs {
    #[serde(flatten)]
    at: SymbolPosition,
}

impl From<HoverArgs> for Lsp {
    fn from(hover: HoverArgs) -> Self {
        hover.at.asked(LspOperation::Hover)
    }
}
