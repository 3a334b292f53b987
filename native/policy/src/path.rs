//! Patterns of paths, with the rules of ignore files.
//!
//! A pattern without a slash matches at any depth; one with a slash is relative to the workspace; `/…` is absolute and
//! `~/…` is in the home directory. A pattern that matches a directory matches everything in it.

use super::secret_paths::SecretPaths;
use beamai_base::PathWay;
use beamai_bash_reader::CharClass;
use beamai_workspace::{Workspace, decode_path};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::path::{Component, Path, PathBuf};

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct PathRule {
    anchor: PatternAnchor,
    /// The names before the first wildcard: absolute, or relative to the workspace.
    literal: PathBuf,
    /// What follows them.
    rest: String,
    /// What matches in the directory that `literal` names, or at any depth; `None` if nothing follows.
    globs: Option<GlobSet>,
    /// The pattern's characters, for comparison with partly known texts.
    loose: Vec<CharClass>,
    /// The path that it names, if it has no wildcards.
    place: Option<PathBuf>,
}

/// Two patterns are equal if they match the same paths.
impl PartialEq for PathRule {
    fn eq(&self, other: &Self) -> bool {
        (self.anchor, &self.literal, &self.rest) == (other.anchor, &other.literal, &other.rest)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternAnchor {
    /// Any depth.
    Nowhere,
    Workspace,
    Root,
}

/// The directories that patterns and paths are relative to.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRoots {
    workspace: Option<Workspace>,
    home: Option<PathBuf>,
}

impl PathRoots {
    pub(super) fn of(workspace: &Workspace) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.map(|home| clean(&home));
        Self { workspace: Some(workspace.clone()), home }
    }

    /// Resolves a path given by a command in `directory`, without `.` and `..`: relative if it is in the workspace.
    pub(super) fn meant(&self, directory: &Path, text: &str) -> PathBuf {
        let path = match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ if text == "~" => self.home.clone().unwrap_or_else(|| "/".into()),
            _ => directory.join(decode_path(text)),
        };
        let roots = self.workspace.iter().flat_map(Workspace::root_paths);
        let inside =
            roots.into_iter().find_map(|root| clean(&path).strip_prefix(root).ok().map(Path::to_owned));
        inside.unwrap_or_else(|| clean(&path))
    }

    /// The places of secrets in the workspace; `shown` are those that a sandbox shows.
    pub(super) fn secrets(&self, shown: &[String]) -> SecretPaths {
        self.workspace
            .as_ref()
            .map_or_else(SecretPaths::default, |workspace| SecretPaths::within(workspace, shown))
    }

    /// The home directory.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Absolute path of the workspace.
    pub(super) fn top(&self) -> Option<PathBuf> {
        self.workspace.as_ref().map(|workspace| workspace.path().to_owned())
    }

    /// The target of a path in the workspace; `None` if it leads outside.
    pub(super) fn lead(&self, path: &str) -> Option<PathBuf> {
        match &self.workspace {
            Some(workspace) => Some(decode_path(&workspace.parse_path(path).ok()?.destination().ok()?)),
            None => Some(decode_path(path)),
        }
    }

    /// The target of a path in the workspace with every link followed; `None` if it is the path itself.
    pub(super) fn resolved(&self, path: &Path) -> Option<PathBuf> {
        let text = beamai_workspace::encode_path(path);
        let resolved = self.workspace.as_ref()?.parse_path(&text).ok()?.destination().ok()?;
        let resolved = decode_path(&resolved);
        (resolved != path).then_some(resolved)
    }
}

/// Whether a path, once cleaned, is outside the workspace.
pub(super) fn is_outside(path: &Path) -> bool {
    path.is_absolute() || path.components().next() == Some(Component::ParentDir)
}

/// A path without `.` and without `..`, except for leading ones.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}

impl PathRule {
    /// # Errors
    /// The problem, as the end of a sentence.
    pub(super) fn new(text: &str, roots: &PathRoots) -> Result<Self, String> {
        check(text)?;
        let (anchor, above, body) = match text.strip_prefix("~/") {
            Some(rest) => {
                let home = roots.home.clone().ok_or("there is no home directory for ~/ to mean")?;
                (PatternAnchor::Root, home, rest)
            }
            None if text.starts_with('/') => (PatternAnchor::Root, PathBuf::from("/"), text),
            None => {
                let (anchor, body) = relative(text);
                (anchor, PathBuf::new(), body)
            }
        };
        // Empty names and "." lead nowhere.
        let names: Vec<&str> = body.split('/').filter(|name| !matches!(*name, "" | "." | "\\.")).collect();
        // Without a name, it is the workspace itself.
        let is_top = names.is_empty() && anchor == PatternAnchor::Nowhere;
        let anchor = if is_top { PatternAnchor::Workspace } else { anchor };
        let literal: Vec<String> = names.iter().map_while(|name| literal_name(name)).collect();
        let rest = names[literal.len()..].join("/");
        let whole = above.join(names.join("/"));
        let literal = above.join(literal.join("/"));
        Self::build(anchor, literal, rest, &whole.to_string_lossy(), roots)
    }

