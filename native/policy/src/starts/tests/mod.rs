//! Starts made by hand, judged.

mod denied;
mod other_names;
mod parts;
mod question;

use super::*;
use crate::{CommandLine, PermissionRequest as Permission, Policy, PolicyText};
use beamai_isolation::{Interpreter, NamedFile, Starter};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;

/// A command under a policy.
struct StartCase {
    rules: Option<Arc<StartRules>>,
    dir: tempfile::TempDir,
}

fn case(policy: Value, command: &str, is_approved: bool) -> StartCase {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path()).unwrap();
    let text: PolicyText = serde_json::from_value(policy).unwrap();
    let policy =
        Policy::new(&text, &["Bash", "Read", "Edit", "Write"], &|name| Some(name.to_owned()), &workspace)
            .unwrap();
    let permissions = Permission {
        rule: "Bash".into(),
        touches: &[],
        allowed_by: &[],
        is_safe: false,
        operand: Operand::Command(CommandLine::plain(command)),
    };
    let rules = StartRules::of(&Arc::new(policy), &permissions.into(), is_approved);
    StartCase { rules, dir }
}

/// A command that these rules allow part by part.
fn allowed(rules: &[&str], command: &str) -> StartCase {
    case(json!({"allow": rules}), command, false)
}

/// A start by the shell; the words' first is a path, or a program of the system.
fn start(words: &[&str]) -> ProgramStart {
    let called = if words[0].contains('/') { words[0].to_owned() } else { format!("/usr/bin/{}", words[0]) };
    ProgramStart {
        file: called.clone().into(),
        called: called.into(),
        links: vec![],
        identity: (0, 0),
        given: words[0].into(),
        loaded: NamedFile::default(),
        interpreters: vec![],
        elf_interpreters: vec![],
        arguments: words.iter().map(OsString::from).collect(),
        has_all_arguments: true,
        is_writable: false,
        starter: Starter {
            pid: 2,
            program: "/usr/bin/bash".into(),
            arguments: vec!["bash".into()],
            has_all_arguments: true,
            directory: None,
            coverage: StartCoverage::Judged,
        },
    }
}

/// The same by another program, whose start covers this much.
fn by(program: &str, coverage: StartCoverage, words: &[&str]) -> ProgramStart {
    let arguments = vec![OsString::from(program)];
    let program = format!("/usr/bin/{program}").into();
    let starter = Starter { pid: 3, program, arguments, has_all_arguments: true, directory: None, coverage };
    ProgramStart { starter, ..start(words) }
}

fn named(names: &[&str]) -> NamedFile {
    NamedFile { names: names.iter().map(PathBuf::from).collect(), identity: (1, 1) }
}

fn interpreter(names: &[&str], argument: Option<&str>) -> Interpreter {
    Interpreter { program: named(names), argument: argument.map(Into::into), loaded: NamedFile::default() }
}

impl StartCase {
    fn judge(&self, start: &ProgramStart) -> StartVerdict {
        self.rules.as_ref().unwrap().judge(start)
    }

    /// What the start covers; `None` where it is not simply let through.
    fn covers(&self, start: &ProgramStart) -> Option<StartCoverage> {
        match self.judge(start) {
            StartVerdict::Start(coverage) => Some(coverage),
            _ => None,
        }
    }

    fn asks(&self, start: &ProgramStart) -> bool {
        matches!(self.judge(start), StartVerdict::Ask { .. })
    }

    /// A program of the workspace that the shell starts.
    fn own(&self, words: &[&str]) -> ProgramStart {
        let file = self.dir.path().canonicalize().unwrap().join(words[0].trim_start_matches("./"));
        ProgramStart { called: file.clone(), file, is_writable: true, ..start(words) }
    }
}

fn parts_of(name: &str) -> StartCoverage {
    table::coverage(name)
}

