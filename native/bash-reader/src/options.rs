//! Options of builtins, shells and wrappers.

use super::word::Word;

/// The options and operands of a program.
pub(super) struct ParsedOptions<'a> {
    /// Letters of short options without a value.
    pub(super) letters: String,
    /// Short options with a value by their letter, and long options by their name; the value is empty if there is none.
    pub(super) values: Vec<(String, Word)>,
    pub(super) operands: &'a [Word],
}

impl<'a> ParsedOptions<'a> {
    /// Parses options described as for `getopt`: letters, followed by `:` if the option takes a value, and by `::` if the
    /// value can only be in the same word; then long names, each after a space, followed by `:` if the value may be the next
    /// word. If the description begins with `+`, short options may begin with `+` too. `None` for an unknown option.
    pub(super) fn read(args: &'a [Word], known: &str) -> Option<Self> {
        let (short, long) = known.split_once(' ').unwrap_or((known, ""));
        let (signs, short) =
            short.strip_prefix('+').map_or((&['-'][..], short), |short| (&['-', '+'], short));
        let mut found = Self { letters: String::new(), values: Vec::new(), operands: args };
        while let Some((first, rest)) = found.operands.split_first() {
            // An unknown word may be an option, unless its first character is known not to begin one.
            if first.first().is_some_and(|char| !"-+".contains(char)) {
                break;
            }
            let text = first.text()?;
            if text.is_empty() {
                break;
            }
            if text == "--" {
                found.operands = rest;
                break;
            }
            found.operands = match text.strip_prefix("--") {
                Some(name) => found.long(name, rest, long)?,
                None => found.group(text.strip_prefix(signs)?, rest, short)?,
            };
        }
        Some(found)
    }

    /// One word of short options; returns the arguments after it and its value.
    fn group(&mut self, letters: &str, rest: &'a [Word], known: &str) -> Option<&'a [Word]> {
        for (at, letter) in letters.char_indices() {
            let value = &letters[at + letter.len_utf8()..];
            let colons = known[known.find(letter).filter(|_| letter != ':')? + letter.len_utf8()..]
                .chars()
                .take_while(|char| *char == ':');
            match colons.count() {
                0 => self.letters.push(letter),
                1 if value.is_empty() => return self.next(letter.to_string(), rest),
                _ => {
                    self.values.push((letter.to_string(), Word::literal(value)));
                    return Some(rest);
                }
            }
        }
        Some(rest).filter(|_| !letters.is_empty())
    }

    fn long(&mut self, text: &str, rest: &'a [Word], known: &str) -> Option<&'a [Word]> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let has_next = |known: &str| (known.trim_end_matches(':') == name).then(|| known.ends_with(':'));
        match (known.split(' ').find_map(has_next)?, value) {
            (true, None) => self.next(name.to_owned(), rest),
            (_, value) => {
                self.values.push((name.to_owned(), Word::literal(value.unwrap_or_default())));
                Some(rest)
            }
        }
    }

    /// An option whose value is the next word.
    fn next(&mut self, name: String, rest: &'a [Word]) -> Option<&'a [Word]> {
        let (next, rest) = rest.split_first().filter(|(next, _)| !next.may_split())?;
        self.values.push((name, next.clone()));
        Some(rest)
    }

    /// The values of options with one of these names.
    pub(super) fn values_of(&self, names: &[&str]) -> impl Iterator<Item = &Word> {
        let is_of = move |(name, _): &&(String, Word)| names.contains(&&**name);
        self.values.iter().filter(is_of).map(|(_, value)| value)
    }
}
