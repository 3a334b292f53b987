//! Entries of a directory, rendered for models.

use beamai_tool::for_model::{Fields, LINE, ModelCall, ModelPage, cut_line, quantity};
use beamai_walk::coverage::{note_left_out, note_rest};
use serde_json::json;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Files from this size on, in bytes, are shown with their size: they take more than one call to read.
const LARGE: u64 = 100_000;
/// Subdirectories with up to this many entries are shown completely if the call has no limit.
const ALL: usize = 30;
/// Number of entries shown of larger subdirectories.
const FIRST: usize = 10;

/// One name per line; directories end in "/". If subdirectories are listed too, their entries follow them, each level
/// indented by one space, and of those with many entries only the first ones are shown unless the call has a limit.
pub(super) fn listed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    result.list("entries")?;
    let mut entries: Vec<Fields<'_>> = result.objects("entries").collect();
    let count = result.count("count").unwrap_or(entries.len() as u64);
    // The order that offset and limit count in, so that what is shown ends where the next call begins.
    entries.sort_by_key(|entry| (depth(*entry), path(*entry)));
    let (lines, shown) = fitting(&entries, call, page.room())?;
    lines.iter().for_each(|line| _ = page.line(line));
    if count == 0 {
        page.line("no entries");
    }
    // For a subdirectory of which only the first entries are shown, the note is inside of it.
    note_rest(shown as u64, count, "entries", "", call, page);
    note_left_out(result, count > 0, call, page);
    Some(())
}

/// The lines of as many of the first entries as fit into this many characters, and the number of those entries; `None` for
/// entries of an unknown form.
fn fitting(entries: &[Fields<'_>], call: &ModelCall<'_>, room: usize) -> Option<(Vec<String>, usize)> {
    let mut most = entries.len();
    loop {
        let lines = ListingTree::new(&entries[..most], call).lines()?;
        let size: usize = lines.iter().map(|line| cut_line(line, LINE).chars().count() + 1).sum();
        if size <= room || most <= 1 {
            return Some((lines, most));
        }
        most = (most * room / size).clamp(1, most - 1);
    }
}

/// The entries by directory.
struct ListingTree<'a> {
    /// Entries whose directory is not in the list.
    roots: Vec<Fields<'a>>,
    /// The entries of each directory.
    below: HashMap<&'a str, Vec<Fields<'a>>>,
    /// Depth of the listed directory's entries; `None` if they are on an earlier page.
    top: Option<usize>,
    call: &'a ModelCall<'a>,
}

impl<'a> ListingTree<'a> {
    fn new(entries: &[Fields<'a>], call: &'a ModelCall<'a>) -> Self {
        let paths: HashSet<&str> = entries.iter().map(|entry| path(*entry)).collect();
        let (children, roots): (Vec<_>, Vec<_>) =
            entries.iter().copied().partition(|entry| paths.contains(parent(*entry)));
        let mut below: HashMap<&str, Vec<Fields<'a>>> = HashMap::new();
        children.into_iter().for_each(|entry| below.entry(parent(entry)).or_default().push(entry));
        let is_first_page = call.skipped() == 0 || call.number("depth").unwrap_or(1) <= 1;
        let top = roots.iter().map(|entry| depth(*entry)).min().filter(|_| is_first_page);
        Self { roots, below, top, call }
    }

    /// The lines; `None` for entries of an unknown form. Without a limit in the call, only the first entries of large
    /// subdirectories.
    fn lines(&self) -> Option<Vec<String>> {
        let is_short = !self.call.has("limit");
        let mut lines = Vec::new();
        let mut open = vec![self.roots.iter()];
        while let Some(entries) = open.last_mut() {
            let Some(entry) = entries.next() else {
                open.pop();
                continue;
            };
            let all = entries.as_slice().len() + 1;
            let directory = self.below.get(parent(*entry)).filter(|_| is_short && open.len() > 1);
            let is_rest =
                directory.is_some_and(|entries| entries.len() > ALL && all + FIRST == entries.len());
            let line = if is_rest { rest(parent(*entry), all, self.call) } else { self.named(*entry)? };
            lines.push(format!("{}{line}", " ".repeat(open.len() - 1)));
            match is_rest {
                true => _ = open.pop(),
                false => open.extend(self.below.get(path(*entry)).map(|entries| entries.iter())),
            }
        }
        Some(lines)
    }

    /// The entry's name, or its path if its directory is not in the list.
    fn named(&self, entry: Fields<'a>) -> Option<String> {
        let is_lost =
            self.top.is_none_or(|top| depth(entry) > top) && !self.below.contains_key(parent(entry));
        let name = unmistakable(entry.text(if is_lost { "path" } else { "name" })?);
        Some(match (entry.text("type"), entry.count("size")) {
            (Some("directory"), _) => format!("{name}/"),
            (Some("file"), Some(size)) if size >= LARGE => format!("{name} ({size} bytes)"),
            (Some("file"), _) => name.into_owned(),
            (Some(kind), _) => format!("{name} ({kind})"),
            (None, _) => return None,
        })
    }
}

/// The note in place of a directory's remaining entries, with the call that lists them.
fn rest(directory: &str, more: usize, call: &ModelCall<'_>) -> String {
    let more = quantity(more as u64, "more entry", "more entries");
    // What the call skips is of its own directory.
    let whole = (call.skipped() > 0).then(|| ("offset", json!(0)));
    let changes: Vec<_> =
        [("path", json!(directory)), ("depth", json!(1))].into_iter().chain(whole).collect();
    match call.with(&changes) {
        Some(arguments) => format!("[{more}: {arguments}]"),
        None => format!("[{more}]"),
    }
}

fn path(entry: Fields<'_>) -> &str {
    entry.text("path").unwrap_or_default()
}

fn parent(entry: Fields<'_>) -> &str {
    path(entry).rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn depth(entry: Fields<'_>) -> usize {
    path(entry).matches('/').count()
}

/// The name, quoted if it would be ambiguous.
fn unmistakable(name: &str) -> Cow<'_, str> {
    match name.starts_with([' ', '[', '"']) || name.chars().any(char::is_control) {
        true => json!(name).to_string().into(),
        false => name.into(),
    }
}
