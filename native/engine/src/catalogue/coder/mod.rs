//! The dialect `coder`: the twenty-two tools of a coding agent.

mod arguments;
mod results;

use super::shapes::Matches;
use super::{git, registry_of};
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
    skill::Skill,
    task::SubAgentTask,
    todo::{TodoList, TodoReplace},
};
use beamai_tool::{Tool, ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    registry_of([files(), work(), servers(), git::tools()].into_iter().flatten().collect())
}

/// Files.
fn files() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<FileRead, arguments::ReadArgs>::new(
            "read",
            "Reads lines of a text file in any encoding, or an image. 50 lines unless limit asks for more; the result \
             says with which offset to read on.",
        )),
        Arc::new(ToolBinding::<List, arguments::ListArgs>::new(
            "list",
            "Lists what is in a directory: name, path, type and size of each entry.",
        )),
        Arc::new(ToolBinding::<Glob, arguments::GlobArgs, results::GlobResult>::new(
            "glob",
            "Finds files of the workspace by a pattern of their path, such as \"**/*.rs\". Leaves out hidden files and \
             what .gitignore leaves out, and says how many. Use grep to search in files.",
        )),
        Arc::new(ToolBinding::<Grep, arguments::GrepArgs, Matches>::new(
            "grep",
            "Searches the contents of files for a regular expression and returns the matching lines. Leaves out hidden \
             and binary files and what .gitignore leaves out, and says how many.",
        )),
        Arc::new(
            ToolBinding::<FileWrite>::new(
                "write",
                "Writes a whole file. The file changes at once or not at all; missing directories are made. To change a \
                 part of a file, use edit.",
            )
            .only(&["path", "content"]),
        ),
        Arc::new(
            ToolBinding::<FileEdit>::new(
                "edit",
                "Replaces an exact piece of text in a file; answers with a diff. The text must occur exactly once, unless \
                 replace_all is set. Everything else in the file stays as it is.",
            )
            .only(&["path", "old_string", "new_string", "replace_all"]),
        ),
        Arc::new(ToolBinding::<FilePatch>::new(
            "patch",
            "Applies a unified diff to one or more files: change, create, delete, rename them. All of it happens or \
             nothing; the answer tells for every hunk where it applies.",
        )),
    ]
}

/// Commands, tasks, questions, the web.
fn work() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(
            ToolBinding::<Shell>::new(
                "bash",
                "Runs a shell command with bash in the workspace and returns its exit code, standard output and standard \
                 error. A command that has not ended after two minutes is killed with everything that it started. For \
                 reading, searching and editing files, the other tools are better.",
            )
            .only(&["command"])
            .described(
                "command",
                "The command, as for `bash -c`. It may have several lines. Whatever it leaves running when it ends is \
                 killed.",
            ),
        ),
        Arc::new(ToolBinding::<TodoList>::new("todoread", "Returns the session's list of tasks.").only(&[])),
        Arc::new(ToolBinding::<TodoReplace>::new(
            "todowrite",
            "Writes the session's whole list of tasks and returns it. Keep a list for work of several steps, and keep \
             it true: at most one task is in progress.",
        )),
        Arc::new(ToolBinding::<Skill>::new(
            "skill",
            "Lists the skills, or loads one. A skill is a set of instructions for a kind of work; load the one that fits \
             before you begin.",
        )),
        Arc::new(ToolBinding::<SubAgentTask>::new("task", super::TASK)),
        Arc::new(ToolBinding::<AskQuestions, arguments::AskArgs>::new(
            "question",
            "Asks the user questions when a decision is theirs to make, the recommended option first. The user can \
             always answer something else.",
        )),
        Arc::new(
            ToolBinding::<WebFetch, WebFetch, results::FetchResult>::new(
                "fetch",
                "Fetches a resource over http or https. A page of HTML comes back as readable Markdown, other text as it \
                 is, an image in base64. Redirects are followed and reported; an error of the server, such as 404, is a \
                 result with its status_code.",
            )
            .only(&["url", "method", "headers", "body", "timeout_sec", "max_size_kb", "auth", "verify_tls"]),
        ),
    ]
}

/// Language servers.
fn servers() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<LspDiagnostics, arguments::DiagnoseArgs>::new(
            "lsp_diagnostics",
            "Errors and warnings that a language server finds in a file as it is now. Ask after edits.",
        )),
        Arc::new(ToolBinding::<Lsp, arguments::DefineArgs, results::DefinitionResult>::new(
            "lsp_definition",
            "Where the symbol at a position of a file is defined, as its language server knows it.",
        )),
        Arc::new(ToolBinding::<Lsp, arguments::HoverArgs, results::HoverResult>::new(
            "lsp_hover",
            "Type and documentation of the symbol at a position of a file, as its language server knows them.",
        )),
    ]
}
