//! Programs that start another program, which their own command line names.

use super::InvocationKind;
use super::parser::is_name;
use super::word::Word;

/// How a wrapper's command line is made up. Options that are not listed are not understood.
struct Wrapper {
    names: &'static [&'static str],
    /// Letters of options without a value.
    flags: &'static str,
    /// Letters of options with a value, in the same word or the next.
    valued: &'static str,
    /// Letters of options whose value, where they have one, is the rest of their word.
    optional: &'static str,
    /// Long options without a value, or with one behind `=`.
    long: &'static [&'static str],
    /// Long options with a value.
    long_valued: &'static [&'static str],
    /// Words before the command.
    operands: usize,
    /// Whether `NAME=value` may stand before the command.
    assigns: bool,
    standing: InvocationKind,
}

const PLAIN: Wrapper = Wrapper {
    names: &["nohup", "builtin", "time"],
    flags: "",
    valued: "",
    optional: "",
    long: &[],
    long_valued: &[],
    operands: 0,
    assigns: false,
    standing: InvocationKind::Wrapper,
};

const WRAPPERS: [Wrapper; 13] = [
    PLAIN,
    Wrapper { names: &["command"], flags: "p", ..PLAIN },
    // Its options -l and -a make login shells, which read files first.
    Wrapper { names: &["exec"], flags: "c", ..PLAIN },
    Wrapper {
        names: &["env"],
        flags: "iv0",
        valued: "uC",
        long: &["ignore-environment", "debug", "null"],
        long_valued: &["unset", "chdir"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        names: &["timeout"],
        flags: "v",
        valued: "ks",
        long: &["foreground", "preserve-status", "verbose"],
        long_valued: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { names: &["nice"], flags: "0123456789", valued: "n", long_valued: &["adjustment"], ..PLAIN },
    Wrapper { names: &["setsid"], flags: "cfw", long: &["ctty", "fork", "wait"], ..PLAIN },
    Wrapper { names: &["stdbuf"], valued: "ioe", long_valued: &["input", "output", "error"], ..PLAIN },
    Wrapper {
        names: &["ionice"],
        flags: "t",
        valued: "cn",
        long: &["ignore"],
        long_valued: &["class", "classdata"],
        ..PLAIN
    },
    Wrapper {
        names: &["xargs"],
        flags: "0rtpxo",
        valued: "adELnPsI",
        optional: "eil",
        long: &[
            "null",
            "no-run-if-empty",
            "verbose",
            "exit",
            "interactive",
            "open-tty",
            "eof",
            "max-lines",
            "replace",
        ],
        long_valued: &["arg-file", "delimiter", "max-args", "max-procs", "max-chars"],
        ..PLAIN
    },
    Wrapper {
        names: &["sudo"],
        flags: "EHnSkKbAP",
        valued: "ugpCrtTRDh",
        long: &["preserve-env", "set-home", "non-interactive", "stdin", "background"],
        long_valued: &["user", "group", "chdir", "chroot"],
        assigns: true,
        standing: InvocationKind::Judged,
        ..PLAIN
    },
    Wrapper { names: &["doas"], flags: "n", valued: "uC", standing: InvocationKind::Judged, ..PLAIN },
    Wrapper { names: &["busybox", "toybox"], standing: InvocationKind::Judged, ..PLAIN },
];

/// What a wrapper starts.
#[derive(Debug)]
pub(super) struct Unwrapped {
    /// The command; empty where there is none.
    pub(super) inner: Vec<Word>,
    /// Names that are set for it.
    pub(super) assigned: Vec<String>,
    /// What stands for the texts that xargs reads.
    mark: Option<String>,
    /// The wrapper's own standing.
    pub(super) standing: InvocationKind,
    /// What is not understood of its options.
    pub(super) odd: Option<&'static str>,
}

/// What a program of that name starts, if it is a wrapper; `words` begin with the name.
pub(super) fn unwrap(name: &str, words: &[Word]) -> Option<Unwrapped> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))?;
    let mut found = Unwrapped {
        inner: Vec::new(),
        assigned: Vec::new(),
        mark: None,
        standing: wrapper.standing,
        odd: None,
    };
    let at = wrapper.skip(words, &mut found);
    found.inner = words.get(at..).unwrap_or_default().to_vec();
    if name == "xargs" {
        if found.inner.is_empty() {
            found.inner.push(Word::literal("echo"));
        }
        found.inner.push(Word::unknown());
        if let Some(mark) = &found.mark {
            found.inner.iter_mut().for_each(|word| fill(word, mark));
        }
    }
    Some(found)
}

