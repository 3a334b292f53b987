//! What allow rules cover of a command: variables, paths, what it reads.

use super::*;

#[test]
fn a_variable_that_the_shell_keeps_to_itself_is_its_own_unless_the_environment_has_it() {
    let rules = ["Bash(make:*)", "Bash(cat:*)", "Bash(bash:*)"];
    let auto = policy(&rules, &[], &[], PolicyMode::Auto);
    let own = [
        "make x; RC=$?; echo $RC",
        "FILE=a.txt; cat \"$FILE\"",
        "SRC_DIR=src && cat \"$SRC_DIR/a\"",
        "for FILE in a b; do cat \"$FILE\"; done",
        "CC=1; bash -c 'LIB=1; make'",
    ];
    for command in own {
        assert_eq!(name(&auto, command), "allow", "{command}");
    }
    for command in [
        "i=0; bash -c 'i=0; i=$((i+1)); make'; timeout 9 bash -c make; cat $((i))",
        "exec bash -c 'i=0; i=$((i+1)); make'",
        "bash -c 'read l < a; make'",
        "timeout 9 bash -c 'make < a'",
    ] {
        assert_eq!(name(&auto, command), "allow", "{command}");
    }
    for command in [
        "FILE=x make",
        "FILE=x; export FILE; make",
        "FILE=x; declare -x FILE; make",
        "FILE=x; env FILE=y make",
        "FILE=x bash -c make",
        // The exec guard asks about what a wrapper starts, so it must not begin.
        "timeout 9 bash -c 'make; RC=1'",
        "nice env bash -c 'make; RC=1'",
        "timeout 9 bash -c 'i=0; i=$((i+1)); make'",
        "i=0; timeout 9 bash -c \"nice bash -c 'cat \\$((i))'\"",
        "timeout 9 bash -xc make",
        "timeout 9 bash -c 'read l < a; make'",
        "find . -execdir bash -c 'while read l; do make; done < a' ';'",
        "timeout 9 bash -c '[ -v ~ ]'",
        "set -a; FILE=x; make",
        "set -o allexport; FILE=x; make",
        "set -k; make FILE=x",
        "PATH=x; make",
        "HOME=x; cat ~/a",
        "IFS=x; cat $a",
        "PS4='$(make)'; set -x; cat a",
        "BASH_ENV=x; bash -c make",
        "GLOBIGNORE=x; cat *",
        "for PATH in x; do make; done",
        "LC_ALL=x; cat \u{e9}",
        // Those that the sandbox sets.
        "GOFLAGS=x; make",
        "CARGO_HOME=x; make",
        "https_proxy=x; make",
        "HTTPS_PROXY=x; make",
        "GIT_SSL_CAINFO=x; make",
    ] {
        assert_eq!(name(&auto, command), "ask", "{command}");
    }
    let env = ["RC", "FILE", "SRC_DIR", "CC", "LIB"];
    let sandbox = SandboxSettings { env: env.map(str::to_owned).to_vec(), ..SandboxSettings::default() };
    let passing = auto.clone().with_sandbox(&sandbox);
    for command in own {
        assert_eq!(name(&passing, command), "ask", "{command}");
        let mut permission = permission("Bash", false);
        permission.operand = Operand::Command(CommandLine {
            typed: command.into(),
            command: command.into(),
            variables: env.map(str::to_owned).to_vec(),
            directory: ".".into(),
            is_background: false,
        });
        assert!(matches!(verdict(&auto, &permission), Verdict::Ask(_)), "{command}");
    }
}

#[test]
fn a_path_that_climbs_is_in_no_wildcard() {
    let auto = |rule: &str| policy(&[rule], &[], &[], PolicyMode::Auto);
    for (rule, command, verdict) in [
        ("Bash(./scripts/*)", "./scripts/a.sh x", "allow"),
        ("Bash(./scripts/*)", "./scripts/../../usr/bin/rm -f x", "ask"),
        ("Bash(scripts/**)", "scripts/a/../../x", "ask"),
        ("Bash(scripts/*.sh)", "scripts/../x y.sh", "ask"),
        ("Bash(*/ls*)", "../ls/../../usr/bin/rm", "ask"),
        ("Bash(../scripts/*)", "../scripts/a.sh", "allow"),
        ("Bash(../scripts/*)", "../scripts/../x", "ask"),
        ("Bash(a/../run.sh *)", "a/../run.sh x", "allow"),
        ("Bash(/srv/*)", "/srv/../bin/rm x", "ask"),
        ("Bash(./scripts/*)", "./scripts/a.sh ../x", "allow"),
        ("Bash(./*)", "./../../usr/bin/rm x", "ask"),
        ("Bash(./*)", ".//./../usr/bin/rm x", "ask"),
        ("Bash(../*)", "../../usr/bin/rm x", "ask"),
        ("Bash(../*)", "../run.sh x", "allow"),
        ("Bash(*/*)", "../run.sh", "ask"),
        ("Bash([.]./*)", "../run.sh", "ask"),
        ("Bash(a/../*)", "a/../run.sh", "allow"),
        ("Bash(a/../*)", "a/../../run.sh", "ask"),
    ] {
        assert_eq!(name(&auto(rule), command), verdict, "{rule} {command}");
    }
}

#[test]
fn what_another_command_prints_is_no_file() {
    let auto = policy(&["Bash(git ls-files:*)", "Bash(wc:*)"], &[], &[], PolicyMode::Auto);
    for command in
        ["while read -r l; do wc -l \"$l\"; done < <(git ls-files)", "read -r x < <(git ls-files); wc \"$x\""]
    {
        assert_eq!(name(&auto, command), "allow", "{command}");
    }
    for command in ["read -r x < <(rm x); wc a", "read -r x < $y<(git ls-files); wc a"] {
        assert_eq!(name(&auto, command), "ask", "{command}");
    }
}
