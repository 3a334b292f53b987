//! Starts made by hand, judged.

mod denied;
mod other_names;

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
fn an_approval_does_not_cover_what_the_question_did_not_show() {
    let approve = |words: &[&str]| {
        let case = allowed(&["Bash(gcc:*)"], "gcc x.c");
        let coverage = case.rules.as_ref().unwrap().approve(&by("gcc", StartCoverage::Judged, words));
        (coverage, case.covers(&by("env", StartCoverage::Judged, &["perl", "-e", "x"])))
    };
    let long = format!("A={}", "x".repeat(5_000));
    assert_eq!(approve(&["env", "A=1", "perl", "-e", "x"]).1, Some(StartCoverage::Everything));
    assert_eq!(approve(&["env", &long, "perl", "-e", "x"]), (StartCoverage::Judged, None));
    assert_eq!(approve(&["sh", "-c", "$x"]).0, StartCoverage::Everything);
    assert_eq!(approve(&["sh", "-c", &format!("$x #{long}")]).0, StartCoverage::Judged);
}

#[test]
fn a_question_quotes_the_directory_and_marks_what_it_leaves_out() {
    let mut start = by("gcc", StartCoverage::Judged, &["perl"]);
    start.starter.directory = Some("/w/p: git status #".into());
    assert_eq!(shown_directory(&start), "'/w/p: git status #'");
    assert_eq!(shown_process(&start.starter), "gcc");
    start.starter.has_all_arguments = false;
    assert_eq!(shown_process(&start.starter), "gcc …");
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
fn another_program_of_the_same_file_is_no_part() {
    let case = allowed(&["Bash(sort:*)", "Bash(git grep:*)"], "sort x");
    for (program, words, file) in
        [("sort", &["rm", "x"][..], "/usr/bin/coreutils"), ("git", &["git-rm", "x"][..], "/usr/bin/git")]
    {
        let mut start = by(program, parts_of(program), words);
        (start.file, start.starter.program) = (file.into(), file.into());
        assert!(case.asks(&start), "{words:?}");
    }
    let mut again = by("sort", parts_of("sort"), &["sort", "--merge"]);
    (again.file, again.starter.program) = ("/usr/bin/coreutils".into(), "/usr/bin/coreutils".into());
    again.starter.arguments = vec!["/usr/bin/sort".into()];
    assert!(case.covers(&again).is_some());
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
fn any_other_program_covers_its_parts() {
    let git = parts_of("git");
    let case = allowed(&["Bash(git:*)"], "git fetch");
    for part in [
        &["/usr/lib/git-core/git-remote-https", "x"][..],
        &["/usr/lib/git-core/git-submodule", "status"],
        &["git", "rev-list"],
        &["/bin/sh", "-c", "git-upload-pack '/a/b'", "git-upload-pack '/a/b'"],
    ] {
        assert_eq!(case.covers(&by("git", git, part)), Some(git), "{part:?}");
    }
    let mut sed = by("git", git, &["sed", "-e", "s/-/ /"]);
    assert!(case.asks(&sed), "an alias could start it");
    sed.starter.program = "/usr/lib/git-core/git-submodule".into();
    assert_eq!(case.covers(&sed), Some(git));
    for other in [
        &["/usr/lib/git-core/git-remote-ext", "x"][..],
        &["/bin/sh", "-c", "rm -rf x"],
        &["/bin/sh", "-c", "git-upload-pack 'a'; rm -rf x"],
        &["/bin/sh", "-c", "git-upload-pack 'a' > x"],
        &["/bin/sh", "-c", "> x"],
        &["/bin/sh", "x"],
        &["ssh", "host"],
        &["less"],
        &["vi", "x"],
        &["rm", "-rf", "x"],
    ] {
        assert!(case.asks(&by("git", git, other)), "{other:?}");
    }
    let mine = ProgramStart { is_writable: true, ..by("git", git, &["/w/git-core/git-x"]) };
    assert!(case.asks(&mine));
    let awk = parts_of("awk");
    assert!(case.asks(&by("awk", awk, &["sh", "-c", "rm -rf x"])));
    assert!(
        case.covers(&by("gcc", parts_of("gcc"), &["/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "x"])).is_some()
    );
}

#[test]
fn a_part_of_many_uses_counts_in_one() {
    let covers = |program: &str, words: &[&str]| {
        let case = allowed(&[&format!("Bash({program}:*)")], &format!("{program} x"));
        case.covers(&by(program, parts_of(program), words)).is_some()
    };
    for (program, part) in [
        ("zgrep", &["sed", "s/'/'\\\\''/g"][..]),
        ("bzdiff", &["rm", "-f", "/tmp/bzdiff.abc"]),
        ("zcat", &["gzip", "-cd", "--", "x.gz"]),
        ("xzgrep", &["xz", "--format=lzma", "-cdfqQ", "x.xz"]),
        ("zgrep", &["mktemp", "-d", "/tmp/zgrepXXXXXX"]),
        ("tar", &["gzip", "-d"]),
        ("tar", &["/bin/sh", "-c", "xz -T 0"]),
        ("man", &["iconv", "-c", "-f", "UTF-8", "-t", "ASCII"]),
        ("groff", &["troff", "-Tascii"]),
        ("gcc", &["objcopy", "--extract-dwo", "a.o", "a.dwo"]),
    ] {
        assert!(covers(program, part), "{program}: {part:?}");
    }
    for (program, other) in [
        ("zgrep", &["rm", "x"][..]),
        ("zgrep", &["gzip", "-f", "x"]),
        ("zgrep", &["xz", "-kf", "x"]),
        ("zstdgrep", &["zstd", "-cohit", "x"]),
        ("zgrep", &["zstd", "-c", "-o", "hit", "x"]),
        ("bzgrep", &["mktemp", "hitXXXXXX"]),
        ("zgrep", &["rm", "-f", "/tmp/../x"]),
        ("zgrep", &["sed", "-n", "1whit"]),
        ("groff", &["/bin/sh", "-c", "sed -n 1whit x"]),
        ("man", &["sed", "-n", "1whit"]),
        ("man", &["iconv", "-o", "hit"]),
        ("man", &["gzip", "-f", "x"]),
        ("tar", &["/bin/sh", "-c", "gzip -f x"]),
        ("tar", &["/bin/sh", "-c", "gzip $x"]),
        ("tar", &["xz", "--files=x"]),
    ] {
        assert!(!covers(program, other), "{program}: {other:?}");
    }
    let cut = ProgramStart { has_all_arguments: false, ..by("tar", parts_of("tar"), &["gzip"]) };
    assert!(allowed(&["Bash(tar:*)"], "tar x").asks(&cut));
}

#[test]
fn a_scripts_arguments_name_none_of_its_parts() {
    let git = parts_of("git");
    let case = allowed(&["Bash(git:*)"], "git bisect run x");
    let mut told = by("git", git, &["rm", "x"]);
    told.starter.program = "/usr/lib/git-core/git-bisect".into();
    assert_eq!(case.covers(&told), Some(git));
    for name in ["rm", "/usr/bin/rm"] {
        told.starter.arguments =
            ["sh", "/usr/lib/git-core/git-bisect", "run", name, "x"].map(Into::into).into();
        assert!(case.asks(&told), "{name}");
    }
}

#[test]
fn the_loader_is_a_part_of_ldd_alone() {
    let case = allowed(&["Bash(ldd:*)", "Bash(strace:*)"], "ldd ./app");
    let loader = "/lib64/ld-linux-x86-64.so.2";
    let ldd = |words: &[&str]| by("ldd", parts_of("ldd"), &[&[loader], words].concat());
    for words in [&["--version"][..], &["--verify", "./app"], &["./app"]] {
        assert!(case.covers(&ldd(words)).is_some(), "{words:?}");
        assert!(case.asks(&by("file", parts_of("file"), &[&[loader], words].concat())), "{words:?}");
    }
    for words in [&["./app", "x"][..], &["--preload", "./x.so", "/bin/true"], &["--preload"], &[]] {
        assert!(case.asks(&ldd(words)), "{words:?}");
    }
    assert!(case.asks(&ProgramStart { is_writable: true, ..ldd(&["./app"]) }));
    assert!(case.asks(&by("ldd", parts_of("ldd"), &["/w/app"])));
}

#[test]
fn a_debugger_lists_character_sets_and_starts_nothing_else_unasked() {
    let case = allowed(&["Bash(gdb:*)"], "gdb -batch ./app");
    let gdb = |words: &[&str]| by("gdb", parts_of("gdb"), words);
    assert!(case.covers(&gdb(&["iconv", "-l"])).is_some());
    for other in [
        &["iconv", "-o", "hit", "x"][..],
        &["/w/iconv", "-l"],
        &["sh", "-c", "iconv -l > x"],
        &["sh", "-c", "exec ./app"],
        &["/w/app"],
    ] {
        assert!(
            case.asks(&ProgramStart { is_writable: other[0].contains("/w/"), ..gdb(other) }),
            "{other:?}"
        );
    }
    assert!(case.asks(&by("strace", StartCoverage::Judged, &["iconv", "-l"])));
}

#[test]
fn a_rule_covers_a_program_whoever_starts_it() {
    let case = allowed(&["Bash(git:*)", "Bash(ssh:*)"], "git fetch");
    assert!(case.covers(&by("git", parts_of("git"), &["ssh", "host"])).is_some());
    let case = allowed(&["Bash(awk:*)", "Bash(wc:*)"], "awk 1 x");
    let text = |text| by("awk", parts_of("awk"), &["sh", "-c", text]);
    assert_eq!(case.covers(&text("wc -l x")), Some(StartCoverage::Judged));
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

#[test]
fn a_question_names_the_rule_that_would_allow_it() {
    let case = allowed(&["Bash(git:*)"], "git status");
    let wanted = |start: &ProgramStart| match case.judge(start) {
        StartVerdict::Ask { wanted, .. } => wanted.join(" "),
        other => panic!("{other:?}"),
    };
    assert_eq!(wanted(&by("git", parts_of("git"), &["npm", "run", "x"])), "Bash(npm run:*)");
    assert_eq!(wanted(&by("git", parts_of("git"), &["rm", "-rf", "x"])), "Bash(rm:*)");
    let own = ProgramStart { is_writable: true, ..by("git", parts_of("git"), &["/w/p", "2"]) };
    assert_eq!(wanted(&own), "Bash(/w/p 2:*)");
    let shell = |text: &str| wanted(&by("git", parts_of("git"), &["bash", "-c", text]));
    assert_eq!(shell("rm x; ls"), "Bash(ls:*) Bash(rm:*)");
    // No rule for a name covers what these can do.
    for powerful in ["let x=1; rm x", "printf -v 'a[0]' x", "history -w x", "source x", "declare -i x=y; ls"]
    {
        assert_eq!(shell(powerful), "", "{powerful}");
    }
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
    assert_eq!(case.covers(&shell("set -eu; x=1; echo $x; [ \"$x\" ]")), Some(StartCoverage::Judged));
    // A text of the command has been judged with what else the command sets.
    let plain = "i=0; while ((i < 3)); do ((i++)); done; [ $i ]";
    let case = allowed(&["Bash(ls:*)"], &format!("ls; bash -c '{plain}'"));
    assert_eq!(case.covers(&start(&["bash", "-c", plain])), Some(StartCoverage::Judged));
    assert!(case.asks(&by("ftp", parts_of("ftp"), &["bash", "-c", plain])));
    // Nor is such a text a part of a program.
    let case = allowed(&["Bash(zgrep:*)"], "zgrep x y");
    let shell = |text: &str| by("zgrep", parts_of("zgrep"), &["sh", "-c", text]);
    assert!(case.covers(&shell("printf x")).is_some());
    assert!(case.asks(&shell("printf -v 'a[$(echo > keep)]' x")));
}

#[test]
fn a_question_that_does_not_show_all_of_a_text_names_the_files_or_says_that_they_are_not_known() {
    let case = allowed(&["Bash(awk:*)"], "awk -f x");
    let padding = format!(": {}\n", "x".repeat(5_000));
    let shell = |text: &str| by("awk", parts_of("awk"), &["bash", "-c", &(padding.clone() + text)]);
    let why = |start: &ProgramStart| match case.judge(start) {
        StartVerdict::Ask { why, .. } => why.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&shell("rm x > a 2> b")), "it redirects into a, b");
    assert_eq!(why(&shell("rm x")), "");
    for moving in [
        "cd d; rm x > a",
        "(cd d && rm x > a)",
        "rm x > a; pushd d; rm x > a",
        "f=a; rm x > $f",
        "rm x > a$$",
    ] {
        assert_eq!(why(&shell(moving)), "it redirects into files that only the run shows", "{moving}");
    }
    for evaluating in [
        "printf -v 'a[$(echo > keep)]' x",
        "[ -v 'a[$(echo > keep)]' ]",
        "read 'a[$(echo > keep)]'",
        "let 'x[$(echo > keep)]=1'",
        "declare -i 'x=a[$(echo > keep)]'",
        "source /dev/stdin",
        "history -w keep",
        "x='a[$(echo > keep)]'; ((x))",
        "$x",
    ] {
        let why = why(&shell(&format!("{evaluating}; rm y > a")));
        assert_eq!(why, "it may redirect into any file, because it cannot be analysed", "{evaluating}");
    }
    let many: String = (0..100).map(|at| format!("rm x > {}{at}; ", "y".repeat(200))).collect();
    assert!(
        why(&shell(&many)).ends_with("y18 and 81 other files that are not shown"),
        "{}",
        why(&shell(&many))
    );
    let applet = by("awk", parts_of("awk"), &["busybox", "sh", "-c", &(padding.clone() + "rm x")]);
    assert!(why(&applet).ends_with("it may redirect into any file, and be another program"));
    let unread = ProgramStart { has_all_arguments: false, ..shell("rm x > a") };
    assert_eq!(why(&unread), "it may redirect into any file, because not all of it was read");
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
fn an_approved_start_covers_what_a_rule_for_it_would_and_the_text_that_was_shown() {
    let case = allowed(&["Bash(awk:*)"], "awk -f x");
    let rules = case.rules.as_ref().unwrap();
    let shell = by("awk", parts_of("awk"), &["sh", "-c", "rm gone | ./own x"]);
    assert!(case.asks(&shell));
    assert_eq!(rules.approve(&shell), StartCoverage::Judged);
    assert_eq!(case.covers(&by_sh(start(&["rm", "gone"]))), Some(parts_of("rm")));
    assert_eq!(case.covers(&by_sh(case.own(&["./own", "x"]))), Some(StartCoverage::Everything));
    let other = ProgramStart { is_writable: true, ..start(&["/w/other/own", "x"]) };
    for other in [start(&["rm", "other"]), start(&["mv", "gone", "x"]), case.own(&["./own", "y"]), other] {
        assert!(case.asks(&by_sh(other.clone())), "{other:?}");
    }
    for (words, coverage) in [
        (&["git", "push"][..], parts_of("git")),
        (&["make", "x"], StartCoverage::Everything),
        (&["vendor-tool", "x"], StartCoverage::NOTHING),
        (&["timeout", "5", "vendor-tool"], StartCoverage::Judged),
        // What they run was not shown.
        (&["sh"], StartCoverage::Everything),
        (&["sh", "script"], StartCoverage::Everything),
    ] {
        assert_eq!(rules.approve(&start(words)), coverage, "{words:?}");
    }
    assert_eq!(case.covers(&by_sh(start(&["vendor-tool"]))), Some(StartCoverage::NOTHING));
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
fn a_text_that_git_is_told_to_run_needs_rules_for_the_commands_in_it() {
    let case = allowed(&["Bash(git rebase:*)", "Bash(git log:*)"], "git rebase -x x main");
    let text = |text: &str| by("git", parts_of("git"), &["sh", "-c", text]);
    for told in [
        "git mv a b",
        "git-mv a b",
        "'git' 'clean' '-fdx'",
        "git-clean -fdx",
        "git log; git push",
        "git-upload-pack x; git gc",
        "git-upload-pack x; git-rm y",
    ] {
        assert!(case.asks(&text(told)), "{told}");
    }
    assert_eq!(case.covers(&text("git log -1")), Some(StartCoverage::Judged));
    for own in ["git-upload-pack '/a/b'", "git credential-store get", "git-credential-x get"] {
        assert_eq!(case.covers(&text(own)), Some(parts_of("git")), "{own}");
    }
    // A single word is started without a shell.
    let told = |given: &[&str], name: &str| {
        let mut start = by("git", parts_of("git"), &[&format!("/usr/lib/git-core/{name}"), "a.txt"]);
        start.starter.arguments = given.iter().map(Into::into).collect();
        start
    };
    for given in [
        &["git", "grep", "-Ogit-rm", "x"][..],
        &["git", "rebase", "--exec=git-rm"],
        &["sh", "-c", "git-rm x"],
    ] {
        assert!(case.asks(&told(given, "git-rm")), "{given:?}");
    }
    let cut = |start: ProgramStart| {
        let starter = Starter { has_all_arguments: false, ..start.starter.clone() };
        ProgramStart { starter, ..start }
    };
    assert!(case.asks(&cut(told(&["git", "grep"], "git-rm"))), "behind what was cut");
    assert!(case.covers(&told(&["git", "fetch", "x"], "git-remote-https")).is_some());
    assert!(case.covers(&told(&["sh", "-c", "git-upload-pack '/a'"], "git-upload-pack")).is_some());
    assert!(case.covers(&told(&["git", "submodule", "status"], "git-submodule")).is_some());
    let git = |words: &[&str]| by("git", parts_of("git"), words);
    assert!(case.covers(&git(&["git", "gc", "--auto"])).is_some());
    assert!(case.asks(&git(&["/usr/lib/git-core/git-difftool--helper", "a", "b"])));
}

#[test]
fn env_starts_the_interpreter_of_a_script_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let [script, link, other] = ["tool", "link", "other"].map(|name| dir.path().join(name));
    std::fs::write(&script, "#!/usr/bin/env python3\nimport os\n").unwrap();
    std::fs::write(&other, "\x7fELF").unwrap();
    std::os::unix::fs::symlink(&script, &link).unwrap();
    let case = allowed(&["Bash(tool:*)"], "tool");
    let by = |program: &Path, words: &[&str]| {
        let mut start = by("tool", StartCoverage::NOTHING, words);
        start.starter.program = program.to_owned();
        start
    };
    let [script_text, link_text, other_text] = [&script, &link, &other].map(|path| path.to_str().unwrap());
    for path in [script_text, link_text] {
        assert_eq!(
            case.covers(&by(&script, &["python3", path, "-x"])),
            Some(StartCoverage::NOTHING),
            "{path}"
        );
    }
    // A program can be told to start another one with its own path as the first argument.
    assert!(case.asks(&by(&script, &["touch", script_text])));
    assert!(case.asks(&by(&script, &["python3", other_text])));
    assert!(case.asks(&by(&other, &["touch", other_text])));
    assert!(case.asks(&by(&other, &["python3", other_text])));
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
