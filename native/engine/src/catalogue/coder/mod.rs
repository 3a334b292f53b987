//! The dialect `coder`: the twenty-two tools of a coding agent.

mod arguments;
mod results;

use super::shapes::Matches;
use super::{git, registry_of, session};
use beamai_files::{FileEdit, FileRead, FileWrite};
use beamai_patch::FilePatch;
use beamai_port_tools::{
    lsp::{Lsp, LspDiagnostics},
    shell::Shell,
    web::fetch::WebFetch,
};
use beamai_search::{glob::Glob, grep::Grep, list::List};
use beamai_session::{
    question::AskQuestions,
    todo::{TodoList, TodoReplace},
};
use beamai_tool::{Tool, ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    registry_of([files(), work(), servers(), git::tools()].into_iter().flatten().collect())
}

/// File tools.
fn files() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<FileRead, arguments::ReadArgs>::new(
            "read",
            "Read lines of a text file in any encoding, or an image; not other binary files. Use list for \
             directories, grep to search.",
        )),
        Arc::new(ToolBinding::<List, arguments::ListArgs>::new(
            "list",
            "List a directory. Use glob to find files by pattern.",
        )),
        Arc::new(ToolBinding::<Glob, arguments::GlobArgs, results::GlobResult>::new(
            "glob",
            "Find files by path pattern. Skips hidden and .gitignored files. Use grep to search contents.",
        )),
        Arc::new(ToolBinding::<Grep, arguments::GrepArgs, Matches>::new(
            "grep",
            "Search file contents with a regular expression (Rust syntax: no look-around, no backreferences). Skips \
             binary, hidden and .gitignored files. Use glob to find files by name.",
        )),
        Arc::new(
            ToolBinding::<FileWrite>::new(
                "write",
                "Create or overwrite a file. Creates missing directories. Use edit to change part of \
                 a file.",
            )
            .only(&["path", "content"]),
        ),
        Arc::new(
            ToolBinding::<FileEdit>::new(
                "edit",
                "Replace exact text in a file; returns a diff. old_string must occur exactly once unless replace_all \
                 is set. No regular expressions. Use patch for several places or files.",
            )
            .only(&["path", "old_string", "new_string", "replace_all"]),
        ),
        Arc::new(ToolBinding::<FilePatch>::new(
            "patch",
            "Apply a unified diff, or a patch between *** Begin Patch and *** End Patch, to one or more files: \
             update, create, delete, rename. All or nothing. Context must match exactly; line numbers may be off. Use \
             edit for a small change.",
        )),
    ]
}

/// Commands, tasks, questions, the web.
fn work() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(
            ToolBinding::<Shell, arguments::BashArgs>::new(
                "bash",
                "Run a bash command in the workspace, for up to 2 minutes. Usually sandboxed: no network, and only \
                 the workspace and /tmp are writable. No terminal. Use the other tools to read, search and edit files.",
            ),
        ),
        Arc::new(ToolBinding::<TodoList>::new(
            "todoread",
            "Return the session's task list.",
        ).only(&[])),
        Arc::new(ToolBinding::<TodoReplace>::new(
            "todowrite",
            "Replace the session's whole task list. Each task has content, status (pending, in_progress or completed; at \
             most one in_progress) and, if you like, active_form. Use it for work of several steps.",
        )),
        session::skill(),
        session::task(),
        Arc::new(ToolBinding::<AskQuestions, arguments::AskArgs>::new(
            "question",
            "Ask the user when a decision is theirs, the recommended option first. They can always answer in their \
             own words. Not for permission to call tools.",
        )),
        Arc::new(
            ToolBinding::<WebFetch, WebFetch, results::FetchResult>::new(
                "fetch",
                "Fetch an http(s) URL: HTML as Markdown, other text as is, images. Runs no JavaScript and reaches \
                 public addresses only. It cannot search the web.",
            )
            .only(&["url", "method", "headers", "body", "timeout_sec", "max_size_kb", "offset", "auth", "as", "verify_tls"]),
        ),
    ]
}

/// Language server tools.
fn servers() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<LspDiagnostics, arguments::DiagnoseArgs>::new(
            "lsp_diagnostics",
            "Errors and warnings of a language server for a file. Run it after edits; it does not run tests.",
        )),
        Arc::new(ToolBinding::<Lsp, arguments::DefineArgs, results::DefinitionResult>::new(
            "lsp_definition",
            "Where the symbol at a position is defined. More exact than grep; needs a language server for the file.",
        )),
        Arc::new(ToolBinding::<Lsp, arguments::HoverArgs, results::HoverResult>::new(
            "lsp_hover",
            "Type and documentation of the symbol at a position. Needs a language server for the file; otherwise use \
             read.",
        )),
    ]
}
