//! Calls between tags: a JSON object, then raw texts.

use super::Verdict;
use super::probe::{self, LONGEST_NAME, Probe, Taker, is_name, is_name_start};
use crate::{Rules, read::json};
use memchr::memmem;
use serde_json::{Map, Value};

const OPEN: &[u8] = b"<TOOL_CALL>";
const CLOSE: &[u8] = b"</TOOL_CALL>";

/// A call between tags that has begun.
pub(crate) struct TagScan {
    /// Everything before this offset has been looked at.
    at: usize,
    part: Part,
    head: Map<String, Value>,
    texts: Vec<(String, String)>,
}

enum Part {
    /// Before the JSON.
    Lead,
    /// In the JSON, which begins at the offset.
    Head { start: usize, depth: usize, in_string: bool },
    /// After the JSON or a raw text.
    After,
    /// In a raw text.
    Raw(Raw),
    /// Not valid, for this reason.
    Broken { message: String, in_head: bool },
}

struct Raw {
    name: String,
    /// A line break and the label.
    end: Vec<u8>,
    /// Whether the line break before the label is left out.
    chomp: bool,
    start: usize,
}

impl TagScan {
    pub(super) fn begins(text: &[u8]) -> Probe<Self> {
        match Taker::new(text).word(OPEN).done() {
            Probe::Yes(at) => Probe::Yes(Self { at, part: Part::Lead, head: Map::new(), texts: Vec::new() }),
            Probe::No => Probe::No,
            Probe::More => Probe::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8], rules: &Rules) -> Option<Verdict> {
        loop {
            match &mut self.part {
                Part::Lead => self.lead(buf)?,
                Part::Head { .. } => self.head(buf)?,
                Part::After => {
                    if let Some(verdict) = self.after(buf)? {
                        return Some(verdict);
                    }
                }
                Part::Raw(_) => self.raw(buf)?,
                Part::Broken { .. } => return self.broken(buf, rules),
            }
        }
    }

    /// What the text breaks off in is not looked at for further calls: it may be the content of a file.
    pub(super) fn cut(&mut self, buf: &[u8]) -> Verdict {
        let missing = "Missing closing tag </TOOL_CALL>";
        let message = match &self.part {
            Part::Head { in_string: true, .. } => format!("{missing}: the text ends inside a JSON string"),
            Part::Raw(raw) => {
                let label = String::from_utf8_lossy(&raw.end[1..]).into_owned();
                format!("{missing}: the raw text of \"{}\" is not ended by a line {label}", raw.name)
            }
            Part::Broken { message, .. } => format!("{missing}. {message}"),
            _ => missing.to_owned(),
        };
        Verdict::Invalid(buf.len(), message)
    }

    fn lead(&mut self, buf: &[u8]) -> Option<()> {
        self.skip_space(buf)?;
        self.part = match buf[self.at] {
            b'{' => Part::Head { start: self.at, depth: 0, in_string: false },
            _ => {
                let message = "Failed to parse tool call JSON: expected an object, { … }".to_owned();
                self.at = OPEN.len();
                Part::Broken { message, in_head: true }
            }
        };
        Some(())
    }

    fn skip_space(&mut self, buf: &[u8]) -> Option<()> {
        loop {
            match probe::space(&buf[self.at..]) {
                Probe::Yes(len) => self.at += len,
                Probe::No => return Some(()),
                Probe::More => return None,
            }
        }
    }

    fn head(&mut self, buf: &[u8]) -> Option<()> {
        let Part::Head { start, depth, in_string } = &mut self.part else { return Some(()) };
        let start = *start;
        let outcome = json::extent(buf, &mut self.at, depth, in_string)?;
        let parsed = match outcome {
            json::Extent::Whole => json::object(&buf[start..self.at]),
            json::Extent::Wrong(what) => Err(what.to_owned()),
        };
        match parsed {
            Ok(head) => {
                self.head = head;
                self.part = Part::After;
            }
            Err(why) => {
                // Where the JSON is not valid, no string protects a closing tag: the first one counts.
                let message = format!("Failed to parse tool call JSON: {why}");
                self.at = OPEN.len();
                self.part = Part::Broken { message, in_head: true };
            }
        }
        Some(())
    }

