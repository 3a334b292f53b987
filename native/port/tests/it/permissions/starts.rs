//! Programs that a command starts, as the exec guard decides them.

use super::*;

/// A rule for a program covers the program and its parts. What else it starts needs a rule of its own, or a runner above it.
#[test]
fn an_allowed_program_starts_nothing_but_its_parts() {
    const PROGRAMS: &[&str] =
        &["awk", "sed", "tar", "find", "xargs", "env", "vi", "ssh", "sort", "git", "printf"];
    let rules: Vec<String> =
        PROGRAMS.iter().flat_map(|name| ["--allow".to_owned(), format!("Bash({name}:*)")]).collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    check_all(attacks::BY_ALLOWED, &[&rules]);
}

/// A part that is a tool of many uses counts only in the use that its program has for it.
#[test]
fn parts_do_not_do_what_variables_and_texts_tell_them() {
    let policy = ["zgrep", "tar", "groff", "printf"].map(|name| format!("Bash({name}:*)"));
    let policy: Vec<&str> = policy.iter().flat_map(|rule| ["--allow", rule]).collect();
    let attacks = attacks::BY_PARTS
        .iter()
        .filter(|(command, _)| !command.contains("groff") || Path::new("/usr/bin/groff").exists());
    check_all(&attacks.copied().collect::<Vec<_>>(), &[&policy]);
    let fixture = Fixture::new();
    let archived =
        fixture.run(&policy, "tar -czf all.tgz plain.txt && tar -I 'gzip -9' -cf most.tgz plain.txt");
    assert!(archived.is_ok && fixture.path("most.tgz").exists(), "{archived:?}");
    let found = fixture.run(&policy, "zgrep -e \"it's\" -e two -e three plain.txt");
    assert!(found.value["stdout"].as_str().is_some_and(|text| text.contains("three")), "{found:?}");
}

/// The error names what was stopped, what had run before, and the rule to add.
#[test]
fn a_start_that_nobody_can_be_asked_about_ends_the_command() {
    let fixture = Fixture::new();
    let policy = ["--allow", "Bash(git:*)", "--allow", "Bash(awk:*)", "--allow", "Bash(touch:*)"];
    let answer = fixture.run(&policy, "touch before; awk 'BEGIN { system(\"rm -rf x\") }'; touch after");
    assert_eq!(answer.reason(), Some("needs_approval"), "{answer:?}");
    let details = &answer.value["details"];
    assert_eq!(details["started"][0], "touch before");
    assert_eq!(details["stopped"]["command"], "sh -c 'rm -rf x'");
    assert_eq!(details["wanted"], json!(["Bash(rm:*)"]));
    assert!(answer.value["message"].as_str().unwrap().contains("Bash(rm:*)"), "{answer:?}");
    assert!(fixture.path("x").exists() && fixture.path("before").exists() && !fixture.path("after").exists());
    let allowed = [&policy[..], &["--allow", "Bash(rm:*)"]].concat();
    let answer = fixture.run(&allowed, "awk 'BEGIN { system(\"rm -rf x\") }'");
    assert!(answer.is_ok && !fixture.path("x").exists(), "{answer:?}");
}

#[test]
fn what_is_denied_is_refused_beneath_a_runner_and_listed() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("Makefile"), "all:\n\t-rm -rf x\n\ttouch made\n").unwrap();
    for policy in [&["--allow", "Bash(make:*)"][..], &["--default", "allow"]] {
        let policy = [policy, &["--deny", "Bash(rm -rf:*)"]].concat();
        let answer = fixture.run(&policy, "make");
        assert!(answer.is_ok && fixture.path("made").exists() && fixture.path("x").exists(), "{answer:?}");
        assert_eq!(answer.value["refused"][0]["rule"], "Bash(rm -rf:*)", "{answer:?}");
        assert_eq!(answer.value["refused"][0]["command"], "rm -rf x", "{answer:?}");
        std::fs::remove_file(fixture.path("made")).unwrap();
    }
    assert!(fixture.run(&["--allow", "Bash(make:*)"], "make").is_ok && !fixture.path("x").exists());
}

#[test]
fn a_refused_start_names_who_made_it_where_everything_is_covered() {
    let fixture = Fixture::new();
    let policy = ["--default", "allow", "--deny", "Bash(rm -rf:*)"];
    let answer = fixture.run(&policy, "awk 'BEGIN { system(\"rm -rf x; true\") }'");
    let refused = &answer.value["refused"][0];
    assert_eq!(refused["command"], "rm -rf x", "{answer:?}");
    assert!(refused["by"].as_str().unwrap().ends_with("sh -c 'rm -rf x; true'"), "{answer:?}");
}

