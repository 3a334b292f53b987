//! Calls in the form of a function call on its own line.

use super::CallScanResult;
use super::probe::{LONGEST_NAME, ProbeResult, Taker, is_name, is_name_start, line_break};
use crate::{
    ProtocolRules,
    call::{CallFormat, ParsedCall},
    read::lenient::LenientReader,
};
use memchr::memchr2;

/// A function call in progress.
pub(crate) struct FunctionScan {
    name: usize,
    /// Whether the name is a tool's; otherwise an invalid call is text.
    known: bool,
    at: usize,
    part: FunctionPart,
}

enum FunctionPart {
    Outside {
        depth: usize,
    },
    Inside {
        depth: usize,
        quote: OpenQuote,
    },
    /// After the last parenthesis.
    Closed,
    Broken(String),
}

#[derive(Clone, Copy)]
struct OpenQuote {
    mark: u8,
    count: usize,
}

impl FunctionScan {
    /// If the tools are known, a call begins with the name of one. Otherwise any name is accepted, but a named argument
    /// is required.
    pub(super) fn begins(line: &[u8], rules: &ProtocolRules) -> ProbeResult<Self> {
        if !line.first().copied().is_some_and(is_name_start) {
            return ProbeResult::No;
        }
        let mut take = Taker::new(line);
        let name = take.run(is_name, 1, LONGEST_NAME);
        if let Some(tools) = &rules.tools
            && !(if take.is_good() { tools.has(name) } else { tools.may_become(name) })
        {
            return ProbeResult::No;
        }
        let known = rules.tools.is_some();
        let at = name.len() + 1;
        match arguments_begin(take.word(b"("), known) {
            ProbeResult::Yes(()) => ProbeResult::Yes(Self {
                name: name.len(),
                known,
                at,
                part: FunctionPart::Outside { depth: 1 },
            }),
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8]) -> Option<CallScanResult> {
        loop {
            match &self.part {
                FunctionPart::Outside { depth } => self.outside(buf, *depth)?,
                FunctionPart::Inside { depth, quote } => self.inside(buf, *depth, *quote)?,
                FunctionPart::Closed => return self.closed(buf),
                FunctionPart::Broken(message) if self.known => {
                    let line_end = line_break(&buf[self.at..])?;
                    return Some(CallScanResult::Invalid(self.at + line_end, message.clone()));
                }
                FunctionPart::Broken(_) => return Some(self.text()),
            }
        }
    }

    pub(super) fn cut(&mut self, buf: &[u8]) -> CallScanResult {
        let message = match &self.part {
            FunctionPart::Closed if buf[self.at..].trim_ascii().is_empty() => return self.read(buf),
            FunctionPart::Broken(message) => message.clone(),
            FunctionPart::Inside { .. } => "Missing closing quote of a string".to_owned(),
            _ => "Missing closing parenthesis of the call".to_owned(),
        };
        match self.known && !matches!(self.part, FunctionPart::Closed) {
            true => CallScanResult::Invalid(buf.len(), message),
            false => self.text(),
        }
    }

    fn text(&self) -> CallScanResult {
        CallScanResult::Text(self.name + 1)
    }

    fn outside(&mut self, buf: &[u8], mut depth: usize) -> Option<()> {
        while let Some(&byte) = buf.get(self.at) {
            match byte {
                b'"' | b'\'' => {
                    self.part = FunctionPart::Outside { depth };
                    let quote = OpenQuote::at(&buf[self.at..])?;
                    self.at += quote.count;
                    self.part = FunctionPart::Inside { depth, quote };
                    return Some(());
                }
                // No argument contains any of these, and a line that begins a call has one of them.
                b'\\' | b'<' | b'(' => {
                    let found = char::from(byte);
                    self.part = FunctionPart::Broken(format!(
                        "Invalid tool call format: \"{found}\" outside a string"
                    ));
                    return Some(());
                }
                b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                self.part = match byte {
                    b')' => FunctionPart::Closed,
                    _ => FunctionPart::Broken("Invalid tool call format: a bracket is not closed".to_owned()),
                };
                return Some(());
            }
        }
        self.part = FunctionPart::Outside { depth };
        None
    }

    fn inside(&mut self, buf: &[u8], depth: usize, quote: OpenQuote) -> Option<()> {
        loop {
            let rest = &buf[self.at..];
            let found = memchr2(quote.mark, b'\\', rest);
            let text = &rest[..found.unwrap_or(rest.len())];
            // In triple quotes a line break is an ordinary character.
            if quote.count == 1
                && let Some(len) = line_break(text)
            {
                self.at += len;
                let message = "Invalid tool call format: a line break inside a string; write it as \\n, or \
                               put the string in three quotes";
                self.part = FunctionPart::Broken(message.to_owned());
                return Some(());
            }
            self.at += text.len();
            found?;
            match buf[self.at] {
                b'\\' if self.at + 1 == buf.len() => return None,
                b'\\' => self.at += 2,
                _ if quote.ends(&buf[self.at..])? => {
                    self.at += quote.count;
                    self.part = FunctionPart::Outside { depth };
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// If more text follows on the last line, it is a sentence about a call.
    fn closed(&self, buf: &[u8]) -> Option<CallScanResult> {
        match Taker::new(&buf[self.at..]).blanks().line_end().done() {
            ProbeResult::More => None,
            ProbeResult::No => Some(self.text()),
            ProbeResult::Yes(_) => Some(self.read(buf)),
        }
    }

    fn read(&self, buf: &[u8]) -> CallScanResult {
        match self.call(buf) {
            Ok(call) => CallScanResult::Call(self.at, Box::new(call)),
            Err(why) if self.known => {
                CallScanResult::Invalid(self.at, format!("Invalid tool call format: {why}"))
            }
            Err(_) => self.text(),
        }
    }

    fn call(&self, buf: &[u8]) -> Result<ParsedCall, String> {
        let name = String::from_utf8_lossy(&buf[..self.name]).into_owned();
        let inside = &buf[self.name + 1..self.at - 1];
        let text =
            simdutf8::basic::from_utf8(inside).map_err(|_| "the text is not valid UTF-8".to_owned())?;
        let args = LenientReader::new(text).named_arguments()?;
        Ok(ParsedCall::new(name, args, CallFormat::Function))
    }
}

impl OpenQuote {
    /// The quote at the start; `None` if more input is needed for its length.
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

/// Whether the text after the parenthesis can be arguments rather than prose.
fn arguments_begin(take: &mut Taker, known: bool) -> ProbeResult<()> {
    take.space(0);
    match take.peek() {
        Some(b')') if known => return ProbeResult::Yes(()),
        Some(byte) if is_name_start(byte) => {
            take.run(is_name, 1, LONGEST_NAME);
            take.space(0).word(b"=");
            if take.peek() == Some(b'=') {
                return ProbeResult::No;
            }
        }
        Some(b'"' | b'\'' | b'[' | b'{' | b'-' | b'0'..=b'9') if known => return ProbeResult::Yes(()),
        Some(_) => return ProbeResult::No,
        None => {}
    }
    match take.done() {
        ProbeResult::Yes(_) => ProbeResult::Yes(()),
        ProbeResult::No => ProbeResult::No,
        ProbeResult::More => ProbeResult::More,
    }
}
