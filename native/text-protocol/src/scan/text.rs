//! Finds calls in text, and holds back only what may become one.

use super::CallScan;
use super::code::{CodeBlocks, CodeState, Lines};
use super::function::FunctionScan;
use super::line::{self, Fence};
use super::probe::{ProbeResult, line_break};
use super::tag::TagScan;
use super::xml::XmlScan;
use super::yaml::YamlScan;
use crate::{ProtocolRules, call::CallFormat};
use memchr::{memchr3, memmem};

/// The result of a scan.
pub(crate) enum TextScanResult {
    /// The buffer is text up to this offset.
    Text(usize),
    /// The buffer is text up to this offset, where a call begins; whether it may be an example.
    Call(usize, CallScan, bool),
}

/// The state of a scan.
pub(crate) struct TextScan {
    /// Everything before this offset is text.
    at: usize,
    line: LineState,
    code: CodeBlocks,
    /// The byte before the buffer.
    before: u8,
}

enum LineState {
    /// At its start.
    Start,
    /// At its start, and its margin has been read.
    Text,
    /// In it.
    Inside,
    /// In a line that begins with a fence; the block opens at its end unless the line turns out to be inline code.
    Opening { lines: Lines, fence: Fence, is_inline: bool },
}

impl Default for TextScan {
    fn default() -> Self {
        Self { at: 0, line: LineState::Start, code: CodeBlocks::default(), before: b'\n' }
    }
}

impl TextScan {
    pub(crate) fn scan(&mut self, buf: &[u8], end: bool, rules: &ProtocolRules) -> TextScanResult {
        loop {
            let seen = match self.line {
                LineState::Start => self.line_start(buf, end),
                LineState::Text if self.is_lead(rules) => self.lead(&buf[self.at..], end, rules),
                LineState::Text => self.line_text(&buf[self.at..], end, rules),
                LineState::Opening { .. } => self.opening(buf),
                LineState::Inside if self.code.state() == CodeState::Code => self.skip_line(buf),
                LineState::Inside => self.inside(buf, end, rules),
            };
            match seen {
                None => {}
                Some(TextScanResult::Text(len)) if !end => {
                    return TextScanResult::Text(whole_characters(buf, len));
                }
                Some(TextScanResult::Text(_)) => return TextScanResult::Text(buf.len()),
                Some(call) => return call,
            }
        }
    }

    /// The first `len` bytes were removed from the buffer.
    pub(crate) fn pass(&mut self, buf: &[u8], len: usize) {
        if len > 0 {
            self.before = buf[len - 1];
            self.at = self.at.saturating_sub(len);
        }
    }

    /// The buffer begins after a call.
    pub(crate) fn after_call(&mut self, call: &[u8]) {
        self.look_for_comment_end(call);
        if self.code.state() == CodeState::Code {
            self.code.pass_call();
        }
        (self.at, self.before, self.line) = (0, b'>', LineState::Inside);
    }

    /// The text up to this offset turned out not to be a call.
    pub(crate) fn resume(&mut self, at: usize) {
        self.at = at;
        self.line = LineState::Inside;
        self.code.is_lead = false;
    }

    fn line_start(&mut self, buf: &[u8], end: bool) -> Option<TextScanResult> {
        let line = &buf[self.at..];
        match line.first() {
            None => return Some(TextScanResult::Text(self.at)),
            // The second half of a line break.
            Some(b'\n') if self.last(buf) == b'\r' => {
                self.at += 1;
                return None;
            }
            Some(_) => {}
        }
        let Some(lines) = self.code.lines(line, end) else { return Some(TextScanResult::Text(self.at)) };
        match lines.fence() {
            Some((fence, len)) => {
                self.at += len;
                self.line = LineState::Opening { lines, fence, is_inline: false };
            }
            None => {
                self.code.pass(lines, false);
                self.line = LineState::Text;
            }
        }
        None
    }

    fn is_lead(&self, rules: &ProtocolRules) -> bool {
        rules.fenced && self.code.is_lead
    }

    fn line_text(&mut self, line: &[u8], end: bool, rules: &ProtocolRules) -> Option<TextScanResult> {
        self.line = LineState::Inside;
        if self.code.state() == CodeState::Code {
            return None;
        }
        match call_at_line_start(line, rules).at_end(end) {
            ProbeResult::More => {
                self.line = LineState::Text;
                Some(TextScanResult::Text(self.at))
            }
            ProbeResult::Yes(call) => Some(self.call(self.at, call)),
            ProbeResult::No => None,
        }
    }

    fn call(&self, at: usize, call: CallScan) -> TextScanResult {
        TextScanResult::Call(at, call, self.code.state() == CodeState::Unsure)
    }

