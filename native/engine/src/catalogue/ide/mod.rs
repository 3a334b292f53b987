//! The dialect `ide`: the five tools of an assistant in an editor.
//!
//! Rejects paths with a `..` component, and files over 10 MiB.

mod arguments;
mod listing;
mod results;

use super::registry_of;
use super::shapes::{Matches, Succeeded};
use beamai_files::{FileRead, FileWrite, FileWriteOutput};
use beamai_port_tools::lsp::LspDiagnostics;
use beamai_search::grep::Grep;
use beamai_tool::{ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    registry_of(vec![
        Arc::new(ToolBinding::<FileRead, arguments::ReadFile, results::ReadResult>::new(
            "read_file",
            "Read the complete content of a file from disk, or some lines of it: text in any encoding up to 10 MiB, or an \
             image. Use search_code to find text in large files.",
        )),
        Arc::new(ToolBinding::<FileWrite, arguments::WriteFile, Succeeded<FileWriteOutput>>::new(
            "write_file",
            "Write content to a file, replacing all of it, or with old_string only that text. Creates missing \
             directories.",
        )),
        Arc::new(ToolBinding::<listing::FileListing, arguments::ListFiles>::new(
            "list_files",
            "List the files and directories in a directory, or the files below it that match a pattern. Skips hidden \
             and .gitignored ones. Use search_code to search contents.",
        )),
        Arc::new(ToolBinding::<Grep, arguments::SearchCode, Matches>::new(
            "search_code",
            "Search code in the codebase for text or a regular expression (Rust syntax: no look-around). Skips \
             binary, hidden and .gitignored files. Use list_files to find files by name.",
        )),
        Arc::new(ToolBinding::<LspDiagnostics, arguments::GetDiagnostics>::new(
            "get_diagnostics",
            "Get errors and warnings of a file, or of all files that the running language servers know. It does not \
             run tests.",
        )),
    ])
}
