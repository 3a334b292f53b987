mod allowed_commands;
mod mistakes;
mod named_files;

use super::*;
use beamai_base::Reason;

const RULES: [&str; 9] = ["Bash", "Read", "Write", "Edit", "Grep", "WebFetch", "Skill", "Task", "GitCommit"];

fn rule_of(name: &str) -> Option<String> {
    match name {
        "shell_exec" => Some("Bash".to_owned()),
        name => RULES.contains(&name).then(|| name.to_owned()),
    }
}

fn try_policy(allow: &[&str], ask: &[&str], deny: &[&str], default: PolicyMode) -> Result<Policy> {
    policy_in("/", allow, ask, deny, default)
}

/// A policy for a workspace.
fn policy_in(
    workspace: &str,
    allow: &[&str],
    ask: &[&str],
    deny: &[&str],
    default: PolicyMode,
) -> Result<Policy> {
    let list = |rules: &[&str]| rules.iter().map(|rule| (*rule).into()).collect();
    let text = PolicyText { allow: list(allow), ask: list(ask), deny: list(deny), default, settings: None };
    Policy::new(&text, &RULES, &rule_of, &Workspace::open(std::path::Path::new(workspace)).unwrap())
}

fn policy(allow: &[&str], ask: &[&str], deny: &[&str], default: PolicyMode) -> Policy {
    try_policy(allow, ask, deny, default).unwrap()
}

fn permission(rule: &str, is_safe: bool) -> PermissionRequest {
    PermissionRequest {
        rule: rule.into(),
        touches: &["Read"],
        allowed_by: &[],
        is_safe,
        operand: Operand::None,
    }
}

fn verdict(policy: &Policy, permission: &PermissionRequest) -> Verdict {
    policy.judge(permission).verdict
}

#[test]
fn deny_beats_ask_beats_allow() {
    let all = policy(&["Bash"], &["Bash"], &["Bash"], PolicyMode::Allow);
    assert_eq!(verdict(&all, &permission("Bash", true)), Verdict::Deny(Some("Bash".into())));
    let two = policy(&["Bash"], &["Bash"], &[], PolicyMode::Allow);
    assert_eq!(verdict(&two, &permission("Bash", true)), Verdict::Ask(Some("Bash".into())));
}

#[test]
fn a_rule_on_what_is_touched_refuses_but_does_not_allow() {
    let denied = policy(&[], &[], &["Read"], PolicyMode::Allow);
    assert_eq!(verdict(&denied, &permission("Bash", false)), Verdict::Deny(Some("Read".into())));
    let allowed = policy(&["Read"], &[], &[], PolicyMode::Auto);
    assert_eq!(verdict(&allowed, &permission("Bash", false)), Verdict::Ask(None));
}

#[test]
fn the_default_mode_decides_what_no_rule_names() {
    let by = |mode| policy(&[], &[], &[], mode);
    assert_eq!(verdict(&by(PolicyMode::Auto), &permission("X", true)), Verdict::Allow(None));
    assert_eq!(verdict(&by(PolicyMode::Auto), &permission("X", false)), Verdict::Ask(None));
    assert_eq!(verdict(&by(PolicyMode::Deny), &permission("X", true)), Verdict::Deny(None));
}

#[test]
fn of_several_needs_the_worst_verdict_counts() {
    let permissions = PermissionRequests {
        first: permission("Edit", false),
        more: vec![permission("Write", false), permission("X", true)],
    };
    assert_eq!(permissions.subject(), "Edit, Write, X");
    let judged = |allow: &[&str], ask: &[&str], deny: &[&str]| {
        let policy = policy(allow, ask, deny, PolicyMode::Auto);
        let (judgement, permission) = policy.judge_all(&permissions);
        (judgement.verdict, permission.rule.clone())
    };
    assert_eq!(judged(&["Edit"], &[], &[]), (Verdict::Ask(None), "Write".into()));
    assert_eq!(judged(&["Edit", "Write"], &[], &[]), (Verdict::Allow(Some("Edit".into())), "Edit".into()));
    let denied = Verdict::Deny(Some("X".into()));
    assert_eq!(judged(&["Edit"], &["Write"], &["X"]), (denied, "X".into()));
}

