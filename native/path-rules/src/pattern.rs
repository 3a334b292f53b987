//! One alternative of a pattern of paths: a list of names, some with wildcards.
//!
//! A pattern without a slash matches at any depth; one with a slash is relative to the workspace; `/…` is absolute and
//! `~/…` is in the home directory. A pattern that matches a directory matches everything in it.

use super::roots::PathRoots;
use beamai_base::PathWay;
use beamai_bash_reader::CharClass;
use beamai_workspace::escaped_byte;
use globset::{GlobBuilder, GlobMatcher};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Number of directories above the end of a partly known path that are compared. A longer one may match.
const MOST_STARTS: usize = 64;

/// A compiled alternative.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    anchor: PatternAnchor,
    names: Vec<NamePattern>,
    /// The pattern's characters, for comparison with partly known texts.
    loose: Vec<CharClass>,
}

/// Where the names of a pattern begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternAnchor {
    /// At any depth, outside of the workspace, too.
    Nowhere,
    Workspace,
    Root,
}

/// What a name in a path has to be.
#[derive(Debug, Clone)]
enum NamePattern {
    /// `**`: any number of names.
    Depth,
    /// `*`: any name.
    Any,
    /// This name.
    Name(OsString),
    Wild(Vec<WildByte>),
    /// A name with character classes.
    Glob(GlobMatcher),
}

/// A byte of a name with wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WildByte {
    /// `*`: any number of bytes.
    Any,
    /// `?`.
    One,
    Byte(u8),
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Depth, Self::Depth) | (Self::Any, Self::Any) => true,
            (Self::Name(one), Self::Name(other)) => one == other,
            (Self::Wild(one), Self::Wild(other)) => one == other,
            (Self::Glob(one), Self::Glob(other)) => one.glob() == other.glob(),
            _ => false,
        }
    }
}

/// Two alternatives are equal if they match the same paths.
impl PartialEq for PathPattern {
    fn eq(&self, other: &Self) -> bool {
        (self.anchor, &self.names) == (other.anchor, &other.names)
    }
}

impl PathPattern {
    /// # Errors
    /// The problem, as the end of a sentence.
    pub(super) fn new(text: &str, roots: &PathRoots) -> Result<Self, String> {
        let in_home = text.strip_prefix("~/").or((text == "~").then_some(""));
        let (above, body) = match in_home {
            Some(rest) => (Some(roots.home().ok_or("there is no home directory for ~ to mean")?), rest),
            None => (None, text),
        };
        // Empty names and "." lead nowhere.
        let texts = || body.split('/').filter(|name| !matches!(*name, "" | "." | "\\."));
        let given = texts().map(NamePattern::new).collect::<Result<Vec<_>, _>>()?;
        let is_deep = text == "**" || text.starts_with("**/");
        let anchor = match (above, given.len()) {
            (Some(_), _) => PatternAnchor::Root,
            _ if text.starts_with('/') => PatternAnchor::Root,
            (None, 2..) if !is_deep => PatternAnchor::Workspace,
            // Without a name, it is the workspace itself.
            (None, 0) => PatternAnchor::Workspace,
            (None, _) if text.starts_with("./") => PatternAnchor::Workspace,
            (None, _) => PatternAnchor::Nowhere,
        };
        let anywhere = (anchor == PatternAnchor::Nowhere).then_some(NamePattern::Depth);
        let home = above.into_iter().flat_map(names_of).map(|name| NamePattern::Name(name.to_owned()));
        let mut names: Vec<NamePattern> = anywhere.into_iter().chain(home).chain(given).collect();
        names.dedup_by(|a, b| matches!((a, b), (NamePattern::Depth, NamePattern::Depth)));
        let start = match anchor {
            PatternAnchor::Root => format!("{}/", above.unwrap_or(Path::new("")).to_string_lossy()),
            _ => String::new(),
        };
        Ok(Self { anchor, names, loose: loose(&(start + &texts().collect::<Vec<_>>().join("/"))) })
    }