/// Starts by a runner under deny rules, which rules apply to.
fn denies(rules: &[&str], start: &ProgramStart) -> bool {
    let case = case(json!({"deny": rules, "default": "allow"}), "make", true);
    matches!(case.judge(start), StartVerdict::Refuse(Some(_)))
}

#[test]
fn the_shell_starts_what_was_foreseen_and_a_rule_allows() {
    let case = allowed(&["Bash(git log:*)", "Bash(head:*)"], "git log $x | head -n 5");
    assert_eq!(case.covers(&start(&["git", "log", "-1", "--stat"])), Some(parts_of("git")));
    assert!(case.covers(&start(&["head", "-n", "5"])).is_some());
    for other in [
        &["git", "push"][..],
        &["git", "status"],
        &["head", "-n", "6"],
        &["head", "-n", "5", "x"],
        &["rm", "-rf", "x"],
        &["/opt/git", "x"],
    ] {
        assert!(case.asks(&start(other)), "{other:?}");
    }
}

#[test]
fn words_that_are_half_known_foresee_what_they_can_become() {
    let case = allowed(&["Bash(ls:*)"], "ls *.rs \"$x\" ~/y {a,b}");
    let home = std::env::var("HOME").unwrap() + "/y";
    assert!(case.covers(&start(&["ls", "a.rs", "b.rs", "what ever", &home, "a", "b"])).is_some());
    assert!(case.covers(&start(&["ls", "*.rs", "", &home, "a", "b"])).is_some());
    assert!(case.asks(&start(&["ls", "*.rs", "x", "~/y", "a", "b"])));
    assert!(case.asks(&start(&["ls", "*.rs", "x", &home, "a"])));
    assert!(case.asks(&start(&["ls", "*.rs", "x", &home, "b", "a"])));
}

#[test]
fn a_program_is_allowed_by_its_name_only_where_commands_cannot_write() {
    let case = allowed(&["Bash(git:*)"], "git status");
    assert!(case.asks(&ProgramStart { is_writable: true, ..start(&["git", "status"]) }));
    // A program of several names does what its first argument says.
    let mut other = start(&["git", "status"]);
    other.called = "/usr/bin/busybox".into();
    assert!(case.asks(&other));
    let mut renamed = start(&["git", "status"]);
    renamed.arguments[0] = "rm".into();
    assert!(case.asks(&renamed));
}

#[test]
fn a_rule_that_names_a_file_by_its_path_covers_what_it_starts() {
    let case = allowed(&["Bash(./run.sh:*)", "Bash(cd:*)"], "./run.sh -x && cd sub && ./run.sh -x");
    let mut own = case.own(&["./run.sh", "-x"]);
    assert_eq!(case.covers(&own), Some(StartCoverage::Everything));
    own.called = case.dir.path().canonicalize().unwrap().join("sub/run.sh");
    assert_eq!(case.covers(&own), Some(StartCoverage::Everything));
    own.called = case.dir.path().canonicalize().unwrap().join("other/run.sh");
    assert!(case.asks(&own));
    own.called = "/elsewhere/run.sh".into();
    assert!(case.asks(&own));
    assert!(case.asks(&case.own(&["./evil.sh", "-x"])));
    for given in ["../run.sh", "../sub/../run.sh"] {
        let case = allowed(&[&format!("Bash({given}:*)"), "Bash(cd:*)"], &format!("cd sub && {given} -x"));
        let mut own = ProgramStart { given: given.into(), ..case.own(&["./run.sh", "-x"]) };
        assert_eq!(case.covers(&own), Some(StartCoverage::Everything), "{given}");
        own.given = case.dir.path().canonicalize().unwrap().join("sub").join(given).into();
        assert_eq!(case.covers(&own), Some(StartCoverage::Everything), "exec {given}");
        for other in ["sub/run.sh", "sub/a/run.sh", "other/run.sh"] {
            own.called = case.dir.path().canonicalize().unwrap().join(other);
            assert!(case.asks(&own), "{given} {other}");
        }
    }
}

