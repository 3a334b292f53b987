//! A word of a command as bash reads it: known characters, characters that match file names, unknown text.

use super::glyphs::{CharClass, fits};
use super::tilde::{self, Assigns};
use super::{ansi_c, parser};

/// A piece of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordPiece {
    /// A character; quoted ones stand for themselves.
    Char { char: char, quoted: bool },
    /// The result of an expansion, known only at run time. Unquoted, it may be several words or none.
    Unknown { quoted: bool, source: ExpansionSource },
    /// Empty quotes. They add no text, but a tilde beside them is literal. Only in a [`RawWord`].
    EmptyQuotes,
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

    /// Its text, if nothing in it is expanded.
    pub(super) fn literal(&self) -> Option<String> {
        let char = |piece: &WordPiece| match piece {
            WordPiece::Char { char, .. } => Some(*char),
            _ => None,
        };
        self.pieces.iter().filter(|piece| !matches!(piece, WordPiece::EmptyQuotes)).map(char).collect()
    }

    /// Begins quotes; returns where.
    pub(super) fn open_quotes(&mut self) -> usize {
        self.has_quotes = true;
        self.pieces.len()
    }

    /// Ends quotes that began there.
    pub(super) fn close_quotes(&mut self, start: usize) {
        if self.pieces.len() == start {
            self.pieces.push(WordPiece::EmptyQuotes);
        }
    }

    pub(super) fn push_unknown(&mut self, quoted: bool) {
        self.pieces.push(WordPiece::unknown(quoted));
    }

    /// Appends the result of an expansion. Numbers do not split.
    pub(super) fn push_source(&mut self, quoted: bool, source: ExpansionSource) {
        self.pieces.push(WordPiece::Unknown { quoted: quoted || source == ExpansionSource::Number, source });
    }

    /// The words after the expansion of braces and tildes; `None` if they are too many.
    pub(super) fn expand(self, home: Option<&str>) -> Option<Vec<Word>> {
        let (has_quotes, length) = (self.has_quotes, self.pieces.len());
        let words = super::brace::expand(self.pieces)?;
        // Bash treats no word that comes from braces as an assignment, and does not expand every sequence.
        let is_counted =
            |piece: &WordPiece| matches!(piece, WordPiece::Unknown { source: ExpansionSource::Counted, .. });
        let assigns = match &words[..] {
            [word] if word.len() == length => Assigns::Yes,
            [word] if !word.iter().any(is_counted) => Assigns::Maybe,
            _ => Assigns::No,
        };
        let words = words.into_iter().map(|pieces| {
            let pieces = with_literal_brackets(tilde::expand(&pieces, assigns, home));
            Word { pieces: pieces.into_iter().filter(is_text).collect(), has_quotes }
        });
        Some(words.filter(|word| word.has_quotes || !word.pieces.is_empty()).collect())
    }

    /// The word with its tildes expanded, but not its braces.
    pub(super) fn with_braces(self, home: Option<&str>) -> Word {
        let pieces = with_literal_brackets(tilde::expand(&self.pieces, Assigns::Yes, home));
        Word { pieces: pieces.into_iter().filter(is_text).collect(), has_quotes: self.has_quotes }
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
    pub(super) fn unsplit(self, home: Option<&str>) -> Word {
        let quoted = |piece| match piece {
            WordPiece::Char { char, .. } => Some(WordPiece::Char { char, quoted: true }),
            WordPiece::Unknown { source, .. } => Some(WordPiece::Unknown { quoted: true, source }),
            WordPiece::EmptyQuotes => None,
        };
        let pieces = tilde::expand(&self.pieces, Assigns::Yes, home);
        Word { pieces: pieces.into_iter().filter_map(quoted).collect(), has_quotes: true }
    }

    fn is_equals(&self, at: usize) -> bool {
        self.pieces.get(at) == Some(&WordPiece::Char { char: '=', quoted: false })
    }
}

/// Marks unclosed brackets as literal, as in `[ -f x ]`.
fn with_literal_brackets(mut pieces: Vec<WordPiece>) -> Vec<WordPiece> {
    let end = pieces.iter().rposition(closes).unwrap_or(0);
    for piece in &mut pieces[end..] {
        if let WordPiece::Char { char: '[', quoted } = piece {
            *quoted = true;
        }
    }
    pieces
}

/// The number of pieces after an opening bracket, up to the last one in the same name that may close it.
fn class_end(pieces: &[WordPiece]) -> usize {
    let is_slash = |piece: &WordPiece| matches!(piece, WordPiece::Char { char: '/', .. });
    let name = &pieces[..pieces.iter().position(is_slash).unwrap_or(pieces.len())];
    name.iter().rposition(closes).map_or(0, |last| last + 1)
}

/// Whether a piece may close a class in brackets.
fn closes(piece: &WordPiece) -> bool {
    matches!(piece, WordPiece::Char { char: ']', quoted: false } | WordPiece::Unknown { quoted: false, .. })
}

