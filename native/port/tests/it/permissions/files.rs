//! Files of rules, in tools and in redirections.

use super::*;

#[test]
fn a_denied_file_is_neither_read_nor_changed_by_tools_whatever_its_name() {
    let fixture = Fixture::new();
    let absolute = fixture.path("k.pem").display().to_string();
    for name in ["k.pem", "./k.pem", "src/../k.pem", "link", "src/link", &absolute] {
        let edit = json!({"path": name, "old_string": "the", "new_string": "a"});
        let patch = format!("--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-the secret key\n+x\n");
        let calls: [(&str, Value); 4] = [
            ("file_read", json!({"path": name})),
            ("file_grep", json!({"pattern": "secret", "path": name})),
            ("file_edit", edit),
            ("file_patch", json!({"patch": patch})),
        ];
        for (tool, args) in calls.iter().filter(|(tool, _)| *tool != "file_patch" || name != absolute) {
            let refused = fixture.call(LAX, tool, args);
            assert_eq!(refused.reason(), Some("denied"), "{tool} {name}: {refused:?}");
            assert!(!refused.value.to_string().contains("secret key"), "{tool} {name}: {refused:?}");
            assert_eq!(std::fs::read_to_string(fixture.path("k.pem")).unwrap(), SECRET, "{tool} {name}");
            assert!(fixture.call(OPEN, tool, args).is_ok, "{tool} {name} does not even work");
            std::fs::write(fixture.path("k.pem"), SECRET).unwrap();
        }
    }
}

/// A diff does not show files that the rules keep from being read.
#[test]
fn a_diff_leaves_out_what_may_not_be_read() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("a.txt"), "one\n").unwrap();
    std::fs::write(fixture.path("k.pem"), "another secret key\n").unwrap();
    assert!(fixture.run(OPEN, "git add a.txt k.pem").is_ok);
    let diff = |policy: &[&str]| fixture.call(policy, "git_diff", &json!({"staged": true})).value;
    assert!(diff(OPEN)["content"].as_str().unwrap().contains("another secret key"));
    let guarded = diff(TIGHT);
    let content = guarded["content"].as_str().unwrap();
    assert!(content.contains("+one") && !content.contains("secret"), "{guarded}");
    assert!(guarded["notes"][0].as_str().unwrap().contains("permission rules"), "{guarded}");
}

/// A link is made after the command was judged, before its shell opens the file.
#[test]
fn a_redirection_writes_only_where_a_rule_allows_it_when_the_file_is_opened() {
    let policy = ["Bash(ln:*)", "Bash(mkdir:*)", "Bash(echo:*)", "Write(out/**)"];
    let policy: Vec<&str> = policy.iter().flat_map(|rule| ["--allow", rule]).collect();
    for (command, file, is_written) in [
        ("ln -s ../src/f out/l; echo x > out/l", "src/f", false),
        ("ln -s ../.git/f out/l; echo x >> out/l", ".git/f", false),
        ("ln -s ../src out/l; { echo x; } 2> out/l/f", "src/f", false),
        ("ln -s f out/l; echo x > out/l", "out/f", true),
        ("ln -s ../src out/l && (echo x > out/l/f); f() { echo x; } &>> out/l/f; f", "src/f", false),
        ("mkdir out/d && echo x > out/d/f 2> /dev/null; echo x > out/f", "out/f", true),
    ] {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("out")).unwrap();
        let answer = fixture.run(&policy, command);
        assert_eq!(fixture.path(file).exists(), is_written, "{command}: {answer:?}");
        assert_eq!(answer.value["refused"].is_array(), !is_written, "{command}: {answer:?}");
        let allowed = fixture.run(&["--allow", "Bash"], command);
        assert!(fixture.path(file).exists(), "{command}: {allowed:?}");
    }
    let policy =
        ["--allow", "Bash(ln:*)", "--allow", "Bash(echo:*)", "--allow", "Write", "--ask", "Write(src/**)"];
    for command in [
        "exec 3< src/f; ln -s /proc/self/fd/3 l; echo x > l",
        "exec < src/f; ln -s /dev/stdin l; echo x >> l",
        "for fd in 3 4 5 6 7 8 9 10 11 12; do ln -sf /proc/self/fd/$fd l; eval \"exec $fd< src/f\"; echo x > l; done",
    ] {
        let fixture = Fixture::new();
        std::fs::write(fixture.path("src/f"), "as it was").unwrap();
        let answer = fixture.run(&policy, command);
        assert_eq!(
            std::fs::read_to_string(fixture.path("src/f")).unwrap(),
            "as it was",
            "{command}: {answer:?}"
        );
    }
}

