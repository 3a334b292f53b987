//! Options of programs that make them run another program, or write a file that nobody expects them to write.
//!
//! Programs take any beginning of a long option that is not ambiguous, and several short ones in one word. What an
//! expansion hides may be such an option, too.

use super::word::Word;

/// What of a program's command line is dangerous.
struct Armed {
    names: &'static [&'static str],
    /// Letters of dangerous short options.
    short: &'static str,
    /// Letters of other short options whose value is the rest of their word.
    valued: &'static str,
    /// Names of dangerous long options, without their dashes.
    long: &'static [&'static str],
    /// Beginnings of other words that are dangerous.
    starts: &'static [&'static str],
}

const NONE: Armed = Armed { names: &[], short: "", valued: "", long: &[], starts: &[] };

const ARMED: [Armed; 21] = [
    Armed {
        names: &["tar", "bsdtar"],
        short: "IF",
        valued: "fCTXbgHKLNV",
        long: &[
            "checkpoint-action",
            "to-command",
            "use-compress-program",
            "rsh-command",
            "rmt-command",
            "info-script",
            "new-volume-script",
        ],
        ..NONE
    },
    Armed { names: &["sort"], short: "o", valued: "kStT", long: &["compress-program", "output"], ..NONE },
    Armed { names: &["split"], valued: "abClnt", long: &["filter"], ..NONE },
    Armed { names: &["zip"], short: "T", long: &["unzip-command", "test"], ..NONE },
    Armed {
        names: &["wget"],
        short: "e",
        valued: "aoOiBtTwQPUlDARIX",
        long: &["execute", "use-askpass", "config"],
        ..NONE
    },
    Armed {
        names: &["curl"],
        short: "K",
        valued: "AbcCdDeEFHmoPQrtTuUwxXyYz",
        long: &["config", "engine"],
        ..NONE
    },
    Armed { names: &["scp"], short: "SoFD", valued: "cilPJX", ..NONE },
    Armed { names: &["sftp"], short: "SoFDb", valued: "BciJlPRX", ..NONE },
    Armed {
        names: &["rsync"],
        short: "eM",
        valued: "fBT",
        long: &["rsh", "rsync-path", "remote-option", "daemon", "config"],
        ..NONE
    },
    Armed {
        names: &["gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran"],
        starts: &["-wrapper", "-B", "-fplugin", "-fpass-plugin", "-specs", "--specs", "-load", "@"],
        ..NONE
    },
    Armed {
        names: &["man"],
        short: "PHC",
        valued: "LRmMSserpE",
        long: &["pager", "html", "config-file"],
        ..NONE
    },
    Armed { names: &["rg"], valued: "ABCdeEfgjmMrtT", long: &["pre", "hostname-bin"], ..NONE },
    Armed {
        names: &["fd", "fdfind"],
        short: "xX",
        valued: "cdeEjoStT",
        long: &["exec", "exec-batch"],
        ..NONE
    },
    Armed {
        names: &["less"],
        short: "oOkK",
        valued: "bDhjpPtTxyz",
        long: &["log-file", "LOG-FILE", "lesskey-file", "lesskey-src", "lesskey-content"],
        starts: &["+"],
    },
    Armed {
        names: &["npm", "pnpm", "yarn"],
        long: &["script-shell", "shell", "prefix", "node-options", "userconfig", "globalconfig"],
        ..NONE
    },
    Armed { names: &["cargo"], long: &["config"], ..NONE },
    Armed {
        names: &["go"],
        starts: &[
            "-exec",
            "--exec",
            "-toolexec",
            "--toolexec",
            "-vettool",
            "--vettool",
            "-overlay",
            "--overlay",
        ],
        ..NONE
    },
    Armed { names: &["install"], valued: "gmotST", long: &["strip-program"], ..NONE },
    Armed { names: &["make", "gmake"], short: "E", valued: "CIjloOWf", long: &["eval"], ..NONE },
    Armed { names: &["find"], starts: &["-files0-from"], ..NONE },
    Armed { names: &["sed"], ..NONE },
];

/// Programs for which words behind `--` are more than names of files.
const GOING_ON: [&str; 3] = ["find", "make", "gmake"];

/// Why a program may run another one, or write, by one of its options.
pub(super) fn look(name: &str, args: &[Word]) -> Option<String> {
    let armed = ARMED.iter().find(|armed| armed.names.contains(&name))?;
    for arg in args {
        let Some(text) = arg.text() else {
            match may_be_option(arg) {
                true => return Some(format!("an option of {name} may hide in what shows only when it runs")),
                false => continue,
            }
        };
        if text == "--" && !GOING_ON.contains(&name) {
            return None;
        }
        if armed.has(&text) {
            return Some(format!("{name} {text} can run another program or write a file"));
        }
    }
    None
}

impl Armed {
    fn has(&self, text: &str) -> bool {
        self.starts.iter().any(|start| text.starts_with(start))
            || match (text.strip_prefix("--"), text.strip_prefix('-')) {
                (Some(long), _) => begins_one(long, self.long),
                (None, Some(letters)) => {
                    let mut letters = letters.chars().take_while(|letter| !self.valued.contains(*letter));
                    letters.any(|letter| self.short.contains(letter))
                }
                (None, None) => false,
            }
    }
}

/// Whether a long option, with a value or without, is one of these or a beginning of one.
pub(super) fn begins_one(option: &str, names: &[&str]) -> bool {
    let given = option.split('=').next().unwrap_or_default();
    !given.is_empty() && names.iter().any(|name| name.starts_with(given))
}

/// Whether what a word turns out to be can be an option.
pub(super) fn may_be_option(word: &Word) -> bool {
    word.may_be_words() || word.first().is_none_or(|char| char == '-')
}