fn with_examples(rule: &str, matching: &[&str], no_match: &[&str]) -> Result<Policy> {
    let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let examples = Examples { rule: rule.into(), matching: own(matching), no_match: own(no_match) };
    let text = PolicyText { deny: vec![RuleText::Checked(examples)], ..PolicyText::default() };
    Policy::new(&text, &RULES, &rule_of, &Workspace::open(std::path::Path::new("/")).unwrap())
}

#[test]
fn examples_are_tried_when_the_rule_is_loaded() {
    assert!(
        with_examples("Bash(rm -rf:*)", &["rm -fr /", "a && rm -r -f x"], &["rm x", "echo 'rm -rf x'"])
            .is_ok()
    );
    assert!(with_examples("Read(**/*.pem)", &["a/k.pem"], &["k.txt"]).is_ok());
    assert!(
        with_examples("WebFetch(domain:go.dev)", &["https://pkg.go.dev/x"], &["https://ago.dev"]).is_ok()
    );
    let error = with_examples("Bash(git:*)", &["gitk"], &[]).unwrap_err();
    assert!(error.message.contains("does not match its example \"gitk\""), "{}", error.message);
    let error = with_examples("Read(.env)", &[], &["a/.env"]).unwrap_err();
    assert!(error.message.contains("should not"), "{}", error.message);
}

