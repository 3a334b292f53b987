//! The dialect `microai`: eleven tools with canonical names, in three levels, and two tools for background commands.

mod arguments;
mod results;

use super::registry_of;
use super::shapes::Succeeded;
use beamai_files::{FileEdit, FileEditOutput, FileRead, FileWrite, FileWriteOutput};
use beamai_port_tools::{
    lsp::Lsp,
    shell::{Shell, ShellKill, ShellPoll},
    web::{fetch::WebFetch, search::WebSearch},
};
use beamai_search::{glob::Glob, grep::Grep};
use beamai_session::{question::AskQuestions, todo::TodoReplace};
use beamai_tool::{Tool, ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    registry_of([required(), standard(), extended(), background()].into_iter().flatten().collect())
}

/// Level 1.
fn required() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<FileRead, arguments::ReadArgs, results::ReadResult>::new(
            "Read",
            "Read a text file with line numbers, or an image. Continue with offset. Cannot read directories or other \
             binary files; use Glob or Grep to find files.",
        )),
        Arc::new(ToolBinding::<FileWrite, arguments::WriteArgs, Succeeded<FileWriteOutput>>::new(
            "Write",
            "Create or overwrite a file. Creates missing directories. Use Edit to change part of a file.",
        )),
        Arc::new(ToolBinding::<FileEdit, arguments::EditArgs, Succeeded<FileEditOutput>>::new(
            "Edit",
            "Replace exact text in a file. old_string must occur exactly once unless replace_all is set. No regular \
             expressions. Use Write for a new file.",
        )),
        Arc::new(ToolBinding::<Glob, arguments::GlobArgs>::new(
            "Glob",
            "Find files by path pattern. Skips hidden and .gitignored files. Use Grep to search contents.",
        )),
        Arc::new(
            ToolBinding::<Grep, arguments::GrepArgs, results::GrepResult>::new(
            "Grep",
            "Search file contents with a regular expression (Rust syntax: no look-around, no backreferences). Skips \
             binary, hidden and .gitignored files. Use Glob to find files by name.",
            ).alias("context", "-C"),
        ),
        Arc::new(
            ToolBinding::<Shell>::new(
                "Bash",
                "Run a bash command in the workspace. Usually sandboxed: no network, and only the workspace and /tmp \
                 are writable. No terminal. Use Read, Grep and Edit for files.",
            )
            .only(&["command", "timeout", "cwd", "run_in_background"])
            .described("run_in_background", "Return at once with an id for BashOutput and KillShell."),
        ),
        Arc::new(ToolBinding::<AskQuestions, arguments::AskUserQuestionArgs>::new(
            "AskUserQuestion",
            "Ask the user when a decision is theirs. They can always answer in their own words. Not for permission to \
             call tools.",
        )),
    ]
}

/// Level 2.
fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<TodoReplace, arguments::TodoWriteArgs, results::TodoResult>::new(
            "TodoWrite",
            "Replace the session's whole task list. Use it for work of several steps; at most one task can be in_progress.",
        )),
        Arc::new(
            ToolBinding::<Lsp, arguments::LspArgs>::new(
                "LSP",
                "Query a language server: definition, references, implementations, type and documentation, symbols, \
                 callers and callees. More exact than Grep; needs a server for the language.",
            )
            .alias("file_path", "filePath"),
        ),
    ]
}

/// Level 3.
fn extended() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<WebFetch, arguments::WebFetchArgs>::new(
            "WebFetch",
            "Fetch an http(s) page and return what the prompt asks for. Runs no JavaScript and reaches public \
             addresses only.",
        )),
        Arc::new(
            ToolBinding::<WebSearch>::new(
                "WebSearch",
                "Search the web: titles, URLs and snippets. Read a result with WebFetch.",
            )
            .only(&["query", "allowed_domains", "blocked_domains"]),
        ),
    ]
}

/// Tools for background commands.
fn background() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(
            ToolBinding::<ShellPoll>::new("BashOutput", "Status and new output of a background command.")
                .alias("bash_id", "id")
                .alias("shell_id", "id"),
        ),
        Arc::new(
            ToolBinding::<ShellKill>::new(
                "KillShell",
                "Kill a background command with its children; returns its last output.",
            )
            .alias("bash_id", "id")
            .alias("shell_id", "id"),
        ),
    ]
}