/// What the judge lets begin must not end at its start.
#[test]
fn a_shell_with_variables_of_its_own_starts() {
    for text in ["FILE=a; cat $FILE", "cat a; RC=$?; exit $RC", "for DIR in a; do cat $DIR; done"] {
        let case = allowed(&["Bash(cat:*)"], &format!("bash -c '{text}'"));
        assert_eq!(
            case.covers(&start(&["bash", "-c", text])),
            Some(StartCoverage::JudgedWithFiles),
            "{text}"
        );
    }
    let case = allowed(&["Bash(cat:*)"], "export n=1; bash -c 'cat $((n+1))'");
    assert!(case.covers(&start(&["bash", "-c", "cat $((n+1))"])).is_some());
}

/// Rules cover them where the text is judged, and again as the shell opens them.
#[test]
fn a_shell_opens_the_files_that_rules_cover() {
    let rules = ["Bash(cat:*)", "Bash(awk:*)", "Bash(nice:*)", "Write(out/*)"];
    let text = "cat < a > out/b";
    for (command, start) in [
        (format!("bash -c '{text}'"), start(&["bash", "-c", text])),
        (format!("nice bash -c '{text}'"), by("nice", StartCoverage::Judged, &["bash", "-c", text])),
        ("awk -f x".to_owned(), by("awk", parts_of("awk"), &["bash", "-c", text])),
    ] {
        let case = allowed(&rules, &command);
        assert_eq!(case.covers(&start), Some(StartCoverage::JudgedWithFiles), "{command}");
        let writes = |path: &str, file: &str| {
            let file = case.dir.path().canonicalize().unwrap().join(file);
            case.rules.as_ref().unwrap().writes(OsStr::new(path), Some(&file))
        };
        assert!(writes("out/b", "out/b") && writes("out/b", "out/elsewhere"), "{command}");
        assert!(!writes("out/b", "src/b") && !writes("out/c", "out/c"), "{command}");
    }
    let case = allowed(&["Bash(bash:*)"], "bash -c x");
    let cut = ProgramStart { has_all_arguments: false, ..start(&["bash", "-c", "x", "y"]) };
    assert_eq!(case.covers(&cut), Some(StartCoverage::JudgedWithFiles));
    let case = allowed(&rules, "awk -f x");
    let shell = |text: &str| case.asks(&by("awk", parts_of("awk"), &["bash", "-c", text]));
    assert!(!shell(text) && shell("cat a > src/b") && shell("cat a > $b"));
    // What a shell reads is not judged when it opens it.
    assert!(shell("read x < a"));
    let case = allowed(&["Read"], "bash -c 'read x < a'");
    assert!(case.covers(&start(&["bash", "-c", "read x < a"])).is_some());
}

#[test]
fn a_start_by_a_path_that_climbs_is_in_no_wildcard() {
    let case = allowed(&["Bash(./scripts/*)"], "./scripts/a x");
    let given = "./scripts/../../../usr/bin/rm";
    assert!(case.asks(&ProgramStart { given: given.into(), ..start(&["/usr/bin/rm", "x"]) }));
    let own = case.own(&["./scripts/a", "x"]);
    assert!(case.covers(&own).is_some());
    assert!(case.asks(&ProgramStart { given: "./scripts/../a".into(), ..case.own(&["./a", "x"]) }));
    let case = allowed(&["Bash(./*)", "Bash(../*)"], "./a x");
    for given in ["./../../usr/bin/rm", "../../usr/bin/rm", ".//../../usr/bin/rm"] {
        assert!(case.asks(&ProgramStart { given: given.into(), ..start(&["/usr/bin/rm", "x"]) }), "{given}");
    }
}

