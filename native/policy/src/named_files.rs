//! The files that the words of a command name, as rules see them.

use super::lifted_paths::LiftedPaths;
use super::words::Certainty;
use beamai_bash_reader::{CharClass, Word, fits};
use beamai_path_rules::{PathRoots, PathRule, is_outside};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Number of characters of an argument after which it has no short option any more.
const MOST_OPTIONS: usize = 16;

/// What programs put around the name of a file.
const MARKS: [char; 6] = ['<', '>', '+', '|', '"', '\''];

/// A name that only wildcards match.
const ANY_NAME: &str = "\u{1}";

/// Number of entries of directories that the wildcards of a command are compared with.
const MOST_ENTRIES: usize = 20_000;

/// Number of comparisons of a word with a rule, for a command.
const MOST_COMPARISONS: usize = 200_000;

/// Time for the comparisons of a command, in which the call can neither be cancelled nor end.
const LONGEST: Duration = Duration::from_secs(2);

/// Length of a pattern after which it is not compared: no path of Linux has half as many characters (`PATH_MAX`).
const MOST_GLYPHS: usize = 8_192;

/// A rule about files, and what lifts it if it denies.
#[derive(Clone, Copy)]
pub(super) struct FileRule<'r> {
    pub(super) pattern: &'r PathRule,
    pub(super) to_write: bool,
    pub(super) lifted: Option<&'r LiftedPaths>,
    /// Whether a directory counts as all that is in it (`cp x src` for `src/**`).
    pub(super) has_directories: bool,
}

impl FileRule<'_> {
    pub(super) fn matches(&self, path: &Path, roots: &PathRoots) -> bool {
        let is_lifted = |lifted: &LiftedPaths| lifted.lifts(self.pattern, path, self.to_write, roots);
        let is_meant = |path: &Path| self.pattern.matches(path, roots);
        (is_meant(path) || self.has_directories && is_meant(&path.join(ANY_NAME)))
            && !self.lifted.is_some_and(is_lifted)
    }
}

/// What words mean in the directories that a command may run in.
pub(super) struct NamedFiles<'a> {
    roots: &'a PathRoots,
    /// `None` if one of them is unknown.
    directories: Option<&'a [PathBuf]>,
    seen: &'a SeenFiles,
}

type FoundFiles = Option<Rc<[PathBuf]>>;

/// What was looked up for a command, and how many more look-ups are allowed. Each word may be compared with each rule,
/// and nothing else limits how many comparisons that is.
pub(super) struct SeenFiles {
    since: Instant,
    entries: Cell<usize>,
    comparisons: Cell<usize>,
    /// Where paths from a directory lead.
    led: RefCell<HashMap<(PathBuf, PathBuf), PathBuf>>,
    /// Where the files that a pattern matches from a directory lead, if that is elsewhere. `None` if there is too much
    /// to look through.
    elsewhere: RefCell<HashMap<(PathBuf, Vec<CharClass>), FoundFiles>>,
}

impl Default for SeenFiles {
    fn default() -> Self {
        Self {
            since: Instant::now(),
            entries: Cell::new(MOST_ENTRIES),
            comparisons: Cell::new(MOST_COMPARISONS),
            led: RefCell::default(),
            elsewhere: RefCell::default(),
        }
    }
}

impl SeenFiles {
    /// Whether no more may be compared.
    pub(super) fn is_over(&self) -> bool {
        self.comparisons.get() == 0 || self.since.elapsed() > LONGEST
    }
}

/// Uses up one; false if there is none.
fn take(left: &Cell<usize>) -> bool {
    let next = left.get().checked_sub(1);
    next.is_some_and(|next| {
        left.set(next);
        true
    })
}

/// What a word is looked up by.
type WordKey = (Vec<CharClass>, Option<String>);

/// The words of a command that name files which one rule matches. A word that comes again, as behind each wrapper, is
/// looked up once.
pub(super) struct MatchedWords<'a> {
    pub(super) files: NamedFiles<'a>,
    pub(super) rule: FileRule<'a>,
    known: RefCell<HashMap<WordKey, Certainty>>,
}

