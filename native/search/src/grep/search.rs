//! Searches files one after another with the same buffers.

use super::match_collector::{MatchCollector, MatchWindow, SearchFault};
use super::output::GrepMatch;
use super::pattern::Stepwise;
use super::{GrepPlan, OutputMode, multiline};
use beamai_base::Result;
use beamai_text::{Charset, ContentKind, sniff};
use beamai_tool::CallContext;
use beamai_walk::{Tally, Visit, WalkEntry};
use grep_regex::RegexMatcher;
use grep_searcher::{Encoding, MmapChoice, Searcher, SearcherBuilder};
use rustix::fs::Stat;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

/// Files up to this size, in bytes, are read at once; larger ones are streamed through a small buffer.
const MAX_WHOLE: usize = 1 << 20;
/// Buffer memory in bytes that is kept for the next file.
const MAX_KEPT: usize = 16 << 20;
/// Maximum length of a searched line, in bytes.
const MAX_LINE: usize = 128 << 20;
/// Files up to this size, in bytes, are read at once to detect their encoding.
const MAX_DETECTED: usize = if cfg!(test) { 2 << 20 } else { 16 << 20 };
/// A NUL within this many bytes from the start makes a file binary.
const HEAD: usize = 64 << 10;

/// Searches files for one thread.
pub(super) struct FileSearch<'a> {
    plan: &'a GrepPlan<'a>,
    /// Not shared: the caches of a shared matcher would be contended.
    matcher: RegexMatcher,
    builder: SearcherBuilder,
    searcher: Searcher,
    buffer: Vec<u8>,
}

/// How the bytes of a file are searched.
enum FileEncoding {
    /// As they are: UTF-8, UTF-16 with a mark, or any bytes for a pattern that needs no more.
    AsIs,
    /// Decoded.
    Other(Charset),
    /// Not at all.
    Binary,
}

/// How the search of a file ended.
enum SearchEnd {
    /// The file was searched.
    Text,
    /// The file is binary.
    Binary,
    /// The file, or a line in it, is too large.
    TooLarge(&'static str),
    /// Reading the file failed.
    Failed(Errno),
}

impl<'a> FileSearch<'a> {
    pub(super) fn new(plan: &'a GrepPlan<'a>) -> Self {
        let is_content = plan.mode == OutputMode::Content;
        let lines = |count| if is_content { count } else { 0 };
        let mut builder = SearcherBuilder::new();
        builder
            .line_terminator(plan.pattern.terminator)
            .line_number(is_content)
            .before_context(lines(plan.before))
            .after_context(lines(plan.after))
            .heap_limit(Some(MAX_LINE))
            // A file that shrinks while it is mapped would kill the process with SIGBUS.
            .memory_map(MmapChoice::never());
        let (matcher, searcher) = (plan.pattern.matcher.clone(), builder.build());
        Self { plan, matcher, builder, searcher, buffer: Vec::new() }
    }

    /// Searches a file of the scope by its path.
    ///
    /// # Errors
    /// When the call has ended.
    pub(super) fn search_named(&mut self, path: &[u8], tally: &mut Tally) -> Result<()> {
        self.search_opened(path, self.plan.scope.open_file(path), tally)
    }

    fn search_opened(
        &mut self,
        path: &[u8],
        opened: Result<(OwnedFd, Stat), Errno>,
        tally: &mut Tally,
    ) -> Result<()> {
        let plan = self.plan;
        let mut hits = MatchCollector::new(plan, path);
        let ended = match opened {
            Ok((fd, stat)) => self.search(&File::from(fd), &stat, &mut hits)?,
            Err(error) => SearchEnd::Failed(error),
        };
        match ended {
            SearchEnd::Text => {}
            SearchEnd::Binary => tally.binary(plan.scope.display(path)),
            SearchEnd::TooLarge(why) => {
                let shown = plan.scope.display(path);
                let why = format!("{shown} {why}");
                tally.too_large(shown, why);
            }
            SearchEnd::Failed(error) => tally.failed(plan.scope.display(path), error),
        }
        tally.searched += u64::from(matches!(ended, SearchEnd::Text));
        if hits.count() > 0 {
            plan.found.add(path, hits.count(), hits.whole());
        }
        Ok(())
    }