#[test]
fn a_settings_file_may_name_rules_or_tools() {
    let load = |settings: &str| {
        let text = PolicyText { settings: Some(settings.into()), ..PolicyText::default() };
        Policy::new(&text, &RULES, &rule_of, &Workspace::open(std::path::Path::new("/")).unwrap())
    };
    let both = load(
        r#"{"permissions": {"deny": ["Bash(sudo:*)", {"rule": "Read(.env)", "match": ["a/.env"]}], "default": "ask"},
            "permission": {"fetch": "allow", "shell_exec": "deny"}, "web": {}}"#,
    );
    let both = both.unwrap();
    assert_eq!(verdict(&both, &permission("WebFetch", false)), Verdict::Allow(Some("WebFetch".into())));
    assert_eq!(verdict(&both, &permission("Bash", false)), Verdict::Deny(Some("Bash".into())));
    assert_eq!(verdict(&both, &permission("X", true)), Verdict::Ask(None));
    for (bad, says) in [
        ("{}", "neither"),
        ("[", "not valid"),
        (r#"{"permission": {"fetch": "yes"}}"#, "\"allow\", \"ask\" or \"deny\""),
        (r#"{"permission": {"nothing": "allow"}}"#, "no tool"),
        (r#"{"permissions": {"allowed": []}}"#, "permissions.allowed is not a setting; did you mean allow?"),
        (r#"{"permissions": {"deny": 5}}"#, "permissions.deny must be a list of rules, such as"),
        (
            r#"{"permissions": {"default": "yes"}}"#,
            r#"permissions.default must be "auto", "allow", "ask" or "deny", not "yes""#,
        ),
        (r#"{"permissions": []}"#, "\"permissions\" must be an object"),
        (r#"{"permissions": {"deny": [{"rule": "Read(x)", "match": ["y"]}]}}"#, "example"),
    ] {
        let error = load(bad).unwrap_err();
        assert!(error.message.contains(says), "{bad}: {}", error.message);
    }
}

fn file(rule: &str, written: &str, path: &str) -> PermissionRequest {
    let operand = Operand::File(FilePath { path: path.into(), written: written.into(), is_tree: false });
    PermissionRequest { rule: rule.into(), touches: &["Read"], allowed_by: &[], is_safe: true, operand }
}

#[test]
fn a_path_is_judged_as_it_is_written_and_as_it_leads() {
    let denied = policy(&[], &[], &["Read(**/*.pem)"], PolicyMode::Auto);
    for (written, path) in
        [("k.pem", "k.pem"), ("link", "k.pem"), ("k.pem", "elsewhere"), ("a/../k.pem", "k.pem")]
    {
        let verdict = verdict(&denied, &file("Read", written, path));
        assert_eq!(verdict, Verdict::Deny(Some("Read(**/*.pem)".into())), "{written}");
    }
    let allowed = policy(&["Edit(src/**)"], &[], &[], PolicyMode::Deny);
    assert!(matches!(verdict(&allowed, &file("Edit", "src/a", "src/a")), Verdict::Allow(_)));
    assert_eq!(verdict(&allowed, &file("Edit", "src/link", "other")), Verdict::Deny(None));
    assert_eq!(verdict(&allowed, &file("Edit", "link", "src/a")), Verdict::Deny(None));
}

fn shell(policy: &Policy, command: &str) -> Judgement {
    let operand = Operand::Command(CommandLine::plain(command));
    policy.judge(&PermissionRequest { operand, ..permission("Bash", false) })
}

fn name(policy: &Policy, command: &str) -> &'static str {
    shell(policy, command).verdict.parts().0
}

#[test]
fn a_command_is_allowed_when_rules_cover_every_part() {
    let git = policy_in("/usr", &["Bash(git:*)", "Write(out/**)"], &[], &[], PolicyMode::Auto).unwrap();
    for command in
        ["git status", "git log && git diff", "timeout 5 git log", "git log > out/x", "git log 2>/dev/null"]
    {
        assert_eq!(name(&git, command), "allow", "{command}");
    }
    for command in [
        "git log > x",
        "git log | sh",
        "git log > ~/.bashrc",
        "cd \"$x\" && git log",
        "cd - && git log",
        "cd src; git log; cd ..; git status",
        "cd src && git log && cd ../.. && git status",
        "(cd src) && cd .. && git log",
        "pushd src && git log",
        "cd src > x && git log",
        "env cd src && git log",
        "./cd src && git log",
        "x=1",
        "./timeout 5 git log",
        "./true",
        "./env git log",
        "/tmp/eval 'git log'",
        "./bash -c 'git log'",
        "git log > out/../x",
    ] {
        assert_eq!(name(&git, command), "ask", "{command}");
    }
    let bare = policy(&["Bash"], &[], &[], PolicyMode::Deny);
    assert_eq!(name(&bare, "git log > x; $y"), "allow");
}

#[test]
fn the_rule_that_is_wanted_for_words_that_are_not_known_is_about_their_beginning() {
    let none = policy_in("/usr", &[], &[], &[], PolicyMode::Auto).unwrap();
    for (command, wanted) in [
        ("wc -l \"$f\"", "Bash(wc -l:*)"),
        ("git show 'a b' $x y", "Bash(git show 'a b':*)"),
        ("xargs wc", "Bash(wc:*)"),
        ("wc -l f", "Bash(wc -l f)"),
        ("$x y", "Bash($x y)"),
        ("bash $x", "Bash(bash $x)"),
        ("cd /etc && ls", "Bash(cd /etc && ls)"),
        ("git -C /other status", "Bash(git -C /other status)"),
    ] {
        assert!(
            shell(&none, command).wanted.iter().all(|rule| rule == wanted),
            "{command}: {:?}",
            shell(&none, command)
        );
        assert_eq!(
            name(&policy_in("/usr", &[wanted], &[], &[], PolicyMode::Auto).unwrap(), command),
            "allow",
            "{command}"
        );
    }
}

#[test]
fn no_rule_for_a_directory_is_wanted_for_a_redirection() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("sub/inner")).unwrap();
    let made = policy_in(dir.path().to_str().unwrap(), &["Bash(ls)"], &[], &[], PolicyMode::Auto).unwrap();
    let enforced = made.with_sandbox(&SandboxSettings::default());
    for (command, wanted) in [
        ("cd sub && ls > y", &["Write(sub/y)"][..]),
        ("ls > /nothing-has-this-name", &["Write(/nothing-has-this-name)"]),
        ("cd sub && ls > inner", &[]),
        ("cd sub && ls > .", &[]),
        ("ls > sub", &[]),
        ("ls > /usr", &[]),
    ] {
        assert_eq!(shell(&enforced, command).wanted, wanted, "{command}");
    }
}

#[test]
fn a_deny_rule_finds_its_part_and_names_it() {
    let open = policy(&["Bash"], &[], &["Bash(rm -rf:*)", "Read(**/*.pem)", "Write(.env)"], PolicyMode::Auto);
    let judged = shell(&open, "git status && env X=1 r''m -f -r x");
    assert_eq!(judged.verdict, Verdict::Deny(Some("Bash(rm -rf:*)".into())));
    assert_eq!(judged.part.as_deref(), Some("rm -f -r x"));
    for command in [
        "cat k.pem",
        "< k.pem",
        "cp k.pem k.txt",
        "cat a/../k.pem",
        "tar c --file=x k.pem",
        "dd if=k.pem",
        "echo x > .env",
        "cp x .env",
        "echo $(<k.pem)",
    ] {
        assert_eq!(name(&open, command), "deny", "{command}");
    }
    for command in [
        "cat k.p*",
        "cat $x",
        "$c -rf x",
        "((((",
        "ls | xargs rm",
        "cd a && cat *",
        "cd $x && cat k.pem",
        "find . -exec cat {} +",
    ] {
        assert_eq!(name(&open, command), "ask", "{command}");
    }
    for command in ["git status", "rm x", "cat k.txt", "echo k.pem", "cat .env", "ls > x"] {
        assert_eq!(name(&open, command), "allow", "{command}");
    }
}

#[test]
fn an_exact_rule_covers_what_its_words_do_but_no_redirection() {
    let exact =
        policy(&["Bash(git -c a=b log)", "Bash(a && $b)", "Bash(ls > x)"], &[], &[], PolicyMode::Auto);
    assert_eq!(name(&exact, "git -c a=b log"), "allow");
    assert_eq!(name(&exact, "a && $b"), "allow");
    assert_eq!(name(&exact, "a && $c"), "ask");
    assert_eq!(name(&exact, "ls > x"), "ask");
}

/// What it asks about may be hidden in the text. Where a guard decides about starts, it asks for programs.
#[test]
fn an_exact_rule_of_a_text_that_cannot_be_analysed_yields_to_ask_rules() {
    for (command, hidden, guarded) in [
        ("echo $\"a\"; cat .env", "Read(.env)", "ask"),
        ("echo $[1]; x > y", "Edit(prod/**)", "ask"),
        ("echo $\"a\"; rm x", "Bash(rm:*)", "allow"),
    ] {
        let rule = format!("Bash({command})");
        let asking = policy(&[&rule], &[hidden], &[], PolicyMode::Auto);
        let judgement = shell(&asking, command);
        assert_eq!(judgement.verdict, Verdict::Ask(Some(hidden.into())), "{command}");
        assert!(judgement.wanted.is_empty(), "{command}");
        assert_eq!(name(&Policy { is_enforced: true, ..asking }, command), guarded, "{command}");
        assert_eq!(name(&policy(&[&rule], &[], &[], PolicyMode::Auto), command), "allow", "{command}");
    }
}

#[test]
fn a_rule_that_denies_is_about_a_name_and_arguments() {
    for text in [
        "Bash(curl http://x/?a=b&c=*)",
        "Bash(cat * | sh)",
        "Bash(cat ~root/x [z])",
        "Bash(cat [xz] {a,b})",
        "Bash(echo \"*)",
        "Bash(cat a | sh)",
        "Bash(env rm x;)",
        "Bash(rm x > y)",
        "Bash(rm $x)",
    ] {
        let malformed = |policy: Result<Policy>| policy.unwrap_err().message.contains("name and arguments");
        assert!(malformed(try_policy(&[], &[], &[text], PolicyMode::Auto)), "{text}");
        assert!(malformed(try_policy(&[], &[text], &[], PolicyMode::Auto)), "{text}");
        assert!(try_policy(&[text], &[], &[], PolicyMode::Auto).is_ok(), "{text}");
    }
    let denied = policy(&[], &[], &["Bash(curl 'http://x/?a=b&c='*)"], PolicyMode::Allow);
    assert!(matches!(shell(&denied, "curl 'http://x/?a=b&c=d'").verdict, Verdict::Deny(_)));
}

#[test]
fn what_is_asked_names_the_rules_that_would_allow_it() {
    let none = policy(&[], &[], &[], PolicyMode::Auto);
    assert_eq!(shell(&none, "git log; ls > x").wanted, ["Bash(git log)", "Bash(ls)", "Write(./x)"]);
    assert_eq!(shell(&none, "git log; $x > x").wanted, ["Bash(git log; $x > x)", "Write(./x)"]);
}

/// It would be about all that is in the directory, and the redirection fails.
#[test]
fn no_rule_is_offered_for_a_redirection_into_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("d")).unwrap();
    std::os::unix::fs::symlink("d", directory.path().join("l")).unwrap();
    let top = directory.path().to_str().unwrap();
    let policy = policy_in(top, &["Bash(echo:*)"], &[], &[], PolicyMode::Auto).unwrap();
    for target in [".", "d", "d/", "d/..", "l", &format!("{top}/d")] {
        assert_eq!(shell(&policy, &format!("echo x > {target}")).wanted, Vec::<String>::new(), "{target}");
    }
    assert_eq!(shell(&policy, "echo x > d/f").wanted, ["Write(d/f)"]);
}

