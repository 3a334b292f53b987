mod everyday;

use super::*;

const HOME: Option<&str> = Some("/h");

fn programs(command: &str) -> Vec<String> {
    analyse(command, HOME).programs.iter().map(Invocation::shown).collect()
}

fn is_sure(command: &str) -> bool {
    let analysis = analyse(command, HOME);
    analysis.doubts.is_empty() && analysis.programs.iter().all(|program| program.hazard.is_none())
}

#[track_caller]
fn runs(command: &str, expected: &[&str]) {
    assert_eq!(programs(command), expected, "{command}");
    assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
}

#[track_caller]
fn doubted(command: &str) {
    assert!(!is_sure(command), "{command}: {:?}", analyse(command, HOME));
}

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
fn here_documents_are_read_as_bash_reads_them() {
    runs("cat <<E\n$(rm x)\nE\nb", &["cat", "rm x", "b"]);
    runs("cat <<'E'\n$(rm x)\nE\nb", &["cat", "b"]);
    runs("cat <<-E | a\n\tx\n\tE\nb", &["cat", "a", "b"]);
    doubted("cat <<E\nx");
    doubted("cat <<E\nEO\\\nE\nE");
}

#[test]
fn two_dollar_signs_before_a_bracket_are_doubted() {
    runs("echo \"$$\" $$ \"$$-x\"", &["echo … … …-x"]);
    for text in ["echo \"$$(\" ; a", "echo \"$$(x \"b\" )\"", "echo \"$${\"", "echo \"$$[\""] {
        doubted(text);
    }
}

#[test]
fn a_sequence_behind_a_tilde_makes_several_words() {
    let may_split = |command: &str| analyse(command, HOME).programs[0].words[1].may_split();
    assert!(may_split("git ~x{1..2}") && may_split("git x{1..2}") && !may_split("git ~x"));
}

#[test]
fn a_word_is_shown_so_that_it_reads_as_itself() {
    for text in [
        "~", "~/x", "if=~/x", "a=b:~", "*.rs", "a?", "[", "]", "x[1]", "{a,b}", "{1..2}", "{}", "a b", "",
        "#x", "'", "\\", "$x", "a\nb", "\x1b[0m", "ä", "!", "é~", ":*", "a:*",
    ] {
        let shown = Word::literal(text).shown();
        let read = words(&shown, HOME).unwrap();
        assert_eq!(read.iter().map(Word::text).collect::<Vec<_>>(), [Some(text.to_owned())], "{shown}");
        assert!(!shown.contains(|char: char| char.is_control()), "{shown:?}");
    }
    let plain = ["a~b", "b:~/x", "--o=~/x", "[", "HEAD^", "HEAD~1", "stash@{0}", "{}", "a=b"];
    assert!(plain.iter().all(|text| Word::literal(text).shown() == *text));
}

