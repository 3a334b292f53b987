//! Builtins of the shell: the variables that they set, and whether they run texts or change what later commands mean.

use super::Analysis;
use super::options::ParsedOptions;
use super::values::ValueKind;
use super::word::{ExpansionSource, Word, WordPiece, is_name_char};

/// Builtins without effects outside the shell, which evaluate nothing.
const HARMLESS: [&str; 12] =
    [":", "true", "false", "exit", "return", "break", "continue", "shift", "echo", "pwd", "type", "umask"];

/// Builtins that also exist as programs.
const PROGRAMS: [&str; 8] = [":", "true", "false", "echo", "printf", "pwd", "test", "["];

/// Whether a program with that name does the same as the builtin.
pub(super) fn is_program(name: &str) -> bool {
    PROGRAMS.contains(&name)
}

/// Builtins that change what commands mean, load code, or evaluate their arguments.
const POWERFUL: [&str; 18] = [
    "alias", "unalias", "bind", "complete", "compgen", "compopt", "enable", "fc", "getopts", "hash",
    "history", "jobs", "let", "source", ".", "coproc", "dirs", "caller",
];

/// Options of `set` that do not affect what is run, and names for its `-o`.
const SET: &str = "+euxvEbChmTo:";
const SET_NAMES: [&str; 9] =
    ["pipefail", "errexit", "nounset", "xtrace", "verbose", "errtrace", "functrace", "noclobber", "monitor"];

/// Options of `shopt` that make patterns match no further file name. `nocaseglob`, `globstar` and `dotglob` would.
const SHOPT: [&str; 3] = ["nullglob", "failglob", "inherit_errexit"];

const NAMES: &str = "it can set any variable, or run what its subscript holds";

/// The hazard of a builtin with these arguments, if it can do more than its name says; `None` if it is not a builtin.
pub(super) fn look(name: &str, args: &[Word], out: &mut Analysis) -> Option<Option<String>> {
    let unsure = |is_sure: bool, why: &str| (!is_sure).then(|| format!("{name}: {why}"));
    let options = |known| ParsedOptions::read(args, known);
    let hazard = match name {
        _ if HARMLESS.contains(&name) => None,
        _ if POWERFUL.contains(&name) => Some(format!("{name} can change what commands mean or run code")),
        "set" => unsure(is_plain_setting(args, out), "an option of it can change what commands mean"),
        "shopt" => unsure(is_plain_shopt(args), "an option of it can change what commands mean"),
        "test" | "[" => unsure(is_plain_test(args, out), "it evaluates the name of a variable"),
        "printf" => unsure(prints(args, out), NAMES),
        "wait" => unsure(waits(args, out), NAMES),
        "read" => {
            out.takes_input = true;
            unsure(options("ersa:d:i:n:N:p:t:u:").is_some_and(|found| read(&found, out)), NAMES)
        }
        "mapfile" | "readarray" => {
            out.takes_input = true;
            unsure(options("td:n:O:s:u:").is_some_and(|found| map_file(&found, out)), NAMES)
        }
        "unset" => unsure(options("v").is_some_and(|found| unset(&found, out)), NAMES),
        "export" => unsure(options("p").is_some_and(|found| declare(&found, false, out)), NAMES),
        "declare" | "typeset" | "local" | "readonly" => {
            unsure(options("aAgrxp").is_some_and(|found| declare(&found, true, out)), NAMES)
        }
        _ => return None,
    };
    if hazard.is_some() {
        out.values.lose();
    }
    Some(hazard)
}

/// Records the variables that `read` sets; the value of `-a` is an array.
fn read(options: &ParsedOptions<'_>, out: &mut Analysis) -> bool {
    out.values.assign("REPLY", ValueKind::Any);
    let lists = options.values_of(&["a"]).map(|name| (name, true));
    let names = options.operands.iter().map(|name| (name, false));
    lists.chain(names).fold(true, |is_sure, (name, is_list)| assign(name, is_list, out) && is_sure)
}

fn map_file(options: &ParsedOptions<'_>, out: &mut Analysis) -> bool {
    out.values.assign("MAPFILE", ValueKind::Any);
    options.operands.len() < 2 && options.operands.iter().all(|name| assign(name, true, out))
}

fn unset(options: &ParsedOptions<'_>, out: &mut Analysis) -> bool {
    let names: Option<Vec<String>> = options.operands.iter().map(|name| plain_name(name, out)).collect();
    let is_sure = names.as_ref().is_some_and(|names| !names.iter().any(|name| out.functions.contains(name)));
    out.unset.extend(names.unwrap_or_default());
    is_sure
}

/// `NAME` or `NAME=value`. The value of an array is evaluated.
fn declare(options: &ParsedOptions<'_>, has_lists: bool, out: &mut Analysis) -> bool {
    let is_list = options.letters.contains(['a', 'A']);
    options.operands.iter().all(|word| {
        let Some((name, value)) = word.assignment() else {
            let name = plain_name(word, out);
            name.iter().filter(|_| is_list).for_each(|name| out.values.list(name));
            return name.is_some() && !word.may_split();
        };
        out.values.assign_word(&name, value);
        if has_lists && value.first().is_some_and(may_begin_list) {
            out.values.scalar(&name);
        }
        !is_list && !out.is_telling(&name)
    })
}

