//! Prints one file's part of a diff.

use super::decode::decode;
use super::quote::QuoteStyle;
use crate::page::LimitedText;
use beamai_git_repository::changes::{BlobVersion, ChangeKind, FileChange, NO_ID};
use beamai_git_repository::tree::{AttributeState, SUBMODULE};
use beamai_git_repository::{GitResult, HashAbbreviator};
use beamai_port_tools::git::path::shown;
use git2::{DiffLineType, DiffOptions, ObjectType, Oid, Patch};

/// Number of bytes that git searches for a NUL.
const LOOKED_AT: usize = 8000;
/// Maximum bytes of the line that a hunk header quotes.
const HEADING: usize = 80;

/// One side of a diff with its content.
#[derive(Debug, Clone)]
pub(super) struct DiffSide {
    pub(super) mode: u32,
    pub(super) id: Oid,
    /// `None` if it is too large to be compared, or was not read.
    pub(super) bytes: Option<Vec<u8>>,
}

impl DiffSide {
    /// A version with its content; computes the hash if it is not known.
    pub(super) fn new(version: BlobVersion, bytes: Option<Vec<u8>>) -> Self {
        let id = match &bytes {
            Some(bytes) if version.id.is_zero() => {
                Oid::hash_object(ObjectType::Blob, bytes).unwrap_or(version.id)
            }
            _ => version.id,
        };
        let bytes = match version.mode {
            SUBMODULE => Some(format!("Subproject commit {id}\n").into_bytes()),
            _ => bytes,
        };
        Self { mode: version.mode, id, bytes }
    }

    /// Whether its content is not known: the file could not be read.
    pub(super) fn is_unread(&self) -> bool {
        self.bytes.is_none() && self.id.is_zero()
    }
}

/// Prints the parts of a diff.
pub(super) struct DiffPrinter<'a> {
    pub(super) names: &'a HashAbbreviator<'a>,
    pub(super) quote: QuoteStyle,
    pub(super) page: &'a mut LimitedText,
}

