//! Makes untrusted text safe to show: nothing in it controls the terminal, or hides or reorders text.

use std::fmt::Write as _;

/// Length in characters from which an approval prompt states the size of a text.
const LONG: usize = 1_000;
/// Maximum characters that an approval prompt shows of arguments.
const MOST_SHOWN: usize = 4_000;

/// Whether a terminal interprets the character, shows nothing for it, or reorders the text around it: control
/// characters (C0, C1), line and paragraph separators, bidirectional controls, zero-width characters, tags. This is
/// Unicode's `Bidi_Control` and `Default_Ignorable_Code_Point`, without the variation selectors of common emoji.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a reader cannot see the character or takes it for an ordinary space: hidden characters, variation selectors,
/// blank symbols, other spaces, and code points that Unicode has not assigned or reserves for private use.
#[must_use]
pub fn is_unseen(character: char) -> bool {
    let is_blank = matches!(character, '\u{2800}' | '\u{fe00}'..='\u{fe0f}' | '\u{16fe4}' | '\u{1d159}');
    let is_space = character != ' ' && character.is_whitespace();
    is_hidden(character) || is_blank || is_space || !is_assigned(character)
}

/// Whether the character is assigned and visible: the standard library escapes all others. The letter before it keeps
/// combining marks from being escaped, too.
fn is_assigned(character: char) -> bool {
    character.is_ascii() || format!("a{character}").escape_debug().nth(2).is_none()
}

/// The text with hidden characters made visible; line feeds and tabs are kept. Nothing is cut.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().map(|character| if character == '\n' { character } else { visible(character) }).collect()
}

/// [`printable`] with all lines but the first indented, so that no line of a model's text looks like one of ours.
#[must_use]
pub fn indented(text: &str) -> String {
    printable(text).replace('\n', "\n      ")
}

/// A hidden character as its control picture (U+2400 block), or as U+FFFD if there is none; tabs are kept.
#[must_use]
pub fn visible(character: char) -> char {
    match character {
        '\t' => '\t',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        hidden if is_hidden(hidden) => '\u{fffd}',
        other => other,
    }
}

/// The text on one line: unchanged, or quoted and escaped if it has characters that a reader would not see. For
/// approval prompts.
#[must_use]
pub fn one_line(text: &str) -> String {
    if text.chars().any(is_unseen) { literal(text) } else { text.to_owned() }
}

/// A name within a sentence: in quotes if something in it could be read as a part of the sentence. For approval prompts.
#[must_use]
pub fn name_in_sentence(name: &str) -> String {
    let is_plain = |char: char| (char.is_alphanumeric() || "/._-+@~=%".contains(char)) && !is_unseen(char);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { literal(name) }
}

/// The text in quotes, with escapes for the characters that a reader would not see: `"a\nb\u{202e}"`.
#[must_use]
pub fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            other => push_escaped(&mut out, other, is_unseen),
        }
    }
    out + "\""
}

/// The text on one line, hidden characters escaped, without quotes. For line-based protocols.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    text.chars().for_each(|character| push_escaped(&mut out, character, is_hidden));
    out
}

fn push_escaped(out: &mut String, character: char, is_escaped: fn(char) -> bool) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        escaped if is_escaped(escaped) => out.extend(escaped.escape_unicode()),
        other => out.push(other),
    }
}

/// The size of a text for an approval prompt, ` (3 lines, 120 characters)`; empty for a short one on one line.
#[must_use]
pub fn extent(text: &str) -> String {
    let (lines, characters) = (text.lines().count(), text.chars().count());
    let noun = if lines == 1 { "line" } else { "lines" };
    match lines > 1 || characters >= LONG {
        true => format!(" ({lines} {noun}, {characters} characters)"),
        false => String::new(),
    }
}

/// A text of any kind on the line of an approval prompt: what a reader would not see is escaped, and a long one is cut,
/// with its size.
#[must_use]
pub fn in_question(text: &str) -> String {
    let mut out = String::new();
    text.chars().take(MOST_SHOWN).for_each(|character| push_escaped(&mut out, character, is_unseen));
    match text.chars().nth(MOST_SHOWN) {
        None => out + &extent(text),
        Some(_) => out + "…" + &extent(text) + "; not all of it is shown",
    }
}

/// JSON with hidden characters escaped: the same value to any parser, and safe on a terminal.
#[must_use]
pub fn json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    // In JSON, such characters occur inside strings only.
    for character in value.to_string().chars() {
        if is_hidden(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// One of each kind: C0, C1, bidirectional, zero width, separator, tag.
    const HIDDEN: &str =
        "\u{1b}\u{7f}\u{9b}\u{202e}\u{2066}\u{200e}\u{61c}\u{200b}\u{200d}\u{2028}\u{feff}\u{e0041}";

    #[test]
    fn nothing_hidden_is_left_of_what_is_shown() {
        let text = format!("a{HIDDEN}b");
        for shown in
            [printable(&text), one_line(&text), literal(&text), escaped(&text), super::json(&json!(text))]
        {
            assert!(!shown.chars().any(is_hidden), "{shown:?}");
            assert!(shown.contains('a') && shown.contains('b'));
        }
        assert_eq!(printable("a\n\tb\u{1b}"), "a\n\tb\u{241b}");
    }

    #[test]
    fn what_is_asked_about_has_one_line_and_says_how_many_it_had() {
        assert_eq!(one_line("git log \"x\\n\""), "git log \"x\\n\"");
        assert_eq!(one_line("echo \"a\"\nrm b"), r#""echo \"a\"\nrm b""#);
        assert_eq!(one_line("a\u{202e}b"), r#""a\u{202e}b""#);
        for unseen in
            "\u{fe0f}\u{2800}\u{a0}\u{2007}\u{3000}\u{16fe4}\u{13430}\u{1d159}\u{e000}\u{378}".chars()
        {
            assert_eq!(one_line(&format!("a{unseen}")), format!("\"a{}\"", unseen.escape_unicode()));
        }
        for seen in ["touch 'é e\u{301} नमस्ते 漢字 😀'", "a b"] {
            assert_eq!(one_line(seen), seen);
        }
        assert_eq!(extent("echo a\nrm b\n"), " (2 lines, 12 characters)");
        assert_eq!((extent("echo a"), extent("")), (String::new(), String::new()));
        assert_eq!(extent(&" ".repeat(5_000)), " (1 line, 5000 characters)");
    }

    #[test]
    fn escapes_in_json_mean_the_same() {
        let value = json!({"\u{202e}key": HIDDEN, "plain": "é😀"});
        let text = super::json(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert!(text.contains("é😀") && text.contains("\\u202e"));
    }
}
