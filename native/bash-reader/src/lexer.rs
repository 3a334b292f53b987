//! Words: quotes, expansions and substitutions.
//!
//! A text that bash might read differently is a [`ParseError`], and the command then needs approval.

use super::cursor::{Cursor, ends_word};
use super::parser::{CommandParser, ListEnd};
use super::word::{ExpansionSource, RawWord, WordPiece, is_name_char};
use super::{ParseError, ansi_c, brace};

type Result<T> = std::result::Result<T, ParseError>;

impl CommandParser<'_> {
    /// Reads the word that begins here; it has no pieces if there is none.
    pub(super) fn word(&mut self) -> Result<RawWord> {
        let mut word = RawWord::default();
        while let Some(char) = self.cursor.peek() {
            if matches!(char, '<' | '>') && self.cursor.ahead(1) == Some('(') {
                self.cursor.next();
                if self.is_empty_list() {
                    return Err(ParseError::new("without a command in it, a substitution comes to no word"));
                }
                self.substitution()?;
                word.push_unknown(true);
                continue;
            }
            if ends_word(char) {
                break;
            }
            self.piece(&mut word)?;
        }
        if brace::is_doubtful(&word.pieces) && (word.is_joined || !brace::is_whole(&word.pieces)) {
            return Err(ParseError::new("the braces in it are not balanced"));
        }
        Ok(word)
    }

    fn piece(&mut self, word: &mut RawWord) -> Result<()> {
        match self.cursor.next() {
            None => {}
            Some('\\') => match self.cursor.next_raw() {
                Some(char) => word.push(char, true),
                None => return Err(ParseError::new("it ends in a backslash")),
            },
            Some('\'') => self.single(word)?,
            Some('"') => self.double(word)?,
            Some('`') => self.backquotes(word, false)?,
            Some('$') => self.dollar(word, false)?,
            Some(char) => word.push(char, false),
        }
        Ok(())
    }

    fn single(&mut self, word: &mut RawWord) -> Result<()> {
        let start = word.open_quotes();
        loop {
            match self.cursor.next_raw() {
                Some('\'') => {
                    word.close_quotes(start);
                    return Ok(());
                }
                Some(char) => word.push(char, true),
                None => return Err(ParseError::new("a quote is not closed")),
            }
        }
    }

    fn double(&mut self, word: &mut RawWord) -> Result<()> {
        let start = word.open_quotes();
        loop {
            match self.cursor.next() {
                Some('"') => {
                    word.close_quotes(start);
                    return Ok(());
                }
                None => return Err(ParseError::new("a quote is not closed")),
                Some(char) => self.quoted(char, word, "\"\\$`")?,
            }
        }
    }

    /// A character in double quotes or in a here-document. A backslash quotes the `special` characters.
    fn quoted(&mut self, char: char, word: &mut RawWord, special: &str) -> Result<()> {
        match char {
            '\\' => match self.cursor.peek_raw().filter(|char| special.contains(*char)) {
                Some(char) => {
                    self.cursor.next_raw();
                    word.push(char, true);
                }
                None => word.push('\\', true),
            },
            '$' => self.dollar(word, true)?,
            '`' => self.backquotes(word, true)?,
            char => word.push(char, true),
        }
        Ok(())
    }

    /// The text of a here-document, of which only expansions are relevant.
    pub(super) fn document(&mut self) -> Result<()> {
        let mut text = RawWord::default();
        while let Some(char) = self.cursor.next() {
            self.quoted(char, &mut text, "\\$`")?;
        }
        Ok(())
    }

    /// The rest of an expansion, after its dollar sign.
    pub(super) fn dollar(&mut self, word: &mut RawWord, in_quotes: bool) -> Result<()> {
        match self.cursor.peek() {
            Some('(') if self.cursor.ahead(1) == Some('(') => {
                self.cursor.take("((");
                self.deeper(Self::arithmetic)?;
                word.push_source(in_quotes, ExpansionSource::Number);
            }
            Some('(') => {
                let start = self.cursor.position();
                self.substitution()?;
                let source = counted(&self.cursor.since(start), &self.out.functions);
                word.push_source(in_quotes, source);
            }
            Some('{') if self.cursor.take("{HOME}") => self.home_directory(word, in_quotes),
            Some('{') => {
                self.cursor.next();
                let (source, is_list) = self.deeper(Self::parameter)?;
                word.push_source(in_quotes && !is_list, source);
            }
            Some('\'') if !in_quotes => {
                self.cursor.next();
                let start = word.open_quotes();
                let text =
                    ansi_c::read(&mut self.cursor).ok_or(ParseError::new("a $'…' in it is unusual"))?;
                text.chars().for_each(|char| word.push(char, true));
                word.close_quotes(start);
            }
            Some('"') if !in_quotes => return Err(ParseError::new("$\"…\" is translated by the locale")),
            Some('[') => return Err(ParseError::new("$[…] is an old form of arithmetic")),
            Some(char) if is_name_char(char, true) => {
                let name = self.name();
                let is_joined = !in_quotes && self.is_in_braces();
                word.is_joined |= is_joined;
                if name == "HOME" && !is_joined {
                    self.home_directory(word, in_quotes);
                } else {
                    let source = self.out.values.source(&name);
                    word.push_source(in_quotes, source);
                }
            }
            // Looking for the end of the quotes, or for braces, bash takes the second dollar sign for the beginning of
            // `$(…)` or `${…}`.
            Some('$')
                if self.cursor.ahead(1) == Some('{')
                    || in_quotes && matches!(self.cursor.ahead(1), Some('(' | '[')) =>
            {
                return Err(ParseError::new("bash reads $$ before a bracket in two ways"));
            }
            Some(char @ ('#' | '?' | '$')) => {
                self.cursor.take(&String::from(char));
                word.push_source(in_quotes, ExpansionSource::Number);
            }
            // `$!` is empty without a background process, and so may be no word at all.
            Some('!') => {
                self.cursor.next();
                word.pieces.push(WordPiece::Unknown { quoted: in_quotes, source: ExpansionSource::Number });
            }
            Some(char) if char.is_ascii_digit() || "@*-".contains(char) => {
                self.cursor.next();
                word.push_unknown(in_quotes && !matches!(char, '@' | '*'));
            }
            _ => {
                word.push('$', in_quotes);
                word.is_joined |= !in_quotes && self.is_in_braces();
            }
        }
        Ok(())
    }

    /// The value of `HOME`, which nothing assigns without a doubt. Bash splits it where it is not quoted.
    fn home_directory(&mut self, word: &mut RawWord, in_quotes: bool) {
        let is_known = self.out.has_variables;
        let is_whole = |home: &&str| {
            is_known
                && (in_quotes
                    || home.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte)))
        };
        match self.home().filter(is_whole).map(str::to_owned) {
            Some(home) => home.chars().for_each(|char| word.push(char, true)),
            None => {
                let source = self.out.values.source("HOME");
                word.push_source(in_quotes, source);
            }
        }
    }

    /// Whether the next character can be part of a brace expansion.
    fn is_in_braces(&self) -> bool {
        matches!(self.cursor.peek(), Some('{' | ',' | '}'))
    }

    /// Whether the parentheses that come next contain only blanks.
    fn is_empty_list(&self) -> bool {
        self.cursor.upcoming().skip(1).find(|char| !matches!(char, ' ' | '\t' | '\n')) == Some(')')
    }

    /// `(…)` after `$`, `<` or `>`.
    fn substitution(&mut self) -> Result<()> {
        self.cursor.next();
        self.nested(|parser| parser.list(ListEnd::Parenthesis))?;
        self.expect(")")
    }

    fn backquotes(&mut self, word: &mut RawWord, in_quotes: bool) -> Result<()> {
        let mut text = Vec::new();
        loop {
            match self.cursor.next_raw() {
                None => return Err(ParseError::new("a backquote is not closed")),
                Some('`') => break,
                Some('\\') => match self.cursor.next_raw() {
                    Some(char @ ('\\' | '$' | '`')) => text.push(char),
                    Some('"') if in_quotes => {
                        return Err(ParseError::new("quotes within backquotes are unclear"));
                    }
                    Some('\n') | None => return Err(ParseError::new("backquotes hold an unclear backslash")),
                    Some(char) => text.extend(['\\', char]),
                },
                Some(char) => text.push(char),
            }
        }
        // Expanding braces, bash takes such quotes for the end of those around.
        if in_quotes && text.contains(&'"') && text.contains(&'{') {
            return Err(ParseError::new("quotes and braces within backquotes are unclear"));
        }
        word.push_unknown(in_quotes);
        let text = text.into_iter().collect::<String>();
        self.inner(&text, |parser| parser.list(ListEnd::End))
    }
}

