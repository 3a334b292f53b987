//! Patterns of paths that would do something else than a person means by them. A deny rule of that kind denies nothing,
//! and nobody would notice.

use beamai_workspace::escaped_byte;

/// The mistake in a pattern, with what to write instead; `None` if there is none. A character after a backslash is
/// taken literally.
pub(super) fn path_mistake(text: &str) -> Option<&'static str> {
    let seen = without_escapes(text);
    Some(if is_quoted(&seen) || seen.trim() != seen {
        "quotes and blanks around a path would be part of it; write it without them, or * for one"
    } else if seen.contains('{') && ["{ ", ", ", " }"].iter().any(|blank| seen.contains(blank)) {
        "blanks around alternatives in braces would be part of them; write {a,b}"
    } else if !has_pairs(&seen) {
        "a parenthesis has no counterpart; write one rule for each path, and ? for a parenthesis that is meant"
    } else if lists_paths(&seen) {
        "a rule is about one path; write one rule for each, or {a,b}, and \\ before a mark or a blank that is meant"
    } else if is_other_home(&seen) {
        "~ stands for the own home directory only, as ~/; write the other one's path, or ./~ for a name that begins so"
    } else if is_variable(&seen) {
        "variables and commands are not expanded; write the path, which may begin with ~/, or \\ before a mark that is meant"
    } else if is_position(&seen) {
        "a rule is about whole files, by their paths alone; write the path, or \\ before a mark that is meant"
    } else if is_expression(text, &seen) {
        "regular expressions and extended globs are not understood; write * or ? for what varies, {a,b} for alternatives, / between names, and \\ before a mark that is meant"
    } else if has_depth_in_name(&seen) {
        "** stands for directories between slashes; write * in a name, as in src/**/*.py"
    } else {
        return None;
    })
}

/// The text without its backslashes and what follows them.
fn without_escapes(text: &str) -> String {
    let mut is_escaped = false;
    let is_seen = |char: &char| {
        let was_escaped = is_escaped;
        is_escaped = !was_escaped && *char == '\\';
        !was_escaped && !is_escaped
    };
    text.chars().filter(is_seen).collect()
}

fn is_quoted(text: &str) -> bool {
    const QUOTES: [(char, char); 4] =
        [('"', '"'), ('\'', '\''), ('\u{201c}', '\u{201d}'), ('\u{2018}', '\u{2019}')];
    QUOTES.iter().any(|(open, close)| text.strip_prefix(*open).is_some_and(|rest| rest.ends_with(*close)))
}

/// Whether a text lists several paths: with a mark outside of braces and brackets, with a blank before what begins a
/// path, or as JSON. `file,v` is a file of RCS.
fn lists_paths(text: &str) -> bool {
    let mut depth = 0_usize;
    let outside: String = text
        .chars()
        .filter(|char| {
            depth += usize::from(matches!(char, '{' | '['));
            let is_outside = depth == 0;
            depth = depth.saturating_sub(usize::from(matches!(char, '}' | ']')));
            is_outside
        })
        .collect();
    let outside = outside.strip_suffix(",v").unwrap_or(&outside);
    let is_list = text.len() > 3 && text.starts_with('[') && text.ends_with(']') && text.contains(',');
    is_list
        || outside
            .split_once(':')
            .is_some_and(|(one, other)| one.contains(['.', '/']) && other.starts_with(['.', '/', '~']))
        || outside.contains([',', ';', '|', '\n', '\t'])
        || [" .", " *", " /", " ~", " & ", "** "].iter().any(|start| outside.contains(start))
}

/// Whether a path begins with the home directory of a named user.
fn is_other_home(text: &str) -> bool {
    let name = text.strip_prefix('~').and_then(|rest| rest.split_once('/')).map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || "_-.".contains(char))
    })
}

/// Whether a path begins as with a variable of the environment or a command. Names such as `$types` are common in programs.
fn is_variable(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or_default();
    name.starts_with(|char: char| matches!(char, '{' | '(') || char.is_ascii_uppercase())
        || text.starts_with('`')
        || text.strip_prefix('%').is_some_and(|rest| rest.contains('%'))
}

/// Names of arguments that other agents' rules have before a path.
const KINDS: [&str; 5] = ["file", "file_path", "glob", "path", "pattern"];

/// Whether a text has something besides a path: a word for its kind before it, a line behind it, or the ends of a
/// regular expression.
fn is_position(text: &str) -> bool {
    let is_number = |text: &str| text.starts_with(|char: char| char.is_ascii_digit());
    let has_line = text.rsplit_once(':').is_some_and(|(_, line)| is_number(line))
        || text.rsplit_once("#L").is_some_and(|(_, line)| is_number(line));
    let is_kind = |kind: &str| kind.chars().all(|char| char.is_ascii_alphabetic() || char == '_');
    // These have errors of their own.
    let is_other = text.starts_with("domain:") || text.ends_with(":*");
    has_line
        || text.starts_with('^')
        || text.ends_with('$')
        || !is_other && text.split_once(':').is_some_and(|(kind, _)| is_kind(kind))
        || text.split_once('=').is_some_and(|(kind, _)| KINDS.contains(&kind))
        || text.contains(" # ")
}

/// Whether a text is a regular expression, such as `.*\.pem`, an extended glob, such as `*.y?(a)ml`, or has backslashes
/// between names.
fn is_expression(text: &str, seen: &str) -> bool {
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let is_literal = escaped_byte(rest).is_some();
        let is_letter = after.first().is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'.');
        if *first == b'\\' && is_letter && !is_literal {
            return true;
        }
        rest = if *first == b'\\' { after.get(1..).unwrap_or_default() } else { after };
    }
    let inside = |open: char, close: char| text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
    inside('(', ')').is_some()
        || inside('/', '/').is_some_and(|name| name.contains(".*") && !name.contains('/'))
        || text.contains("\\**")
        || ["?(", "*(", "+(", "@(", "!(", ")?", ".+", "]+"].iter().any(|mark| seen.contains(mark))
}

/// Whether `**` is a part of a name in a path, where it would be like `*`.
fn has_depth_in_name(text: &str) -> bool {
    text.contains('/') && text.split(['/', '{', '}', ',']).any(|name| name.contains("**") && name != "**")
}

/// Whether each parenthesis has its counterpart.
fn has_pairs(text: &str) -> bool {
    let open = text.chars().try_fold(0_usize, |open, char| match char {
        '(' => Some(open + 1),
        ')' => open.checked_sub(1),
        _ => Some(open),
    });
    open == Some(0)
}
