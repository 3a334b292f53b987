//! The diff of a file that a merge left undecided: the work tree against both sides at once.
//!
//! Every line of the result has a column for each side. Where the result takes one side as it is, nothing is
//! shown; what is shown is where the sides were mixed or where neither was taken.

use super::diff::content;
use super::patch::{DiffPrinter, DiffSide, is_binary};
use crate::{
    changes::{BlobVersion, ChangeKind, FileChange, NO_ID},
    fail::GitResult,
    tree::{
        content::{WorkTreeReader, stage},
        tracked::mode,
    },
};
use beamai_port_tools::git::path::shown;
use git2::{DiffLineType, DiffOptions, Oid, Patch};

/// Lines shown around a change.
const CONTEXT: usize = 3;
/// Longest part of a line that a hunk's header quotes.
const HEADING: usize = 40;
/// Both sides.
const BOTH: u8 = 3;

/// A line that the result does not have, and which sides have it.
#[derive(Debug, Clone)]
struct RemovedLine<'a> {
    text: &'a [u8],
    sides: u8,
}

/// A line of the result, with the lost lines before it. The last row is the end.
#[derive(Debug, Clone, Default)]
struct ResultRow<'a> {
    text: &'a [u8],
    /// Sides that do not have the line.
    new_to: u8,
    lost: Vec<RemovedLine<'a>>,
    /// Line numbers on both sides, before the lost lines.
    at: [usize; 2],
    shown: bool,
    /// The row is only what stands before a change: its lost lines are not shown.
    is_lead: bool,
}

/// Writes the diff of an undecided path. `sides` are those that it has: 2 the own, 4 the other.
pub(super) fn print(
    printer: &mut DiffPrinter<'_>,
    contents: &mut WorkTreeReader<'_>,
    path: &[u8],
    sides: u8,
) -> GitResult<()> {
    let own = |of: u16| {
        let entry = contents.entries.iter().find(|entry| entry.path == path && stage(entry) == of)?;
        Some(BlobVersion { mode: entry.mode, id: entry.id })
    };
    let (ours, theirs) = (own(2), own(3));
    let file = contents.dirs.lstat(path).ok().and_then(|stat| {
        let like = ours.or(theirs).map_or(0, |side| side.mode);
        mode(&stat, like, contents.repo.settings.file_mode)
    });
    let file = file.map(|mode| BlobVersion { mode, id: NO_ID });
    match (ours, theirs) {
        (Some(ours), Some(theirs)) if sides & 6 == 6 => both(printer, contents, path, [ours, theirs], file),
        _ => one(printer, contents, path, ours, file),
    }
}

/// Without both sides there is only a line that says so, and the diff to the own side.
fn one(
    printer: &mut DiffPrinter<'_>,
    contents: &mut WorkTreeReader<'_>,
    path: &[u8],
    ours: Option<BlobVersion>,
    file: Option<BlobVersion>,
) -> GitResult<()> {
    printer.page.line(&format!("* Unmerged path {}", printer.quote.name("", path)));
    let Some(ours) = ours else { return Ok(()) };
    let old = DiffSide::new(ours, content(contents, path, ours, false)?);
    let new = match file {
        Some(version) => Some(DiffSide::new(version, content(contents, path, version, true)?)),
        None => None,
    };
    if new.as_ref().is_some_and(|new| new.id == old.id && new.mode == old.mode) {
        return Ok(());
    }
    let kind = if new.is_some() { ChangeKind::Modified } else { ChangeKind::Deleted };
    let change = FileChange { path: path.to_vec(), kind, old: Some(ours), new: file };
    let diff = contents.attributes(path)?.remove(&b"diff"[..]);
    printer.print(&change, Some(&old), new.as_ref(), diff.as_ref())
}

fn both(
    printer: &mut DiffPrinter<'_>,
    contents: &mut WorkTreeReader<'_>,
    path: &[u8],
    sides: [BlobVersion; 2],
    file: Option<BlobVersion>,
) -> GitResult<()> {
    let result = match file {
        Some(file) => content(contents, path, file, true)?,
        None => Some(Vec::new()),
    };
    let ours = content(contents, path, sides[0], false)?;
    let theirs = content(contents, path, sides[1], false)?;
    let diff = contents.attributes(path)?.remove(&b"diff"[..]);
    let (Some(ours), Some(theirs), Some(result)) = (ours, theirs, result) else {
        header(printer, path, sides, file);
        printer.page.line("Binary files differ");
        printer.page.note(format!("{}: too large to be compared line by line", shown(path)));
        return Ok(());
    };
    if [&ours, &theirs, &result].iter().any(|bytes| is_binary(bytes, diff.as_ref())) {
        header(printer, path, sides, file);
        printer.page.line("Binary files differ");
        return Ok(());
    }
    header(printer, path, sides, file);
    let name = |prefix| printer.quote.name(prefix, path);
    let (a, b) = (name("a/"), if file.is_some() { name("b/") } else { "/dev/null".to_owned() });
    printer.page.line(&format!("--- {a}"));
    printer.page.line(&format!("+++ {b}"));
    if file.is_some() {
        let mut rows = rows(&result, [&ours, &theirs])?;
        choose(&mut rows);
        printer.body(path, &hunks(&rows));
    }
    Ok(())
}