    /// `whole` is all of the pattern.
    ///
    /// # Errors
    /// The problem with the wildcards, as the end of a sentence.
    fn build(
        anchor: PatternAnchor,
        literal: PathBuf,
        rest: String,
        whole: &str,
        roots: &PathRoots,
    ) -> Result<Self, String> {
        let globs = match anchor {
            PatternAnchor::Nowhere => Some(globs(&format!("**/{whole}"))?),
            _ if rest.is_empty() => None,
            _ => Some(globs(&rest)?),
        };
        let place = place(&literal, &rest, roots);
        Ok(Self { anchor, globs, loose: loose(whole), place, literal, rest })
    }

    /// The pattern for what it leads to now, if its literal path leads through links.
    pub(super) fn followed(&self, roots: &PathRoots) -> Option<Self> {
        let is_named = self.anchor != PatternAnchor::Nowhere || self.place.is_some();
        let path = roots.top().filter(|_| is_named)?.join(&self.literal);
        let end = PathWay::through_links(&path)?.end;
        let whole = if self.rest.is_empty() { end.clone() } else { end.join(&self.rest) };
        Self::build(PatternAnchor::Root, end, self.rest.clone(), &whole.to_string_lossy(), roots).ok()
    }

    /// Whether anything beneath a directory can match. Relative patterns can match anywhere in the workspace.
    pub(super) fn may_be_in(&self, directory: &Path) -> bool {
        self.anchor != PatternAnchor::Root
            || directory.starts_with(&self.literal)
            || self.literal.starts_with(directory)
    }

    /// The absolute path that the pattern names; without a slash, in the top directory of the workspace. `None` for a
    /// pattern with wildcards, and for a directory that contains the workspace.
    pub(super) fn place(&self) -> Option<&Path> {
        self.place.as_deref()
    }

    /// Whether the literal part of the pattern names this path of the workspace, or something in it.
    pub(super) fn names_within(&self, path: &Path, roots: &PathRoots) -> bool {
        let mut names = roots.workspace.iter().flat_map(Workspace::root_paths);
        names.any(|root| {
            let path = root.join(path);
            self.place.as_ref().is_some_and(|place| place.starts_with(&path))
                || self.anchor != PatternAnchor::Nowhere && root.join(&self.literal).starts_with(&path)
        })
    }

    /// Whether the pattern matches a path. Paths in the workspace are relative to it.
    pub(super) fn matches(&self, path: &Path, roots: &PathRoots) -> bool {
        match self.anchor {
            PatternAnchor::Root if path.is_absolute() => self.matches_beneath(path),
            PatternAnchor::Root => {
                let names = roots.workspace.iter().flat_map(Workspace::root_paths);
                names.into_iter().any(|root| self.matches_beneath(&root.join(path)))
            }
            PatternAnchor::Nowhere => self.has_glob_for(path.strip_prefix("/").unwrap_or(path)),
            PatternAnchor::Workspace => path.is_relative() && self.matches_beneath(path),
        }
    }

    /// Whether a path is what the literal part names, or is in it and matches what follows.
    fn matches_beneath(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(&self.literal) else { return false };
        // `dir/**` matches what is in the directory, but not the directory.
        let is_it = rest.as_os_str().is_empty() && !self.literal.as_os_str().is_empty();
        self.rest.is_empty() || !is_it && self.has_glob_for(rest)
    }

    fn has_glob_for(&self, path: &Path) -> bool {
        self.globs.as_ref().is_some_and(|globs| globs.is_match(path))
    }

    /// Whether everything below a directory matches, whatever its name.
    pub(super) fn covers(&self, directory: &Path, roots: &PathRoots) -> bool {
        // No pattern names these, so one that matches them matches everything.
        ["\u{1}", "\u{1}\u{2}/\u{3}", "\u{1}/\u{2}/\u{4}.\u{5}"]
            .iter()
            .all(|name| self.matches(&clean(&directory.join(name)), roots))
    }