/// Whether a value may be that of an array, judging by its first character.
fn may_begin_list(first: &WordPiece) -> bool {
    matches!(
        first,
        WordPiece::Char { char: '(', .. }
            | WordPiece::Unknown { source: ExpansionSource::Other | ExpansionSource::Variable(_), .. }
    )
}

fn assign(word: &Word, is_list: bool, out: &mut Analysis) -> bool {
    let Some(name) = plain_name(word, out) else { return false };
    out.values.assign(&name, ValueKind::Any);
    if is_list {
        out.values.list(&name);
    }
    true
}

/// The name of a variable that does not affect what is run.
fn plain_name(word: &Word, out: &Analysis) -> Option<String> {
    let name = word.text().filter(|name| !name.is_empty() && !out.is_telling(name))?;
    name.chars().enumerate().all(|(at, char)| is_name_char(char, at == 0)).then_some(name)
}

fn is_plain_setting(args: &[Word], out: &mut Analysis) -> bool {
    let Some(options) = ParsedOptions::read(args, SET) else { return false };
    trace(&options, out);
    options.values_of(&["o"]).all(is_plain_option)
}

/// Records whether options of a shell, or of `set`, make it show what it runs.
pub(super) fn trace(options: &ParsedOptions<'_>, out: &mut Analysis) {
    let mut named = options.values_of(&["o"]).map(Word::text);
    if options.letters.contains('x') || named.any(|name| name.is_none_or(|name| name == "xtrace")) {
        out.values.trace();
    }
}

/// Whether a shell option does not affect what is run.
pub(super) fn is_plain_option(name: &Word) -> bool {
    name.text().is_some_and(|name| SET_NAMES.contains(&&*name))
}

fn is_plain_shopt(args: &[Word]) -> bool {
    let is_plain = |text: String| matches!(&*text, "-s" | "-u" | "-q") || SHOPT.contains(&&*text);
    args.iter().all(|arg| arg.text().is_some_and(is_plain))
}

/// `wait` with process ids or job specs.
fn waits(args: &[Word], out: &mut Analysis) -> bool {
    args.iter().all(|word| {
        matches!(word.text().as_deref(), Some("-n" | "-f" | "-nf" | "-fn"))
            || word.first() == Some('%')
            || out.values.require(&word.pieces, ValueKind::Number)
    })
}

/// `printf`, which can set variables with `-v`, and with `%n` in its format.
fn prints(args: &[Word], out: &mut Analysis) -> bool {
    let text = |at: usize| args.get(at).and_then(Word::text);
    let mut at = 0;
    while text(at).as_deref() == Some("-v") {
        if !args.get(at + 1).is_some_and(|name| assign(name, false, out)) {
            return false;
        }
        at += 2;
    }
    let has_end = text(at).as_deref() == Some("--");
    at += usize::from(has_end);
    let Some(format) = args.get(at) else { return true };
    let is_option =
        !has_end && format.first().is_none_or(|char| char == '-') && format.text().as_deref() != Some("-");
    let has_values = args.len() > at + 1 || format.may_split();
    !is_option && (!has_values || format.text().is_some_and(|format| !counts(&format)))
}

/// Whether a format of `printf` contains `%n`.
fn counts(format: &str) -> bool {
    let mut rest = format.chars();
    while let Some(char) = rest.next() {
        if char == '%' && rest.find(|char| !"#0- +'123456789.*hlLjztq".contains(*char)) == Some('n') {
            return true;
        }
    }
    false
}

/// Whether `-v` cannot precede a subscript. A word that splits can contain both, and one that may be empty hides which words
/// are adjacent.
fn is_plain_test(args: &[Word], out: &mut Analysis) -> bool {
    const OPERATORS: [&str; 2] = ["-v", "-R"];
    let splits = |word: &Word| word.may_be_words();
    if !args.iter().filter(|word| splits(word)).all(|word| out.values.require(&word.pieces, ValueKind::Token))
    {
        return false;
    }
    (0..args.len()).all(|at| {
        let may_be_operator = OPERATORS.iter().any(|operator| args[at].may_be(operator));
        let is_pattern = args[at].may_split() && !splits(&args[at]);
        let last = (at + 1..args.len()).find(|at| !splits(&args[*at])).unwrap_or(args.len());
        let next = args.get(at + 1..=last.min(args.len().saturating_sub(1))).unwrap_or_default();
        !may_be_operator || !is_pattern && !next.iter().any(may_have_subscript)
    })
}

/// Whether a word may contain a bracket. The values of words that split are known to contain none.
fn may_have_subscript(word: &Word) -> bool {
    !word.may_be_words()
        && word.pieces.iter().any(|piece| match piece {
            WordPiece::Char { char, quoted } => *char == '[' || !quoted && matches!(char, '*' | '?'),
            WordPiece::Unknown { source, .. } => *source != ExpansionSource::Number,
            WordPiece::EmptyQuotes => false,
        })
}