impl<'a> MatchedWords<'a> {
    pub(super) fn new(files: NamedFiles<'a>, rule: FileRule<'a>) -> Self {
        Self { files, rule, known: RefCell::default() }
    }

    /// Whether a word names such a file. After too many comparisons, any word may.
    pub(super) fn denotes(&self, word: &Word) -> Certainty {
        if self.files.seen.is_over() {
            return Certainty::Maybe;
        }
        let key = (word.glyphs().to_vec(), word.text().is_none().then(|| word.unmatched()).flatten());
        let known = self.known.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            take(&self.files.seen.comparisons);
            let found = self.files.denotes(word, self.rule);
            self.known.borrow_mut().insert(key, found);
            found
        })
    }
}

impl<'a> NamedFiles<'a> {
    pub(super) fn new(roots: &'a PathRoots, directories: Option<&'a [PathBuf]>, seen: &'a SeenFiles) -> Self {
        Self { roots, directories, seen }
    }

    /// Where a path from a directory leads.
    fn leads(&self, directory: &Path, path: &str) -> PathBuf {
        let mut led = self.seen.led.borrow_mut();
        let found = led.entry((directory.to_owned(), path.into()));
        found.or_insert_with(|| self.roots.leads(directory, path)).clone()
    }

    /// Whether a word names a file that a rule matches.
    fn denotes(&self, word: &Word, rule: FileRule<'_>) -> Certainty {
        let possible = || if self.may_denote(word, rule) { Certainty::Maybe } else { Certainty::No };
        let Some(text) = word.text().filter(|text| !is_beneath_descriptor(text)) else { return possible() };
        let roots = self.roots;
        let matches = |directory: &Path, text: &str| {
            let text = of_process(text);
            rule.matches(&roots.meant(directory, &*text), roots)
                || rule.matches(&self.leads(directory, &text), roots)
        };
        let means = |text: &str| match self.directories {
            Some(directories) => directories.iter().any(|directory| matches(directory, text)),
            None => false,
        };
        // Some programs expand a tilde themselves.
        let in_home = |text: &str| match (text.strip_prefix("~/"), roots.tilde()) {
            (Some(rest), Some(home)) => matches(Path::new(home), rest),
            _ => false,
        };
        if names(&text).into_iter().any(|text| means(text) || in_home(text)) {
            return Certainty::Surely;
        }
        if self.directories.is_none() { possible() } else { Certainty::No }
    }

    /// Whether a partly known word can name a file that a rule matches, in any of the directories. An expansion can
    /// lead anywhere, also out of the directory before it.
    fn may_denote(&self, word: &Word, rule: FileRule<'_>) -> bool {
        let mut glyphs = word.glyphs().to_vec();
        glyphs.dedup_by(|one, other| *one == CharClass::Name && one == other);
        glyphs.contains(&CharClass::Any) || glyphs.len() > MOST_GLYPHS || {
            let glyphs = without_hidden(&glyphs);
            self.may_match(&glyphs, rule.pattern) || self.leads_to(&glyphs, word, rule)
        }
    }

    /// Whether what wildcards match now leads to a file that a rule matches. Those that match nothing stay as they are,
    /// and may be the name of a link.
    fn leads_to(&self, glyphs: &[CharClass], word: &Word, rule: FileRule<'_>) -> bool {
        let roots = self.roots;
        let unmatched = word.unmatched().unwrap_or_default();
        self.directories.into_iter().flatten().any(|directory| {
            let files = self.elsewhere(directory, glyphs);
            files.is_none_or(|files| files.iter().any(|file| rule.matches(file, roots)))
                || names(&unmatched).into_iter().any(|name| rule.matches(&self.leads(directory, name), roots))
        })
    }

