//! Patches between `*** Begin Patch` and `*** End Patch`, a format that some models are trained on.
//!
//! Files are added, deleted, updated and moved. Hunks have no line numbers; they are located by their lines alone. Text
//! after `@@` is treated as a comment; a hunk that matches in several places is refused as ambiguous.

use super::body::cut;
use super::diff::{DiffChange, FileDiff, Hunk, HunkLine, LineTag, PatchForm};
use super::name::HeaderName;
use super::parser::{MOST_HUNKS, malformed};
use beamai_base::Result;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// Parses such a patch; `None` if the text is not in this format.
///
/// # Errors
/// `invalid_argument`, with the line of the patch and what was expected there.
pub(super) fn parse(patch: &str) -> Option<Result<Vec<FileDiff>>> {
    let lines: Vec<&str> = patch.lines().collect();
    let begin = lines.iter().position(|line| !line.trim().is_empty())?;
    let is_one = lines[begin].trim() == BEGIN || begins_file(lines[begin]);
    let at = if lines[begin].trim() == BEGIN { begin + 1 } else { begin };
    is_one.then(|| BeginPatchParser { lines: &lines, at, hunks: 0 }.files())
}

fn begins_file(line: &str) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|head| line.starts_with(head))
}

struct BeginPatchParser<'a> {
    lines: &'a [&'a str],
    /// Index of the next line.
    at: usize,
    hunks: usize,
}

impl BeginPatchParser<'_> {
    fn files(mut self) -> Result<Vec<FileDiff>> {
        let mut files = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            match line.trim() {
                END => return self.ended(files),
                "" => self.at += 1,
                _ => files.push(self.file()?),
            }
        }
        // Without its last line, the patch may have been truncated.
        Err(malformed(self.lines.len(), format!("expected \"{END}\", found the end of the patch")))
    }

    fn ended(&self, files: Vec<FileDiff>) -> Result<Vec<FileDiff>> {
        match files.is_empty() {
            true => {
                Err(malformed(self.at + 1, format!("the patch has no file in it: expected \"{UPDATE}path\"")))
            }
            false => Ok(files),
        }
    }

    fn file(&mut self) -> Result<FileDiff> {
        let (line, head) = (self.at + 1, self.lines[self.at]);
        self.at += 1;
        let (change, hunks) = if let Some(path) = head.strip_prefix(ADD) {
            (DiffChange::Create(named(path, line)?), vec![self.added(line)?])
        } else if let Some(path) = head.strip_prefix(DELETE) {
            (DiffChange::Remove(named(path, line)?), Vec::new())
        } else if let Some(path) = head.strip_prefix(UPDATE) {
            self.updated(named(path, line)?, line)?
        } else {
            return Err(malformed(
                line,
                format!(
                    "expected \"{UPDATE}path\", \"{ADD}path\", \"{DELETE}path\" or \"{END}\", found {:?}",
                    cut(head)
                ),
            ));
        };
        // Each part starts from the result of those before it.
        Ok(FileDiff { line, series: line, form: PatchForm::BeginPatch, change, executable: None, hunks })
    }

    /// The lines of a new file.
    fn added(&mut self, head: usize) -> Result<Hunk> {
        let mut lines = Vec::new();
        while let Some(text) = self.lines.get(self.at).and_then(|line| line.strip_prefix('+')) {
            lines.push(line(LineTag::Insert, text));
            self.at += 1;
        }
        // An empty line may separate it from the next file.
        match self.is_end_of_part() || !lines.is_empty() && self.lines[self.at].trim().is_empty() {
            true => Ok(Hunk { line: head, stated: None, is_recounted: false, has_numbers: false, lines }),
            false => Err(malformed(self.at + 1, "the file is new, so all its lines begin with \"+\"")),
        }
    }

    fn updated(&mut self, old: HeaderName, head: usize) -> Result<(DiffChange, Vec<Hunk>)> {
        let to = match self.lines.get(self.at).and_then(|line| line.strip_prefix(MOVE)) {
            Some(path) => {
                self.at += 1;
                Some(named(path, self.at)?)
            }
            None => None,
        };
        let mut hunks = Vec::new();
        while !self.is_end_of_part() {
            hunks.push(self.hunk()?);
            self.hunks += 1;
            if self.hunks > MOST_HUNKS {
                return Err(malformed(
                    self.at,
                    format!("there are more than {MOST_HUNKS} hunks; split the patch"),
                ));
            }
        }
        match to {
            Some(new) => Ok((DiffChange::Rename { old: old.text, new: new.text }, hunks)),
            None if hunks.is_empty() => {
                Err(malformed(head, "nothing follows the name of the file: expected \"@@\""))
            }
            None => Ok((DiffChange::Update { new: old.clone(), old, is_known: false }, hunks)),
        }
    }

    fn hunk(&mut self) -> Result<Hunk> {
        let start = self.at + 1;
        // Several `@@` lines may follow each other: a class, then a function in it. The first hunk needs none.
        while self.lines.get(self.at).is_some_and(|line| line.starts_with("@@")) {
            self.at += 1;
        }
        let mut lines = Vec::new();
        while !self.is_end_of_part() && !self.lines[self.at].starts_with("@@") {
            let text = self.lines[self.at];
            self.at += 1;
            if text.trim_end() == END_OF_FILE {
                break;
            }
            lines.push(match text.split_at_checked(1) {
                Some((" ", rest)) => line(LineTag::Context, rest),
                Some(("-", rest)) => line(LineTag::Delete, rest),
                Some(("+", rest)) => line(LineTag::Insert, rest),
                None if text.is_empty() => line(LineTag::Context, ""),
                _ => {
                    let what = format!(
                        "expected a line that begins with \" \", \"-\" or \"+\", found {:?}",
                        cut(text)
                    );
                    return Err(malformed(self.at, what));
                }
            });
        }
        // An empty line before the next section is not part of the hunk.
        while self.is_end_of_part()
            && lines.last().is_some_and(|last| last.tag == LineTag::Context && last.text.is_empty())
        {
            lines.pop();
        }
        if lines.iter().all(|line| line.tag == LineTag::Context) {
            return Err(malformed(
                start,
                "the hunk changes nothing: no line of it begins with \"-\" or \"+\"",
            ));
        }
        Ok(Hunk { line: start, stated: None, is_recounted: false, has_numbers: false, lines })
    }

    fn is_end_of_part(&self) -> bool {
        self.lines.get(self.at).is_none_or(|line| line.trim() == END || begins_file(line))
    }
}

fn named(path: &str, line: usize) -> Result<HeaderName> {
    match path.trim() {
        "" => Err(malformed(line, "there is no file name")),
        path => Ok(HeaderName::bare(path)),
    }
}

fn line(tag: LineTag, text: &str) -> HunkLine {
    HunkLine { tag, text: text.to_owned(), is_open: false }
}
