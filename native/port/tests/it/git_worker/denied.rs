//! What rules deny to the git tools, however it is reached.

use super::*;

#[test]
fn what_rules_deny_is_left_out_by_name_and_staged_by_nobody() {
    let env = Env::with("required");
    repository(env.path(), "own");
    std::fs::write(env.path().join("hidden.pem"), "key 1\n").unwrap();
    git(env.path(), &["add", "."]);
    git(env.path(), &["commit", "-q", "-m", "all"]);
    std::fs::write(env.path().join("hidden.pem"), "key number 2\n").unwrap();
    std::fs::write(env.path().join("a"), "own 5\n").unwrap();
    // Rules of the two tools have the same effect.
    let permissions = json!({"default": "allow", "deny": ["GitAdd(**/*.pem)", "GitDiff(**/*.pem)"]});
    let by_tools = host(env.path(), permissions, "required");
    let diff = ok(&by_tools, "git_diff", json!({}));
    assert!(
        diff["content"].as_str().unwrap().contains("+own 5") && !diff.to_string().contains("key"),
        "{diff}"
    );
    assert_eq!(ok(&by_tools, "git_add", json!({"path": "."}))["files"], json!(["a"]));
    git(env.path(), &["reset", "-q"]);
    let permissions = json!({"default": "allow", "deny": ["Read(**/*.pem)"]});
    let host = host(env.path(), permissions, "required");
    let diff = ok(&host, "git_diff", json!({}));
    assert!(diff["content"].as_str().unwrap().contains("+own 5"), "{diff}");
    assert!(
        !diff.to_string().contains("key")
            && diff["notes"].to_string().contains("1 changed files are left out"),
        "{diff}"
    );
    let added = ok(&host, "git_add", json!({"path": "."}));
    assert_eq!(added["files"], json!(["a"]));
    assert!(added["notes"].to_string().contains("hidden.pem"), "{added}");
    assert_eq!(git(env.path(), &["diff", "--name-only"]), "hidden.pem\n");
    assert_eq!(error(tool(&host, "git_add", json!({"path": "hidden.pem"}))).reason, Reason::Denied);
}

#[test]
fn tools_under_exchange_show_and_change_nothing_that_rules_deny() {
    for name in ["git_status", "git_diff", "git_log", "git_add", "git_commit"] {
        resist(&Attack::towards_denied(), name);
    }
}

