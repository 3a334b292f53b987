//! Writes a whole file, or appends to it.

use super::FileEdit;
use super::buffered_file::BufferedFile;
use super::{append, check_hash, expect_hash, is_false, lock, need_to_change, placeholder, refuse_larger};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::PermissionRequest;
use beamai_text::{
    Charset, ContentKind, DiffBuilder, Needle, Overlap, encoding_line, find, placeholders, quoted, summarize,
};
use beamai_tool::{
    CallContext, Interrupt, Operation, Preview, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_workspace::{Expected, WorkspacePath};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::Write;

/// Maximum size in bytes of texts that are compared for a diff.
const COMPARED: u64 = super::IN_MEMORY;

/// Why a diff does not show all that a new text changes in a file.
const UNSHOWN: &str =
    "bytes that the file's encoding does not have, or has in another form, are replaced as well";

/// Number of attempts if another program keeps changing the file.
pub(super) const TRIES: usize = 10;

/// Writes a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct FileWrite {
    /// Path of the file, relative to the workspace or absolute inside it. Missing directories are created.
    #[schemars(extend("self_evident" = true))]
    pub path: String,
    /// The text, with the line endings that the file should have.
    #[schemars(extend("self_evident" = true))]
    pub content: String,
    /// write creates or replaces the file; append adds to its end.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub mode: WriteMode,
    /// Fail if the file has another BLAKE3 hash. For programs: texts show none.
    #[serde(default)]
    pub expected_hash: Option<String>,
    /// Maximum size of the file in bytes, before and after.
    #[serde(skip)]
    #[schemars(skip)]
    pub largest: Option<u64>,
    /// The text to replace; if `None`, the whole file is replaced. Set by a dialect
    /// without an edit tool.
    #[serde(skip)]
    #[schemars(skip)]
    pub old_string: Option<String>,
    /// Whether to replace every occurrence of that text.
    #[serde(skip)]
    #[schemars(skip)]
    pub replace_all: bool,
}

impl FileWrite {
    /// A call that replaces the whole content of the file.
    pub fn whole(path: String, content: String) -> Self {
        let mode = WriteMode::Write;
        Self { path, content, mode, expected_hash: None, largest: None, old_string: None, replace_all: false }
    }

    /// The call as an edit, if only part of the file is to be replaced.
    fn as_edit(&self) -> Option<FileEdit> {
        let Self { path, content, expected_hash, replace_all, .. } = self.clone();
        let (new_string, edits, is_write) = (content, Vec::new(), true);
        let old_string = self.old_string.clone()?;
        Some(FileEdit { path, old_string, new_string, replace_all, expected_hash, edits, is_write })
    }

    /// Makes the edit, within the maximum file size.
    fn edit(&self, edit: FileEdit, cx: &CallContext) -> Result<FileWriteOutput, Interrupt> {
        let bytes_written = edit.new_string.len() as u64;
        let path = cx.workspace.parse_path(&self.path)?;
        if let Ok(stat) = path.stat() {
            refuse_larger(&path, u64::try_from(stat.st_size).unwrap_or(0) + bytes_written, self.largest)?;
        }
        let edited = edit.run(cx)?;
        Ok(FileWriteOutput {
            operation: WriteOperation::Updated,
            bytes_written,
            diff: Some(edited.diff),
            additions: edited.additions,
            deletions: edited.deletions,
            hash: Some(edited.hash),
            encoding: edited.encoding,
            diff_truncated: edited.diff_truncated,
            link_broken: edited.link_broken,
            note: None,
        })
    }
}

/// What [`FileWrite`] does with the content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// Replaces the file.
    #[default]
    Write,
    /// Appends to the file.
    Append,
}

/// What [`FileWrite`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WriteOperation {
    /// Created a file.
    Created,
    /// Changed a file.
    Updated,
}

