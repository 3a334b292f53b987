//! Starts that deny rules forbid.

use super::*;

#[test]
fn what_is_denied_starts_under_no_name_and_by_nobody() {
    let deny = json!({"deny": ["Bash(rm -rf:*)"], "default": "allow"});
    let case = case(deny, "make", true);
    let rule = || StartVerdict::Refuse(Some("Bash(rm -rf:*)".into()));
    let everything = |words| by("make", StartCoverage::Everything, words);
    assert_eq!(case.judge(&everything(&["rm", "-r", "-f", "x"])), rule());
    assert!(case.covers(&everything(&["rm", "x"])).is_some());
    let link = ProgramStart { links: vec!["/usr/bin/rm".into()], ..everything(&["/w/z", "-rf", "x"]) };
    assert_eq!(case.judge(&link), rule());
    let file = ProgramStart { file: "/usr/bin/rm".into(), ..everything(&["/w/z", "-rf", "x"]) };
    assert_eq!(case.judge(&file), rule());
    let named =
        ProgramStart { called: "/w/z".into(), file: "/w/z".into(), ..everything(&["rm", "-rf", "x"]) };
    assert_eq!(case.judge(&named), rule());
    assert_eq!(case.judge(&everything(&["busybox", "rm", "-rf", "x"])), rule());
    assert_eq!(case.judge(&everything(&["/lib64/ld-linux-x86-64.so.2", "/usr/bin/rm", "-rf", "x"])), rule());
    assert_eq!(
        case.judge(&everything(&["/lib64/ld-linux-x86-64.so.2", "--argv0", "y", "/usr/bin/rm", "-rf", "x"])),
        rule()
    );
    let script =
        ProgramStart { interpreters: vec![interpreter(&["/bin/rm"], None)], ..everything(&["/w/s", "-rf"]) };
    assert_eq!(case.judge(&script), rule());
    for interpreter in ["/usr/bin/rm", "/usr/bin/busybox"] {
        let elf = ProgramStart {
            elf_interpreters: vec![super::named(&[interpreter])],
            ..everything(&["/w/z", "rm", "-rf", "x"])
        };
        assert_eq!(case.judge(&elf), rule(), "{interpreter}");
    }
}

#[test]
fn what_is_denied_does_not_start_under_its_name_with_a_version() {
    let policy = json!({"deny": ["Bash(perl:*)", "Bash(python3:*)", "Bash(lua:*)"], "default": "allow"});
    let case = case(policy, "make", true);
    let path = |name: &str| case.dir.path().join(name);
    for name in ["perl", "python3.11", "lua", "lua5.4"] {
        std::fs::write(path(name), name).unwrap();
    }
    std::fs::hard_link(path("perl"), path("perl5.36.0")).unwrap();
    std::os::unix::fs::symlink("python3.11", path("python3")).unwrap();
    let start = |name: &str| by("make", StartCoverage::Everything, &[path(name).to_str().unwrap(), "x"]);
    let is_denied = |name: &str| matches!(case.judge(&start(name)), StartVerdict::Refuse(Some(_)));
    assert!(is_denied("perl") && is_denied("perl5.36.0") && is_denied("python3.11"));
    // Other programs, though their names are alike.
    assert!(!is_denied("lua5.4") && !is_denied("perl5.40.0"));
}

#[test]
fn the_mode_deny_refuses_what_no_rule_allows() {
    let case = case(json!({"allow": ["Bash(git:*)"], "default": "deny"}), "git status", false);
    assert_eq!(case.judge(&by("git", parts_of("git"), &["less"])), StartVerdict::Refuse(None));
}

#[test]
fn what_a_deny_rule_names_does_not_start_within_what_was_approved() {
    let rules = json!({"allow": ["Bash(awk:*)"], "deny": ["Bash(rm:*)"]});
    let case = case(rules, "awk -f x", false);
    let shell = by("awk", parts_of("awk"), &["sh", "-c", "rm gone"]);
    assert_eq!(case.rules.as_ref().unwrap().approve(&shell), StartCoverage::Judged);
    let denied = StartVerdict::Refuse(Some("Bash(rm:*)".into()));
    assert_eq!(case.judge(&by_sh(start(&["rm", "gone"]))), denied);
}

#[test]
fn the_loader_is_refused_what_a_deny_rule_names_under_each_of_its_names() {
    let case = case(json!({"allow": ["Bash"], "deny": ["Bash(rm:*)"]}), "make", false);
    let loader = start(&["/lib64/ld-linux-x86-64.so.2", "--argv0", "x", "./link", "y"]);
    let is_refused = |names: &[&str]| {
        let loaded = if names.is_empty() { NamedFile::default() } else { named(names) };
        matches!(case.judge(&ProgramStart { loaded, ..loader.clone() }), StartVerdict::Refuse(Some(_)))
    };
    assert!(!is_refused(&["/w/link", "/w/own"]) && is_refused(&["/w/link", "/usr/bin/rm"]));
    assert!(is_refused(&[]), "what was not found may be any program");
}

