//! What rules must never let through, tried with the port program itself: each call first does its work where it is
//! allowed, and then does nothing under the policy, by its effect on the host.
#![cfg(target_os = "linux")]

mod attacks;
mod files;
mod fixture;
mod other_names;
mod starts;

use attacks::{
    Attack, BY_GIT, BY_OPTIONS, COMPANY, DETOURS, Effect, OTHER_MEANS, SECRETS, SPELLINGS, UNCOVERED,
};
use fixture::{Fixture, SECRET};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Everything, with nothing in the way.
const OPEN: &[&str] = &["--default", "allow", "--sandbox", "off"];
/// git, and changes below src; nothing else.
const TIGHT: &[&str] = &[
    "--allow",
    "Bash(git:*)",
    "--allow",
    "Edit(src/**)",
    "--deny",
    "Bash(rm -rf:*)",
    "--deny",
    "Read(**/*.pem)",
];
/// Everything, but what is denied.
const LOOSE: &[&str] =
    &["--allow", "Bash", "--allow", "Write", "--deny", "Bash(rm -rf:*)", "--deny", "Read(**/*.pem)"];
/// Programs that read, pack and build, whatever their arguments; nothing else.
const USEFUL: &[&str] = &[
    "--allow",
    "Bash(tar:*)",
    "--allow",
    "Bash(make:*)",
    "--allow",
    "Bash(split:*)",
    "--allow",
    "Bash(sort:*)",
    "--allow",
    "Bash(sed:*)",
    "--allow",
    "Bash(gcc:*)",
    "--allow",
    "Bash(printf:*)",
    "--allow",
    "Bash(true)",
];
/// The same by the mode.
const LAX: &[&str] = &["--default", "allow", "--deny", "Bash(rm -rf:*)", "--deny", "Read(**/*.pem)"];

/// That a command has its effect where everything is allowed, and under none of the policies.
fn check(&(command, effect): &Attack, policies: &[&[&str]]) -> Result<(), String> {
    for policy in policies {
        let fixture = Fixture::new();
        let answer = fixture.run(policy, command);
        if fixture.has(effect, &answer) {
            return Err(format!("{command:?} gets through {policy:?}: {}", answer.value));
        }
    }
    let fixture = Fixture::new();
    let answer = fixture.run(OPEN, command);
    match fixture.has(effect, &answer) {
        true => Ok(()),
        false => Err(format!("{command:?} does not even work where it is allowed: {}", answer.value)),
    }
}