#[test]
fn arguments_that_are_not_all_known_are_in_no_pattern_beyond_them() {
    let cut = |words| ProgramStart { has_all_arguments: false, ..start(words) };
    let case = allowed(&["Bash(ls -l:*)"], "ls -l *");
    assert!(case.covers(&cut(&["ls", "-l", "a"])).is_some());
    assert!(case.asks(&cut(&["ls"])));
    let case = allowed(&["Bash(ls -l a)"], "ls -l a; ls -l a");
    assert!(case.asks(&cut(&["ls", "-l", "a"])));
    let case = super::tests::case(json!({"deny": ["Bash(rm -rf:*)"], "default": "allow"}), "make", false);
    assert!(matches!(case.judge(&cut(&["rm", "a"])), StartVerdict::Refuse(Some(_))));
    assert!(case.covers(&start(&["rm", "a"])).is_some());
}

#[test]
fn runners_cover_everything_and_wrappers_nothing() {
    let case = allowed(&["Bash(make:*)"], "env X=1 make all");
    assert_eq!(case.covers(&start(&["env", "X=1", "make", "all"])), Some(StartCoverage::Judged));
    assert_eq!(
        case.covers(&by("env", StartCoverage::Judged, &["make", "all"])),
        Some(StartCoverage::Everything)
    );
    assert!(case.asks(&by("env", StartCoverage::Judged, &["rm", "x"])));
    assert_eq!(
        case.covers(&by("make", StartCoverage::Everything, &["rm", "x"])),
        Some(StartCoverage::Everything)
    );
    let case = allowed(&["Bash(find:*)"], "find . -exec rm {} +");
    assert_eq!(case.covers(&start(&["find", ".", "-exec", "rm", "{}", "+"])), Some(StartCoverage::Judged));
    assert!(case.asks(&by("find", StartCoverage::Judged, &["rm", "a"])));
}

#[test]
fn a_wrapper_needs_no_rule_as_long_as_it_is_understood() {
    let case = allowed(&["Bash(chrt:*)", "Bash(ls:*)"], "chrt -o 0 ls");
    let chrt = |words: &[&str]| by("chrt", StartCoverage::Judged, words);
    for plain in
        [&["env", "X=1", "ls"][..], &["time", "ls"], &["timeout", "5", "rm", "x"], &["xargs", "-0", "ls"]]
    {
        assert_eq!(case.covers(&chrt(plain)), Some(StartCoverage::Judged), "{plain:?}");
    }
    for other in [
        &["time", "-o", "hit", "ls"][..],
        &["env", "LD_PRELOAD=./e.so", "ls"],
        &["env", "-S", "ls"],
        &["env", "PYTHONPATH=.", "ls"],
        &["env", "--", "-", "PYTHONPATH=.", "ls"],
    ] {
        assert!(case.asks(&chrt(other)), "{other:?}");
    }
    // Further variables may stand before a program that was not read.
    let cut = |words: &[&str]| ProgramStart { has_all_arguments: false, ..chrt(words) };
    assert!(case.asks(&cut(&["env", "A=1", "B=1"])) && case.asks(&cut(&["timeout", "5"])));
    assert_eq!(case.covers(&cut(&["env", "A=1", "ls", "a", "b"])), Some(StartCoverage::Judged));
}

/// What an applet runs in its process shows no start of its own.
#[test]
fn a_rule_for_busybox_covers_applets_with_rules_of_their_own() {
    let rules = ["Bash(chrt:*)", "Bash(busybox:*)", "Bash(cat:*)", "Bash(env:*)", "Bash(sh:*)"];
    let case = allowed(&rules, "chrt -o 0 x");
    let asks =
        |words: &[&str]| case.asks(&by("chrt", StartCoverage::Judged, &[&["busybox"], words].concat()));
    assert!(!asks(&["cat", "x"]));
    for words in [
        &["rm", "x"][..],
        &["env", "cat", "x"],
        &["sh", "-c", "cat x"],
        &["sh", "script"],
        &["xargs", "cat"],
        &[],
    ] {
        assert!(asks(words), "{words:?}");
    }
    let cut = by("chrt", StartCoverage::Judged, &["busybox", "cat", "x", "y"]);
    assert!(case.asks(&ProgramStart { has_all_arguments: false, ..cut }));
    // Nor is one a part of busybox.
    assert!(case.asks(&by("busybox", parts_of("busybox"), &["busybox", "rm", "x"])));
}