    /// The pattern for what it leads to now, if its literal path leads through links. A link in the workspace to what
    /// every command needs counts for nothing.
    pub(super) fn followed(&self, roots: &PathRoots) -> Option<Self> {
        let (literal, rest) = self.split();
        let top = roots.top()?;
        let way = PathWay::leading_elsewhere(&top.join(literal))?;
        let above = names_of(&way.end).map(|name| NamePattern::Name(name.to_owned()));
        let names = above.chain(rest.iter().cloned()).collect();
        let mut loose = loose(&way.end.to_string_lossy());
        loose
            .extend((!rest.is_empty()).then_some([CharClass::Is('/'), CharClass::Any]).into_iter().flatten());
        let followed = Self { anchor: PatternAnchor::Root, names, loose };
        let is_made_here = way.links().any(|link| link.starts_with(&top));
        let is_narrow = top.starts_with(&way.end) && !followed.covers(Path::new("."), roots);
        // A rule reaches into a repository only if it names it.
        let is_foreign = way.is_in_repository() && !self.names_repository();
        (!is_made_here || is_narrow || !(is_foreign || way.is_needed_by_commands(&top))).then_some(followed)
    }

    /// The names before the first wildcard, as a path that is absolute or relative to the workspace, and the rest. A pattern
    /// for any depth names a path in the top directory, too.
    fn split(&self) -> (PathBuf, &[NamePattern]) {
        let all = match &self.names[..] {
            [NamePattern::Depth, all @ ..] if self.anchor == PatternAnchor::Nowhere => all,
            all => all,
        };
        let literal = all.iter().map_while(|name| match name {
            NamePattern::Name(name) => Some(name),
            _ => None,
        });
        let start = PathBuf::from(if self.anchor == PatternAnchor::Root { "/" } else { "" });
        let literal: PathBuf = literal.fold(start, |path, name| path.join(name));
        let rest = &all[names_of(&literal).count()..];
        (literal, rest)
    }

    /// Whether anything beneath a directory can match. Relative patterns can match anywhere in the workspace.
    pub(super) fn may_be_in(&self, directory: &Path) -> bool {
        let (literal, _) = self.split();
        self.anchor != PatternAnchor::Root
            || directory.starts_with(&literal)
            || literal.starts_with(directory)
    }

    /// Whether one of its names is `.git`, perhaps with wildcards in it.
    pub(super) fn names_repository(&self) -> bool {
        let is_git = |name: &NamePattern| match name {
            NamePattern::Depth | NamePattern::Any => false,
            name => name.fits(OsStr::new(".git")),
        };
        self.names.iter().any(is_git)
    }

    /// The absolute path that the pattern names; without a slash, in the top directory of the workspace. `None` for a
    /// pattern with wildcards, for the workspace itself, and for `/`.
    pub(super) fn place(&self, roots: &PathRoots) -> Option<PathBuf> {
        let (literal, rest) = self.split();
        // `dir/**` means the same as `dir`.
        let rest = if let [rest @ .., NamePattern::Any] = rest { rest } else { rest };
        let is_all = rest.iter().all(|name| matches!(name, NamePattern::Depth));
        let top = roots.top().filter(|_| is_all && names_of(&literal).next().is_some())?;
        let place = top.join(literal);
        (place != top && place.parent().is_some()).then_some(place)
    }

    /// Whether the literal part of the pattern names this path of the workspace, or something in it.
    pub(super) fn names_within(&self, path: &Path, roots: &PathRoots) -> bool {
        let literal = match self.anchor {
            PatternAnchor::Nowhere => self.place(roots),
            PatternAnchor::Workspace | PatternAnchor::Root => Some(self.split().0),
        };
        let within =
            |literal: &PathBuf| roots.tops().any(|root| root.join(literal).starts_with(root.join(path)));
        literal.as_ref().is_some_and(within)
    }

    /// Whether the pattern matches a path. Paths in the workspace are relative to it.
    pub(super) fn matches(&self, path: &Path, roots: &PathRoots) -> bool {
        self.has(&self.names, path, roots)
    }

    /// Whether everything below a directory matches, whatever its name.
    pub(super) fn covers(&self, directory: &Path, roots: &PathRoots) -> bool {
        let mut names = &self.names[..];
        if let [all @ .., NamePattern::Any] = names {
            names = all;
        }
        if let [all @ .., NamePattern::Depth] = names {
            names = all;
        }
        let is_whole = names.len() < self.names.len() && self.has(names, directory, roots);
        is_whole || self.matches(directory, roots)
    }

