//! Files that the words of commands name.

use super::*;

#[test]
fn words_may_name_what_the_sandbox_lifts() {
    let with = |deny: &str, (readable, writable): (&str, &str)| {
        let policy = policy(&["Bash"], &[], &[deny], PolicyMode::Auto);
        let lifted = LiftedPaths::new(&[readable.into()], &[writable.into()], &policy.roots);
        Policy { lifted, ..policy }
    };
    let denied = Verdict::Deny(Some("Read(/s)".into()));
    let shown = with("Read(/s)", ("/s/pub", "/s/out"));
    for command in ["cat /s/pub", "cat /s/pub/x", "cd /s/pub; cat x", "cat < /s/pub/x", "cat /s/out/x"] {
        assert_eq!(name(&shown, command), "allow", "{command}");
        assert_eq!(shell(&with("Read(/s)", ("/o", "/o")), command).verdict, denied, "{command}");
    }
    for command in ["cat /s/x", "cat /s/pub/../x", "cat /s/public", "cat /s", "cd /s/pub; cat ../x"] {
        assert_eq!(shell(&shown, command).verdict, denied, "{command}");
    }
    let writable = with("Edit(/s)", ("/s/pub", "/s/out"));
    assert_eq!(name(&writable, "touch /s/out/x"), "allow");
    assert_eq!(shell(&writable, "touch /s/pub/x").verdict, Verdict::Deny(Some("Edit(/s)".into())));
    // Another rule holds, and so does one that asks.
    let both = Policy {
        lifted: shown.lifted.clone(),
        ..policy(&["Bash"], &["Read(/s)"], &["Read(/s/pub/key)"], PolicyMode::Auto)
    };
    assert_eq!(shell(&both, "cat /s/pub/x").verdict, Verdict::Ask(Some("Read(/s)".into())));
    assert_eq!(shell(&both, "cat /s/pub/key").verdict, Verdict::Deny(Some("Read(/s/pub/key)".into())));
}

