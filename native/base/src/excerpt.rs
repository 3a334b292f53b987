//! Shortens what a message repeats of its caller's input.

use std::borrow::Cow;

/// Maximum number of characters of an input that a message repeats.
const MOST: usize = 200;
/// Characters shown of the end of a longer one: the end of a path says most.
const END: usize = 60;

/// The text, or its beginning and end with the number of characters in all: a message about a command, path or pattern
/// need not repeat thousands of characters that its reader has written.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    let size = text.chars().count();
    if size <= MOST {
        return Cow::Borrowed(text);
    }
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let (begin, end) = (&text[..at(MOST - END)], &text[at(size - END)..]);
    Cow::Owned(format!("{begin}[… {size} characters …]{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_shown_by_its_ends_and_length() {
        let short = "é".repeat(MOST);
        assert_eq!(excerpt(&short), short);
        let long = format!("begin{}end", "é".repeat(28_000));
        let shown = excerpt(&long);
        assert!(shown.starts_with("beginé") && shown.ends_with("éend"), "{shown}");
        assert!(shown.contains("é[… 28008 characters …]é") && shown.chars().count() < MOST + 30, "{shown}");
    }
}
