//! Replaces text in a file.

use super::buffered_file::BufferedFile;
use super::mismatch::{ambiguous, no_match, too_many};
use super::{check_hash, expect_hash, is_false, lock, missing, need_to_change, placeholder};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::PermissionRequest;
use beamai_text::{
    Charset, Diff, DiffBuilder, FileScan, LineEnding, Needle, Occurrence, Overlap, Splice, around,
    encoding_line, find, splice, summarize,
};
use beamai_tool::{
    CallContext, Interrupt, Operation, Preview, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_workspace::{Expected, WorkspacePath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Maximum number of occurrences counted, for a unique text and with `replace_all`.
const OCCURRENCES: usize = 1000;
const REPLACEMENTS: usize = 1_000_000;

const ADVICE: &str = "only text can be edited";

/// Replaces text in a file. All other bytes are kept.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct FileEdit {
    /// Path of the file, relative to the workspace or absolute inside it.
    #[schemars(extend("self_evident" = true))]
    pub path: String,
    /// Copied exactly, with indentation and without line numbers.
    pub old_string: String,
    /// The replacement. If empty, the old text is deleted.
    #[schemars(extend("self_evident" = true))]
    pub new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub replace_all: bool,
    /// Fail if the file has another BLAKE3 hash. For programs: texts show none.
    #[serde(default)]
    pub expected_hash: Option<String>,
    /// Further edits of this file, each of the text as it was before; all are made or none.
    #[serde(default)]
    pub edits: Vec<TextEdit>,
    /// Whether it is a write that replaces part of a file: its new text has another name.
    #[serde(skip)]
    #[schemars(skip)]
    pub is_write: bool,
}

/// One of several edits of a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct TextEdit {
    /// The text to replace.
    #[schemars(extend("self_evident" = true))]
    pub old_string: String,
    /// The replacement. If empty, the old text is deleted.
    #[schemars(extend("self_evident" = true))]
    pub new_string: String,
    /// Whether to replace every occurrence.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub replace_all: bool,
}

/// Result of [`FileEdit`].
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileEditOutput {
    /// Number of replacements.
    pub replacements: u64,
    /// Unified diff of the change.
    pub diff: String,
    /// Number of added lines; null if there were too many changes to count.
    pub additions: Option<u64>,
    /// Number of removed lines; null if there were too many changes to count.
    pub deletions: Option<u64>,
    /// BLAKE3 hash of the file after the edit.
    pub hash: String,
    /// Encoding of the file.
    pub encoding: String,
    /// Whether LF in old_string or new_string was adapted to the file's CR LF.
    #[serde(default, skip_serializing_if = "is_false")]
    pub line_endings_adapted: bool,
    /// Whether the diff shows only part of the change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub diff_truncated: bool,
    /// Whether the file had other names (hard links), which keep the old content.
    #[serde(default, skip_serializing_if = "is_false")]
    pub link_broken: bool,
}

impl Operation for FileEdit {
    type Output = FileEditOutput;
    const TRAITS: Traits = Traits::WRITES;
    const RULE: &'static str = "Edit";
    const SEES_FILES: bool = true;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        need_to_change(cx, &self.path, Self::RULE, &["Write", "Read"])
    }

    fn run(self, cx: &CallContext) -> Result<FileEditOutput, Interrupt> {
        self.on_file(cx, |edit| Ok(edit.run()?))
    }

    fn preview(&self, cx: &CallContext) -> Result<Option<Preview>, Interrupt> {
        self.on_file(cx, |edit| {
            let diff = edit.diff(&edit.plan()?, usize::MAX)?;
            let preview = Preview::default().with(&encoding_line(&edit.charset.name()));
            Ok(Some(preview.with_diff(&diff.text, diff.is_truncated, || edit.before.hash(&|| cx.check()))?))
        })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::edited(result, call, page)
    }
}

impl FileEdit {
    /// Opens the file, and runs `work` on it.
    fn on_file<T>(
        &self,
        cx: &CallContext,
        work: impl FnOnce(&EditCall<'_>) -> Result<T, Interrupt>,
    ) -> Result<T, Interrupt> {
        self.check()?;
        let path = cx.workspace.parse_path(&self.path)?;
        let _guard = lock(&path, cx)?;
        let opened = missing::open(&path)?;
        cx.charge(u64::try_from(opened.1.st_size).unwrap_or(0))?;
        let before = BufferedFile::new(&path, opened)?;
        let charset = before.charset_for_parts(&path, ADVICE)?;
        let edit = EditCall { args: self, cx, charset, path: &path, before: &before };
        work(&edit).map_err(|stop| match stop {
            Interrupt::Failed(error) => Interrupt::Failed(error.file(path.display())),
            other => other,
        })
    }

    fn check(&self) -> Result<()> {
        check_hash(self.expected_hash.as_deref())?;
        self.each(|edit| {
            let problem = match () {
                () if edit.old.is_empty() => {
                    "old_string is empty; give the text to replace, or write the whole file".to_owned()
                }
                () if edit.old == edit.new => {
                    format!("old_string and {} are the same; there is nothing to change", self.new_name())
                }
                () => return Ok(()),
            };
            Err(ToolError::new(Reason::InvalidArgument, problem))
        })
        .map(|_| ())
    }

    /// The name of the new text.
    fn new_name(&self) -> &'static str {
        if self.is_write { "content" } else { "new_string" }
    }