#[test]
fn without_a_guard_find_may_start_what_an_expansion_gives_it() {
    let find = policy(&["Bash(find:*)"], &[], &[], PolicyMode::Auto);
    let open = policy(&["Bash"], &[], &["Bash(touch:*)"], PolicyMode::Auto);
    for command in [
        "x=-exec; find . $x touch p \\;",
        "find . -ex${y}ec touch p \\;",
        "find . \"$@\"",
        "find . -e* touch p \\;",
        "find . [-]exec touch p \\;",
        "find . \"${x:--exec}\" touch p \\;",
        "timeout 5 find . $x",
    ] {
        for policy in [&find, &open] {
            assert_eq!(name(policy, command), "ask", "{command}");
            let guarded = Policy { is_enforced: true, ..policy.clone() };
            assert!(command.starts_with("timeout") || name(&guarded, command) == "allow", "{command}");
        }
    }
    for command in ["find src -name '*.c'", "find \"src/$x\" -type f", "find src/*/ -newer x"] {
        assert_eq!((name(&find, command), name(&open, command)), ("allow", "allow"), "{command}");
    }
}

#[test]
fn where_everything_is_allowed_the_command_itself_is_the_rule_that_is_missing() {
    let (command, deny) = ("\"$(pwd)/tool\" log", ["Bash(git push:*)"]);
    let asked = shell(&policy(&["Bash"], &[], &deny, PolicyMode::Auto), command);
    assert_eq!(asked.wanted, ["Bash(\"$(pwd)/tool\" log)"]);
    let allowed = policy(&["Bash", &asked.wanted[0]], &[], &deny, PolicyMode::Auto);
    assert_eq!(name(&allowed, command), "allow");
}

