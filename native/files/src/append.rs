//! Appends to an existing file in place: its inode and hard links are kept.

use super::buffered_file::{BufferedFile, no_text};
use super::write::{FileWrite, FileWriteOutput, WriteOperation};
use beamai_base::{Reason, Result, ToolError};
use beamai_text::{
    Charset, ContentKind, Diff, DiffBuilder, FileScan, Splice, around, encoding_line, summarize,
};
use beamai_tool::{CallContext, Preview};
use beamai_workspace::WorkspacePath;
use rustix::fs::Stat;
use std::borrow::Cow;
use std::fs::File;
use std::io::Write;

const ADVICE: &str = "text cannot be added to it";

/// Appends the content to the file.
///
/// # Errors
/// `stale` if the file changed since `before`. On any error the file is unchanged.
pub(super) fn append(
    args: &FileWrite,
    path: &WorkspacePath,
    before: &BufferedFile,
    content: &ContentKind,
    cx: &CallContext,
) -> Result<FileWriteOutput> {
    let (charset, bytes) = encoded(args, path, before, content)?;
    let whole = match before.size <= cx.limits.whole_file_bytes {
        true => Some(summarize(&before.bytes(), charset, &|| cx.check())?),
        false => None,
    };
    let mut diff = DiffBuilder::new(&path.display(), false, cx.limits.diff_bytes);
    if let Some(whole) = &whole {
        compare(&mut diff, before, charset, whole, &bytes, cx)?;
    }
    let failed = |error| ToolError::io("write", path.display(), error);
    add(reopened(path, before)?, &bytes, before.size).map_err(failed)?;
    let old = whole.as_ref().map(FileScan::hash);
    let new = whole.map(|mut whole| whole.hasher.update(&bytes).finalize());
    cx.seen_files.added_to(path, old, new);
    Ok(written(charset, &bytes, new, diff.finish()))
}

/// The diff that appending would make, for the question about it. There is one for files of any size.
pub(super) fn preview(
    args: &FileWrite,
    path: &WorkspacePath,
    before: &BufferedFile,
    content: &ContentKind,
    cx: &CallContext,
) -> Result<Preview> {
    let (charset, bytes) = encoded(args, path, before, content)?;
    let whole = summarize(&before.bytes(), charset, &|| cx.check())?;
    let mut diff = DiffBuilder::new(&path.display(), false, usize::MAX);
    compare(&mut diff, before, charset, &whole, &bytes, cx)?;
    let (preview, diff) = (Preview::default().with(&encoding_line(&charset.name())), diff.finish());
    preview.with_diff(&diff.text, diff.is_truncated, || Ok(whole.hash()))
}

/// The charset of the file, and the content encoded in it.
fn encoded<'a>(
    args: &'a FileWrite,
    path: &WorkspacePath,
    before: &BufferedFile,
    content: &ContentKind,
) -> Result<(Charset, Cow<'a, [u8]>)> {
    let charset = match content {
        ContentKind::Text(charset) => *charset,
        ContentKind::Image(kind) | ContentKind::Binary(kind) => {
            return Err(no_text(path, before.size, kind, ADVICE));
        }
    };
    let bytes = charset.encode(&args.content).map_err(|unmappable| {
        let shown = path.display();
        let message = format!(
            "{shown} is in {}, which cannot hold {unmappable}; leave these characters out, or write the whole file \
             anew, which makes it utf-8",
            charset.name()
        );
        ToolError::new(Reason::InvalidEncoding, message).file(shown)
    })?;
    Ok((charset, bytes))
}

/// Opens the same file for appending.
fn reopened(path: &WorkspacePath, before: &BufferedFile) -> Result<File> {
    let (file, stat) = path.append()?;
    match stat {
        Some(stat) if same(&stat, &before.stat) => Ok(file),
        _ => Err(ToolError::new(Reason::Stale, "the file changed while it was written to; try again")
            .file(path.display())),
    }
}

fn written(charset: Charset, bytes: &[u8], hash: Option<blake3::Hash>, diff: Diff) -> FileWriteOutput {
    let diff = hash.is_some().then_some(diff);
    FileWriteOutput {
        operation: WriteOperation::Updated,
        bytes_written: bytes.len() as u64,
        additions: diff.as_ref().and_then(|diff| diff.additions),
        deletions: diff.as_ref().and_then(|diff| diff.deletions),
        diff_truncated: diff.as_ref().is_some_and(|diff| diff.is_truncated),
        note: diff
            .is_none()
            .then(|| "no diff and no hash: the file is too large to be read again".to_owned()),
        diff: diff.map(|diff| diff.text),
        hash: hash.map(|hash| hash.to_hex().to_string()),
        encoding: charset.name(),
        link_broken: false,
    }
}

fn same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size, a.st_mtime, a.st_mtime_nsec)
        == (b.st_dev, b.st_ino, b.st_size, b.st_mtime, b.st_mtime_nsec)
}

/// Appends bytes, all or none.
fn add(mut file: File, bytes: &[u8], size: u64) -> std::io::Result<()> {
    file.write_all(bytes).inspect_err(|_| {
        // Remove what was partly written. If that fails too, the first error is the one to report.
        _ = file.set_len(size);
    })
}

fn compare(
    diff: &mut DiffBuilder,
    before: &BufferedFile,
    charset: Charset,
    whole: &FileScan,
    bytes: &[u8],
    cx: &CallContext,
) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let end = before.size;
    let splice = Splice { range: end..end, line: whole.stats.ends() + 1, with: bytes };
    around(&before.bytes(), charset, std::iter::once(splice), diff, &|| cx.check())
}
