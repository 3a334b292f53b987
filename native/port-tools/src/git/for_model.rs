//! Renders results of the git tools for models.

use super::log_entry;
use beamai_tool::for_model::{Fields, LINE, ModelCall, ModelPage, cut_line, name_line, quantity};
use serde_json::json;
use std::borrow::Cow;

/// The last line of a text that the tool itself has cut.
const CUT: &str = "[output truncated]\n";
/// Number of files of a diff that are named if they are not shown.
const NAMED: usize = 10;
/// Maximum number of staged files of a directory that are named.
const PER_LINE: usize = 6;

/// The text as the git program prints it, cut to the limit, with the call that continues.
pub(super) fn printed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (content, is_cut) = content(result)?;
    let is_diff = call.takes("staged");
    let (shown, total) = if is_diff { diff(content, call, page) } else { page.lines(content) };
    let skipped = call.skipped();
    if page.is_empty() {
        page.line(match (is_diff, skipped) {
            (_, 1..) => "no more lines",
            (true, 0) => "no changes",
            (false, 0) => "(nothing)",
        });
    }
    if shown < total || is_cut {
        let end = skipped + shown;
        let of = if is_cut { String::new() } else { format!(" of {}", skipped + total) };
        let next = call.skipping(end).map_or(String::new(), |next| format!("; continue with {next}"));
        page.note(&format!("lines {} to {end}{of}{next}", skipped + 1));
        let shown = usize::try_from(shown).unwrap_or(usize::MAX);
        note_files(content.lines().skip(shown), call, page);
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}

/// Shows the lines of a diff; returns how many fit and how many there are. The length of a cut line is that of the file's
/// line, without the sign before it, and for the first one of the files as they are, the call that reads on is noted.
fn diff(content: &str, call: &ModelCall<'_>, page: &mut ModelPage) -> (u64, u64) {
    let mut place = DiffPlace::default();
    let (mut shown, mut first_cut) = (0, None);
    let mut lines = content.lines().peekable();
    while let Some(line) = lines.next() {
        let number = place.follow(line);
        if place.next.is_none() && says_nothing(line, lines.peek().copied()) {
            shown += 1;
            continue;
        }
        let text = line.get(1..).filter(|text| line.starts_with([' ', '+', '-']) && text.len() > LINE);
        let fits = match text {
            Some(text) => page.whole_line(&format!("{}{}", &line[..1], cut_line(text, LINE))),
            None => page.line(line),
        };
        if !fits {
            break;
        }
        shown += 1;
        let is_cut = text.is_some_and(|text| text.chars().nth(LINE).is_some());
        first_cut = first_cut.or_else(|| Some((place.file?, number?)).filter(|_| is_cut));
    }
    // A staged line need not be in the file, so no call that reads the file can show the rest of it.
    let more = first_cut.filter(|_| !call.flag("staged"));
    if let Some(more) = more.and_then(|(file, number)| call.reading_line(file, number, LINE as u64 + 1)) {
        page.note(&format!("more of the first cut line: {more}"));
    }
    (shown, content.lines().count() as u64)
}

/// Whether a line before the hunks of a file says nothing to a model: the hashes, and the names where those with `---` and
/// `+++` follow.
fn says_nothing(line: &str, next: Option<&str>) -> bool {
    line.starts_with("index ") || line.starts_with("diff --git ") && next.is_some_and(is_of_contents)
}

/// Whether the hashes of a line are followed by a mode, which only changes of contents alone have.
fn is_of_contents(line: &str) -> bool {
    line.strip_prefix("index ").is_some_and(|hashes| hashes.contains(' '))
}

/// The place in the new file of a line of a diff.
#[derive(Default)]
struct DiffPlace<'a> {
    file: Option<&'a str>,
    /// The number of the next line; `None` outside of hunks.
    next: Option<u64>,
}

impl<'a> DiffPlace<'a> {
    /// Goes to the next line of the diff; returns its number in the new file, if it is in it.
    fn follow(&mut self, line: &'a str) -> Option<u64> {
        if let Some(hunk) = line.strip_prefix("@@ -") {
            let start = hunk.split_once(" +").and_then(|(_, new)| new.split([',', ' ']).next());
            self.next = start.and_then(|start| start.parse().ok());
        } else if self.next.is_none() && line.starts_with("+++ ") {
            self.file = line.strip_prefix("+++ b/");
        } else if line.starts_with("diff --git ") {
            *self = Self::default();
        } else if line.starts_with([' ', '+']) {
            let number = self.next?;
            self.next = Some(number + 1);
            return Some(number);
        }
        None
    }
}

/// The text without the mark that it was cut, and whether it was.
fn content<'a>(result: Fields<'a>) -> Option<(&'a str, bool)> {
    let content = result.text("content")?;
    let is_cut = result.flag("truncated");
    Some((content.strip_suffix(CUT).filter(|_| is_cut).unwrap_or(content).trim_end(), is_cut))
}

