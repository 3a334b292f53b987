//! Patterns of ignore and attributes files, with git's semantics.
//!
//! A pattern is matched by simulating a nondeterministic automaton: the time is at most the pattern's length times the
//! text's.

use crate::repo::LetterCase;

/// Maximum length of a pattern; no path is longer.
const MAX_LENGTH: usize = 4096;

fn is_special(byte: &u8) -> bool {
    b"*?[\\".contains(byte)
}

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GlobPattern {
    /// The text itself.
    Literal(Vec<u8>),
    /// A name without slashes that ends like this.
    Suffix(Vec<u8>),
    /// Any other pattern.
    Tokens(Vec<GlobToken>),
    /// A malformed pattern, which matches nothing.
    Never,
}

/// One element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GlobToken {
    /// This byte.
    Byte(u8),
    /// One byte of a set; never a slash.
    OneOf(Box<[bool; 256]>),
    /// Any bytes except slashes.
    Star,
    /// Any number of directories (`**/`); always followed by `InDir`.
    Dirs,
    /// The rest of a directory's name and its slash, then back to `Dirs`.
    InDir,
    /// Any bytes.
    Rest,
}

impl GlobPattern {
    /// Compiles a pattern.
    pub(super) fn new(pattern: &[u8], case: LetterCase) -> Self {
        match pattern {
            _ if pattern.len() > MAX_LENGTH => Self::Never,
            _ if case == LetterCase::Ignored => Self::compiled(pattern, case),
            _ if !pattern.iter().any(is_special) => Self::Literal(pattern.to_vec()),
            [b'*', rest @ ..] if !rest.iter().any(|byte| is_special(byte) || *byte == b'/') => {
                Self::Suffix(rest.to_vec())
            }
            _ => Self::compiled(pattern, case),
        }
    }

    fn compiled(pattern: &[u8], case: LetterCase) -> Self {
        GlobCompiler { pattern, at: 0, case }.tokens().map_or(Self::Never, Self::Tokens)
    }

    /// Whether the pattern matches all of `text`.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match self {
            Self::Literal(name) => name == text,
            Self::Suffix(end) => text.ends_with(end) && !text.contains(&b'/'),
            Self::Tokens(tokens) => run(tokens, text),
            Self::Never => false,
        }
    }
}