#[test]
fn what_the_loader_loads_is_unfolded_in_turn() {
    let loader = "/lib64/ld-linux-x86-64.so.2";
    let by_loader = |words: &[&str], names: &[&str]| {
        let words = [&[loader], words].concat();
        denies(&["Bash(git push:*)"], &ProgramStart { loaded: named(names), ..start(&words) })
    };
    let part = ["/usr/lib/git-core/git-push", "/usr/lib/git-core/git"];
    assert!(by_loader(&["/usr/lib/git-core/git-push", "r", "main"], &part));
    assert!(by_loader(&["--preload", "", "/usr/lib/git-core/git-push", "r"], &part));
    for told in [&["--argv0", "git-push"][..], &["--argv0=/x/git-push"]] {
        assert!(by_loader(&[told, &["/usr/bin/git", "r"]].concat(), &["/usr/bin/git"]), "{told:?}");
    }
    assert!(by_loader(&["/usr/bin/git", "push", "r"], &["/usr/bin/git"]));
    assert!(!by_loader(&["/usr/bin/git", "log"], &["/usr/bin/git"]));
    assert!(denies(&["Bash(rm:*)"], &start(&["/usr/bin/busybox", "busybox", "rm", "x"])));
    let as_login_shell = ["-rm", "x"].iter().map(OsString::from).collect();
    let called = ProgramStart { arguments: as_login_shell, ..start(&["/usr/bin/busybox", "x"]) };
    assert!(denies(&["Bash(rm:*)"], &called));
}

#[test]
fn what_the_loader_loads_may_be_any_program_where_not_all_of_its_arguments_are_known() {
    let loader = "/lib64/ld-linux-x86-64.so.2";
    for words in [&[loader, "--inhibit-cache"][..], &[loader, "--library-path", "1"], &[loader]] {
        assert!(!denies(&["Bash(touch:*)"], &start(words)), "{words:?}");
        let cut = ProgramStart { has_all_arguments: false, ..start(words) };
        assert!(denies(&["Bash(touch:*)"], &cut), "{words:?}");
    }
}

/// A start of busybox by this path, with this name and these arguments.
fn busybox(path: &str, words: &[&str]) -> ProgramStart {
    let arguments = words.iter().map(OsString::from).collect();
    ProgramStart { arguments, file: "/usr/bin/busybox".into(), ..start(&[path]) }
}

/// Many applets run others without `execve`.
#[test]
fn an_applet_that_may_run_others_may_be_any_program() {
    let is_denied = |start: &ProgramStart| denies(&["Bash(touch:*)"], start);
    let by_argument = |path: &str, words: &[&str]| busybox(path, &[&["busybox"], words].concat());
    for words in [
        &["touch", "x"][..],
        &["sh", "-c", "touch x"],
        &["sh", "-c", "t=touch; $t x"],
        &["sh", "script"],
        &["-sh"],
        &["find", ".", "-exec", "touch", "x", ";"],
        &["env", "A=1", "timeout", "5", "touch", "x"],
        &["taskset", "1", "touch", "x"],
        &["busyboxy", "touch", "x"],
        &["busybox", "sh", "-c", "touch x"],
    ] {
        assert!(is_denied(&by_argument("/usr/bin/busybox", words)), "{words:?}");
        assert!(is_denied(&busybox("/w/link", words)), "{words:?}");
        assert!(is_denied(&busybox("/usr/bin/busybox", words)), "{words:?}");
    }
    for words in [&["rm", "-rf", "touch"][..], &["cat", "touch"], &["echo", "touch"]] {
        assert!(!is_denied(&by_argument("/usr/bin/busybox", words)), "{words:?}");
        assert!(!is_denied(&busybox("/w/link", words)), "{words:?}");
    }
    let renamed =
        ProgramStart { file: "/w/toybox.static".into(), ..start(&["/w/toybox.static", "touch", "x"]) };
    assert!(is_denied(&renamed));
    // What the system calls by an applet's name starts programs itself.
    assert!(!is_denied(&busybox("/usr/bin/sh", &["sh", "-c", "touch x"])));
}

