//! The dialect `microai`: eleven tools with the canonical names, in three levels, and two helpers of `Bash`.

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
use beamai_session::{
    question::AskQuestions,
    todo::{TodoOutput, TodoReplace},
};
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
            "Reads a file and returns its lines, each with its number in front. Text in any encoding; an image comes \
             back in base64. A long file is read in parts, with offset and limit.",
        )),
        Arc::new(ToolBinding::<FileWrite, arguments::WriteArgs, Succeeded<FileWriteOutput>>::new(
            "Write",
            "Creates a file, or replaces all that is in it. The file changes at once or not at all; missing \
             directories are made. To change a part of a file, use Edit.",
        )),
        Arc::new(ToolBinding::<FileEdit, arguments::EditArgs, Succeeded<FileEditOutput>>::new(
            "Edit",
            "Replaces an exact piece of text in a file. The text must occur exactly once, unless replace_all is set. \
             Everything else in the file stays as it is.",
        )),
        Arc::new(ToolBinding::<Glob, arguments::GlobArgs>::new(
            "Glob",
            "Finds files by a pattern of their path, such as \"**/*.go\". Leaves out hidden files and what .gitignore \
             leaves out, and says how many.",
        )),
        Arc::new(ToolBinding::<Grep, arguments::GrepArgs, results::GrepResult>::new(
            "Grep",
            "Searches the contents of files for a regular expression. Leaves out hidden and binary files and what \
             .gitignore leaves out, and says how many.",
        )),
        Arc::new(
            ToolBinding::<Shell>::new(
                "Bash",
                "Runs a shell command with bash in the workspace and returns its standard output, standard error and \
                 exit code. A command that outlasts its timeout is killed with everything that it started.",
            )
            .only(&["command", "timeout", "cwd", "run_in_background"])
            .described(
                "run_in_background",
                "Whether it runs in the background: the answer comes at once with an id, and BashOutput and KillShell \
                 take that. It ends with the session at the latest. For servers, watchers and long builds.",
            ),
        ),
        Arc::new(ToolBinding::<AskQuestions, arguments::AskUserQuestionArgs>::new(
            "AskUserQuestion",
            "Asks the user when a decision is theirs to make. The user can always answer something else than the \
             options.",
        )),
    ]
}

/// Level 2.
fn standard() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<TodoReplace, arguments::TodoWriteArgs, Succeeded<TodoOutput>>::new(
            "TodoWrite",
            "Writes the whole list of tasks. Keep a list for work of several steps, and keep it true.",
        )),
        Arc::new(ToolBinding::<Lsp, arguments::LspArgs>::new(
            "LSP",
            "Asks a language server about code: where a name is defined, used or implemented, its type and \
             documentation, the symbols of a file or of the workspace, who calls a function and what it calls.",
        )),
    ]
}

/// Level 3.
fn extended() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ToolBinding::<WebFetch, arguments::WebFetchArgs>::new(
            "WebFetch",
            "Fetches a page and returns what the prompt asks for. Only public addresses are reached unless the host \
             allows others.",
        )),
        Arc::new(
            ToolBinding::<WebSearch>::new(
                "WebSearch",
                "Searches the web and returns titles, addresses and snippets, best first. Read a result with WebFetch.",
            )
            .only(&["query", "allowed_domains", "blocked_domains"]),
        ),
    ]
}

/// What commands in the background need.
fn background() -> Vec<Arc<dyn Tool>> {
    let id = "The id that Bash gave for the command.";
    vec![
        Arc::new(
            ToolBinding::<ShellPoll>::new(
                "BashOutput",
                "Tells how far a command is that Bash started in the background: its status, its exit code once it has \
                 ended, and what it has written since the last call.",
            )
            .described("id", id),
        ),
        Arc::new(
            ToolBinding::<ShellKill>::new(
                "KillShell",
                "Kills a command that Bash started in the background, with everything that it started, and returns what \
                 it had written since the last call.",
            )
            .described("id", id),
        ),
    ]
}