fn run(tokens: &[GlobToken], text: &[u8]) -> bool {
    let mut now = vec![false; tokens.len() + 1];
    let mut next = now.clone();
    reach(tokens, &mut now, 0);
    for byte in text {
        next.fill(false);
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| now[*at]) {
            if let Some(to) = token.step(at, *byte) {
                reach(tokens, &mut next, to);
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    now[tokens.len()]
}

/// Marks a state, and those reachable from it without consuming a byte.
fn reach(tokens: &[GlobToken], states: &mut [bool], mut at: usize) {
    loop {
        states[at] = true;
        at += match tokens.get(at) {
            Some(GlobToken::Star | GlobToken::Rest) => 1,
            Some(GlobToken::Dirs) => 2,
            _ => return,
        };
    }
}

impl GlobToken {
    /// The next state after a byte.
    fn step(&self, at: usize, byte: u8) -> Option<usize> {
        match self {
            Self::Byte(own) => (*own == byte).then_some(at + 1),
            Self::OneOf(set) => set[usize::from(byte)].then_some(at + 1),
            Self::Star => (byte != b'/').then_some(at),
            Self::Dirs => Some(if byte == b'/' { at } else { at + 1 }),
            Self::InDir => Some(if byte == b'/' { at - 1 } else { at }),
            Self::Rest => Some(at),
        }
    }
}

struct GlobCompiler<'p> {
    pattern: &'p [u8],
    at: usize,
    case: LetterCase,
}

impl GlobCompiler<'_> {
    fn tokens(mut self) -> Option<Vec<GlobToken>> {
        let mut tokens = Vec::new();
        while let Some(&byte) = self.pattern.get(self.at) {
            self.at += 1;
            match byte {
                b'*' => self.stars(&mut tokens),
                b'?' => tokens.push(set(|byte| byte != b'/')),
                b'[' => tokens.push(self.bracket()?),
                b'\\' => {
                    let byte = self.next()?;
                    tokens.push(self.escaped(byte));
                }
                byte => tokens.push(self.byte(byte)),
            }
        }
        Some(tokens)
    }

    /// A byte of the pattern that stands for itself.
    fn byte(&self, byte: u8) -> GlobToken {
        match self.case {
            LetterCase::Ignored if byte.is_ascii_alphabetic() => {
                set(|other| other.eq_ignore_ascii_case(&byte))
            }
            _ => GlobToken::Byte(byte),
        }
    }

    /// A byte behind a backslash. Where case is ignored, git compares it with the lower-case text as it is.
    fn escaped(&self, byte: u8) -> GlobToken {
        match self.case {
            LetterCase::Ignored => set(|other| other.to_ascii_lowercase() == byte),
            LetterCase::Counts => GlobToken::Byte(byte),
        }
    }

    fn next(&mut self) -> Option<u8> {
        self.at += 1;
        self.pattern.get(self.at - 1).copied()
    }

    /// One or more asterisks, of which the first has been consumed. Two mean directories if they stand alone between
    /// slashes.
    fn stars(&mut self, tokens: &mut Vec<GlobToken>) {
        let start = self.at - 1;
        while self.pattern.get(self.at) == Some(&b'*') {
            self.at += 1;
        }
        // git matches the literal prefix of a pattern separately, so asterisks directly after it count as the start of
        // the pattern.
        let is_first = !self.pattern[..start].iter().any(is_special);
        let begins = is_first || self.pattern[start - 1] == b'/';
        match self.pattern.get(self.at) {
            Some(b'/') if self.at - start >= 2 && begins => {
                self.at += 1;
                tokens.extend([GlobToken::Dirs, GlobToken::InDir]);
            }
            None if self.at - start >= 2 && begins => tokens.push(GlobToken::Rest),
            _ => tokens.push(GlobToken::Star),
        }
    }

    /// A bracket expression, of which the opening bracket has been consumed; `None` if it is malformed (`wildmatch.c`
    /// of git).
    fn bracket(&mut self) -> Option<GlobToken> {
        let negated = matches!(self.pattern.get(self.at), Some(b'!' | b'^'));
        self.at += usize::from(negated);
        let mut items = Vec::new();
        // What a range can begin with.
        let mut last = None;
        let mut byte = self.next()?;
        loop {
            let follows = self.pattern.get(self.at).filter(|byte| **byte != b']');
            match (byte, last) {
                (b'-', Some(low)) if follows.is_some() => {
                    items.push(BracketItem::Range(low, self.unescaped()?));
                    last = None;
                }
                (b'[', _) if follows == Some(&b':') && self.ends_class()? => {
                    items.push(self.class()?);
                    last = None;
                }
                _ => {
                    let single = if byte == b'\\' { self.next()? } else { byte };
                    items.push(BracketItem::Byte(single));
                    last = Some(single);
                }
            }
            byte = self.next()?;
            if byte == b']' {
                break;
            }
        }
        let case = self.case;
        Some(set(|byte| byte != b'/' && items.iter().any(|item| item.has(byte, case)) != negated))
    }

    /// A byte, or the one behind a backslash.
    fn unescaped(&mut self) -> Option<u8> {
        match self.next()? {
            b'\\' => self.next(),
            byte => Some(byte),
        }
    }

    /// Whether the next closing bracket ends a class, as in `[:alpha:]`; otherwise `[` stands for itself. `None` if
    /// there is none.
    fn ends_class(&self) -> Option<bool> {
        let rest = &self.pattern[self.at + 1..];
        let end = rest.iter().position(|byte| *byte == b']')?;
        Some(end > 0 && rest[end - 1] == b':')
    }

    /// A class, of which the first bracket has been consumed.
    fn class(&mut self) -> Option<BracketItem> {
        let rest = &self.pattern[self.at + 1..];
        let end = rest.iter().position(|byte| *byte == b']')?;
        let name = &rest[..end - 1];
        self.at += end + 2;
        Some(BracketItem::Class { is_member: class(name)?, is_upper: name == b"upper" })
    }
}

/// An element of a bracket expression.
enum BracketItem {
    Byte(u8),
    /// The first and the last byte. Empty if they are in the wrong order.
    Range(u8, u8),
    Class {
        is_member: fn(u8) -> bool,
        is_upper: bool,
    },
}