    /// Whether it is about the workspace, and files of other places only by the way. If files are made, it is about one
    /// place, where it matches no names that nothing has yet.
    pub(super) fn is_of_workspace(&self, are_made: bool, roots: &PathRoots) -> bool {
        match self.anchor {
            PatternAnchor::Root => false,
            PatternAnchor::Nowhere => !are_made,
            PatternAnchor::Workspace => !are_made || self.place(roots).is_some(),
        }
    }

    /// Whether a partly known path can match. As for [`Self::matches`], it is relative if it is in the workspace; the
    /// beginning of one that begins with unknown text can be any directory.
    pub(super) fn may_match(&self, path: &[CharClass]) -> bool {
        let is_absolute = path.first() == Some(&CharClass::Is('/'));
        let can_begin = match (self.anchor, path.first()) {
            (PatternAnchor::Nowhere, _) | (_, Some(CharClass::Any)) => true,
            (PatternAnchor::Workspace, _) => !is_absolute,
            (PatternAnchor::Root, _) => is_absolute,
        };
        let begins = |at: usize| {
            let is_deep = self.anchor == PatternAnchor::Nowhere || path[..at].contains(&CharClass::Any);
            at == 0 || is_deep && path[at - 1] == CharClass::Is('/')
        };
        let starts: Vec<usize> = (0..path.len()).filter(|at| begins(*at)).collect();
        can_begin
            && (starts.len() > MOST_STARTS || starts.iter().any(|at| overlap(&path[*at..], &self.loose)))
    }

    /// Whether any file of git's objects in a directory can match, or the directory that it is in.
    pub(super) fn may_match_object(&self, objects: &Path, roots: &PathRoots) -> bool {
        self.has_with(&self.names, objects, &OBJECT, roots)
    }

    /// Whether a path, or a directory above it, matches these names.
    fn has(&self, names: &[NamePattern], path: &Path, roots: &PathRoots) -> bool {
        self.has_with(names, path, &[], roots)
    }

    /// As [`Self::has`], with further names beneath the path.
    fn has_with(
        &self,
        names: &[NamePattern],
        path: &Path,
        beneath: &[PathName<'static>],
        roots: &PathRoots,
    ) -> bool {
        let fits = |path: &Path| {
            let known = names_of(path).map(PathName::Known);
            begins(names, &known.chain(beneath.iter().copied()).collect::<Vec<_>>())
        };
        match (self.anchor, path.is_absolute()) {
            (PatternAnchor::Root, false) => roots.tops().any(|root| fits(&root.join(path))),
            (PatternAnchor::Workspace, true) => false,
            _ => fits(path),
        }
    }
}

/// A name of a path that patterns are compared with.
#[derive(Debug, Clone, Copy)]
enum PathName<'n> {
    Known(&'n OsStr),
    /// Any name of so many hexadecimal digits.
    Digits(usize),
}

/// The names of an object beneath the directory of a repository's objects, `ab/cdef…`.
const OBJECT: [PathName<'static>; 2] = [PathName::Digits(2), PathName::Digits(38)];

impl PathName<'_> {
    fn can_fit(self, pattern: &NamePattern) -> bool {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match (self, pattern) {
            (Self::Known(name), pattern) => pattern.fits(name),
            (Self::Digits(_), NamePattern::Depth | NamePattern::Any) => true,
            (Self::Digits(count), NamePattern::Name(name)) => {
                name.len() == count && name.as_bytes().iter().all(|byte| is_digit(*byte))
            }
            (Self::Digits(count), NamePattern::Wild(wild)) => {
                let is_open = wild.contains(&WildByte::Any);
                let others = wild.iter().filter(|one| **one != WildByte::Any).count();
                let are_digits =
                    wild.iter().all(|one| !matches!(one, WildByte::Byte(byte) if !is_digit(*byte)));
                are_digits && (others == count || is_open && others < count)
            }
            (Self::Digits(2), glob) => (0..=255).any(|byte| glob.fits(OsStr::new(&format!("{byte:02x}")))),
            // Too many to try; classes that no digit fits are unusual.
            (Self::Digits(_), NamePattern::Glob(_)) => true,
        }
    }
}

/// Whether a path begins with the names of the pattern: if a directory matches, so does everything in it. Where a part
/// between two `**` fits in several places, the first place is the best, because it leaves the most names for the other
/// parts.
fn begins(pattern: &[NamePattern], names: &[PathName<'_>]) -> bool {
    let fits = |part: &[NamePattern], names: &[PathName<'_>]| {
        part.iter().zip(names).all(|(one, name)| name.can_fit(one))
    };
    let mut parts = pattern.split(|name| matches!(name, NamePattern::Depth));
    let first = parts.next().unwrap_or_default();
    if names.len() < first.len() || !fits(first, names) {
        return false;
    }
    let mut left = &names[first.len()..];
    for part in parts {
        // At the end, `**` stands for at least one name.
        if part.is_empty() {
            return !left.is_empty();
        }
        let Some(at) = left.windows(part.len()).position(|names| fits(part, names)) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

fn names_of(path: &Path) -> impl Iterator<Item = &OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        _ => None,
    })
}

impl NamePattern {
    /// # Errors
    /// The problem, as the end of a sentence.
    fn new(text: &str) -> Result<Self, String> {
        match text {
            "**" => return Ok(Self::Depth),
            "*" => return Ok(Self::Any),
            _ => {}
        }
        if let Some(wild) = wild_bytes(text) {
            let bytes =
                wild.iter().map(|one| if let WildByte::Byte(byte) = one { Some(*byte) } else { None });
            let name = bytes.collect::<Option<Vec<u8>>>().map(OsString::from_vec);
            return match name {
                Some(name) if name == "." || name == ".." => Err(format!("{text:?} is no name of a file")),
                Some(name) => Ok(Self::Name(name)),
                None => Ok(Self::Wild(wild)),
            };
        }
        check_classes(text)?;
        if has_byte(text) {
            return Err(format!("{text:?} has a class beside a byte such as \\xFF; write ? for that byte"));
        }
        let glob = GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build();
        Ok(Self::Glob(glob.map_err(|error| error.kind().to_string())?.compile_matcher()))
    }

