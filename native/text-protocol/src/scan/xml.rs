//! Calls written as XML elements.

use super::Verdict;
use super::probe::{Probe, Taker};
use crate::{
    Rules,
    call::{Call, Format},
    read::{value, xml},
};
use memchr::{memchr, memmem};
use serde_json::{Map, Value};

const CLOSE: &[u8] = b"</tool>";
const CLOSE_ARG: &[u8] = b"</arg>";
const OPEN_CDATA: &[u8] = b"<![CDATA[";
const CLOSE_CDATA: &[u8] = b"]]>";

/// An XML call that has begun.
pub(crate) struct XmlScan {
    tool: String,
    at: usize,
    part: Part,
    /// Texts by name.
    args: Map<String, Value>,
}

enum Part {
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
    pub(super) fn begins(text: &[u8]) -> Probe<Self> {
        let mut take = Taker::new(text);
        let tool = named(&mut take, b"<tool");
        let part = match take.peek() {
            Some(b'/') => Part::Empty,
            _ => Part::Between,
        };
        take.word(if matches!(part, Part::Empty) { b"/>" } else { b">" });
        match take.done() {
            Probe::Yes(at) => {
                let tool = String::from_utf8_lossy(tool).into_owned();
                Probe::Yes(Self { tool, at, part, args: Map::new() })
            }
            Probe::No => Probe::No,
            Probe::More => Probe::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8], rules: &Rules) -> Option<Verdict> {
        loop {
            match &self.part {
                Part::Empty => return Some(self.whole(self.at, rules)),
                Part::Between => {
                    if let Some(end) = self.between(buf)? {
                        return Some(self.whole(end, rules));
                    }
                }
                Part::Arg { .. } => self.arg(buf)?,
                Part::Cdata { .. } => self.cdata(buf)?,
                Part::Broken(message) => {
                    let Some(found) = memmem::find(&buf[self.at..], CLOSE) else {
                        self.at = self.at.max(buf.len().saturating_sub(CLOSE.len() - 1));
                        return None;
                    };
                    return Some(Verdict::Invalid(self.at + found + CLOSE.len(), message.clone()));
                }
            }
        }
    }

    pub(super) fn cut(&mut self, buf: &[u8]) -> Verdict {
        let message = match &self.part {
            Part::Arg { name, .. } => format!("Missing closing tag </arg> of \"{name}\""),
            Part::Cdata { name, .. } => format!("Missing ]]> in \"{name}\""),
            Part::Broken(message) => format!("Missing closing tag </tool>. {message}"),
            _ => "Missing closing tag </tool>".to_owned(),
        };
        Verdict::Invalid(buf.len(), message)
    }

    /// Between arguments; the end of the call where it has come.
    fn between(&mut self, buf: &[u8]) -> Option<Option<usize>> {
        self.at += buf[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = &buf[self.at..];
        match Taker::new(rest).word(CLOSE).done() {
            Probe::Yes(len) => return Some(Some(self.at + len)),
            Probe::More => return None,
            Probe::No => {}
        }
        let mut take = Taker::new(rest);
        let name = named(&mut take, b"<arg");
        match take.word(b">").done() {
            Probe::More => return None,
            Probe::No => {
                let message = "Invalid tool call format: expected <arg name=\"…\"> or </tool>";
                self.part = Part::Broken(message.to_owned());
            }
            Probe::Yes(len) => {
                self.at += len;
                self.part = Part::Arg { name: String::from_utf8_lossy(name).into_owned(), start: self.at };
            }
        }
        Some(None)
    }

    fn arg(&mut self, buf: &[u8]) -> Option<()> {
        let Part::Arg { name, start } = &mut self.part else { return Some(()) };
        let Some(found) = memchr(b'<', &buf[self.at..]) else {
            self.at = buf.len();
            return None;
        };
        self.at += found;
        let rest = &buf[self.at..];
        let is = |word: &[u8]| Taker::new(rest).word(word).done();
        match (is(CLOSE_ARG), is(OPEN_CDATA), is(CLOSE)) {
            (Probe::Yes(len), _, _) => {
                let text = xml::text(&buf[*start..self.at]);
                self.at += len;
                let name = std::mem::take(name);
                self.part = self.keep(name, text);
            }
            (_, Probe::Yes(len), _) => {
                self.at += len;
                self.part = Part::Cdata { name: std::mem::take(name), start: *start };
            }
            (_, _, Probe::Yes(_)) => {
                self.part = Part::Broken(format!("Missing closing tag </arg> of \"{name}\""));
            }
            (Probe::No, Probe::No, Probe::No) => self.at += 1,
            _ => return None,
        }
        Some(())
    }

    fn keep(&mut self, name: String, text: Option<String>) -> Part {
        let wrong = |what: &str| Part::Broken(format!("Invalid tool call format: \"{name}\" {what}"));
        match text {
            None => wrong("is not valid UTF-8"),
            Some(_) if self.args.contains_key(&name) => wrong("is given twice"),
            Some(text) => {
                self.args.insert(name, Value::String(text));
                Part::Between
            }
        }
    }

    fn cdata(&mut self, buf: &[u8]) -> Option<()> {
        let Part::Cdata { name, start } = &mut self.part else { return Some(()) };
        let Some(found) = memmem::find(&buf[self.at..], CLOSE_CDATA) else {
            self.at = self.at.max(buf.len().saturating_sub(CLOSE_CDATA.len() - 1));
            return None;
        };
        self.at += found + CLOSE_CDATA.len();
        self.part = Part::Arg { name: std::mem::take(name), start: *start };
        Some(())
    }

    fn whole(&mut self, len: usize, rules: &Rules) -> Verdict {
        let tool = std::mem::take(&mut self.tool);
        let param = |name: &str| rules.tools.as_ref().and_then(|tools| tools.param(&tool, name));
        let args: Map<_, _> = std::mem::take(&mut self.args)
            .into_iter()
            .map(|(name, text)| {
                let value = value::typed(text, param(&name));
                (name, value)
            })
            .collect();
        Verdict::Call(len, Box::new(Call::new(tool, args, Format::Xml)))
    }
}

/// `<tag name="…"`, up to what ends the tag.
fn named<'a>(take: &mut Taker<'a>, tag: &[u8]) -> &'a [u8] {
    take.word(tag).space(1).word(b"name").space(0).word(b"=").space(0);
    let name = take.quoted();
    take.space(0);
    name
}