/// Result of [`FileWrite`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileWriteOutput {
    /// Whether the file was created or changed.
    pub operation: WriteOperation,
    /// Bytes written, in the file's encoding.
    pub bytes_written: u64,
    /// Unified diff of the change; null if there is none, see note.
    pub diff: Option<String>,
    /// Number of added lines; null if there is no diff.
    pub additions: Option<u64>,
    /// Number of removed lines; null if there is no diff.
    pub deletions: Option<u64>,
    /// BLAKE3 hash of the file after the write; null after appending to a very large file.
    pub hash: Option<String>,
    /// Encoding of the written text: that of the existing file, utf-8 for a new one.
    pub encoding: String,
    /// Whether the diff shows only part of the change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub diff_truncated: bool,
    /// Whether the file had other names (hard links), which keep the old content.
    #[serde(default, skip_serializing_if = "is_false")]
    pub link_broken: bool,
    /// Further information about the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Operation for FileWrite {
    type Output = FileWriteOutput;
    const TRAITS: Traits = Traits::WRITES;
    const RULE: &'static str = "Write";
    const SEES_FILES: bool = true;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        need_to_change(cx, &self.path, Self::RULE, &["Edit", "Read"])
    }

    fn run(self, cx: &CallContext) -> Result<FileWriteOutput, Interrupt> {
        if let Some(edit) = self.as_edit() {
            return self.edit(edit, cx);
        }
        check_hash(self.expected_hash.as_deref())?;
        let path = cx.workspace.parse_path(&self.path)?;
        refuse_larger(&path, self.content.len() as u64, self.largest)?;
        let _guard = lock(&path, cx)?;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.once(&path, cx) {
                Err(Interrupt::Failed(error)) if self.is_lost_race(&error) && tries < TRIES => cx.check()?,
                result => return result,
            }
        }
    }

    fn preview(&self, cx: &CallContext) -> Result<Option<Preview>, Interrupt> {
        if let Some(edit) = self.as_edit() {
            return edit.preview(cx);
        }
        check_hash(self.expected_hash.as_deref())?;
        let path = cx.workspace.parse_path(&self.path)?;
        refuse_larger(&path, self.content.len() as u64, self.largest)?;
        let before = self.before(&path, cx)?;
        let content = before.as_ref().map(BufferedFile::sniff).transpose()?;
        if let (Some(before), Some(content), WriteMode::Append) = (&before, &content, self.mode) {
            return Ok(Some(append::preview(self, &path, before, content, cx)?));
        }
        let encoded = self.checked(&path, before.as_ref(), content.as_ref(), cx)?;
        let mut diff = DiffBuilder::new(&path.display(), before.is_none(), usize::MAX);
        let note = encoded.note.map_or_else(String::new, |note| format!("[{note}]\n"));
        let preview = Preview::default().with(&note).with(&encoding_line(&encoded.charset.name()));
        let comparison = compare(&mut diff, before.as_ref(), content.as_ref(), encoded.text)?;
        Ok(Some(match (comparison, &before) {
            (TextComparison::Whole, None) if encoded.text.is_empty() => {
                preview.with(&format!("--- /dev/null\n+++ {}\n", quoted(&format!("b/{}", path.display()))))
            }
            (TextComparison::Whole | TextComparison::Lossy, Some(before)) => {
                let diff = diff.finish();
                preview.with_diff(&diff.text, diff.is_truncated, || before.hash(&|| cx.check()))?
            }
            (TextComparison::Whole | TextComparison::Lossy, None) => preview.with(&diff.finish().text),
            (TextComparison::None(why), before) => {
                preview.with(&uncompared(why, before.as_ref(), encoded.text, cx)?)
            }
        }))
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::written(result, call, page)
    }
}

impl FileWrite {
    /// Whether another program changed the file during this call, and the call does not depend on the old content. An
    /// error with a hash refers to an earlier version that the caller has seen, which is another matter.
    fn is_lost_race(&self, error: &ToolError) -> bool {
        error.reason == Reason::Stale && self.expected_hash.is_none() && !error.details.contains_key("hash")
    }

    fn once(&self, path: &WorkspacePath, cx: &CallContext) -> Result<FileWriteOutput, Interrupt> {
        let before = self.before(path, cx)?;
        let before_is_text = before.as_ref().map(BufferedFile::sniff).transpose()?;
        match (&before, before_is_text, self.mode) {
            (Some(before), Some(content), WriteMode::Append) => {
                Ok(append::append(self, path, before, &content, cx)?)
            }
            (before, content, _) => Ok(self.replace(path, before.as_ref(), content.as_ref(), cx)?),
        }
    }