#[test]
fn what_is_harmless_needs_no_rule_beside_what_has_one() {
    let git = policy(&["Bash(git:*)"], &[], &["Bash(rm:*)", "Read(**/*.pem)"], PolicyMode::Auto);
    for command in [
        "[ -f x ] && git status",
        "echo done; git log",
        "cd src && git log",
        "cd src && git log && cd .. && git status",
        "cd -P -- src && export X=1 && git log",
        "git commit -m \"$(git log)\"",
        "git commit -m 'rm a/b'",
    ] {
        assert_eq!(name(&git, command), "allow", "{command}");
    }
    assert_eq!(shell(&git, "echo x").wanted, ["Bash(echo x)"]);
    let echo = policy(&["Bash(echo:*)"], &[], &[], PolicyMode::Deny);
    assert_eq!((name(&echo, "echo x"), name(&echo, "pwd")), ("allow", "deny"));
}

/// What other programs start is judged as it starts.
#[test]
fn a_variable_with_code_is_covered_where_a_rule_lets_any_code_run() {
    let auto = |rules: &[&str]| policy(rules, &[], &[], PolicyMode::Auto);
    for (rules, command) in [
        (&["Bash(python3:*)"][..], "PYTHONPATH=. python3 app.py"),
        (&["Bash(python3 app.py:*)", "Bash(python3 -c:*)"], "PYTHONPATH=src python3 app.py"),
        (&["Bash(python3 -m pytest:*)"], "PYTHONPATH=. python3 -m pytest -q"),
        (&["Bash(pytest:*)"], "PYTHONPATH=src:lib pytest tests"),
        (&["Bash(.venv/bin/python:*)"], "PYTHONPATH=. .venv/bin/python -c 'import app'"),
        (&["Bash(node *)"], "NODE_PATH=lib node x.js"),
        (&["Bash(perl -e:*)"], "PERL5LIB=lib perl -e 'use X'"),
    ] {
        assert_eq!(name(&auto(rules), command), "allow", "{command}");
    }
    for (rules, command) in [
        (&["Bash(python3 app.py:*)"][..], "PYTHONPATH=. python3 app.py"),
        (&["Bash(python3 manage.py:*)", "Bash(pytest:*)"], "PYTHONPATH=. python3 manage.py"),
        (&["Bash(python3 -m json.tool:*)"], "PYTHONPATH=. python3 -m json.tool"),
        (&["Bash(python3 -c:*)", "Bash(make:*)"], "PYTHONPATH=. make"),
        (&["Bash(python3:*)"], "PYTHONPATH=. ./python3 app.py"),
        (&["Bash(python3:*)"], "PYTHONSTARTUP=x python3"),
        (&["Bash(python3:*)"], "PYTHONPATH=. PATH=. python3 app.py"),
        (&["Bash(python3:*)"], "export PYTHONPATH=.; python3 app.py"),
        (&["Bash(python3:*)"], "env PYTHONPATH=. python3 app.py"),
        (&["Bash(python3)"], "PYTHONPATH=. python3"),
    ] {
        assert_eq!(name(&auto(rules), command), "ask", "{command}");
    }
    // Others are not pushed out of the list by many of these.
    let many = format!("{}PATH=. ls", "PYTHONPATH=a python3 b; ".repeat(20));
    assert_eq!(name(&auto(&["Bash(python3:*)", "Bash(ls:*)"]), &many), "ask");
    let distinct: String = (0..20).map(|at| format!("PYTHONPATH=a python3 {at}; ")).collect();
    assert_eq!(name(&auto(&["Bash(python3:*)", "Bash(ls:*)"]), &format!("{distinct}PATH=. ls")), "ask");
}

