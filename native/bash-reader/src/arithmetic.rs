//! Arithmetic. Bash evaluates the values of variables again, including commands in subscripts.

use super::ParseError;
use super::parser::{CommandParser, Result};
use super::values::ValueKind;
use super::word::{RawWord, is_name_char};

const WHY: &str = "arithmetic over values that only the run shows can run commands";

impl CommandParser<'_> {
    /// Arithmetic up to its `))`.
    pub(super) fn arithmetic(&mut self) -> Result<()> {
        self.expression("))")
    }

    /// Arithmetic up to and including this text.
    pub(super) fn expression(&mut self, end: &str) -> Result<()> {
        let mut depth = 0_usize;
        loop {
            if depth == 0 && self.cursor.take(end) {
                return Ok(());
            }
            match self.cursor.peek() {
                Some('(') => depth += 1,
                Some(')') if depth > 0 => depth -= 1,
                Some(char) if char.is_ascii_digit() => {
                    self.number();
                    continue;
                }
                Some(char) if is_name_char(char, true) => {
                    self.variable()?;
                    continue;
                }
                Some('$') => {
                    self.cursor.next();
                    self.value()?;
                    continue;
                }
                Some(char) if " \t\n+-*/%<>=!&|^~?:,;".contains(char) => {}
                _ => return Err(ParseError::new("its arithmetic is not plain")),
            }
            self.cursor.next();
        }
    }

    /// A number, optionally with a base.
    fn number(&mut self) {
        while self.cursor.peek().is_some_and(|char| char.is_ascii_alphanumeric() || "#@_".contains(char)) {
            self.cursor.next();
        }
    }

    /// The rest of an expansion, after its dollar sign.
    fn value(&mut self) -> Result<()> {
        let mut word = RawWord::default();
        self.dollar(&mut word, true)?;
        self.needs(&word, ValueKind::Number, WHY);
        Ok(())
    }

    /// A name, which is assigned or evaluated.
    fn variable(&mut self) -> Result<()> {
        let name = self.name();
        self.out.assigned_in_shell(&name, &name);
        if self.cursor.take("[") {
            self.deeper(|parser| parser.expression("]"))?;
        }
        let is_assigned = {
            let mut rest = self.cursor.upcoming().skip_while(|char| matches!(char, ' ' | '\t'));
            rest.next() == Some('=') && rest.next() != Some('=')
        };
        match is_assigned {
            true => self.out.values.assign(&name, ValueKind::Number),
            false => {
                let mut word = RawWord::default();
                word.push_source(true, self.out.values.source(&name));
                self.needs(&word, ValueKind::Number, WHY);
            }
        }
        Ok(())
    }

    /// Takes the letters, digits and underscores that come next.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(char) = self.cursor.peek().filter(|char| is_name_char(*char, false)) {
            name.push(char);
            self.cursor.next();
        }
        name
    }
}