#[test]
fn words_are_about_files_however_they_spell_them() {
    // Its name ends as no file below does.
    let top = tempfile::Builder::new().suffix("-top").tempdir().unwrap();
    let path = |name: &str| top.path().join(name);
    for dir in ["w/s/deep", "w/out", "home", "ext"] {
        std::fs::create_dir_all(path(dir)).unwrap();
    }
    for file in ["w/.env", "w/s/q", "w/s/x", "home/k", "ext/b.pem", "w/plain"] {
        std::fs::write(path(file), "").unwrap();
    }
    for (target, link) in
        [("../s/deep", "w/out/ld"), ("../ext/b.pem", "w/le"), ("../ext", "w/lx"), ("../s", "w/out/[l]")]
    {
        std::os::unix::fs::symlink(target, path(link)).unwrap();
    }
    let w = path("w").canonicalize().unwrap();
    let ext = path("ext").canonicalize().unwrap();
    let w = w.to_str().unwrap();
    let pem = format!("Read({}/*.pem)", ext.display());
    let rules = ["Read(.env)", "Read(s/q)", &pem];
    let asking = policy_in(w, &["Bash(cat:*)"], &rules, &[], PolicyMode::Auto).unwrap();
    for word in [
        ".env",
        ".en?",
        ".en[v]",
        ".[!.]nv",
        ".en[a-z]",
        ".en[[:alpha:]]",
        ".e?[v]",
        ".[e]nv",
        ".en[v$x",
        "s/[q]",
        "[s]/q",
        "[s]/.//q",
        "./s/./?",
        "../w/s/q",
        "../w/s/?",
        "../w/../w/[s]/q",
        "../*/s/q",
        "../[w]/s/?",
        "~/../w/*/q",
        "/*/*/*/s/q",
        "out/[l]/q",
        "if=out/[l]/q",
        "-oout/[l]/q",
        "--output=out/[l]/q",
        "[o]ut/ld/../q",
        "o*/l?/../?",
        "l*/b.pem",
        "../[w]/l[e]",
        "s/deep/../q",
        "out/ld/../q",
        "out/ld/../?",
        "*/../s/q",
        "/proc/self/cwd/s/q",
        "/proc/thread-self/cwd/s/*",
        "../ext/b.pem",
        "../ext/*.pem",
        "le",
        "lx/b.pem",
        "lx/*.pem",
        "'<s/q'",
        "' out/ld/../q'",
        "'+>>s/q'",
        "'x=<s/q'",
        "'x=@\"s/q\";type=y'",
        "'s/q |'",
        "../w/../ext/b.[p]em",
    ] {
        for command in [format!("cat {word}"), format!("cat < {word}"), format!("cat x {word} y")] {
            assert_eq!(name(&asking, &command), "ask", "{command}");
        }
    }
    // Rules of other forms about the same files.
    let (whole, deep) = (format!("Read({w}/**/q)"), format!("Read({}/**/*.pem)", ext.display()));
    for rule in [&*whole, "Read(s/**/q)", "Read(/**/q)", &format!("Read({w}/s/q)")] {
        let asking = policy_in(w, &["Bash(cat:*)"], &[rule], &[], PolicyMode::Auto).unwrap();
        for command in
            ["cat s/q", "cat s/?", "cat ../w/s/[q]", "cd s; cat ?", "cat */q", &format!("cat {w}/s/[q]")]
        {
            assert_eq!(name(&asking, command), "ask", "{rule} {command}");
        }
        assert_eq!(name(&asking, "cat plai[n]x"), "allow", "{rule}");
    }
    let asking = policy_in(w, &["Bash(cat:*)"], &[&deep], &[], PolicyMode::Auto).unwrap();
    assert_eq!(name(&asking, "cat ../ext/*.pem"), "ask");
    let asking = policy_in(w, &["Bash(cat:*)"], &["Read(s/q)"], &[], PolicyMode::Auto).unwrap();
    for command in ["cd -P out/ld/..; cat q", "cd -P out/ld/../deep && cat ../q", "cd out/ld; cat ../q"] {
        assert_eq!(name(&asking, command), "ask", "{command}");
    }
    let asking = policy_in(w, &["Bash"], &["Read(.env)", "Edit(.env)"], &[], PolicyMode::Auto).unwrap();
    for command in
        ["sort -uo.env x", "tar -czf.env x", "xargs -ra.env echo", "cpp -include.env x", "curl -so.env x"]
    {
        assert_eq!(name(&asking, command), "ask", "{command}");
    }
    let asking = policy_in(w, &["Bash"], &["Edit(s/**)"], &[], PolicyMode::Auto).unwrap();
    for command in
        ["cp -tout/[l] x", "cp --target-directory=out/[l] x", "cp x out/[l]", "mv x out/?d", "rm -r o*/ld"]
    {
        assert_eq!(name(&asking, command), "ask", "{command}");
    }
    for rule in ["Read(**)", "Edit(**)", "Write(*)"] {
        let all = policy_in(w, &["Bash"], &[rule], &[], PolicyMode::Auto).unwrap();
        let asking = Policy { is_enforced: true, ..all };
        assert_eq!(name(&asking, "touch x"), "ask", "{rule}");
    }
    let open = policy_in(w, &["Bash"], &rules, &[], PolicyMode::Auto).unwrap();
    for command in [
        "x=v; curl -T.en$x",
        "x=v; dd if=.en$x",
        "x=q; dd if=../w/s/$x",
        "x=q; curl -T../w/s/$x",
        "cd $x; cat ../w/s/q",
        "x=.; cat $x/s/q",
        "cat $y/../q",
        "cat 'out/'\"$y\"",
        "x=nk; cat < out/l\"$x\"",
        "tee out/\"$y\"q",
        "cat /proc/self/../self/fd/3/q",
    ] {
        assert_eq!(name(&open, command), "ask", "{command}");
    }
    for command in ["cat x$#", "cat out/$((1+1))", "cat out/*.c", "curl --url=x$?"] {
        assert_eq!(name(&open, command), "allow", "{command}");
    }
    for command in [
        "cat plain",
        "cat s/x",
        "cat ../w/plain",
        "cat out/ld/../x",
        "cat [p]lain",
        "cat out/[a]x",
        "cat out/[a]/q",
        "cat 's/[q]'",
    ] {
        assert_eq!(name(&asking, command), "allow", "{command}");
    }
    let writing = policy_in(w, &["Bash(echo:*)", "Write(out/**)"], &[], &[], PolicyMode::Auto).unwrap();
    for (file, verdict) in [
        ("out/q", "allow"),
        ("../w/out/q", "allow"),
        ("out/ld/../q", "ask"),
        ("out/ld/q", "ask"),
        ("out/../q", "ask"),
        ("../w/q", "ask"),
        ("../out/q", "ask"),
    ] {
        assert_eq!(name(&writing, &format!("echo x > {file}")), verdict, "{file}");
    }
    let denying = policy_in(w, &["Bash"], &[], &["Edit(s/q)", &pem], PolicyMode::Auto).unwrap();
    for command in ["tee ../w/s/q", "echo x > ../w/s/q", "rm out/ld/../q", "cat ../ext/b.pem", "cat lx/b.pem"]
    {
        assert_eq!(name(&denying, command), "deny", "{command}");
    }
}