    /// A line of a block before which the block is blank.
    fn lead(&mut self, line: &[u8], end: bool, rules: &ProtocolRules) -> Option<TextScanResult> {
        let indent = line::indent(line);
        let found = match &line[indent..] {
            [] if !end => return Some(TextScanResult::Text(self.at)),
            [b'\n' | b'\r', ..] => {
                self.at += indent + 1;
                self.line = LineState::Start;
                return None;
            }
            text @ [b'<', ..] => call_at_tag(b'\n', text, rules),
            _ if indent == 0 => call_at_line_start(line, rules),
            _ => ProbeResult::No,
        };
        match found.at_end(end) {
            ProbeResult::More => return Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes(call) => return Some(self.call(self.at + indent, call)),
            ProbeResult::No => self.code.is_lead = false,
        }
        self.line = LineState::Inside;
        None
    }

    fn opening(&mut self, buf: &[u8]) -> Option<TextScanResult> {
        let LineState::Opening { fence, is_inline, .. } = &mut self.line else { return None };
        let rest = &buf[self.at..];
        let line_end = line_break(rest);
        let line = &rest[..line_end.unwrap_or(rest.len())];
        *is_inline |= fence.spoiled_by(line);
        let rest = self.look_for_comment_end(line);
        let Some(len) = line_end else {
            self.at = buf.len() - rest;
            return Some(TextScanResult::Text(self.at));
        };
        self.at += len + 1;
        if let LineState::Opening { lines, is_inline, .. } =
            std::mem::replace(&mut self.line, LineState::Start)
        {
            self.code.pass(lines, is_inline);
        }
        None
    }

    fn skip_line(&mut self, buf: &[u8]) -> Option<TextScanResult> {
        match line_break(&buf[self.at..]) {
            None => {
                self.at = buf.len();
                Some(TextScanResult::Text(self.at))
            }
            Some(len) => {
                self.at += len + 1;
                self.line = LineState::Start;
                None
            }
        }
    }

    fn inside(&mut self, buf: &[u8], end: bool, rules: &ProtocolRules) -> Option<TextScanResult> {
        let rest = &buf[self.at..];
        let found = memchr3(b'\n', b'\r', b'<', rest);
        let held = self.look_for_comment_end(&rest[..found.unwrap_or(rest.len())]);
        let Some(len) = found else {
            self.at = buf.len() - held;
            return Some(TextScanResult::Text(self.at));
        };
        self.at += len;
        if buf[self.at] != b'<' {
            self.at += 1;
            self.line = LineState::Start;
            return None;
        }
        if buf.get(self.at + 1).is_some_and(|next| !matches!(next, b'T' | b't')) {
            self.at += 1;
            return None;
        }
        match call_at_tag(self.last(buf), &buf[self.at..], rules).at_end(end) {
            ProbeResult::More => Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes(call) => Some(self.call(self.at, call)),
            ProbeResult::No => {
                self.at += 1;
                None
            }
        }
    }

    /// The byte before the current one.
    fn last(&self, buf: &[u8]) -> u8 {
        if self.at == 0 { self.before } else { buf[self.at - 1] }
    }

    /// Passes a part of a line, which may end a comment. Returns how many bytes at its end may begin the mark that does.
    fn look_for_comment_end(&mut self, part: &[u8]) -> usize {
        if !self.code.is_comment() {
            return 0;
        }
        if memmem::find(part, b"-->").is_some() {
            self.code.end_comment();
        }
        part.iter().rev().take(2).take_while(|byte| **byte == b'-').count()
    }
}

fn call_at_line_start(line: &[u8], rules: &ProtocolRules) -> ProbeResult<CallScan> {
    if rules.has(CallFormat::Yaml) {
        match YamlScan::begins(line) {
            ProbeResult::No => {}
            ProbeResult::More => return ProbeResult::More,
            ProbeResult::Yes(scan) => return ProbeResult::Yes(CallScan::Yaml(scan)),
        }
    }
    match rules.has(CallFormat::Function) {
        false => ProbeResult::No,
        true => match FunctionScan::begins(line, rules) {
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
            ProbeResult::Yes(scan) => ProbeResult::Yes(CallScan::Function(scan)),
        },
    }
}

/// A tag right after a backtick is code.
fn call_at_tag(before: u8, text: &[u8], rules: &ProtocolRules) -> ProbeResult<CallScan> {
    if before == b'`' {
        return ProbeResult::No;
    }
    if rules.has(CallFormat::Tag) {
        match TagScan::begins(text) {
            ProbeResult::No => {}
            ProbeResult::More => return ProbeResult::More,
            ProbeResult::Yes(scan) => return ProbeResult::Yes(CallScan::Tag(scan)),
        }
    }
    match rules.has(CallFormat::Xml) {
        false => ProbeResult::No,
        true => match XmlScan::begins(text) {
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
            ProbeResult::Yes(scan) => ProbeResult::Yes(CallScan::Xml(scan)),
        },
    }
}

/// The length without an incomplete character at the end.
fn whole_characters(buf: &[u8], len: usize) -> usize {
    let tail = buf[..len].iter().rev().take(3).position(|byte| *byte >= 0xc0);
    let needs = |lead: u8| {
        if lead >= 0xf0 {
            4
        } else if lead >= 0xe0 {
            3
        } else {
            2
        }
    };
    match tail {
        Some(back) if needs(buf[len - 1 - back]) > back + 1 => len - 1 - back,
        _ => len,
    }
}
