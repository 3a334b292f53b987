//! Reads lines of a file.

use super::buffered_file::{BufferedFile, no_text};
use super::{is_false, missing, refuse_larger, tail};
use base64::Engine;
use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_text::{Charset, ContentKind, LineEnding, LineStats, LineWindow, summarize};
use beamai_tool::{
    CallContext, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_workspace::WorkspacePath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Block size for decoding large files.
const BLOCK: u64 = if cfg!(test) { 1 << 10 } else { 256 << 10 };

/// Advice for a file that is not text.
const ADVICE: &str = "this tool shows text and png, jpeg, gif and webp images: look at the file with a program \
                      that knows it";
/// Further advice for tools with an encoding argument.
const BY_ENCODING: &str = ", or give an encoding, such as latin1, to see its bytes as text all the same";

/// Reads lines of a text file, or an image.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct FileRead {
    /// Path of the file, relative to the workspace or absolute inside it.
    #[schemars(extend("self_evident" = true))]
    pub path: String,
    /// First line, 1-based; -N reads the last N lines.
    #[serde(default = "first_line")]
    pub offset: i64,
    /// Maximum number of lines to read.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1), extend("self_evident" = true))]
    pub limit: u64,
    /// First character of the first line, for very long lines.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub column: Option<u64>,
    /// Such as gbk or utf-16le; detected if omitted.
    #[serde(default)]
    pub encoding: Option<String>,
    /// Whether a very large file is read to its end, which determines its number of lines and its hash.
    #[serde(skip)]
    #[schemars(skip)]
    pub to_the_end: bool,
    /// Whether the tool has no encoding argument, so that advice must not mention it.
    #[serde(skip)]
    #[schemars(skip)]
    pub names_no_encoding: bool,
    /// Maximum size of the file in bytes. If set, the result is not cut at the limit for text.
    #[serde(skip)]
    #[schemars(skip)]
    pub largest: Option<u64>,
    /// The offset of the call, if the tool takes none that is so far from the end.
    #[serde(skip)]
    #[schemars(skip)]
    pub given_offset: Option<i64>,
}

impl FileRead {
    /// The default of `limit`.
    pub const LIMIT: u64 = 2000;

    /// A call that reads these lines, and the rest of the file as far as needed to count its lines.
    pub fn lines(path: String, offset: i64, limit: u64) -> Self {
        let (encoding, column) = (None, None);
        Self {
            path,
            offset,
            limit,
            column,
            encoding,
            to_the_end: true,
            names_no_encoding: true,
            largest: None,
            given_offset: None,
        }
    }
}

fn first_line() -> i64 {
    1
}

fn default_limit() -> u64 {
    FileRead::LIMIT
}

/// Result of [`FileRead`].
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FileReadOutput {
    /// Text of the lines, with their original line endings. Empty for an image.
    pub content: String,
    /// Number of the first line in content; null if unknown, as when reading the end of a very large file.
    pub start_line: Option<u64>,
    /// Number of the last line in content; start_line - 1 if content has no line.
    pub end_line: Option<u64>,
    /// Column of the first character in content, if it is not the start of its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_column: Option<u64>,
    /// Whether content ends within its only line; continue with its column.
    #[serde(default, skip_serializing_if = "is_false")]
    pub line_is_cut: bool,
    /// Characters of that line; absent if its end was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_length: Option<u64>,
    /// Number of lines in the whole file; null for a very large file that was not read to its end.
    pub total_lines: Option<u64>,
    /// Whether the file has more lines after end_line.
    pub has_more: bool,
    /// Encoding that the text was decoded from; null for an image.
    pub encoding: Option<String>,
    /// Line ending of the part of the file that was read.
    pub line_ending: LineEnding,
    /// Whether the file begins with a byte order mark, which content omits.
    pub bom: bool,
    /// BLAKE3 hash of the whole file, for expected_hash in later changes; null for a very large file that was not read
    /// to its end.
    pub hash: Option<String>,
    /// Size of the file in bytes.
    pub size: u64,
    /// Whether requested lines were left out because the result would be too large; see note.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Whether the file has bytes that are invalid in its encoding; content has U+FFFD for them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lossy: bool,
    /// Further information about the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The image, base64-encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_base64: Option<String>,
    /// Media type of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

impl Operation for FileRead {
    type Output = FileReadOutput;
    const TRAITS: Traits = Traits { pace: ExecutionClass::Cached, ..Traits::READS };
    const RULE: &'static str = "Read";
    const SEES_FILES: bool = true;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        Ok(PermissionRequest {
            rule: Self::RULE.to_owned(),
            touches: &[],
            allowed_by: &[],
            is_safe: true,
            operand: Operand::File(FilePath::read(&cx.workspace.parse_path(&self.path)?)),
        })
    }

    fn run(self, cx: &CallContext) -> Result<FileReadOutput, Interrupt> {
        if self.offset == 0 {
            let message = "offset 0 is not a line: lines are numbered from 1, and -1 is the last line";
            return Err(ToolError::new(Reason::InvalidArgument, message).into());
        }
        let path = cx.workspace.parse_path(&self.path)?;
        let since = cx.seen_files.now();
        let before = before(&path, self.largest, cx)?;
        let reading = ReadCall { args: &self, cx, path };
        let read = reading.read(before).map_err(|error| error.file(reading.path.display()))?;
        if cx.seen_files.is_on() {
            let hash = read.hash.as_deref().and_then(|hash| blake3::Hash::from_hex(hash).ok());
            cx.seen_files.saw(&reading.path, hash, since);
        }
        Ok(read)
    }

    fn adjusted(&self) -> Option<String> {
        let given = self.given_offset?;
        Some(format!("offset is {}, the maximum without a limit, not {given}", self.offset))
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::read(result, call, page)
    }
}

