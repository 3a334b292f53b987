//! What the tools of the dialect take.

use beamai_files::{FileEdit, FileRead, FileWrite};
use beamai_port_tools::{
    lsp::{self, LspOperation},
    web,
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

/// Most matches of a search.
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
    /// Absolute path of the file; a relative one is taken from the workspace.
    file_path: String,
    /// Number of the first line to read, counted from 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    offset: i64,
    /// Maximum number of lines to read.
    #[serde(default = "lines")]
    #[schemars(range(min = 1))]
    limit: u64,
}

impl From<ReadArgs> for FileRead {
    fn from(read: ReadArgs) -> Self {
        Self::lines(read.file_path, read.offset, read.limit)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct WriteArgs {
    /// Absolute path of the file; a relative one is taken from the workspace.
    file_path: String,
    /// The text. It replaces the whole file.
    content: String,
}

impl From<WriteArgs> for FileWrite {
    fn from(write: WriteArgs) -> Self {
        Self::whole(write.file_path, write.content)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct EditArgs {
    /// Absolute path of the file; a relative one is taken from the workspace.
    file_path: String,
    /// The text to replace, exactly as it is in the file, with indentation and without line numbers. It must occur
    /// once, unless replace_all is set: take in as many lines around it as that needs.
    old_string: String,
    /// The replacement. If empty, the old text is deleted.
    new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    replace_all: bool,
}

impl From<EditArgs> for FileEdit {
    fn from(edit: EditArgs) -> Self {
        let EditArgs { file_path, old_string, new_string, replace_all } = edit;
        Self { path: file_path, old_string, new_string, replace_all, expected_hash: None }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GlobArgs {
    /// Glob pattern, matched against the path relative to `path`: "*.md" finds files in the directory itself,
    /// "**/*.md" at any depth.
    pattern: String,
    /// Directory to search in.
    #[serde(default = "here")]
    path: String,
}

impl From<GlobArgs> for glob::Glob {
    fn from(glob: GlobArgs) -> Self {
        Self::plain(glob.pattern, glob.path)
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct GrepArgs {
    /// Regular expression to search each line for.
    pattern: String,
    /// Directory or file to search.
    #[serde(default = "here")]
    path: String,
    /// Only search files whose path matches this glob, such as "*.go".
    glob: Option<String>,
    /// content: the matching lines; files_with_matches: only the files that have any; count: these files and how many
    /// lines match in each.
    #[serde(default)]
    output_mode: OutputMode,
    /// Case-insensitive.
    #[serde(default, rename = "-i")]
    case_insensitive: bool,
    /// Include line numbers in the matches.
    #[serde(default = "yes", rename = "-n")]
    numbered: bool,
    /// Lines to show after each match.
    #[serde(rename = "-A")]
    #[schemars(range(min = 0, max = 100))]
    after: Option<usize>,
    /// Lines to show before each match.
    #[serde(rename = "-B")]
    #[schemars(range(min = 0, max = 100))]
    before: Option<usize>,
    /// Lines to show before and after each match, where `-A` or `-B` is not given.
    #[serde(rename = "-C")]
    #[schemars(range(min = 0, max = 100))]
    context: Option<usize>,
}

impl From<GrepArgs> for grep::Grep {
    fn from(grep: GrepArgs) -> Self {
        let GrepArgs { pattern, path, glob, output_mode, case_insensitive, numbered, after, before, context } =
            grep;
        let unnumbered = !numbered;
        Self {
            glob,
            output_mode,
            case_insensitive,
            unnumbered,
            after,
            before,
            context,
            ..Self::plain(pattern, path, MATCHES)
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct AskUserQuestionArgs {
    /// The questions, put one after the other.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<QuestionArgs>,
}

#[derive(Deserialize, JsonSchema)]
struct QuestionArgs {
    /// The question, a full sentence.
    question: String,
    /// Short label, 12 characters at most.
    header: String,
    /// The options, the recommended one first.
    #[schemars(length(min = 2, max = 4))]
    options: Vec<Choice>,
    /// Whether several options can be chosen.
    #[serde(default, rename = "multiSelect")]
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
    /// All tasks, in order. Tasks that are left out are deleted.
    todos: Vec<TodoArgs>,
}

#[derive(Deserialize, JsonSchema)]
struct TodoArgs {
    /// What is to be done, as an instruction, such as "Add unit tests".
    content: String,
    /// Status. At most one task can be in progress.
    status: TodoStatus,
    /// The same in the present continuous, such as "Adding unit tests".
    #[serde(rename = "activeForm")]
    active_form: String,
}

impl From<TodoWriteArgs> for TodoReplace {
    fn from(written: TodoWriteArgs) -> Self {
        let todos = written.todos.into_iter().map(|todo| NewTodo {
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
    /// What to ask: "goToDefinition", "findReferences", "hover", "goToImplementation", "prepareCallHierarchy",
    /// "incomingCalls" and "outgoingCalls" are about the symbol at line and character; "documentSymbol" lists the
    /// symbols of the file; "workspaceSymbol" finds symbols of the whole workspace by name.
    operation: LspOperation,
    /// The file that the symbol is in. For "workspaceSymbol" any file of the language.
    file_path: String,
    /// Line of the symbol, counted from 1. Not needed by "documentSymbol" and "workspaceSymbol".
    #[schemars(range(min = 1))]
    line: Option<u64>,
    /// Any character of the symbol's name in that line, counted from 1. Needed with line.
    #[schemars(range(min = 1))]
    character: Option<u64>,
    /// Name, or part of it, that "workspaceSymbol" looks for; the word at line and character when absent.
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
    /// Full address of the page: http:// or https://.
    url: String,
    /// What to extract from the page, such as "the section about error handling".
    prompt: String,
}

impl From<WebFetchArgs> for web::fetch::WebFetch {
    fn from(fetch: WebFetchArgs) -> Self {
        Self::page(fetch.url, fetch.prompt)
    }
}
