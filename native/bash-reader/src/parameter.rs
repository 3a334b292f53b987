//! `${…}`: values of variables, or parts of them.

use super::ParseError;
use super::parser::{CommandParser, Result};
use super::values::ValueKind;
use super::word::{ExpansionSource, RawWord};

impl CommandParser<'_> {
    /// `${…}` after the opening brace: the source of its value, and whether it can be a list even in quotes.
    pub(super) fn parameter(&mut self) -> Result<(ExpansionSource, bool)> {
        let odd = || ParseError::new("a ${…} in it can do more than give a value");
        let has_length = self.cursor.peek() == Some('#') && !matches!(self.cursor.ahead(1), None | Some('}'));
        if has_length {
            self.cursor.next();
        }
        // `${!list[@]}` expands to subscripts; `${!name}` evaluates a value.
        let is_keys = self.cursor.take("!");
        let name = self.name();
        let (mut source, mut is_list) = match &*name {
            "" if is_keys => return Err(odd()),
            "" => self.special()?,
            name if name.starts_with(|char: char| char.is_ascii_digit()) => (ExpansionSource::Other, false),
            name => (self.out.values.source(name), false),
        };
        if !name.is_empty() && self.cursor.take("[") {
            is_list = self.subscript()?;
        }
        if is_keys && !(is_list && self.cursor.peek() == Some('}')) {
            return Err(odd());
        }
        if is_keys || has_length {
            source = if has_length { ExpansionSource::Number } else { ExpansionSource::Other };
        }
        if has_length && self.cursor.peek() != Some('}') {
            return Err(odd());
        }
        let is_list = is_list && !has_length;
        if self.cursor.take("}") {
            return Ok((source, is_list));
        }
        self.operator().ok_or_else(odd)??;
        Ok((ExpansionSource::Other, is_list))
    }

    fn special(&mut self) -> Result<(ExpansionSource, bool)> {
        match self.cursor.next() {
            Some('#' | '?' | '$') => Ok((ExpansionSource::Number, false)),
            Some('-') => Ok((ExpansionSource::Other, false)),
            Some('@' | '*') => Ok((ExpansionSource::Other, true)),
            _ => Err(ParseError::new("a ${…} in it can do more than give a value")),
        }
    }

    /// A subscript up to its bracket; returns whether it means the whole list.
    pub(super) fn subscript(&mut self) -> Result<bool> {
        if self.cursor.take("@]") || self.cursor.take("*]") {
            return Ok(true);
        }
        self.deeper(|parser| parser.expression("]"))?;
        Ok(false)
    }

    /// The operator after the name; `None` for an unsupported one.
    fn operator(&mut self) -> Option<Result<()>> {
        match (self.cursor.peek()?, self.cursor.ahead(1)?) {
            (':', '-' | '+' | '?') | ('-' | '+' | '?' | '#' | '%' | '/' | '^' | ',', _) => {
                Some(self.parameter_word())
            }
            (':', '=') => None,
            (':', _) => {
                self.cursor.next();
                Some(self.deeper(|parser| parser.expression("}")))
            }
            _ => None,
        }
    }

    /// The rest of `${…}`, including the operator.
    fn parameter_word(&mut self) -> Result<()> {
        let odd = || ParseError::new("a ${…} in it holds quotes or braces");
        loop {
            match self.cursor.next().ok_or_else(odd)? {
                '}' => return Ok(()),
                '$' => self.dollar(&mut RawWord::default(), true)?,
                '\\' if self.cursor.peek_raw().is_some_and(|char| "/.*?[]-+:, ".contains(char)) => {
                    self.cursor.next_raw();
                }
                '\'' | '"' | '\\' | '`' | '{' | '(' | ')' | '<' | '>' | '\n' => return Err(odd()),
                _ => {}
            }
        }
    }

    /// Records that bash evaluates a word again, which is a doubt unless all its values are of this kind.
    pub(super) fn needs(&mut self, word: &RawWord, kind: ValueKind, why: &str) {
        if !self.out.values.require(&word.pieces, kind) {
            self.doubt(why);
        }
    }
}
