//! Reads a response step by step, from a buffer that begins where the last step ended.

use super::Rules;
use super::call::{Call, Format};
use super::scan::{Scan, Seen, TextScan, Verdict};

/// What is known about the start of the buffer. Lengths are in bytes.
pub(super) enum Step {
    /// So much of it is text; `Text(0)` asks for more.
    Text(usize),
    /// So much of it is a call.
    Call(usize, Box<Call>),
    /// So much of it was begun as a call and is none.
    Invalid(usize, Format, String),
}

/// Where in a response the reading is.
#[derive(Default)]
pub(super) struct Machine {
    text: TextScan,
    call: Option<Scan>,
}

impl Machine {
    /// Looks at the buffer. `end` says that nothing will follow it; then every step takes something off it.
    pub(super) fn step(&mut self, buf: &[u8], end: bool, rules: &Rules) -> Step {
        loop {
            let verdict = match &mut self.call {
                None => match self.begin(buf, end, rules) {
                    Some(text) => return Step::Text(text),
                    None => continue,
                },
                Some(call) => match call.look(buf, rules) {
                    None if end => call.cut(buf, rules),
                    None => return Step::Text(0),
                    Some(verdict) => verdict,
                },
            };
            if let Some(step) = self.finish(verdict, rules) {
                return step;
            }
        }
    }

    /// Text up to the beginning of a call, or up to where one may begin; `None` where a call begins at once.
    fn begin(&mut self, buf: &[u8], end: bool, rules: &Rules) -> Option<usize> {
        let text = match self.text.scan(buf, end, rules) {
            Seen::Text(text) => text,
            Seen::Call(at, call) => {
                self.call = Some(call);
                if at == 0 {
                    return None;
                }
                at
            }
        };
        self.text.pass(buf, text);
        Some(text)
    }

    fn finish(&mut self, verdict: Verdict, rules: &Rules) -> Option<Step> {
        let format = self.call.take()?.format();
        match verdict {
            Verdict::Text(resume) => {
                self.text.resume(resume);
                None
            }
            Verdict::Call(len, call) => {
                self.text.after_call();
                Some(match rules.tools.as_ref().map_or(Ok(()), |tools| tools.validate(&call)) {
                    Ok(()) => Step::Call(len, call),
                    Err(message) => Step::Invalid(len, format, message),
                })
            }
            Verdict::Invalid(len, message) => {
                self.text.after_call();
                Some(Step::Invalid(len, format, message))
            }
        }
    }
}