    /// The existing file, if there is one. Fails if it is not the expected version.
    fn before(&self, path: &WorkspacePath, cx: &CallContext) -> Result<Option<BufferedFile>, Interrupt> {
        let expected = self.expected_hash.as_deref();
        let opened = match path.open_file() {
            Err(error) if error.reason == Reason::NoSuchFile && self.path.ends_with('/') => {
                return Err(path.error("write", Errno::ISDIR).into());
            }
            Err(error) if error.reason == Reason::NoSuchFile && expected.is_none() => None,
            Err(error) if error.reason == Reason::NoSuchFile => return Err(gone(path).into()),
            opened => Some(opened?),
        };
        let old_size = opened.as_ref().map_or(0, |(_, stat)| u64::try_from(stat.st_size).unwrap_or(0));
        refuse_larger(path, old_size, self.largest)?;
        cx.charge(old_size.saturating_add(self.content.len() as u64))?;
        let Some(opened) = opened else { return Ok(None) };
        let before = BufferedFile::new(path, opened)?;
        let hash = || before.hash(&|| cx.check());
        match expected {
            Some(_) => expect_hash(path, expected, hash()?)?,
            // Appending loses nothing, so the old content does not matter.
            None if self.mode == WriteMode::Append => {}
            None => cx.seen_files.expect(path, hash)?,
        }
        Ok(Some(before))
    }

    fn replace(
        &self,
        path: &WorkspacePath,
        before: Option<&BufferedFile>,
        content: Option<&ContentKind>,
        cx: &CallContext,
    ) -> Result<FileWriteOutput> {
        let EncodedContent { charset, text, bytes, note } = self.checked(path, before, content, cx)?;
        let mut diff = DiffBuilder::new(&path.display(), before.is_none(), cx.limits.diff_bytes);
        let compared = compare(&mut diff, before, content, text)?;
        let hash = blake3::Hasher::new().update(charset.bom()).update(&bytes).finalize();
        let link_broken = put(path, before, charset, &bytes)?;
        cx.seen_files.wrote(path, Some(hash));
        let diff = diff.finish();
        let note = note.or_else(|| match compared {
            TextComparison::Whole => None,
            TextComparison::Lossy => Some(UNSHOWN.to_owned()),
            TextComparison::None(why) => Some(format!("no diff: {why}")),
        });
        let has_diff = !matches!(compared, TextComparison::None(_));
        Ok(FileWriteOutput {
            operation: if before.is_some() { WriteOperation::Updated } else { WriteOperation::Created },
            bytes_written: (charset.bom().len() + bytes.len()) as u64,
            additions: diff.additions.filter(|_| has_diff),
            deletions: diff.deletions.filter(|_| has_diff),
            diff_truncated: diff.is_truncated,
            diff: has_diff.then_some(diff.text),
            hash: Some(hash.to_hex().to_string()),
            encoding: charset.name(),
            link_broken,
            note,
        })
    }

    /// Encodes the content, after checking it for placeholders.
    fn checked(
        &self,
        path: &WorkspacePath,
        before: Option<&BufferedFile>,
        content: Option<&ContentKind>,
        cx: &CallContext,
    ) -> Result<EncodedContent<'_>> {
        let encoded = self.encoded(content);
        let EncodedContent { charset, text, bytes, .. } = &encoded;
        if let (Some(before), Some(ContentKind::Text(own))) = (before, content)
            && placeholders(text).next().is_some()
            && is_less(text, charset.bom().len() + bytes.len(), before, *own, cx)?
        {
            placeholder::refuse(&path.display(), text, |line, most| {
                occurrences(before, *own, line, most, cx)
            })
            .map_err(|error| error.file(path.display()))?;
        }
        Ok(encoded)
    }

    /// Encodes the content in the file's charset, or in UTF-8 if that cannot represent it.
    fn encoded(&self, before: Option<&ContentKind>) -> EncodedContent<'_> {
        let Some(ContentKind::Text(own)) = before else { return self.in_utf8(None) };
        let text = match self.content.strip_prefix('\u{FEFF}') {
            // The existing byte order mark is written anyway.
            Some(rest) if own.has_bom() => rest,
            _ => &self.content,
        };
        match own.encode(text) {
            Ok(bytes) => EncodedContent { charset: *own, text, bytes, note: None },
            Err(unmappable) => self.in_utf8(Some(format!(
                "written as utf-8: {}, in which the file was, cannot hold {unmappable}",
                own.name()
            ))),
        }
    }

    fn in_utf8(&self, note: Option<String>) -> EncodedContent<'_> {
        let bytes = Cow::Borrowed(self.content.as_bytes());
        EncodedContent { charset: Charset::UTF8, text: &self.content, bytes, note }
    }
}