    /// The matches of a file that was searched before. Fewer than requested if it has changed since.
    ///
    /// # Errors
    /// When the call has ended.
    pub(super) fn again(&mut self, path: &[u8], window: MatchWindow) -> Result<Vec<GrepMatch>> {
        let mut hits = MatchCollector::again(self.plan, path, window);
        if let Ok((fd, stat)) = self.plan.scope.open_file(path) {
            self.search(&File::from(fd), &stat, &mut hits)?;
        }
        Ok(hits.kept())
    }

    fn search(&mut self, file: &File, stat: &Stat, hits: &mut MatchCollector<'_>) -> Result<SearchEnd> {
        self.plan.cx.check()?;
        let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
        if self.plan.largest.is_some_and(|most| size as u64 > most) {
            return Ok(SearchEnd::TooLarge("is larger than the files that this tool searches"));
        }
        let is_multiline = self.plan.pattern.is_multiline;
        let whole = usize::try_from(self.plan.cx.limits.whole_file_bytes).unwrap_or(usize::MAX);
        let detects = self.plan.pattern.is_beyond_ascii;
        let most = match (is_multiline, detects) {
            (true, _) => whole,
            (false, true) => MAX_DETECTED,
            (false, false) => MAX_WHOLE,
        };
        if is_multiline && size > most {
            return Ok(SearchEnd::TooLarge("is too large for a multiline search"));
        }
        // Files that are generated on read also report size zero.
        let want = if (1..=most).contains(&size) { size } else { HEAD };
        let head = match self.fill(file, want)? {
            Ok(length) => length,
            Err(error) => return Ok(SearchEnd::Failed(error)),
        };
        let is_all = want == size || head < want;
        let charset = match encoding_of(&self.buffer[..head], is_all, detects) {
            FileEncoding::Binary => return Ok(SearchEnd::Binary),
            FileEncoding::AsIs => None,
            FileEncoding::Other(charset) => Some(charset),
        };
        let ended = self.search_text(file, (head, is_all), charset, hits);
        match charset {
            Some(charset) => hits.decoded_from(charset),
            None => decode(&self.buffer[..head], is_all, hits),
        }
        self.release_memory(size);
        ended
    }

    /// Frees the buffer of a large file.
    fn release_memory(&mut self, size: usize) {
        if size > MAX_KEPT {
            self.buffer = Vec::new();
            self.searcher = self.builder.build();
        }
    }

    fn search_text(
        &mut self,
        file: &File,
        (head, is_all): (usize, bool),
        charset: Option<Charset>,
        hits: &mut MatchCollector<'_>,
    ) -> Result<SearchEnd> {
        match (self.plan.pattern.is_multiline, is_all) {
            (true, true) => self.multiline(head, charset, hits),
            (true, false) => {
                Ok(SearchEnd::TooLarge("does not report its size, which a multiline search needs"))
            }
            (false, true) => self.lines(head, None, charset, hits),
            (false, false) => self.lines(head, Some(file), charset, hits),
        }
    }

    /// Reads up to `want` bytes into the buffer; returns the number of bytes read.
    fn fill(&mut self, file: &File, want: usize) -> Result<Result<usize, Errno>> {
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        let mut length = 0;
        while length < want {
            let end = want.min(length + MAX_WHOLE);
            match rustix::io::read(file, &mut self.buffer[length..end]) {
                Ok(0) => break,
                Ok(count) => length += count,
                Err(Errno::INTR) => {}
                Err(error) => return Ok(Err(error)),
            }
            if length < want {
                self.plan.cx.check()?;
            }
        }
        Ok(Ok(length))
    }

    /// Searches the first `head` bytes of the buffer and the rest of the file, line by line.
    fn lines(
        &mut self,
        head: usize,
        rest: Option<&File>,
        charset: Option<Charset>,
        hits: &mut MatchCollector<'_>,
    ) -> Result<SearchEnd> {
        let matcher = Stepwise::new(&self.matcher, self.plan.cx);
        let mut decoding = charset.map(|charset| decoding(&self.builder, charset));
        let searcher = decoding.as_mut().unwrap_or(&mut self.searcher);
        let head = &self.buffer[..head];
        let searched = match rest {
            None => searcher.search_slice(&matcher, head, hits),
            Some(file) => {
                let rest = CheckedReader { file, cx: self.plan.cx };
                searcher.search_reader(&matcher, head.chain(rest), hits)
            }
        };
        match searched {
            Ok(()) => Ok(SearchEnd::Text),
            Err(SearchFault::Interrupted) => self.plan.cx.check().map(|()| SearchEnd::Text),
            Err(SearchFault::Io(error)) => {
                self.plan.cx.check()?;
                Ok(match error.raw_os_error() {
                    Some(code) => SearchEnd::Failed(Errno::from_raw_os_error(code)),
                    None => SearchEnd::TooLarge("has a line longer than 128 MiB and was searched up to it"),
                })
            }
        }
    }

