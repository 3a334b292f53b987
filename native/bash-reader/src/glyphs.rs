//! A text of which some characters are known.

/// A known character of a word, or what can stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharClass {
    /// This character.
    Is(char),
    /// Nothing, before a character that is not a dot: at the beginning of a name, wildcards of bash match no dot.
    NoDot,
    /// Any text within a file name.
    Name,
    /// Any text.
    Any,
}

/// Whether a partly known text can be this one, if wildcards can stand for slashes, too. Where the rest does not fit,
/// the last wildcard takes one character more; to try an earlier one again would change nothing.
pub fn fits(glyphs: &[CharClass], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut next, mut last) = (0, 0, None);
    while at < text.len() {
        match (glyphs.get(next), last) {
            (Some(CharClass::Is(char)), _) if *char == text[at] => (at, next) = (at + 1, next + 1),
            (Some(CharClass::NoDot), _) if text[at] != '.' => next += 1,
            (Some(CharClass::Name | CharClass::Any), _) => {
                last = Some((next, at));
                next += 1;
            }
            (_, Some((wildcard, end))) => {
                last = Some((wildcard, end + 1));
                (at, next) = (end + 1, wildcard + 1);
            }
            (_, None) => return false,
        }
    }
    glyphs[next..].iter().all(|glyph| !matches!(glyph, CharClass::Is(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_wildcards_as_in_bash() {
        let fits = |pattern: &str, name: &str| {
            let glyph = |char| if char == '*' { CharClass::Name } else { CharClass::Is(char) };
            let first = pattern.starts_with('*').then_some(CharClass::NoDot);
            fits(&first.into_iter().chain(pattern.chars().map(glyph)).collect::<Vec<_>>(), name)
        };
        for (pattern, name) in [("*", "a"), ("a*", "a"), ("a*b*c", "axbybzc"), ("*.c", "x.c"), (".*", ".env")]
        {
            assert!(fits(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("*", ".env"), ("a*", "b"), ("*a", "ab"), ("a*b*c", "acb"), ("a", "ab"), ("*env", ".env")]
        {
            assert!(!fits(pattern, name), "{pattern} {name}");
        }
        assert!(!fits(&"*a".repeat(100), &"a".repeat(99)));
    }
}
