//! Builtins of the shell: which variables they set, and which of them run texts or change what later commands mean.

use super::values::ValueKind;
use super::variable::is_telling;
use super::word::{ExpansionSource, Word, WordPiece, is_name_char};
use super::{Analysis, InvocationKind, parser};

/// What is to be known of a builtin.
pub(super) struct Builtin {
    pub(super) standing: InvocationKind,
    pub(super) hazard: Option<String>,
}

/// Builtins that do nothing beyond the shell, and evaluate nothing.
const HARMLESS: [&str; 12] =
    [":", "true", "false", "exit", "return", "break", "continue", "shift", "echo", "pwd", "type", "umask"];

/// Builtins of which there are programs that do the same.
const PROGRAMS: [&str; 8] = [":", "true", "false", "echo", "printf", "pwd", "test", "["];

/// Whether a program of that name does what the builtin does.
pub(super) fn is_program(name: &str) -> bool {
    PROGRAMS.contains(&name)
}

/// Builtins that change what commands mean, load code, or evaluate their arguments.
const POWERFUL: [&str; 16] = [
    "alias", "unalias", "bind", "complete", "compgen", "compopt", "enable", "fc", "hash", "history", "jobs",
    "source", ".", "coproc", "dirs", "caller",
];

/// Letters and names of options of `set` that change nothing about what is run.
const SET: &str = "euxvEbChmT";
const SET_NAMES: [&str; 9] =
    ["pipefail", "errexit", "nounset", "xtrace", "verbose", "errtrace", "functrace", "noclobber", "monitor"];

/// Options of `shopt` that change only what patterns of file names match.
const SHOPT: [&str; 6] = ["nullglob", "failglob", "globstar", "dotglob", "nocaseglob", "inherit_errexit"];

const NAMES: &str = "it can set any variable, or run what its subscript holds";

/// What a builtin of that name does with these arguments; `None` for any other program.
pub(super) fn look(name: &str, args: &[Word], depth: usize, out: &mut Analysis) -> Option<Builtin> {
    let unsure = |is_sure: bool, why: &str| (!is_sure).then(|| format!("{name}: {why}"));
    let options = |flags, valued| ParsedOptions::read(args, flags, valued);
    let hazard = match name {
        _ if HARMLESS.contains(&name) => None,
        _ if POWERFUL.contains(&name) => Some(format!("{name} can change what commands mean or run code")),
        "set" => unsure(is_plain_setting(args), "an option of it can change what commands mean"),
        "shopt" => unsure(is_plain_shopt(args), "an option of it can change what commands mean"),
        "let" => unsure(!args.is_empty() && evaluates(args, depth, out), "its arithmetic is not plain"),
        "test" | "[" => unsure(is_plain_test(args, out), "it evaluates the name of a variable"),
        "printf" => unsure(prints(args, out), NAMES),
        "wait" => unsure(waits(args, out), NAMES),
        "read" => {
            out.takes_input = true;
            unsure(options("ers", "adinNptu").is_some_and(|found| found.assign("a", "REPLY", out)), NAMES)
        }
        "mapfile" | "readarray" => {
            out.takes_input = true;
            unsure(options("t", "dnOsu").is_some_and(|found| found.assign_list("MAPFILE", out)), NAMES)
        }
        "getopts" => unsure(gets_options(args, out), NAMES),
        "unset" => unsure(options("v", "").is_some_and(|found| found.unset(out)), NAMES),
        "export" => unsure(options("p", "").is_some_and(|found| found.declare(false, out)), NAMES),
        "declare" | "typeset" | "local" | "readonly" => {
            unsure(options("aAgrxp", "").is_some_and(|found| found.declare(true, out)), NAMES)
        }
        _ => return None,
    };
    if hazard.is_some() {
        out.values.lose();
    }
    let standing = if hazard.is_none() { InvocationKind::Harmless } else { InvocationKind::Judged };
    Some(Builtin { standing, hazard })
}

