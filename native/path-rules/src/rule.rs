//! Patterns of paths, with the rules of ignore files, and with alternatives in braces.

use super::pattern::PathPattern;
use super::roots::PathRoots;
use beamai_bash_reader::CharClass;
use beamai_workspace::escaped_byte;
use std::path::{Path, PathBuf};

/// Maximum number of alternatives that braces make.
const MOST_ALTERNATIVES: usize = 256;

/// A compiled pattern: what any of its alternatives matches.
#[derive(Debug, Clone, PartialEq)]
pub struct PathRule(Vec<PathPattern>);

impl PathRule {
    /// Compiles a pattern, as docs/permissions.md describes it under "Rules about files".
    ///
    /// # Errors
    /// The problem, as the end of a sentence: an empty pattern or alternative, a NUL character, `..`, a brace without
    /// its counterpart, more than 256 alternatives, a malformed class, `~/` without a home directory.
    pub fn new(text: &str, roots: &PathRoots) -> Result<Self, String> {
        if text.contains('\0') {
            return Err("it has a NUL character, which no path has".into());
        }
        let mut alternatives = Vec::new();
        expand(text, &mut alternatives)?;
        alternatives.iter().try_for_each(|text| check(text))?;
        alternatives.iter().map(|text| PathPattern::new(text, roots)).collect::<Result<_, _>>().map(Self)
    }

    /// The alternatives that lead through links now, with what they lead to; `None` if there are none.
    pub fn followed(&self, roots: &PathRoots) -> Option<Self> {
        let followed: Vec<PathPattern> = self.0.iter().filter_map(|one| one.followed(roots)).collect();
        (!followed.is_empty()).then_some(Self(followed))
    }

    /// Whether anything beneath a directory can match. Relative patterns can match anywhere in the workspace.
    pub fn may_be_in(&self, directory: &Path) -> bool {
        self.0.iter().any(|one| one.may_be_in(directory))
    }

    /// The absolute paths that alternatives without wildcards name; without a slash, in the top directory of the
    /// workspace. The workspace and `/` are not among them.
    pub fn places(&self, roots: &PathRoots) -> impl Iterator<Item = PathBuf> {
        self.0.iter().filter_map(|one| one.place(roots))
    }

    /// Whether it reaches into `.git`, which it does only if it names that.
    pub fn names_repository(&self) -> bool {
        self.0.iter().any(PathPattern::names_repository)
    }

    /// Whether the literal part of an alternative names this path of the workspace, or something in it.
    pub fn names_within(&self, path: &Path, roots: &PathRoots) -> bool {
        self.0.iter().any(|one| one.names_within(path, roots))
    }

    /// Whether a path matches, or a directory above it. Paths in the workspace are relative to it.
    pub fn matches(&self, path: &Path, roots: &PathRoots) -> bool {
        self.0.iter().any(|one| one.matches(path, roots))
    }

    /// Whether any file of git's objects in a directory can match, or the directory that it is in.
    pub fn may_match_object(&self, objects: &Path, roots: &PathRoots) -> bool {
        self.0.iter().any(|one| one.may_match_object(objects, roots))
    }

    /// Whether everything below a directory matches, whatever its name.
    pub fn covers(&self, directory: &Path, roots: &PathRoots) -> bool {
        self.0.iter().any(|one| one.covers(directory, roots))
    }

    /// Whether it is about all files of the workspace, and a sandbox can keep these and what else it is about.
    pub fn keeps_workspace(&self, roots: &PathRoots) -> bool {
        let is_kept = |one: &PathPattern| one.is_of_workspace(false, roots) || one.place(roots).is_some();
        self.covers(Path::new("."), roots) && self.0.iter().all(is_kept)
    }

    /// Whether a sandbox can keep all that it is about: no alternative is absolute, or followed through links; if files
    /// that do not exist yet are meant, too, each names one place.
    pub fn is_of_workspace(&self, are_made: bool, roots: &PathRoots) -> bool {
        self.0.iter().all(|one| one.is_of_workspace(are_made, roots))
    }

    /// Whether a partly known path can match. It is relative if it is in the workspace, and absolute otherwise; what
    /// follows unknown text may be in any directory.
    pub fn may_match(&self, path: &[CharClass]) -> bool {
        self.0.iter().any(|one| one.may_match(path))
    }
}