/// Such a rule covers each program that its shell starts, and what these write is their own.
#[test]
fn a_rule_for_exactly_a_command_covers_no_file_that_its_shell_writes() {
    for (command, wide, file, is_written) in [
        ("date > \"out/$(cat name)\"", "Write(out/**)", "src/f", false),
        ("$(echo date) > \"out/$(cat name)\"", "Write(out/**)", "src/f", false),
        ("eval 'date > src/f'; date > out/g", "Write(out/**)", "src/f", false),
        ("date > \"out/g$(echo)\"", "Write(out/**)", "out/g", true),
        ("for i in f ../src/g; do date > $i; done", "Write(src/**)", "f", false),
        ("for i in 1 2; do date > $i.log; done", "Write(**)", "2.log", true),
        ("date > \"$(echo a).log\"; mkdir out/d", "Write(*.log)", "out/d", false),
        ("date | env tee src/f > out/g", "Write(out/**)", "src/f", true),
        ("date > $\"src/f\"", "Write(out/**)", "src/f", false),
        ("echo $[1]; date > src/f", "Write(out/**)", "src/f", false),
        ("date {fd}> src/f", "Write(out/**)", "src/f", false),
        ("read x < name; date > \"out/${y:=$x}\"", "Write(out/**)", "src/f", false),
        ("set -o history; history -s x; history -w src/f", "Write(out/**)", "src/f", false),
        ("echo $[1]; date > out/f", "Write(out/**)", "out/f", true),
        ("echo $[1]; touch src/f", "Write(out/**)", "src/f", true),
    ] {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("out")).unwrap();
        std::fs::write(fixture.path("name"), "../src/f").unwrap();
        let exact = format!("Bash({command})");
        let answer = fixture.run(&["--allow", &exact, "--allow", wide], command);
        assert_eq!(fixture.path(file).exists(), is_written, "{command}: {answer:?}");
        let allowed = fixture.run(&["--allow", &exact, "--allow", "Bash"], command);
        assert!(fixture.path(file).exists(), "{command}: {allowed:?}");
    }
}

#[test]
fn what_another_shell_writes_is_judged_where_its_path_leads() {
    let rules = ["Bash(ln:*)", "Bash(nice:*)", "Bash(awk:*)", "Bash(find:*)", "Write(out/*)"];
    let policy: Vec<&str> = rules.iter().flat_map(|rule| ["--allow", rule]).collect();
    let exact = "echo $[1]; ln -s ../src out/l; bash -c 'echo x > out/l/f'";
    let renamed = "echo $[1]; ln -s /bin/bash out/b; nice out/b -c 'echo x > src/f'";
    let loaded = "echo $[1]; $(ls /lib64/ld-linux-*.so.2 /lib/ld-linux-*.so.1) /bin/bash -c 'echo x > src/f'";
    for (command, file, is_written) in [
        ("bash -c 'echo x > out/f'", "out/f", true),
        ("nice bash -c 'echo x >> out/f'; nice nice bash -c 'echo y >> out/f'", "out/f", true),
        ("find src -name link -exec bash -c 'echo x > out/f' ';'", "out/f", true),
        ("ln -s ../src/f out/f; bash -c 'echo x > out/f'", "src/f", false),
        ("ln -s ../src/f out/f; nice bash -c 'echo x > out/f'", "src/f", false),
        ("bash -c 'echo x > src/f'", "src/f", false),
        ("awk 'BEGIN { system(\"echo x > src/f\") }'", "src/f", false),
        (exact, "src/f", false),
        (renamed, "src/f", false),
        (loaded, "src/f", false),
    ] {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("out")).unwrap();
        let whole = [exact, renamed, loaded].map(|text| format!("Bash({text})"));
        let whole = ["--allow", &whole[0], "--allow", &whole[1], "--allow", &whole[2]];
        let answer = fixture.run(&[&policy[..], &whole].concat(), command);
        assert_eq!(fixture.path(file).exists(), is_written, "{command}: {answer:?}");
        assert!(answer.is_ok || !is_written, "{command}: {answer:?}");
    }
    // What was judged with the command does not depend on rules for the shell, and is not ended when a link is there by
    // then.
    let command = "ln -s ../src out/d; nice bash -c 'echo x > out/d/f'";
    for rule in ["Bash(bash:*)", "Read"] {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.path("out")).unwrap();
        let answer = fixture.run(&[&policy[..], &["--allow", rule]].concat(), command);
        assert_eq!(answer.value["refused"][0]["command"], "> out/d/f", "{answer:?}");
        assert!(!fixture.path("src/f").exists(), "{answer:?}");
    }
}

