//! Results and errors as text for chat models.
//!
//! A call returns a JSON value, meant for programs. A model gets the same value as text, rendered by the operation
//! ([`Operation::for_model`](crate::Operation::for_model), in a file next to its output type). The value is the only
//! input, so a result that a filter has changed or that a host has stored is rendered like a fresh one. The dialects'
//! results differ in a few keys; a renderer reads all of them.
//!
//! No text exceeds its limit. It says what is left out, and suggests the call that continues if there is one.

mod both_ends;
mod call;
mod data;
mod error;
mod fields;
mod page;

pub use both_ends::StreamCut;
pub use call::{CallWriter, ModelCall};
pub use data::{object, own};
pub use error::of_error;
pub use fields::Fields;
pub use page::ModelPage;
pub use page::{LINE, cut_line, name_line, quantity};

use crate::operation::ADJUSTED;
use serde_json::Value;

/// Default limit of a result for models, in characters.
pub const LIMIT: usize = 30_000;
/// Minimum limit, in characters: room for a few lines and the notes.
pub const LEAST_LIMIT: usize = 1_000;

/// A result as text of at most `limit` characters. A value that the operation does not recognize, such as a filter's
/// replacement, is rendered by [`own`].
///
/// # Errors
/// As [`own`].
pub fn of_result(call: &ModelCall<'_>, result: &Value, limit: usize) -> Result<String, String> {
    let mut page = ModelPage::new(limit);
    let Some(fields) = Fields::of(result) else { return own(result, limit) };
    match call.tool().for_model(fields, call, &mut page) {
        Some(()) => {
            fields.texts(ADJUSTED).for_each(|note| page.note(note));
            Ok(page.finish())
        }
        None => own(result, limit),
    }
}

/// What there is to say of a result besides its content: what is left out, and the call that goes on. A line for each.
pub fn notes_of(call: &ModelCall<'_>, result: &Value) -> Vec<String> {
    let mut page = ModelPage::new(WHOLE);
    let Some(fields) = Fields::of(result) else { return Vec::new() };
    match call.tool().for_model(fields, call, &mut page) {
        Some(()) => {
            fields.texts(ADJUSTED).for_each(|note| page.note(note));
            page.notes()
        }
        None => Vec::new(),
    }
}

/// A limit that cuts no result: what is left out is what the call itself has left out.
const WHOLE: usize = 1 << 40;
