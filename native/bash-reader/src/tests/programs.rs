//! The programs that a command starts.

use super::*;

#[test]
fn every_program_of_a_list_is_found() {
    runs("git status && rm -rf x", &["git status", "rm -rf x"]);
    runs("a; b & c | d |& e || f\ng", &["a", "b", "c", "d", "e", "f", "g"]);
    runs("! a && time b", &["a", "b"]);
    runs("a # b; c", &["a"]);
}

#[test]
fn compound_commands_are_followed() {
    runs("(a; b) && { c; d; }", &["a", "b", "c", "d"]);
    runs("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    runs("while a; do b; done < x", &["a", "b"]);
    runs("for x in a $(b) c; do d; done", &["b", "d"]);
    runs("case $x in a|b) c;; *) d;& esac", &["c", "d"]);
    runs("[[ -f x && $(a) == y ]] && b", &["a", "b"]);
    runs("((1 + 2)) && a", &["a"]);
}

#[test]
fn substitutions_are_followed_wherever_they_stand() {
    runs("echo $(a) `b` <(c) \"$(d `e`)\" ${x:-$(f)}", &["a", "b", "c", "e", "d …", "f", "echo … … … … …"]);
    assert_eq!(programs("x=$(a) b >$(c)/y"), ["a", "c", "b"]);
}

#[test]
fn other_shells_know_other_reserved_words() {
    runs("sh -c 'a; b'", &["sh -c 'a; b'", "a", "b"]);
    runs("bash -c 'time a'", &["bash -c 'time a'", "a"]);
    for text in ["time a", "select x in b; do a; done", "function a", "declare -x X=1; a", "exec -- a"] {
        doubted(&format!("sh -c '{text}'"));
        doubted(&format!("dash -c '{text}'"));
    }
}

#[test]
fn spellings_make_no_difference() {
    for spelled in
        ["r''m -rf x", "\\rm -rf x", "\"rm\" -r\\f x", "$'\\x72m' -rf x", "{rm,-rf,x}", "r\\\nm -rf x"]
    {
        runs(spelled, &["rm -rf x"]);
    }
}

#[test]
fn wrappers_are_seen_through() {
    runs(
        "env X=1 timeout 5 nice -n 3 rm x",
        &["env X=1 timeout 5 nice -n 3 rm x", "timeout 5 nice -n 3 rm x", "nice -n 3 rm x", "rm x"],
    );
    runs("find . -name x -exec rm -rf '{}' \\;", &["rm -rf …", "find . -name x -exec rm -rf {} ';'"]);
    runs("bash -c 'rm x; a'", &["bash -c 'rm x; a'", "rm x", "a"]);
    runs("eval 'rm' x", &["eval rm x", "rm x"]);
    runs("sudo -u root rm x", &["sudo -u root rm x", "rm x"]);
    runs("printf x | xargs -0 rm -f", &["printf x", "xargs -0 rm -f", "rm -f …"]);
}

#[test]
fn a_program_that_lies_elsewhere_is_not_what_it_is_called() {
    for command in
        ["./timeout 5 git log", "./true", "a/env git log", "/tmp/eval 'git log'", "./bash -c 'git log'"]
    {
        let own = analyse(command, HOME).programs.remove(0);
        assert_eq!(own.standing, InvocationKind::Judged, "{command}");
    }
    assert_eq!(analyse("/usr/bin/timeout 5 a", HOME).programs[0].standing, InvocationKind::Wrapper);
}

#[test]
fn texts_of_traps_shells_and_eval_are_found_behind_their_options() {
    runs("trap -- 'rm x' EXIT", &["trap -- 'rm x' EXIT", "rm x"]);
    runs("trap - EXIT", &["trap - EXIT"]);
    runs("eval -- 'rm x'", &["eval -- 'rm x'", "rm x"]);
    for spelled in
        ["bash -c -e 'rm x'", "bash -c -- 'rm x'", "sh -e -c -x -- 'rm x' y", "bash -euo pipefail -c 'rm x'"]
    {
        assert_eq!(programs(spelled).last().unwrap(), "rm x", "{spelled}");
        assert!(is_sure(spelled), "{spelled}");
    }
    for odd in ["bash -c +x 'rm x'", "bash -c $x 'rm x'", "bash -c \"$x\" 'rm x'", "trap \"$x\" EXIT"] {
        doubted(odd);
    }
}

#[test]
fn functions_are_followed_where_they_are_surely_defined() {
    runs("f() { a \"$1\"; }; f x", &["a …", "f x"]);
    runs("function f {\n a\n}\nf | b", &["a", "f", "b"]);
    let calls = |command: &str| analyse(command, HOME).programs.pop().unwrap().standing;
    assert_eq!(calls("f() { a; }; f"), InvocationKind::Harmless);
    for command in ["f; f() { a; }; env f", "f() { a; }; bash -c f", "f() { a; }; command f"] {
        assert_eq!(calls(command), InvocationKind::Judged, "{command}");
    }
    for command in
        ["no && f() { a; }; f", "f() { a; } | b; f", "if a; then f() { b; }; fi; f", "cd() { a; }; cd x"]
    {
        doubted(command);
    }
    for repeated in [
        "for i in 1 2; do cd x; done",
        "while cd x; do ls; done",
        "trap 'cd x' DEBUG; ls; ls",
        "trap 'cd x' ERR; false; false",
    ] {
        assert_eq!(analyse(repeated, HOME).directories.last().unwrap().text(), None, "{repeated}");
    }
}

#[test]
fn options_of_xargs_have_the_values_that_they_take() {
    for (command, inner) in [
        ("xargs --max-lines rm x", "rm x …"),
        ("xargs -l rm x", "rm x …"),
        ("xargs -eE rm x", "rm x …"),
        ("xargs --eof rm", "rm …"),
    ] {
        assert_eq!(programs(command).last().unwrap(), inner, "{command}");
    }
    for command in ["xargs -0I% % x", "xargs -i {}", "xargs -tI % %", "exec -l bash -c a"] {
        doubted(command);
    }
}

#[test]
fn a_wrapper_starts_no_builtin() {
    for command in ["env read x", "find . -exec let x ';'", "xargs declare x"] {
        let programs = analyse(command, HOME).programs;
        assert!(
            programs.iter().any(
                |program| program.standing == InvocationKind::Judged && program.name().unwrap() != "find"
            )
        );
    }
    assert_eq!(analyse("command read x", HOME).programs.last().unwrap().standing, InvocationKind::Harmless);
    // What bash's own `test` and `printf` evaluate, the programs of these names do not.
    for command in ["xargs test 1 -lt", "env printf %n x", "nice test -v x"] {
        let found = analyse(command, HOME);
        assert!(found.doubts.is_empty(), "{command}");
        assert_eq!(found.programs.last().unwrap().standing, InvocationKind::Harmless, "{command}");
    }
}

#[test]
fn a_program_with_known_words_is_read_as_the_shell_would_have() {
    let words = |text: &str| text.split('|').map(str::to_owned).collect::<Vec<_>>();
    let shown = |text: &str| started(&words(text)).programs.iter().map(Invocation::shown).collect::<Vec<_>>();
    assert_eq!(shown("sh|-c|rm x"), ["sh -c 'rm x'", "rm x"]);
    assert_eq!(shown("env|X=1|rm|$x"), ["env X=1 rm '$x'", "rm '$x'"]);
    assert!(!started(&words("sh|-c|$x")).doubts.is_empty());
    assert!(!started(&words("sh|-c|a > b")).opens_nothing() && started(&words("sh|-c|a")).opens_nothing());
}