    /// Where the files that a pattern of bash matches from a directory lead, if that is elsewhere: their own names are
    /// compared without looking. `None` if there is too much to look through.
    fn elsewhere(&self, directory: &Path, glyphs: &[CharClass]) -> FoundFiles {
        let key = (directory.to_owned(), glyphs.to_vec());
        if let Some(known) = self.seen.elsewhere.borrow().get(&key) {
            return known.clone();
        }
        let top = self.roots.top().unwrap_or_else(|| "/".into());
        let led = |file: &PathBuf| {
            let end = self.roots.leads(Path::new(""), file);
            (end != self.roots.meant(Path::new(""), file)).then_some(end)
        };
        let found = self.matched(&top.join(directory), glyphs);
        let found: FoundFiles = found.map(|files| files.iter().filter_map(led).collect());
        self.seen.elsewhere.borrow_mut().insert(key, found.clone());
        found
    }

    /// Whether a pattern of bash can match such a file.
    fn may_match(&self, glyphs: &[CharClass], pattern: &PathRule) -> bool {
        let (above, rest) = known_directory(glyphs);
        let roots = self.roots;
        let anywhere = [&[CharClass::Any, CharClass::Is('/')], &rest[..]].concat();
        let below = |directory: &PathBuf| {
            let directories = [roots.meant(directory, &above), self.leads(directory, &above)];
            // A rule may be absolute.
            let absolute =
                directories.iter().flat_map(|directory| roots.tops().map(move |top| top.join(directory)));
            directories.iter().cloned().chain(absolute).any(|directory| {
                let way = directory.join("").to_string_lossy().into_owned();
                let way = way.chars().map(CharClass::Is);
                // A wildcard beyond the workspace can match the directories that lead to it.
                is_outside(&directory)
                    && !roots.tops().any(|top| directory.starts_with(top))
                    && pattern.may_match(&anywhere)
                    || pattern.may_match(&way.chain(rest.iter().copied()).collect::<Vec<_>>())
            })
        };
        match self.directories {
            _ if leaves(&rest) => true,
            // It leads wherever a process is, or a descriptor.
            _ if ["/proc", "/dev"].iter().any(|top| Path::new(&above).starts_with(top)) => {
                let name = rest.rsplit(|glyph| *glyph == CharClass::Is('/')).next().unwrap_or_default();
                pattern.may_match(&[&[CharClass::Any, CharClass::Is('/')], name].concat())
            }
            Some(directories) => directories.iter().any(below),
            None => {
                leaves(glyphs) || pattern.may_match(&[&[CharClass::Any, CharClass::Is('/')], glyphs].concat())
            }
        }
    }

    /// The paths that a text can mean; `None` if one of them is outside the workspace or unknown.
    pub(super) fn paths(&self, text: &str) -> Option<Vec<PathBuf>> {
        let roots = self.roots;
        let mut paths = Vec::new();
        for directory in self.directories? {
            paths.extend([roots.meant(directory, text), roots.leads(directory, text)]);
        }
        (!paths.iter().any(|path| is_outside(path))).then_some(paths)
    }

    /// The files that a pattern of bash matches from a directory; `None` if there is too much to look through.
    fn matched(&self, directory: &Path, glyphs: &[CharClass]) -> Option<Vec<PathBuf>> {
        let start = if glyphs.first() == Some(&CharClass::Is('/')) { Path::new("/") } else { directory };
        let mut found = vec![start.to_owned()];
        for name in glyphs.split(|glyph| *glyph == CharClass::Is('/')).filter(|name| !name.is_empty()) {
            let literal: Option<String> = name
                .iter()
                .map(|glyph| if let CharClass::Is(char) = glyph { Some(*char) } else { None })
                .collect();
            if let Some(name) = literal {
                found.iter_mut().for_each(|path| path.push(&*name));
                continue;
            }
            let mut next = Vec::new();
            for entry in found.iter().filter_map(|path| std::fs::read_dir(path).ok()).flatten().flatten() {
                take(&self.seen.entries).then_some(())?;
                let text = entry.file_name();
                if fits(name, &text.to_string_lossy()) {
                    next.push(entry.path());
                }
            }
            found = next;
        }
        Some(found)
    }
}