impl BracketItem {
    /// Whether a byte of a text is meant. Where case is ignored, git compares the lower-case letter, and with ranges
    /// and the class of capitals the other one, too.
    fn has(&self, byte: u8, case: LetterCase) -> bool {
        let folds = case == LetterCase::Ignored;
        let byte = if folds { byte.to_ascii_lowercase() } else { byte };
        match self {
            Self::Byte(own) => *own == byte,
            Self::Range(low, high) => {
                let is_within = |byte: u8| (*low..=*high).contains(&byte);
                is_within(byte) || folds && is_within(byte.to_ascii_uppercase())
            }
            Self::Class { is_member, is_upper } => {
                is_member(byte) || folds && *is_upper && byte.is_ascii_lowercase()
            }
        }
    }
}

fn set(is_member: impl Fn(u8) -> bool) -> GlobToken {
    GlobToken::OneOf(Box::new(std::array::from_fn(|byte| u8::try_from(byte).is_ok_and(&is_member))))
}

fn class(name: &[u8]) -> Option<fn(u8) -> bool> {
    Some(match name {
        b"alnum" => |byte| byte.is_ascii_alphanumeric(),
        b"alpha" => |byte| byte.is_ascii_alphabetic(),
        b"blank" => |byte| byte == b' ' || byte == b'\t',
        b"cntrl" => |byte| byte.is_ascii_control(),
        b"digit" => |byte| byte.is_ascii_digit(),
        b"graph" => |byte| byte.is_ascii_graphic(),
        b"lower" => |byte| byte.is_ascii_lowercase(),
        b"print" => |byte| byte.is_ascii_graphic() || byte == b' ',
        b"punct" => |byte| byte.is_ascii_punctuation(),
        b"space" => |byte| byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => |byte| byte.is_ascii_uppercase(),
        b"xdigit" => |byte| byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let glob = GlobPattern::new(pattern.as_bytes(), LetterCase::Counts);
        for text in yes {
            assert!(glob.matches(text.as_bytes()), "{pattern} should match {text}");
        }
        for text in no {
            assert!(!glob.matches(text.as_bytes()), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn stars_stay_within_a_name() {
        check("a*c", &["ac", "abc", "abbc"], &["a/c", "ab", "xabc"]);
        check("*.o", &["x.o", ".o"], &["a/x.o", "x.oo"]);
        check("a**c", &["abc"], &["a/c"]);
        check("?**/c", &["ab/c"], &["a/b/c"]);
        check("?", &["a"], &["/", "ab", ""]);
    }

    #[test]
    fn two_stars_between_slashes_are_any_directories() {
        check("**/x", &["x", "a/x", "a/b/x"], &["ax", "a/bx"]);
        check("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]);
        check("a/**", &["a/x", "a/x/y"], &["a", "b/x"]);
        check("d**/a", &["d/a", "d/b/a", "dx/a"], &["da/b"]);
    }

    #[test]
    fn brackets_are_sets_ranges_and_classes() {
        check("[a-c]", &["a", "c"], &["d", "-"]);
        check("[!a]", &["b"], &["a", "/"]);
        check("[]x]", &["]", "x"], &["a"]);
        check("[[:digit:]x]", &["5", "x"], &["a"]);
        check("[a", &[], &["[a", "a"]);
        check("[c-a]", &["c"], &["a", "b", "-"]);
        check("[a-c-e]", &["b", "-", "e"], &["d"]);
        check("[[:]", &["[", ":"], &["]"]);
        check("[![:a]", &["b"], &["[", ":", "a"]);
        check("[[:none:]]", &[], &["n", ":"]);
    }

    #[test]
    fn a_backslash_makes_the_next_byte_plain() {
        check("\\*x", &["*x"], &["ax", "\\*x"]);
        check("x\\", &[], &["x", "x\\"]);
    }

    /// As git 2.47 does, also where it is odd.
    #[test]
    fn where_case_is_ignored_letters_of_either_fit() {
        let fits = |pattern: &str, text: &str| {
            GlobPattern::new(pattern.as_bytes(), LetterCase::Ignored).matches(text.as_bytes())
        };
        let yes = [
            ("*.env", "PROD.ENV"),
            ("Dir", "dIR"),
            ("[a-c]x", "Bx"),
            ("[A-C]", "b"),
            ("[[:upper:]]", "a"),
            ("\\a", "A"),
            ("[!A]", "A"),
        ];
        for (pattern, text) in yes {
            assert!(fits(pattern, text), "{pattern} should match {text}");
        }
        for (pattern, text) in [("[!a]", "A"), ("@", "`"), ("*.e", "a/b.E"), ("[A]", "A"), ("\\A", "a")] {
            assert!(!fits(pattern, text), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        check(&"*a".repeat(200), &[], &[&"a".repeat(190)]);
    }
}
