//! Commands that the reader doubts because it cannot know what they start, and ordinary ones that it does not doubt.

use super::*;

#[test]
fn two_dollar_signs_before_a_bracket_are_doubted() {
    runs("echo \"$$\" $$ \"$$-x\"", &["echo … … …-x"]);
    for text in
        ["echo \"$$(\" ; a", "echo \"$$(x \"b\" )\"", "echo \"$${\"", "echo \"$$[\"", "echo {a,b}$${c,d}"]
    {
        doubted(text);
    }
}

#[test]
fn an_applet_that_can_run_others_is_doubted() {
    for text in ["busybox", "busybox sh -c a", "/bin/busybox find .", "env toybox env a", "busybox \"$x\""] {
        doubted(text);
    }
    runs("busybox rm x", &["busybox rm x", "rm x"]);
}

#[test]
fn what_cannot_be_told_is_a_doubt() {
    for command in [
        "$x -rf y",
        "c=rm; $c -rf x",
        "$(a) b",
        "[[<(a) ]]",
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
        "echo >&1-''",
        "echo >& \"1-\"",
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
    // Each wrapper repeats the words behind it.
    for wrapper in ["env ", "nohup ", "eval ", "xargs "] {
        let found = analyse(&format!("exit; {}cat f", wrapper.repeat(95_000 / wrapper.len())), HOME);
        assert!(!found.is_certain() && found.listed < 2_000_000, "{wrapper}: {}", found.listed);
    }
    doubted(&format!("{}a{}", "( ".repeat(60), ")".repeat(60)));
    runs(&format!("{}a{}", "( ".repeat(25), ")".repeat(25)), &["a"]);
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

#[test]
fn the_character_set_of_a_text_with_wide_characters_is_not_changed() {
    // In these, bash takes the last byte of the character and the backslash for one character.
    for command in [
        "LC_ALL=zh_CN.GBK; echo \"\u{3043}\\\"; rm x #\"",
        "export LC_CTYPE=x; echo \u{e9}",
        "LC_ALL=$x a \u{e9}",
        "LC_ALL=(zh_TW); echo \u{e9}",
        "LC_ALL+=(zh_TW C); echo \u{e9}",
        "LC_ALL='LC_CTYPE=zh_TW;LC_TIME=C.UTF-8'; echo \u{e9}",
        "LC_ALL=(); echo \u{e9}",
        "LC_ALL=''$x; echo \u{e9}",
        "env LANG=x bash -c 'echo \u{e9}'",
        "read LC_ALL; echo \u{e9}",
        "declare LC_ALL=x; echo \u{e9}",
        "unset LC_ALL; echo \u{e9}",
    ] {
        doubted(command);
    }
    assert!(started(&["env", "LC_ALL=x", "bash", "-c", "echo \u{e9}"].map(str::to_owned)).doubts.len() == 1);
    for command in [
        "LC_ALL=C sort f",
        "LC_ALL='C.'utf8 LANG= a \u{e9}",
        "export LANG=x; a",
        "LC_TIME=x date; echo \u{e9}",
        "echo \u{e9}",
    ] {
        assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME).doubts);
    }
    assert!(
        analyse("echo \u{e9}", HOME).is_telling("LC_ALL") && !analyse("echo e", HOME).is_telling("LC_ALL")
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
