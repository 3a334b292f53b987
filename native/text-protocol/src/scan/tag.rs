//! Calls between tags: a JSON object, then raw texts.

use super::CallScanResult;
use super::probe::{self, LONGEST_NAME, ProbeResult, Taker, is_name, is_name_start, line_break};
use crate::{ProtocolRules, read::json};
use memchr::memmem;
use serde_json::{Map, Value};

const OPEN: &[u8] = b"<TOOL_CALL>";
const CLOSE: &[u8] = b"</TOOL_CALL>";

/// A call between tags in progress.
pub(crate) struct TagScan {
    /// Everything before this offset has been scanned.
    at: usize,
    part: TagPart,
    head: Map<String, Value>,
    texts: Vec<(String, String)>,
}

enum TagPart {
    /// Before the JSON.
    Lead,
    /// In the JSON, which begins at the offset.
    Head { start: usize, depth: usize, in_string: bool },
    /// After the JSON or a raw text.
    After,
    /// In a raw text.
    Raw(RawArgument),
    /// Not valid, for this reason.
    Broken { message: String, in_head: bool },
}

struct RawArgument {
    name: String,
    label: Vec<u8>,
    /// Whether the line break before the label is left out.
    chomp: bool,
    start: usize,
}

impl TagScan {
    pub(super) fn begins(text: &[u8]) -> ProbeResult<Self> {
        match Taker::new(text).word(OPEN).done() {
            ProbeResult::Yes(at) => {
                ProbeResult::Yes(Self { at, part: TagPart::Lead, head: Map::new(), texts: Vec::new() })
            }
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8], rules: &ProtocolRules) -> Option<CallScanResult> {
        loop {
            match &mut self.part {
                TagPart::Lead => self.lead(buf)?,
                TagPart::Head { .. } => self.head(buf)?,
                TagPart::After => {
                    if let Some(verdict) = self.after(buf)? {
                        return Some(verdict);
                    }
                }
                TagPart::Raw(_) => self.raw(buf)?,
                TagPart::Broken { .. } => return self.broken(buf, rules),
            }
        }
    }

    /// An unfinished call is not searched for further calls: it may be the content of a file.
    pub(super) fn cut(&mut self, buf: &[u8]) -> CallScanResult {
        let missing = "Missing closing tag </TOOL_CALL>";
        let message = match &self.part {
            TagPart::Head { in_string: true, .. } => format!("{missing}: the text ends inside a JSON string"),
            TagPart::Raw(raw) => {
                let label = String::from_utf8_lossy(&raw.label).into_owned();
                format!("{missing}: the raw text of \"{}\" is not ended by a line {label}", raw.name)
            }
            TagPart::Broken { message, .. } => format!("{missing}. {message}"),
            _ => missing.to_owned(),
        };
        CallScanResult::Invalid(buf.len(), message)
    }

    fn lead(&mut self, buf: &[u8]) -> Option<()> {
        self.skip_space(buf)?;
        self.part = match buf[self.at] {
            b'{' => TagPart::Head { start: self.at, depth: 0, in_string: false },
            _ => {
                let message = "Failed to parse tool call JSON: expected an object, { … }".to_owned();
                self.at = OPEN.len();
                TagPart::Broken { message, in_head: true }
            }
        };
        Some(())
    }

    fn skip_space(&mut self, buf: &[u8]) -> Option<()> {
        loop {
            match probe::space(&buf[self.at..]) {
                ProbeResult::Yes(len) => self.at += len,
                ProbeResult::No => return Some(()),
                ProbeResult::More => return None,
            }
        }
    }

    fn head(&mut self, buf: &[u8]) -> Option<()> {
        let TagPart::Head { start, depth, in_string } = &mut self.part else { return Some(()) };
        let start = *start;
        let outcome = json::extent(buf, &mut self.at, depth, in_string)?;
        let parsed = match outcome {
            json::JsonExtent::Whole => json::object(&buf[start..self.at]),
            json::JsonExtent::Wrong(what) => Err(what.to_owned()),
        };
        match parsed {
            Ok(head) => {
                self.head = head;
                self.part = TagPart::After;
            }
            Err(why) => {
                // Invalid JSON has no reliable strings, so the first closing tag counts.
                let message = format!("Failed to parse tool call JSON: {why}");
                self.at = OPEN.len();
                self.part = TagPart::Broken { message, in_head: true };
            }
        }
        Some(())
    }

