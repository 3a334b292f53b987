//! Answers of a person, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};

/// The answers as text, or why there are none.
pub(super) fn answered(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let left_out = page.prose(result.non_empty("text")?);
    if left_out > 0 {
        page.note(&format!("cut: {left_out} more characters"));
    }
    Some(())
}
