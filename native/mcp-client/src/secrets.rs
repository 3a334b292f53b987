//! Secrets of a connection, and what a server says without them.

use beamai_base::ToolError;
use beamai_text::hide_secrets;
use rmcp::model::ErrorData;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Minimum length of a secret: shorter texts would be replaced everywhere.
const SHORTEST: usize = 6;
/// Characters of a server's text that an error shows.
const SHOWN: usize = 300;

/// Texts that must not appear in messages, although a server may repeat them. Each text is hidden before it is cut or
/// quoted: later, a part of a secret could no longer be recognised.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<[String]>);

impl Secrets {
    /// These texts, except for short ones.
    pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let all: BTreeSet<&str> = texts.filter(|text| text.len() >= SHORTEST).collect();
        Self(all.into_iter().map(str::to_owned).collect())
    }

    /// A text without them, however their characters are escaped.
    pub(crate) fn hide(&self, text: &str) -> String {
        hide_secrets(text, &self.0, false)
    }

    /// The same for the beginning of a longer text, which may end within a secret.
    fn hide_in_beginning(&self, text: &str) -> String {
        // A cut within a character leaves a replacement character.
        hide_secrets(text.trim_end_matches(char::REPLACEMENT_CHARACTER), &self.0, true)
    }

    /// An error without them.
    pub(crate) fn hide_in(&self, mut error: ToolError) -> ToolError {
        error.message = self.hide(&error.message);
        error.details.values_mut().for_each(|detail| self.hide_in_value(detail));
        error
    }

    /// An error of the protocol without them.
    pub(crate) fn hide_in_data(&self, mut error: ErrorData) -> ErrorData {
        error.message = self.hide(&error.message).into();
        error.data.iter_mut().for_each(|data| self.hide_in_value(data));
        error
    }

    /// Hides them in all texts of a value.
    pub(crate) fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hide(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.hide_in_value(value)),
            Value::Object(fields) => {
                fields.values_mut().for_each(|value| self.hide_in_value(value));
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, value)| (self.hide(&name), value))
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// What an error shows of a server's text: its beginning, on one line.
    pub(crate) fn excerpt(&self, text: &[u8]) -> String {
        shortened(&self.hide(&String::from_utf8_lossy(text)))
    }

    /// The same for the beginning of a longer text.
    pub(crate) fn excerpt_of_beginning(&self, text: &[u8]) -> String {
        shortened(&self.hide_in_beginning(&String::from_utf8_lossy(text)))
    }
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "KQ7zX2mN/pL4vB8rT1wY\"cD3f";

    fn secrets() -> Secrets {
        Secrets::of([KEY, "short", "other-secret"].into_iter())
    }

    #[test]
    fn a_secret_across_the_cut_is_hidden_as_a_whole() {
        for before in 0..SHOWN + 10 {
            let said =
                secrets().excerpt(format!("{}{KEY}{}", "x".repeat(before), "y".repeat(500)).as_bytes());
            assert_eq!(said.chars().count(), SHOWN);
            assert!(!said.contains("KQ"), "{said}");
        }
    }

    #[test]
    fn a_text_that_was_cut_before_ends_with_no_part_of_a_secret() {
        for kept in 1..=KEY.len() {
            assert_eq!(
                secrets().excerpt_of_beginning(format!("short is {}", &KEY[..kept]).as_bytes()),
                "short is ***"
            );
        }
        assert_eq!(secrets().excerpt_of_beginning(b"the end"), "the end");
        let accented = Secrets::of(std::iter::once("pässwörd"));
        assert_eq!(accented.excerpt_of_beginning("is pässwö".as_bytes().split_last().unwrap().1), "is ***");
    }

    #[test]
    fn a_secret_is_known_in_json_too() {
        let said = serde_json::json!({ "said": KEY }).to_string();
        assert_eq!(secrets().hide(&said), "{\"said\":\"***\"}");
        assert_eq!(secrets().hide(&said.replace('/', "\\/")), "{\"said\":\"***\"}");
        assert_eq!(secrets().hide(&format!("{KEY:?}")), "\"***\"");
    }
}
