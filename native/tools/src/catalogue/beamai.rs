//! The dialect `beamai`.

use super::registry_of;
use crate::operation::Face;
use crate::ops::glob::Glob;
use crate::ops::grep::Grep;
use crate::ops::list::List;
use crate::registry::Registry;
use std::sync::Arc;

pub(super) fn registry() -> Registry {
    registry_of(vec![
        Arc::new(Face::<List>::new(
            "file_list",
            "Lists what is in a directory: name, path, type and size of each entry. Use depth to list the \
             directories in it too.",
        )),
        Arc::new(Face::<Glob>::new(
            "file_glob",
            "Finds files by a pattern of their path, such as \"**/*.rs\" or \"src/*/mod.{rs,toml}\". Leaves out \
             hidden files and what .gitignore leaves out, and says how many. Use file_grep to search in files.",
        )),
        Arc::new(Face::<Grep>::new(
            "file_grep",
            "Searches the contents of files for a regular expression and returns the matching lines, or only the \
             files (output_mode). Filter with path, glob or type. Totals are exact; limit and offset page through \
             the matches. Leaves out hidden and binary files and what .gitignore leaves out, and says how many.",
        )),
    ])
}