    fn after(&mut self, buf: &[u8]) -> Option<Option<Verdict>> {
        self.skip_space(buf)?;
        match Taker::new(&buf[self.at..]).word(CLOSE).done() {
            Probe::Yes(len) => return Some(Some(self.whole(self.at + len))),
            Probe::More => return None,
            Probe::No => {}
        }
        match Raw::begins(&buf[self.at..]) {
            Probe::More => None,
            Probe::Yes((raw, len)) => {
                self.at += len;
                self.part = Part::Raw(Raw { start: self.at, ..raw });
                // The text may be empty: the label may follow at once.
                self.at -= 1;
                Some(None)
            }
            Probe::No => {
                let message = "Failed to parse tool call JSON: after the object expected </TOOL_CALL>, or a line such as: \
                     content <<END";
                self.part = Part::Broken { message: message.to_owned(), in_head: false };
                Some(None)
            }
        }
    }

    fn raw(&mut self, buf: &[u8]) -> Option<()> {
        let Part::Raw(raw) = &self.part else { return Some(()) };
        let Some(found) = memmem::find(&buf[self.at..], &raw.end) else {
            let seen = buf.len().saturating_sub(raw.end.len() - 1);
            self.at = seen.max(self.at);
            return None;
        };
        let line_break = self.at + found;
        let after = line_break + raw.end.len();
        match Taker::new(&buf[after..]).blanks().line_end().done() {
            Probe::More => {
                self.at = line_break;
                return None;
            }
            Probe::No => self.at = line_break + 1,
            Probe::Yes(_) => {
                let text = raw.text(buf, line_break);
                match String::from_utf8(text.to_vec()) {
                    Ok(text) => {
                        self.texts.push((raw.name.clone(), text));
                        self.part = Part::After;
                    }
                    Err(_) => {
                        let message = format!("the raw text of \"{}\" is not valid UTF-8", raw.name);
                        self.part = Part::Broken { message, in_head: false };
                    }
                }
                self.at = after;
            }
        }
        Some(())
    }

    fn broken(&mut self, buf: &[u8], rules: &Rules) -> Option<Verdict> {
        let Part::Broken { message, in_head } = &self.part else { return None };
        let Some(found) = memmem::find(&buf[self.at..], CLOSE) else {
            self.at = self.at.max(buf.len().saturating_sub(CLOSE.len() - 1));
            return None;
        };
        let end = self.at + found;
        let mended = (rules.repair && *in_head).then(|| json::mend(&buf[OPEN.len()..end])).flatten();
        Some(match mended {
            Some(call) => Verdict::Call(end + CLOSE.len(), Box::new(call)),
            None => Verdict::Invalid(end + CLOSE.len(), message.clone()),
        })
    }

    fn whole(&mut self, len: usize) -> Verdict {
        match json::call(std::mem::take(&mut self.head), std::mem::take(&mut self.texts)) {
            Ok(call) => Verdict::Call(len, Box::new(call)),
            Err(message) => Verdict::Invalid(len, message),
        }
    }
}

impl Raw {
    /// A line such as `content <<END`, and its length.
    fn begins(text: &[u8]) -> Probe<(Self, usize)> {
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
            end: [b"\n", label].concat(),
            chomp,
            start: 0,
        };
        match take.done() {
            Probe::Yes(len) => Probe::Yes((raw(), len)),
            Probe::No => Probe::No,
            Probe::More => Probe::More,
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
                let text = &buf[self.start..line_break];
                text.strip_suffix(b"\r").unwrap_or(text)
            }
        }
    }
}
