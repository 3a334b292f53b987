//! Words: quotes, expansions and substitutions.
//!
//! Whatever bash might read otherwise than it looks is an [`Odd`]: the judge then asks.

use super::cursor::{Cursor, ends_word};
use super::parser::{Parser, Until};
use super::word::{Raw, is_name_char};
use super::{Odd, ansi_c, brace};

type Result<T> = std::result::Result<T, Odd>;

impl Parser<'_> {
    /// Reads the word that begins here; it has no pieces where none does.
    pub(super) fn word(&mut self) -> Result<Raw> {
        let mut word = Raw::default();
        while let Some(char) = self.cursor.peek() {
            if matches!(char, '<' | '>') && self.cursor.ahead(1) == Some('(') {
                self.cursor.next();
                self.substitution()?;
                word.push_unknown(true);
                continue;
            }
            if ends_word(char) {
                break;
            }
            self.piece(&mut word)?;
        }
        if brace::is_doubtful(&word.pieces) && !brace::is_whole(&word.pieces) {
            return Err(Odd::new("the braces in it are not balanced"));
        }
        Ok(word)
    }

    fn piece(&mut self, word: &mut Raw) -> Result<()> {
        match self.cursor.next() {
            None => {}
            Some('\\') => match self.cursor.next_raw() {
                Some(char) => word.push(char, true),
                None => return Err(Odd::new("it ends in a backslash")),
            },
            Some('\'') => self.single(word)?,
            Some('"') => self.double(word)?,
            Some('`') => self.backquotes(word, false)?,
            Some('$') => self.dollar(word, false)?,
            Some(char) => word.push(char, false),
        }
        Ok(())
    }

    fn single(&mut self, word: &mut Raw) -> Result<()> {
        word.has_quotes = true;
        loop {
            match self.cursor.next_raw() {
                Some('\'') => return Ok(()),
                Some(char) => word.push(char, true),
                None => return Err(Odd::new("a quote is not closed")),
            }
        }
    }

    fn double(&mut self, word: &mut Raw) -> Result<()> {
        word.has_quotes = true;
        loop {
            match self.cursor.next() {
                Some('"') => return Ok(()),
                None => return Err(Odd::new("a quote is not closed")),
                Some(char) => self.quoted(char, word, "\"\\$`")?,
            }
        }
    }

    /// A character in double quotes or in a here-document, whose backslashes quote the `special` characters.
    fn quoted(&mut self, char: char, word: &mut Raw, special: &str) -> Result<()> {
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

    /// The text of a here-document, in which only expansions matter.
    pub(super) fn document(&mut self) -> Result<()> {
        let mut text = Raw::default();
        while let Some(char) = self.cursor.next() {
            self.quoted(char, &mut text, "\\$`")?;
        }
        Ok(())
    }

    /// What follows a dollar sign.
    fn dollar(&mut self, word: &mut Raw, in_quotes: bool) -> Result<()> {
        match self.cursor.peek() {
            Some('(') if self.cursor.ahead(1) == Some('(') => {
                self.cursor.take("((");
                self.deeper(Self::arithmetic)?;
                word.push_unknown(in_quotes);
            }
            Some('(') => {
                self.substitution()?;
                word.push_unknown(in_quotes);
            }
            Some('{') => {
                self.cursor.next();
                let is_list = self.deeper(Self::parameter)?;
                word.push_unknown(in_quotes && !is_list);
            }
            Some('\'') if !in_quotes => {
                self.cursor.next();
                word.has_quotes = true;
                let text = ansi_c::read(&mut self.cursor).ok_or(Odd::new("a $'…' in it is unusual"))?;
                text.chars().for_each(|char| word.push(char, true));
            }
            Some('"') if !in_quotes => return Err(Odd::new("$\"…\" is translated by the locale")),
            Some('[') => return Err(Odd::new("$[…] is an old form of arithmetic")),
            Some(char) if is_name_char(char, true) => {
                while self.cursor.peek().is_some_and(|char| is_name_char(char, false)) {
                    self.cursor.next();
                }
                word.push_unknown(in_quotes);
            }
            Some(char) if char.is_ascii_digit() || "@*#?-$!".contains(char) => {
                self.cursor.next();
                word.push_unknown(in_quotes && !matches!(char, '@' | '*'));
            }
            _ => word.push('$', true),
        }
        Ok(())
    }

    /// `(…)` after `$`, `<` or `>`.
    fn substitution(&mut self) -> Result<()> {
        self.cursor.next();
        self.nested(|parser| parser.list(Until::Parenthesis))?;
        self.expect(")")
    }

    fn backquotes(&mut self, word: &mut Raw, in_quotes: bool) -> Result<()> {
        let mut text = Vec::new();
        loop {
            match self.cursor.next_raw() {
                None => return Err(Odd::new("a backquote is not closed")),
                Some('`') => break,
                Some('\\') => match self.cursor.next_raw() {
                    Some(char @ ('\\' | '$' | '`')) => text.push(char),
                    Some('"') if in_quotes => return Err(Odd::new("quotes within backquotes are unclear")),
                    Some('\n') | None => return Err(Odd::new("backquotes hold an unclear backslash")),
                    Some(char) => text.extend(['\\', char]),
                },
                Some(char) => text.push(char),
            }
        }
        word.push_unknown(in_quotes);
        let text = text.into_iter().collect::<String>();
        self.inner(&text, |parser| parser.list(Until::End))
    }

    /// `${…}` after the opening brace; whether it can be a list of words even in quotes.
    fn parameter(&mut self) -> Result<bool> {
        let odd = || Odd::new("a ${…} in it can do more than give a value");
        let has_length = self.cursor.peek() == Some('#') && self.cursor.ahead(1) != Some('}');
        if has_length {
            self.cursor.next();
        }
        let mut name = String::new();
        while let Some(char) = self.cursor.peek().filter(|char| char.is_ascii_alphanumeric() || *char == '_')
        {
            name.push(char);
            self.cursor.next();
        }
        let mut is_list = false;
        if name.is_empty() {
            let special = self.cursor.next().filter(|char| "@*?$-#".contains(*char)).ok_or_else(odd)?;
            is_list = matches!(special, '@' | '*');
        }
        let operator = (self.cursor.peek(), self.cursor.ahead(1));
        let is_known = matches!(
            operator,
            (Some(':'), Some('-' | '+' | '?'))
                | (Some('}' | '-' | '+' | '?' | '#' | '%' | '/' | '^' | ','), _)
        );
        if !is_known || (has_length && operator.0 != Some('}')) {
            return Err(odd());
        }
        self.parameter_word()?;
        Ok(is_list)
    }

    /// The rest of `${…}` after its name, operator included.
    fn parameter_word(&mut self) -> Result<()> {
        let odd = || Odd::new("a ${…} in it holds quotes or braces");
        loop {
            match self.cursor.next().ok_or_else(odd)? {
                '}' => return Ok(()),
                '$' => self.dollar(&mut Raw::default(), true)?,
                '\'' | '"' | '\\' | '`' | '{' | '(' | ')' | '<' | '>' | '\n' => return Err(odd()),
                _ => {}
            }
        }
    }

    /// Arithmetic up to its `))`. Names in it stand for texts that bash would evaluate again, commands included.
    pub(super) fn arithmetic(&mut self) -> Result<()> {
        let odd = |why| Err(Odd::new(why));
        let mut depth = 0_usize;
        loop {
            match self.cursor.next() {
                Some('(') => depth += 1,
                Some(')') if depth > 0 => depth -= 1,
                Some(')') if self.cursor.take(")") => return Ok(()),
                Some(char) if char.is_ascii_digit() || " \t\n+-*/%<>=!&|^~?:,".contains(char) => {}
                Some('$') => {
                    self.dollar(&mut Raw::default(), true)?;
                    self.doubt("arithmetic over values that only the run shows can run commands");
                }
                Some(char) if is_name_char(char, true) => {
                    self.doubt("arithmetic over variables can run commands that they hold");
                }
                _ => return odd("its arithmetic is not plain"),
            }
        }
    }
}

/// The word that comes next, if it is made of plain characters only: a reserved word, or a name.
pub(super) fn plain_word(cursor: &Cursor) -> Option<String> {
    let mut text = String::new();
    for at in 0..32 {
        match cursor.ahead(at) {
            None => break,
            Some(char) if ends_word(char) => break,
            Some('\\' | '\'' | '"' | '`' | '$') => return None,
            Some(char) => text.push(char),
        }
    }
    (!text.is_empty()).then_some(text)
}
