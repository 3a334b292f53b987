//! Arguments of the dialect's tools.

use beamai_files::{FileEdit, FileRead, FileWrite, TextEdit};
use beamai_port_tools::{
    lsp::{self, LspOperation},
    web::{self, fetch::PageFormat},
};
use beamai_search::{
    glob,
    grep::{self, OutputMode},
};
use beamai_session::{
    question,
    todo::{NewTodo, TodoReplace},
};
use beamai_tool::{question::Choice, todo::TodoStatus};
use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum matches of a search.
const MATCHES: usize = 1000;

fn one() -> i64 {
    1
}

fn lines() -> u64 {
    FileRead::LIMIT
}

fn here() -> String {
    ".".to_owned()
}

fn yes() -> bool {
    true
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReadArgs {
    /// Absolute or relative.
    file_path: String,
    /// First line, 1-based.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    offset: i64,
    /// Maximum number of lines to read.
    #[serde(default = "lines")]
    #[schemars(range(min = 1))]
    #[schemars(extend("self_evident" = true))]
    limit: u64,
    /// First character of the first line, for very long lines.
    #[schemars(range(min = 1), extend("self_evident" = true))]
    column: Option<u64>,
}

impl From<ReadArgs> for FileRead {
    fn from(read: ReadArgs) -> Self {
        let ReadArgs { file_path, offset, limit, column } = read;
        Self { column, ..Self::lines(file_path, offset, limit) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteArgs {
    /// Absolute or relative.
    file_path: String,
    /// The text. It replaces the whole file.
    #[schemars(extend("self_evident" = true))]
    content: String,
}

impl From<WriteArgs> for FileWrite {
    fn from(write: WriteArgs) -> Self {
        Self::whole(write.file_path, write.content)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct EditArgs {
    /// Absolute or relative.
    file_path: String,
    /// Copied exactly, with indentation and without line numbers.
    old_string: String,
    /// The replacement. If empty, the old text is deleted.
    #[schemars(extend("self_evident" = true))]
    new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    replace_all: bool,
    /// Further edits of the original text; all or none.
    #[serde(default)]
    edits: Vec<TextEdit>,
}

impl From<EditArgs> for FileEdit {
    fn from(edit: EditArgs) -> Self {
        let EditArgs { file_path, old_string, new_string, replace_all, edits } = edit;
        let (path, expected_hash, is_write) = (file_path, None, false);
        Self { path, old_string, new_string, replace_all, expected_hash, edits, is_write }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GlobArgs {
    /// Relative to path: "*.md" in the directory itself, "**/*.md" at any depth.
    pattern: String,
    /// Directory to search in.
    #[serde(default = "here")]
    #[schemars(extend("self_evident" = true))]
    path: String,
    /// Number of files to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
}

impl From<GlobArgs> for glob::Glob {
    fn from(glob: GlobArgs) -> Self {
        Self { offset: glob.offset, ..Self::plain(glob.pattern, glob.path) }
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
    /// Only these files, such as "*.go".
    glob: Option<String>,
    /// The matching lines, only the files that have any, or these and how many lines match in each.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    output_mode: OutputMode,
    /// Case-insensitive.
    #[serde(default, rename = "-i")]
    case_insensitive: bool,
    /// Line numbers.
    #[serde(default = "yes", rename = "-n")]
    numbered: bool,
    /// Lines after each match.
    #[serde(rename = "-A")]
    #[schemars(range(min = 0, max = 100))]
    after: Option<usize>,
    /// Lines before each match.
    #[serde(rename = "-B")]
    #[schemars(range(min = 0, max = 100))]
    before: Option<usize>,
    /// Lines of context.
    #[serde(rename = "-C")]
    #[schemars(range(min = 0, max = 100))]
    context: Option<usize>,
    /// ripgrep file type, such as rust or py.
    #[serde(rename = "type")]
    #[schemars(extend("unlisted" = true))]
    file_type: Option<String>,
    /// Maximum number of matches, or files; 0 for as many as there may be.
    #[schemars(extend("unlisted" = true))]
    head_limit: Option<usize>,
    /// Matches, or files, to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    offset: usize,
    /// Matches may span lines, and `.` matches line ends.
    #[serde(default)]
    #[schemars(extend("unlisted" = true))]
    multiline: bool,
}

impl From<GrepArgs> for grep::Grep {
    fn from(grep: GrepArgs) -> Self {
        let limit = grep.head_limit.filter(|limit| *limit > 0).unwrap_or(MATCHES);
        Self {
            glob: grep.glob,
            file_type: grep.file_type,
            output_mode: grep.output_mode,
            case_insensitive: grep.case_insensitive,
            multiline: grep.multiline,
            unnumbered: !grep.numbered,
            after: grep.after,
            before: grep.before,
            context: grep.context,
            offset: grep.offset,
            ..Self::plain(grep.pattern, grep.path, limit)
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct AskUserQuestionArgs {
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
    /// Short label, at most 12 characters.
    header: String,
    /// The recommended one first.
    #[schemars(length(min = 2, max = 4))]
    options: Vec<Choice>,
    /// Whether several options can be chosen.
    #[serde(default, rename = "multiSelect")]
    #[schemars(extend("self_evident" = true))]
    multi_select: bool,
}

impl From<AskUserQuestionArgs> for question::AskQuestions {
    fn from(asked: AskUserQuestionArgs) -> Self {
        let questions = asked.questions.into_iter().map(|asked| {
            let QuestionArgs { question, header, options, multi_select } = asked;
            question::Question { question, header: Some(header), options, multi_select }
        });
        Self { questions: questions.collect(), recommends: false }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct TodoWriteArgs {
    /// All tasks in order; those left out are deleted.
    todos: Vec<TodoArgs>,
}

#[derive(Deserialize, JsonSchema)]
struct TodoArgs {
    /// What an earlier result gave it.
    #[schemars(extend("unlisted" = true))]
    id: Option<u64>,
    /// Imperative: "Add tests".
    content: String,
    /// Status. At most one task can be in progress.
    #[schemars(extend("self_evident" = true))]
    status: TodoStatus,
    /// Present continuous: "Adding tests".
    #[serde(rename = "activeForm")]
    active_form: String,
}

impl From<TodoWriteArgs> for TodoReplace {
    fn from(written: TodoWriteArgs) -> Self {
        let todos = written.todos.into_iter().map(|todo| NewTodo {
            id: todo.id,
            content: todo.content,
            status: todo.status,
            active_form: Some(todo.active_form),
        });
        Self { todos: todos.collect() }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LspArgs {
    /// What to ask.
    #[schemars(extend("self_evident" = true))]
    operation: LspOperation,
    /// The file that the symbol is in; for workspaceSymbol any file of the language.
    #[schemars(extend("self_evident" = true))]
    file_path: String,
    /// 1-based; not for documentSymbol and workspaceSymbol.
    #[schemars(range(min = 1))]
    line: Option<u64>,
    /// 1-based, anywhere in the symbol's name.
    #[schemars(range(min = 1))]
    character: Option<u64>,
    /// Symbol name for workspaceSymbol.
    query: Option<String>,
}

impl From<LspArgs> for lsp::Lsp {
    fn from(asked: LspArgs) -> Self {
        let LspArgs { operation, file_path, line, character, query } = asked;
        Self { operation, path: file_path, line, character, query }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct WebFetchArgs {
    /// Address of the page: http:// or https://.
    #[schemars(extend("self_evident" = true))]
    url: String,
    /// What to extract from the page.
    prompt: String,
    /// Number of characters of the text to skip. With it, the text itself is returned and a prompt is ignored.
    #[schemars(extend("self_evident" = true))]
    offset: Option<usize>,
    /// The format of an HTML page: Markdown, or its source.
    #[serde(default, rename = "as")]
    #[schemars(extend("unlisted" = true))]
    format: PageFormat,
}

impl From<WebFetchArgs> for web::fetch::WebFetch {
    fn from(fetch: WebFetchArgs) -> Self {
        let WebFetchArgs { url, prompt, offset, format } = fetch;
        Self { offset, format, ..Self::page(url, prompt) }
    }
}