    fn fits(&self, name: &OsStr) -> bool {
        match self {
            Self::Depth | Self::Any => true,
            Self::Name(wanted) => wanted == name,
            Self::Wild(wild) => fits_wildly(wild, name.as_encoded_bytes()),
            Self::Glob(glob) => glob.is_match(name),
        }
    }
}

/// Checks the classes of a glob for what globs read in several ways. A `]` at its beginning does not end a class.
///
/// # Errors
/// The problem, as the end of a sentence.
pub fn check_classes(part: &str) -> Result<(), String> {
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        if char == '\\' {
            chars.next();
        } else if char == '[' {
            let inside = chars.as_str();
            let inside = inside.strip_prefix(['!', '^']).unwrap_or(inside);
            let end = inside.char_indices().skip(1).find(|(_, char)| *char == ']');
            let (class, rest) = end.map_or((inside, ""), |(at, _)| inside.split_at(at));
            if ["[:", "[.", "[="].iter().any(|named| class.contains(named)) {
                return Err(format!(
                    "{part:?} has a named class; write its characters, such as [a-zA-Z], or \\[ for a bracket that is meant"
                ));
            }
            if class.contains('\\') {
                return Err(format!(
                    "{part:?} has a backslash in a class, where it would stand for itself; write ] first, and ! or ^ later, as in []!]"
                ));
            }
            if has_dash_after_range(class) {
                return Err(format!(
                    "{part:?} has a - after a range in a class; write it last, as in [0-9_-]"
                ));
            }
            chars = rest.chars();
        }
    }
    Ok(())
}

/// Whether a class has a dash after a range that is not at its end.
fn has_dash_after_range(class: &str) -> bool {
    let class: Vec<char> = class.chars().collect();
    let mut at = 0;
    while at + 2 < class.len() {
        let is_range = class[at + 1] == '-';
        at += if is_range { 3 } else { 1 };
        if is_range && class.get(at) == Some(&'-') && at + 1 < class.len() {
            return true;
        }
    }
    false
}

