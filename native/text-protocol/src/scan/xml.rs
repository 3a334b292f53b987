//! Calls written as XML elements.

use super::CallScanResult;
use super::probe::{ProbeResult, Taker};
use crate::{
    ProtocolRules,
    call::{CallFormat, ParsedCall},
    read::{value, xml},
};
use memchr::{memchr, memmem};
use serde_json::{Map, Value};

const CLOSE: &[u8] = b"</tool>";
const CLOSE_ARG: &[u8] = b"</arg>";
const OPEN_CDATA: &[u8] = b"<![CDATA[";
const CLOSE_CDATA: &[u8] = b"]]>";

/// An XML call in progress.
pub(crate) struct XmlScan {
    tool: String,
    at: usize,
    part: XmlPart,
    /// Argument texts by name.
    args: Map<String, Value>,
}

enum XmlPart {
    Between,
    /// `<tool name="…"/>`.
    Empty,
    Arg {
        name: String,
        start: usize,
    },
    Cdata {
        name: String,
        start: usize,
    },
    Broken(String),
}

impl XmlScan {
    pub(super) fn begins(text: &[u8]) -> ProbeResult<Self> {
        let mut take = Taker::new(text);
        let tool = named(&mut take, b"<tool");
        let part = match take.peek() {
            Some(b'/') => XmlPart::Empty,
            _ => XmlPart::Between,
        };
        take.word(if matches!(part, XmlPart::Empty) { b"/>" } else { b">" });
        match take.done() {
            ProbeResult::Yes(at) => {
                let tool = String::from_utf8_lossy(tool).into_owned();
                ProbeResult::Yes(Self { tool, at, part, args: Map::new() })
            }
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8], rules: &ProtocolRules) -> Option<CallScanResult> {
        loop {
            match &self.part {
                XmlPart::Empty => return Some(self.whole(self.at, rules)),
                XmlPart::Between => {
                    if let Some(end) = self.between(buf)? {
                        return Some(self.whole(end, rules));
                    }
                }
                XmlPart::Arg { .. } => self.arg(buf)?,
                XmlPart::Cdata { .. } => self.cdata(buf)?,
                XmlPart::Broken(message) => {
                    let Some(found) = memmem::find(&buf[self.at..], CLOSE) else {
                        self.at = self.at.max(buf.len().saturating_sub(CLOSE.len() - 1));
                        return None;
                    };
                    return Some(CallScanResult::Invalid(self.at + found + CLOSE.len(), message.clone()));
                }
            }
        }
    }

    pub(super) fn cut(&mut self, buf: &[u8]) -> CallScanResult {
        let message = match &self.part {
            XmlPart::Arg { name, .. } => format!("Missing closing tag </arg> of \"{name}\""),
            XmlPart::Cdata { name, .. } => format!("Missing ]]> in \"{name}\""),
            XmlPart::Broken(message) => format!("Missing closing tag </tool>. {message}"),
            _ => "Missing closing tag </tool>".to_owned(),
        };
        CallScanResult::Invalid(buf.len(), message)
    }

    /// Between arguments; returns the end of the call if it has been reached.
    fn between(&mut self, buf: &[u8]) -> Option<Option<usize>> {
        self.at += buf[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = &buf[self.at..];
        match Taker::new(rest).word(CLOSE).done() {
            ProbeResult::Yes(len) => return Some(Some(self.at + len)),
            ProbeResult::More => return None,
            ProbeResult::No => {}
        }
        let mut take = Taker::new(rest);
        let name = named(&mut take, b"<arg");
        match take.word(b">").done() {
            ProbeResult::More => return None,
            ProbeResult::No => {
                let message = "Invalid tool call format: expected <arg name=\"…\"> or </tool>";
                self.part = XmlPart::Broken(message.to_owned());
            }
            ProbeResult::Yes(len) => {
                self.at += len;
                self.part = XmlPart::Arg { name: String::from_utf8_lossy(name).into_owned(), start: self.at };
            }
        }
        Some(None)
    }

    fn arg(&mut self, buf: &[u8]) -> Option<()> {
        let XmlPart::Arg { name, start } = &mut self.part else { return Some(()) };
        let Some(found) = memchr(b'<', &buf[self.at..]) else {
            self.at = buf.len();
            return None;
        };
        self.at += found;
        let rest = &buf[self.at..];
        let is = |word: &[u8]| Taker::new(rest).word(word).done();
        match (is(CLOSE_ARG), is(OPEN_CDATA), is(CLOSE)) {
            (ProbeResult::Yes(len), _, _) => {
                let text = xml::text(&buf[*start..self.at]);
                self.at += len;
                let name = std::mem::take(name);
                self.part = self.keep(name, text);
            }
            (_, ProbeResult::Yes(len), _) => {
                self.at += len;
                self.part = XmlPart::Cdata { name: std::mem::take(name), start: *start };
            }
            (_, _, ProbeResult::Yes(_)) => {
                self.part = XmlPart::Broken(format!("Missing closing tag </arg> of \"{name}\""));
            }
            (ProbeResult::No, ProbeResult::No, ProbeResult::No) => self.at += 1,
            _ => return None,
        }
        Some(())
    }

    fn keep(&mut self, name: String, text: Option<String>) -> XmlPart {
        let wrong = |what: &str| XmlPart::Broken(format!("Invalid tool call format: \"{name}\" {what}"));
        match text {
            None => wrong("is not valid UTF-8"),
            Some(_) if self.args.contains_key(&name) => wrong("is given twice"),
            Some(text) => {
                self.args.insert(name, Value::String(text));
                XmlPart::Between
            }
        }
    }

    fn cdata(&mut self, buf: &[u8]) -> Option<()> {
        let XmlPart::Cdata { name, start } = &mut self.part else { return Some(()) };
        let Some(found) = memmem::find(&buf[self.at..], CLOSE_CDATA) else {
            self.at = self.at.max(buf.len().saturating_sub(CLOSE_CDATA.len() - 1));
            return None;
        };
        self.at += found + CLOSE_CDATA.len();
        self.part = XmlPart::Arg { name: std::mem::take(name), start: *start };
        Some(())
    }

    fn whole(&mut self, len: usize, rules: &ProtocolRules) -> CallScanResult {
        let tool = std::mem::take(&mut self.tool);
        let param = |name: &str| rules.tools.as_ref().and_then(|tools| tools.param(&tool, name));
        let args: Map<_, _> = std::mem::take(&mut self.args)
            .into_iter()
            .map(|(name, text)| {
                let value = value::typed(text, param(&name));
                (name, value)
            })
            .collect();
        CallScanResult::Call(len, Box::new(ParsedCall::new(tool, args, CallFormat::Xml)))
    }
}

/// `<tag name="…"`, without the end of the tag.
fn named<'a>(take: &mut Taker<'a>, tag: &[u8]) -> &'a [u8] {
    take.word(tag).space(1).word(b"name").space(0).word(b"=").space(0);
    let name = take.quoted();
    take.space(0);
    name
}