/// What means something in a pattern, or could be taken for that, unless a backslash stands before it.
const MARKS: &str = "*?[]{}\\,;|()\"'`$%^&#:\u{2018}\u{2019}\u{201c}\u{201d}";

/// The pattern for a path alone, without others that wildcards could match. The path is written as
/// [`encode_path`](beamai_workspace::encode_path) does.
pub fn literal_pattern(path: &str) -> String {
    // At the beginning, these mean something else, and without a slash, a name is one at any depth.
    let is_assigned = path.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    let is_other =
        path.starts_with(['~', '!']) || path.starts_with("domain:") || is_assigned || !path.contains('/');
    let mut pattern = if is_other { "./" } else { "" }.to_owned();
    for (at, char) in path.char_indices() {
        let is_byte = escaped_byte(&path.as_bytes()[at..]).is_some();
        let is_marked = match char.is_whitespace() {
            // White space that seems to be between two paths, or around one.
            true => {
                let next = path[at + char.len_utf8()..].chars().next();
                matches!(char, '\t' | '\n')
                    || next.is_none_or(|next| "./~".contains(next) || MARKS.contains(next))
            }
            false => MARKS.contains(char) && !is_byte,
        };
        pattern.extend(is_marked.then_some('\\'));
        pattern.push(char);
    }
    pattern
}

/// The pattern for two paths of one file, as [`literal_pattern`]: a rule allows a file whose path leads through links
/// only under both.
pub fn literal_patterns(one: &str, other: &str) -> String {
    match one == other {
        true => literal_pattern(one),
        false => format!("{{{},{}}}", literal_pattern(one), literal_pattern(other)),
    }
}

/// The alternatives of a text with braces, as bash has them: `a{b,c{d,e}}` is `ab`, `acd` and `ace`.
///
/// # Errors
/// For a brace without its counterpart, and for too many alternatives.
fn expand(text: &str, all: &mut Vec<String>) -> Result<(), String> {
    let Some(BraceGroup { before, alternatives, after }) = BraceGroup::first(text)? else {
        if all.len() == MOST_ALTERNATIVES {
            return Err(format!(
                "its braces make more than {MOST_ALTERNATIVES} alternatives; write several rules"
            ));
        }
        all.push(text.to_owned());
        return Ok(());
    };
    if alternatives.len() == 1 {
        return Err("its braces have one alternative; write several with commas between them, or \\{ and \\} for the characters".into());
    }
    alternatives.into_iter().try_for_each(|alternative| expand(&format!("{before}{alternative}{after}"), all))
}

/// A group of braces in a text.
struct BraceGroup<'t> {
    before: &'t str,
    alternatives: Vec<&'t str>,
    after: &'t str,
}