    /// Calls `work` for each edit. If there are several, an error says which one it is about.
    fn each<'e, T>(&'e self, work: impl Fn(SingleEdit<'e>) -> Result<T>) -> Result<Vec<T>> {
        let own = SingleEdit { old: &self.old_string, new: &self.new_string, everywhere: self.replace_all };
        let further = self.edits.iter().map(|TextEdit { old_string, new_string, replace_all }| SingleEdit {
            old: old_string,
            new: new_string,
            everywhere: *replace_all,
        });
        let numbered = |(at, edit)| {
            work(edit).map_err(|error| match self.edits.len() {
                0 => error,
                _ => renamed(error, &name(at)),
            })
        };
        [own].into_iter().chain(further).enumerate().map(numbered).collect()
    }
}

/// The name of one of several edits.
fn name(at: usize) -> String {
    at.checked_sub(1).map_or("the first edit".to_owned(), |at| format!("edits[{at}]"))
}

/// Adds to the error which edit it is about, and that none was made.
fn renamed(error: ToolError, which: &str) -> ToolError {
    let message = &error.message;
    let end = match () {
        // The message ends with a line of the file.
        () if message.contains('\n') => "\n",
        () if message.ends_with('.') => " ",
        () => ". ",
    };
    ToolError { message: format!("{which}: {message}{end}None of the edits was made."), ..error }
}

/// One replacement, of one or of all occurrences.
#[derive(Clone, Copy)]
struct SingleEdit<'a> {
    old: &'a str,
    new: &'a str,
    everywhere: bool,
}

/// A running call.
struct EditCall<'a> {
    args: &'a FileEdit,
    cx: &'a CallContext,
    path: &'a WorkspacePath,
    before: &'a BufferedFile,
    charset: Charset,
}

/// The replacements of one edit.
struct PlannedEdit {
    found: FileScan,
    /// In the file's encoding.
    new: Vec<u8>,
    is_adapted: bool,
}

/// Edits that do not overlap.
struct EditPlan(Vec<PlannedEdit>);

impl EditPlan {
    /// The replacements in order, each with the index of its edit.
    fn numbered(&self) -> Vec<(usize, Splice<'_>)> {
        let of = |(at, edit)| {
            let PlannedEdit { found, new, .. }: &PlannedEdit = edit;
            let splice = |hit: &Occurrence| Splice { range: hit.range.clone(), line: hit.line, with: new };
            found.hits.iter().map(move |hit| (at, splice(hit)))
        };
        let mut all: Vec<_> = self.0.iter().enumerate().flat_map(of).collect();
        all.sort_by_key(|(_, splice)| splice.range.start);
        all
    }

    fn splices(&self) -> impl Iterator<Item = Splice<'_>> {
        self.numbered().into_iter().map(|(_, splice)| splice)
    }

    /// Refuses overlapping edits.
    fn checked(self) -> Result<Self> {
        let overlap = |two: &[(usize, Splice<'_>)]| {
            let [(first, one), (second, other)] = two else { return None };
            (one.range.end > other.range.start).then(|| (*first.min(second), *first.max(second), other.line))
        };
        match self.numbered().windows(2).find_map(overlap) {
            None => Ok(self),
            Some((first, second, line)) => Err(ToolError::new(
                Reason::InvalidArgument,
                format!(
                    "{} and {} change the same text, at line {line}; make one of them. None of the edits was made.",
                    name(first),
                    name(second)
                ),
            )),
        }
    }
}

