//! Renders results of the git tools for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage, quantity};
use serde_json::json;

/// The text as the git program prints it, cut to the limit.
pub(super) fn printed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let content = result.text("content")?;
    let (shown, total) = page.lines(content.trim_end());
    if page.is_empty() {
        page.line(if call.takes("staged") { "no changes" } else { "(nothing)" });
    }
    if shown < total || result.flag("truncated") {
        let how = match call.takes("path") && !call.has("path") {
            true => "; name a path to see less at once",
            false => "",
        };
        page.note(&format!("cut after {} of {total}{how}", quantity(shown, "line", "lines")));
    }
    if result.flag("has_more") && shown == total {
        let limit = call.number("limit").unwrap_or(20);
        let more = call.with(&[("limit", json!((limit * 2).min(1000)))]);
        let more = more.map_or(String::new(), |more| format!("; more with {more}"));
        page.note(&format!("older commits follow{more}"));
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}

/// The staged files.
pub(super) fn added(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files = result.list("files")?;
    if result.flag("ok") {
        match files.is_empty() {
            true => page.line("nothing changed: it is staged already"),
            false => page.line("staged:"),
        };
    }
    let shown = result.texts("files").take_while(|file| page.line(file)).count();
    if shown < files.len() || result.flag("truncated") {
        page.note(&format!("{shown} files are listed; the others were staged too"));
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}