fn header(printer: &mut DiffPrinter<'_>, path: &[u8], sides: [BlobVersion; 2], file: Option<BlobVersion>) {
    printer.page.line(&format!("diff --cc {}", printer.quote.name("", path)));
    let short = |id: Oid| printer.names.short(id);
    let (ours, theirs) = (short(sides[0].id), short(sides[1].id));
    printer.page.line(&format!("index {ours},{theirs}..{}", short(NO_ID)));
    let modes = format!("{:06o},{:06o}", sides[0].mode, sides[1].mode);
    match file {
        None => printer.page.line(&format!("deleted file mode {modes}")),
        Some(file) if sides.iter().any(|side| side.mode != file.mode) => {
            printer.page.line(&format!("mode {modes}..{:06o}", file.mode));
        }
        Some(_) => {}
    }
}

/// The lines of the result against both sides.
fn rows<'a>(result: &'a [u8], sides: [&'a [u8]; 2]) -> GitResult<Vec<ResultRow<'a>>> {
    let mut rows: Vec<ResultRow<'a>> = lines(result)
        .map(|text| ResultRow { text, ..ResultRow::default() })
        .chain([ResultRow::default()])
        .collect();
    for (side, text) in sides.into_iter().enumerate() {
        compare(&mut rows, side, text, result)?;
    }
    let mut at = [1, 1];
    for row in &mut rows {
        row.at = at;
        for (side, at) in at.iter_mut().enumerate() {
            let mask = 1 << side;
            *at += row.lost.iter().filter(|lost| lost.sides & mask != 0).count();
            *at += usize::from(row.new_to & mask == 0);
        }
    }
    Ok(rows)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// Enters what one side has and the result does not, and the other way round.
fn compare<'a>(rows: &mut [ResultRow<'a>], side: usize, text: &'a [u8], result: &[u8]) -> GitResult<()> {
    let mut options = DiffOptions::new();
    options.context_lines(0).indent_heuristic(true).force_text(true);
    let patch = Patch::from_buffers(text, None, result, None, Some(&mut options))?;
    let old: Vec<&[u8]> = lines(text).collect();
    for at in 0..patch.num_hunks() {
        let (hunk, count) = patch.hunk(at)?;
        // A hunk that adds nothing is numbered by the line before it.
        let first = hunk.new_start() as usize + usize::from(hunk.new_lines() == 0) - 1;
        let mut lost = Vec::new();
        for line in 0..count {
            let line = patch.line_in_hunk(at, line)?;
            match (line.origin_value(), line.old_lineno(), line.new_lineno()) {
                (DiffLineType::Deletion, Some(number), _) => lost.push(old[number as usize - 1]),
                (DiffLineType::Addition, _, Some(number)) => rows[number as usize - 1].new_to |= 1 << side,
                _ => {}
            }
        }
        merge(&mut rows[first].lost, &lost, 1 << side);
    }
    Ok(())
}

/// Puts the lines that one more side lost to those lost already; a line that both have is there once.
fn merge<'a>(lost: &mut Vec<RemovedLine<'a>>, more: &[&'a [u8]], side: u8) {
    let (old, new) = (lost.len(), more.len());
    let mut common = vec![vec![0_usize; new + 1]; old + 1];
    for i in 0..old {
        for j in 0..new {
            common[i + 1][j + 1] = match lost[i].text == more[j] {
                true => common[i][j] + 1,
                false => common[i][j + 1].max(common[i + 1][j]),
            };
        }
    }
    let (mut i, mut j, mut merged) = (old, new, Vec::new());
    while i > 0 || j > 0 {
        if i > 0 && j > 0 && lost[i - 1].text == more[j - 1] {
            (i, j) = (i - 1, j - 1);
            merged.push(RemovedLine { sides: lost[i].sides | side, ..lost[i].clone() });
        } else if j > 0 && (i == 0 || common[i][j - 1] >= common[i - 1][j]) {
            j -= 1;
            merged.push(RemovedLine { text: more[j], sides: side });
        } else {
            i -= 1;
            merged.push(lost[i].clone());
        }
    }
    merged.reverse();
    *lost = merged;
}