#[test]
fn a_rule_covers_a_program_whoever_starts_it() {
    let case = allowed(&["Bash(git:*)", "Bash(ssh:*)"], "git fetch");
    assert!(case.covers(&by("git", parts_of("git"), &["ssh", "host"])).is_some());
    let case = allowed(&["Bash(awk:*)", "Bash(wc:*)"], "awk 1 x");
    let text = |text| by("awk", parts_of("awk"), &["sh", "-c", text]);
    assert_eq!(case.covers(&text("wc -l x")), Some(StartCoverage::JudgedWithFiles));
    // What that shell starts is foreseen from here on.
    let from_sh = |words| ProgramStart {
        starter: Starter { program: "/usr/bin/dash".into(), ..start(words).starter },
        ..start(words)
    };
    assert!(case.covers(&from_sh(&["wc", "-l", "x"])).is_some());
    assert!(case.asks(&from_sh(&["wc", "-c", "x"])));
    for other in ["rm x", "wc x; rm x", "wc x > y", "wc $(rm x)"] {
        assert!(case.asks(&text(other)), "{other}");
    }
}

#[test]
fn an_open_policy_asks_by_its_rules_alone() {
    let policy = json!({"allow": ["Bash"], "ask": ["Bash(git push:*)"]});
    let case = case(policy.clone(), "sh x", false);
    assert_eq!(case.rules.as_ref().unwrap().coverage(), StartCoverage::Judged);
    assert!(case.covers(&start(&["what", "ever"])).is_some());
    assert!(case.asks(&start(&["git", "push"])));
    assert!(super::tests::case(policy, "sh x", true).rules.is_none());
    assert!(super::tests::case(json!({"allow": ["Bash"]}), "sh x", false).rules.is_none());
}

/// Builtins alone need no rule, but a value that bash evaluates again can run commands and write files.
#[test]
fn a_shell_whose_text_evaluates_values_that_only_the_run_shows_needs_an_approval() {
    let case = allowed(&["Bash(ftp:*)"], "ftp");
    let shell = |text: &str| by("ftp", parts_of("ftp"), &["bash", "-c", text]);
    let hidden = "x='a[$(echo > keep)]'";
    for evaluating in [
        "((x))",
        "echo $((x))",
        "y[x]=1",
        "echo ${y:x}",
        "for ((;x;)); do break; done",
        "[[ $x -eq 1 ]]",
        "[ $x ]",
    ] {
        assert!(case.asks(&shell(&format!("{hidden}; {evaluating}"))), "{evaluating}");
        assert!(case.asks(&shell(evaluating)), "{evaluating}");
    }
    // What it inherits may have any value, also where the text seems to set it.
    for evaluating in ["x=1 true; ((x))", "(x=1); ((x))", "false && x=1; echo $((x))", "x=1 | :; y[x]=1"] {
        assert!(case.asks(&shell(evaluating)), "{evaluating}");
    }
    // So may the home directory, and what a shell shows before it runs something.
    for evaluating in ["[ $HOME ]", "[ -v ~ ]", "set -x; :", "set -euxo pipefail; :", "set -o xtrace; :"] {
        assert!(case.asks(&shell(evaluating)), "{evaluating}");
    }
    for option in ["-xc", "-exc"] {
        assert!(case.asks(&by("ftp", parts_of("ftp"), &["bash", option, ":"])), "{option}");
    }
    let plain = shell("set -eu; x=1; echo $x; [ \"$x\" ]");
    assert_eq!(case.covers(&plain), Some(StartCoverage::JudgedWithFiles));
    // A text of the command has been judged with what else the command sets.
    let plain = "i=0; while ((i < 3)); do ((i++)); done; [ $i ]";
    let case = allowed(&["Bash(ls:*)"], &format!("ls; bash -c '{plain}'"));
    assert_eq!(case.covers(&start(&["bash", "-c", plain])), Some(StartCoverage::JudgedWithFiles));
    assert!(case.asks(&by("ftp", parts_of("ftp"), &["bash", "-c", plain])));
    // Nor is such a text a part of a program.
    let case = allowed(&["Bash(zgrep:*)"], "zgrep x y");
    let shell = |text: &str| by("zgrep", parts_of("zgrep"), &["sh", "-c", text]);
    assert!(case.covers(&shell("printf x")).is_some());
    assert!(case.asks(&shell("printf -v 'a[$(echo > keep)]' x")));
}

