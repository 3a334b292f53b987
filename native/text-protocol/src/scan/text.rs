//! Finds calls in text, and holds back only what may become one.

use super::CallScan;
use super::function::FunctionScan;
use super::line::{self, Fence};
use super::margin::{ListItem, Margin};
use super::probe::ProbeResult;
use super::tag::TagScan;
use super::xml::XmlScan;
use super::yaml::YamlScan;
use crate::{ProtocolRules, call::CallFormat};
use memchr::{memchr, memchr2};

/// The result of a scan.
pub(crate) enum TextScanResult {
    /// The buffer is text up to this offset.
    Text(usize),
    /// The buffer is text up to this offset, where a call begins.
    Call(usize, CallScan),
}

/// The state of a scan.
pub(crate) struct TextScan {
    /// Everything before this offset is text.
    at: usize,
    line: LineState,
    fence: Option<Fence>,
    /// Whether a call may begin the block: it is at the answer's own margin, and nothing but white space has come since its fence.
    is_lead: bool,
    item: ListItem,
    /// The byte before the buffer.
    before: u8,
}

#[derive(Clone, Copy)]
enum LineState {
    /// At its start.
    Start,
    /// In it.
    Inside,
    /// In a line that begins with a fence; the block opens at its end unless the line turns out to be inline code.
    Opening(Fence, Margin, bool),
}

impl Default for TextScan {
    fn default() -> Self {
        Self {
            at: 0,
            line: LineState::Start,
            fence: None,
            is_lead: false,
            item: ListItem::default(),
            before: b'\n',
        }
    }
}

impl TextScan {
    pub(crate) fn scan(&mut self, buf: &[u8], end: bool, rules: &ProtocolRules) -> TextScanResult {
        loop {
            let seen = match self.line {
                LineState::Start => self.line_start(buf, end, rules),
                LineState::Opening(fence, margin, spoiled) => {
                    self.opening(buf, fence, margin, spoiled, rules)
                }
                LineState::Inside if self.fence.is_some() => self.skip_line(buf),
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
    pub(crate) fn after_call(&mut self) {
        *self = Self { line: LineState::Inside, item: self.item, before: b'>', ..Self::default() };
    }

    /// The text up to this offset turned out not to be a call.
    pub(crate) fn resume(&mut self, at: usize) {
        self.at = at;
        self.line = LineState::Inside;
    }

    fn line_start(&mut self, buf: &[u8], end: bool, rules: &ProtocolRules) -> Option<TextScanResult> {
        let line = &buf[self.at..];
        if line.is_empty() {
            return Some(TextScanResult::Text(self.at));
        }
        match self.fence {
            Some(fence) => self.in_fence(fence, line, end, rules),
            None => self.in_text(line, end, rules),
        }
    }

    fn in_text(&mut self, line: &[u8], end: bool, rules: &ProtocolRules) -> Option<TextScanResult> {
        let margin = match Margin::of(line) {
            Some(margin) => margin,
            None if !end => return Some(TextScanResult::Text(self.at)),
            None => {
                self.line = LineState::Inside;
                return None;
            }
        };
        match Fence::opens(&line[margin.len..]).at_end(end) {
            ProbeResult::More => return Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes((fence, len)) => {
                self.at += margin.len + len;
                self.line = LineState::Opening(fence, margin, false);
                return None;
            }
            ProbeResult::No => self.item.text(margin, matches!(line[margin.len..], [b'\n' | b'\r', ..])),
        }
        match call_at_line_start(line, rules).at_end(end) {
            ProbeResult::More => Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes(call) => Some(TextScanResult::Call(self.at, call)),
            ProbeResult::No => {
                self.line = LineState::Inside;
                None
            }
        }
    }

    fn in_fence(
        &mut self,
        fence: Fence,
        line: &[u8],
        end: bool,
        rules: &ProtocolRules,
    ) -> Option<TextScanResult> {
        match fence.closes(line).at_end(end) {
            ProbeResult::More => return Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes(()) => self.fence = None,
            ProbeResult::No if self.is_lead => return self.lead(line, end, rules),
            ProbeResult::No => {}
        }
        self.line = LineState::Inside;
        // The line that closes a block is still code up to its end, and blank.
        None
    }

    /// A line of a block before which the block is blank.
    fn lead(&mut self, line: &[u8], end: bool, rules: &ProtocolRules) -> Option<TextScanResult> {
        let indent = line::indent(line);
        let found = match &line[indent..] {
            [] | [b'\r'] if !end => return Some(TextScanResult::Text(self.at)),
            [b'\n', ..] | [b'\r', b'\n', ..] => {
                self.at += indent + 1 + usize::from(line[indent] == b'\r');
                return None;
            }
            text @ [b'<', ..] => call_at_tag(b'\n', text, rules),
            _ if indent == 0 => call_at_line_start(line, rules),
            _ => ProbeResult::No,
        };
        match found.at_end(end) {
            ProbeResult::More => return Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes(call) => {
                self.is_lead = false;
                return Some(TextScanResult::Call(self.at + indent, call));
            }
            ProbeResult::No => self.is_lead = false,
        }
        self.line = LineState::Inside;
        None
    }

    fn opening(
        &mut self,
        buf: &[u8],
        fence: Fence,
        margin: Margin,
        spoiled: bool,
        rules: &ProtocolRules,
    ) -> Option<TextScanResult> {
        let rest = &buf[self.at..];
        let line_end = memchr(b'\n', rest);
        let spoiled = spoiled || fence.spoiled_by(&rest[..line_end.unwrap_or(rest.len())]);
        match line_end {
            None => {
                self.at = buf.len();
                self.line = LineState::Opening(fence, margin, spoiled);
                Some(TextScanResult::Text(self.at))
            }
            Some(len) => {
                self.at += len + 1;
                self.line = LineState::Start;
                if spoiled {
                    self.item.text(margin, false);
                } else {
                    self.fence = Some(fence);
                    self.is_lead = self.item.fence(margin) && rules.fenced;
                }
                None
            }
        }
    }

    fn skip_line(&mut self, buf: &[u8]) -> Option<TextScanResult> {
        match memchr(b'\n', &buf[self.at..]) {
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
        let Some(len) = memchr2(b'\n', b'<', &buf[self.at..]) else {
            self.at = buf.len();
            return Some(TextScanResult::Text(self.at));
        };
        self.at += len;
        if buf[self.at] == b'\n' {
            self.at += 1;
            self.line = LineState::Start;
            return None;
        }
        if buf.get(self.at + 1).is_some_and(|next| !matches!(next, b'T' | b't')) {
            self.at += 1;
            return None;
        }
        let before = if self.at == 0 { self.before } else { buf[self.at - 1] };
        match call_at_tag(before, &buf[self.at..], rules).at_end(end) {
            ProbeResult::More => Some(TextScanResult::Text(self.at)),
            ProbeResult::Yes(call) => Some(TextScanResult::Call(self.at, call)),
            ProbeResult::No => {
                self.at += 1;
                None
            }
        }
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
