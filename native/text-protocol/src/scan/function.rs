//! Calls written as a function call on a line of its own.

use super::Verdict;
use super::probe::{LONGEST_NAME, Probe, Taker, is_name, is_name_start};
use crate::{
    Rules,
    call::{Call, Format},
    read::lenient::Lenient,
};
use memchr::{memchr, memchr3};

/// A function call that has begun.
pub(crate) struct FunctionScan {
    name: usize,
    /// Whether the name is a tool's; otherwise what is not a good call is text.
    known: bool,
    at: usize,
    part: Part,
}

enum Part {
    Outside {
        depth: usize,
    },
    Inside {
        depth: usize,
        quote: Quote,
    },
    /// After the last parenthesis.
    Closed,
    Broken(String),
}

#[derive(Clone, Copy)]
struct Quote {
    mark: u8,
    count: usize,
}

impl FunctionScan {
    /// Where the tools are known, a call begins with the name of one. Otherwise any name will do, but there must be
    /// a named argument.
    pub(super) fn begins(line: &[u8], rules: &Rules) -> Probe<Self> {
        if !line.first().copied().is_some_and(is_name_start) {
            return Probe::No;
        }
        let mut take = Taker::new(line);
        let name = take.run(is_name, 1, LONGEST_NAME);
        if let Some(tools) = &rules.tools
            && !(if take.is_good() { tools.has(name) } else { tools.may_become(name) })
        {
            return Probe::No;
        }
        let known = rules.tools.is_some();
        let at = name.len() + 1;
        match arguments_begin(take.word(b"("), known) {
            Probe::Yes(()) => {
                Probe::Yes(Self { name: name.len(), known, at, part: Part::Outside { depth: 1 } })
            }
            Probe::No => Probe::No,
            Probe::More => Probe::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8]) -> Option<Verdict> {
        loop {
            match &self.part {
                Part::Outside { depth } => self.outside(buf, *depth)?,
                Part::Inside { depth, quote } => self.inside(buf, *depth, *quote)?,
                Part::Closed => return self.closed(buf),
                Part::Broken(message) if self.known => {
                    let line_end = memchr(b'\n', &buf[self.at..])?;
                    return Some(Verdict::Invalid(self.at + line_end, message.clone()));
                }
                Part::Broken(_) => return Some(self.text()),
            }
        }
    }

    pub(super) fn cut(&mut self, buf: &[u8]) -> Verdict {
        let message = match &self.part {
            Part::Closed if buf[self.at..].trim_ascii().is_empty() => return self.read(buf),
            Part::Broken(message) => message.clone(),
            Part::Inside { .. } => "Missing closing quote of a string".to_owned(),
            _ => "Missing closing parenthesis of the call".to_owned(),
        };
        match self.known && !matches!(self.part, Part::Closed) {
            true => Verdict::Invalid(buf.len(), message),
            false => self.text(),
        }
    }

    fn text(&self) -> Verdict {
        Verdict::Text(self.name + 1)
    }

    fn outside(&mut self, buf: &[u8], mut depth: usize) -> Option<()> {
        while let Some(&byte) = buf.get(self.at) {
            match byte {
                b'"' | b'\'' => {
                    self.part = Part::Outside { depth };
                    let quote = Quote::at(&buf[self.at..])?;
                    self.at += quote.count;
                    self.part = Part::Inside { depth, quote };
                    return Some(());
                }
                // No argument has any of these, and a line that begins a call has one of them.
                b'\\' | b'<' | b'(' => {
                    let found = char::from(byte);
                    self.part =
                        Part::Broken(format!("Invalid tool call format: \"{found}\" outside a string"));
                    return Some(());
                }
                b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                self.part = match byte {
                    b')' => Part::Closed,
                    _ => Part::Broken("Invalid tool call format: a bracket is not closed".to_owned()),
                };
                return Some(());
            }
        }
        self.part = Part::Outside { depth };
        None
    }

    fn inside(&mut self, buf: &[u8], depth: usize, quote: Quote) -> Option<()> {
        // Between three marks a line break is a character like any other.
        let also = if quote.count == 1 { b'\n' } else { quote.mark };
        loop {
            let Some(found) = memchr3(quote.mark, b'\\', also, &buf[self.at..]) else {
                self.at = buf.len();
                return None;
            };
            self.at += found;
            match buf[self.at] {
                b'\\' if self.at + 1 == buf.len() => return None,
                b'\\' => self.at += 2,
                b'\n' => {
                    let message = "Invalid tool call format: a line break inside a string; write it as \\n, or \
                                   put the string in three quotes";
                    self.part = Part::Broken(message.to_owned());
                    return Some(());
                }
                _ if quote.ends(&buf[self.at..])? => {
                    self.at += quote.count;
                    self.part = Part::Outside { depth };
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// With more on its last line it is a sentence about a call.
    fn closed(&self, buf: &[u8]) -> Option<Verdict> {
        match Taker::new(&buf[self.at..]).blanks().line_end().done() {
            Probe::More => None,
            Probe::No => Some(self.text()),
            Probe::Yes(_) => Some(self.read(buf)),
        }
    }

    fn read(&self, buf: &[u8]) -> Verdict {
        match self.call(buf) {
            Ok(call) => Verdict::Call(self.at, Box::new(call)),
            Err(why) if self.known => Verdict::Invalid(self.at, format!("Invalid tool call format: {why}")),
            Err(_) => self.text(),
        }
    }

    fn call(&self, buf: &[u8]) -> Result<Call, String> {
        let name = String::from_utf8_lossy(&buf[..self.name]).into_owned();
        let inside = &buf[self.name + 1..self.at - 1];
        let text =
            simdutf8::basic::from_utf8(inside).map_err(|_| "the text is not valid UTF-8".to_owned())?;
        let args = Lenient::new(text).named_arguments()?;
        Ok(Call::new(name, args, Format::Function))
    }
}

impl Quote {
    /// The quote at the start; `None` when more has to come to tell how long it is.
    fn at(text: &[u8]) -> Option<Self> {
        let mark = text[0];
        let marks = text.iter().take(3).take_while(|byte| **byte == mark).count();
        match marks {
            3 => Some(Self { mark, count: 3 }),
            _ if marks == text.len() => None,
            _ => Some(Self { mark, count: 1 }),
        }
    }

    fn ends(self, text: &[u8]) -> Option<bool> {
        let marks = text.iter().take(self.count).take_while(|byte| **byte == self.mark).count();
        match marks {
            marks if marks == self.count => Some(true),
            marks if marks == text.len() => None,
            _ => Some(false),
        }
    }
}

/// Whether what stands after the parenthesis can be arguments, and no prose.
fn arguments_begin(take: &mut Taker, known: bool) -> Probe<()> {
    take.space(0);
    match take.peek() {
        Some(b')') if known => return Probe::Yes(()),
        Some(byte) if is_name_start(byte) => {
            take.run(is_name, 1, LONGEST_NAME);
            take.space(0).word(b"=");
            if take.peek() == Some(b'=') {
                return Probe::No;
            }
        }
        Some(b'"' | b'\'' | b'[' | b'{' | b'-' | b'0'..=b'9') if known => return Probe::Yes(()),
        Some(_) => return Probe::No,
        None => {}
    }
    match take.done() {
        Probe::Yes(_) => Probe::Yes(()),
        Probe::No => Probe::No,
        Probe::More => Probe::More,
    }
}
