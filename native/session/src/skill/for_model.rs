//! Skills, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};

/// Name and description of each skill, or the instructions of one.
pub(super) fn skills(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    if let Some(content) = result.text("content") {
        let left_out = page.prose(content);
        if left_out > 0 {
            page.note(&format!("cut: {left_out} more characters of the instructions"));
        }
        if let Some(directory) = result.non_empty("directory") {
            page.note(&format!("files that it refers to are in {directory}"));
        }
        return Some(());
    }
    let skills = result.list("skills")?;
    let line = |skill: Fields<'_>| Some(format!("{}: {}", skill.text("name")?, skill.text("description")?));
    let shown = result.objects("skills").filter_map(line).take_while(|line| page.line(line)).count();
    if skills.is_empty() {
        page.line("no skills");
    }
    if shown < skills.len() {
        page.note(&format!("{shown} of {} skills", skills.len()));
    }
    for broken in result.objects("broken") {
        let [path, problem] = ["path", "problem"].map(|key| broken.text(key).unwrap_or_default());
        page.note(&format!("not a skill: {path}: {problem}"));
    }
    Some(())
}