/// Decides which rows are shown: changes that do more than take one side, and what stands around them.
fn choose(rows: &mut [ResultRow<'_>]) {
    for row in rows.iter_mut() {
        row.shown = row.new_to != 0 || !row.lost.is_empty();
    }
    let mut from = 0;
    while let Some(begin) = next(rows, from, true) {
        let end = block_end(rows, begin);
        if takes_one_side(&rows[begin..end]) {
            rows[begin..end].iter_mut().for_each(|row| row.shown = false);
        }
        from = end;
    }
    surround(rows);
}

/// The first row from a position on that is shown, or that is not.
fn next(rows: &[ResultRow<'_>], from: usize, shown: bool) -> Option<usize> {
    (from..rows.len()).find(|at| rows[*at].shown == shown)
}

/// The end of a block of changes: those no further apart than the lines around them are one.
fn block_end(rows: &[ResultRow<'_>], begin: usize) -> usize {
    let mut end = begin + 1;
    while end < rows.len() {
        if !rows[end].shown {
            let reach = (tail(rows, begin, end) + CONTEXT).min(rows.len());
            match (end..reach).rev().find(|at| rows[*at].shown) {
                Some(more) => end = more,
                None => return end,
            }
        }
        end += 1;
    }
    rows.len()
}

/// Where the lines behind a block begin. The block's last row is one of them if only lines before it are lost.
fn tail(rows: &[ResultRow<'_>], begin: usize, end: usize) -> usize {
    end - usize::from(begin < end && rows[end - 1].new_to == 0)
}

/// Whether all of a block's changes are against the same one side: the result took the other as it is.
fn takes_one_side(block: &[ResultRow<'_>]) -> bool {
    let new = block.iter().map(|row| row.new_to).filter(|sides| *sides != 0);
    let mut all = new.chain(block.iter().flat_map(|row| row.lost.iter().map(|lost| lost.sides)));
    let first = all.next().unwrap_or(BOTH);
    first != BOTH && all.all(|sides| sides == first)
}

/// Shows the lines around what is shown.
fn surround(rows: &mut [ResultRow<'_>]) {
    let mut from = 0;
    while let Some(begin) = next(rows, from, true) {
        for row in &mut rows[begin.saturating_sub(CONTEXT)..begin] {
            row.is_lead |= !row.shown;
            row.shown = true;
        }
        let mut at = begin;
        from = loop {
            let Some(end) = next(rows, at, false) else { return };
            let behind = tail(rows, at, end);
            let more = next(rows, end, true).unwrap_or(rows.len());
            if more < rows.len() && more < behind + CONTEXT {
                rows[behind..more].iter_mut().for_each(|row| row.shown = true);
                at = more;
                continue;
            }
            let last = (behind + CONTEXT).min(rows.len());
            rows[behind..last].iter_mut().for_each(|row| row.shown = true);
            break more;
        };
    }
}

/// The shown rows as hunks.
fn hunks(rows: &[ResultRow<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(begin) = next(rows, from, true) {
        let end = next(rows, begin, false).unwrap_or(rows.len());
        let heading = rows[from..begin].iter().rev().find(|row| is_heading(row.text));
        header_line(rows, begin, end, heading.map(|row| row.text), &mut out);
        rows[begin..end].iter().enumerate().for_each(|(at, row)| {
            let is_end = begin + at + 1 == rows.len();
            row.print(is_end, &mut out);
        });
        from = end;
    }
    out
}

fn header_line(rows: &[ResultRow<'_>], begin: usize, end: usize, heading: Option<&[u8]>, out: &mut Vec<u8>) {
    let is_last = end == rows.len();
    let after = |side: usize| match rows.get(end) {
        Some(row) => row.at[side],
        None => {
            let last = &rows[end - 1];
            last.at[side] + last.lost.iter().filter(|lost| lost.sides & (1 << side) != 0).count()
        }
    };
    out.extend_from_slice(b"@@@");
    for side in 0..2 {
        let start = rows[begin].at[side];
        out.extend_from_slice(format!(" -{start},{}", after(side) - start).as_bytes());
    }
    let count = end - begin - usize::from(is_last);
    out.extend_from_slice(format!(" +{},{count} @@@", begin + 1).as_bytes());
    if let Some(heading) = heading {
        let heading = &heading[..heading.len().min(HEADING)];
        // git leaves out the last character that is no space; so does this.
        if let Some(end) = heading.iter().rposition(|byte| !byte.is_ascii_whitespace()).filter(|end| *end > 0)
        {
            out.push(b' ');
            out.extend_from_slice(&heading[..end]);
        }
    }
    out.push(b'\n');
}

fn is_heading(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_' || *byte == b'$')
}

impl ResultRow<'_> {
    fn print(&self, is_end: bool, out: &mut Vec<u8>) {
        let mut line = |sides: u8, mark: u8, text: &[u8]| {
            out.extend([1, 2].map(|side| if sides & side != 0 { mark } else { b' ' }));
            out.extend_from_slice(text);
            out.push(b'\n');
        };
        let lost = if self.is_lead { &[][..] } else { &self.lost };
        lost.iter().for_each(|lost| line(lost.sides, b'-', lost.text));
        if !is_end {
            line(self.new_to, b'+', self.text);
        }
    }
}
