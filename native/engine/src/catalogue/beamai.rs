//! The dialect `beamai`.

use super::{git, registry_of, session};
use beamai_files::{FileEdit, FileRead, FileWrite};
use beamai_patch::FilePatch;
use beamai_port_tools::{
    lsp::{Lsp, LspDiagnostics},
    shell::{Shell, ShellKill, ShellPoll},
    web::{fetch::WebFetch, search::WebSearch},
};
use beamai_search::{glob::Glob, grep::Grep, list::List};
use beamai_session::{
    question::AskQuestions,
    todo::{TodoAdd, TodoList, TodoUpdate},
};
use beamai_tool::{Tool, ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(ToolBinding::<FileRead>::new(
            "file_read",
            "Read lines of a text file in any encoding, or an image; not other binary files. Use file_list for \
             directories, file_grep to search.",
        )),
        Arc::new(ToolBinding::<FileWrite>::new(
            "file_write",
            "Create or overwrite a file, or append to it. Creates missing directories. Use file_edit to change part \
             of a file.",
        )),
        Arc::new(
            ToolBinding::<FileEdit>::new(
                "file_edit",
                "Replace exact text in a file; returns a diff. old_string must occur exactly once unless replace_all \
                 is set. No regular expressions. Use file_patch for several places or files.",
            )
            .only(&["path", "old_string", "new_string", "replace_all", "expected_hash"]),
        ),
        Arc::new(ToolBinding::<FilePatch>::new(
            "file_patch",
            "Apply a unified diff, or a patch between *** Begin Patch and *** End Patch, to one or more files: \
             update, create, delete, rename. All or nothing. Context must match exactly; line numbers may be off. Use \
             file_edit for a small change.",
        )),
        Arc::new(ToolBinding::<TodoAdd>::new(
            "todo_add",
            "Add a task to the session's list. Use it for work of several steps; change tasks with todo_update.",
        )),
        Arc::new(ToolBinding::<TodoList>::new("todo_list", "List the session's tasks.")),
        Arc::new(ToolBinding::<TodoUpdate>::new(
            "todo_update",
            "Change or remove a task. At most one can be in_progress.",
        )),
        Arc::new(ToolBinding::<AskQuestions>::new(
            "human_input",
            "Ask the user when a decision is theirs. They can always answer in their own words. Not for permission to \
             call tools: that is asked automatically.",
        )),
        session::skill(),
        session::task(),
        Arc::new(ToolBinding::<Shell>::new(
            "shell_exec",
            "Run a bash command in the workspace. Usually sandboxed: no network, and only the workspace and /tmp are \
             writable. No terminal. Use the file tools to read, search and edit files.",
        )),
        Arc::new(ToolBinding::<ShellPoll>::new(
            "shell_output",
            "Status and new output of a background command.",
        )),
        Arc::new(ToolBinding::<ShellKill>::new(
            "shell_kill",
            "Kill a background command and all that it started; returns its last output.",
        )),
        Arc::new(ToolBinding::<List>::new(
            "file_list",
            "List a directory. Use file_glob to find files by pattern.",
        )),
        Arc::new(ToolBinding::<Glob>::new(
            "file_glob",
            "Find files by path pattern. Skips hidden and .gitignored files unless asked. Use file_grep to search contents.",
        )),
        Arc::new(ToolBinding::<Grep>::new(
            "file_grep",
            "Search file contents with a regular expression (Rust syntax: no look-around, no backreferences). Skips \
             binary files, and hidden and .gitignored ones unless asked. Use file_glob to find files by name.",
        )),
        Arc::new(ToolBinding::<Lsp>::new(
            "lsp",
            "Query a language server: definition, references, implementations, type and documentation, symbols, \
             callers and callees. More exact than file_grep; needs a server for the language.",
        )),
        Arc::new(ToolBinding::<LspDiagnostics>::new(
            "lsp_diagnostics",
            "Errors and warnings of language servers for a file, or for all files they know. Run it after edits; it \
             does not run tests.",
        )),
        Arc::new(ToolBinding::<WebFetch>::new(
            "web_fetch",
            "Fetch an http(s) URL: HTML as Markdown, other text as is, images. Runs no JavaScript and reaches public \
             addresses only.",
        )),
        Arc::new(ToolBinding::<WebSearch>::new(
            "web_search",
            "Search the web: titles, URLs and snippets. Read a result with web_fetch.",
        )),
    ];
    tools.extend(git::tools());
    registry_of(tools)
}
