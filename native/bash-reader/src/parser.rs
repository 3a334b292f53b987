//! The grammar of bash: lists, pipelines, compound commands, simple commands.
//!
//! It builds no tree. Every simple command is passed to `run`, which determines its programs; the syntax in between only has
//! to be understood well enough to find each of them. Depth and length are bounded.

use super::cursor::{Cursor, ends_word};
use super::heredoc::Heredoc;
use super::lexer::plain_word;
use super::values::ValueKind;
use super::word::{RawWord, Word, is_name_char};
use super::{Analysis, ParseError};

pub(super) type Result<T> = std::result::Result<T, ParseError>;

/// Maximum nesting depth.
const MOST_DEPTH: usize = 32;
/// Maximum number of characters read in total; those of nested commands count again.
const MOST_CHARS: usize = 1 << 20;

/// The end of a list of commands.
#[derive(Debug, Clone, Copy)]
pub(super) enum ListEnd {
    /// The end of the text.
    End,
    /// `)`.
    Parenthesis,
    /// One of these reserved words.
    Words(&'static [&'static str]),
    /// The end of a clause of `case`.
    Clause,
}

/// Reserved words that cannot begin a command.
const INNER: [&str; 9] = ["then", "do", "done", "fi", "elif", "else", "esac", "}", "!"];

/// A simple command: assignments, words and redirections.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    /// Names and values.
    pub(super) assignments: Vec<(String, Option<RawWord>)>,
    /// Its words, expanded as far as possible.
    pub(super) words: Vec<Word>,
    /// Files that it reads from.
    pub(super) reads: Vec<Word>,
    /// The text, for messages.
    pub(super) part: String,
}

impl SimpleCommand {
    /// Whether its arguments that look like assignments are assignments.
    fn declares(&self) -> bool {
        const DECLARING: [&str; 5] = ["export", "readonly", "declare", "typeset", "local"];
        self.words.first().and_then(Word::name).is_some_and(|name| DECLARING.contains(&&*name))
    }
}

/// A parser of one text.
pub(super) struct CommandParser<'a> {
    pub(super) cursor: Cursor,
    pub(super) out: &'a mut Analysis,
    pub(super) depth: usize,
    pub(super) pending: Vec<Heredoc>,
    /// Whether the next command certainly runs, and in the shell itself.
    pub(super) is_statement: bool,
}

/// Parses a text as bash does and records everything that it runs.
pub(super) fn read(text: &str, depth: usize, out: &mut Analysis) -> Result<()> {
    parse(text, depth, out, |parser| {
        parser.list(ListEnd::End)?;
        parser.end()
    })
}

/// Parses a text that consists of words only.
pub(super) fn words(text: &str, out: &mut Analysis) -> Result<Vec<Word>> {
    let home = out.home.clone();
    let words = raw_words(text, out)?.into_iter();
    Ok(words.flat_map(|word| word.expand(home.as_deref()).unwrap_or_default()).collect())
}

/// The words of a text that consists of words only, without a comment, before the expansion of braces and tildes.
pub(super) fn raw_words(text: &str, out: &mut Analysis) -> Result<Vec<RawWord>> {
    let mut words = Vec::new();
    parse(text, 0, out, |parser| {
        loop {
            while matches!(parser.cursor.peek(), Some(' ' | '\t')) {
                parser.cursor.next();
            }
            match parser.cursor.peek() {
                Some('#') => return Err(parser.unexpected()),
                Some(char) if !ends_word(char) => words.push(parser.word()?),
                _ => return parser.end(),
            }
        }
    })?;
    Ok(words)
}

/// The text of a single word without expansions; `None` for anything else.
pub(super) fn literal(text: &str) -> Option<String> {
    let mut out = Analysis::default();
    match &words(text, &mut out).ok()?[..] {
        [word] if out.programs.is_empty() && out.doubts.is_empty() => word.text(),
        _ => None,
    }
}

