//! Programs that run other code when certain arguments say so.

use super::options::{self, begins_one};
use super::word::Word;

/// Programs that run a program of their command line and are not seen through.
const RUNNERS: &[&str] = &[
    "watch",
    "parallel",
    "flock",
    "script",
    "entr",
    "strace",
    "ltrace",
    "gdb",
    "lldb",
    "unshare",
    "nsenter",
    "chroot",
    "su",
    "runuser",
    "pkexec",
    "systemd-run",
    "at",
    "batch",
    "crontab",
    "ssh",
    "docker",
    "podman",
    "kubectl",
    "lxc",
    "chrt",
    "taskset",
    "numactl",
    "cgexec",
    "fakeroot",
    "proot",
    "firejail",
    "bwrap",
    "dbus-run-session",
    "xvfb-run",
    "start-stop-daemon",
    "daemonize",
    "screen",
    "tmux",
    "expect",
    "rlwrap",
    "valgrind",
    "perf",
    "socat",
    "nc",
    "ncat",
    "netcat",
    "setarch",
    "linux32",
    "linux64",
    "i386",
    "x86_64",
    "prlimit",
    "choom",
    "setpriv",
    "capsh",
    "dash-run",
    "unbuffer",
    "vim",
    "nvim",
    "vi",
    "view",
    "ex",
    "ed",
    "emacs",
    "nano",
    "sqlite3",
    "psql",
    "mysql",
    "m4",
    "gnuplot",
    "chpst",
];

/// Programs that run code in a language of their own.
const INTERPRETERS: [&str; 34] = [
    "python",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "osascript",
    "Rscript",
    "R",
    "julia",
    "ghci",
    "irb",
    "pypy",
    "guile",
    "pwsh",
    "erl",
    "elixir",
    "iex",
    "dc",
    "sbcl",
    "racket",
    "ocaml",
    "groovy",
    "jshell",
];

/// Why a program may run more than its name says, given its arguments.
pub(super) fn of(name: &str, args: &[Word]) -> Option<String> {
    let texts: Vec<Option<String>> = args.iter().map(Word::text).collect();
    let has = |test: &dyn Fn(&str) -> bool| texts.iter().flatten().any(|text| test(text));
    let runs = |why: &str| Some(format!("{name} {why}"));
    match name {
        "git" => git(args),
        "tar" | "bsdtar" if has(&|text| text.contains(':')) || texts.first().is_some_and(is_old_tar_hook) => {
            runs("runs another program by one of its options")
        }
        "sed" if sed(&texts) => runs("may run or write by its script"),
        "make" | "gmake" if make(&texts) => runs("is told what to run by its arguments"),
        _ if is_loader(name) || RUNNERS.contains(&name) => runs("runs another program that is not looked at"),
        _ if is_interpreter(name) => interpreter(name, &texts),
        _ => options::look(name, args),
    }
}

fn is_loader(name: &str) -> bool {
    name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so"
}

/// Whether a program is an interpreter, with a version at its end or without.
fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.' || char == '-');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&bare)
}

/// Code in the arguments, or from standard input, is not looked at; a script is the rule's own matter.
fn interpreter(name: &str, texts: &[Option<String>]) -> Option<String> {
    let is_inline = match texts.first() {
        None => true,
        Some(None) => true,
        Some(Some(_)) if name.ends_with("awk") => !awk_text(texts).is_some_and(is_plain_awk),
        Some(Some(text)) => text.starts_with('-') && !matches!(&**text, "--version" | "-V" | "-m" | "--help"),
    };
    is_inline.then(|| format!("{name} runs code that is not looked at"))
}

/// The program among the arguments of awk, behind a field separator and variables.
fn awk_text(texts: &[Option<String>]) -> Option<&str> {
    let mut texts = texts.iter();
    loop {
        match texts.next()?.as_deref()? {
            "-F" | "-v" => _ = texts.next()?.as_deref()?,
            text if text.starts_with("-F") || text.starts_with("-v") => {}
            text => return Some(text),
        }
    }
}