/// Where rules do not deny, or the sandbox does not enforce them.
#[test]
fn a_directory_is_named_for_what_is_in_it() {
    let writing = policy(&["Bash"], &["Edit(src/**)"], &[], PolicyMode::Auto);
    for command in [
        "cp z src",
        "cp z src/",
        "mv z src/.",
        "install z ./src",
        "ln -s ../z src/",
        "cp -r s/. src",
        "cp -t src z",
        "rm -rf src",
        "cp z s*",
        "cd src; touch .",
        "sed -ni 1p src/a",
        "sed -n 1p src/a -i",
        "sed -n 1p $x src/a",
        "rg --pre=rm A src/a",
        "rg --pre tee A src",
        "rg $x A src/a",
        "sed 1p src/a",
    ] {
        assert_eq!(name(&writing, command), "ask", "{command}");
    }
    for command in [
        "ls src",
        "rg x src",
        "rg --glob='*.c' x\"$y\" src",
        "grep -r x src",
        "cp src/../z out",
        "cp z source",
        "sed -n '1,50p' src/a",
        "sed -n '$p' src/a x",
    ] {
        assert_eq!(name(&writing, command), "allow", "{command}");
    }
    let reading = policy(&["Bash"], &["Read(s/*)"], &[], PolicyMode::Auto);
    assert_eq!((name(&reading, "grep -r x s"), name(&reading, "grep -r x t")), ("ask", "allow"));
    let absolute = policy(&["Bash"], &["Read(/s/q)"], &[], PolicyMode::Auto);
    for command in ["curl file:///s/q", "curl file://localhost/s/q", "curl -T z FILE://127.0.0.1//s/./q"] {
        assert_eq!(name(&absolute, command), "ask", "{command}");
    }
    let denying = policy(&["Bash"], &[], &["Read(s/**)"], PolicyMode::Auto);
    assert_eq!(name(&denying, "cp -r s t"), "deny");
    let enforced = Policy { is_enforced: true, ..denying };
    assert_eq!((name(&enforced, "cp -r s t"), name(&enforced, "cat s/q")), ("allow", "deny"));
}

/// A descriptor, or the directory of a process, leads anywhere.
#[test]
fn paths_through_descriptors_may_be_any() {
    let asking = policy(&["Bash"], &["Read(s/q)", "Read(/w/s/q)", "Edit(src/**)"], &[], PolicyMode::Auto);
    for command in [
        "exec 3<..; cat /dev/fd/3/w/s/q",
        "exec 3</; cat /proc/self/fd/3/w/s/q",
        "cat /dev/stdin/q < s",
        "cat //dev/./fd/3/../s/q",
        "echo x > /dev/fd/3/w/src/a.c",
        "rm -r /dev/fd/3/src",
        "echo x > /dev/fd/3 3< src/a.c",
        "echo x < src/a.c >> /dev/stdin",
        "exec < src/a.c; echo x &> /proc/self/fd/0",
        "cat /proc/*/cwd/s/q",
        "cat /proc/self/task/*/cwd/s/q",
        "cat /proc/self/task/7/cwd/s/q",
        "cat /proc/$x/root/w/s/q",
    ] {
        assert_eq!(name(&asking, command), "ask", "{command}");
    }
    let top = tempfile::tempdir().unwrap();
    let rules = ["Read(s/q)", "Edit(src/**)"];
    let within = policy_in(top.path().to_str().unwrap(), &["Bash"], &rules, &[], PolicyMode::Auto).unwrap();
    for command in [
        "cd /dev/fd/3 3<..; touch w/src/new",
        "cd /dev/stdin < s; cat q",
        "cd /dev/fd; cat 3/w/s/q",
        "cd /proc/self; cd fd; cat 3/q",
    ] {
        assert_eq!(name(&within, command), "ask", "{command}");
    }
    let reading = policy(&["Bash"], &["Read(s/q)"], &[], PolicyMode::Auto);
    for command in ["cat /dev/stdin < x", "cat /dev/fd/3 3< x", "cat /proc/self/status", "echo x > /dev/null"]
    {
        assert_eq!(name(&reading, command), "allow", "{command}");
    }
    let denying = policy(&["Bash"], &[], &["Read(s/q)"], PolicyMode::Auto);
    assert_eq!(name(&denying, "exec 3<..; cat /dev/fd/3/w/s/q"), "ask");
}