#[test]
fn refused_starts_beyond_those_that_are_listed_are_counted() {
    let fixture = Fixture::new();
    let policy = ["--default", "allow", "--deny", "Bash(touch:*)"];
    let answer = fixture.run(&policy, "python3 -c 'import subprocess\nfor n in range(25):\n  try: subprocess.run([\"touch\", str(n % 23)])\n  except PermissionError: pass'");
    assert_eq!(answer.value["refused"].as_array().map(Vec::len), Some(20), "{answer:?}");
    assert_eq!(answer.value["refused_more"], 3, "{answer:?}");
    let answer = fixture
        .run(&policy, "python3 -c 'import subprocess; subprocess.run([\"touch\", \"x\"])' 2>/dev/null");
    assert_eq!(answer.value.get("refused_more"), None, "{answer:?}");
}

#[test]
fn refused_starts_that_begin_alike_are_several() {
    let fixture = Fixture::new();
    let policy = ["--default", "allow", "--deny", "Bash(touch:*)"];
    let answer = fixture.run(&policy, "perl -e '$p = chr(97) x 3000; for (qw(b c d)) { if (!fork) { exec {q(touch)} q(touch), $p.$_ } wait }'");
    assert_eq!(answer.value["refused"].as_array().map(Vec::len), Some(3), "{answer:?}");
}

#[test]
fn a_program_of_git_is_each_of_its_names() {
    let fixture = Fixture::new();
    let policy = ["--default", "allow", "--deny", "Bash(git push:*)"];
    for program in ["git", "git-receive-pack", "git-upload-pack"] {
        let answer = fixture.run(&policy, &format!("perl -e 'exec {{\"{program}\"}} \"git-push\", \"x\"'"));
        assert_eq!(answer.value["refused"][0]["rule"], "Bash(git push:*)", "{program}: {answer:?}");
    }
    let answer = fixture.run(&policy, "perl -e 'exec {\"git-receive-pack\"} \"git-status\"'");
    assert_eq!(answer.value["refused"], json!(null), "{answer:?}");
}

#[test]
fn a_refused_start_is_shown_with_the_name_that_was_given_to_it() {
    let fixture = Fixture::new();
    let policy = ["--default", "allow", "--deny", "Bash(git push:*)"];
    let answer = fixture.run(&policy, "perl -e 'exec {\"git\"} \"git-push\", \"x y\"'");
    assert_eq!(answer.value["refused"][0]["command"], "exec -a git-push git 'x y'", "{answer:?}");
}

/// Ends the first thread of its process, and starts a program from another one.
const WITHOUT_FIRST_THREAD: &str = "
import ctypes, os, threading, time
def start():
    time.sleep(0.5)
    try: os.execv('/usr/bin/touch', ['touch', 'made'])
    except PermissionError: os._exit(7)
threading.Thread(target=start).start()
ctypes.CDLL(None).syscall(60, 0)
";

#[test]
#[cfg(target_arch = "x86_64")]
fn a_refused_start_is_listed_after_the_first_thread_has_ended() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("start.py"), WITHOUT_FIRST_THREAD).unwrap();
    for policy in [&["--allow", "Bash(python3:*)"][..], &["--default", "allow"]] {
        let policy = [policy, &["--deny", "Bash(touch:*)"]].concat();
        let answer = fixture.run(&policy, "python3 start.py");
        assert_eq!(answer.value["exit_code"], 7, "{answer:?}");
        assert!(!fixture.path("made").exists(), "{answer:?}");
        assert_eq!(answer.value["refused"][0]["command"], "touch made", "{answer:?}");
    }
    let answer = fixture.run(&["--default", "allow"], "python3 start.py");
    assert!(answer.is_ok && fixture.path("made").exists(), "{answer:?}");
}

/// A deny rule holds for the file that its name leads to, and for what a `#!` line makes of it. The command's own text does
/// not show what the script starts.
#[test]
fn what_is_denied_does_not_start_by_another_name() {
    let run = |rule: &str, script: &str| {
        let fixture = Fixture::new();
        std::fs::write(fixture.path("script"), script).unwrap();
        let answer = fixture.run(&["--default", "allow", "--deny", rule], "sh script");
        (fixture, answer)
    };
    for &(rule, (script, effect)) in attacks::BY_OTHER_NAMES {
        let (fixture, answer) = run("Bash(no-such-program:*)", script);
        assert!(
            fixture.has(effect, &answer),
            "{script:?} does not even work where it is allowed: {answer:?}"
        );
        let (fixture, answer) = run(rule, script);
        assert!(!fixture.has(effect, &answer), "{script:?} gets past {rule}: {answer:?}");
        assert_eq!(answer.value["refused"][0]["rule"], rule, "{script:?}: {answer:?}");
    }
    // Another program of the same kind, and another command of the same program.
    for (rule, script) in [
        ("Bash(mawk:*)", "perl -e 'exit 0'"),
        ("Bash(git push:*)", "git tag one && \"$(git --exec-path)/git-tag\" other"),
    ] {
        let (_, answer) = run(rule, script);
        assert!(answer.is_ok && answer.value["exit_code"] == 0, "{script:?}: {answer:?}");
    }
}
