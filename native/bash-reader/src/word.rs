//! A word of a command as bash reads it: known characters, characters that match file names, unknown text.

/// A piece of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPiece {
    /// A character; quoted ones stand for themselves.
    Char { char: char, quoted: bool },
    /// The result of an expansion, known only at run time. Unquoted, it may be several words or none.
    Unknown { quoted: bool, source: ExpansionSource },
}

/// The source of an expansion's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpansionSource {
    /// A single number.
    Number,
    /// Numbers and blanks, or nothing.
    Counted,
    /// The variable with this id, see [`super::values::Values`].
    Variable(u16),
    /// Anything else.
    Other,
}

impl WordPiece {
    /// Any text.
    pub(super) const fn unknown(quoted: bool) -> Self {
        Self::Unknown { quoted, source: ExpansionSource::Other }
    }
}

/// A word before brace expansion.
#[derive(Debug, Clone, Default)]
pub(super) struct RawWord {
    pub(super) pieces: Vec<WordPiece>,
    /// Whether it has quotes. An empty result without quotes is no word.
    pub(super) has_quotes: bool,
    /// Whether brace expansion extends the name of a variable, as in `{$a,b}c`.
    pub(super) is_joined: bool,
}

impl RawWord {
    pub(super) fn push(&mut self, char: char, quoted: bool) {
        self.pieces.push(WordPiece::Char { char, quoted });
    }

    pub(super) fn push_unknown(&mut self, quoted: bool) {
        self.pieces.push(WordPiece::unknown(quoted));
    }

    /// Appends the result of an expansion. Numbers do not split.
    pub(super) fn push_source(&mut self, quoted: bool, source: ExpansionSource) {
        self.pieces.push(WordPiece::Unknown { quoted: quoted || source == ExpansionSource::Number, source });
    }

    /// The words after brace expansion; `None` if they are too many.
    pub(super) fn expand(self) -> Option<Vec<Word>> {
        let has_quotes = self.has_quotes;
        let words = super::brace::expand(self.pieces)?;
        let words = words
            .into_iter()
            .map(|pieces| Word { pieces: without_user(with_literal_brackets(pieces)), has_quotes });
        Some(words.filter(|word| word.has_quotes || !word.pieces.is_empty()).collect())
    }

    /// Name and value, if the word is an assignment (`=` or `+=`).
    pub(super) fn assignment(&self) -> Option<(String, RawWord)> {
        let mut name = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            match piece {
                WordPiece::Char { char: '=', quoted: false } if !name.is_empty() => {
                    let pieces = self.pieces[at + 1..].to_vec();
                    return Some((name, RawWord { pieces, has_quotes: self.has_quotes, is_joined: false }));
                }
                WordPiece::Char { char: '+', quoted: false }
                    if self.is_equals(at + 1) && !name.is_empty() => {}
                WordPiece::Char { char, quoted: false } if is_name_char(*char, name.is_empty()) => {
                    name.push(*char)
                }
                _ => return None,
            }
        }
        None
    }

    /// The name of a function, if the word is one: unquoted name characters and dashes.
    pub(super) fn name(&self) -> Option<String> {
        let char = |(at, piece): (usize, &WordPiece)| match piece {
            WordPiece::Char { char, quoted: false } => {
                Some(*char).filter(|char| is_name_char(*char, at == 0) || *char == '-' && at > 0)
            }
            _ => None,
        };
        self.pieces.iter().enumerate().map(char).collect::<Option<String>>().filter(|name| !name.is_empty())
    }

    /// The word as the value of an assignment, in which nothing splits or matches file names.
    pub(super) fn unsplit(self) -> Word {
        let quoted = |piece| match piece {
            WordPiece::Char { char, .. } => WordPiece::Char { char, quoted: true },
            WordPiece::Unknown { source, .. } => WordPiece::Unknown { quoted: true, source },
        };
        Word { pieces: self.pieces.into_iter().map(quoted).collect(), has_quotes: true }
    }

    fn is_equals(&self, at: usize) -> bool {
        self.pieces.get(at) == Some(&WordPiece::Char { char: '=', quoted: false })
    }
}