impl<'t> BraceGroup<'t> {
    /// The first group.
    fn first(text: &'t str) -> Result<Option<Self>, String> {
        let (mut depth, mut start, mut from, mut found) = (0, 0, 0, Vec::new());
        let mut is_escaped = false;
        for (at, char) in text.char_indices() {
            match char {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '{' => {
                    if depth == 0 {
                        (start, from) = (at, at + 1);
                    }
                    depth += 1;
                }
                ',' if depth == 1 => {
                    found.push(&text[from..at]);
                    from = at + 1;
                }
                '}' if depth == 0 => {
                    return Err("it has a closing brace that none opens; write \\} for the character".into());
                }
                '}' => {
                    depth -= 1;
                    if depth == 0 {
                        found.push(&text[from..at]);
                        return Ok(Some(Self {
                            before: &text[..start],
                            alternatives: found,
                            after: &text[at + 1..],
                        }));
                    }
                }
                _ => {}
            }
        }
        match depth {
            0 => Ok(None),
            _ => Err("a brace is not closed; write \\{ for the character".into()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_workspace::{Workspace, decode_path};

    fn matches(pattern: &str, path: &str) -> bool {
        let dir = std::path::PathBuf::from(path);
        PathRule::new(pattern, &PathRoots::default()).unwrap().matches(&dir, &PathRoots::default())
    }

    #[test]
    fn a_rule_for_one_path_alone_matches_no_other() {
        for (path, other) in [
            ("a/b", "a/c"),
            ("a*", "ab"),
            ("a", "x/a"),
            ("x/a[1]?", "x/a11"),
            ("{a,b}", "a"),
            ("}[!-]\\", "}!\\"),
            ("~/x", "x"),
            ("!x", "x"),
            ("domain:x", "x"),
            ("x:*", "x:y"),
            ("caf\\xE9/y", "caf/y"),
            ("caf\\xE9*", "caf\\xE9x"),
            ("dev\\x5Cx2dsda.swap", "dev-sda.swap"),
            ("\\x5Cx41\\", "A\\"),
        ] {
            let (path, other) = (decode_path(path), decode_path(other));
            let pattern = literal_pattern(&beamai_workspace::encode_path(&path));
            let rule = PathRule::new(&pattern, &PathRoots::default().with_home("/h")).unwrap();
            let matches = |path: &Path| rule.matches(path, &PathRoots::default());
            assert!(matches(&path) && !matches(&other), "{pattern}");
        }
    }

    #[test]
    fn rules_are_known_that_can_match_an_object_of_git() {
        let objects = Path::new(".git/objects");
        let can = |pattern: &str| {
            PathRule::new(pattern, &PathRoots::default())
                .unwrap()
                .may_match_object(objects, &PathRoots::default())
        };
        let hash = "0123456789abcdef0123456789abcdef012345";
        for pattern in [
            ".git/objects/8b/**",
            ".git/objects/8b",
            ".git/objects/[89]?/*",
            ".git/*/8*",
            "**/.git/**/*5",
            ".git/objects/*/0*f*5",
            &format!(".git/objects/8b/{hash}"),
            &format!("**/{hash}"),
        ] {
            assert!(can(pattern), "{pattern}");
        }
        for pattern in [
            ".git/objects/pack/**",
            ".git/objects/info",
            ".git/objects/8",
            ".git/objects/[g-z]?/**",
            "**/.git/config",
            ".git/**/index.lock",
            ".git/objects/8b/123",
            ".git/objects/8b/*.idx",
        ] {
            assert!(!can(pattern), "{pattern}");
        }
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
        assert!(
            matches("a/**/b/**/c", "a/x/b/c/d") && !matches("a/**/b/**/c", "a/c/b") && !matches("a/**", "a")
        );
        assert!(matches("x]/f", "x]/f/g") && matches("[][]", "]") && matches("y]*", "y]z"));
        assert!(matches("d[!x]f", "dyf") && !matches("d[!x]f", "d/f") && !matches("./**", "/etc/x"));
        assert!(matches("/etc/**", "/etc/passwd") && !matches("/etc/**", "etc/passwd"));
    }

    #[test]
    fn a_wildcard_takes_as_much_as_it_has_to() {
        assert!(
            matches("a*b*c", "axbxbc") && matches("*a", "aba") && matches("a?c", "abc") && matches("*", "a")
        );
        assert!(
            !matches("a*b*c", "acb") && !matches("*a", "ab") && !matches("a?c", "ac") && !matches("?", "ab")
        );
        assert!(
            matches("a\\**", "a*b")
                && !matches("a\\**", "ab")
                && matches("**a", "xa")
                && matches("*.*", "a.")
        );
    }

    #[test]
    fn braces_have_alternatives_as_in_bash() {
        let all = |text: &str| {
            let mut all = Vec::new();
            expand(text, &mut all).map(|()| all.join(" "))
        };
        assert_eq!(all("a{b,c{d,e}}f{,g}").unwrap(), "abf abfg acdf acdfg acef acefg");
        assert_eq!(all("\\{a,b\\}").unwrap(), "\\{a,b\\}");
        assert!(
            all("{a").unwrap_err().contains("not closed") && all("a}").unwrap_err().contains("none opens")
        );
        assert!(
            all("{a}").unwrap_err().contains("one alternative")
                && all("{1..3}x").is_err()
                && all("a{}b").is_err()
        );
        assert!(all(&"{a,b}".repeat(9)).unwrap_err().contains("256"));
        assert!(matches(".env{,.local}", ".env") && matches(".env{.local,}", "a/.env.local"));
        assert!(matches("{,d/}k", "k") && matches("{.,d}/k", "k") && matches("{d/e,d/}/f", "d/f"));
        assert!(matches("\\{a,b\\}", "{a,b}") && !matches("\\{a,b\\}", "a"));
    }

    #[test]
    fn a_name_that_is_not_utf8_is_written_as_tools_show_it() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let rule = PathRule::new("a/n\\xFF", &PathRoots::default()).unwrap();
        let path = Path::new(OsStr::from_bytes(b"a/n\xff"));
        assert!(rule.matches(path, &PathRoots::default()));
        let matches = |text: &str| {
            PathRule::new(text, &PathRoots::default()).unwrap().matches(path, &PathRoots::default())
        };
        assert!(matches("n*\\xFF") && matches("?\\xFF") && !matches("m*\\xFF") && !matches("n\\\\xFF"));
        for wrong in ["[n]\\xFF", "a/\\x2e\\x2e", "a\0"] {
            assert!(PathRule::new(wrong, &PathRoots::default()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_escaped_backslash_begins_no_byte() {
        assert!(matches("dev\\\\x2dsda", "dev\\x2dsda") && matches("dev\\x5Cx2dsda", "dev\\x2dsda"));
        assert!(matches("dev*\\\\x2d*", "dev\\x2dsda") && matches("dev\\x2dsda", "dev-sda"));
        assert!(!matches("dev\\x2dsda", "dev\\x2dsda") && !matches("dev\\\\x2dsda", "dev-sda"));
    }

    #[test]
    fn a_rule_reaches_into_git_if_it_names_it() {
        let names = |text: &str| PathRule::new(text, &PathRoots::default()).unwrap().names_repository();
        for text in [".git", "**/.git/**", "r/.git/x", ".gi?/x", "*/.g*", "{a,.git}/x"] {
            assert!(names(text), "{text}");
        }
        for text in ["**", "*", "**/*.pem", ".github", "a/*/b"] {
            assert!(!names(text), "{text}");
        }
    }

    #[test]
    fn what_a_pattern_names_literally_has_a_place() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let roots = PathRoots::of(&workspace).with_home("/home/x");
        let place = |text: &str| {
            let rule = PathRule::new(text, &roots).unwrap();
            rule.places(&roots).next().map(|place| place.display().to_string())
        };
        let inside = |name: &str| Some(workspace.path().join(name).display().to_string());
        assert_eq!(place(".env"), inside(".env"));
        assert_eq!(place("**/.env"), inside(".env"));
        assert_eq!(
            (place("s/*"), place("s/**/*"), place("s/*/*"), place("s/*/**")),
            (inside("s"), inside("s"), None, None)
        );
        assert_eq!(place("./secrets/**"), inside("secrets"));
        assert_eq!(place("secrets/key"), inside("secrets/key"));
        assert_eq!((place("~"), place("~/")), (Some("/home/x".into()), Some("/home/x".into())));
        assert_eq!(place("~/.ssh/**"), Some("/home/x/.ssh".into()));
        assert_eq!(place("~/.ssh/*"), Some("/home/x/.ssh".into()));
        assert_eq!(place("/etc/passwd"), Some("/etc/passwd".into()));
        assert_eq!(place("a//./b\\[1\\]/\\*"), inside("a/b[1]/*"));
        assert_eq!(place("x]/f"), inside("x]/f"));
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
        assert!(fault("[a").contains("unclosed") && fault("{,a}").contains("empty"));
        assert!(fault("[0-9-_]*").contains("last") && fault("[!!-a-c]").contains("last"));
        assert!(PathRule::new("[a-z0-9_-]*", &PathRoots::default()).is_ok());
        assert!(fault("[a\\]]x").contains("] first") && fault("x[!\\]").contains("] first"));
        assert!(fault("a/{b,..}").contains("..") && fault("[[:alpha:]]").contains("[a-zA-Z]"));
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
        assert!(
            covers("src/*", "src")
                && covers("*", ".")
                && covers(".", "a/b")
                && covers("**/src/**/*", "a/src")
        );
        assert!(covers("src", "a/src") && covers("{docs,src}/**", "src/a") && covers("/**", "/etc"));
        // Names that some other one does not have.
        for pattern in ["?", "[!_]*", "**/?", "[!a-z]", "*/*", "src/*/*", "./[!_]*", "*.*", "**/*/*"] {
            assert!(!covers(pattern, "."), "{pattern}");
        }
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