/// Commands that print one number and nothing else: `(date +%s)`, `(… | wc -l)`, `(wc -l < file)`.
fn counted(text: &str, functions: &[String]) -> ExpansionSource {
    const COUNTING: [&str; 8] =
        ["wc -l", "wc -c", "wc -w", "wc -m", "nproc", "date +%s", "date +%s%N", "date +%Y"];
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or_default();
    let is_one = !inner.contains(|char| ";&(){}\n`#\\".contains(char))
        && !["||", ">|"].iter().any(|other| inner.contains(other));
    let last = inner.rsplit('|').next().unwrap_or_default().trim_matches([' ', '\t']);
    let (command, file) = last.split_once('<').map_or((last, None), |(command, file)| (command, Some(file)));
    let command = command.trim_end_matches([' ', '\t']);
    let is_file = file.is_none_or(|file| {
        !file.contains(['<', '>']) && !file.trim_matches([' ', '\t']).contains([' ', '\t'])
    });
    let is_sequence = command
        .strip_prefix("seq ")
        .is_some_and(|numbers| numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b' '));
    let is_own = functions.iter().any(|name| command.split(' ').next() == Some(name));
    match is_one && is_file && !is_own && (COUNTING.contains(&command) || is_sequence) {
        true => ExpansionSource::Counted,
        false => ExpansionSource::Other,
    }
}

/// The next word, if it consists of plain characters only: a reserved word, or a name.
pub(super) fn plain_word(cursor: &Cursor) -> Option<String> {
    let mut text = String::new();
    let mut upcoming = cursor.upcoming().take(32).peekable();
    while let Some(char) = upcoming.next() {
        match char {
            // A process substitution belongs to the word.
            '<' | '>' if upcoming.peek() == Some(&'(') => return None,
            char if ends_word(char) => break,
            '\\' | '\'' | '"' | '`' | '$' => return None,
            char => text.push(char),
        }
    }
    (!text.is_empty()).then_some(text)
}