#[test]
fn what_is_cut_may_be_anything() {
    let is_denied =
        |start: ProgramStart| denies(&["Bash(touch:*)"], &ProgramStart { has_all_arguments: false, ..start });
    for words in
        [&["busybox", "env", "A=1"][..], &["busybox", "find", "."], &["busybox"], &["//////////"], &[]]
    {
        assert!(is_denied(busybox("/usr/bin/busybox", words)), "{words:?}");
    }
    let loader = "/lib64/ld-linux-x86-64.so.2";
    assert!(is_denied(start(&[loader, "--argv0", "x", "/usr/bin/tou"])));
    let loaded = named(&["/usr/bin/rm"]);
    assert!(!is_denied(ProgramStart { loaded, ..start(&[loader, "--argv0", "x", "/usr/bin/rm", "x"]) }));
    let is_denied = |words: &[&str]| {
        denies(&["Bash(rm -rf:*)"], &ProgramStart { has_all_arguments: false, ..start(words) })
    };
    assert!(is_denied(&["rm", "-r"]) && is_denied(&["rm", "a", "b"]) && !is_denied(&["cp", "a", "b"]));
}

#[test]
fn an_interpreter_is_judged_with_the_arguments_that_it_gets() {
    let script = |chain: Vec<Interpreter>| ProgramStart {
        given: "./x".into(),
        interpreters: chain,
        ..start(&["/w/x", "v"])
    };
    let by = |names: &[&str], argument| script(vec![interpreter(names, argument)]);
    assert!(denies(&["Bash(rm -rf:*)"], &by(&["/usr/bin/rm"], Some("-rf"))));
    assert!(!denies(&["Bash(rm -rf:*)"], &by(&["/usr/bin/rm"], Some("-f"))));
    assert!(denies(&["Bash(git push:*)"], &by(&["/usr/bin/git"], Some("push"))));
    assert!(denies(&["Bash(python3 -c ./x:*)"], &by(&["/usr/bin/python3"], Some("-c"))));
    assert!(denies(&["Bash(touch:*)"], &by(&["/usr/bin/busybox"], Some("touch"))));
    let loader = |loaded: &[&str], argument| {
        let loaded = if loaded.is_empty() { NamedFile::default() } else { named(loaded) };
        Interpreter { loaded, ..interpreter(&["/usr/bin/ld.so"], argument) }
    };
    assert!(denies(&["Bash(touch:*)"], &script(vec![loader(&[], Some("/usr/bin/touch"))])));
    assert!(denies(&["Bash(touch:*)"], &script(vec![loader(&["/w/t", "/usr/bin/touch"], Some("/w/t"))])));
    assert!(denies(&["Bash(touch:*)"], &script(vec![loader(&[], Some("touch"))])), "looked for elsewhere");
    let chain = vec![interpreter(&["/w/second"], Some("a")), loader(&[], Some("/usr/bin/touch"))];
    assert!(denies(&["Bash(touch /w/second a ./x v)"], &script(chain)));
}

#[test]
fn a_rule_that_names_a_link_holds_for_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().canonicalize().unwrap().join(name);
    std::fs::write(path("real"), "real").unwrap();
    std::os::unix::fs::symlink("real", path("link")).unwrap();
    std::fs::hard_link(path("real"), path("hard")).unwrap();
    let found = path("real").metadata().unwrap();
    let identity = (std::os::unix::fs::MetadataExt::dev(&found), std::os::unix::fs::MetadataExt::ino(&found));
    let rule = format!("Bash({} -x:*)", path("link").display());
    for name in ["real", "link", "hard"] {
        let called = path(name);
        let words = [called.to_str().unwrap(), "-x"];
        assert!(denies(&[&rule], &ProgramStart { identity, ..start(&words) }), "{name}");
        assert!(!denies(&[&rule], &ProgramStart { identity, ..start(&words[..1]) }), "{name}");
    }
    assert!(!denies(&[&rule], &start(&["/w/real", "-x"])));
}

#[test]
fn a_command_of_git_is_denied_under_its_own_name() {
    let push = start(&["/usr/lib/git-core/git-push", "origin"]);
    let helper = start(&["/usr/lib/git-core/git-remote-https", "push"]);
    assert!(denies(&["Bash(git push:*)"], &push) && !denies(&["Bash(git push:*)"], &helper));
    assert!([push, helper].iter().all(|start| denies(&["Bash(git:*)"], start)));
    let renamed = ProgramStart {
        called: "/usr/bin/git".into(),
        file: "/usr/bin/git".into(),
        ..start(&["git-push", "origin"])
    };
    assert!(denies(&["Bash(git push:*)"], &renamed) && !denies(&["Bash(git log:*)"], &renamed));
    assert!(!denies(&["Bash(git push:*)"], &start(&["/usr/lib/git-core/git-remote-https", "origin"])));
    // By the name alone, a rule that names the command counts, and one about all of git does not.
    let other = start(&["/w/git-stats", "x"]);
    assert!(denies(&["Bash(git stats:*)"], &other) && denies(&["Bash(git stats x)"], &other));
    assert!(!["Bash(git:*)", "Bash(git *)", "Bash(git push:*)"].iter().any(|rule| denies(&[rule], &other)));
}