/// Runs a parser over a text.
fn parse(
    text: &str,
    depth: usize,
    out: &mut Analysis,
    read: impl FnOnce(&mut CommandParser<'_>) -> Result<()>,
) -> Result<()> {
    let chars: Vec<char> = text.chars().collect();
    out.read += chars.len();
    out.branches |= depth > 0;
    if depth > MOST_DEPTH || out.read > MOST_CHARS {
        return Err(ParseError::new("it is too deeply nested"));
    }
    read(&mut CommandParser {
        cursor: Cursor::new(chars),
        out,
        depth,
        pending: Vec::new(),
        is_statement: false,
    })
}

impl CommandParser<'_> {
    /// The home directory, which tildes stand for.
    pub(super) fn home(&self) -> Option<&str> {
        self.out.home.as_deref()
    }

    /// Records a doubt.
    pub(super) fn doubt(&mut self, why: &str) {
        self.out.doubt(String::new(), why);
    }

    /// Parses a nested part, one level deeper.
    pub(super) fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.no_pending()?;
        self.deeper(read)?;
        self.no_pending()
    }

    /// Parses a text that is contained in this one in another form.
    pub(super) fn inner(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut CommandParser<'_>) -> Result<()>,
    ) -> Result<()> {
        parse(text, self.depth + 1, self.out, |parser| {
            read(parser)?;
            parser.end()
        })
    }

    /// Whether the end of the text is reached.
    fn end(&self) -> Result<()> {
        if self.cursor.peek().is_some() { Err(self.unexpected()) } else { self.no_pending() }
    }

    fn unexpected(&self) -> ParseError {
        match self.cursor.peek() {
            None => ParseError::new("it is not complete"),
            Some(char) => ParseError(format!("{char:?} is not expected")),
        }
    }

    pub(super) fn no_pending(&self) -> Result<()> {
        match self.pending.is_empty() {
            true => Ok(()),
            false => Err(ParseError::new("a here-document has no end where it is expected")),
        }
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<()> {
        match self.cursor.take(text) {
            true => Ok(()),
            false => Err(ParseError(format!("{text:?} is missing"))),
        }
    }

    /// Skips blanks and comments.
    pub(super) fn blanks(&mut self) {
        while matches!(self.cursor.peek(), Some(' ' | '\t')) {
            self.cursor.next();
        }
        if self.cursor.peek() == Some('#') {
            while self.cursor.peek_raw().is_some_and(|char| char != '\n') {
                self.cursor.next_raw();
            }
        }
    }

    /// Skips blanks, comments and line ends, and reads the here-documents that begin there.
    pub(super) fn lines(&mut self) -> Result<()> {
        loop {
            self.blanks();
            if self.cursor.peek() != Some('\n') {
                return Ok(());
            }
            self.cursor.next();
            self.documents()?;
        }
    }

    /// A list of commands up to its end, which is not consumed.
    pub(super) fn list(&mut self, until: ListEnd) -> Result<()> {
        let mut is_first = true;
        loop {
            self.lines()?;
            if self.is_at(until) {
                return Ok(());
            }
            self.out.branches |= !std::mem::take(&mut is_first);
            self.is_statement = true;
            self.and_or()?;
            self.blanks();
            let has_end = match self.cursor.peek() {
                Some(';') if !matches!(self.cursor.ahead(1), Some(';' | '&')) => self.cursor.take(";"),
                Some('&') => self.cursor.take("&"),
                Some('\n') => true,
                _ => false,
            };
            if !has_end && !self.is_at(until) {
                return Err(self.unexpected());
            }
        }
    }

    pub(super) fn is_at(&self, until: ListEnd) -> bool {
        match until {
            ListEnd::End => self.cursor.peek().is_none(),
            ListEnd::Parenthesis => self.cursor.peek() == Some(')'),
            ListEnd::Words(words) => plain_word(&self.cursor).is_some_and(|word| words.contains(&&*word)),
            ListEnd::Clause => {
                self.cursor.starts_with(";;")
                    || self.cursor.starts_with(";&")
                    || plain_word(&self.cursor).as_deref() == Some("esac")
            }
        }
    }

    fn and_or(&mut self) -> Result<()> {
        loop {
            self.pipeline()?;
            self.blanks();
            let is_or = self.cursor.take("||");
            if !is_or && !self.cursor.take("&&") {
                return Ok(());
            }
            self.out.branches |= is_or;
            self.is_statement = false;
            self.lines()?;
        }
    }

    fn pipeline(&mut self) -> Result<()> {
        self.prefixes()?;
        loop {
            self.command()?;
            self.blanks();
            if self.cursor.peek() != Some('|') || self.cursor.ahead(1) == Some('|') {
                return Ok(());
            }
            self.cursor.take("|");
            self.cursor.take("&");
            self.out.branches = true;
            self.is_statement = false;
            self.lines()?;
        }
    }

    /// `!` and `time`.
    fn prefixes(&mut self) -> Result<()> {
        loop {
            self.blanks();
            match plain_word(&self.cursor).as_deref() {
                Some("!") => {
                    self.cursor.take("!");
                    self.out.branches = true;
                }
                Some("time") => {
                    self.cursor.take("time");
                    self.blanks();
                    if plain_word(&self.cursor).as_deref() == Some("-p") {
                        self.cursor.take("-p");
                        self.blanks();
                    }
                    if self.cursor.peek() == Some('-') {
                        return Err(ParseError::new("options of time change what it is"));
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn command(&mut self) -> Result<()> {
        self.blanks();
        let start = self.cursor.position();
        match plain_word(&self.cursor) {
            Some(word) if INNER.contains(&&*word) => Err(ParseError(format!("{word:?} is not expected"))),
            Some(word) => match &*word {
                "{" => self.compound("{", Self::group),
                "[[" => self.compound("[[", Self::condition),
                "if" => self.compound("if", Self::branches),
                "while" => self.compound("while", Self::circle),
                "until" => self.compound("until", Self::circle),
                "for" => self.compound("for", Self::every),
                "case" => self.compound("case", Self::clauses),
                "function" => self.keyword_function(start),
                "select" | "coproc" => Err(ParseError(format!("{word} is not followed"))),
                _ => self.simple(start),
            },
            None if self.cursor.starts_with("((") => {
                self.no_pending()?;
                self.compound("((", Self::arithmetic)
            }
            None if self.cursor.peek() == Some('(') => self.compound("(", Self::subshell),
            None => self.simple(start),
        }
    }

    /// As [`Self::nested`], for a part that may begin here-documents which end after it.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MOST_DEPTH {
            return Err(ParseError::new("it is too deeply nested"));
        }
        self.depth += 1;
        self.out.branches = true;
        let result = read(self);
        self.depth -= 1;
        result
    }

    pub(super) fn is_substitution(&self) -> bool {
        self.cursor.starts_with("<(") || self.cursor.starts_with(">(")
    }

    fn simple(&mut self, start: usize) -> Result<()> {
        let mut simple = SimpleCommand::default();
        let mut is_first = true;
        loop {
            self.blanks();
            if self.redirection(&mut simple)? {
                continue;
            }
            match self.cursor.peek() {
                Some('(') if simple.words.len() == 1 && simple.assignments.is_empty() => {
                    self.cursor.next();
                    self.blanks();
                    self.expect(")")?;
                    return self.function(start, simple.words[0].name());
                }
                Some('(') => return Err(ParseError::new("a parenthesis is not expected")),
                Some(char) if !ends_word(char) || self.is_substitution() => {
                    is_first &= self.simple_word(&mut simple, is_first)?;
                }
                _ => break,
            }
        }
        simple.part = self.cursor.since(start);
        if simple.part.is_empty() {
            return Err(self.unexpected());
        }
        self.run(simple)
    }

    /// A word of a simple command; returns whether it is an assignment.
    fn simple_word(&mut self, simple: &mut SimpleCommand, is_first: bool) -> Result<bool> {
        if is_first && self.is_subscript() {
            return self.element().map(|()| true);
        }
        let word = self.word()?;
        if is_descriptor(&word) && matches!(self.cursor.peek(), Some('<' | '>')) {
            return Err(ParseError::new("a redirection sets a variable"));
        }
        if let Some((name, value)) = word.assignment().filter(|_| is_first) {
            let is_array = value.pieces.is_empty() && self.cursor.peek() == Some('(');
            match is_array {
                true => self.array(&name)?,
                false => self.out.values.assign_word(&name, &value.pieces),
            }
            simple.assignments.push((name, (!is_array).then_some(value)));
            return Ok(true);
        }
        if word.assignment().is_some() && simple.declares() {
            simple.words.push(word.unsplit(self.home()));
            return Ok(false);
        }
        simple
            .words
            .extend(word.expand(self.home()).ok_or(ParseError::new("its braces make too many words"))?);
        Ok(false)
    }

    /// Whether `name[` comes next.
    fn is_subscript(&self) -> bool {
        let after = self.cursor.upcoming().enumerate().find(|(at, char)| !is_name_char(*char, *at == 0));
        after.is_some_and(|(length, char)| length > 0 && char == '[')
    }

    /// `name[subscript]=value`.
    fn element(&mut self) -> Result<()> {
        let name = self.name();
        self.out.assigned_in_shell(&name, &name);
        self.cursor.take("[");
        if self.subscript()? || !(self.cursor.take("=") || self.cursor.take("+=")) {
            return Err(ParseError::new("an element of an array is unusual"));
        }
        let value = self.word()?;
        self.out.values.list(&name);
        self.out.values.assign_word(&name, &value.pieces);
        Ok(())
    }

    /// `(…)` after `name=`.
    fn array(&mut self, name: &str) -> Result<()> {
        self.no_pending()?;
        self.cursor.next();
        self.out.values.list(name);
        self.out.values.assign(name, ValueKind::Number);
        loop {
            self.lines()?;
            match self.cursor.peek() {
                Some(')') => {
                    self.cursor.next();
                    // Bash treats text directly after it as part of the assignment.
                    return match self.cursor.peek() {
                        Some(char) if !ends_word(char) => {
                            Err(ParseError::new("something follows an array without a space"))
                        }
                        _ => Ok(()),
                    };
                }
                Some('[') => return Err(ParseError::new("an element of an array is assigned")),
                Some(char) if !ends_word(char) || self.is_substitution() => {
                    self.element_words(name)?;
                }
                _ => return Err(ParseError::new("an array in it is unusual")),
            }
        }
    }

    /// A word in the value of a variable.
    pub(super) fn element_words(&mut self, name: &str) -> Result<()> {
        let words =
            self.word()?.expand(self.home()).ok_or(ParseError::new("its braces make too many words"))?;
        words.iter().for_each(|word| self.out.values.assign_word(name, &word.pieces));
        Ok(())
    }

    pub(super) fn run(&mut self, simple: SimpleCommand) -> Result<()> {
        super::run::simple(self.out, simple, self.depth)
    }
}

pub(super) fn is_name(text: &str) -> bool {
    text.chars().enumerate().all(|(at, char)| is_name_char(char, at == 0))
}

/// Whether a word is `{name}`, which names a variable before a redirection.
fn is_descriptor(word: &RawWord) -> bool {
    use super::word::WordPiece::Char;
    let is = |at: usize, wanted: char| word.pieces.get(at) == Some(&Char { char: wanted, quoted: false });
    is(0, '{') && word.pieces.len() > 2 && is(word.pieces.len() - 1, '}')
}