#[test]
fn programs_of_the_workspace_can_run_where_something_covers_them() {
    let covers =
        |rules: &[&str], command: &str| allowed(rules, command).rules.unwrap().covers_workspace_programs();
    assert!(covers(&["Bash(make:*)"], "make"));
    assert!(covers(&["Bash(./run.sh:*)"], "./run.sh"));
    assert!(!covers(&["Bash(git:*)", "Bash(head:*)"], "git log | head"));
}

/// The same start by a shell that some start covers in this way.
fn by_sh(start: ProgramStart) -> ProgramStart {
    ProgramStart { starter: Starter { program: "/usr/bin/dash".into(), ..start.starter }, ..start }
}

#[test]
fn a_rule_that_is_added_holds_from_there_on() {
    let case = allowed(&["Bash(find:*)"], "find . -exec sh x {} +");
    let start = by("find", StartCoverage::Judged, &["rm", "-r", "x"]);
    assert!(case.asks(&start));
    let rules = case.rules.as_ref().unwrap();
    rules.add("Bash(rm:*)").unwrap();
    assert_eq!(case.covers(&start), Some(parts_of("rm")));
    for wrong in ["Write(**)", "Bash(", "Bash(a:*b)"] {
        assert!(rules.add(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_shell_writes_only_the_files_that_its_text_shows_and_rules_cover() {
    let rules = json!({"allow": ["Bash(echo:*)", "Write(out/**)", "Write(b c)"], "ask": ["Edit(out/kept)"], "deny": ["Write(*.lock)"]});
    let shown = case(rules, "echo a > out/a; cd out && echo b >> '../b c'; echo c 2> /dev/null", false);
    let top = shown.dir.path().canonicalize().unwrap();
    let judge = shown.rules.unwrap();
    for (path, file, may_write) in [
        ("out/a", Some("out/a"), true),
        ("out/a", Some("out/link"), true),
        ("out/a", Some("out/kept"), false),
        ("out/a", Some("out/new.lock"), false),
        ("out/a", Some("src/a"), false),
        ("out/a", Some(".git/config"), false),
        ("out/a", Some("/etc/passwd"), false),
        ("out/a", None, false),
        ("../b c", Some("b c"), true),
        ("/dev/null", None, true),
        ("/dev/tty", None, true),
        ("./out/a", Some("out/a"), false),
        ("out/b", Some("out/b"), false),
        ("/dev/fd/3", Some("out/a"), false),
        ("", None, false),
    ] {
        let file = file.map(|file| top.join(file));
        assert_eq!(judge.writes(OsStr::new(path), file.as_deref()), may_write, "{path} {file:?}");
    }
    let any = case(json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]}), "echo a", false);
    let whole = case(json!({"deny": ["Bash(rm:*)"]}), "echo a", true);
    for judge in [any.rules, whole.rules] {
        assert!(judge.unwrap().writes(OsStr::new("x"), None));
    }
}