/// Links that stay are found by looking, and where there are mounts, they are not followed either.
#[test]
fn links_in_a_repository_lead_to_nothing_that_rules_deny() {
    let attack = Attack::towards_denied();
    let (own, denied) = (attack.env.path().join(".git"), attack.outside.join(".git"));
    let head = git(&attack.outside, &["rev-parse", "HEAD"]);
    let objects = git(&attack.outside, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"]);
    for object in objects.lines() {
        let path = Path::new("objects").join(&object[..2]).join(&object[2..]);
        std::fs::create_dir_all(own.join(&path).parent().unwrap()).unwrap();
        symlink(denied.join(&path), own.join(&path)).unwrap();
    }
    for commit in [head.trim(), "HEAD"] {
        let answer = format!("{:?}", tool(&attack.env.host, "git_diff", json!({"commit": commit})));
        assert!(!answer.contains(SECRET), "{answer}");
    }
    for part in ["HEAD", "refs/heads/main", "packed-refs", "info/attributes", "logs/HEAD", "index", "objects"]
    {
        let attack = Attack::towards_denied();
        let own = attack.env.path().join(".git").join(part);
        _ = std::fs::remove_file(&own).or_else(|_| std::fs::remove_dir_all(&own));
        std::fs::write(attack.outside.join("token"), SECRET).unwrap();
        symlink(attack.outside.join("token"), &own).unwrap();
        for (name, args) in
            [("git_log", json!({})), ("git_diff", json!({})), ("git_add", json!({"path": "."}))]
        {
            match tool(&attack.env.host, name, args) {
                CallOutcome::Ok(value, _) => {
                    assert!(value.to_string().contains("is a link"), "{part}: {value}")
                }
                other => assert!(format!("{other:?}").contains("is a link"), "{part}: {other:?}"),
            }
        }
    }
}

/// libgit2 opens what references, settings and objects name. No link is involved.
#[test]
fn nothing_that_git_reads_leads_to_what_rules_deny() {
    const KEY: &str = "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef";
    let attack = || {
        let attack = Attack::towards_denied();
        std::fs::write(attack.outside.join("key"), format!("{KEY}\n")).unwrap();
        std::fs::write(attack.outside.join("conf"), format!("[user]\n\tname = {SECRET}\n")).unwrap();
        std::fs::write(attack.outside.join("words"), "hunter2\n").unwrap();
        attack
    };
    let make = |attack: &Attack, path: &str, text: &str| {
        let path = attack.env.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let said = |attack: &Attack| {
        let calls = [
            ("git_diff", json!({"commit": "info/q"})),
            ("git_diff", json!({"commit": "HEAD"})),
            ("git_diff", json!({})),
            ("git_status", json!({"short": true})),
            ("git_add", json!({"path": "."})),
            ("git_commit", json!({"message": "more"})),
            ("git_log", json!({})),
        ];
        calls.map(|(name, args)| format!("{:?}", tool(&attack.env.host, name, args))).join("\n")
    };
    for (path, text) in [
        (".git/info/q", "ref: refs/../../vault/key\n"),
        (".git/HEAD", "ref: refs/heads/../../../vault/key\n"),
        (".git/refs/heads/main", "ref: refs/../../vault/key\n"),
        (".git/HEAD", "ref: refs/../../vault/.git/refs/heads/main\n"),
        (".git/config", "[core]\n\tbare = false\n[include]\n\tpath = ../vault/conf\n"),
        ("sub/.git/HEAD", "ref: refs/../../../vault/key\n"),
    ] {
        let attack = attack();
        if path.starts_with("sub/") {
            std::fs::create_dir(attack.env.path().join("sub")).unwrap();
            repository(&attack.env.path().join("sub"), "own");
            git(attack.env.path(), &["add", "sub"]);
        }
        make(&attack, path, text);
        let said = said(&attack);
        assert!(!said.contains(KEY) && !said.contains(SECRET), "{path}: {text} {said}");
        assert_eq!(
            everything(&attack.outside).get(&attack.outside.join("a")),
            attack.before.get(&attack.outside.join("a"))
        );
    }
    let words = attack();
    make(&words, "hunter2", "");
    git(words.env.path(), &["config", "core.excludesFile", words.outside.join("words").to_str().unwrap()]);
    let said = format!("{:?}", tool(&words.env.host, "git_status", json!({"short": true})));
    assert!(said.contains("hunter2") || said.contains("cannot read"), "{said}");
    // Objects of another repository, exchanged after the tools have looked.
    let objects = attack();
    make(&objects, "info/alternates", &format!("{}/.git/objects\n", objects.outside.display()));
    let head = git(&objects.outside, &["rev-parse", "HEAD"]);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let [own, other] = [".git/objects/info", "info"].map(|path| objects.env.path().join(path));
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &own, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let end = Instant::now() + time();
        while Instant::now() < end {
            let said = format!("{:?}", tool(&objects.env.host, "git_diff", json!({"commit": head.trim()})));
            if said.contains(SECRET) {
                over.store(true, Ordering::Relaxed);
                panic!("{said}");
            }
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_denied_file_that_was_changed_is_told_by_name_alone() {
    let env = Env::with("off");
    repository(env.path(), "own");
    std::fs::write(env.path().join("d/y"), "changed\n").unwrap();
    let host = host(env.path(), json!({"default": "allow", "deny": ["Read(d/y)"]}), "required");
    let status = ok(&host, "git_status", json!({"short": true}));
    assert!(status["content"].as_str().unwrap().contains(" M d/y"), "{status}");
    let diff = ok(&host, "git_diff", json!({}));
    assert!(!diff.to_string().contains("changed\\n") && diff.to_string().contains("left out"), "{diff}");
    assert_eq!(ok(&host, "git_add", json!({"path": "d"}))["files"], json!(["d/x"]));
    assert_eq!(ok(&host, "git_commit", json!({"message": "more"}))["ok"], true);
    // Without a path it is about the whole workspace.
    let asking = self::host(env.path(), json!({"ask": ["Read(**)"]}), "required");
    let asked = format!("{:?}", tool(&asking, "git_diff", json!({})));
    assert!(asked.contains("git_diff wants to read ."), "{asked}");
}

#[test]
fn rules_that_name_a_repositorys_own_files_hold_for_staging_and_committing() {
    let rules = [
        ("Edit(.git/**)", false, false),
        ("Write(**/.git/index)", false, false),
        ("Edit(.git/objects/**)", false, false),
        // Objects that are not there yet, whose names depend on their content.
        ("Edit(.git/objects/8b/**)", false, false),
        ("Write(.git/objects/[0-9]?)", false, false),
        ("Edit(**/.git/**/*00)", false, false),
        ("Edit(.git/objects/pack/**)", true, true),
        ("Edit(.git/refs/heads/main)", true, false),
        ("Write(.git/logs/**)", true, false),
        ("Edit(.git/MERGE_MSG)", true, false),
        ("Edit(.git/refs/heads/other)", true, true),
        ("Edit(.git/hooks/**)", true, true),
        ("Edit(**/index)", true, true),
    ];
    for (rule, stages, commits) in rules {
        let env = Env::with("off");
        repository(env.path(), "own");
        std::fs::write(env.path().join(".git/MERGE_MSG"), "merge\n").unwrap();
        let host = host(env.path(), json!({"default": "allow", "deny": [rule]}), "required");
        for (name, args, may) in
            [("git_add", json!({"path": "d"}), stages), ("git_commit", json!({"message": "more"}), commits)]
        {
            match (tool(&host, name, args), may) {
                (CallOutcome::Ok(..), true) => {}
                (CallOutcome::Error(error), false) => {
                    assert_eq!(error.reason, Reason::Denied, "{rule}: {error:?}")
                }
                (other, _) => panic!("{rule}, {name}: {other:?}"),
            }
        }
    }
}

/// Files of a repository's own directory that decide what is staged and committed.
#[test]
fn what_git_itself_would_read_is_refused_where_rules_deny_it() {
    let cases: [(&str, &str, &str, Value); 5] = [
        ("MERGE_HEAD", "", "git_commit", json!({"message": "m"})),
        ("CHERRY_PICK_HEAD", "", "git_commit", json!({"message": "m"})),
        ("info/exclude", "new\n", "git_add", json!({"path": "."})),
        ("info/attributes", "new filter=crypt\n", "git_add", json!({"path": "."})),
        ("shallow", "", "git_log", json!({})),
    ];
    for (name, text, tool_name, args) in cases {
        let env = Env::with("off");
        repository(env.path(), "own");
        std::fs::write(env.path().join("new"), "new\n").unwrap();
        let head = git(env.path(), &["rev-parse", "HEAD"]);
        let own = env.path().join(".git").join(name);
        std::fs::write(&own, if text.is_empty() { &head } else { text }).unwrap();
        let deny = format!("Read(.git/{name})");
        let host = host(env.path(), json!({"default": "allow", "deny": [deny]}), "required");
        let refused = error(tool(&host, tool_name, args));
        let named = format!(".git/{name} cannot be read by this tool");
        assert!(refused.message.contains(&named), "{name}: {refused:?}");
        assert_eq!(git(env.path(), &["rev-parse", "HEAD"]), head, "{name}");
        assert_eq!(git(env.path(), &["ls-files", "new"]), "", "{name}");
        assert!(own.exists(), "{name}");
    }
}

#[test]
fn parts_of_the_repository_that_rules_deny_reading_are_named() {
    for (rule, tool_name, args, said) in [
        ("Read(.git/index)", "git_status", json!({}), ".git/index cannot be read by this tool"),
        ("Read(.git/index)", "git_add", json!({"path": "."}), ".git/index cannot be read by this tool"),
        (
            "Read(.git/objects/pack/**)",
            "git_commit",
            json!({"message": "m"}),
            "cannot be created by this tool",
        ),
    ] {
        let env = Env::with("off");
        repository(env.path(), "own");
        let host = host(env.path(), json!({"default": "allow", "deny": [rule]}), "required");
        let refused = error(tool(&host, tool_name, args));
        assert_eq!(refused.reason, Reason::AccessDenied, "{rule}: {refused:?}");
        assert!(refused.message.contains(said), "{rule}: {refused:?}");
        assert_eq!(git(env.path(), &["log", "--format=%s"]), "own\n", "{rule}");
    }
}

#[test]
fn a_rule_for_a_branch_holds_where_head_names_it_through_another_reference() {
    for (rule, commits) in [("Edit(.git/refs/heads/main)", false), ("Edit(.git/refs/heads/alias)", true)] {
        let env = Env::with("off");
        repository(env.path(), "own");
        git(env.path(), &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
        git(env.path(), &["symbolic-ref", "HEAD", "refs/heads/alias"]);
        let host = host(env.path(), json!({"default": "allow", "deny": [rule]}), "required");
        match (tool(&host, "git_commit", json!({"message": "more"})), commits) {
            (CallOutcome::Ok(..), true) => {}
            (CallOutcome::Error(error), false) => assert_eq!(error.reason, Reason::Denied, "{error:?}"),
            (other, _) => panic!("{rule}: {other:?}"),
        }
    }
}

/// In a fresh clone, only the content shows that a file is unchanged.
#[test]
fn what_cannot_be_compared_is_said_instead_of_called_modified() {
    let (env, origin) = (Env::with("off"), TempDir::new().unwrap());
    git(origin.path(), &["init", "-q", "-b", "main"]);
    std::fs::create_dir(origin.path().join("vault")).unwrap();
    for file in ["a", "vault/s", "vault/t"] {
        std::fs::write(origin.path().join(file), format!("{SECRET} 1\n")).unwrap();
    }
    git(origin.path(), &["add", "."]);
    git(origin.path(), &["commit", "-q", "-m", "first"]);
    git(env.path(), &["clone", "-q", origin.path().to_str().unwrap(), "."]);
    // Of another size.
    std::fs::write(env.path().join("vault/t"), "changed\n").unwrap();
    // Its times differ from those in the index.
    let file = std::fs::File::open(env.path().join("vault/s")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let denying = host(env.path(), json!({"default": "allow", "deny": ["Read(vault/**)"]}), "required");
    let status = ok(&denying, "git_status", json!({"short": true}));
    assert_eq!(status["content"], " M vault/t\n", "{status}");
    for answer in [status, ok(&denying, "git_diff", json!({}))] {
        assert!(answer["notes"].to_string().contains("vault/s: cannot be compared"), "{answer}");
        assert!(!answer.to_string().contains(SECRET), "{answer}");
    }
    let added = ok(&denying, "git_add", json!({"path": "."}));
    assert!(added["files"] == json!([]) && added["notes"].to_string().contains("vault/s"), "{added}");
    assert_eq!(error(tool(&denying, "git_add", json!({"path": "vault/s"}))).reason, Reason::Denied);
}