#[test]
fn a_denied_program_is_looked_for_in_the_commands_own_words() {
    let open = policy(&[], &[], &["Bash(rm:*)"], PolicyMode::Allow);
    for command in ["x 'rm y'", "cp /bin/rm y", "git log 'rm y'", "make", "python3 -c 'x'"] {
        assert_eq!(name(&open, command), "allow", "{command}");
    }
    for command in ["env rm y", "find . -exec rm {} +", "sh -c 'rm y'"] {
        assert_eq!(name(&open, command), "deny", "{command}");
    }
}

#[test]
fn what_is_in_a_repository_is_changed_by_rules_that_name_it() {
    let wide = policy(&["Edit(src/**)"], &[], &[], PolicyMode::Ask);
    let named = policy(&["Edit(src/.git/**)"], &[], &[], PolicyMode::Ask);
    let bare = policy(&["Edit"], &[], &[], PolicyMode::Ask);
    let at = |policy: &Policy, path: &str| verdict(policy, &file("Edit", path, path)).parts().0;
    for path in ["src/.git/config", "src/a/.GIT/hooks/x", "src/.git"] {
        assert_eq!(at(&wide, path), "ask", "{path}");
        assert_eq!(at(&bare, path), "ask", "{path}");
    }
    assert_eq!((at(&named, "src/.git/config"), at(&wide, "src/.gitignore")), ("allow", "allow"));
    assert_eq!(at(&bare, "src/.gitignore"), "allow");
    // A name that begins like it does not name it.
    let near = policy(&["Edit(src/**/.gitignore)", "Edit(**/.github/**)"], &[], &[], PolicyMode::Ask);
    assert_eq!((at(&near, "src/.git/.gitignore"), at(&near, ".github/.git/config")), ("ask", "ask"));
}

#[test]
fn a_rule_holds_for_one_tool_of_a_server_or_for_all_of_them() {
    for rule in ["mcp__files", "mcp__files__*", "mcp__files__read"] {
        let policy = policy(&[], &[], &[rule], PolicyMode::Allow);
        assert_eq!(
            verdict(&policy, &permission("mcp__files__read", true)),
            Verdict::Deny(Some(rule.into())),
            "{rule}"
        );
        for other in ["mcp__files2__read", "mcp__file__read", "mcp__files", "read"] {
            if other != rule {
                assert_eq!(
                    verdict(&policy, &permission(other, true)),
                    Verdict::Allow(None),
                    "{rule} {other}"
                );
            }
        }
    }
    let one = policy(&["mcp__files__read"], &[], &[], PolicyMode::Auto);
    assert_eq!(verdict(&one, &permission("mcp__files__read_all", false)), Verdict::Ask(None));
}