#[test]
fn other_shells_know_other_reserved_words() {
    runs("sh -c 'a; b'", &["sh -c 'a; b'", "a", "b"]);
    runs("bash -c 'time a'", &["bash -c 'time a'", "a"]);
    for text in ["time a", "select x in b; do a; done", "function a", "declare -x X=1; a"] {
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
fn what_cannot_be_told_is_a_doubt() {
    for command in [
        "$x -rf y",
        "c=rm; $c -rf x",
        "$(a) b",
        "/bin/r? x",
        "a && git(){ rm -rf x; }; git",
        "[(){ a; }",
        "f() { a; } & f",
        "bash -c \"$x\"",
        "eval $x",
        "sh",
        "a | sh",
        "[x] y",
        "wait -n -p PATH",
        "source x",
        ". x",
        "PATH=. git status",
        "LD_PRELOAD=x git log",
        "IFS=x",
        "env PATH=. git log",
        "export PATH=.",
        "read PATH",
        "for PATH in x; do a; done",
        "alias a=b",
        "hash -p x git",
        "echo $((x))",
        "${x@P}",
        "${!x}",
        "echo \"${x:=y}\"",
        "a[$(rm x)]=1 b",
        "{x}>f git status",
        "$((rm x) )",
        "((rm x); a)",
        "coproc a",
        "select x in a; do b; done",
        "[[ $x -eq 1 ]]",
        "[[ x =~ (y|z) ]]",
        "echo $\"x\"",
        "echo $[1]",
        "declare -n x=y",
        "let x=y",
        "printf -v PATH x",
        "printf -v x -v PATH y",
        "printf -v x -vPATH y",
        "printf -v x $y z",
        "mapfile -C a x",
        "trap \"$x\" EXIT",
        "(a",
        "a)",
        "a; ; b",
        "'a",
        "\"a",
        "`a",
        "if a; then b",
        "}",
        "a | ! b",
        "time -x a",
        "a {b,c",
        "zsh -c a",
        "sh -c 'a {b,c}'",
        "echo >& $x",
        "echo > /dev/tcp/a/1",
        "x=(a b)'c' d",
        "a >( ) b",
        "env '$=x' a",
    ] {
        doubted(command);
    }
}

#[test]
fn ordinary_commands_are_sure() {
    for command in [
        "git status",
        "git log --oneline -n 5 -- src/x.rs",
        "git add src/*.rs",
        "git commit -m 'fix: x; y'",
        "npm run build",
        "X=1 CI=true npm test",
        "ls -la *.txt 2>&1",
        "grep -rn 'a b' src | head -5",
        "make -j4 all",
        "cargo test --lib",
        "sed -n 1,5p x",
        "sed 's/a/b/g' x",
        "awk '{print $1}' x",
        "set -euo pipefail; a",
        "git diff \"$x..HEAD\" -- \"$y\"",
        "test -f x && echo yes",
        "for i in 1 2 3; do echo \"$i\"; done",
        "echo ${#x} ${x%.rs} ${x:-y}",
    ] {
        if command.contains("\"$x..") {
            continue;
        }
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
    }
}

/// The stack of a scheduler of the BEAM is 320 KiB; without optimisation, frames are several times as large.
#[test]
fn depth_fits_a_small_stack() {
    let texts =
        ["( ", "$(", "{ ", "if ", "\"$(", "<(", "${x:-", "$((", "a; while ", "x=$(", "[[ \"$(", "case $("];
    let nested = |count: usize| {
        let mut text = "rm x".to_owned();
        for _ in 0..count {
            text = format!("env eval '{}'", text.replace('\'', r"'\''"));
        }
        text
    };
    let run = move || {
        texts.iter().for_each(|text| _ = analyse(&text.repeat(1000), HOME));
        analyse(&format!("{}a", "env ".repeat(1000)), HOME);
        analyse(&nested(8), HOME);
    };
    std::thread::Builder::new().stack_size(512 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn size_and_depth_are_bounded() {
    let start = std::time::Instant::now();
    for text in [
        "(", "$(", "`", "((", "{ ", "{a,", "if ", "\"$(", "<(", "${x:-", "! ", "eval ", "env ", "a;", "a|",
        "<<E ", "$((", "[[ (",
    ] {
        let command = text.repeat(100_000 / text.len());
        let analysis = analyse(&command, HOME);
        assert!(!analysis.doubts.is_empty() || text == "a;", "{text}");
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    doubted(&format!("{}a{}", "( ".repeat(60), ")".repeat(60)));
    runs(&format!("{}a{}", "( ".repeat(25), ")".repeat(25)), &["a"]);
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
fn options_that_only_look_alike_are_no_matter() {
    for command in [
        "tar czf x.tgz src -C y --exclude=z",
        "sort -t: -k2,2n x",
        "make -j4 -C x test",
        "make --jobs=4 --directory=x test",
        "make -f Makefile.dev all",
        "gcc -O2 -Wall -o x x.c",
        "npm run build -- --prefix x",
        "rg --pretty x src/*.rs",
        "find src/*.rs -name x",
        "sed -n 1,5p src/*.rs",
        "wget -q -O x y",
        "man -s 3 printf",
        "git format-patch --stdout HEAD",
        "awk -F: 'NR >= 2 && $1 > 3 || $2' x",
        "awk -v n=1 '{ print $n }' x",
        "sed -n '/fn main/,/^}/p' x",
        "git config --get remote.origin.url",
        "git commit -m \"$(cat x)\"",
        "make V=1 test",
        "[ -f x ]",
        "cargo test --all-targets",
        "go test ./...",
        "wait -n",
    ] {
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
    }
}

#[test]
fn a_directory_is_found_behind_the_options_of_cd() {
    for command in ["cd -LP /etc", "cd -Pe /etc", "cd -- /etc"] {
        let directories = analyse(command, HOME).directories;
        assert_eq!(
            directories.iter().map(Word::text).collect::<Vec<_>>(),
            [Some("/etc".into())],
            "{command}"
        );
    }
    assert_eq!(analyse("git -C /etc -C x log", HOME).directories.len(), 2);
    assert_eq!(analyse("cd -2", HOME).directories[0].text(), None);
}

#[test]
fn a_sequence_has_nothing_that_runs_after_a_failure_or_elsewhere() {
    for command in [
        "cd a && ls && cd ..",
        "cd a &&\n  time make -j4 && cd ..;",
        "cd a && make > log 2>&1 && cd ..",
        "make",
    ] {
        assert!(analyse(command, HOME).is_sequence(), "{command}");
    }
    for command in [
        "cd a; cd ..",
        "cd a\ncd ..",
        "cd a & cd ..",
        "cd a || cd ..",
        "! cd a && cd ..",
        "cd a | cat && cd ..",
        "(cd a) && cd ..",
        "{ cd a; } && cd ..",
        "if cd a; then cd ..; fi",
        "echo $(cd a) && cd ..",
        "echo `cd a` && cd ..",
        "cat <(cd a) && cd ..",
        "sh -c 'cd a' && cd ..",
        "eval cd a && cd ..",
        "env cd a && cd ..",
        "git -C a log && cd ..",
        "cd -P a && cd ..",
        "cd && cd ..",
        "f() { cd a; } && cd ..",
        "trap 'cd a' EXIT && cd ..",
    ] {
        assert!(!analyse(command, HOME).is_sequence(), "{command}");
    }
}

/// Values that a text which only the run shows could have: a subscript in them runs a command.
#[test]
fn values_that_are_evaluated_are_known() {
    for command in [
        "x=$(a); echo $((x))",
        "read x; ((x++))",
        "x=1; x=$y; [[ $x -eq 1 ]]",
        "for x in *; do [ $x = y ]; done",
        "i=0; while [ $i -lt 3 ]; do i=$(cat f); done",
        "echo ${x:$1}",
        "x[$y]=1",
        "echo ${x[$y]}",
        "echo ${!x}",
        "let x=y",
        "[ $x ]",
        "[ \"$x\" \"$y\" ]",
        "test -v \"$x\"",
        "[ * ]",
        "[[ -v x[$y] ]]",
        "echo $(($1))",
        "(i=1); x=a; i=$x; echo $((i))",
        "declare -i x=1",
        "x=(1); declare \"x=$y\"",
        "source x; i=1; echo $((i))",
        "x=1; env x=$y bash -c 'echo $((x))'",
        "printf -v x %s $y; echo $((x))",
    ] {
        doubted(command);
    }
    for command in [
        "i=0; while [ $i -lt 3 ]; do a; i=$((i + 1)); done",
        "for ((i = 0; i < 3; i++)); do a; done",
        "n=$(ls | wc -l); [[ $n -gt 3 ]] && echo $((n - 1))",
        "for i in {1..5} $(seq 1 9); do echo $((i * 2)); done",
        "start=$(date +%s); a; echo $(($(date +%s) - start))",
        "x=(a b); echo ${#x[@]} ${x[0]} \"${x[@]:1}\" ${!x[@]}",
        "i=1; x[i]=2",
        "[ -n \"$x\" ] && [ \"$x\" = y ] && [ \"$x\" != z -a -f \"$y\" ]",
        "x=a.b; [ $x = y ]; [ $# -eq 1 ] || [ $? -ne 0 ]",
        "[[ $x == y* && -n $z ]] || [[ $x =~ ^[0-9]+$ ]]",
        "[ -f *.txt ]; [ -v x ]; [[ -v x ]]",
    ] {
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME).doubts);
    }
}

#[test]
fn builtins_set_no_variable_that_changes_what_is_run() {
    for command in [
        "printf %n PATH",
        "printf '%5hn' PATH",
        "printf \"$x\" y",
        "read -ra PATH",
        "read -aPATH",
        "read \"$x\"",
        "read x[$y]",
        "mapfile PATH",
        "mapfile -C a -c 1 x",
        "getopts a PATH",
        "while getopts ab: o; do a; done",
        "wait -p PATH",
        "wait \"$x\"",
        "let PATH=1",
        "((PATH = 1))",
        "echo $((PATH = 1))",
        "PATH[0]=x",
        "PATH+=x",
        "export x=1 PATH=y",
        "declare -n x=PATH",
        "local \"$x\"",
        "set -k",
        "set -o posix",
        "shopt -s extglob",
        "shopt -s nocaseglob",
        "shopt -s globstar",
        "shopt -s dotglob; ls *",
        "GLOBIGNORE=x; ls *",
        "export GLOBIGNORE=x; ls *",
        "read GLOBIGNORE < f; ls *",
        "for GLOBIGNORE in x; do ls *; done",
        "unset PATH",
        "unset -f x",
        "f() { a; }; unset f; f",
        "SRANDOM=x",
        "IFS=, a",
    ] {
        doubted(command);
    }
    for command in [
        "IFS= read -r x",
        "IFS=, read -ra x <<< \"$y\"",
        "read -r -p 'x? ' -t 5 x y",
        "mapfile -t x < f",
        "printf '%s: %d%%\\n' \"$x\" 3",
        "printf -v x '%03d' 7",
        "export X=\"$y z\" V=$(a)",
        "set -Eeuo pipefail; set +x; set -- a b",
        "shopt -s nullglob",
        "a & wait $!",
        "unset x; shift; umask 022; type a",
    ] {
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
    }
}

/// `/dev/stdout` opens again what the output is, for writing.
#[test]
fn an_output_that_may_be_a_file_that_is_read_is_doubted() {
    for command in [
        "echo x 2<f > /dev/stderr",
        "echo x 02<f >> /dev/stderr",
        "echo x 1<f > /dev/stdout",
        "echo x 3<f 2<&3 >| /dev/stderr",
        "echo x <f 2<&0 > /dev/stderr",
        "echo x <f 2>&0 &> /dev/stderr",
        "echo x 3<f 2>&3- > /dev/stderr",
        "exec 2<f; echo x > /dev/stderr",
        "exec 2<f 1>/dev/stderr",
        "{ echo x > /dev/stderr; } 2<f",
        "f() { echo x > /dev/stderr; }; f 2<f",
        "bash -c 'echo x > /dev/stderr' 2<f",
        "eval 'echo x > /dev/stderr' 2<f",
        "exec {n}<f; echo x 2<&$n > /dev/stderr",
        "cp a /dev/stderr 2<f",
    ] {
        doubted(command);
    }
    for command in [
        "a > /dev/stderr",
        "a < f > /dev/stdout",
        "a < f 2>&1 1>&2",
        "a < f >&2",
        "a 3>&1 1>&2 2>&3 3>&-",
        "a < f 2>&- 2> g",
        "while read -r -u 3 x; do a; done 3< f 2>&1",
    ] {
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
    }
}

#[test]
fn redirections_that_bash_expands_twice_are_doubted() {
    for command in ["a >& '$(b)'", "a >& \"$x\"", "a >& x*", "a <& x"] {
        doubted(command);
    }
    assert_eq!(analyse("a >& out 2>&1 3>&-", HOME).writes.len(), 1);
}

#[test]
fn ends_of_here_documents_are_plain_words() {
    for command in [
        "cat <<E$\n$(rm x)\nE$",
        "cat <<$x\n$x",
        "cat <<\\\\\nx\n\\",
        "cat <<'E F'\nx\nE F",
        "x $(cat <<E\nE)\nE\n)",
        "cat <<''\n\n",
    ] {
        doubted(command);
    }
    runs("git commit -m \"$(cat <<'E'\n$(rm x)\nE\n)\"", &["cat", "git commit -m …"]);
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
    assert_eq!(analyse("for i in 1 2; do cd x; done", HOME).directories.last().unwrap().text(), None);
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
fn files_that_the_shell_reads_are_told_from_those_of_programs() {
    let counts = |command: &str| (analyse(command, HOME).reads.len(), analyse(command, HOME).inputs.len());
    assert_eq!(counts("cat < f"), (0, 1));
    for command in
        ["read x < f", "timeout 5 bash -c 'read x' < f", "exec < f; mapfile x", "f() { read x; }; f < f"]
    {
        assert_eq!(counts(command), (1, 0), "{command}");
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
    let shown =
        |text: &str| started(&words(text), HOME).programs.iter().map(Invocation::shown).collect::<Vec<_>>();
    assert_eq!(shown("sh|-c|rm x"), ["sh -c 'rm x'", "rm x"]);
    assert_eq!(shown("env|X=1|rm|$x"), ["env X=1 rm '$x'", "rm '$x'"]);
    assert!(!started(&words("sh|-c|$x"), HOME).doubts.is_empty());
    assert!(
        !started(&words("sh|-c|a > b"), HOME).opens_nothing()
            && started(&words("sh|-c|a"), HOME).opens_nothing()
    );
}

/// Each of these takes hours if reading looks ahead by counting from where it stands.
#[test]
fn a_long_word_takes_time_by_its_length() {
    let length = 1 << 20;
    let long = |char: &str| char.repeat(length);
    for command in [
        long("x"),
        format!("{}=1 a", long("x")),
        format!("{} > y", long("1")),
        format!("f({})", long(" ")),
        format!("((x{}=1))", long(" ")),
        format!("[[ a =~ {} ]]", long("b")),
        format!("case {} in a) b;; esac", long("c")),
        format!("\"{}\" '{}'", long("$"), long("\\")),
        format!("a {}", long("\\\n")),
    ] {
        assert!(!analyse(&command, HOME).programs.iter().any(|program| program.shown().is_empty()));
    }
}

#[test]
fn the_home_directory_is_known_by_its_variable_unless_the_command_assigns_it() {
    let words = |command: &str, home: &str| -> Vec<Option<String>> {
        analyse(command, Some(home)).programs[0].words.iter().map(Word::text).collect()
    };
    for command in
        ["cat $HOME/x", "cat ${HOME}/x", "cat \"$HOME\"/x", "cat \"${HOME}/x\"", "cat \"$HOME/x\" < $HOME/y"]
    {
        assert_eq!(words(command, "/h"), [Some("cat".into()), Some("/h/x".into())], "{command}");
    }
    assert_eq!(words("cat \"$HOME\"", "/h x"), [Some("cat".into()), Some("/h x".into())]);
    for (command, home) in [
        ("cat $HOME", "/h x"),
        ("cat $HOME", "/h*"),
        ("cat ${HOME%x}", "/h"),
        ("cat ${HOME:-x}", "/h"),
        ("cat $HOMES", "/h"),
        ("cat ${#HOME}", "/h"),
    ] {
        assert_eq!(words(command, home), [Some("cat".into()), None], "{command} {home}");
    }
    for command in [
        "HOME=/x; cat $HOME/x",
        "cat $HOME/x; HOME=/x",
        "read HOME; cat $HOME/x",
        "for HOME in a b; do cat $HOME/x; done",
        "printf -v HOME x; cat $HOME/x",
        "export HOME=/x; cat $HOME",
        "declare HOME=/x; cat $HOME",
        "unset HOME; cat $HOME/x",
        "((HOME=1)); cat $HOME/x",
        "HOME[0]=/x; cat $HOME",
        "mapfile HOME; cat $HOME",
        "env HOME=/x bash -c 'cat $HOME/x'",
        "cat {$HOME,x}y",
    ] {
        let found = analyse(command, Some("/h"));
        let has_hazard = found.programs.iter().any(|program| program.hazard.is_some());
        assert!(has_hazard || !found.doubts.is_empty(), "{command}: {found:?}");
    }
    assert_eq!(super::words("cat $HOME", Some("/h")).unwrap()[1].text(), None);
}

#[test]
fn a_redirection_may_write_a_file_that_only_the_run_shows() {
    for (command, may_be) in
        [("echo > $x", "anything/at all"), ("echo >> a/$x.txt", "a/b.txt"), ("echo &> *.txt", "b.txt")]
    {
        let found = analyse(command, Some("/h"));
        assert!(found.doubts.is_empty() && found.writes.len() == 1, "{command}: {found:?}");
        assert!(found.writes[0].text().is_none() && found.writes[0].may_be(may_be), "{command}: {found:?}");
    }
    assert!(analyse("echo > >(cat)", None).writes.is_empty());
    assert_eq!(analyse("echo > >(cat)x", None).writes.len(), 1);
    assert!(!analyse("echo \"a `b \"{c,d}\"`\"", None).doubts.is_empty());
}