/// Programs of awk that compare, count and print, and nothing else.
fn is_plain_awk(text: &str) -> bool {
    let bare = text.replace("||", " ").replace(">=", " ");
    let is_redirected = bare.contains('>') && bare.contains("print");
    let hooks = ["system", "getline", "ARGV", "ARGC", "|", "@", "\\"];
    !text.starts_with('-') && !is_redirected && !hooks.iter().any(|hook| bare.contains(hook))
}

/// Whether a word is a group of short options with one of these letters.
fn is_cluster(text: &str, letters: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(|char| letters.contains(char))
}

/// `tar cIf …`: a first word without a dash is a group of options all the same.
fn is_old_tar_hook(text: &Option<String>) -> bool {
    text.as_ref().is_some_and(|text| !text.starts_with('-') && text.contains(['I', 'F']))
}

/// Variables, and makefiles that are no files of the project but what the command itself says.
fn make(texts: &[Option<String>]) -> bool {
    let mut is_file = false;
    texts.iter().flatten().any(|text| {
        let value = match (text.strip_prefix("--"), text.strip_prefix('-')) {
            _ if std::mem::take(&mut is_file) => Some(&**text),
            (Some(long), _) if begins_one(long, &["file", "makefile"]) => {
                is_file = !long.contains('=');
                long.split_once('=').map(|(_, value)| value)
            }
            (None, Some(letters)) => letters.split_once('f').and_then(|(_, value)| {
                is_file = value.is_empty();
                (!value.is_empty()).then_some(value)
            }),
            (None, None) => return text.split_once('=').is_some_and(|(_, value)| !is_switch(value)),
            _ => None,
        };
        value.is_some_and(|value| value == "-" || value.starts_with("/dev/") || value.starts_with("/proc/"))
    })
}

/// Whether a value of a variable is a number or a switch, which nobody can run.
fn is_switch(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit()) || matches!(value, "yes" | "no" | "on" | "off")
}

/// Scripts of sed are harmless where they substitute, delete or print, and nothing else.
fn sed(texts: &[Option<String>]) -> bool {
    let (mut has_script, mut is_script) = (false, false);
    for text in texts {
        let Some(text) = text else { return !has_script };
        match &**text {
            "-e" => is_script = true,
            "-n" | "-E" | "-r" | "-z" | "-s" | "-u" => {}
            option if option.starts_with('-') => return true,
            script if is_script || !has_script => {
                if !super::sed::is_plain(script) {
                    return true;
                }
                (has_script, is_script) = (true, false);
            }
            _ => {}
        }
    }
    false
}

/// Options of git before its command that change nothing about what is run.
const GIT_PLAIN: [&str; 10] = [
    "--no-pager",
    "-P",
    "--version",
    "-v",
    "--help",
    "-h",
    "--no-optional-locks",
    "--literal-pathspecs",
    "--no-replace-objects",
    "--glob-pathspecs",
];

/// Options of git, or beginnings of them, that run programs, change settings or write files; git takes any
/// beginning that is not ambiguous.
const GIT_HOOKS: [&str; 19] = [
    "upload-pack",
    "receive-pack",
    "exec",
    "exec-path",
    "config",
    "config-env",
    "output",
    "open-files-in-pager",
    "ext-diff",
    "textconv",
    "template",
    "extcmd",
    "git-dir",
    "work-tree",
    "paginate",
    "separate-git-dir",
    "output-directory",
    "export-marks",
    "index-output",
];

/// Commands of git that run programs or change what later ones run.
const GIT_COMMANDS: [&str; 33] = [
    "config",
    "filter-branch",
    "bisect",
    "submodule",
    "difftool",
    "mergetool",
    "daemon",
    "archive",
    "p4",
    "svn",
    "send-email",
    "hook",
    "shell",
    "upload-pack",
    "receive-pack",
    "remote-ext",
    "fast-import",
    "credential",
    "gui",
    "citool",
    "web--browse",
    "instaweb",
    "maintenance",
    "for-each-repo",
    "merge-index",
    "mailinfo",
    "mailsplit",
    "imap-send",
    "upload-archive",
    "http-backend",
    "cvsserver",
    "quiltimport",
    "checkout-index",
];

