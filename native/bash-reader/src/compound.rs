//! Compound commands: groups, conditions, loops, functions.

use super::ParseError;
use super::cursor::ends_word;
use super::lexer::plain_word;
use super::parser::{CommandParser, ListEnd, Result, SimpleCommand, is_name};
use super::plain::is_own;
use super::values::ValueKind;
use super::word::RawWord;

impl CommandParser<'_> {
    /// A compound command, from its first word, with its redirections.
    pub(super) fn compound(&mut self, first: &str, read: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.cursor.take(first);
        self.deeper(read)?;
        let mut simple = SimpleCommand::default();
        let start = self.cursor.position();
        loop {
            self.blanks();
            if !self.redirection(&mut simple)? {
                break;
            }
        }
        simple.part = self.cursor.since(start);
        self.run(simple)
    }

    pub(super) fn subshell(&mut self) -> Result<()> {
        self.list(ListEnd::Parenthesis)?;
        self.expect(")")
    }

    pub(super) fn group(&mut self) -> Result<()> {
        self.list(ListEnd::Words(&["}"]))?;
        self.expect("}")
    }

    pub(super) fn branches(&mut self) -> Result<()> {
        loop {
            self.list(ListEnd::Words(&["then"]))?;
            self.expect("then")?;
            self.list(ListEnd::Words(&["elif", "else", "fi"]))?;
            if self.cursor.take("elif") {
                continue;
            }
            if self.cursor.take("else") {
                self.list(ListEnd::Words(&["fi"]))?;
            }
            return self.expect("fi");
        }
    }

    pub(super) fn circle(&mut self) -> Result<()> {
        self.repeated(|parser| {
            parser.list(ListEnd::Words(&["do"]))?;
            parser.body()
        })
    }

    fn body(&mut self) -> Result<()> {
        self.lines()?;
        self.expect("do")?;
        self.repeated(|parser| parser.list(ListEnd::Words(&["done"])))?;
        self.expect("done")
    }

    /// Reads a part that may run repeatedly, and so may change its directory several times.
    fn repeated(&mut self, read: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.out.directories.len();
        read(self)?;
        self.out.may_repeat_since(before);
        Ok(())
    }

    pub(super) fn every(&mut self) -> Result<()> {
        self.blanks();
        if self.cursor.take("((") {
            self.deeper(Self::arithmetic)?;
            self.blanks();
            self.cursor.take(";");
            return self.body();
        }
        let name = plain_word(&self.cursor).filter(|name| is_name(name));
        let name = name.ok_or(ParseError::new("the variable of its for is unusual"))?;
        self.cursor.take(&name);
        self.out.assigned_in_shell(&name, &name);
        self.lines()?;
        match plain_word(&self.cursor).as_deref() == Some("in") {
            true => self.elements(&name)?,
            false => self.out.values.assign(&name, ValueKind::Any),
        }
        self.cursor.take(";");
        self.body()
    }

    /// The words that a `for` loop iterates over.
    fn elements(&mut self, name: &str) -> Result<()> {
        self.cursor.take("in");
        loop {
            self.blanks();
            match self.cursor.peek() {
                Some(';' | '\n') => return Ok(()),
                Some(char) if !ends_word(char) || self.is_substitution() => {
                    self.element_words(name)?;
                }
                _ => return Err(ParseError::new("its for is not complete")),
            }
        }
    }

    pub(super) fn clauses(&mut self) -> Result<()> {
        self.blanks();
        self.word()?;
        self.lines()?;
        self.expect("in")?;
        loop {
            self.lines()?;
            if self.is_at(ListEnd::Words(&["esac"])) {
                return self.expect("esac");
            }
            self.cursor.take("(");
            self.patterns()?;
            self.list(ListEnd::Clause)?;
            if self.cursor.take(";;") {
                self.cursor.take("&");
            } else {
                self.cursor.take(";&");
            }
        }
    }

    fn patterns(&mut self) -> Result<()> {
        loop {
            self.blanks();
            let start = self.cursor.position();
            self.word()?;
            if self.cursor.position() == start {
                return Err(ParseError::new("a pattern of its case is unusual"));
            }
            self.blanks();
            match self.cursor.next() {
                Some(')') => return Ok(()),
                Some('|') => {}
                _ => return Err(ParseError::new("a pattern of its case is unusual")),
            }
        }
    }

    /// `[[ … ]]`.
    pub(super) fn condition(&mut self) -> Result<()> {
        self.no_pending()?;
        let mut last = RawWord::default();
        loop {
            self.blanks();
            match self.cursor.peek() {
                None => return Err(ParseError::new("\"]]\" is missing")),
                Some('\n') => _ = self.cursor.next(),
                Some('(' | ')') => _ = self.cursor.next(),
                Some('<' | '>') if !self.is_substitution() => _ = self.cursor.next(),
                Some('&' | '|') if self.cursor.take("&&") || self.cursor.take("||") => {}
                Some(';' | '&' | '|') => return Err(ParseError::new("its [[ … ]] is unusual")),
                Some(_) => {
                    let word = plain_word(&self.cursor);
                    if word.as_deref() == Some("]]") {
                        return self.expect("]]");
                    }
                    last = self.condition_word(word.as_deref(), &last)?;
                }
            }
        }
    }

    /// A word of `[[ … ]]`, and the next one if bash evaluates it.
    fn condition_word(&mut self, word: Option<&str>, last: &RawWord) -> Result<RawWord> {
        const WHY: &str = "a comparison of numbers in [[ … ]] can run commands that variables hold";
        let read = self.word()?;
        match word {
            Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                self.needs(last, ValueKind::Number, WHY);
                let next = self.operand()?;
                self.needs(&next, ValueKind::Number, WHY);
                Ok(next)
            }
            Some("-v" | "-R") => {
                self.blanks();
                let next = plain_word(&self.cursor);
                if !next.is_some_and(|next| is_name(&next) || next == "]]") {
                    self.doubt("the name of a variable is evaluated");
                }
                Ok(read)
            }
            Some("=~") => {
                self.expression_word()?;
                Ok(RawWord::default())
            }
            _ => Ok(read),
        }
    }

    fn operand(&mut self) -> Result<RawWord> {
        self.blanks();
        match plain_word(&self.cursor).as_deref() {
            Some("]]") => Err(ParseError::new("its [[ … ]] is unusual")),
            _ => self.word(),
        }
    }

    /// A regular expression, if its characters could also be those of other words.
    fn expression_word(&mut self) -> Result<()> {
        self.blanks();
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-./:,@%+=^$*?[]{}\"~".contains(char);
        let after = self.cursor.upcoming().enumerate().find(|(_, char)| !is_plain(*char));
        match after.is_some_and(|(length, char)| length > 0 && matches!(char, ' ' | '\t')) {
            true => self.word().map(|_| ()),
            false => Err(ParseError::new("=~ in [[ … ]] has a grammar of its own")),
        }
    }

    /// `function name`.
    pub(super) fn keyword_function(&mut self, start: usize) -> Result<()> {
        self.cursor.take("function");
        self.blanks();
        let name = self.word()?;
        self.blanks();
        if self.cursor.take("(") {
            self.blanks();
            self.expect(")")?;
        }
        self.function(start, name.name())
    }

    /// The body of a function. Its commands are listed here, so later calls need nothing more if the function is certainly
    /// defined.
    pub(super) fn function(&mut self, start: usize, name: Option<String>) -> Result<()> {
        let is_sure = std::mem::take(&mut self.is_statement) && self.depth == 0;
        let head = self.cursor.since(start);
        let name = name.filter(|name| is_sure && !is_own(name) && !self.out.unset.contains(name));
        self.out.functions.extend(name.clone());
        self.lines()?;
        self.repeated(|parser| parser.deeper(Self::command))?;
        self.blanks();
        let is_statement = match self.cursor.peek() {
            None | Some('\n') => true,
            Some(';') => self.cursor.ahead(1) != Some(';'),
            _ => false,
        };
        if name.is_none() || !is_statement {
            self.out.doubt(head, "a function gives a name another meaning");
        }
        Ok(())
    }
}