#[test]
fn other_directories_do_not_matter_where_every_command_is_allowed() {
    let policy = policy(&["Bash"], &["Read(s/q)", "Read(/tmp/q)"], &["Edit(.git/**)"], PolicyMode::Auto);
    for command in ["cd /tmp && ls", "cd .. && ls", "cd $x && make", "cd /usr && cat q"] {
        assert_eq!(name(&policy, command), "allow", "{command} {:?}", shell(&policy, command));
    }
    for command in ["cd /tmp && cat q", "cd $x && cat q", "cd $x && cat s/q", "cd / && cat tmp/q"] {
        assert_eq!(name(&policy, command), "ask", "{command}");
    }
}

/// As bash does, unless `dotglob` or `GLOBIGNORE` is set, which ask by themselves.
#[test]
fn wildcards_at_the_beginning_of_a_name_match_no_dot() {
    for rule in
        ["Read(.env)", "Read(**/.env)", "Read(.env*)", "Read(/w/.env)", "Read(src/.env)", "Read(.config/**)"]
    {
        let policy = policy(&["Bash"], &[rule], &[], PolicyMode::Auto);
        for command in
            ["ls *", "cat [A-Z]*", "wc -l *.[ch]", "wc -l src/*", "cat ?env src/[!a]env [.]env", "ls */*"]
        {
            assert_eq!(name(&policy, command), "allow", "{rule}: {command}");
        }
    }
    let policy = policy(&["Bash"], &["Read(.env)"], &[], PolicyMode::Auto);
    for command in [
        "cat .*",
        "cat .e[n]v",
        "cat ./.?nv",
        "cat */.env*",
        "cat src/.en?",
        "cat $x*",
        "cat {,x}.e*",
        "cat \"$x\"*",
        "shopt -s dotglob; cat *",
        "GLOBIGNORE=x; cat *",
    ] {
        assert_eq!(name(&policy, command), "ask", "{command}");
    }
}

#[test]
fn a_program_that_cannot_be_changed_can_be_started() {
    for tool in ["Edit", "Write"] {
        let rule = format!("{tool}(/run.sh)");
        let policy = policy(&["Bash"], &[], &[&rule], PolicyMode::Auto);
        assert_eq!(name(&policy, "/run.sh x"), "allow", "{rule}");
        for command in ["touch /run.sh", "/run.sh /run.sh", "sh /run.sh", "echo > /run.sh"] {
            assert_eq!(shell(&policy, command).verdict, Verdict::Deny(Some(rule.clone())), "{command}");
        }
    }
    let unread = policy(&["Bash"], &[], &["Read(/run.sh)"], PolicyMode::Auto);
    assert_eq!(shell(&unread, "/run.sh").verdict, Verdict::Deny(Some("Read(/run.sh)".into())));
}

/// What a redirection leads to is judged again when the shell opens it.
#[test]
fn a_redirection_is_covered_where_a_rule_may_cover_it() {
    let top = tempfile::tempdir().unwrap();
    std::fs::create_dir(top.path().join("out")).unwrap();
    let rules = ["Bash(echo:*)", "Write(out/**)"];
    let off = policy_in(top.path().to_str().unwrap(), &rules, &[], &[], PolicyMode::Auto).unwrap();
    let enforced = Policy { is_enforced: true, ..off.clone() };
    for command in [
        "cd out && echo x > y",
        "(cd out; echo x >> y)",
        "for i in 1 2; do echo $i > out/$i; done",
        "echo x > \"out/$y.txt\"",
        "echo x > out/*",
        "bash -c 'cd out && echo x > y'",
        "env bash -c 'echo x > \"out/$y\"'",
        "eval \"bash -c 'echo x > out/*'\"",
    ] {
        assert_eq!([&enforced, &off].map(|policy| name(policy, command)), ["allow", "ask"], "{command}");
    }
    for command in [
        "echo x > y",
        "echo x > $y",
        "echo x > src/$y",
        "cd $y; echo x > out/z",
        "echo x > ../z",
        "cd out; echo x > ../z",
    ] {
        assert_eq!([&enforced, &off].map(|policy| name(policy, command)), ["ask"; 2], "{command}");
    }
    assert_eq!([&enforced, &off].map(|policy| name(policy, "echo x > >(echo y)")), ["allow"; 2]);
}

