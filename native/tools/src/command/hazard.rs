//! Programs that run other code when certain arguments say so.

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
const INTERPRETERS: [&str; 25] = [
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
];

/// Why a program may run more than its name says, given its arguments.
pub(super) fn of(name: &str, args: &[Word]) -> Option<String> {
    let texts: Vec<Option<String>> = args.iter().map(Word::text).collect();
    let has = |test: &dyn Fn(&str) -> bool| texts.iter().flatten().any(|text| test(text));
    let runs = |why: &str| Some(format!("{name} {why}"));
    match name {
        "git" => git(args),
        "fd" | "fdfind" if has(&|text| is_cluster(text, "xX") || text.starts_with("--exec")) => {
            runs("runs another program on what it finds")
        }
        "tar" | "bsdtar" if has(&is_tar_hook) => runs("runs another program by one of its options"),
        "sed" if sed(&texts) => runs("may run or write by its script"),
        "rsync" | "scp" | "sftp" if has(&|text| is_cluster(text, "eS") || text.starts_with("--rsh")) => {
            runs("runs another program by one of its options")
        }
        "curl" | "wget"
            if has(&|text| {
                text.starts_with("-K") || text.starts_with("--config") || text.starts_with("--use-askpass")
            }) =>
        {
            runs("takes orders from a file")
        }
        "make" | "gmake" if has(&|text| text.contains('=') || text.starts_with("--eval")) => {
            runs("is told what to run by its arguments")
        }
        "sort" if has(&|text| text.starts_with("--compress-program")) => runs("runs another program"),
        "zip" if has(&|text| text.starts_with("-T") || text.starts_with("--unzip-command")) => {
            runs("runs another program")
        }
        _ if is_loader(name) || RUNNERS.contains(&name) => runs("runs another program that is not looked at"),
        _ if is_interpreter(name) => interpreter(name, &texts),
        _ => None,
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
        Some(Some(text)) if name.ends_with("awk") => !is_plain_awk(text),
        Some(Some(text)) => text.starts_with('-') && !matches!(&**text, "--version" | "-V" | "-m" | "--help"),
    };
    is_inline.then(|| format!("{name} runs code that is not looked at"))
}

/// Programs of awk that only print fields.
fn is_plain_awk(text: &str) -> bool {
    !text.starts_with('-')
        && !["system", "getline", "|", ">", "@", "\\"].iter().any(|hook| text.contains(hook))
}

/// Whether a word is a group of short options with one of these letters.
fn is_cluster(text: &str, letters: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(|char| letters.contains(char))
}

fn is_tar_hook(text: &str) -> bool {
    let long = ["--che", "--to-c", "--use-c", "--rsh", "--rmt", "--info-s", "--new-v", "--I"];
    long.iter().any(|start| text.starts_with(start)) || is_cluster(text, "IF") || text.contains(':')
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
                let is_range = script.chars().all(|char| char.is_ascii_digit() || ",$!pdq".contains(char));
                if !is_range && !is_substitution(script) {
                    return true;
                }
                (has_script, is_script) = (true, false);
            }
            _ => {}
        }
    }
    false
}

/// `s/…/…/` with flags that neither run nor write.
fn is_substitution(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('s') else { return false };
    let Some(mark) = rest.chars().next().filter(|char| "/|#,:".contains(*char)) else { return false };
    let parts: Vec<&str> = rest[mark.len_utf8()..].split(mark).collect();
    let is_escaped = rest.contains('\\') || rest.contains('\n');
    parts.len() == 3
        && !is_escaped
        && parts[2].chars().all(|char| char.is_ascii_digit() || "gip".contains(char))
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
const GIT_HOOKS: [&str; 16] = [
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
];

/// Commands of git that run programs or change what later ones run.
const GIT_COMMANDS: [&str; 24] = [
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
];

/// Why a call of git may run more than git itself.
fn git(args: &[Word]) -> Option<String> {
    let hidden = || Some("an option of git may hide in what shows only when it runs".to_owned());
    let mut command = None;
    let mut is_path = false;
    for arg in args {
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
            (None, false) if GIT_COMMANDS.contains(&&*text) => {
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
        _ => false,
    }
}