impl EditCall<'_> {
    fn run(&self) -> Result<FileEditOutput> {
        let plan = self.plan()?;
        let diff = self.diff(&plan, self.cx.limits.diff_bytes)?;
        let mut replacement = self.path.replace()?;
        let check = || self.cx.check();
        let (hash, _) = splice(&self.before.bytes(), plan.splices(), replacement.file(), &check)?;
        let link_broken = replacement.breaks_link();
        replacement.commit(Expected::Unchanged(&self.before.stat))?;
        self.cx.seen_files.wrote(self.path, Some(hash));
        Ok(self.edited(&plan, diff, hash, link_broken))
    }

    fn diff(&self, plan: &EditPlan, most: usize) -> Result<Diff> {
        let mut diff = DiffBuilder::new(&self.path.display(), false, most);
        around(&self.before.bytes(), self.charset, plan.splices(), &mut diff, &|| self.cx.check())?;
        Ok(diff.finish())
    }

    fn edited(&self, plan: &EditPlan, diff: Diff, hash: blake3::Hash, link_broken: bool) -> FileEditOutput {
        FileEditOutput {
            replacements: plan.0.iter().map(|edit| edit.found.hits.len() as u64).sum(),
            diff: diff.text,
            additions: diff.additions,
            deletions: diff.deletions,
            hash: hash.to_hex().to_string(),
            encoding: self.charset.name(),
            line_endings_adapted: plan.0.iter().any(|edit| edit.is_adapted),
            diff_truncated: diff.is_truncated,
            link_broken,
        }
    }

    fn plan(&self) -> Result<EditPlan> {
        EditPlan(self.args.each(|edit| self.planned(edit))?).checked()
    }

    /// Plans the replacements: of `old_string` as given, or, if it has bare line feeds and does not occur, with CR LF
    /// line endings.
    fn planned(&self, edit: SingleEdit<'_>) -> Result<PlannedEdit> {
        let SingleEdit { old, new, .. } = edit;
        let found = self.find(old, edit.everywhere)?;
        self.expect(&found)?;
        if !found.hits.is_empty() {
            let keeps_crlf = !old.contains('\n') && found.stats.ending() == LineEnding::Crlf;
            let new = if keeps_crlf { with_returns(new) } else { Cow::Borrowed(new) };
            let is_adapted = matches!(new, Cow::Owned(_));
            return self.encoded(edit, found, &new, is_adapted);
        }
        let has_returns = matches!(found.stats.ending(), LineEnding::Crlf | LineEnding::Mixed);
        if let (true, Cow::Owned(old)) = (has_returns, with_returns(old)) {
            let found = self.find(&old, edit.everywhere)?;
            if !found.hits.is_empty() {
                return self.encoded(edit, found, &with_returns(new), true);
            }
        }
        Err(no_match(self.path, &self.before.bytes(), self.charset, old, None)?)
    }

    /// The new text in the file's encoding.
    fn encoded(
        &self,
        edit: SingleEdit<'_>,
        found: FileScan,
        new: &str,
        is_adapted: bool,
    ) -> Result<PlannedEdit> {
        match (edit.everywhere, found.hits.len()) {
            (false, 2..) => return Err(ambiguous(self.path, &found)),
            (true, _) if !found.is_complete => return Err(too_many(self.path, REPLACEMENTS)),
            _ => {}
        }
        let new = self.charset.encode(new).map_err(|unmappable| {
            let (charset, new) = (self.charset.name(), self.args.new_name());
            let message = format!("the file is in {charset}, which cannot hold {unmappable} of {new}");
            ToolError::new(Reason::InvalidEncoding, message)
        })?;
        self.refuse_placeholder(edit, &found, &new)?;
        Ok(PlannedEdit { found, new: new.into_owned(), is_adapted })
    }

    /// Refuses placeholders such as "rest unchanged" in the new text.
    fn refuse_placeholder(&self, edit: SingleEdit<'_>, found: &FileScan, new: &[u8]) -> Result<()> {
        let is_smaller = |hit: &Occurrence| (new.len() as u64) < hit.range.end - hit.range.start;
        let is_smaller = found.hits.first().is_some_and(is_smaller);
        match is_smaller || edit.new.lines().count() < edit.old.lines().count() {
            true => placeholder::refuse(&self.path.display(), edit.new, |line, _| {
                Ok(edit.old.matches(line).count())
            }),
            false => Ok(()),
        }
    }

    fn find(&self, old: &str, everywhere: bool) -> Result<FileScan> {
        let (bytes, check) = (self.before.bytes(), || self.cx.check());
        let (overlap, most) = match everywhere {
            true => (Overlap::First, REPLACEMENTS),
            false => (Overlap::Each, OCCURRENCES),
        };
        match Needle::new(self.charset, old) {
            Ok(needle) => find(&bytes, self.charset, &needle, overlap, most, &check),
            Err(unmappable) => {
                self.expect(&summarize(&bytes, self.charset, &check)?)?;
                Err(no_match(self.path, &bytes, self.charset, old, Some(&unmappable))?)
            }
        }
    }

    /// Fails if the file is not the version that the caller has seen.
    fn expect(&self, found: &FileScan) -> Result<()> {
        match self.args.expected_hash.as_deref() {
            None => self.cx.seen_files.expect(self.path, || Ok(found.hash())),
            expected => expect_hash(self.path, expected, found.hash()),
        }
    }
}

/// Converts bare LF to CR LF; borrowed if there is none.
fn with_returns(text: &str) -> Cow<'_, str> {
    let bare = text.match_indices('\n').filter(|(at, _)| !text[..*at].ends_with('\r')).count();
    match bare {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
    }
}