/// Marks unclosed brackets as literal, as in `[ -f x ]`.
fn with_literal_brackets(mut pieces: Vec<WordPiece>) -> Vec<WordPiece> {
    let closes = |piece: &WordPiece| {
        matches!(
            piece,
            WordPiece::Char { char: ']', quoted: false } | WordPiece::Unknown { quoted: false, .. }
        )
    };
    let end = pieces.iter().rposition(closes).unwrap_or(0);
    for piece in &mut pieces[end..] {
        if let WordPiece::Char { char: '[', quoted } = piece {
            *quoted = true;
        }
    }
    pieces
}

/// Replaces `~name` with unknown text; `~` alone stays.
fn without_user(mut pieces: Vec<WordPiece>) -> Vec<WordPiece> {
    let tilde = WordPiece::Char { char: '~', quoted: false };
    let is_slash = |piece: &WordPiece| matches!(piece, WordPiece::Char { char: '/', .. });
    let end = pieces.iter().position(is_slash).unwrap_or(pieces.len());
    if pieces.first() == Some(&tilde) && end > 1 {
        // A sequence in braces, as in `~x{1..2}`, makes several words of it.
        let splits = |piece: &WordPiece| matches!(piece, WordPiece::Unknown { quoted: false, .. });
        let quoted = !pieces[..end].iter().any(splits);
        pieces.splice(..end, [WordPiece::unknown(quoted)]);
    }
    pieces
}

/// Whether a character can be in the name of a variable.
pub(super) fn is_name_char(char: char, is_first: bool) -> bool {
    char == '_' || char.is_ascii_alphabetic() || (!is_first && char.is_ascii_digit())
}

/// What is known of a character of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharClass {
    /// This character.
    Is(char),
    /// Any text within a file name.
    Name,
    /// Any text.
    Any,
}

/// A word that a program gets, as far as it is known before the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub(super) pieces: Vec<WordPiece>,
    pub(super) has_quotes: bool,
}

impl Word {
    /// A word that is known.
    pub fn literal(text: &str) -> Self {
        let pieces = text.chars().map(|char| WordPiece::Char { char, quoted: true }).collect();
        Self { pieces, has_quotes: true }
    }

    /// Any number of unknown words.
    pub fn unknown() -> Self {
        Self { pieces: vec![WordPiece::unknown(false)], has_quotes: false }
    }

    /// The text, if all of it is known and literal.
    pub fn text(&self) -> Option<String> {
        self.pattern().collect()
    }

    /// The text as a pattern: known characters, and `None` for unknown text and wildcards.
    pub fn pattern(&self) -> impl Iterator<Item = Option<char>> {
        self.pieces.iter().map(|piece| match piece {
            WordPiece::Char { char, quoted } if *quoted || !is_wild(*char) => Some(*char),
            _ => None,
        })
    }

    /// What is known of each character.
    pub fn glyphs(&self) -> Vec<CharClass> {
        let glyph = |piece: &WordPiece| match piece {
            WordPiece::Char { char, quoted } if *quoted || !is_wild(*char) => CharClass::Is(*char),
            WordPiece::Char { .. } => CharClass::Name,
            WordPiece::Unknown { .. } => CharClass::Any,
        };
        self.pieces.iter().map(glyph).collect()
    }