/// Maximum bytes of a character.
const LONGEST_CHARACTER: u64 = 4;

fn before(path: &WorkspacePath, largest: Option<u64>, cx: &CallContext) -> Result<BufferedFile, Interrupt> {
    if cx.must_not_wait {
        let cached = path.cached(cx.inline_bytes.unwrap_or(0)).and_then(BufferedFile::cached);
        return cached.ok_or(Interrupt::Defer);
    }
    let opened = missing::open(path)?;
    refuse_larger(path, u64::try_from(opened.1.st_size).unwrap_or(0), largest)?;
    cx.charge(u64::try_from(opened.1.st_size).unwrap_or(0))?;
    Ok(BufferedFile::new(path, opened)?)
}

/// A running call.
struct ReadCall<'a> {
    args: &'a FileRead,
    cx: &'a CallContext,
    path: WorkspacePath,
}

impl ReadCall<'_> {
    fn read(&self, before: BufferedFile) -> Result<FileReadOutput> {
        let size = before.size;
        let content = match &self.args.encoding {
            Some(label) => ContentKind::Text(self.labelled(label, &before)?),
            None => before.sniff()?,
        };
        let read = match content {
            ContentKind::Text(charset) => self.text(before, charset)?,
            ContentKind::Image(kind) => self.image(before, kind)?,
            ContentKind::Binary(kind) => return Err(no_text(&self.path, size, kind, &self.advice())),
        };
        Ok(FileReadOutput { size, ..read })
    }

    fn advice(&self) -> String {
        let more = if self.args.names_no_encoding { "" } else { BY_ENCODING };
        format!("{ADVICE}{more}")
    }

    fn labelled(&self, label: &str, before: &BufferedFile) -> Result<Charset> {
        let mut scratch = Vec::new();
        Charset::labelled(label, before.bytes().read(0..3, &mut scratch)?).ok_or_else(|| {
            let message = format!(
                "there is no encoding {:?}; use a name from the WHATWG Encoding Standard, such as utf-8, \
                 utf-16le, windows-1252, gbk, big5, shift_jis or euc-kr, or leave it out",
                excerpt(label)
            );
            ToolError::new(Reason::InvalidArgument, message)
        })
    }

    fn image(&self, before: BufferedFile, kind: &str) -> Result<FileReadOutput> {
        let most = self.cx.limits.image_bytes;
        if before.size > most {
            let shown = self.path.display();
            let message = format!(
                "{shown} is an image of {} bytes, more than the {most} that are returned; make a smaller copy first",
                before.size
            );
            return Err(ToolError::new(Reason::TooLarge, message));
        }
        let bytes = before.into_content(&self.path)?;
        Ok(FileReadOutput {
            hash: Some(blake3::hash(&bytes).to_hex().to_string()),
            image_base64: Some(base64::engine::general_purpose::STANDARD.encode(&bytes)),
            media_type: Some(kind.to_owned()),
            ..FileReadOutput::default()
        })
    }

    fn text(&self, mut before: BufferedFile, charset: Charset) -> Result<FileReadOutput> {
        let mut scan = ScanStats::new(charset);
        let read = match before.take_content() {
            Some(content) => self.small(content, &mut scan),
            None if self.args.offset > 0 => self.large(&before, &mut scan)?,
            None => self.large_from_end(&before, &mut scan)?,
        };
        Ok(self.described(FileReadOutput {
            encoding: Some(charset.name()),
            line_ending: scan.stats.ending(),
            bom: charset.has_bom(),
            lossy: scan.is_lossy,
            ..self.skip_to_column(read)?
        }))
    }

    /// Drops the text before the column, and at the end what no longer fits.
    fn skip_to_column(&self, read: FileReadOutput) -> Result<FileReadOutput> {
        let Some(column) = self.args.column.filter(|column| *column > 1) else { return Ok(read) };
        let line =
            read.content.split_inclusive('\n').next().unwrap_or_default().trim_end_matches(['\n', '\r']);
        let skipped = usize::try_from(column - 1).unwrap_or(usize::MAX);
        let Some((at, _)) = line.char_indices().nth(skipped) else {
            let message = format!(
                "column {column} is past the end of the line, which has {} characters",
                line.chars().count()
            );
            return Err(ToolError::new(Reason::InvalidArgument, message));
        };
        let mut window = LineWindow::new(1, u64::MAX, self.content_bytes());
        let content = read.content[at..].to_owned();
        let ends = content.matches('\n').count() as u64;
        window.take(content, ends);
        let shorter = lines(window, read.start_line, read.total_lines, true);
        let read = FileReadOutput { content: shorter.content, start_column: Some(column), ..read };
        if !shorter.truncated {
            return Ok(read);
        }
        // The end of the line is in what was read, or not even that read on to it.
        let length = if read.line_is_cut {
            read.line_length
        } else {
            shorter.line_length.map(|rest| column - 1 + rest)
        };
        Ok(FileReadOutput {
            end_line: shorter.end_line,
            has_more: true,
            truncated: true,
            line_is_cut: shorter.line_is_cut,
            line_length: length.filter(|_| shorter.line_is_cut),
            ..read
        })
    }

    fn window(&self, first: u64) -> LineWindow {
        LineWindow::new(first, self.args.limit, self.most_bytes())
    }

    /// Maximum bytes of text that are read for the result, including what is before the column.
    fn most_bytes(&self) -> usize {
        let skipped = self.args.column.map_or(0, |column| column.saturating_mul(LONGEST_CHARACTER));
        self.content_bytes().saturating_add(usize::try_from(skipped).unwrap_or(usize::MAX))
    }

    /// Maximum bytes of text in the result.
    fn content_bytes(&self) -> usize {
        if self.args.largest.is_some() { usize::MAX } else { self.cx.limits.content_bytes }
    }

    /// Whether a file of this size is read to its end.
    fn is_read_whole(&self, size: u64) -> bool {
        self.args.to_the_end || size <= self.cx.limits.whole_file_bytes
    }

    fn small(&self, mut content: Vec<u8>, scan: &mut ScanStats) -> FileReadOutput {
        let hash = blake3::hash(&content);
        content.drain(..scan.charset.bom().len());
        let (text, is_lossy) = scan.charset.decode_vec(content);
        scan.is_lossy = is_lossy;
        scan.stats.feed(Charset::UTF8, text.as_bytes());
        let total = scan.stats.total();
        let first = self.first_of(total);
        let mut window = self.window(first);
        window.take(text, scan.stats.ends());
        FileReadOutput {
            hash: Some(hash.to_hex().to_string()),
            ..lines(window, Some(first), Some(total), true)
        }
    }

    /// The first line to read, of `total` lines.
    fn first_of(&self, total: u64) -> u64 {
        match u64::try_from(self.args.offset) {
            Ok(first) => first,
            Err(_) => total.saturating_sub(self.args.offset.unsigned_abs()) + 1,
        }
    }

    fn large(&self, before: &BufferedFile, scan: &mut ScanStats) -> Result<FileReadOutput> {
        let first = self.first_of(0);
        let mut window = self.window(first);
        let mut hasher = blake3::Hasher::new();
        hasher.update(scan.charset.bom());
        let is_whole = self.is_read_whole(before.size);
        let from = scan.charset.bom().len() as u64;
        let at_end = scan.run(before, from, &mut window, self.cx, |block, window| {
            hasher.update(block);
            is_whole || !window.is_done()
        })?;
        let total = at_end.then(|| scan.stats.total());
        let hash = at_end.then(|| hasher.finalize().to_hex().to_string());
        Ok(FileReadOutput { hash, ..lines(window, Some(first), total, at_end) })
    }

    fn large_from_end(&self, before: &BufferedFile, scan: &mut ScanStats) -> Result<FileReadOutput> {
        let check = || self.cx.check();
        let wanted = self.args.offset.unsigned_abs();
        let start = tail::start_of(&before.bytes(), scan.charset, wanted, &check)?;
        let whole = match self.is_read_whole(before.size) {
            true => Some(summarize(&before.bytes(), scan.charset, &check)?),
            false => None,
        };
        let total = whole.as_ref().map(|whole| whole.stats.total());
        let first = match (total, start.is_first) {
            (_, true) => Some(1),
            (total, false) => total.map(|total| self.first_of(total)),
        };
        let mut window = self.window(1);
        let at_end = scan.run(before, start.position, &mut window, self.cx, |_, window| !window.is_done())?;
        if let Some(whole) = &whole {
            scan.stats = whole.stats;
        }
        let hash = whole.map(|whole| whole.hash().to_hex().to_string());
        Ok(FileReadOutput { hash, ..lines(window, first, total, at_end) })
    }

    /// Adds a note on what is left out.
    fn described(&self, read: FileReadOutput) -> FileReadOutput {
        let note = if read.truncated {
            Some(self.cut_note(&read))
        } else if read.content.is_empty()
            && read.total_lines.is_some_and(|total| total > 0 || self.args.offset > 1)
        {
            read.total_lines.map(|total| past_the_end(total, self.args.offset))
        } else {
            None
        };
        FileReadOutput { note, ..read }
    }

    fn cut_note(&self, read: &FileReadOutput) -> String {
        let most = self.content_bytes();
        match (read.end_line, read.line_is_cut) {
            (Some(end), false) => {
                format!("cut after line {end}, at {most} bytes; go on with offset {}", end + 1)
            }
            (None, false) => format!("cut at {most} bytes; ask for fewer lines"),
            (line, true) => {
                let (name, offset) = match line {
                    Some(line) => (format!("line {line}"), line.cast_signed()),
                    None => ("the line".to_owned(), self.args.offset),
                };
                let next = read.start_column.unwrap_or(1) + read.content.chars().count() as u64;
                format!(
                    "{name} is longer than {most} bytes and a part of it is given; go on with offset {offset} and \
                     column {next}"
                )
            }
        }
    }
}