/// A program cannot open such a file, so that only what certainly names it is refused before.
#[test]
fn words_that_may_name_what_the_sandbox_keeps_do_not_ask() {
    let top = tempfile::tempdir().unwrap();
    let policy = |allow: &[&str], ask: &[&str], deny: &[&str], mode| {
        policy_in(top.path().to_str().unwrap(), allow, ask, deny, mode).unwrap()
    };
    for rule in ["Read(.env)", "Read(secrets/**)", "Edit(src/**)", "Read(**/*.pem)", "Edit(./lock)"] {
        let denying = policy(&["Bash"], &[], &[rule], PolicyMode::Auto);
        let enforced = Policy { is_enforced: true, ..denying.clone() };
        let asking = Policy { is_enforced: true, ..policy(&["Bash"], &[rule], &[], PolicyMode::Auto) };
        for command in
            ["for f in a b; do sort \"$f\"; done", "sort ?*/* .*", "find . | xargs sort", "cd $x; sort y"]
        {
            assert_eq!(name(&enforced, command), "allow", "{rule} {command}");
            assert_eq!(
                [&denying, &asking].map(|policy| name(policy, command)),
                ["ask"; 2],
                "{rule} {command}"
            );
        }
    }
    // Elsewhere, or not there yet.
    for rule in ["Read(/srv/*.pem)", "Write(*.lock)", "Edit(**/lock)", "Edit(lock)", "Edit(a/*.c)"] {
        let denying = policy(&["Bash"], &[], &[rule], PolicyMode::Auto);
        assert_eq!(name(&Policy { is_enforced: true, ..denying }, "sort $x"), "ask", "{rule}");
    }
    let enforced = Policy { is_enforced: true, ..policy(&["Bash"], &[], &["Read(.env)"], PolicyMode::Auto) };
    assert_eq!(name(&enforced, "cat .env"), "deny");
}

#[test]
fn words_are_judged_for_a_place_above_the_workspace_where_no_sandbox_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let workspace = top.join("ws");
    std::fs::create_dir(&workspace).unwrap();
    let other = format!("cat {}/other/s", top.display());
    let above = top.parent().unwrap().display();
    let kept = format!("Read({}/**)", top.display());
    for (rule, judged) in [
        (&*kept, "allow"),
        ("Read(/**)", "deny"),
        (&format!("Read({above}/*/**)"), "deny"),
        (&format!("Read({{**,{above}/*/**}})"), "deny"),
    ] {
        let made = policy_in(workspace.to_str().unwrap(), &["Bash"], &[], &[rule], PolicyMode::Auto).unwrap();
        assert_eq!(["cat a", &other].map(|command| name(&made, command)), ["deny"; 2], "{rule}");
        let enforced = made.with_sandbox(&SandboxSettings::default());
        assert_eq!(["cat a", &other].map(|command| name(&enforced, command)), [judged; 2], "{rule}");
    }
}

#[test]
fn what_is_looked_up_for_a_command_is_bounded() {
    let top = tempfile::tempdir().unwrap();
    for at in 0..3_000 {
        let dir = top.path().join((at % 60).to_string());
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(at.to_string()), "").unwrap();
    }
    let policy =
        policy_in(top.path().to_str().unwrap(), &["Bash(cat:*)"], &["Read(.env)"], &[], PolicyMode::Auto);
    let policy = policy.unwrap();
    let judged = |count: usize| {
        let words: String = (0..count).map(|at| format!(" */{at}*")).collect();
        name(&policy, &format!("cat{words}"))
    };
    assert_eq!([judged(5), judged(10), judged(5_000)], ["allow", "ask", "ask"]);
    assert_eq!(name(&policy, &format!("cat{}", " */*".repeat(5_000))), "allow");
    assert_eq!(name(&policy, &format!("cat {}", "*".repeat(20_000))), "allow");
    assert_eq!(name(&policy, &format!("cat {}", "*a".repeat(10_000))), "ask");
    assert_eq!(name(&policy, &format!("cat {}", "a b ".repeat(10_000))), "allow");
}
