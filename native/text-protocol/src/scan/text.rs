//! Finds calls in text, and holds back only what may become one.

use super::Scan;
use super::function::FunctionScan;
use super::line::Fence;
use super::probe::Probe;
use super::tag::TagScan;
use super::xml::XmlScan;
use super::yaml::YamlScan;
use crate::{Rules, call::Format};
use memchr::{memchr, memchr2};

/// What was seen in a buffer.
pub(crate) enum Seen {
    /// Its start, up to here, is text.
    Text(usize),
    /// Its start, up to here, is text, and there a call begins.
    Call(usize, Scan),
}

/// Where the reading is in text.
pub(crate) struct TextScan {
    /// Everything before this offset has been looked at, and is text.
    at: usize,
    line: Line,
    fence: Option<Fence>,
    /// The byte before the buffer.
    before: u8,
}

#[derive(Clone, Copy)]
enum Line {
    /// At its start.
    Start,
    /// In it.
    Inside,
    /// In a line that begins with the marks of a fence, which opens at its end unless it was spoiled.
    Opening(Fence, bool),
}

impl Default for TextScan {
    fn default() -> Self {
        Self { at: 0, line: Line::Start, fence: None, before: b'\n' }
    }
}

impl TextScan {
    pub(crate) fn scan(&mut self, buf: &[u8], end: bool, rules: &Rules) -> Seen {
        loop {
            let seen = match self.line {
                Line::Start => self.line_start(buf, end, rules),
                Line::Opening(fence, spoiled) => self.opening(buf, fence, spoiled),
                Line::Inside if self.fence.is_some() => self.skip_line(buf),
                Line::Inside => self.inside(buf, end, rules),
            };
            match seen {
                None => {}
                Some(Seen::Text(len)) if !end => return Seen::Text(whole_characters(buf, len)),
                Some(Seen::Text(_)) => return Seen::Text(buf.len()),
                Some(call) => return call,
            }
        }
    }

    /// The first `len` bytes are gone from the buffer.
    pub(crate) fn pass(&mut self, buf: &[u8], len: usize) {
        if len > 0 {
            self.before = buf[len - 1];
            self.at = self.at.saturating_sub(len);
        }
    }

    /// The buffer begins after a call.
    pub(crate) fn after_call(&mut self) {
        *self = Self { at: 0, line: Line::Inside, fence: None, before: b'>' };
    }

    /// What was taken for a call is text up to this offset.
    pub(crate) fn resume(&mut self, at: usize) {
        self.at = at;
        self.line = Line::Inside;
    }

    fn line_start(&mut self, buf: &[u8], end: bool, rules: &Rules) -> Option<Seen> {
        let line = &buf[self.at..];
        if line.is_empty() {
            return Some(Seen::Text(self.at));
        }
        if let Some(fence) = self.fence {
            return self.in_fence(fence, line, end);
        }
        match Fence::opens(line).at_end(end) {
            Probe::More => return Some(Seen::Text(self.at)),
            Probe::Yes((fence, len)) => {
                self.at += len;
                self.line = Line::Opening(fence, false);
                return None;
            }
            Probe::No => {}
        }
        match call_at_line_start(line, rules).at_end(end) {
            Probe::More => Some(Seen::Text(self.at)),
            Probe::Yes(call) => Some(Seen::Call(self.at, call)),
            Probe::No => {
                self.line = Line::Inside;
                None
            }
        }
    }

    fn in_fence(&mut self, fence: Fence, line: &[u8], end: bool) -> Option<Seen> {
        match fence.closes(line).at_end(end) {
            Probe::More => return Some(Seen::Text(self.at)),
            Probe::Yes(()) => self.fence = None,
            Probe::No => {}
        }
        self.line = Line::Inside;
        // The line that closes a block is code to its end, and blank.
        None
    }

    fn opening(&mut self, buf: &[u8], fence: Fence, spoiled: bool) -> Option<Seen> {
        let rest = &buf[self.at..];
        let line_end = memchr(b'\n', rest);
        let spoiled = spoiled || fence.spoiled_by(&rest[..line_end.unwrap_or(rest.len())]);
        match line_end {
            None => {
                self.at = buf.len();
                self.line = Line::Opening(fence, spoiled);
                Some(Seen::Text(self.at))
            }
            Some(len) => {
                self.at += len + 1;
                self.line = Line::Start;
                self.fence = (!spoiled).then_some(fence);
                None
            }
        }
    }

    fn skip_line(&mut self, buf: &[u8]) -> Option<Seen> {
        match memchr(b'\n', &buf[self.at..]) {
            None => {
                self.at = buf.len();
                Some(Seen::Text(self.at))
            }
            Some(len) => {
                self.at += len + 1;
                self.line = Line::Start;
                None
            }
        }
    }

    fn inside(&mut self, buf: &[u8], end: bool, rules: &Rules) -> Option<Seen> {
        let Some(len) = memchr2(b'\n', b'<', &buf[self.at..]) else {
            self.at = buf.len();
            return Some(Seen::Text(self.at));
        };
        self.at += len;
        if buf[self.at] == b'\n' {
            self.at += 1;
            self.line = Line::Start;
            return None;
        }
        if buf.get(self.at + 1).is_some_and(|next| !matches!(next, b'T' | b't')) {
            self.at += 1;
            return None;
        }
        let before = if self.at == 0 { self.before } else { buf[self.at - 1] };
        match call_at_tag(before, &buf[self.at..], rules).at_end(end) {
            Probe::More => Some(Seen::Text(self.at)),
            Probe::Yes(call) => Some(Seen::Call(self.at, call)),
            Probe::No => {
                self.at += 1;
                None
            }
        }
    }
}

fn call_at_line_start(line: &[u8], rules: &Rules) -> Probe<Scan> {
    if rules.has(Format::Yaml) {
        match YamlScan::begins(line) {
            Probe::No => {}
            Probe::More => return Probe::More,
            Probe::Yes(scan) => return Probe::Yes(Scan::Yaml(scan)),
        }
    }
    match rules.has(Format::Function) {
        false => Probe::No,
        true => match FunctionScan::begins(line, rules) {
            Probe::No => Probe::No,
            Probe::More => Probe::More,
            Probe::Yes(scan) => Probe::Yes(Scan::Function(scan)),
        },
    }
}

/// A tag right after a backtick is code.
fn call_at_tag(before: u8, text: &[u8], rules: &Rules) -> Probe<Scan> {
    if before == b'`' {
        return Probe::No;
    }
    if rules.has(Format::Tag) {
        match TagScan::begins(text) {
            Probe::No => {}
            Probe::More => return Probe::More,
            Probe::Yes(scan) => return Probe::Yes(Scan::Tag(scan)),
        }
    }
    match rules.has(Format::Xml) {
        false => Probe::No,
        true => match XmlScan::begins(text) {
            Probe::No => Probe::No,
            Probe::More => Probe::More,
            Probe::Yes(scan) => Probe::Yes(Scan::Xml(scan)),
        },
    }
}

/// The length without the first bytes of a character that has not come in full.
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