    fn multiline(
        &mut self,
        length: usize,
        charset: Option<Charset>,
        hits: &mut MatchCollector<'_>,
    ) -> Result<SearchEnd> {
        let bytes = &self.buffer[..length];
        if let Some(charset) = charset {
            multiline::search(self.plan, charset.decode(bytes).0.as_bytes(), hits)?;
            return Ok(SearchEnd::Text);
        }
        match encoding_rs::Encoding::for_bom(bytes) {
            None => multiline::search(self.plan, bytes, hits)?,
            Some((encoding, bom)) => {
                let (text, _) = encoding.decode_without_bom_handling(&bytes[bom..]);
                multiline::search(self.plan, text.as_bytes(), hits)?;
            }
        }
        Ok(SearchEnd::Text)
    }
}

impl Visit for FileSearch<'_> {
    const OPENS_FILES: bool = true;

    fn visit(&mut self, entry: &WalkEntry<'_>, tally: &mut Tally) -> Result<()> {
        match tally.is_file(entry.kind) {
            true => self.search_opened(entry.path, self.plan.scope.open_entry(entry), tally),
            false => Ok(()),
        }
    }
}

/// Decodes matches that are not UTF-8 from the encoding detected for the file.
fn decode(head: &[u8], is_whole: bool, hits: &mut MatchCollector<'_>) {
    let mut undecoded = hits.undecoded().peekable();
    if undecoded.peek().is_none() {
        return;
    }
    match sniff(head, is_whole) {
        ContentKind::Text(charset) if !charset.is_utf8() => undecoded.for_each(|hit| hit.decode(charset)),
        _ => {}
    }
}

/// How to search a file with this start. Only a pattern with characters beyond ASCII needs the text that a read shows;
/// for others, detecting the encoding would cost more than the search.
fn encoding_of(head: &[u8], is_whole: bool, detects: bool) -> FileEncoding {
    let is_binary = is_binary(head);
    match is_binary {
        true if !may_be_utf16(head) => return FileEncoding::Binary,
        false if !detects => return FileEncoding::AsIs,
        _ => {}
    }
    match sniff(head, is_whole) {
        // The searcher itself decodes what has a mark.
        ContentKind::Text(charset) if charset.has_bom() && !is_binary => FileEncoding::AsIs,
        ContentKind::Text(charset) if charset.unit() > 1 => FileEncoding::Other(charset),
        _ if is_binary => FileEncoding::Binary,
        ContentKind::Text(charset) if !charset.is_utf8() => FileEncoding::Other(charset),
        _ => FileEncoding::AsIs,
    }
}

/// Whether bytes with NULs can be UTF-16 without a mark: all NULs are first bytes of a pair, or all are second ones. That is
/// found out at the first few of most binary files.
fn may_be_utf16(head: &[u8]) -> bool {
    let mut nuls = memchr::memchr_iter(0, &head[..head.len().min(beamai_text::HEAD)]);
    let first = nuls.next();
    first.is_some_and(|first| nuls.all(|at| at % 2 == first % 2))
}

/// A searcher that decodes what it searches.
fn decoding(builder: &SearcherBuilder, charset: Charset) -> Searcher {
    // The names are those of the standard that both libraries follow.
    builder.clone().encoding(Encoding::new(&charset.name()).ok()).build()
}

/// Whether a file with this start is binary. UTF-16 contains NULs, but is text if it begins with a byte order mark.
fn is_binary(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD)];
    let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
    !is_utf16 && memchr::memchr(0, head).is_some()
}

/// A file whose reads fail once the call has ended.
struct CheckedReader<'a> {
    file: &'a File,
    cx: &'a CallContext,
}

impl Read for CheckedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.cx.check().map_err(|_| io::ErrorKind::Other)?;
        (&mut &*self.file).read(buffer)
    }
}
