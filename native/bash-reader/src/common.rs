//! Texts that bash and other shells read alike.

/// Reserved words and builtins of bash that are programs for other shells.
const OF_BASH: &str =
    "time function select coproc declare typeset let source shopt builtin mapfile readarray pushd popd";
/// Builtins that split the values that they assign, unless they are bash's.
const SPLITTING: &str = "export readonly local";

/// Whether all shells read a text alike.
pub(super) fn is_common(text: &str) -> bool {
    let is_one_of = |words: &str, word: &str| words.split(' ').any(|own| own == word);
    let is_foreign =
        |word: &str| is_one_of(OF_BASH, word) || text.contains('$') && is_one_of(SPLITTING, word);
    text.chars().all(is_common_char)
        // Elsewhere, it is no assignment.
        && !text.contains("+=")
        && !text.split(|char: char| !char.is_ascii_alphanumeric()).any(is_foreign)
        && text.match_indices(['$', '&', '<', '>']).all(|(at, _)| is_common_mark(&text[..at], &text[at..]))
}

/// Whether all shells treat a character alike, perhaps apart from what [`is_common_mark`] looks at.
fn is_common_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || " \n_-./=:,@%+'\";|$&<>".contains(char)
}

/// Whether all shells read the mark at the beginning of `rest` alike, behind this text.
fn is_common_mark(before: &str, rest: &str) -> bool {
    let (mark, after) = rest.split_at(1);
    let has_digits = before.ends_with(|char: char| char.is_ascii_digit());
    match mark {
        "$" => after.starts_with(|char: char| char.is_ascii_alphanumeric() || "_@".contains(char)),
        "&" if before.ends_with(['<', '>']) => is_descriptor(after),
        // Elsewhere, `&>` runs a command in the background, and `|&` is an error.
        "&" => !after.starts_with('>') && !before.ends_with('|'),
        // Elsewhere, a descriptor has one digit; here-documents are not looked into.
        _ => {
            let is_long =
                has_digits && before[..before.len() - 1].ends_with(|char: char| char.is_ascii_digit());
            !is_long && !rest.starts_with("<<")
        }
    }
}

/// Whether a text begins with one digit or a dash, and no further character of that word.
fn is_descriptor(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|char| char.is_ascii_digit() || char == '-')
        && chars.next().is_none_or(|char| " \n;|&".contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_shells_read_in_another_way_is_not_common() {
        for text in [
            "cd x && make > log 2>&1 || exit 1",
            "for f in \"$@\"; do wc -l \"$f\" >> out < in; done",
            "while read -r l; do a $l & done; wait; b >&2 3<&- <> c",
        ] {
            assert!(is_common(text), "{text}");
        }
        for text in [
            "a &> b",
            "a &>> b",
            "a >& b",
            "a >&b",
            "a >&12",
            "a >&2x",
            "a >&2-",
            "a 12> b",
            "a |& b",
            "a <<< b",
            "a << b",
            "a $",
            "a $'b'",
            "a \"$\"",
            "a ${b/c/d}",
            "a $((1))",
            "a $[1]",
            "export a=$b",
            "local a=$1",
            "time a",
            "a {b,c}",
            "[[ a ]]",
            "a <(b)",
            "a *",
            "a \\b",
            "a ~",
            "v+=x a",
        ] {
            assert!(!is_common(text), "{text}");
        }
    }
}
