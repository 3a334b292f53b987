//! Parses a response step by step, from a buffer that begins where the last step ended.

use super::ProtocolRules;
use super::call::{CallFormat, ParsedCall};
use super::scan::{CallScan, CallScanResult, TextScan, TextScanResult};

/// The result of a step, about the start of the buffer. Lengths are in bytes.
pub(super) enum ScanStep {
    /// This many bytes are text; `Text(0)` asks for more input.
    Text(usize),
    /// This many bytes are a call.
    Call(usize, Box<ParsedCall>),
    /// This many bytes are a malformed call.
    Invalid(usize, CallFormat, String),
}

/// The state of the parser.
#[derive(Default)]
pub(super) struct ResponseScanner {
    text: TextScan,
    call: Option<CallScan>,
    /// Whether the call may be an example.
    is_unsure: bool,
}

const UNSURE: &str = "The call was not run: it may be an example, because it is unclear where a code block before it ends. Send the \
                      call again, without that block";

impl ResponseScanner {
    /// Parses the start of the buffer. If `end` is set, no more input follows, and every step consumes something.
    pub(super) fn step(&mut self, buf: &[u8], end: bool, rules: &ProtocolRules) -> ScanStep {
        loop {
            let verdict = match &mut self.call {
                None => match self.begin(buf, end, rules) {
                    Some(text) => return ScanStep::Text(text),
                    None => continue,
                },
                Some(call) => match call.look(buf, rules) {
                    None if end => call.cut(buf, rules),
                    None => return ScanStep::Text(0),
                    Some(verdict) => verdict,
                },
            };
            if let Some(step) = self.finish(verdict, buf, rules) {
                return step;
            }
        }
    }

    /// The length of the text before a call, or before a possible one; `None` if a call begins immediately.
    fn begin(&mut self, buf: &[u8], end: bool, rules: &ProtocolRules) -> Option<usize> {
        let text = match self.text.scan(buf, end, rules) {
            TextScanResult::Text(text) => text,
            TextScanResult::Call(at, call, is_unsure) => {
                self.call = Some(call);
                self.is_unsure = is_unsure;
                if at == 0 {
                    return None;
                }
                at
            }
        };
        self.text.pass(buf, text);
        Some(text)
    }

    fn finish(&mut self, verdict: CallScanResult, buf: &[u8], rules: &ProtocolRules) -> Option<ScanStep> {
        let format = self.call.take()?.format();
        match verdict {
            CallScanResult::Text(resume) => {
                self.text.resume(resume);
                None
            }
            CallScanResult::Call(len, call) => {
                self.text.after_call(&buf[..len]);
                if self.is_unsure {
                    return Some(ScanStep::Invalid(len, format, UNSURE.to_owned()));
                }
                Some(match rules.tools.as_ref().map_or(Ok(()), |tools| tools.validate(&call)) {
                    Ok(()) => ScanStep::Call(len, call),
                    Err(message) => ScanStep::Invalid(len, format, message),
                })
            }
            CallScanResult::Invalid(len, message) => {
                self.text.after_call(&buf[..len]);
                Some(ScanStep::Invalid(len, format, message))
            }
        }
    }
}