/// Names the files of the lines of a diff that are not shown.
fn note_files<'a>(rest: impl Iterator<Item = &'a str>, call: &ModelCall<'_>, page: &mut ModelPage) {
    if !call.takes("path") || call.has("path") {
        return;
    }
    let name = |line: &'a str| line.strip_prefix("diff --git ")?.split_once(" b/").map(|(_, name)| name);
    let names: Vec<&str> = rest.filter_map(name).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    if !names.is_empty() {
        page.note(&format!(
            "\"path\" shows one alone; not shown: {}{more}",
            names[..names.len().min(NAMED)].join(", ")
        ));
    }
}

/// The line that git prints, with the number of files and lines.
pub(super) fn committed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let Some(files) = result.count("files") else { return printed(result, call, page) };
    let files = quantity(files, "file", "files");
    let lines = result.count("additions").zip(result.count("deletions"));
    let lines = lines.map(|(added, deleted)| format!(", +{added} -{deleted}")).unwrap_or_default();
    page.line(&format!("{}, {files}{lines}", result.text("content")?.trim_end()));
    Some(())
}

/// Whole commits with the call for the older ones: as `git log --oneline` prints them, or each with its date and author
/// in one line and the rest of its message.
pub(super) fn logged(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (content, is_cut) = content(result)?;
    let lines: Vec<&str> = content.lines().collect();
    let commits: Vec<Vec<Cow<'_, str>>> = match call.flag("oneline") {
        true => lines.chunks(1).map(unchanged).collect(),
        false => lines.chunk_by(|_, next| !is_commit(next)).map(log_entry::shortened).collect(),
    };
    // The last one may not be whole.
    let whole = if is_cut && commits.len() > 1 { &commits[..commits.len() - 1] } else { &commits[..] };
    let fits = |commit: &&Vec<Cow<'_, str>>| {
        let size: usize = commit.iter().map(|line| cut_line(line, LINE).chars().count() + 1).sum();
        let fits = size <= page.room();
        fits && commit.iter().all(|line| page.line(line))
    };
    let mut shown = whole.iter().take_while(fits).count();
    if shown == 0
        && let Some(first) = whole.first()
    {
        let (count, total) = page.lines(&first.join("\n"));
        shown = 1;
        if count < total || is_cut && commits.len() == 1 {
            page.note("the commit's message is cut");
        }
    }
    if page.is_empty() {
        page.line(if call.has("skip") { "no more commits" } else { "(nothing)" });
    }
    if shown < commits.len() || result.flag("has_more") {
        let skip = call.number("skip").unwrap_or(0) + shown as u64;
        let next = call.with(&[("skip", json!(skip))]);
        let next = next.map_or(String::new(), |next| format!("; continue with {next}"));
        page.note(&format!("older commits follow{next}"));
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}

/// Whether a commit begins with this line. Lines of messages are indented.
fn is_commit(line: &str) -> bool {
    line.strip_prefix("commit ")
        .is_some_and(|hash| hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The staged files, those of a directory on one line.
pub(super) fn added(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let files: Vec<&str> = result.list("files").map(|_| result.texts("files").collect())?;
    let is_named = |file: &&str| call.argument(&["path"]) == Some(*file);
    let mut shown = files.len();
    match files.as_slice() {
        _ if !result.flag("ok") => {}
        // The notes say why.
        [] if result.texts("notes").next().is_some() => _ = page.line("nothing was staged"),
        [] => _ = page.line("nothing changed: it is staged already"),
        [file] if is_named(file) => _ = page.line("staged"),
        _ => {
            page.line(
                match result.flag("truncated") {
                    true => "staged:".to_owned(),
                    false => format!("staged {}:", quantity(files.len() as u64, "file", "files")),
                }
                .as_str(),
            );
            let groups = files.chunk_by(|a, b| directory(a) == directory(b));
            shown = groups.take_while(|group| page.line(&in_directory(group))).map(<[_]>::len).sum();
        }
    }
    if shown < files.len() || result.flag("truncated") {
        page.note(&format!("{shown} files are listed; the others were staged too"));
    }
    result.texts("notes").for_each(|note| page.note(note));
    Some(())
}

/// The path of a file's directory with a slash at its end; empty for the workspace.
fn directory(file: &str) -> &str {
    &file[..file.rfind('/').map_or(0, |at| at + 1)]
}

/// Files of one directory: `src/: a.rs, b.rs`.
fn in_directory(files: &[&str]) -> String {
    let directory = files.first().map_or("", |file| directory(file));
    match files {
        [file] => name_line(file).into_owned(),
        _ => {
            let named = files.iter().take(PER_LINE).map(|file| name_line(&file[directory.len()..]));
            let names: Vec<Cow<'_, str>> = named.collect();
            let before =
                if directory.is_empty() { String::new() } else { format!("{}: ", name_line(directory)) };
            let more = match files.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{before}{}{more}", names.join(", "))
        }
    }
}

fn unchanged<'a>(lines: &[&'a str]) -> Vec<Cow<'a, str>> {
    lines.iter().map(|line| Cow::Borrowed(*line)).collect()
}