/// With `xargs -I mark`, every mark in the command stands for what is read.
fn fill(word: &mut Word, mark: &str) {
    if word.text().is_none_or(|text| text.contains(mark)) && !word.may_split() {
        *word = Word::unknown();
    }
}

impl Unwrapped {
    /// Takes note of a mark; of two, it is not worked out which one holds.
    fn marks(&mut self, value: &str) {
        let mark = if value.is_empty() { "{}" } else { value };
        if self.mark.replace(mark.to_owned()).is_some() {
            self.odd = Some("two texts stand for what is read");
        }
    }

    /// The mark of `-I` where it is a word of its own.
    fn takes(&mut self, option: &str, value: Option<&Word>) {
        if self.mark.is_some() && option.ends_with('I') {
            self.mark = value.and_then(Word::text).filter(|mark| !mark.is_empty());
            if self.mark.is_none() {
                self.odd = Some("what stands for the texts that it reads is not known");
            }
        }
    }
}

impl Wrapper {
    /// Where the command begins.
    fn skip(&self, words: &[Word], found: &mut Unwrapped) -> usize {
        let (mut at, mut operands, mut has_options) = (1, self.operands, true);
        while let Some(word) = words.get(at) {
            let Some(text) = word.text() else {
                found.odd = Some("what it runs shows only when it runs");
                return at;
            };
            if has_options && text == "--" {
                has_options = false;
            } else if has_options && text.starts_with('-') && text != "-" {
                if self.takes_next(&text, found) {
                    at += 1;
                    found.takes(&text, words.get(at));
                }
            } else if has_options && text == "-" {
                has_options = false;
                found.odd = if self.assigns { found.odd } else { Some("an option is not known") };
            } else if let Some(name) = self.assigned(&text) {
                has_options = false;
                if !is_name(name) {
                    found.odd = Some("what it sets is no variable");
                }
                found.assigned.push(name.to_owned());
            } else if operands > 0 {
                (operands, has_options) = (operands - 1, false);
            } else {
                return at;
            }
            at += 1;
        }
        at
    }

    fn assigned<'t>(&self, text: &'t str) -> Option<&'t str> {
        text.split_once('=').map(|(name, _)| name).filter(|_| self.assigns)
    }

    /// Whether an option has its value in the next word.
    fn takes_next(&self, text: &str, found: &mut Unwrapped) -> bool {
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let is_flag = self.long.contains(&name);
            if !is_flag && !self.long_valued.contains(&name) {
                found.odd = Some("an option is not known");
            }
            if name == "replace" {
                found.marks(value.unwrap_or_default());
            }
            return !is_flag && value.is_none();
        }
        for (at, letter) in text.char_indices().skip(1) {
            let value = &text[at + letter.len_utf8()..];
            if self.optional.contains(letter) {
                if letter == 'i' {
                    found.marks(value);
                }
                return false;
            }
            if self.valued.contains(letter) {
                if letter == 'I' {
                    found.marks(value);
                }
                return value.is_empty();
            }
            if !self.flags.contains(letter) {
                found.odd = Some("an option is not known");
                return false;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inner(text: &str) -> (String, bool) {
        let words: Vec<Word> = text.split(' ').map(Word::literal).collect();
        let found = unwrap(&words[0].text().unwrap(), &words).unwrap();
        (found.inner.iter().map(Word::shown).collect::<Vec<_>>().join(" "), found.odd.is_some())
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
            ("busybox rm x", "rm x"),
        ] {
            assert_eq!(inner(text), (expected.to_owned(), false), "{text}");
        }
    }

    #[test]
    fn an_unknown_option_is_odd() {
        assert!(inner("env -S rm").1 && inner("timeout --what 5 rm").1 && inner("sudo -i rm").1);
    }
}
