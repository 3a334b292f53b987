//! Calls written as `TOOL:` and `ARGS:` lines.

use super::CallScanResult;
use super::probe::{LONGEST_NAME, ProbeResult, Taker, is_blank, line_break};
use crate::{
    ProtocolRules,
    call::{CallFormat, ParsedCall},
    read::yaml,
};

/// A YAML call in progress.
pub(crate) struct YamlScan {
    tool: String,
    /// After `ARGS:`.
    start: usize,
    /// Start of the current line.
    line: usize,
    /// Everything before this offset has been scanned.
    at: usize,
    /// End of the last line with content.
    last: usize,
    part: YamlPart,
}

enum YamlPart {
    /// On the line of `ARGS:`.
    First,
    /// At the start of a line below it.
    Below,
    /// In a line of the block.
    Block,
}

impl YamlScan {
    pub(super) fn begins(line: &[u8]) -> ProbeResult<Self> {
        let mut take = Taker::new(line);
        let tool = take.word(b"TOOL:").blanks().run(|byte| byte > b' ', 1, LONGEST_NAME);
        match take.blanks().line_end().word(b"ARGS:").done() {
            ProbeResult::Yes(start) => {
                let tool = String::from_utf8_lossy(tool).trim_matches(['"', '\'']).to_owned();
                ProbeResult::Yes(Self {
                    tool,
                    start,
                    line: start,
                    at: start,
                    last: start,
                    part: YamlPart::First,
                })
            }
            ProbeResult::No => ProbeResult::No,
            ProbeResult::More => ProbeResult::More,
        }
    }

    pub(super) fn look(&mut self, buf: &[u8], rules: &ProtocolRules) -> Option<CallScanResult> {
        loop {
            match self.part {
                YamlPart::First => {
                    self.line_end(buf)?;
                    let first = buf[self.start..self.last].trim_ascii_start();
                    if !first.is_empty() && first[0] != b'#' {
                        return Some(self.read(buf, rules));
                    }
                }
                YamlPart::Below => match buf.get(self.at)? {
                    b'\n' | b'\r' => {
                        self.at += 1;
                        self.line = self.at;
                    }
                    byte if is_blank(*byte) => self.part = YamlPart::Block,
                    _ => return Some(self.read(buf, rules)),
                },
                YamlPart::Block => self.line_end(buf)?,
            }
        }
    }

    pub(super) fn cut(&mut self, buf: &[u8], rules: &ProtocolRules) -> CallScanResult {
        if !matches!(self.part, YamlPart::Below) {
            self.keep_line(buf, buf.len());
        }
        self.read(buf, rules)
    }

    fn line_end(&mut self, buf: &[u8]) -> Option<()> {
        let Some(found) = line_break(&buf[self.at..]) else {
            self.at = buf.len();
            return None;
        };
        let end = self.at + found;
        self.keep_line(buf, end);
        self.at = end + 1;
        self.line = self.at;
        self.part = YamlPart::Below;
        Some(())
    }

    /// A blank line counts only if a line with content follows.
    fn keep_line(&mut self, buf: &[u8], end: usize) {
        let line = buf[self.line..end].trim_ascii_end();
        if !line.is_empty() {
            self.last = self.line + line.len();
        }
    }

    fn read(&mut self, buf: &[u8], rules: &ProtocolRules) -> CallScanResult {
        let tool = std::mem::take(&mut self.tool);
        let param = |name: &str| rules.tools.as_ref().and_then(|tools| tools.param(&tool, name));
        match yaml::arguments(&buf[self.start..self.last], &param) {
            Ok(args) => {
                CallScanResult::Call(self.last, Box::new(ParsedCall::new(tool, args, CallFormat::Yaml)))
            }
            Err(why) => CallScanResult::Invalid(self.last, format!("Failed to parse ARGS: {why}")),
        }
    }
}