/// Checks all attacks, a few at a time.
fn check_all(attacks: &[Attack], policies: &[&[&str]]) {
    let part = attacks.len().div_ceil(4);
    let failures: Vec<String> = std::thread::scope(|scope| {
        let check_part = |part: &[Attack]| {
            part.iter().filter_map(|attack| check(attack, policies).err()).collect::<Vec<_>>()
        };
        let threads: Vec<_> =
            attacks.chunks(part).map(|part| scope.spawn(move || check_part(part))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_denied_program_does_not_run_beside_an_allowed_one() {
    check_all(COMPANY, &[TIGHT, LOOSE, LAX]);
}

#[test]
fn a_denied_program_does_not_run_by_another_spelling() {
    check_all(SPELLINGS, &[TIGHT, LOOSE, LAX]);
}

#[test]
fn a_denied_program_does_not_run_through_another_one() {
    check_all(DETOURS, &[TIGHT, LOOSE, LAX]);
    check_all(OTHER_MEANS, &[TIGHT]);
}

#[test]
fn git_runs_no_other_program() {
    check_all(BY_GIT, &[TIGHT, LOOSE, LAX]);
}

#[test]
fn a_rule_for_a_program_covers_no_option_that_runs_another_one() {
    check_all(BY_OPTIONS, &[USEFUL]);
    let fixture = Fixture::new();
    for command in [
        "tar cf y.tar src && tar -tf y.tar",
        "sort plain.txt",
        "sed -n 1,2p plain.txt",
        "split -l 1 plain.txt",
    ] {
        let answer = fixture.run(USEFUL, command);
        assert!(answer.is_ok, "{command}: {answer:?}");
    }
}

/// Where tools may write files and git may run, no file makes git run a program.
#[test]
fn a_repository_that_files_feign_gives_git_no_orders() {
    const WRITER: &[&str] = &[
        "--allow",
        "Bash(git:*)",
        "--allow",
        "Write(src/**)",
        "--allow",
        "Edit(src/**)",
        "--allow",
        "Bash(printf:*)",
    ];
    let config = |fixture: &Fixture| {
        let program = fixture.path("q").display().to_string();
        std::fs::write(&program, format!("#!/bin/sh\nrm -rf {}\n", fixture.path("x").display())).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        format!("[core]\nrepositoryformatversion=0\nbare=false\nworktree=..\nfsmonitor={program}\n")
    };
    let repository = |at: &str, config: &str| {
        ["objects/y", "refs/y"].map(|name| (format!("{at}/{name}"), String::new())).into_iter().chain([
            (format!("{at}/HEAD"), "ref: refs/heads/m\n".to_owned()),
            (format!("{at}/config"), config.to_owned()),
        ])
    };
    let files = |kind: &str, config: &str| -> Vec<(String, String)> {
        match kind {
            "nested" => repository("src/a/.git", config).collect(),
            "bare" => repository("src/a", config).collect(),
            _ => repository("src/b/c", config)
                .chain([("src/a/.git".to_owned(), "gitdir: ../b/c\n".to_owned())])
                .collect(),
        }
    };
    for kind in ["nested", "bare", "elsewhere"] {
        for policy in [OPEN, WRITER] {
            let fixture = Fixture::new();
            std::fs::create_dir(fixture.path("src/a")).unwrap();
            for (path, content) in files(kind, &config(&fixture)) {
                fixture.call(policy, "file_write", &json!({"path": path, "content": content}));
            }
            let redirected = fixture.run(policy, "printf x > src/.git");
            let answer =
                fixture.call(policy, "shell_exec", &json!({"command": "git status", "cwd": "src/a"}));
            match policy == OPEN {
                true => assert!(
                    !fixture.path("x").exists() && redirected.is_ok,
                    "{kind} does not even work: {answer:?}"
                ),
                false => {
                    assert!(fixture.path("x").exists(), "{kind} runs a program: {answer:?}");
                    assert_eq!(redirected.reason(), Some("needs_approval"), "{redirected:?}");
                }
            }
        }
    }
    let fixture = Fixture::new();
    assert!(fixture.call(WRITER, "file_write", &json!({"path": "src/y", "content": "y"})).is_ok);
    assert!(fixture.call(WRITER, "shell_exec", &json!({"command": "git status", "cwd": "src"})).is_ok);
}

#[test]
fn a_rule_for_a_program_covers_neither_files_that_are_written_nor_like_names() {
    check_all(UNCOVERED, &[TIGHT]);
}

#[test]
fn a_denied_file_is_not_read_by_commands() {
    check_all(SECRETS, &[TIGHT, LOOSE, LAX]);
}

#[test]
fn settings_of_another_repository_run_nothing() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let config = format!("[alias]\n\ty = \"!rm -rf {}\"\n", fixture.path("x").display());
    std::fs::write(other.path(".git/config"), config).unwrap();
    let place = other.path("");
    let place = place.display();
    for command in
        [format!("cd {place} && git y"), format!("git -C {place} y"), format!("GIT_DIR={place}/.git git y")]
    {
        std::fs::create_dir_all(fixture.path("x")).unwrap();
        let policy = [TIGHT, &["--allow", "Bash(cd:*)"]].concat();
        assert_eq!(fixture.run(&policy, &command).reason(), Some("needs_approval"), "{command}");
        assert!(fixture.path("x").exists(), "{command}");
        assert!(fixture.run(OPEN, &command).is_ok);
        assert!(!fixture.path("x").exists(), "{command} does not even work");
    }
}

/// What is meant to run does.
#[test]
fn what_rules_allow_runs_and_the_rest_is_refused_with_its_reason() {
    let fixture = Fixture::new();
    for command in
        ["git status", "git log --oneline -n 1 && git diff", "timeout 20 git status", "git log 2>/dev/null"]
    {
        let answer = fixture.run(TIGHT, command);
        assert!(answer.is_ok, "{command}: {answer:?}");
    }
    let denied = fixture.run(TIGHT, "git status && r''m -r -f x").value;
    assert_eq!(denied["details"]["matched_rule"], "Bash(rm -rf:*)");
    assert!(denied["message"].as_str().unwrap().contains("for the part \"rm -r -f x\""), "{denied}");
    let asked = fixture.run(TIGHT, "git log; npm test > out").value;
    assert_eq!(asked["details"]["command"], "git log; npm test > out");
    let message = asked["message"].as_str().unwrap();
    assert!(message.contains("wants to run: git log; npm test > out"), "{message}");
    assert!(message.ends_with("--allow 'Bash(npm test)' --allow 'Write(./out)'"), "{message}");
}

#[test]
fn a_hundred_kilobytes_of_parentheses_are_asked_about_at_once() {
    let fixture = Fixture::new();
    let start = Instant::now();
    for text in ["(", "((", "$(", "{ ", "[[ ( ", "<(", "`", "if "] {
        let command = text.repeat((100 << 10) / text.len());
        for policy in [TIGHT, LOOSE, LAX] {
            assert_eq!(fixture.run(policy, &command).reason(), Some("needs_approval"), "{text}");
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn a_malformed_rule_is_an_error_before_anything_runs() {
    let fixture = Fixture::new();
    for list in ["--allow", "--ask", "--deny"] {
        let answer = fixture.run(&["--default", "allow", list, "Bash(git"], "rm -rf x");
        assert_eq!(answer.reason(), Some("invalid_argument"), "{answer:?}");
        assert!(answer.value["message"].as_str().unwrap().contains("not closed"), "{answer:?}");
        assert!(fixture.path("x").exists());
    }
    fixture.run(OPEN, "rm -rf x");
    assert!(!fixture.path("x").exists());
}

#[test]
fn effects_are_seen() {
    let fixture = Fixture::new();
    for effect in [Effect::Removed, Effect::Made("made"), Effect::Told] {
        let answer = fixture.run(OPEN, "true");
        assert!(!fixture.has(effect, &answer), "{effect:?} without a cause");
    }
}

/// In a glob, `?` is one byte.
#[test]
fn bytes_that_are_not_utf_8_are_bytes_for_rules() {
    let fixture = Fixture::new();
    for (rule, word, is_refused) in [
        ("touch f?", "f\\xFF", true),
        ("touch f[!a]", "f\\xFF", true),
        ("touch f??", "f\\xE2\\x82", true),
        ("touch f??", "f\\xC3\\xA9", true),
        ("touch f?", "f\\xFF\\xFF", false),
        ("touch f*", "f\\xFF", true),
    ] {
        let policy = ["--default", "allow", "--deny", &format!("Bash({rule})")];
        let answer = fixture.run(&policy, &format!("perl -e 'exec {{q(touch)}} q(touch), qq({word})'"));
        assert_eq!(answer.value["refused"].is_array(), is_refused, "{rule} {word}: {answer:?}");
    }
}

/// A backslash is a character of a name, and what tools would show as a byte is none.
#[test]
fn paths_in_commands_are_as_bash_has_them() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.path("src")).unwrap();
    std::os::unix::fs::symlink("src", fixture.path("\\x6fut")).unwrap();
    for (policy, command) in [
        (&["--allow", "Bash(true)", "--allow", "Write(out/**)"][..], "true; echo evil > '\\x6fut/f'"),
        (&["--allow", "Bash", "--ask", "Write(src/**)"], "true; echo evil > '\\x6fut/f'"),
        (&["--allow", "Bash", "--ask", "Write(src/**)"], "cd '\\x6fut' && echo evil > f"),
        (&["--allow", "Bash", "--ask", "Write(dev\\x5Cx2d)"], "echo evil > 'dev\\x2d'"),
    ] {
        let answer = fixture.run(policy, command);
        assert_eq!(answer.reason(), Some("needs_approval"), "{policy:?} {command}: {answer:?}");
    }
    let answer = fixture.run(&["--allow", "Bash(true)"], "true > '\\x41'");
    assert!(answer.value.to_string().contains(r"Write(./\\x5Cx41)"), "{answer:?}");
    let answer = fixture.run(&["--allow", "Bash(true)", "--allow", r"Write(./\x5Cx41)"], "true > '\\x41'");
    assert!(answer.is_ok, "{answer:?}");
}

/// Rules and words in which a tilde or a wildcard is quoted, and whether the rule allows the command. Without quotes,
/// they are others.
#[test]
fn a_rule_reads_quotes_as_bash_does() {
    let fixture = Fixture::new();
    let in_home = format!("dd if={}", fixture.path("~/none").display());
    for (rule, command, is_allowed) in [
        ("dd if=~/none", "dd if=~/none", true),
        ("dd if=~/none", &in_home, true),
        ("dd if=~/none", "dd if'='~/none", false),
        ("dd if=~/none", "dd if=''~/none", false),
        ("dd if=~/none", r"dd if=\~/none", false),
        ("dd 'if=~/none'", "dd if=~/none", false),
        ("dd 'if=~/none'", "dd if=''~/none", true),
        ("cat '*'", "cat *", false),
        ("cat '*'", "cat a", false),
        ("cat '*'", r"cat \*", true),
    ] {
        let is_run = |rule: &str| {
            let answer = fixture.run(&["--allow", rule], command);
            !matches!(answer.reason(), Some("denied" | "needs_approval"))
        };
        assert_eq!(is_run(&format!("Bash({rule})")), is_allowed, "{rule}: {command}");
        let asked = fixture.run(&[], command);
        let wanted = asked.value["details"]["wanted"][0].as_str().unwrap_or_default().to_owned();
        assert!(is_run(&wanted), "{wanted}: {command}: {asked:?}");
    }
}

/// Ordinary commands under rules of the usual form run as without a guard.
#[test]
fn ordinary_commands_under_rules_for_their_programs_run() {
    const PROGRAMS: &[&str] = &[
        "git", "head", "ls", "xargs", "wc", "find", "grep", "cat", "sort", "uniq", "tar", "gzip", "sed",
        "awk", "make", "gcc", "touch", "mkdir", "cp", "python3", "cut", "./p", "env", "timeout", "date",
        "sh",
    ];
    let rules: Vec<String> =
        PROGRAMS.iter().flat_map(|name| ["--allow".to_owned(), format!("Bash({name}:*)")]).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let fixture = Fixture::new();
    std::fs::write(fixture.path("Makefile"), "all:\n\tgcc -o t t.c && ./t\n").unwrap();
    std::fs::write(fixture.path("t.c"), "int main(void) { return 0; }\n").unwrap();
    for command in [
        "git status --short && git log --oneline | head -n 2",
        "git stash list; git branch -a; git clone -q . src/c && git -C src/c fetch",
        "git submodule status",
        "ls *.txt | xargs -n1 wc -l",
        "find . -name '*.txt' -exec wc -l {} + | sort -n",
        "find src -type f -print0 | xargs -0 grep -l x; true",
        "for i in 1 2 3; do echo \"$i\" | cat; done",
        "x=$(git rev-parse HEAD); echo \"$x\"",
        "tar czf y.tgz src && tar tzf y.tgz && gzip -t y.tgz",
        "sed -n 1p plain.txt | awk '{ print $1 }'",
        "make all && make -j2",
        "gcc -O2 -c t.c && gcc -flto -o t2 t.c",
        "timeout 20 env X=1 git status",
        "python3 -c 'import subprocess; subprocess.run([\"ls\"], check=True)'",
        "sh -c 'git status; ls'",
        "cat plain.txt 2>/dev/null | sort | uniq -c | sort -rn | head -5",
        "mkdir -p a/b && touch a/b/c && cp a/b/c a/d && test -f a/d && [ -d a ]",
        "cd src && ls && git status",
        "date +%s && cut -c1 plain.txt",
        "./p",
    ] {
        let answer = fixture.run(&rules, command);
        assert!(answer.is_ok && answer.value["exit_code"] == 0, "{command}: {answer:?}");
    }
}