    /// Whether it contains an expansion.
    pub fn has_unknown(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, WordPiece::Unknown { .. }))
    }

    /// Whether it can expand to several words, or none.
    pub fn may_split(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            WordPiece::Unknown { quoted, .. } => !quoted,
            WordPiece::Char { char, quoted } => !quoted && is_wild(*char),
        })
    }

    /// Whether an expansion in it can produce several words, or none.
    pub(super) fn may_be_words(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, WordPiece::Unknown { quoted: false, .. }))
    }

    /// Whether the text can be this one.
    pub fn may_be(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut retry) = (0, None);
        let pattern: Vec<Option<char>> = self.pattern().collect();
        let mut next = 0;
        while at < text.len() {
            match pattern.get(next) {
                Some(Some(char)) if *char == text[at] => (at, next) = (at + 1, next + 1),
                Some(None) => {
                    retry = Some((next, at));
                    next += 1;
                }
                _ => match retry {
                    Some((star, from)) => {
                        (at, next) = (from + 1, star + 1);
                        retry = Some((star, from + 1));
                    }
                    None => return false,
                },
            }
        }
        pattern[next..].iter().all(Option::is_none)
    }

    /// Name and value, if the text begins as an assignment.
    pub(super) fn assignment(&self) -> Option<(String, &[WordPiece])> {
        let is_char =
            |piece: &WordPiece, wanted| matches!(piece, WordPiece::Char { char, .. } if *char == wanted);
        let at = self.pieces.iter().position(|piece| is_char(piece, '='))?;
        let (name, value) = (&self.pieces[..at], &self.pieces[at + 1..]);
        let name: Option<String> = name
            .iter()
            .enumerate()
            .map(|(at, piece)| match piece {
                WordPiece::Char { char, .. } => Some(*char).filter(|char| is_name_char(*char, at == 0)),
                WordPiece::Unknown { .. } => None,
            })
            .collect();
        // A value that splits could contain further names.
        name.filter(|name| !name.is_empty() && !self.may_split()).map(|name| (name, value))
    }

    /// The name of a function, if nothing in the word is quoted.
    pub(super) fn name(&self) -> Option<String> {
        RawWord { pieces: self.pieces.clone(), ..RawWord::default() }.name().filter(|_| !self.has_quotes)
    }

    /// Whether it can expand to this single word. A tilde is literal or stands for a directory.
    pub(super) fn may_expand_to(&self, text: &str) -> bool {
        self.may_be(text) || self.pieces.contains(&WordPiece::Char { char: '~', quoted: false })
    }

    /// Its first character, if that is known and literal.
    pub(super) fn first(&self) -> Option<char> {
        self.pattern().next().flatten()
    }

    /// The word as one would type it, with `…` for unknown text. A tilde that stands for itself is quoted where it could be
    /// the home directory without quotes: at the beginning, and after `=` or `:` as in an assignment.
    pub fn shown(&self) -> String {
        let text: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                WordPiece::Char { char, .. } => *char,
                WordPiece::Unknown { .. } => '…',
            })
            .collect();
        let is_plain = |char: char| char.is_alphanumeric() || "_-./:=,@%+…*?[]{}~^".contains(char);
        let tilde = WordPiece::Char { char: '~', quoted: true };
        let begins =
            |at: usize| at == 0 || matches!(self.pieces[at - 1], WordPiece::Char { char: '=' | ':', .. });
        let is_tilde = self.pieces.iter().enumerate().any(|(at, piece)| *piece == tilde && begins(at));
        match !text.is_empty() && text.chars().all(is_plain) && !is_tilde {
            true => text,
            false => format!("'{}'", text.replace('\'', r"'\''")),
        }
    }
}

/// Whether an unquoted character is a wildcard.
fn is_wild(char: char) -> bool {
    matches!(char, '*' | '?' | '[')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Word {
        let pieces = text.chars().map(|char| match char {
            '$' => WordPiece::unknown(false),
            char => WordPiece::Char { char, quoted: false },
        });
        Word { pieces: pieces.collect(), has_quotes: false }
    }

    #[test]
    fn a_word_may_be_what_its_known_characters_leave_open() {
        assert!(word("k.p*").may_be("k.pem") && !word("k.p*").may_be("j.pem"));
        assert!(word("$").may_be("anything") && word("a$b$").may_be("axxbyy"));
        assert!(!word("a$b").may_be("ab1") && word("ab").may_be("ab"));
        assert_eq!((word("a*").text(), word("ab").text()), (None, Some("ab".into())));
    }

    #[test]
    fn an_assignment_has_an_unquoted_name() {
        let raw = |quoted: bool| RawWord {
            pieces: "X=1".chars().map(|char| WordPiece::Char { char, quoted }).collect(),
            has_quotes: quoted,
            is_joined: false,
        };
        assert_eq!(raw(false).assignment().unwrap().0, "X");
        assert!(raw(true).assignment().is_none());
    }
}
