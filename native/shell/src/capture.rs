//! Collects a command's output for results.

use super::ansi::Stripper;
use super::head_tail::HeadTailBuffer;
use super::recent::RecentOutput;
use super::spool::Spool;
use super::text::StreamText;
use beamai_port_tools::shell::PrintedOutput;
use beamai_process::{OutputSink, OutputStream};
use beamai_tool::CallContext;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// Collects a command's output: as much as a result can hold, and a file with all of it if that is not enough.
#[derive(Debug)]
pub(super) struct Capture {
    stdout: Channel,
    stderr: Channel,
    spool: Spool,
    /// Output for progress events, if the host wants it.
    recent: Option<Arc<Mutex<RecentOutput>>>,
    /// Maximum bytes of each stream in a result.
    cap: usize,
    /// Bytes of both streams since the command's start.
    total: usize,
    /// Whether a stream had more bytes than a result can hold.
    is_over: bool,
    /// Whether a line is so long that a model is shown only a part of it.
    has_long_line: bool,
}

/// Bytes of output from which on a session has a file with all of it: a model is shown little more of a result.
const COPY_FROM: usize = 24 << 10;
/// Bytes of a line from which on there is such a file as well.
const LONG_LINE: usize = beamai_tool::for_model::LINE;

#[derive(Debug)]
struct Channel {
    stripper: Option<Stripper>,
    buffer: HeadTailBuffer,
    /// Bytes since the command's start.
    total: u64,
    /// Bytes of the line that the stream is in.
    line: usize,
}

impl Channel {
    /// Counts the bytes of lines; returns whether one is too long.
    fn ends_long_line(&mut self, bytes: &[u8]) -> bool {
        bytes.split(|byte| *byte == b'\n').enumerate().any(|(at, part)| {
            self.line = if at == 0 { self.line + part.len() } else { part.len() };
            self.line > LONG_LINE
        })
    }
}

impl Capture {
    /// A capture for a command of this call. `strip` removes escape sequences before anything is stored.
    pub(super) fn new(cx: &CallContext, strip: bool) -> Self {
        let cap = cx.limits.output_bytes;
        let channel = || Channel {
            stripper: strip.then(Stripper::default),
            buffer: HeadTailBuffer::new(cap),
            total: 0,
            line: 0,
        };
        let spool = Spool::new(&cx.workspace, cx.limits.output_file_bytes);
        let (is_over, has_long_line) = (false, false);
        Self {
            stdout: channel(),
            stderr: channel(),
            spool,
            recent: None,
            cap,
            total: 0,
            is_over,
            has_long_line,
        }
    }

    /// Also adds new output to `recent`.
    pub(super) fn with_recent(self, recent: Option<Arc<Mutex<RecentOutput>>>) -> Self {
        Self { recent, ..self }
    }

    /// Takes the output since the last call. `goes_on` says that more may follow.
    pub(super) fn take_printed(&mut self, goes_on: bool) -> PrintedOutput {
        let stdout = StreamText::of(self.stdout.buffer.take(goes_on));
        let stderr = StreamText::of(self.stderr.buffer.take(goes_on));
        PrintedOutput {
            truncated: stdout.total.is_some() || stderr.total.is_some(),
            stdout: stdout.text,
            stderr: stderr.text,
            stdout_base64: stdout.base64,
            stderr_base64: stderr.base64,
            stdout_bytes: stdout.total,
            stderr_bytes: stderr.total,
            stdout_gap: stdout.gap,
            stderr_gap: stderr.gap,
            stdout_cut_lines: stdout.cut_lines,
            stderr_cut_lines: stderr.cut_lines,
            output_file: self.spool.path().filter(|_| self.is_over),
            output_file_lacks: self.spool.lacks().filter(|_| self.is_over),
            output_copy: self.spool.path().filter(|_| !self.is_over && self.spool.lacks().is_none()),
        }
    }

    /// Marks the end of the output.
    pub(super) fn close(&mut self) {
        self.spool.close();
    }
}

impl OutputSink for Capture {
    fn take(&mut self, source: OutputStream, bytes: &[u8]) {
        let channel = match source {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let bytes = channel.stripper.as_mut().map_or(Cow::Borrowed(bytes), |stripper| stripper.strip(bytes));
        channel.buffer.push(&bytes);
        if let Some(recent) = &self.recent {
            recent.lock().unwrap_or_else(PoisonError::into_inner).push(source, &bytes);
        }
        channel.total += bytes.len() as u64;
        self.is_over |= channel.total > self.cap as u64;
        self.total += bytes.len();
        // Once there is a file, nothing depends on lines any more.
        if self.total <= COPY_FROM && !self.has_long_line {
            self.has_long_line = channel.ends_long_line(&bytes);
        }
        let is_shown_in_part = self.total > COPY_FROM || self.has_long_line;
        self.spool.take(&bytes, self.is_over || is_shown_in_part && self.spool.is_in_session());
    }
}