/// Its text does not show what an ask rule is about.
#[test]
fn an_ask_rule_holds_for_what_an_exact_rule_hides() {
    for (command, ask, is_removed) in [
        ("echo $\"a\"; rm src/f", "Bash(rm:*)", false),
        ("echo $[1]; bash -c 'rm src/f'", "Bash(rm:*)", false),
        ("echo $\"a\"; rm src/f", "Edit(src/**)", false),
        ("echo $\"a\"; rm src/f", "Bash(git:*)", true),
        ("y='a[$(rm src/f)]'; test -v \"$y\"", "Bash(rm:*)", false),
        ("compgen -W '$(rm src/f)'", "Bash(rm:*)", false),
        ("source /dev/stdin <<< 'rm src/f'", "Bash(rm:*)", false),
        ("coproc { env rm src/f; }; wait", "Bash(rm:*)", false),
        ("x='timeout 9 rm src/f'; eval \"$x\"", "Bash(rm:*)", false),
        ("coproc { env rm src/f; }; wait", "Bash(git:*)", true),
    ] {
        let fixture = Fixture::new();
        std::fs::write(fixture.path("src/f"), "").unwrap();
        let answer = fixture.run(&["--allow", &format!("Bash({command})"), "--ask", ask], command);
        assert_eq!(!fixture.path("src/f").exists(), is_removed, "{command} {ask}: {answer:?}");
    }
}

#[test]
fn a_rule_may_name_a_file_of_the_private_temporary_directory_for_redirections() {
    let policy = ["Bash(ln:*)", "Bash(echo:*)", "Bash(cat:*)", "Write(/tmp/log-of-a-test)"];
    let policy: Vec<&str> = policy.iter().flat_map(|rule| ["--allow", rule]).collect();
    let fixture = Fixture::new();
    let logged = fixture.run(&policy, "echo x > /tmp/log-of-a-test; cat /tmp/log-of-a-test");
    assert_eq!(logged.value["stdout"], "x\n", "{logged:?}");
    let file = fixture.path("src/f");
    let linked = format!("ln -s {} /tmp/log-of-a-test; echo x > /tmp/log-of-a-test", file.display());
    let refused = fixture.run(&policy, &linked);
    assert!(
        !file.exists() && refused.value["refused"][0]["command"] == "> /tmp/log-of-a-test",
        "{refused:?}"
    );
    for command in ["echo x > /tmp/log", "f=/tmp/log; echo x > $f"] {
        let any = ["--allow", "Bash(echo:*)", "--allow", "Bash(cat:*)", "--allow", "Write"];
        assert_eq!(
            fixture.run(&any, &format!("{command}; cat /tmp/log")).value["stdout"],
            "x\n",
            "{command}"
        );
    }
    let other = fixture.run(&policy, "echo x > /tmp/another-log");
    assert!(
        other.value["message"].as_str().unwrap().contains("--allow 'Write(/tmp/another-log)'"),
        "{other:?}"
    );
}

#[test]
fn a_redirection_through_a_link_asks_for_the_rule_that_it_needs() {
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("src", fixture.path("current")).unwrap();
    let run = |rule: &str| fixture.run(&["--allow", "Bash(echo:*)", "--allow", rule], "echo x > current/f");
    let refused = run("Write(current/**)");
    let advised = "Write({current/f,src/f})";
    assert!(refused.value["message"].as_str().unwrap().contains(advised), "{refused:?}");
    assert!(!fixture.path("src/f").exists());
    let allowed = run(advised);
    assert!(allowed.is_ok && fixture.path("src/f").exists(), "{allowed:?}");
}
