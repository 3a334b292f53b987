//! Parses unified diffs to [`FileDiff`]s.
//!
//! Accepts the output of git, GNU diff and language models: with or without git's headers, with any or no prefixes,
//! with text between the files. Anything that cannot be parsed is rejected with its line number.

use super::begin_patch;
use super::body::{self, PatchLines};
use super::diff::{DiffChange, FileDiff, Hunk, PatchForm};
use super::header::{GitHeader, PatchedMode};
use super::name::{self, HeaderName, HeaderSide};
use beamai_base::{Reason, Result, ToolError};

/// Maximum size of a patch in bytes; parsed lines take several times as much memory.
pub(super) const MOST_BYTES: usize = 32 << 20;
/// Maximum number of hunks; each has a verdict in the result.
pub(super) const MOST_HUNKS: usize = 50_000;

/// Parses a patch.
///
/// # Errors
/// `invalid_argument`, with the line of the patch and what was expected there; `binary_file` for a binary patch;
/// `too_large`.
pub(super) fn parse(patch: &str) -> Result<Vec<FileDiff>> {
    if patch.len() > MOST_BYTES {
        return Err(too_large(&format!("has {} bytes; no more than {MOST_BYTES}", patch.len())));
    }
    if let Some(files) = begin_patch::parse(patch) {
        return files;
    }
    let mut parser = DiffParser { text: PatchLines::new(patch), at: 0, series: 0, hunks: 0, files: vec![] };
    while parser.at < parser.text.len() {
        parser.step()?;
    }
    match parser.files.is_empty() {
        true => Err(malformed(
            1,
            "the patch has no file in it: expected lines such as \"--- a/path\", \"+++ b/path\", \"@@ -1,3 +1,4 @@\", or a patch \
             between \"*** Begin Patch\" and \"*** End Patch\" with \"*** Update File: path\"",
        )),
        false => Ok(parser.files),
    }
}

/// The error about a line of the patch.
pub(super) fn malformed(line: usize, what: impl std::fmt::Display) -> ToolError {
    let message = format!("the patch is not valid at its line {line}: {what}");
    ToolError::new(Reason::InvalidArgument, message).with("argument", "patch").with("line", line)
}

fn too_large(why: &str) -> ToolError {
    let message = format!("the patch {why} can be applied at once, so split it, by files if it has several");
    ToolError::new(Reason::TooLarge, message).with("argument", "patch")
}

struct DiffParser<'a> {
    text: PatchLines<'a>,
    /// Index of the next line.
    at: usize,
    series: usize,
    /// Number of hunks so far.
    hunks: usize,
    files: Vec<FileDiff>,
}

impl<'a> DiffParser<'a> {
    /// Parses a file, or skips a line of text between files.
    fn step(&mut self) -> Result<()> {
        let line = self.text.head(self.at);
        if let Some(names) = line.strip_prefix("diff --git ") {
            return self.git(names);
        }
        if self.text.begins_file(self.at) {
            return self.plain();
        }
        if let Some(problem) = foreign(line) {
            return Err(malformed(self.at + 1, problem));
        }
        if let Some(rest) = line.strip_prefix("Binary files ") {
            return Err(binary(self.at + 1, rest));
        }
        if body::is_mail(line) {
            self.series += 1;
        }
        self.at += 1;
        Ok(())
    }

    /// A file with only `---` and `+++` lines.
    fn plain(&mut self) -> Result<()> {
        let line = self.at + 1;
        let (old, new) = self.sides()?;
        let hunks = self.hunks(false)?;
        let change = match (old, new) {
            (HeaderSide::Nothing, HeaderSide::Nothing) => {
                return Err(malformed(line, "both names are /dev/null"));
            }
            (HeaderSide::Nothing, HeaderSide::File(new)) => DiffChange::Create(new),
            (HeaderSide::File(old), HeaderSide::Nothing) => DiffChange::Delete(old),
            (HeaderSide::File(old), HeaderSide::File(new)) => by_times(old, new, &hunks),
        };
        self.push(line, change, None, hunks)
    }

    /// A file with git's headers.
    fn git(&mut self, names: &str) -> Result<()> {
        let line = self.at + 1;
        self.at += 1;
        let mut header = GitHeader::default();
        while self.at < self.text.len() {
            match header.read(self.text.head(self.at)) {
                Ok(true) => self.at += 1,
                Ok(false) => break,
                Err(problem) => return Err(malformed(self.at + 1, problem)),
            }
        }
        if let Some(what) = self.binary() {
            return Err(binary(self.at + 1, what));
        }
        let names = name::pair(names);
        let sides = self.sides_of(&header, names.as_ref())?;
        let hunks = self.hunks(sides.is_none())?;
        let change = header.change(names, sides).map_err(|problem| malformed(line, problem))?;
        if hunks.is_empty() && header.is_empty_change() {
            let problem =
                format!("nothing follows the header of the file: {}", self.expected("@@ -1,3 +1,4 @@"));
            return Err(malformed(self.at.min(self.text.len()), problem));
        }
        let executable = header.mode.map(|mode| mode == PatchedMode::Executable);
        self.push(line, change, executable, hunks)
    }

