//! Arguments of the dialect's tools.

use beamai_files::FileRead;
use beamai_port_tools::lsp::{Lsp, LspDiagnostics, LspOperation};
use beamai_port_tools::shell::Shell;
use beamai_search::{
    glob,
    grep::{self, OutputMode},
    list,
};
use beamai_session::question;
use beamai_tool::question::Choice;
use schemars::JsonSchema;
use serde::Deserialize;

fn one() -> i64 {
    1
}

/// Default and maximum number of lines per read.
const LINES: u64 = 50;
const MOST_LINES: u64 = 200;

fn lines() -> u64 {
    LINES
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
    #[schemars(extend("self_evident" = true))]
    path: String,
    /// First line, 1-based; -N reads the last N lines.
    #[serde(default = "one")]
    offset: i64,
    /// Maximum number of lines to read.
    #[serde(default = "lines")]
    #[schemars(range(min = 1, max = 200))]
    #[schemars(extend("self_evident" = true))]
    limit: u64,
    /// First character of the first line, for very long lines.
    #[schemars(range(min = 1), extend("self_evident" = true))]
    column: Option<u64>,
}

impl From<ReadArgs> for FileRead {
    fn from(read: ReadArgs) -> Self {
        let ReadArgs { path, offset, limit, column } = read;
        // A negative offset is a number of lines from the end; if there are too many, the last ones are read.
        let tail = offset.unsigned_abs().min(MOST_LINES);
        let lines = match offset {
            ..0 if limit == LINES => Self {
                given_offset: Some(offset).filter(|offset| offset.unsigned_abs() > tail),
                ..Self::lines(path, -tail.cast_signed(), tail)
            },
            _ => Self::lines(path, offset, limit),
        };
        Self { column, ..lines }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ListArgs {
    /// Directory to list.
    #[serde(default = "here")]
    #[schemars(extend("self_evident" = true))]
    path: String,
    /// Number of entries to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
}

impl From<ListArgs> for list::List {
    fn from(list: ListArgs) -> Self {
        Self { offset: list.offset, ..Self::all(list.path) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GlobArgs {
    /// Glob relative to the workspace, never absolute: "*.md" at its top, "src/**/*.{ts,tsx}" at any depth below src.
    pattern: String,
    /// Number of files to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
}

impl From<GlobArgs> for glob::Glob {
    fn from(glob: GlobArgs) -> Self {
        Self { offset: glob.offset, ..Self::plain(glob.pattern, here()) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GrepArgs {
    /// Regular expression to search each line for.
    #[schemars(extend("self_evident" = true))]
    pattern: String,
    /// File or directory.
    #[serde(default = "here")]
    path: String,
    /// Maximum number of matches, or files, to return.
    #[serde(default = "two_hundred")]
    #[schemars(range(min = 1, max = 100_000))]
    #[schemars(extend("self_evident" = true))]
    max_matches: usize,
    /// Matches, or files, to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
    /// Only these files, such as "*.go".
    glob: Option<String>,
    /// The matching lines, only the files that have any, or these and how many lines match in each.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    output_mode: OutputMode,
    /// Case-insensitive.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    case_insensitive: bool,
    /// Lines before and after each match.
    #[schemars(range(min = 0, max = 100))]
    context: Option<usize>,
}

impl From<GrepArgs> for grep::Grep {
    fn from(grep: GrepArgs) -> Self {
        Self {
            glob: grep.glob,
            output_mode: grep.output_mode,
            case_insensitive: grep.case_insensitive,
            context: grep.context,
            offset: grep.offset,
            ..Self::plain(grep.pattern, grep.path, grep.max_matches)
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct BashArgs {
    /// The command, as for `bash -c`; may have several lines. Processes that are still running when it ends are killed.
    #[schemars(extend("self_evident" = true))]
    command: String,
    /// What the command is for, in a few words; shown when a person is asked for approval.
    #[schemars(extend("unlisted" = true))]
    description: Option<String>,
}

impl From<BashArgs> for Shell {
    fn from(bash: BashArgs) -> Self {
        let BashArgs { command, description } = bash;
        Self {
            command,
            timeout: None,
            cwd: None,
            env: None,
            stdin: None,
            run_in_background: false,
            strip_ansi: false,
            description,
            has_fixed_time: true,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct AskArgs {
    /// The questions, one to four.
    #[schemars(length(min = 1, max = 4))]
    #[schemars(extend("self_evident" = true))]
    questions: Vec<QuestionArgs>,
}

#[derive(Deserialize, JsonSchema)]
struct QuestionArgs {
    /// The question, a full sentence.
    #[schemars(extend("self_evident" = true))]
    question: String,
    /// 2 to 4, the recommended one first; none for free text.
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
    #[schemars(extend("self_evident" = true))]
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
    #[schemars(extend("self_evident" = true))]
    path: String,
    /// 1-based.
    #[schemars(range(min = 1))]
    line: u64,
    /// 1-based, anywhere in the symbol's name.
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