    /// Whether a partly known text can be, or end with, a matching path.
    pub(super) fn may_match(&self, text: &[CharClass]) -> bool {
        // For a pattern with a fixed start, only the path to that start can come before it.
        let roams = |before: &[CharClass]| {
            self.anchor == PatternAnchor::Nowhere
                || matches!(before.first(), Some(CharClass::Is('/' | '~' | '.')))
                || before.contains(&CharClass::Any)
                || before.windows(2).any(|pair| pair == [CharClass::Is('.'); 2])
        };
        let begins = |at: usize| match at.checked_sub(1).map(|last| text[last]) {
            None | Some(CharClass::Any | CharClass::Is('=' | '@' | ':')) => true,
            Some(CharClass::Is('/')) => roams(&text[..at]),
            Some(_) => false,
        };
        (0..text.len()).filter(|at| begins(*at)).take(64).any(|at| overlap(&text[at..], &self.loose))
    }
}

/// The name that a component of a pattern stands for, with what is escaped; `None` if it has wildcards.
fn literal_name(part: &str) -> Option<String> {
    let mut name = String::with_capacity(part.len());
    let mut chars = part.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' | '?' | '[' | ']' | '{' | '}' => return None,
            '\\' => name.push(chars.next()?),
            char => name.push(char),
        }
    }
    Some(name)
}

/// Globs for a pattern and for everything below what it matches.
fn globs(pattern: &str) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in [pattern.to_owned(), format!("{pattern}/**")] {
        let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
        set.add(glob.map_err(|error| error.kind().to_string())?);
    }
    set.build().map_err(|error| error.to_string())
}

fn place(literal: &Path, rest: &str, roots: &PathRoots) -> Option<PathBuf> {
    let workspace = roots.workspace.as_ref()?.path();
    // `dir/**` means the same as `dir`.
    if literal.as_os_str() == "" || !rest.split('/').all(|part| matches!(part, "" | "*" | "**")) {
        return None;
    }
    let place = workspace.join(literal);
    (!workspace.starts_with(&place)).then_some(place)
}

fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("the pattern is empty".into());
    }
    if text.starts_with('!') {
        return Err("\"!\" turns nothing round here; put the rule into another list".into());
    }
    if text.split('/').any(|part| part.replace('\\', "") == "..") {
        return Err("\"..\" cannot be in a pattern; write the path that is meant".into());
    }
    if text.starts_with("domain:") {
        return Err("domain: is for WebFetch".into());
    }
    if text.ends_with(":*") {
        return Err("a prefix such as git:* is for Bash; for files write a glob such as src/**".into());
    }
    Ok(())
}

fn relative(text: &str) -> (PatternAnchor, &str) {
    if let Some(rest) = text.strip_prefix("**/").filter(|rest| !rest.is_empty()) {
        return (PatternAnchor::Nowhere, rest);
    }
    let (is_anchored, body) = match text.strip_prefix("./") {
        Some(rest) => (true, rest),
        None => (text.trim_end_matches('/').contains('/'), text),
    };
    (if is_anchored { PatternAnchor::Workspace } else { PatternAnchor::Nowhere }, body)
}