    fn push(
        &mut self,
        line: usize,
        change: DiffChange,
        executable: Option<bool>,
        hunks: Vec<Hunk>,
    ) -> Result<()> {
        check_hunks(&change, &hunks)?;
        self.hunks += hunks.len();
        if self.hunks > MOST_HUNKS {
            return Err(too_large(&format!("has more than {MOST_HUNKS} hunks; no more")));
        }
        let (series, form) = (self.series, PatchForm::Unified);
        self.files.push(FileDiff { line, series, form, change, executable, hunks });
        Ok(())
    }

    /// Parses the `---` and `+++` lines.
    fn sides(&mut self) -> Result<(HeaderSide, HeaderSide)> {
        let at = self.at;
        self.at += 2;
        let side = |at: usize| {
            HeaderSide::parse(&self.text.line(at)[4..]).map_err(|problem| malformed(at + 1, problem))
        };
        Ok((side(at)?, side(at + 1)?))
    }

    /// Parses the `---` and `+++` lines if they belong to the header before them. After a header that is complete
    /// without them, such as a rename, they may start the next file.
    fn sides_of(
        &mut self,
        header: &GitHeader,
        names: Option<&(String, String)>,
    ) -> Result<Option<(HeaderSide, HeaderSide)>> {
        if !self.text.begins_file(self.at) {
            return Ok(None);
        }
        let at = self.at;
        let sides = self.sides()?;
        if header.is_about(names, &sides) {
            return Ok(Some(sides));
        }
        self.at = at;
        Ok(None)
    }

    /// Parses the hunks of a file. There must be one unless they `may_be_missing`.
    fn hunks(&mut self, may_be_missing: bool) -> Result<Vec<Hunk>> {
        // If the lines that name the file end with CR LF, the whole patch was converted to CR LF.
        let is_converted = self.at > 0 && self.text.line(self.at - 1).ends_with('\r');
        let mut hunks = Vec::new();
        while self.text.is_hunk(self.at) {
            let (hunk, next) = body::hunk(&self.text, self.at, is_converted)?;
            hunks.push(hunk);
            self.at = next;
            if hunks.len() > MOST_HUNKS {
                break;
            }
        }
        if hunks.is_empty() && !may_be_missing {
            return Err(malformed(self.at + 1, self.expected("@@ -1,3 +1,4 @@")));
        }
        Ok(hunks)
    }

    fn expected(&self, what: &str) -> String {
        match self.at < self.text.len() {
            true => format!("expected \"{what}\", found {:?}", body::cut(self.text.head(self.at))),
            false => format!("expected \"{what}\", found the end of the patch"),
        }
    }

    fn binary(&self) -> Option<&'a str> {
        let line = self.text.head(self.at);
        match line {
            "GIT binary patch" => Some("a binary patch"),
            _ => line.strip_prefix("Binary files "),
        }
    }
}

/// Creation or deletion, as told by the timestamps.
fn by_times(old: HeaderName, new: HeaderName, hunks: &[Hunk]) -> DiffChange {
    let is_all = |keep: fn(&Hunk) -> bool| hunks.iter().all(keep);
    if old.is_epoch && is_all(|hunk| hunk.old_lines().next().is_none()) {
        return DiffChange::Create(new);
    }
    if new.is_epoch && is_all(|hunk| hunk.new_lines().next().is_none()) {
        return DiffChange::Delete(old);
    }
    DiffChange::Update { old, new, is_known: false }
}

/// A created file has no old lines, and a deleted one no new lines.
fn check_hunks(change: &DiffChange, hunks: &[Hunk]) -> Result<()> {
    let wrong = |problem, is_wrong: fn(&Hunk) -> bool| match hunks.iter().find(|hunk| is_wrong(hunk)) {
        Some(hunk) => Err(malformed(hunk.line, problem)),
        None => Ok(()),
    };
    match change {
        DiffChange::Create(_) => wrong("the file is new, so all its lines begin with \"+\"", |hunk| {
            hunk.old_lines().next().is_some()
        }),
        DiffChange::Delete(_) => wrong("the file is deleted, so all its lines begin with \"-\"", |hunk| {
            hunk.new_lines().next().is_some()
        }),
        _ => Ok(()),
    }
}

/// Detects other patch formats, and parts of a patch that name no file.
fn foreign(line: &str) -> Option<&'static str> {
    match line {
        _ if line.starts_with("@@@")
            || line.starts_with("diff --cc ")
            || line.starts_with("diff --combined ") =>
        {
            Some("this is the combined diff of a merge; give the diff against one parent")
        }
        _ if line.starts_with("@@ ") || line == "@@" => {
            Some("a hunk without a file: expected \"--- a/path\" and \"+++ b/path\" before it")
        }
        _ if line.starts_with("*** Begin Patch") || line.starts_with("*** Update File:") => Some(
            "a unified diff and a patch between \"*** Begin Patch\" and \"*** End Patch\" are mixed; give only one of them",
        ),
        "***************" => Some("this is a context diff; give a unified one (diff -u)"),
        _ => None,
    }
}

fn binary(line: usize, what: &str) -> ToolError {
    let message = format!(
        "line {line} of the patch has binary content ({}); only text can be patched, so leave this file out",
        what.trim_end_matches(" differ")
    );
    ToolError::new(Reason::BinaryFile, message).with("line", line)
}