/// The path of any file in the directory that a partly known word begins with; without one, in the directory of the command.
pub(super) fn any_in_directory(word: &Word) -> String {
    let (directory, _) = known_directory(&word.glyphs());
    directory + ANY_NAME
}

/// The directory that a partly known word begins with, as far as it is known, and the rest of the word.
fn known_directory(glyphs: &[CharClass]) -> (String, Vec<CharClass>) {
    let known: String = glyphs
        .iter()
        .map_while(|glyph| if let CharClass::Is(char) = glyph { Some(*char) } else { None })
        .collect();
    let directory = known.rfind('/').map_or("", |at| &known[..=at]).to_owned();
    // Empty names and "." lead nowhere.
    let rest = glyphs[directory.chars().count()..].split(|glyph| *glyph == CharClass::Is('/'));
    let rest: Vec<_> = rest.filter(|name| !matches!(name, [] | [CharClass::Is('.')])).collect();
    (directory, rest.join(&CharClass::Is('/')))
}

/// Whether a path with a part that is not known has the name `..`.
fn leaves(glyphs: &[CharClass]) -> bool {
    glyphs.split(|glyph| *glyph == CharClass::Is('/')).any(|name| name == [CharClass::Is('.'); 2])
}

/// Whether a path leads through a descriptor to a directory, which is not known.
fn is_beneath_descriptor(text: &str) -> bool {
    let names: Vec<&str> = text.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let is_back = matches!(names[..], ["dev" | "proc", ..]) && names.contains(&"..");
    let is_below = is_back
        || matches!(
            names[..],
            ["dev", "fd", _, _, ..]
                | ["dev", "stdin" | "stdout" | "stderr", _, ..]
                | ["proc", _, "fd", _, _, ..]
                | ["proc", _, "task", ..]
        );
    is_below && text.starts_with('/')
}

/// The path for the process's own directories in `/proc`: as it is from the current directory, or from the top.
fn of_process(text: &str) -> Cow<'_, str> {
    let names: Vec<&str> = text.splitn(5, '/').collect();
    match names[..] {
        ["", "proc", _, "cwd"] => ".".into(),
        ["", "proc", _, "cwd", rest] => format!("./{rest}").into(),
        ["", "proc", _, "root", rest] => format!("/{rest}").into(),
        _ => text.into(),
    }
}

/// A pattern of bash, whose wildcards match no dot at the beginning of a name.
fn without_hidden(glyphs: &[CharClass]) -> Vec<CharClass> {
    let mut last = CharClass::Is('/');
    let mut pattern = Vec::with_capacity(glyphs.len());
    for glyph in glyphs {
        pattern.extend((last == CharClass::Is('/') && *glyph == CharClass::Name).then_some(CharClass::NoDot));
        pattern.push(*glyph);
        last = *glyph;
    }
    pattern
}

/// The texts within an argument that can be file names: the whole argument, and the rest after `=`, `:`, `@` or short
/// options (`-o.env`, `-uo.env`), also without what programs put around a name (`x=<.env`, `x=".env";type=y`, `+.env`).
fn names(text: &str) -> Vec<&str> {
    let mut names = vec![text];
    names.extend(text.match_indices(['=', ':', '@', ',']).take(16).map(|(at, _)| &text[at + 1..]));
    if text.starts_with('-') && !text.starts_with("--") {
        names.extend(text.char_indices().take(MOST_OPTIONS).skip(2).map(|(at, _)| &text[at..]));
    }
    let further: Vec<&str> = names
        .iter()
        .flat_map(|name| {
            let is_mark = |char: char| char.is_whitespace() || MARKS.contains(&char);
            let bare = name.split(';').next().unwrap_or_default().trim_matches(is_mark);
            // The path of an address with a host, as in `file://localhost/x`.
            let path = name.strip_prefix("//").and_then(|rest| Some(&rest[rest.find('/')?..]));
            [Some(bare), path]
        })
        .flatten()
        .collect();
    names.extend(further);
    names.retain(|name| !name.is_empty());
    names
}