/// Why a call of git may run more than git itself.
fn git(args: &[Word]) -> Option<String> {
    let hidden = || Some("an option of git may hide in what shows only when it runs".to_owned());
    let args = &args[elsewhere(args).count() * 2..];
    let mut command = None;
    let mut is_path = false;
    for (at, arg) in args.iter().enumerate() {
        if is_message(args, at) {
            continue;
        }
        let is_behind = is_path || command.is_some() && arg.first().is_some_and(|char| char != '-');
        let Some(text) = arg.text() else {
            match is_behind && !arg.may_be_words() {
                true => continue,
                false => return hidden(),
            }
        };
        if is_path {
            continue;
        }
        is_path = text == "--";
        match (&command, text.starts_with('-')) {
            (None, true) if GIT_PLAIN.contains(&&*text) => {}
            (None, true) => return Some(format!("git's option {text} can change what it runs")),
            (None, false) if text == "config" && is_question(&args[at + 1..]) => command = Some(text),
            (None, false) if is_git_command_hook(&text) => {
                return Some(format!("git {text} can run other programs"));
            }
            (None, false) => command = Some(text),
            (Some(_), false) if text.contains("ext::") => {
                return Some("git runs a program for ext::".to_owned());
            }
            (Some(_), false) => {}
            (Some(command), true) if is_git_hook(command, &text) => {
                return Some(format!("git {command} {text} can run other programs or write files"));
            }
            (Some(_), true) => {}
        }
    }
    None
}

/// The directories that git changes to first, by `-C` at the beginning of its arguments.
pub(super) fn elsewhere(args: &[Word]) -> impl Iterator<Item = &Word> {
    let pairs = args.chunks_exact(2).take_while(|pair| pair[0].text().as_deref() == Some("-C"));
    pairs.map(|pair| &pair[1]).take_while(|word| !word.may_split())
}

/// Whether an argument of git is a message, which names nothing. The arguments begin with git's command.
pub(crate) fn is_message(args: &[Word], at: usize) -> bool {
    let is = |at: usize, names: &[&str]| args[at].text().is_some_and(|text| names.contains(&&*text));
    at > 1
        && is(0, &["commit", "tag", "merge"])
        && is(at - 1, &["-m", "-am", "--message"])
        && !(0..at).any(|at| is(at, &["--"]))
        && !args[..=at].iter().any(Word::may_split)
}

/// Whether the arguments of `git config` only ask for values.
fn is_question(args: &[Word]) -> bool {
    const ASKING: [&str; 5] = ["--get", "--get-all", "--get-regexp", "--list", "-l"];
    const PLAIN: [&str; 8] =
        ["--global", "--local", "--system", "--show-origin", "--show-scope", "--name-only", "-z", "--null"];
    let texts: Option<Vec<String>> = args.iter().map(Word::text).collect();
    texts.is_some_and(|texts| {
        let mut options = texts.iter().filter(|text| text.starts_with('-'));
        texts.iter().any(|text| ASKING.contains(&&**text))
            && options.all(|text| ASKING.contains(&&**text) || PLAIN.contains(&&**text))
    })
}

/// Whether a command of git can run programs; those with two dashes in their names are parts of others.
fn is_git_command_hook(command: &str) -> bool {
    GIT_COMMANDS.contains(&command)
        || command.contains("--")
        || command.starts_with("remote-")
        || command.starts_with("credential-")
}

fn is_git_hook(command: &str, text: &str) -> bool {
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or_default();
        // Beginnings this short are those of many options; none of the dangerous ones is meant by them alone.
        return name.len() > 1 && GIT_HOOKS.iter().any(|hook| hook.starts_with(name));
    }
    match command {
        "fetch" | "pull" | "ls-remote" | "push" => is_cluster(text, "u") && command != "push",
        "clone" => is_cluster(text, "uc"),
        "rebase" => is_cluster(text, "x"),
        "grep" => is_cluster(text, "O"),
        "format-patch" | "bugreport" | "diagnose" | "index-pack" => is_cluster(text, "o"),
        _ => false,
    }
}
