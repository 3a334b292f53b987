//! The dialect `beamai`.

use super::{git, registry_of};
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
    skill::Skill,
    task::SubAgentTask,
    todo::{TodoAdd, TodoList, TodoUpdate},
};
use beamai_tool::{Tool, ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(ToolBinding::<FileRead>::new(
            "file_read",
            "Read lines of a text file in any encoding, or an image. Says where the file goes on if not all of it is \
             shown.",
        )),
        Arc::new(ToolBinding::<FileWrite>::new(
            "file_write",
            "Write a whole file, or append to it. The file changes at once or not at all; missing directories are made. \
             To change a part of a file, use file_edit.",
        )),
        Arc::new(ToolBinding::<FileEdit>::new(
            "file_edit",
            "Replace an exact piece of text in a file; answers with a diff. The text must occur exactly once, unless \
             replace_all is set. Encoding, line ends, mode and everything else of the file stay as they are.",
        )),
        Arc::new(ToolBinding::<FilePatch>::new(
            "file_patch",
            "Apply a unified diff to one or more files: change, create, delete, rename, copy them, set the executable \
             bit. All of it happens or nothing; the answer tells for every hunk where it applies. Lines must match \
             exactly, but may have moved; a place that is not certain is refused. Directories that are left empty go.",
        )),
        Arc::new(ToolBinding::<TodoAdd>::new(
            "todo_add",
            "Add a task to the session's list. Keep a list for work of several steps, and keep it true.",
        )),
        Arc::new(ToolBinding::<TodoList>::new("todo_list", "List the session's tasks.")),
        Arc::new(ToolBinding::<TodoUpdate>::new(
            "todo_update",
            "Change a task of the session's list: its status, its words, or remove it.",
        )),
        Arc::new(ToolBinding::<AskQuestions>::new(
            "human_input",
            "Ask the user questions when a decision is theirs to make. Each has two to four options, the recommended \
             one first, or none for free text; the user can always answer something else.",
        )),
        Arc::new(ToolBinding::<Skill>::new(
            "skill",
            "List the skills, or load one. A skill is a set of instructions for a kind of work; load the one that fits \
             before you begin.",
        )),
        Arc::new(ToolBinding::<SubAgentTask>::new("task", super::TASK)),
        Arc::new(ToolBinding::<Shell>::new(
            "shell_exec",
            "Runs a shell command with bash in the workspace and returns its exit code, standard output and standard \
             error. A command that outlasts its timeout is killed with everything that it started. Long output is given \
             by beginning and end, and whole in output_file. For reading, searching and editing files, the file tools \
             are better.",
        )),
        Arc::new(ToolBinding::<ShellPoll>::new(
            "shell_output",
            "Tells how far a command is that shell_exec started in the background: its status, its exit code once it \
             has ended, and what it has written since the last call.",
        )),
        Arc::new(ToolBinding::<ShellKill>::new(
            "shell_kill",
            "Kills a command that shell_exec started in the background, with everything that it started, and returns \
             what it had written since the last call.",
        )),
        Arc::new(ToolBinding::<List>::new(
            "file_list",
            "Lists what is in a directory: name, path, type and size of each entry. Use depth to list the \
             directories in it too.",
        )),
        Arc::new(ToolBinding::<Glob>::new(
            "file_glob",
            "Finds files by a pattern of their path, such as \"**/*.rs\" or \"src/*/mod.{rs,toml}\". Leaves out \
             hidden files and what .gitignore leaves out, and says how many. Use file_grep to search in files.",
        )),
        Arc::new(ToolBinding::<Grep>::new(
            "file_grep",
            "Searches the contents of files for a regular expression and returns the matching lines, or only the \
             files (output_mode). Filter with path, glob or type. Totals are exact; limit and offset page through \
             the matches. Leaves out hidden and binary files and what .gitignore leaves out, and says how many.",
        )),
        Arc::new(ToolBinding::<Lsp>::new(
            "lsp",
            "Asks a language server about code: where a name is defined, used or implemented, its type and \
             documentation, the symbols of a file or of the workspace, who calls a function and what it calls. \
             Follows the language's rules where a search by text would guess.",
        )),
        Arc::new(ToolBinding::<LspDiagnostics>::new(
            "lsp_diagnostics",
            "Errors and warnings that a language server finds in a file as it is now; without a path, those of \
             every file that the running servers know. Ask after edits.",
        )),
        Arc::new(ToolBinding::<WebFetch>::new(
            "web_fetch",
            "Fetches a resource over http or https. A page of HTML comes back as readable Markdown, other text as it \
             is, an image in base64. Redirects are followed and reported; an error of the server, such as 404, is a \
             result with its status_code. Only public addresses are reached unless the host allows others.",
        )),
        Arc::new(ToolBinding::<WebSearch>::new(
            "web_search",
            "Searches the web and returns titles, addresses and snippets, best first. Read a result with web_fetch.",
        )),
    ];
    tools.extend(git::tools());
    registry_of(tools)
}
