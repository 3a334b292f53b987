//! The dialect `ide`: the five tools of an assistant in an editor.
//!
//! It takes no path with a `..` component and no file over ten mebibytes, wherever either may lead.

mod arguments;
mod results;

use super::registry_of;
use super::shapes::{Matches, Succeeded};
use beamai_files::{FileRead, FileWrite, FileWriteOutput};
use beamai_port_tools::lsp::LspDiagnostics;
use beamai_search::{glob::Glob, grep::Grep};
use beamai_tool::{ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    registry_of(vec![
        Arc::new(ToolBinding::<FileRead, arguments::ReadFile, results::ReadResult>::new(
            "read_file",
            "Read the complete content of a file from disk: text in any encoding, or an image in base64.",
        )),
        Arc::new(ToolBinding::<FileWrite, arguments::WriteFile, Succeeded<FileWriteOutput>>::new(
            "write_file",
            "Write content to a file: it becomes the whole file. The file changes at once or not at all; missing \
             directories are made.",
        )),
        Arc::new(ToolBinding::<Glob, arguments::ListFiles>::new(
            "list_files",
            "List files in a directory, or those below it whose path matches a pattern. Leaves out hidden files and \
             what .gitignore leaves out, and says how many.",
        )),
        Arc::new(ToolBinding::<Grep, arguments::SearchCode, Matches>::new(
            "search_code",
            "Search code in the codebase for a text, or for a regular expression, and return the matching lines. Leaves \
             out hidden and binary files and what .gitignore leaves out, and says how many.",
        )),
        Arc::new(ToolBinding::<LspDiagnostics, arguments::GetDiagnostics>::new(
            "get_diagnostics",
            "Get errors and warnings of a file as it is now; without a file, those of every file that the running \
             language servers know.",
        )),
    ])
}