/// The arguments of a builtin behind its options.
struct ParsedOptions<'a> {
    letters: String,
    /// Letters of options with their values.
    values: Vec<(char, Word)>,
    operands: &'a [Word],
}

impl<'a> ParsedOptions<'a> {
    /// Options with and without values; `None` where one is not known.
    fn read(args: &'a [Word], flags: &str, valued: &str) -> Option<Self> {
        let mut found = Self { letters: String::new(), values: Vec::new(), operands: args };
        while let Some((first, rest)) = found.operands.split_first() {
            if first.first().is_some_and(|char| !"-+".contains(char)) {
                break;
            }
            let text = first.text()?;
            match &*text {
                "" => break,
                "--" => {
                    found.operands = rest;
                    break;
                }
                "-" => return None,
                _ => found.operands = found.group(text.strip_prefix('-')?, rest, flags, valued)?,
            }
        }
        Some(found)
    }

    /// One word of options; the arguments behind it and its value.
    fn group(&mut self, letters: &str, rest: &'a [Word], flags: &str, valued: &str) -> Option<&'a [Word]> {
        for (at, letter) in letters.char_indices() {
            if valued.contains(letter) {
                let value = &letters[at + letter.len_utf8()..];
                if !value.is_empty() {
                    self.values.push((letter, Word::literal(value)));
                    return Some(rest);
                }
                let (next, rest) = rest.split_first().filter(|(next, _)| !next.may_split())?;
                self.values.push((letter, next.clone()));
                return Some(rest);
            }
            self.letters.push(Some(letter).filter(|letter| flags.contains(*letter))?);
        }
        Some(rest)
    }

    /// Takes note of the variables that `read` sets, an array behind the option `array`.
    fn assign(self, array: &str, default: &str, out: &mut Analysis) -> bool {
        let list = self.values.iter().filter(|(letter, _)| array.contains(*letter)).map(|(_, name)| name);
        let mut is_sure = true;
        for (name, is_list) in
            list.map(|name| (name, true)).chain(self.operands.iter().map(|name| (name, false)))
        {
            is_sure &= assign(name, is_list, out);
        }
        out.values.assign(default, ValueKind::Any);
        is_sure
    }

    fn assign_list(self, default: &str, out: &mut Analysis) -> bool {
        out.values.assign(default, ValueKind::Any);
        self.operands.len() < 2 && self.operands.iter().all(|name| assign(name, true, out))
    }

    fn unset(self, out: &mut Analysis) -> bool {
        let names: Option<Vec<String>> = self.operands.iter().map(plain_name).collect();
        let is_sure =
            names.as_ref().is_some_and(|names| !names.iter().any(|name| out.functions.contains(name)));
        out.unset.extend(names.unwrap_or_default());
        is_sure
    }

    /// `NAME` or `NAME=value`. The value of an array is evaluated.
    fn declare(self, has_lists: bool, out: &mut Analysis) -> bool {
        let is_list = self.letters.contains(['a', 'A']);
        self.operands.iter().all(|word| {
            let Some((name, value)) = word.assignment() else {
                let name = plain_name(word);
                name.iter().filter(|_| is_list).for_each(|name| out.values.list(name));
                return name.is_some() && !word.may_split();
            };
            out.values.assign_word(&name, value);
            if has_lists && value.first().is_some_and(may_begin_list) {
                out.values.scalar(&name);
            }
            !is_list && !is_telling(&name)
        })
    }
}

/// Whether a value is that of an array, as far as its first character tells.
fn may_begin_list(first: &WordPiece) -> bool {
    matches!(
        first,
        WordPiece::Char { char: '(', .. }
            | WordPiece::Unknown { source: ExpansionSource::Other | ExpansionSource::Variable(_), .. }
    )
}

fn assign(word: &Word, is_list: bool, out: &mut Analysis) -> bool {
    let Some(name) = plain_name(word) else { return false };
    out.values.assign(&name, ValueKind::Any);
    if is_list {
        out.values.list(&name);
    }
    true
}

/// The name of a variable that does not change what is run.
fn plain_name(word: &Word) -> Option<String> {
    let name = word.text().filter(|name| !name.is_empty() && !is_telling(name))?;
    name.chars().enumerate().all(|(at, char)| is_name_char(char, at == 0)).then_some(name)
}

fn is_plain_setting(args: &[Word]) -> bool {
    let mut args = args.iter();
    while let Some(word) = args.next() {
        match word.first() {
            Some('-' | '+') => {}
            Some(_) => return true,
            None => return false,
        }
        let Some(text) = word.text() else { return false };
        if text == "--" {
            return true;
        }
        let letters = &text[1..];
        let (letters, has_name) = letters.strip_suffix('o').map_or((letters, false), |rest| (rest, true));
        let is_known = !text[1..].is_empty() && letters.chars().all(|letter| SET.contains(letter));
        let is_name = |word: &Word| word.text().is_some_and(|name| SET_NAMES.contains(&&*name));
        if !is_known || has_name && !args.next().is_some_and(is_name) {
            return false;
        }
    }
    true
}

fn is_plain_shopt(args: &[Word]) -> bool {
    let is_plain = |text: String| matches!(&*text, "-s" | "-u" | "-q") || SHOPT.contains(&&*text);
    args.iter().all(|arg| arg.text().is_some_and(is_plain))
}

/// `let`: every argument is arithmetic.
fn evaluates(args: &[Word], depth: usize, out: &mut Analysis) -> bool {
    let mut texts = args.iter().map(Word::text);
    texts.all(|text| text.is_some_and(|text| parser::expression(&text, depth, out).is_ok()))
}

/// `wait` for numbers of processes.
fn waits(args: &[Word], out: &mut Analysis) -> bool {
    args.iter().all(|word| {
        matches!(word.text().as_deref(), Some("-n" | "-f" | "-nf" | "-fn"))
            || word.first() == Some('%')
            || out.values.require(&word.pieces, ValueKind::Number)
    })
}

fn gets_options(args: &[Word], out: &mut Analysis) -> bool {
    out.values.assign("OPTARG", ValueKind::Any);
    out.values.assign("OPTIND", ValueKind::Any);
    let [letters, name, rest @ ..] = args else { return false };
    letters.first().is_some_and(|char| char != '-')
        && !letters.may_split()
        && assign(name, false, out)
        && rest.iter().all(|word| !word.may_be_words())
}

/// `printf`, which sets a variable by `-v`, and by `%n` in its format.
fn prints(args: &[Word], out: &mut Analysis) -> bool {
    let text = |at: usize| args.get(at).and_then(Word::text);
    let mut at = 0;
    if text(at).as_deref() == Some("-v") {
        if !args.get(1).is_some_and(|name| assign(name, false, out)) {
            return false;
        }
        at = 2;
    }
    at += usize::from(text(at).as_deref() == Some("--"));
    let Some(format) = args.get(at) else { return true };
    let is_option =
        at == 0 && format.first().is_none_or(|char| char == '-') && format.text().as_deref() != Some("-");
    let has_values = args.len() > at + 1 || format.may_split();
    !is_option && (!has_values || format.text().is_some_and(|format| !counts(&format)))
}

/// Whether a format of `printf` has a `%n`.
fn counts(format: &str) -> bool {
    let mut rest = format.chars();
    while let Some(char) = rest.next() {
        if char == '%' && rest.find(|char| !"#0- +'123456789.*hlLjztq".contains(*char)) == Some('n') {
            return true;
        }
    }
    false
}

/// Whether no `-v` can come before a subscript. A word that splits can hold both; one that may come to nothing hides
/// which words stand together.
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

/// Whether a word may hold a bracket. Of those that split, the values are known to have none.
fn may_have_subscript(word: &Word) -> bool {
    !word.may_be_words()
        && word.pieces.iter().any(|piece| match piece {
            WordPiece::Char { char, quoted } => *char == '[' || !quoted && matches!(char, '*' | '?'),
            WordPiece::Unknown { source, .. } => *source != ExpansionSource::Number,
        })
}