/// The bytes of a component, with what is escaped; `None` if it has character classes, or ends in the middle of an
/// escape. Bytes that are not UTF-8 are written as file tools show them, `\xFF`. Compiling a glob takes a thousand
/// times as long.
fn wild_bytes(part: &str) -> Option<Vec<WildByte>> {
    let mut wild = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        let (one, left) = match (first, escaped_byte(rest)) {
            (_, Some(byte)) => (WildByte::Byte(byte), &rest[4..]),
            (b'[', _) => return None,
            (b'*', _) => (WildByte::Any, after),
            (b'?', _) => (WildByte::One, after),
            (b'\\', _) => (WildByte::Byte(*after.first()?), &after[1..]),
            (byte, _) => (WildByte::Byte(*byte), after),
        };
        wild.push(one);
        rest = left;
    }
    Some(wild)
}

/// Whether a pattern has a byte such as `\xFF`.
fn has_byte(part: &str) -> bool {
    let mut rest = part.as_bytes();
    while let [first, after @ ..] = rest {
        if escaped_byte(rest).is_some() {
            return true;
        }
        rest = if *first == b'\\' { after.get(1..).unwrap_or_default() } else { after };
    }
    false
}

/// Whether a whole name fits. If the rest of the name does not fit, the last `*` takes one byte more; to try an earlier
/// `*` again would change nothing.
fn fits_wildly(wild: &[WildByte], name: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while read < name.len() {
        match wild.get(at) {
            Some(WildByte::Any) => {
                last = Some((at, read));
                at += 1;
                continue;
            }
            Some(WildByte::One) => {}
            Some(WildByte::Byte(byte)) if *byte == name[read] => {}
            _ => {
                let Some((star, taken)) = last else { return false };
                last = Some((star, taken + 1));
                (at, read) = (star + 1, taken + 1);
                continue;
            }
        }
        at += 1;
        read += 1;
    }
    wild[at..].iter().all(|byte| *byte == WildByte::Any)
}

/// The characters of a pattern. Each wildcard counts as any text, and so does the path to where the pattern begins.
fn loose(body: &str) -> Vec<CharClass> {
    let name = body.trim_end_matches("/**").trim_start_matches("**/");
    let special = |char: char| "?[]{},\\!".contains(char);
    let (mut loose, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some(char) = rest.chars().next() {
        let (class, length) = match char {
            '\\' if escaped_byte(rest.as_bytes()).is_some() => (CharClass::Any, 4),
            // No directory at all, too.
            '*' if rest.starts_with("**/") => (CharClass::Any, 3),
            '*' if rest.starts_with("**") => (CharClass::Any, 2),
            '*' => (CharClass::Name, 1),
            char if special(char) => (CharClass::Any, 1),
            char => (CharClass::Is(char), char.len_utf8()),
        };
        loose.push(class);
        rest = &rest[length..];
    }
    loose.dedup_by(|a, b| a == b && *a == CharClass::Any);
    loose
}

/// Whether two partly known texts can be equal. The first may continue below a directory that the second names.
fn overlap(a: &[CharClass], b: &[CharClass]) -> bool {
    if a.len().saturating_mul(b.len()) > 1 << 22 {
        return true;
    }
    let is_open = |glyph: &CharClass| !matches!(glyph, CharClass::Is(_));
    let below = |rest: &[CharClass]| {
        let named =
            rest.iter().take_while(|glyph| matches!(glyph, CharClass::Name | CharClass::NoDot)).count();
        matches!(rest.get(named), None | Some(CharClass::Any | CharClass::Is('/')))
    };
    // Whether an unknown glyph can stand for another one.
    let takes = |open: CharClass, other: CharClass| open == CharClass::Any || other != CharClass::Is('/');
    // row[j]: whether a[i..] can equal b[j..].
    let mut row: Vec<bool> = (0..=b.len()).map(|j| b[j..].iter().all(is_open)).collect();
    for i in (0..a.len()).rev() {
        let mut next = vec![false; b.len() + 1];
        next[b.len()] = below(&a[i..]);
        for j in (0..b.len()).rev() {
            next[j] = match (a[i], b[j]) {
                (CharClass::NoDot, other) => other != CharClass::Is('.') && row[j],
                (CharClass::Is(x), CharClass::Is(y)) => x == y && row[j + 1],
                (CharClass::Is(_), open) => next[j + 1] || takes(open, a[i]) && row[j],
                (open, CharClass::Is(_)) => row[j] || takes(open, b[j]) && next[j + 1],
                (_, _) => row[j] || next[j + 1],
            };
        }
        row = next;
    }
    row[0]
}
