//! Texts of others without the secrets that they may repeat.

use super::secret_spelling as spelling;

/// The text that replaces a secret.
const HIDDEN: &str = "***";

/// A text with `***` in place of the secrets, however their characters are escaped. To be done before
/// the text is cut or quoted: later, a part of a secret could no longer be recognised. If the text was cut already, its end
/// may be the beginning of a secret.
pub fn hide_secrets(text: &str, secrets: &[impl AsRef<str>], is_cut: bool) -> String {
    // Most characters begin no secret.
    let mut begins = spelling::begins_escape();
    secrets
        .iter()
        .filter_map(|secret| secret.as_ref().bytes().next())
        .for_each(|byte| begins[usize::from(byte)] = true);
    let mut shown = String::with_capacity(text.len());
    let mut hidden_to = 0;
    for (at, character) in text.char_indices() {
        let end_of = |secret: &_| spelling::end_of(AsRef::<str>::as_ref(secret), &text[at..], is_cut);
        if begins[usize::from(text.as_bytes()[at])]
            && let Some(length) = secrets.iter().filter_map(end_of).max()
        {
            if at >= hidden_to {
                shown.push_str(HIDDEN);
            }
            hidden_to = hidden_to.max(at + length);
        }
        if at >= hidden_to {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::hide_secrets;

    #[test]
    fn secrets_that_overlap_are_hidden_to_the_end_of_the_last() {
        let secrets = ["abcdef", "defghijkl", "bcdefg"];
        assert_eq!(hide_secrets("-abcdefghijkl-abcdefg-", &secrets, false), "-***-***-");
    }

    #[test]
    fn a_secret_is_hidden_where_it_is_escaped() {
        for text in ["a+/b%", "a%2B%2fb%25", "a\\u002b\\/b%", "a&#43;&#x2F;b%"] {
            assert_eq!(hide_secrets(&format!("<{text}>"), &["a+/b%"], false), "<***>", "{text}");
        }
        assert_eq!(hide_secrets("is a%2B%2", &["a+/b%"], true), "is ***");
        assert_eq!(hide_secrets("is a%2B%2", &["a+/b%"], false), "is a%2B%2");
    }
}
