//! The diff that a person is asked about before a patch is applied. It is made from the parsed patch, with the lines where its hunks
//! apply, so that text around the hunks is not shown.

use super::diff::{FileDiff, Hunk, LineTag};
use super::target::PatchOperation;
use super::verdict::{FileVerdict, HunkVerdict};
use beamai_text::{encoding_line, quoted};

/// The patch as it is applied.
pub(super) fn preview(files: &[FileDiff], verdicts: &[FileVerdict]) -> String {
    files.iter().zip(verdicts).map(|(file, verdict)| part(file, verdict)).collect()
}

fn part(file: &FileDiff, verdict: &FileVerdict) -> String {
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
    text += &format!("--- {from}\n+++ {to}\n");
    text.extend(file.hunks.iter().zip(&verdict.hunks).map(|(hunk, verdict)| lines(hunk, verdict)));
    text
}

fn lines(hunk: &Hunk, verdict: &HunkVerdict) -> String {
    let (old, new) = hunk.counts();
    let [old, new] = [(verdict.line, old), (verdict.new_line, new)].map(|(line, count)| side(line, count));
    let mut text = format!("@@ -{old} +{new} @@\n");
    for line in &hunk.lines {
        text.push(match line.tag {
            LineTag::Context => ' ',
            LineTag::Delete => '-',
            LineTag::Insert => '+',
        });
        text.push_str(&line.text);
        text.push_str(if line.is_open { "\n\\ No newline at end of file\n" } else { "\n" });
    }
    text
}

/// First line and number of lines, as in the header of a hunk.
fn side(line: Option<u64>, count: u64) -> String {
    match (line.unwrap_or(0), count) {
        (line, 1) => line.to_string(),
        (line, count) => format!("{line},{count}"),
    }
}
