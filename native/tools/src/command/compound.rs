//! Compound commands: groups, conditions, loops, functions.

use super::Odd;
use super::cursor::ends_word;
use super::lexer::plain_word;
use super::parser::{Parser, Result, Simple, Until, is_name};

impl Parser<'_> {
    /// A compound command from its first word on, with its redirections.
    pub(super) fn compound(&mut self, first: &str, read: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.cursor.take(first);
        self.deeper(read)?;
        let mut simple = Simple::default();
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
        self.list(Until::Parenthesis)?;
        self.expect(")")
    }

    pub(super) fn group(&mut self) -> Result<()> {
        self.list(Until::Words(&["}"]))?;
        self.expect("}")
    }

    pub(super) fn branches(&mut self) -> Result<()> {
        loop {
            self.list(Until::Words(&["then"]))?;
            self.expect("then")?;
            self.list(Until::Words(&["elif", "else", "fi"]))?;
            if self.cursor.take("elif") {
                continue;
            }
            if self.cursor.take("else") {
                self.list(Until::Words(&["fi"]))?;
            }
            return self.expect("fi");
        }
    }

    pub(super) fn circle(&mut self) -> Result<()> {
        self.list(Until::Words(&["do"]))?;
        self.body()
    }

    fn body(&mut self) -> Result<()> {
        self.lines()?;
        self.expect("do")?;
        self.list(Until::Words(&["done"]))?;
        self.expect("done")
    }

    pub(super) fn every(&mut self) -> Result<()> {
        self.blanks();
        let name = plain_word(&self.cursor).filter(|name| is_name(name));
        let name = name.ok_or(Odd::new("the variable of its for is unusual"))?;
        self.cursor.take(&name);
        self.out.assigned(&name, &name);
        self.lines()?;
        if plain_word(&self.cursor).as_deref() == Some("in") {
            self.cursor.take("in");
            loop {
                self.blanks();
                match self.cursor.peek() {
                    Some(';' | '\n') => break,
                    Some(char) if !ends_word(char) || self.is_substitution() => _ = self.word()?,
                    _ => return Err(Odd::new("its for is not complete")),
                }
            }
        }
        self.cursor.take(";");
        self.body()
    }

    pub(super) fn clauses(&mut self) -> Result<()> {
        self.blanks();
        self.word()?;
        self.lines()?;
        self.expect("in")?;
        loop {
            self.lines()?;
            if self.is_at(Until::Words(&["esac"])) {
                return self.expect("esac");
            }
            self.cursor.take("(");
            self.patterns()?;
            self.list(Until::Clause)?;
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
                return Err(Odd::new("a pattern of its case is unusual"));
            }
            self.blanks();
            match self.cursor.next() {
                Some(')') => return Ok(()),
                Some('|') => {}
                _ => return Err(Odd::new("a pattern of its case is unusual")),
            }
        }
    }

    /// `[[ … ]]`.
    pub(super) fn condition(&mut self) -> Result<()> {
        self.no_pending()?;
        loop {
            self.blanks();
            match self.cursor.peek() {
                None => return Err(Odd::new("\"]]\" is missing")),
                Some('\n') => _ = self.cursor.next(),
                Some('(' | ')') => _ = self.cursor.next(),
                Some('<' | '>') if !self.is_substitution() => _ = self.cursor.next(),
                Some('&' | '|') if self.cursor.take("&&") || self.cursor.take("||") => {}
                Some(';' | '&' | '|') => return Err(Odd::new("its [[ … ]] is unusual")),
                Some(_) => {
                    let word = plain_word(&self.cursor);
                    if word.as_deref() == Some("]]") {
                        return self.expect("]]");
                    }
                    self.condition_word(word.as_deref())?;
                }
            }
        }
    }

    fn condition_word(&mut self, word: Option<&str>) -> Result<()> {
        match word {
            Some("=~") => return Err(Odd::new("=~ in [[ … ]] has a grammar of its own")),
            Some("-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R") => {
                self.doubt("a comparison of numbers in [[ … ]] can run commands that variables hold");
            }
            _ => {}
        }
        self.word().map(|_| ())
    }

    /// `function name`.
    pub(super) fn keyword_function(&mut self, start: usize) -> Result<()> {
        self.cursor.take("function");
        self.blanks();
        self.word()?;
        self.blanks();
        if self.cursor.take("(") {
            self.blanks();
            self.expect(")")?;
        }
        self.function(start)
    }

    /// The body of a function. Its commands run when it is called; calls are not followed.
    pub(super) fn function(&mut self, start: usize) -> Result<()> {
        let head = self.cursor.since(start);
        self.out.doubt(head, "a function gives a name another meaning");
        self.lines()?;
        self.deeper(Self::command)
    }
}