/// Converts a window of lines, the first of which has this number. `at_end`: the whole file was read.
fn lines(window: LineWindow, first: Option<u64>, total_lines: Option<u64>, at_end: bool) -> FileReadOutput {
    let lines = window.finish();
    let mut stats = LineStats::default();
    stats.feed(Charset::UTF8, lines.content.as_bytes());
    FileReadOutput {
        content: lines.content,
        start_line: first,
        end_line: first.map(|first| first + stats.total() - 1),
        total_lines,
        has_more: lines.has_more,
        truncated: lines.is_cut,
        line_is_cut: lines.cut_line.is_some(),
        line_length: lines.cut_line.filter(|line| line.is_ended || at_end).map(|line| line.length),
        ..FileReadOutput::default()
    }
}

/// Statistics collected while scanning.
struct ScanStats {
    charset: Charset,
    stats: LineStats,
    is_lossy: bool,
}

impl ScanStats {
    fn new(charset: Charset) -> Self {
        Self { charset, stats: LineStats::default(), is_lossy: false }
    }

    /// Decodes a large file from a position on until `go_on` returns false. Returns whether it reached the end.
    fn run(
        &mut self,
        before: &BufferedFile,
        from: u64,
        window: &mut LineWindow,
        cx: &CallContext,
        mut go_on: impl FnMut(&[u8], &LineWindow) -> bool,
    ) -> Result<bool> {
        let (mut decoder, mut at) = (self.charset.decoder(), from);
        let (mut scratch, mut text) = (Vec::new(), String::new());
        while at < before.size {
            cx.check()?;
            let end = before.bytes().block_end(at, BLOCK);
            let bytes = before.bytes();
            let block = bytes.read(at..end, &mut scratch)?;
            text.clear();
            text.reserve(decoder.max_utf8_buffer_length(block.len()).unwrap_or(block.len()));
            self.is_lossy |= decoder.decode_to_string(block, &mut text, end == before.size).2;
            let ends = self.stats.ends();
            self.stats.feed(Charset::UTF8, text.as_bytes());
            window.feed(&text, self.stats.ends() - ends);
            at = end;
            if !go_on(block, window) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Why nothing was read from this line on.
pub(super) fn past_the_end(total: u64, line: i64) -> String {
    format!("the file has {total} lines; line {line} is past its end")
}
