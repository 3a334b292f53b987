//! Renders the result of a patch for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};

/// One line per file, followed by hunks that were not exactly where the patch says.
pub(super) fn patched(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files = result.list("files")?;
    let is_applied = result.flag("applied");
    let shown = result.objects("files").take_while(|file| told(*file, is_applied, page)).count();
    if shown < files.len() {
        page.note(&format!("{shown} of {} files; the others were changed too", files.len()));
    }
    if !is_applied {
        let needed: Vec<&str> = result.texts("permissions").collect();
        let permissions = match needed.is_empty() {
            true => String::new(),
            false => format!("; applying it needs {}", needed.join(", ")),
        };
        page.note(&format!("dry run: the patch applies, nothing is changed{permissions}"));
    }
    Some(())
}

fn told(file: Fields<'_>, is_applied: bool, page: &mut ModelPage) -> bool {
    let count = |key: &str| file.count(key).unwrap_or(0);
    let [operation, path] = ["operation", "path"].map(|key| file.text(key).unwrap_or_default());
    let path = file.non_empty("old_path").map_or(path.to_owned(), |old| format!("{old} to {path}"));
    // A file that is deleted or renamed as a whole has no hunks to count lines in.
    let lines = match (count("additions"), count("deletions")) {
        (0, 0) => String::new(),
        (additions, deletions) => format!(", +{additions} -{deletions} lines"),
    };
    let would = if is_applied { "" } else { "not yet " };
    let mut line = format!("{would}{operation} {path}{lines}");
    for (number, hunk) in file.objects("hunks").enumerate() {
        if let Some(offset) = hunk.number("offset").filter(|offset| *offset != 0) {
            let location = hunk.count("line").map_or(String::new(), |line| format!(" at line {line}"));
            line += &format!("\n  hunk {}{location}, {offset:+} lines from where the patch says", number + 1);
        }
        hunk.non_empty("note")
            .into_iter()
            .for_each(|note| line += &format!("\n  hunk {}: {note}", number + 1));
    }
    file.non_empty("note").into_iter().for_each(|note| line += &format!("\n  {note}"));
    if file.flag("line_endings_adapted") {
        line += "\n  line ends were adapted to the file's";
    }
    if file.flag("link_broken") {
        line += "\n  it had other names (hard links), which keep the old content";
    }
    page.line(&line)
}
