//! Patterns of commands that would do something else than a person means by them.

use super::rule::code;
use super::words::{CommandPattern, plain};
use beamai_bash_reader::{BLANKS, globs};

pub(super) const UNEXPANDED: &str = "a rule is about words after their expansion; write what it comes to, in one rule for each \
                                     alternative, or ~/ for the home directory";

const COMPOUND: &str = "a rule that denies or asks is about a name and arguments; write one rule for each program, and quotes around \
                        what bash would act on, as in curl 'a&b'*";

const EVERY: &str =
    "it is about every program, and not about redirections and assignments; write Bash for every command";

const TIMED: &str = "bash has no program time but a word before any command; write the rule for that command, and /usr/bin/time for the \
                     program";

const QUOTED: &str = "quotes around a program and its arguments make one word of them; write them without";

const EXPRESSION: &str =
    "regular expressions are not understood; write a program and its arguments, as in rm:* or rm *";

/// Words at which bash starts no program: a rule cannot begin with them.
const RESERVED: [&str; 20] = [
    "!", "{", "}", "[[", "((", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done",
    "case", "esac", "select", "function", "coproc",
];

/// Programs that have no subcommand with a colon, as package scripts may have one.
const UNJOINED: [&str; 8] = ["cargo", "docker", "git", "go", "helm", "kubectl", "npm", "podman"];

/// Checks the pattern of a rule that denies or asks: it has to be about a program, because one for exactly a text is
/// passed by a blank.
///
/// # Errors
/// The problem, as the end of a sentence.
pub(super) fn check_reach(pattern: &CommandPattern) -> Result<(), String> {
    match pattern {
        CommandPattern::Exact { words, text } => {
            check_words(text)?;
            check_exact(words, text)?;
        }
        CommandPattern::Prefix(words) => check_last(words)?,
        CommandPattern::Glob(glob) if glob.text() == "*" => return Err(EVERY.into()),
        CommandPattern::Glob(glob) if glob.text().ends_with('$') => return Err(EXPRESSION.into()),
        CommandPattern::Glob(glob) => check_words(glob.text())?,
        CommandPattern::Whole(_) => return Err(COMPOUND.into()),
    }
    match pattern.name() {
        Some("time") => Err(TIMED.into()),
        _ => Ok(()),
    }
}

/// Checks the words of a pattern for forms of other languages: regular expressions, lists, marks between words.
fn check_words(text: &str) -> Result<(), String> {
    let words = || text.split(BLANKS).filter(|word| !word.is_empty());
    let name = words().next().unwrap_or_default();
    let in_top = name.starts_with('/') && !name[1..].contains('/');
    let is_varied = |word: &str| word.contains(".+") || word.starts_with('-') && word.ends_with(".*");
    if in_top && text.ends_with('/') || words().any(is_varied) {
        return Err(EXPRESSION.into());
    }
    let begins_again = |part: &str| part.trim_start().split(BLANKS).next() == Some(name);
    if text.split(',').skip(1).any(begins_again) {
        return Err("a rule is about one program and its arguments; write one rule for each".into());
    }
    let is_joined = |(at, word): &(usize, &str)| {
        let (before, after) = word.split_once(':').unwrap_or_default();
        let is_subcommand = *at == 0 && UNJOINED.contains(&name) && !after.is_empty();
        (is_subcommand || after.starts_with('-'))
            && !before.is_empty()
            && before.chars().all(|char| char.is_ascii_alphanumeric())
    };
    match words().skip(1).enumerate().find(is_joined) {
        Some((_, word)) => Err(format!("{word} is one word; write a blank for the colon")),
        None => Ok(()),
    }
}

/// Checks a pattern without `:*` and wildcards.
fn check_exact(words: &[String], text: &str) -> Result<(), String> {
    check_program(text.split(BLANKS).next().unwrap_or_default())?;
    if words[0].contains(BLANKS) && !words[0].contains('/') {
        return Err(QUOTED.into());
    }
    if has_alternatives(text) {
        return Err(UNEXPANDED.into());
    }
    match text.chars().next_back() {
        Some('$') => Err(EXPRESSION.into()),
        Some(':') => {
            Err(format!("a colon at the end belongs to the last word; write {text}* for further words"))
        }
        _ => Ok(()),
    }
}

/// Checks that the last word before `:*` can be a whole one.
fn check_last(words: &[String]) -> Result<(), String> {
    match words {
        [_, .., last] if last.ends_with(['=', ':', '@']) || last.len() > 1 && last.ends_with('/') => {
            Err(format!(
                ":* stands for further words, not for the rest of {last:?}; write *{last}* for words with it"
            ))
        }
        _ => Ok(()),
    }
}

/// Whether braces in a text have alternatives.
pub(super) fn has_alternatives(text: &str) -> bool {
    globs(text, Some("/")).is_some_and(|words| words.contains(&None)) && plain(text, Some("/")).is_some()
}

/// Checks that no mark of the language of rules is in the name of a program.
///
/// # Errors
/// The problem, as the end of a sentence.
pub(super) fn check_marks(name: &str) -> Result<(), String> {
    if name.starts_with(['\u{201c}', '\u{2018}', '\u{ab}']) {
        return Err(QUOTED.into());
    }
    match name.contains([':', ',']) {
        false => Ok(()),
        true => Err(format!(
            "{name} is no program; write the program and its arguments before :*, as in git:* or npm run:*, and one rule for each program"
        )),
    }
}

/// Checks that the first word of a rule can be the name of a program, and for what a rule does not expand.
///
/// # Errors
/// The problem, as the end of a sentence.
pub(super) fn check_program(name: &str) -> Result<(), String> {
    if let Some(space) = name.chars().find(|char| char.is_whitespace() && !char.is_ascii()) {
        return Err(format!(
            "it has {}, a space that separates no words; write an ordinary one",
            code(space)
        ));
    }
    check_marks(name)?;
    if matches!(name, "''" | "\"\"" | "/" | "." | ".." | "~") || name.ends_with('/') {
        return Err(format!("{name} is no program"));
    }
    if is_assignment(name) || RESERVED.contains(&name) {
        return Err(format!(
            "{name} is no program; a rule is about one program and its arguments, whatever stands before it"
        ));
    }
    if name.contains('{') && name.contains(',') {
        return Err("braces are no alternatives in a rule about commands; write one rule for each".into());
    }
    if name.starts_with('$') {
        return Err(UNEXPANDED.into());
    }
    match is_expression(name) {
        true => Err(format!("{name} is no program: {EXPRESSION}")),
        false => Ok(()),
    }
}

/// Whether a word assigns to a variable.
fn is_assignment(word: &str) -> bool {
    let variable = word.split(['=', '+', '[']).next().unwrap_or_default();
    word.contains('=')
        && variable.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && variable.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// Whether a name looks like a regular expression. Before its first letter, a backslash keeps bash from taking an alias.
fn is_expression(name: &str) -> bool {
    let mut escaped = name.strip_prefix('\\').unwrap_or(name).split('\\').skip(1);
    name.starts_with(['^', '!'])
        || name.starts_with(".*")
        || escaped.any(|rest| rest.starts_with(|char: char| char.is_ascii_alphanumeric()))
}
