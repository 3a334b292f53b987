//! Entries of a directory, rendered for models.

use beamai_tool::for_model::{Fields, LINE, ModelCall, ModelPage, cut_line, name_line, quantity};
use beamai_walk::coverage::{note_left_out, note_rest};
use serde_json::json;
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
    let follows = call.skipped() + (entries.len() as u64) < count;
    let ListingPage { lines, entries: shown, left_out } = fitting(&entries, follows, call, page.room())?;
    lines.iter().for_each(|line| _ = page.line(line));
    if count == 0 {
        page.line("no entries");
    }
    let left_out = match left_out {
        0 => String::new(),
        _ => format!(", {left_out} of them left out above"),
    };
    note_rest(shown as u64, count, "entries", &left_out, call, page);
    note_left_out(result, count > 0, call, page);
    Some(())
}

/// The text of the first entries.
struct ListingPage {
    lines: Vec<String>,
    /// Number of entries, including those left out.
    entries: usize,
    /// Number of entries that a note in their directory stands for.
    left_out: usize,
}

/// As many of the first entries as fit into this many characters; `None` for entries of an unknown form. `follows`: whether
/// there are more entries than these.
fn fitting(entries: &[Fields<'_>], follows: bool, call: &ModelCall<'_>, room: usize) -> Option<ListingPage> {
    let mut most = entries.len();
    loop {
        let page = ListingTree::new(entries, most, follows, call).page()?;
        let size: usize = page.lines.iter().map(|line| cut_line(line, LINE).chars().count() + 1).sum();
        if size <= room || most <= 1 {
            return Some(page);
        }
        most = (most * room / size).clamp(1, most - 1);
    }
}

/// The entries by directory.
struct ListingTree<'a> {
    /// All entries of the result; the tree has the first ones.
    all: &'a [Fields<'a>],
    most: usize,
    /// Whether more entries follow the result.
    follows: bool,
    /// Entries whose directory is not in the tree.
    roots: Vec<Fields<'a>>,
    /// The entries of each directory.
    below: HashMap<&'a str, Vec<Fields<'a>>>,
    /// Depth of the listed directory's entries; `None` if they are on an earlier page.
    top: Option<usize>,
    call: &'a ModelCall<'a>,
}

impl<'a> ListingTree<'a> {
    fn new(all: &'a [Fields<'a>], most: usize, follows: bool, call: &'a ModelCall<'a>) -> Self {
        let entries = &all[..most];
        let paths: HashSet<&str> = entries.iter().map(|entry| path(*entry)).collect();
        let (children, roots): (Vec<_>, Vec<_>) =
            entries.iter().copied().partition(|entry| paths.contains(parent(*entry)));
        let mut below: HashMap<&str, Vec<Fields<'a>>> = HashMap::new();
        children.into_iter().for_each(|entry| below.entry(parent(entry)).or_default().push(entry));
        let is_first_page = call.skipped() == 0 || call.number("depth").unwrap_or(1) <= 1;
        let top = roots.iter().map(|entry| depth(*entry)).min().filter(|_| is_first_page);
        Self { all, most, follows, roots, below, top, call }
    }

    /// The text; `None` for entries of an unknown form. Without a limit in the call, only the first entries of large
    /// subdirectories.
    fn page(&self) -> Option<ListingPage> {
        let is_short = !self.call.has("limit");
        let (mut lines, mut shown) = (Vec::new(), Vec::new());
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
            let line = if is_rest { self.rest(parent(*entry), &shown) } else { self.named(*entry)? };
            lines.push(format!("{}{line}", " ".repeat(open.len() - 1)));
            if is_rest {
                open.pop();
                continue;
            }
            shown.push(*entry);
            open.extend(self.below.get(path(*entry)).map(|entries| entries.iter()));
        }
        Some(ListingPage { lines, entries: self.most, left_out: self.most.saturating_sub(shown.len()) })
    }

    /// The note in place of what is left out in a directory and below it, with the call that lists it.
    fn rest(&self, directory: &str, shown: &[Fields<'_>]) -> String {
        let within = |entry: &&Fields<'_>| is_within(path(**entry), directory);
        let all = self.all.iter().filter(within).count();
        let more = all.saturating_sub(shown.iter().filter(within).count());
        // Entries of it, or of directories in it, may follow the result.
        let at_least = if self.follows && !self.is_whole(directory) { "at least " } else { "" };
        let more = quantity(more as u64, "more entry", "more entries");
        let levels = self.top.map(|top| (self.levels() + top).saturating_sub(depth_of(directory) + 1));
        let depth = levels.map(|levels| ("depth", json!(levels.max(1))));
        // The call's offset counts entries of its own directory, so it means nothing in this one.
        let whole = (self.call.skipped() > 0).then(|| ("offset", json!(0)));
        let changes: Vec<_> = [("path", json!(directory))].into_iter().chain(depth).chain(whole).collect();
        match self.call.with(&changes) {
            Some(arguments) => format!("[{at_least}{more}: {arguments}]"),
            None => format!("[{at_least}{more}]"),
        }
    }

    /// Whether all entries below a directory are in the result, if more follow it.
    fn is_whole(&self, directory: &str) -> bool {
        let below = self.all.iter().filter(|entry| is_within(path(**entry), directory));
        self.precedes_rest(directory)
            && below.filter(|entry| self.is_open(**entry)).all(|entry| self.precedes_rest(path(*entry)))
    }

    /// Whether the entries of a directory come before the last one of the result.
    fn precedes_rest(&self, directory: &str) -> bool {
        let Some(last) = self.all.last() else { return false };
        let (level, last_level) = (depth_of(directory) + 1, depth(*last));
        let is_before = || !is_within(path(*last), directory) && *format!("{directory}/") < *path(*last);
        level < last_level || level == last_level && is_before()
    }

    /// Whether it is a directory whose entries the call lists.
    fn is_open(&self, entry: Fields<'_>) -> bool {
        let is_deepest = self.top.is_some_and(|top| depth(entry) + 1 == top + self.levels());
        entry.text("type") == Some("directory") && !is_deepest
    }

    /// Number of levels that the call lists.
    fn levels(&self) -> usize {
        self.call.number("depth").map_or(1, |depth| usize::try_from(depth).unwrap_or(usize::MAX / 2))
    }

    /// The entry's name, or its path if its directory is not in the list.
    fn named(&self, entry: Fields<'a>) -> Option<String> {
        let is_lost =
            self.top.is_none_or(|top| depth(entry) > top) && !self.below.contains_key(parent(entry));
        let name = name_line(entry.text(if is_lost { "path" } else { "name" })?);
        Some(match (entry.text("type"), entry.count("size")) {
            (Some("directory"), _) => format!("{name}/"),
            (Some("file"), Some(size)) if size >= LARGE => format!("{name} ({size} bytes)"),
            (Some("file"), _) => name.into_owned(),
            (Some(kind), _) => format!("{name} ({kind})"),
            (None, _) => return None,
        })
    }
}

fn path(entry: Fields<'_>) -> &str {
    entry.text("path").unwrap_or_default()
}

fn parent(entry: Fields<'_>) -> &str {
    path(entry).rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn depth(entry: Fields<'_>) -> usize {
    depth_of(path(entry))
}

fn depth_of(path: &str) -> usize {
    path.matches('/').count()
}

/// Whether a path is below a directory.
fn is_within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}
