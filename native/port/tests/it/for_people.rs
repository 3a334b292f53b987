//! The command line as people use it: flags, help, tables, completions, and what is different at a terminal.

use crate::common::PROGRAM;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(workspace: &Path, arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).current_dir(workspace).output().unwrap()
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

fn workspace() -> tempfile::TempDir {
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("a"), "one\ntwo TODO\nthree TODO\n").unwrap();
    workspace
}

/// What a program shows on a terminal that is all of its standard streams, until it ends.
fn on_terminal(command: &mut Command, keys: &str) -> String {
    let screen = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
    rustix::pty::grantpt(&screen).unwrap();
    rustix::pty::unlockpt(&screen).unwrap();
    let name = rustix::pty::ptsname(&screen, Vec::new()).unwrap();
    let open =
        || -> OwnedFd { File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap().into() };
    let mut child = command
        .env("TERM", "xterm")
        .stdin(Stdio::from(open()))
        .stdout(Stdio::from(open()))
        .stderr(Stdio::from(open()))
        .spawn()
        .unwrap();
    // Only the program holds the terminal now: reading ends when it has ended.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut screen = File::from(screen);
    screen.write_all(keys.as_bytes()).unwrap();
    let (mut shown, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = screen.read(&mut bytes) {
        shown.extend_from_slice(&bytes[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

#[test]
fn arguments_are_flags_or_json_or_both() {
    let dir = workspace();
    let counted: [&[&str]; 4] = [
        &["call", "file_grep", "--pattern", "TODO", "--output-mode", "count"],
        &["call", "file_grep", r#"{"pattern": "TODO", "output_mode": "count"}"#],
        &["call", "file_grep", r#"{"pattern": "TODO"}"#, "--output-mode=count"],
        &["call", "--default", "auto", "file_grep", "--output-mode", "count", r#"{"pattern": "TODO"}"#],
    ];
    let results = counted.map(|arguments| stdout(&run(dir.path(), arguments)).to_owned());
    assert!(results[0].contains("\"total_matches\":2"), "{}", results[0]);
    assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
    let twice = run(dir.path(), &["call", "file_grep", r#"{"pattern": "x"}"#, "--pattern", "y"]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(stderr(&twice).contains("\"pattern\" is given twice"), "{}", stderr(&twice));
    let last = run(dir.path(), &["call", "file_read", "--path", "a", "--offset", "-1"]);
    assert!(stdout(&last).contains("three TODO"), "{last:?}");
}

const DIALECTS: &str = "there is no dialect \"codr\"; there are: beamai, microai, coder, ide\n";

#[test]
fn slips_are_answered_with_what_is_near() {
    let dir = workspace();
    for (arguments, part) in [
        (&["tols"][..], "there is no command \"tols\"; did you mean tools?\n"),
        (&["zzz"], "there is no command \"zzz\"; there are: tools, call, mcp,"),
        (&["man", "zzz"], "there is no man page for \"zzz\"; there are pages for: tools, call,"),
        (&["call", "file_raed"], "did you mean file_read"),
        (&["call", "file_grep", "--patern", "x"], "'--pattern'"),
        (&["call", "file_grep", "--output-mode", "cuont"], "'count'"),
        (&["tools", "--dialect", "codr"], "'coder'"),
        (&["call", "file_read", "--path", "a", "--dialect", "codr"], DIALECTS),
        (&["call", "--dialect=codr", "file_read", "--path", "a"], DIALECTS),
        (&["call", "file_read", "--dialect"], "a value is required for '--dialect <D>'"),
        (
            &["call", "file_read", "--path", "a", "--limit", "ten"],
            "'--limit <N>': it must be a whole number from",
        ),
        (&["call", "file_read", "{\"path\": "], "the arguments are not JSON from line 1, column 9 on"),
        (&["call", "file_read", "--settings", "a"], "it is not JSON from line 1, column 1 on\n"),
        (&["call", "file_grep", "--literal=maybe"], "it must be true or false"),
        (&["call", "file_read", "--settings", "/nope"], "settings file /nope: there is no such file\n"),
        (&["completions", "tcsh"], "bash, zsh, fish"),
    ] {
        let output = run(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn arguments_of_too_many_values_are_refused() {
    let dir = workspace();
    let input = dir.path().join("input");
    for (values, expected) in
        [(300_000, "x\\\" is not an argument"), (600_000, "has more than 500000 values")]
    {
        std::fs::write(&input, format!("{{\"x\": [{}1]}}", "1,".repeat(values))).unwrap();
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_read", "-"]).current_dir(dir.path()).stdin(File::open(&input).unwrap());
        let output = command.output().unwrap();
        let shown = [stdout(&output), stderr(&output)].concat();
        assert!(!output.status.success() && shown.contains(expected), "{shown}");
    }
}

#[test]
fn help_of_a_tool_has_its_arguments() {
    let dir = workspace();
    let help = run(dir.path(), &["call", "file_grep", "--help"]);
    assert!(help.status.success());
    for part in [
        "--output-mode <WORD>",
        "files_with_matches",
        "[required]",
        "--workspace <DIR>",
        "Search file contents",
    ] {
        assert!(stdout(&help).contains(part), "{part}: {}", stdout(&help));
    }
    assert_eq!(stdout(&run(dir.path(), &["help", "call", "file_grep"])), stdout(&help));
    let coder = run(dir.path(), &["call", "--dialect", "coder", "read", "--help"]);
    assert!(stdout(&coder).contains("--offset <N>"), "{coder:?}");
    for command in ["tools", "call", "mcp", "doctor", "serve", "completions", "man", "help"] {
        assert!(stdout(&run(dir.path(), &["--help"])).contains(command));
        assert!(run(dir.path(), &["help", command]).status.success(), "{command}");
    }
}

#[test]
fn tools_are_a_table_for_people_and_json_with_a_format() {
    let dir = workspace();
    let table = run(dir.path(), &["tools"]);
    assert!(
        stdout(&table).contains("\nfile_glob         Find files by path pattern\n"),
        "{}",
        stdout(&table)
    );
    assert!(stdout(&table).contains("\nfile_write      * "), "{}", stdout(&table));
    for format in ["native", "openai", "mcp"] {
        let output = run(dir.path(), &["tools", "--format", format]);
        let list: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(list.as_array().unwrap().len() > 20, "{format}");
    }
}

/// A directory with a file and a directory, whose names begin alike.
fn directory_to_complete_in() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    std::fs::write(dir.path().join("work.json"), "{}").unwrap();
    dir
}

/// What each shell offers for a line, whose last word is to be completed.
fn every_shell_completes(complete: impl Fn(&Path, &str) -> String) {
    let dir = directory_to_complete_in();
    for (line, expected) in [
        ("do", "doctor"),
        ("call file_gr", "file_grep"),
        ("call --dialect coder rea", "read"),
        ("call --dialect=coder rea", "read"),
        ("call file_grep --pat", "--path --pattern"),
        ("call file_grep --output-mode co", "content count"),
        ("mcp --allow Web", "WebFetch WebSearch"),
        ("mcp --default a", "allow ask auto"),
        ("tools --format anth", "anthropic"),
        ("help doc", "doctor"),
        ("man doc", "doctor"),
        ("help call file_gr", "file_grep"),
        ("call --workspace wo", "work"),
        ("mcp --settings wo", "work work.json"),
        ("call file_read --path work.", "work.json"),
        ("call file_grep --pattern wo", ""),
        ("call wo", ""),
    ] {
        let offered = complete(dir.path(), line);
        // Shells write a directory with or without a slash.
        let words = offered.split_whitespace().map(|word| word.trim_end_matches('/'));
        let mut offered: Vec<&str> = words.collect();
        offered.sort_unstable();
        assert_eq!(offered.join(" "), expected, "{line}");
    }
}

/// The script is run as bash runs it.
#[test]
fn bash_completes_commands_tools_values_and_paths() {
    let script = stdout(&run(Path::new("."), &["completions", "bash"])).to_owned();
    let completed = |dir: &Path, words: &str| {
        // Bash splits words at = and :, and hands over the part after the last one.
        let line = words.replace('=', " = ").replace(':', " : ");
        let words: Vec<&str> = line.split(' ').collect();
        let current = words[words.len() - 1];
        let bash = format!(
            "{script}\nCOMP_WORDS=(beamai-port {line}); COMP_CWORD={}\n_beamai_port '{PROGRAM}' '{current}' ''\necho \"${{COMPREPLY[*]}}\"",
            words.len(),
        );
        let output = Command::new("bash").args(["--norc", "-c", &bash]).current_dir(dir).output().unwrap();
        stdout(&output).trim().to_owned()
    };
    every_shell_completes(completed);
    let dir = directory_to_complete_in();
    assert_eq!(completed(dir.path(), "mcp --sandbox required:f"), "full");
    assert_eq!(completed(dir.path(), "tools --dialect=cod"), "coder");
}

/// The script's function is run as zsh runs it, with functions in place of those that show what was found. Without zsh,
/// nothing is tested.
#[test]
fn zsh_completes_commands_tools_values_and_paths() {
    let script = stdout(&run(Path::new("."), &["completions", "zsh"])).to_owned();
    let completed = |dir: &Path, line: &str| {
        let last = line.rsplit(' ').next().unwrap();
        let zsh = format!(
            "compdef() {{}}; compset() {{ PREFIX=\"${{PREFIX#*=}}\" }}
            _describe() {{ local it; for it in \"${{(@P)@[-1]}}\"; do print -r -- \"${{it%%:*}}\"; done }}
            _files() {{ if [[ \"$1\" == -/ ]]; then print -rl -- $PREFIX*(N/); else print -rl -- $PREFIX*(N); fi }}
            {script}
            words=({PROGRAM} {line}); CURRENT=$#words; PREFIX='{last}'; _beamai-port"
        );
        let output = Command::new("zsh").args(["-f", "-c", &zsh]).current_dir(dir).output().unwrap();
        stdout(&output).to_owned()
    };
    if is_installed("zsh") {
        every_shell_completes(completed);
        let dir = directory_to_complete_in();
        assert_eq!(completed(dir.path(), "tools --dialect=cod").trim(), "--dialect=coder");
    }
}

/// Without fish, nothing is tested.
#[test]
fn fish_completes_commands_tools_values_and_paths() {
    let script = stdout(&run(Path::new("."), &["completions", "fish"])).to_owned();
    let home = tempfile::tempdir().unwrap();
    let completed = |dir: &Path, line: &str| {
        let fish = format!("{script}\ncomplete -C '{PROGRAM} {line}'");
        let mut command = Command::new("fish");
        command.args(["--no-config", "-c", &fish]).current_dir(dir).env("HOME", home.path());
        let output = command.output().unwrap();
        let words = stdout(&output).lines().map(|line| line.split('\t').next().unwrap_or_default());
        words.collect::<Vec<_>>().join(" ")
    };
    if is_installed("fish") {
        every_shell_completes(completed);
        let dir = directory_to_complete_in();
        assert_eq!(completed(dir.path(), "tools --dialect=cod"), "--dialect=coder");
        assert_eq!(completed(dir.path(), "mcp --settings=work."), "--settings=work.json");
    }
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn man_pages_are_printed_and_written() {
    let dir = workspace();
    let page = run(dir.path(), &["man", "call"]);
    assert!(stdout(&page).contains(".TH beamai-port-call 1"), "{page:?}");
    assert!(run(dir.path(), &["man", "--dir", "pages"]).status.success());
    assert_eq!(std::fs::read(dir.path().join("pages/beamai-port-call.1")).unwrap(), page.stdout);
    let unknown = run(dir.path(), &["man", "cal"]);
    assert!(
        unknown.status.code() == Some(2) && stderr(&unknown).contains("pages for: tools, call"),
        "{unknown:?}"
    );
}

#[test]
fn pretty_results_say_how_to_go_on() {
    let dir = workspace();
    let some = run(dir.path(), &["call", "file_read", "--path", "a", "--limit", "1", "--pretty"]);
    let next =
        stdout(&some).split("beamai-port call ").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let words: Vec<&str> = ["call"].into_iter().chain(next.split(' ')).collect();
    let more = run(dir.path(), &words);
    assert!(stdout(&more).contains("two TODO"), "{more:?}");
}

#[test]
fn a_call_leaves_nothing_behind() {
    let (dir, temp) = (workspace(), tempfile::tempdir().unwrap());
    for arguments in [
        &["shell_exec", "--command", "seq 1 100000; mktemp", "--allow", "Bash"][..],
        &["shell_exec", "--command", "seq 1 100000; sleep 9", "--timeout", "3000", "--allow", "Bash"],
        &["file_grep", "--pattern", "TODO"],
        &["file_write", "--path", "b", "--content", "x", "--allow", "Write"],
        &["git_status"],
    ] {
        let mut command = Command::new(PROGRAM);
        let output =
            command.arg("call").args(arguments).current_dir(dir.path()).env("TMPDIR", temp.path()).output();
        let output = output.unwrap();
        if arguments[0] == "shell_exec" {
            assert!(stdout(&output).contains("no file has the rest"), "{output:?}");
            assert!(!stdout(&output).contains("\"output_file\""), "{output:?}");
        }
        let left: Vec<_> =
            std::fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{arguments:?} left {left:?}");
    }
}

#[test]
fn a_workspace_that_is_a_link_is_known_by_both_names() {
    let dir = workspace();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    for name in [dir.path(), &link] {
        let path = name.join("a").display().to_string();
        let by_link = run(elsewhere.path(), &["call", "file_read", "--path", &path, "--workspace", "link"]);
        assert!(stdout(&by_link).contains("two TODO"), "{by_link:?}");
        let mut from_inside = Command::new(PROGRAM);
        from_inside.args(["call", "file_read", "--path", &path]).current_dir(&link).env("PWD", &link);
        assert!(stdout(&from_inside.output().unwrap()).contains("two TODO"), "{path}");
    }
}

#[test]
fn colour_is_for_terminals_that_want_it() {
    let dir = workspace();
    let shown = |variable: Option<(&str, &str)>| {
        let mut command = Command::new(PROGRAM);
        command.args(["call", "file_list", "--pretty"]).current_dir(dir.path()).env_remove("NO_COLOR");
        on_terminal(command.envs(variable), "")
    };
    assert!(shown(None).contains("\u{1b}[1mfile_list"), "{:?}", shown(None));
    assert!(!shown(Some(("NO_COLOR", "1"))).contains('\u{1b}'));
    assert!(shown(Some(("NO_COLOR", ""))).contains('\u{1b}'));
    assert!(!stdout(&run(dir.path(), &["call", "file_list", "--pretty"])).contains('\u{1b}'));
}

#[test]
fn a_long_call_shows_that_it_goes_on_and_a_short_one_nothing() {
    let dir = workspace();
    let shown = |command: &str| {
        let mut program = Command::new(PROGRAM);
        program.args(["call", "shell_exec", "--allow", "Bash", "--command", command]).env_remove("NO_COLOR");
        on_terminal(program.current_dir(dir.path()), "")
    };
    let long = shown("sleep 2");
    assert!(long.contains("\r\u{1b}[K[") && long.contains("] 1 s"), "{long:?}");
    let last = long.rfind("\r\u{1b}[K").unwrap();
    assert!(
        long[last..].starts_with("\r\u{1b}[K{\"exit_code\""),
        "the line is erased before the result: {long:?}"
    );
    assert!(!shown("true").contains('\u{1b}'));
}

#[test]
fn a_server_says_at_a_terminal_what_it_waits_for() {
    let dir = workspace();
    // Ctrl-D ends the input.
    let shown = on_terminal(Command::new(PROGRAM).arg("mcp").current_dir(dir.path()), "\u{4}");
    assert!(shown.contains("waiting for the messages of an MCP client"), "{shown:?}");
    let piped =
        Command::new(PROGRAM).arg("mcp").current_dir(dir.path()).stdin(Stdio::null()).output().unwrap();
    assert_eq!(stderr(&piped), "");
}

#[test]
fn installed_as_beamai_it_calls_itself_so() {
    let dir = workspace();
    let program = dir.path().join("beamai");
    std::os::unix::fs::symlink(PROGRAM, &program).unwrap();
    let output =
        |arguments: &[&str]| Command::new(&program).args(arguments).current_dir(dir.path()).output().unwrap();
    assert!(stdout(&output(&["--help"])).contains("Usage: beamai <COMMAND>"));
    assert!(stderr(&output(&["call", "file_raed"])).starts_with("beamai: there is no tool"));
    assert!(stdout(&output(&["completions", "bash"])).contains("-F _beamai beamai\n"));
    assert!(stdout(&output(&["man"])).contains(".TH beamai 1"));
    assert!(
        stdout(&output(&["call", "shell_exec", "--command", "true", "--allow", "Bash"]))
            .contains("\"exit_code\":0")
    );
}