/// Whether a piece comes to text.
fn is_text(piece: &WordPiece) -> bool {
    *piece != WordPiece::EmptyQuotes
}

/// Whether a character can be in the name of a variable.
pub(super) fn is_name_char(char: char, is_first: bool) -> bool {
    char == '_' || char.is_ascii_alphabetic() || (!is_first && char.is_ascii_digit())
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
        self.glyphs().into_iter().map(|glyph| match glyph {
            CharClass::Is(char) => Some(char),
            CharClass::NoDot | CharClass::Name | CharClass::Any => None,
        })
    }

    /// The word as a glob, in which quoted characters are escaped; `None` if it has an expansion, alternatives in
    /// braces included.
    pub(super) fn glob(&self) -> Option<String> {
        let plain = |char| WordPiece::Char { char, quoted: false };
        let has_dots = self.pieces.windows(2).any(|pair| pair == [plain('.'), plain('.')]);
        if self.pieces.contains(&plain('{')) && (has_dots || self.pieces.contains(&plain(','))) {
            return None;
        }
        let mut glob = String::with_capacity(self.pieces.len());
        let mut may_be_class = false;
        for piece in &self.pieces {
            let WordPiece::Char { char, quoted } = *piece else { return None };
            may_be_class |= char == '[' && !quoted;
            let is_special = match char {
                '{' | '}' | '\\' => true,
                '*' | '?' | '[' | ']' | '!' => quoted,
                '^' | '-' => quoted && may_be_class,
                _ => false,
            };
            glob.extend(is_special.then_some('\\'));
            glob.push(char);
        }
        Some(glob)
    }

    /// What is known of each character. A class in brackets is one unknown text, up to the last closing bracket of the name.
    pub fn glyphs(&self) -> Vec<CharClass> {
        let mut glyphs = Vec::with_capacity(self.pieces.len());
        let mut rest = &self.pieces[..];
        while let [piece, others @ ..] = rest {
            rest = others;
            glyphs.push(match piece {
                WordPiece::Char { char: '[', quoted: false } => {
                    let (class, after) = rest.split_at(class_end(rest));
                    rest = after;
                    let is_known = class.iter().all(|piece| matches!(piece, WordPiece::Char { .. }));
                    if is_known { CharClass::Name } else { CharClass::Any }
                }
                WordPiece::Char { char, quoted } if *quoted || !is_wild(*char) => CharClass::Is(*char),
                WordPiece::Char { .. } | WordPiece::Unknown { source: ExpansionSource::Number, .. } => {
                    CharClass::Name
                }
                WordPiece::Unknown { .. } | WordPiece::EmptyQuotes => CharClass::Any,
            });
        }
        glyphs
    }

    /// The text that bash leaves of it if its wildcards match no file; `None` if an expansion is in it.
    pub fn unmatched(&self) -> Option<String> {
        let char = |piece: &WordPiece| match piece {
            WordPiece::Char { char, .. } => Some(*char),
            _ => None,
        };
        self.pieces.iter().map(char).collect()
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
            WordPiece::EmptyQuotes => false,
        })
    }

    /// Whether an expansion in it can produce several words, or none.
    pub(super) fn may_be_words(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, WordPiece::Unknown { quoted: false, .. }))
    }

    /// Whether the text can be this one.
    pub fn may_be(&self, text: &str) -> bool {
        fits(&self.glyphs(), text)
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
                _ => None,
            })
            .collect();
        // A value that splits could contain further names.
        name.filter(|name| !name.is_empty() && !self.may_split()).map(|name| (name, value))
    }

    /// The name of a function, if nothing in the word is quoted.
    pub(super) fn name(&self) -> Option<String> {
        RawWord { pieces: self.pieces.clone(), ..RawWord::default() }.name().filter(|_| !self.has_quotes)
    }

    /// Whether it can begin with a dash.
    pub fn may_begin_option(&self) -> bool {
        self.first().is_none_or(|first| first == '-')
    }

    /// Its first character, if that is known and literal.
    pub(super) fn first(&self) -> Option<char> {
        self.pattern().next().flatten()
    }

    /// The word as one would type it, with `…` for unknown text; in quotes if bash would read it otherwise without them.
    pub fn shown(&self) -> String {
        let text: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                WordPiece::Char { char, .. } => *char,
                WordPiece::Unknown { .. } | WordPiece::EmptyQuotes => '…',
            })
            .collect();
        let is_plain = |char: char| char.is_alphanumeric() || "_-./:=,@%+…*?[]{}~^".contains(char);
        let reads_as = |known| {
            !text.contains(['~', '*', '?', '[', '{'])
                || parser::literal(&text).is_some_and(|read| read == known)
        };
        match !text.is_empty() && text.chars().all(is_plain) && self.text().is_none_or(reads_as) {
            true => text,
            false if text.contains(|char: char| char.is_ascii_control()) => ansi_c::quoted(&text),
            false => format!("'{}'", text.replace('\'', r"'\''")),
        }
    }
}

/// Whether an unquoted character is a wildcard.
pub(super) fn is_wild(char: char) -> bool {
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