    fn after(&mut self, buf: &[u8]) -> Option<Option<CallScanResult>> {
        self.skip_space(buf)?;
        match Taker::new(&buf[self.at..]).word(CLOSE).done() {
            ProbeResult::Yes(len) => return Some(Some(self.whole(self.at + len))),
            ProbeResult::More => return None,
            ProbeResult::No => {}
        }
        match RawArgument::begins(&buf[self.at..]) {
            ProbeResult::More => None,
            ProbeResult::Yes((raw, len)) => {
                self.at += len;
                self.part = TagPart::Raw(RawArgument { start: self.at, ..raw });
                // The text may be empty: the label may follow immediately.
                self.at -= 1;
                Some(None)
            }
            ProbeResult::No => {
                let message = "Failed to parse tool call JSON: after the object expected </TOOL_CALL>, or a line such as: \
                     content <<END";
                self.part = TagPart::Broken { message: message.to_owned(), in_head: false };
                Some(None)
            }
        }
    }

    fn raw(&mut self, buf: &[u8]) -> Option<()> {
        let TagPart::Raw(raw) = &self.part else { return Some(()) };
        let Some(found) = line_break(&buf[self.at..]) else {
            self.at = buf.len();
            return None;
        };
        self.at += found;
        let after = self.at + 1 + raw.label.len();
        match Taker::new(&buf[self.at + 1..]).word(&raw.label).blanks().line_end().done() {
            ProbeResult::More => return None,
            ProbeResult::No => self.at += 1,
            ProbeResult::Yes(_) => {
                let text = raw.text(buf, self.at);
                match String::from_utf8(text.to_vec()) {
                    Ok(text) => {
                        self.texts.push((raw.name.clone(), text));
                        self.part = TagPart::After;
                    }
                    Err(_) => {
                        let message = format!("the raw text of \"{}\" is not valid UTF-8", raw.name);
                        self.part = TagPart::Broken { message, in_head: false };
                    }
                }
                self.at = after;
            }
        }
        Some(())
    }

    fn broken(&mut self, buf: &[u8], rules: &ProtocolRules) -> Option<CallScanResult> {
        let TagPart::Broken { message, in_head } = &self.part else { return None };
        let Some(found) = memmem::find(&buf[self.at..], CLOSE) else {
            self.at = self.at.max(buf.len().saturating_sub(CLOSE.len() - 1));
            return None;
        };
        let end = self.at + found;
        let mended = (rules.repair && *in_head).then(|| json::mend(&buf[OPEN.len()..end])).flatten();
        Some(match mended {
            Some(call) => CallScanResult::Call(end + CLOSE.len(), Box::new(call)),
            None => CallScanResult::Invalid(end + CLOSE.len(), message.clone()),
        })
    }

    fn whole(&mut self, len: usize) -> CallScanResult {
        match json::call(std::mem::take(&mut self.head), std::mem::take(&mut self.texts)) {
            Ok(call) => CallScanResult::Call(len, Box::new(call)),
            Err(message) => CallScanResult::Invalid(len, message),
        }
    }
}

impl RawArgument {
    /// A line such as `content <<END`, and its length.
    fn begins(text: &[u8]) -> ProbeResult<(Self, usize)> {
        let mut take = Taker::new(text);
        take.peek().is_some_and(|byte| !is_name_start(byte)).then(|| take.word(b"a name"));
        let name = take.run(is_name, 1, LONGEST_NAME);
        take.blanks().word(b"<<");
        let chomp = !take.run(|byte| byte == b'-', 0, 1).is_empty();
        let quote = take.run(|byte| byte == b'"' || byte == b'\'', 0, 1);
        let label = take.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_', 1, LONGEST_NAME);
        take.word(quote).blanks().line_end();
        let raw = || Self {
            name: String::from_utf8_lossy(name).into_owned(),
            label: label.to_vec(),
            chomp,
            start: 0,
        };
        match take.done() {
            ProbeResult::Yes(len) => ProbeResult::Yes((raw(), len)),
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
        }
    }

    /// The text up to the line break before the label.
    fn text<'a>(&self, buf: &'a [u8], line_break: usize) -> &'a [u8] {
        if line_break < self.start {
            return b"";
        }
        match self.chomp {
            false => &buf[self.start..=line_break],
            true => {
                let text = &buf[self.start..=line_break];
                text.strip_suffix(b"\r\n").unwrap_or(&text[..text.len() - 1])
            }
        }
    }
}
