//! The result of a sub-agent, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};

/// Its own words, then how it ended, unless it completed.
pub(super) fn done(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (summary, state) = (result.text("summary")?, result.non_empty("state")?);
    let left_out = page.prose(summary);
    if page.is_empty() {
        page.line("(the sub-agent said nothing)");
    }
    if left_out > 0 {
        page.note(&format!("cut: {left_out} more characters"));
    }
    if state != "completed" {
        // A summary that the host made from the calls already contains the error.
        let why = result.non_empty("error").filter(|why| !summary.contains(why));
        let why = why.map_or(String::new(), |why| format!(": {why}"));
        page.note(&format!("{}{why}", state.replace('_', " ")));
    }
    Some(())
}