#[test]
fn a_rule_that_would_hold_for_no_tool_of_a_server_is_refused() {
    for rule in ["mcp__files__read_*", "mcp__*", "mcp__*__read", "mcp__a__b__*"] {
        let error = try_policy(&[rule], &[], &[], PolicyMode::Auto).unwrap_err();
        assert!(error.message.contains("mcp__server__*"), "{rule}: {error}");
    }
}

#[test]
fn a_bare_rule_that_denies_a_file_tool_means_every_file_to_commands() {
    for tool in ["Write", "Edit", "Read"] {
        let whole = format!("{tool}(**)");
        for rule in [tool, &whole] {
            let open = policy(&["Bash"], &[], &[rule], PolicyMode::Auto);
            let enforced = Policy { is_enforced: true, ..open.clone() };
            for command in ["true", "git status", "make all", "touch x", "cat y", "./run.sh"] {
                assert_eq!(name(&enforced, command), "allow", "{rule} {command}");
            }
            let opens = if tool == "Read" { "cat < y" } else { "echo x > y" };
            assert_eq!(shell(&enforced, opens).verdict, Verdict::Deny(Some(rule.into())), "{rule}");
            // Where the sandbox does not hold it, words are all there is.
            assert_eq!(shell(&open, "touch x").verdict, Verdict::Deny(Some(rule.into())), "{rule}");
            assert!(matches!(verdict(&open, &file(tool, "x", "x")), Verdict::Deny(_)), "{rule}");
            assert_eq!(
                open.denied_paths().protects(std::path::Path::new("x"), false),
                tool != "Read",
                "{rule}"
            );
            assert_eq!(open.denied_paths().hides(std::path::Path::new("x"), false), tool == "Read", "{rule}");
        }
    }
}

#[test]
fn places_of_secrets_are_kept_from_tools_until_a_rule_or_the_sandbox_names_them() {
    let secrets = |policy: Policy, readable: &[&str]| {
        let places = [".ssh", ".netrc"].map(std::path::PathBuf::from).into();
        Policy { secrets: SecretPaths::at(places, readable.iter().map(Into::into).collect()), ..policy }
    };
    let at = |policy: &Policy, rule: &str, path: &str| verdict(policy, &file(rule, path, path)).parts().0;
    let open = secrets(policy(&["Read", "Edit(**)", "Read(**/id_rsa)"], &[], &[], PolicyMode::Allow), &[]);
    for path in [".ssh/id_rsa", ".ssh", ".netrc"] {
        assert_eq!((at(&open, "Read", path), at(&open, "Edit", path)), ("deny", "deny"), "{path}");
        assert!(open.read_guards().of("Read").hides(std::path::Path::new(path)), "{path}");
    }
    for path in [".sshd", "src/.netrc", "a"] {
        assert_eq!(at(&open, "Read", path), "allow", "{path}");
    }
    let denied = open.judge(&file("Read", "link", ".ssh/id_rsa"));
    assert_eq!(denied.because(), ", because .ssh is a place of secrets, which tools leave alone");
    assert_eq!(denied.wanted, ["Read(.ssh)"]);
    let named = secrets(policy(&["Read(.ssh/*.pub)", "Edit(.netrc)"], &[], &[], PolicyMode::Allow), &[]);
    assert_eq!((at(&named, "Read", ".ssh/a.pub"), at(&named, "Read", ".ssh/id_rsa")), ("allow", "deny"));
    assert_eq!((at(&named, "Edit", ".netrc"), at(&named, "Read", ".netrc")), ("allow", "deny"));
    let shown = secrets(policy(&[], &[], &[], PolicyMode::Allow), &[".ssh/config", "src"]);
    assert_eq!((at(&shown, "Read", ".ssh/config"), at(&shown, "Read", ".ssh/id_rsa")), ("allow", "deny"));
}
