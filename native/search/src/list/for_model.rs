//! Entries of a directory, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage, quantity};
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
    let entries = result.list("entries")?;
    let shown = ListingTree::new(result).show(!call.has("limit"), call, page)?;
    if entries.is_empty() {
        page.line("no entries");
    }
    let count = result.count("count").unwrap_or(entries.len() as u64);
    // For a subdirectory that was cut, the note is inside of it.
    if shown.is_full || (entries.len() as u64) < count {
        note_rest(shown.lines, count, "entries", shown.is_full, call, page);
    }
    note_left_out(result, !entries.is_empty(), page);
    Some(())
}

/// The entries by directory.
struct ListingTree<'a> {
    /// Entries whose directory is not in the list.
    roots: Vec<Fields<'a>>,
    /// The entries of each directory.
    below: HashMap<&'a str, Vec<Fields<'a>>>,
    /// Depth of the listed directory's entries.
    top: usize,
}

/// How much of a tree has been shown.
#[derive(Default)]
struct ShownEntries {
    lines: usize,
    is_full: bool,
}

impl<'a> ListingTree<'a> {
    fn new(result: Fields<'a>) -> Self {
        let paths: HashSet<&str> = result.objects("entries").map(path).collect();
        let (children, roots): (Vec<_>, Vec<_>) =
            result.objects("entries").partition(|entry| paths.contains(parent(*entry)));
        let mut below: HashMap<&str, Vec<Fields<'a>>> = HashMap::new();
        children.into_iter().for_each(|entry| below.entry(parent(entry)).or_default().push(entry));
        let top = roots.iter().map(|entry| depth(*entry)).min().unwrap_or(0);
        Self { roots, below, top }
    }

    /// Prints the entries; `None` for entries of an unknown form. With `is_short`, only the first entries of large
    /// subdirectories.
    fn show(&self, is_short: bool, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<ShownEntries> {
        let mut shown = ShownEntries::default();
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
            let line = if is_rest { rest(parent(*entry), all, call) } else { self.named(*entry)? };
            if !page.line(&format!("{}{line}", " ".repeat(open.len() - 1))) {
                return Some(ShownEntries { is_full: true, ..shown });
            }
            if is_rest {
                open.pop();
                continue;
            }
            shown.lines += 1;
            open.extend(self.below.get(path(*entry)).map(|entries| entries.iter()));
        }
        Some(shown)
    }

    /// The entry's name, or its path if its directory is not in the list.
    fn named(&self, entry: Fields<'a>) -> Option<String> {
        let is_lost = depth(entry) > self.top && !self.below.contains_key(parent(entry));
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
    match call.with(&[("path", json!(directory)), ("depth", json!(1))]) {
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