/// The content as it is written to the file.
struct EncodedContent<'a> {
    charset: Charset,
    text: &'a str,
    bytes: Cow<'a, [u8]>,
    note: Option<String>,
}

/// Whether the text, of this encoded size, has fewer bytes or lines than the file.
fn is_less(
    text: &str,
    size: usize,
    before: &BufferedFile,
    charset: Charset,
    cx: &CallContext,
) -> Result<bool> {
    if (size as u64) < before.size {
        return Ok(true);
    }
    let lines = summarize(&before.bytes(), charset, &|| cx.check())?.stats.total();
    Ok((text.lines().count() as u64) < lines)
}

/// How often the file contains a text, counted up to `most`.
fn occurrences(
    before: &BufferedFile,
    charset: Charset,
    text: &str,
    most: usize,
    cx: &CallContext,
) -> Result<usize> {
    match Needle::new(charset, text) {
        Ok(needle) => {
            let found = find(&before.bytes(), charset, &needle, Overlap::First, most, &|| cx.check())?;
            Ok(found.hits.len())
        }
        Err(_) => Ok(0),
    }
}

/// Replaces the file with a byte order mark and bytes. Returns whether hard links keep the old content.
fn put(path: &WorkspacePath, before: Option<&BufferedFile>, charset: Charset, bytes: &[u8]) -> Result<bool> {
    let mut replacement = path.replace()?;
    let failed = |error| ToolError::io("write", path.display(), error);
    replacement.file().write_all(charset.bom()).map_err(failed)?;
    replacement.file().write_all(bytes).map_err(failed)?;
    let link_broken = replacement.breaks_link();
    replacement.commit(before.map_or(Expected::Absent, |before| Expected::Unchanged(&before.stat)))?;
    Ok(link_broken)
}

/// Shown where the texts cannot be compared: size and hash of the old file, and the new text.
fn uncompared(why: &str, before: Option<&BufferedFile>, text: &str, cx: &CallContext) -> Result<String> {
    let replaced = match before {
        None => String::new(),
        Some(before) => {
            let hash = before.hash(&|| cx.check())?;
            format!("; {} bytes, BLAKE3 {}, are replaced", before.size, hash.to_hex())
        }
    };
    let added: String = text.lines().map(|line| format!("+{line}\n")).collect();
    Ok(format!("[no diff: {why}{replaced}]\n{added}"))
}

/// How much of a change the diff shows.
enum TextComparison {
    /// All of it.
    Whole,
    /// The text, but the old file also has bytes that no text shows.
    Lossy,
    /// Nothing, for this reason.
    None(&'static str),
}

/// Adds the difference to the old text.
fn compare(
    diff: &mut DiffBuilder,
    before: Option<&BufferedFile>,
    content: Option<&ContentKind>,
    text: &str,
) -> Result<TextComparison> {
    let old_size = before.map_or(0, |before| before.size);
    if old_size > COMPARED || text.len() as u64 > COMPARED {
        return Ok(TextComparison::None("the texts are too large to be compared"));
    }
    let Some(before) = before else {
        diff.compare("", text);
        return Ok(TextComparison::Whole);
    };
    let Some(ContentKind::Text(charset)) = content else {
        return Ok(TextComparison::None("the file was not text"));
    };
    let mut scratch = Vec::new();
    let bytes = before.bytes();
    let old = bytes.read(charset.bom().len() as u64..old_size, &mut scratch)?;
    let (shown, has_errors) = charset.decode(old);
    diff.compare(&shown, text);
    let is_whole = !has_errors && charset.encode(&shown).is_ok_and(|again| *again == *old);
    if is_whole {
        return Ok(TextComparison::Whole);
    }
    diff.leave_out(UNSHOWN);
    Ok(TextComparison::Lossy)
}

fn gone(path: &WorkspacePath) -> ToolError {
    let shown = path.display();
    let message = format!("{shown} was deleted since it was read; omit expected_hash to create it again");
    ToolError::new(Reason::Stale, message).file(shown)
}
