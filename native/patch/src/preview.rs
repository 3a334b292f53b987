//! The diff in a question about a patch. It compares the files with the bytes that the patch would write, and shows
//! nothing of the patch's own text.

use super::target::PatchOperation;
use super::verdict::FileVerdict;
use beamai_text::{encoding_line, quoted};
use beamai_tool::Preview;

/// The patch as it is applied.
pub(super) fn preview(files: &[FileVerdict]) -> Preview {
    let with = |preview: Preview, verdict: &FileVerdict| {
        let preview = preview.with(&head(verdict));
        match &verdict.shown {
            Some(shown) => preview.and(shown),
            None => preview,
        }
    };
    files.iter().fold(Preview::default(), with)
}

/// The lines that come before the hunks of a file: its names, its mode, its encoding.
fn head(verdict: &FileVerdict) -> String {
    let old = verdict.old_path.as_ref().unwrap_or(&verdict.path);
    let from = match verdict.operation {
        PatchOperation::Created => "/dev/null".to_owned(),
        _ => quoted(&format!("a/{old}")),
    };
    let to = match verdict.operation {
        PatchOperation::Deleted => "/dev/null".to_owned(),
        _ => quoted(&format!("b/{}", verdict.path)),
    };
    let mut text = match verdict.operation {
        PatchOperation::Renamed => {
            format!("rename from {}\nrename to {}\n", quoted(old), quoted(&verdict.path))
        }
        PatchOperation::Copied => format!("copy from {}\ncopy to {}\n", quoted(old), quoted(&verdict.path)),
        _ => String::new(),
    };
    text += match verdict.executable {
        None => "",
        Some(true) => "new mode 100755\n",
        Some(false) => "new mode 100644\n",
    };
    text += &verdict.encoding.as_deref().map_or_else(String::new, encoding_line);
    text + &format!("--- {from}\n+++ {to}\n")
}