/// The characters of a pattern. Each wildcard counts as any text, and so does the path to where the pattern begins.
fn loose(body: &str) -> Vec<CharClass> {
    let name = body.trim_end_matches("/**").trim_start_matches("**/");
    let special = |char: char| "?[]{},\\!".contains(char);
    let mut loose: Vec<CharClass> = name
        .replace("**", "?")
        .chars()
        .map(|char| match char {
            '*' => CharClass::Name,
            char if special(char) => CharClass::Any,
            char => CharClass::Is(char),
        })
        .collect();
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
        let named = rest.iter().take_while(|glyph| **glyph == CharClass::Name).count();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, path: &str) -> bool {
        let dir = std::path::PathBuf::from(path);
        PathRule::new(pattern, &PathRoots::default()).unwrap().matches(&dir, &PathRoots::default())
    }

    #[test]
    fn patterns_follow_the_rules_of_ignore_files() {
        assert!(matches(".env", ".env") && matches(".env", "a/b/.env") && !matches(".env", ".env.x"));
        assert!(matches(".env.*", "a/.env.local"));
        assert!(matches("secrets/**", "secrets/a/b") && !matches("secrets/**", "x/secrets/a"));
        assert!(matches("**/*.pem", "k.pem") && matches("**/*.pem", "a/k.pem"));
        assert!(matches("**/*secret*", "a/my_secret.txt") && matches("**/*secret*", "a/secrets/plain.txt"));
        assert!(matches("src/*.go", "src/a.go") && !matches("src/*.go", "src/a/b.go"));
        assert!(matches("build", "a/build/x/y") && matches("build/", "build/x"));
        assert!(matches("./top", "top") && !matches("./top", "a/top"));
        assert!(matches("a//./b", "a/b") && matches("a/b/.", "a/b/c") && matches("./a", "a"));
        assert!(matches("a/b\\[1\\]/f", "a/b[1]/f") && matches("a/\\*", "a/*") && !matches("a/\\*", "a/b"));
        assert!(matches("x\\*", "a/x*") && !matches("x\\*", "a/xy"));
        assert!(matches("/etc/**", "/etc/passwd") && !matches("/etc/**", "etc/passwd"));
    }

    #[test]
    fn what_a_pattern_names_literally_has_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let roots = PathRoots { workspace: Some(workspace.clone()), home: Some("/home/x".into()) };
        let place = |text: &str| {
            PathRule::new(text, &roots).unwrap().place().map(|place| place.display().to_string())
        };
        let inside = |name: &str| Some(workspace.path().join(name).display().to_string());
        assert_eq!(place(".env"), inside(".env"));
        assert_eq!(place("**/.env"), inside(".env"));
        assert_eq!(place("./secrets/**"), inside("secrets"));
        assert_eq!(place("secrets/key"), inside("secrets/key"));
        assert_eq!(place("~/.ssh/**"), Some("/home/x/.ssh".into()));
        assert_eq!(place("~/.ssh/*"), Some("/home/x/.ssh".into()));
        assert_eq!(place("/etc/passwd"), Some("/etc/passwd".into()));
        assert_eq!(place("a//./b\\[1\\]/\\*"), inside("a/b[1]/*"));
        for special in ["*.pem", "a/*/b", "[ab]", "**", "/**", "."] {
            assert_eq!(place(special), None, "{special}");
        }
    }

    #[test]
    fn an_absolute_pattern_can_match_beneath_its_start_and_a_relative_one_anywhere() {
        let may = |pattern: &str, directory: &str| {
            PathRule::new(pattern, &PathRoots::default()).unwrap().may_be_in(Path::new(directory))
        };
        assert!(may("/etc/**/*.key", "/etc") && may("/etc/**/*.key", "/etc/ssl") && may("/etc/*/x", "/"));
        assert!(may("/**/*.key", "/ws") && !may("/etc/**/*.key", "/ws") && !may("/etcetera/*", "/etc"));
        assert!(may("*.key", "/ws") && may("a/*.key", "/ws"));
    }

    #[test]
    fn a_pattern_that_means_nothing_says_what_is_accepted() {
        let fault = |text: &str| PathRule::new(text, &PathRoots::default()).unwrap_err();
        assert!(fault("").contains("empty"));
        assert!(fault("!x").contains("another list"));
        assert!(fault("../x").contains("..") && fault("x/\\.\\./y").contains(".."));
        assert!(fault("git:*").contains("glob"));
        assert!(fault("domain:x").contains("WebFetch"));
        assert!(fault("[a").contains("unclosed"));
    }

    #[test]
    fn a_tree_is_covered_when_everything_in_it_matches() {
        let covers = |pattern: &str, dir: &str| {
            PathRule::new(pattern, &PathRoots::default())
                .unwrap()
                .covers(Path::new(dir), &PathRoots::default())
        };
        assert!(covers("src/**", "src") && covers("src/**", "src/a") && covers("**", "."));
        assert!(!covers("src/**", ".") && !covers("**/*.rs", "src") && !covers("src/*", "."));
    }

    #[test]
    fn half_known_texts_may_match() {
        let may = |pattern: &str, text: &str| {
            let glyph = |char| match char {
                '*' => CharClass::Name,
                '$' => CharClass::Any,
                char => CharClass::Is(char),
            };
            let text: Vec<CharClass> = text.chars().map(glyph).collect();
            PathRule::new(pattern, &PathRoots::default()).unwrap().may_match(&text)
        };
        assert!(may("**/*.pem", "k.p*") && may("**/*.pem", "*") && may("secrets/**", "secr*/x"));
        assert!(may("**/*.pem", "--file=k*") && may(".env", "*nv"));
        assert!(
            may("secrets/**", "s*/x")
                && may("**/*.pem", "$")
                && may("**/*.pem", "a/$")
                && may("a/**/b", "a/x*/b")
        );
        assert!(may(".env", "*") && !may("secrets/**", "src/*"));
        assert!(!may("**/*.pem", "k.txt") && !may("**/*.pem", "*.rs") && !may(".env", "a*b"));
    }
}
