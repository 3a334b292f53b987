//! Programs that start the program in their command line.

use super::InvocationKind;
use super::options::ParsedOptions;
use super::parser::is_name;
use super::word::Word;

/// The syntax of a wrapper's command line.
struct Wrapper {
    names: &'static [&'static str],
    /// Its options, for [`ParsedOptions::read`]; with an unknown one, its command is unknown.
    options: &'static str,
    /// Number of operands before the command.
    operands: usize,
    /// Whether `NAME=value` may precede the command.
    assigns: bool,
    standing: InvocationKind,
}

const fn plain(names: &'static [&'static str], options: &'static str) -> Wrapper {
    Wrapper { names, options, operands: 0, assigns: false, standing: InvocationKind::Wrapper }
}

const WRAPPERS: [Wrapper; 13] = [
    plain(&["nohup", "builtin", "time"], ""),
    plain(&["command"], "pvV"),
    // The options -l and -a make login shells, which read files first.
    plain(&["exec"], "c"),
    Wrapper { assigns: true, ..plain(&["env"], "iv0u:C: ignore-environment debug null unset: chdir:") },
    Wrapper {
        operands: 1,
        ..plain(&["timeout"], "vk:s: foreground preserve-status verbose kill-after: signal:")
    },
    plain(&["nice"], "0123456789n: adjustment:"),
    plain(&["setsid"], "cfw ctty fork wait"),
    plain(&["stdbuf"], "i:o:e: input: output: error:"),
    plain(&["ionice"], "tc:n: ignore class: classdata:"),
    plain(
        &["xargs"],
        "0rtpxoa:d:E:L:n:P:s:I:e::i::l:: null no-run-if-empty verbose exit interactive open-tty eof max-lines replace \
         arg-file: delimiter: max-args: max-procs: max-chars:",
    ),
    Wrapper {
        assigns: true,
        standing: InvocationKind::Judged,
        ..plain(
            &["sudo"],
            "EHnSkKbAPu:g:p:C:r:t:T:R:D:h: preserve-env set-home non-interactive stdin background user: group: chdir: \
             chroot:",
        )
    },
    Wrapper { standing: InvocationKind::Judged, ..plain(&["doas"], "nu:C:") },
    Wrapper { standing: InvocationKind::Judged, ..plain(&["busybox", "toybox"], "") },
];

/// What a wrapper starts.
#[derive(Debug)]
pub(super) struct Unwrapped {
    /// The command; empty if there is none.
    pub(super) inner: Vec<Word>,
    /// Names of variables set for it.
    pub(super) assigned: Vec<String>,
    /// Whether it runs in another directory.
    pub(super) is_elsewhere: bool,
}

/// The kind of a wrapper with that name, and what it starts if its options are known. `words` begin with the name.
pub(super) fn unwrap(name: &str, words: &[Word]) -> Option<(InvocationKind, Option<Unwrapped>)> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))?;
    Some((wrapper.standing, wrapper.unwrap(words)))
}

impl Wrapper {
    fn unwrap(&self, words: &[Word]) -> Option<Unwrapped> {
        let options = ParsedOptions::read(&words[1..], self.options)?;
        let mut rest = options.operands;
        let mut assigned = Vec::new();
        while let (true, Some((first, more))) = (self.assigns, rest.split_first()) {
            // A dash alone is an option of `env`, even after `--`.
            let text = first.text().filter(|text| text != "-")?;
            let Some((name, _)) = text.split_once('=') else { break };
            assigned.push(Some(name.to_owned()).filter(|name| is_name(name))?);
            rest = more;
        }
        let (operands, inner) = rest.split_at_checked(self.operands)?;
        if operands.iter().any(Word::may_split) {
            return None;
        }
        let is_elsewhere = options.values_of(&["C", "D", "R", "chdir", "chroot"]).next().is_some();
        let inner = match self.names {
            ["xargs"] => read(&options, inner)?,
            // It prints what would run.
            ["command"] if options.letters.contains(['v', 'V']) => Vec::new(),
            _ => inner.to_vec(),
        };
        Some(Unwrapped { inner, assigned, is_elsewhere })
    }
}

/// The command that `xargs` starts for the texts that it reads. With `-I mark`, every mark in the command is replaced by a
/// text; with two marks, it is unknown which one applies.
fn read(options: &ParsedOptions<'_>, inner: &[Word]) -> Option<Vec<Word>> {
    let mut inner = if inner.is_empty() { vec![Word::literal("echo")] } else { inner.to_vec() };
    inner.push(Word::unknown());
    let mut marks = options.values_of(&["I", "i", "replace"]).map(Word::text);
    let Some(mark) = marks.next() else { return Some(inner) };
    let is_given = options.values_of(&["I"]).next().is_some();
    let mark = mark.filter(|mark| marks.next().is_none() && !(mark.is_empty() && is_given))?;
    let mark = if mark.is_empty() { "{}" } else { &mark };
    Some(inner.into_iter().map(|word| filled(word, mark)).collect())
}

/// A word of a command in which a mark is replaced at run time.
pub(super) fn filled(word: Word, mark: &str) -> Word {
    if word.text().is_none_or(|text| text.contains(mark)) { Word::unknown() } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner(text: &str) -> Option<String> {
        let words: Vec<Word> = text.split(' ').map(Word::literal).collect();
        let (_, found) = unwrap(&words[0].text().unwrap(), &words).unwrap();
        Some(found?.inner.iter().map(Word::shown).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_command_is_found_behind_the_options() {
        for (text, expected) in [
            ("env -i -u X A=1 rm -rf x", "rm -rf x"),
            ("timeout -k 5 --signal=KILL 10 rm x", "rm x"),
            ("nice -n 5 rm x", "rm x"),
            ("nice -5 rm x", "rm x"),
            ("stdbuf -oL rm x", "rm x"),
            ("sudo -u root -- rm x", "rm x"),
            ("xargs -n1 rm", "rm …"),
            ("xargs", "echo …"),
            ("xargs --max-lines rm", "rm …"),
            ("xargs -i a {}", "a … …"),
            ("busybox rm x", "rm x"),
        ] {
            assert_eq!(inner(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn with_an_option_that_is_not_known_it_is_not_found() {
        for text in [
            "env -S rm",
            "timeout --what 5 rm",
            "sudo -i rm",
            "env - rm",
            "env -- - A=1 rm",
            "env -i -- - rm",
            "env -vS rm",
            "xargs -0I% -i x",
            "xargs --verb rm",
        ] {
            assert_eq!(inner(text), None, "{text}");
        }
    }
}