impl DiffPrinter<'_> {
    /// Prints the part of one change. `diff` is the path's attribute of that name.
    pub(super) fn print(
        &mut self,
        change: &FileChange,
        old: Option<&DiffSide>,
        new: Option<&DiffSide>,
        diff: Option<&AttributeState>,
    ) -> GitResult<()> {
        if change.kind == ChangeKind::TypeChanged {
            self.file(change, old, None, diff)?;
            return self.file(change, None, new, diff);
        }
        self.file(change, old, new, diff)
    }

    fn file(
        &mut self,
        change: &FileChange,
        old: Option<&DiffSide>,
        new: Option<&DiffSide>,
        diff: Option<&AttributeState>,
    ) -> GitResult<()> {
        let from = match &change.kind {
            ChangeKind::Renamed { from, .. } => from,
            _ => &change.path,
        };
        let (a, b) = (self.quote.name("a/", from), self.quote.name("b/", &change.path));
        self.page.line(&format!("diff --git {a} {b}"));
        self.modes(change, old, new);
        let (id, mode) =
            (|side: Option<&DiffSide>| side.map_or(NO_ID, |side| side.id), |side: &DiffSide| side.mode);
        if id(old) == id(new) {
            return Ok(());
        }
        let same_mode = old.map(mode).filter(|own| new.map(mode) == Some(*own));
        let suffix = same_mode.map_or(String::new(), |mode| format!(" {mode:06o}"));
        self.page.line(&format!(
            "index {}..{}{suffix}",
            self.names.short(id(old)),
            self.names.short(id(new))
        ));
        let label = |side: Option<&DiffSide>, name: String| {
            if side.is_some() { name } else { "/dev/null".to_owned() }
        };
        self.content(change, (label(old, a), old), (label(new, b), new), diff)
    }

    fn modes(&mut self, change: &FileChange, old: Option<&DiffSide>, new: Option<&DiffSide>) {
        match (old, new) {
            (Some(old), Some(new)) if old.mode != new.mode => {
                self.page.line(&format!("old mode {:06o}", old.mode));
                self.page.line(&format!("new mode {:06o}", new.mode));
            }
            (Some(old), None) => self.page.line(&format!("deleted file mode {:06o}", old.mode)),
            (None, Some(new)) => self.page.line(&format!("new file mode {:06o}", new.mode)),
            _ => {}
        }
        if let ChangeKind::Renamed { from, percent } = &change.kind {
            self.page.line(&format!("similarity index {percent}%"));
            self.page.line(&format!("rename from {}", self.quote.name("", from)));
            self.page.line(&format!("rename to {}", self.quote.name("", &change.path)));
        }
    }

    fn content(
        &mut self,
        change: &FileChange,
        (a, old): (String, Option<&DiffSide>),
        (b, new): (String, Option<&DiffSide>),
        diff: Option<&AttributeState>,
    ) -> GitResult<()> {
        let bytes = |side: Option<&DiffSide>| side.map_or(Some(Vec::new()), |side| side.bytes.clone());
        // A note says so.
        if new.is_some_and(DiffSide::is_unread) {
            return Ok(());
        }
        let (Some(old), Some(new)) = (bytes(old), bytes(new)) else {
            self.page.note(format!("{}: too large to be compared line by line", shown(&change.path)));
            self.page.line(&format!("Binary files {a} and {b} differ"));
            return Ok(());
        };
        if is_binary(&old, diff) || is_binary(&new, diff) {
            self.page.line(&format!("Binary files {a} and {b} differ"));
            return Ok(());
        }
        let body = hunks(&old, &new)?;
        if !body.is_empty() {
            self.page.line(&format!("--- {}", labelled(&a)));
            self.page.line(&format!("+++ {}", labelled(&b)));
            self.body(&change.path, &body);
        }
        Ok(())
    }

    /// Prints raw lines of one file, decoded.
    pub(super) fn body(&mut self, path: &[u8], body: &[u8]) {
        if body.is_empty() {
            return;
        }
        let (text, how) = decode(body);
        if let Some(how) = how {
            self.page.note(format!("{} is shown {how}", shown(path)));
        }
        for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
            if self.page.is_full() {
                return;
            }
            self.page.line(line);
        }
    }
}

/// A file name in a `---` or `+++` line: git adds a tab after a name with spaces.
fn labelled(name: &str) -> String {
    let tab = if name.contains(' ') { "\t" } else { "" };
    format!("{name}{tab}")
}

/// Whether git would only say that the files differ.
pub(super) fn is_binary(bytes: &[u8], diff: Option<&AttributeState>) -> bool {
    match diff {
        Some(AttributeState::Unset) => true,
        Some(AttributeState::Set) => false,
        _ => memchr::memchr(0, &bytes[..bytes.len().min(LOOKED_AT)]).is_some(),
    }
}

/// The hunks between two texts.
fn hunks(old: &[u8], new: &[u8]) -> GitResult<Vec<u8>> {
    let mut options = DiffOptions::new();
    options.context_lines(3).indent_heuristic(true).force_text(true);
    let patch = Patch::from_buffers(old, None, new, None, Some(&mut options))?;
    let mut out = Vec::new();
    for at in 0..patch.num_hunks() {
        let (hunk, lines) = patch.hunk(at)?;
        out.extend_from_slice(&heading(hunk.header()));
        for line in 0..lines {
            let line = patch.line_in_hunk(at, line)?;
            match line.origin_value() {
                DiffLineType::Addition => out.push(b'+'),
                DiffLineType::Deletion => out.push(b'-'),
                DiffLineType::Context => out.push(b' '),
                _ => {}
            }
            out.extend_from_slice(line.content());
        }
    }
    Ok(out)
}

/// A hunk header without trailing spaces, and without a truncated UTF-8 character at its end.
fn heading(header: &[u8]) -> Vec<u8> {
    let text = header.strip_suffix(b"\n").unwrap_or(header);
    let end = match std::str::from_utf8(text) {
        Err(error) if error.error_len().is_none() && text.len() > HEADING => error.valid_up_to(),
        _ => text.len(),
    };
    [text[..end].trim_ascii_end(), b"\n"].concat()
}
