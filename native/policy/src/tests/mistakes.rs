//! Rules that are refused because they would not do what a person means by them.

use super::*;

#[test]
fn a_malformed_rule_is_an_error_that_says_what_is_accepted() {
    for (bad, says) in [
        ("", "Tool or Tool(pattern)"),
        ("Bash(git", "not closed"),
        ("Bash git)", "none opens"),
        ("(x)", "Tool or Tool(pattern)"),
        ("a b", "Tool or Tool(pattern)"),
        ("Bash()", "write Bash"),
        ("Bash(:*)", "git:*"),
        ("Bash(git:* log)", "at the end"),
        ("Read()", "empty"),
        ("Read(!x)", "another list"),
        ("Read([a)", "unclosed"),
        ("WebFetch(github.com)", "domain:example.com"),
        ("GitCommit(x)", "takes no pattern"),
        ("shell_exec", "write Bash"),
        ("bash", "did you mean Bash?"),
        ("Raed", "did you mean Read?"),
        ("Wrte(x)", "did you mean Write(x)?"),
        ("Shell(rm:*)", "did you mean Bash(rm:*)?"),
        ("shell_exec(rm:*)", "write Bash(rm:*)"),
        ("own_tool(x)", "takes no pattern"),
        ("mcp__ev__a.b", "mcp__server__tool as it is listed"),
        ("mcp__ev__?", "mcp__server__tool as it is listed"),
        ("mcp__ev__", "mcp__server__tool as it is listed"),
        ("mcp__", "mcp__server__tool as it is listed"),
        (
            "mcp__ev__a_name_that_is_longer_than_the_sixty-four_characters_of_any",
            "as it is listed, with up to 64 letters",
        ),
        ("Read(sec\u{200b}ret)", "U+200B, which nobody sees"),
        ("\u{feff}Bash", "U+FEFF"),
        ("Bash(rm\u{a0}-rf:*)", "U+00A0, a space that separates no words"),
        ("Bash(rm\r:*)", "U+000D, which nobody sees"),
        ("Bash(rm\u{200d}:*)", "U+200D"),
        ("Read(.env\u{fe0f})", "U+FE0F"),
        ("Read(\u{2800}x)", "U+2800"),
        ("Read(\".env\")", "quotes and blanks around a path"),
        ("Read(.env )", "quotes and blanks around a path"),
        ("Read(\u{201c}.env\u{201d})", "quotes and blanks around a path"),
        ("Read(.env),Read(x)", "one rule for each path"),
        ("Read(.env))", "one rule for each path"),
        ("Read({.npmrc, .env})", "{a,b}"),
        ("Read(.npmrc, .env)", "one rule for each"),
        ("Edit(.npmrc|.env)", "one rule for each"),
        ("Read(*.pem,*.key)", "one rule for each"),
        ("Read(.env;.npmrc)", "one rule for each"),
        ("Read(src/** data/**)", "one rule for each"),
        ("Read(.env .npmrc)", "one rule for each"),
        ("Read(.env & .npmrc)", "one rule for each"),
        ("Read([\".env\",\".npmrc\"])", "one rule for each"),
        ("Read($PWD/.env)", "are not expanded"),
        ("Read(${HOME}/.netrc)", "are not expanded"),
        ("Read($(pwd)/.env)", "are not expanded"),
        ("Read(`pwd`/.env)", "are not expanded"),
        ("Read(%PWD%/.env)", "are not expanded"),
        ("Read(path:.env)", "whole files"),
        ("Read(file:///w/.env)", "whole files"),
        ("Read(src/a.pem:1-10)", "whole files"),
        ("Read(src/a.pem#L1)", "whole files"),
        ("Read(^.env$)", "whole files"),
        ("Read(.env\n.npmrc)", "one rule for each"),
        ("Read(a\tb)", "one rule for each"),
        ("Skill(a,deploy)", "one name"),
        ("Skill(\"deploy\")", "one name"),
        ("Skill(plugin:deploy)", "one name"),
        ("Skill(skills/deploy)", "one name"),
        ("Skill(.*)", "one name"),
        ("Skill(create pdf)", "one name"),
        ("Skill(deploy:*)", "one name"),
        ("Skill(^deploy$)", "one name"),
        ("Task(reviewer )", "one name"),
        ("WebFetch(https://a.b/x,https://c.d/y)", "one address"),
        ("WebFetch(https://a.b/x https://c.d/y)", "one address"),
        ("WebFetch(https://a.b/^x$)", "write a glob"),
        ("WebFetch(https://a.b/$X)", "write a glob"),
        ("WebFetch(https://a.b/c:*)", "write a glob"),
        ("WebFetch(https://127\\.0\\.0\\.1/*)", "backslash"),
        ("Read(file_path:.env)", "whole files"),
        ("Read(C:/Users/x)", "whole files"),
        ("Read(:(top).env)", "whole files"),
        ("Read(.*\\.pem)", "regular expressions"),
        ("Read(id_\\w+)", "regular expressions"),
        ("Read(secrets\\key)", "regular expressions"),
        ("Read(secrets\\**)", "regular expressions"),
        ("Read(.env.[a-z]+)", "regular expressions"),
        ("Read(.env(.local)?)", "regular expressions"),
        ("Read(*.y?(a)ml)", "regular expressions"),
        ("Read(a/!(x))", "extended globs"),
        ("Read(src/**.py)", "between slashes"),
        ("Read({a,b}/x**)", "between slashes"),
        ("Bash(git {push,pull}:*)", "in one rule for each"),
        ("Bash(!rm *)", "regular expressions"),
        ("Bash(rm\\s+-rf *)", "regular expressions"),
        ("Bash(cat,rm:*)", "one rule for each program"),
        ("Bash(/bin/cat,/bin/rm)", "one rule for each program"),
        ("Bash(\"rm:*\")", "before :*"),
        ("Bash(\"rm -rf\":*)", "before :*"),
        ("Bash(rm:)", "before :*"),
        ("Bash(rm: *)", "before :*"),
        ("Bash(rm, mv)", "one rule for each program"),
        ("Bash(rm \u{2013}rf:*)", "write -"),
        ("Bash(\u{201c}rm *\u{201d})", "write them without"),
        ("Read((*.pem))", "regular expressions"),
        ("Read(/.*pem/)", "regular expressions"),
        ("Read(path=src/**)", "whole files"),
        ("Read(.env # secret)", "whole files"),
        ("Read(.env:.env.local)", "one rule for each"),
        ("Read(~somebody/file)", "own home directory"),
        ("Bash[rm:*]", "Tool or Tool(pattern)"),
        ("Read/.env", "Tool or Tool(pattern)"),
        ("deny:Read", "Tool or Tool(pattern)"),
        (".env", "Tool or Tool(pattern)"),
        ("*", "Tool or Tool(pattern)"),
    ] {
        let error = try_policy(&[bad], &[], &[], PolicyMode::Auto).unwrap_err();
        assert_eq!(error.reason, Reason::InvalidArgument, "{bad}");
        assert!(error.message.contains(says), "{bad}: {}", error.message);
    }
}

#[test]
fn a_rule_may_have_the_joiners_and_spaces_of_file_names() {
    for rule in [
        "Read(\u{646}\u{645}\u{6cc}\u{200c}\u{62e}.txt)",
        "Read(Shot 9.41\u{202f}AM.png)",
        "Read(main.c,v)",
        "Read($types/*)",
        "Read(Smith\\, John\\;.pdf)",
        "Read(a[,]b)",
        "Read(**.py)",
        "Read(a/{**,b}/c)",
        "Read(@scope/x)",
        "Read(a+b/c.d)",
        "Bash(\\rm:*)",
        "Bash(touch {a,b})",
        "Skill({create,make}-*)",
        "Task(code reviewer)",
        "WebFetch(https://a.b/x,y/*?q=$z)",
        "Read(My Documents/[!a] {b,c} d)",
        "Read(100%/x)",
        "Bash(cat '9\u{202f}AM')",
    ] {
        assert!(try_policy(&[rule], &[], &[], PolicyMode::Auto).is_ok(), "{rule}");
    }
}

#[test]
fn the_rule_for_one_path_is_none_of_the_mistakes() {
    let names = [
        "a, b",
        "a,b;c|d",
        "$HOME/x",
        "x .y",
        "a ",
        " a",
        "x /y",
        "it's (1).txt",
        "a)b(c",
        "\"q\"",
        "a:12",
        "a#L1",
        "^a$",
        "`x`",
        "%a%",
        "path:x",
        "[a,b]",
        "{a, b}",
        "a & b",
        "\u{201c}q\u{201d}",
        "a** b",
        "a\n.b",
        "a\tb",
    ];
    for path in names {
        for rule in [
            format!("Read({})", beamai_path_rules::literal_pattern(path)),
            format!("Read({})", beamai_path_rules::literal_patterns(path, "/other, place")),
        ] {
            let policy = try_policy(&[&rule], &[], &[], PolicyMode::Auto);
            let policy = policy.unwrap_or_else(|error| panic!("{rule}: {}", error.message));
            let RulePattern::Path(pattern) = policy.allow[0].pattern.as_ref().unwrap() else {
                panic!("{rule}")
            };
            assert!(pattern.matches(std::path::Path::new(path), &policy.roots), "{rule}");
            assert!(!pattern.matches(std::path::Path::new("a"), &policy.roots), "{rule}");
        }
    }
}

#[test]
fn a_hosts_own_tool_may_have_any_other_name() {
    for name in ["own_tool", "reads", "Calendar", "db.query"] {
        assert!(try_policy(&[name], &[], &[], PolicyMode::Auto).is_ok(), "{name}");
    }
}

#[test]
fn a_rule_that_denies_is_about_words_that_a_command_can_have() {
    for (rule, says) in [
        ("Bash(\"rm *\")", "write them without"),
        ("Bash(^rm$)", "regular expressions"),
        ("Bash(rm .*$)", "regular expressions"),
        ("Bash(rm x$)", "regular expressions"),
        ("Bash(\\brm\\b)", "regular expressions"),
        ("Bash(git {push,pull})", "in one rule for each"),
        ("Bash(dd if=:*)", "write *if=*"),
        ("Bash(cat secrets/:*)", "write *secrets/*"),
        ("Bash(rails db::*)", "write *db:*"),
        ("Bash(git push:)", "write git push:*"),
        ("Bash(*)", "write Bash"),
        ("Bash(rm -rf.*)", "regular expressions"),
        ("Bash(rm .+)", "regular expressions"),
        ("Bash(/rm -rf.*/)", "regular expressions"),
        ("Bash(/git push/)", "regular expressions"),
        ("Bash(git push, git pull)", "one rule for each"),
        ("Bash(git push,git pull)", "one rule for each"),
        ("Bash(docker run:--privileged)", "a blank for the colon"),
        ("Bash(git push:origin)", "a blank for the colon"),
        ("Bash(git push:main*)", "a blank for the colon"),
        ("Bash(.*rm.*)", "regular expressions"),
    ] {
        for (deny, ask) in [(&[rule][..], &[][..]), (&[], &[rule])] {
            let error = try_policy(&[], ask, deny, PolicyMode::Auto).unwrap_err();
            assert!(error.message.contains(says), "{rule}: {}", error.message);
        }
    }
    for rule in [
        "Bash(rm -rf /:*)",
        "Bash('a b/c')",
        "Bash(git stash drop 'stash@{0}':*)",
        "Bash(/bin/ls /tmp/)",
        "Bash(cat notes.*)",
        "Bash(java -XX:-UseX *)",
    ] {
        assert!(try_policy(&[], &[], &[rule], PolicyMode::Auto).is_ok(), "{rule}");
    }
}

#[test]
fn an_allow_rule_that_can_cover_nothing_says_what_to_write() {
    let rule = |text: &str| try_policy(&[text], &[], &[], PolicyMode::Auto);
    for (text, says) in [
        ("Bash(timeout 60 make:*)", "write Bash(make:*)"),
        ("Bash(timeout -k 5 60 make test *)", "write Bash(make test:*)"),
        ("Bash(env FOO=1 python3:*)", "write Bash(python3:*)"),
        ("Bash(xargs wc:*)", "write Bash(wc:*)"),
        ("Bash(nohup ./s.sh:*)", "write Bash(./s.sh:*)"),
        ("Bash(timeout * make *)", "write Bash(make:*)"),
        ("Bash(sudo ls:*)", "add Bash(ls:*)"),
        ("Bash(find . -exec ls *)", "add Bash(ls:*)"),
        ("Bash(.*)", "regular expressions"),
        ("Bash(bash -c:*)", "a rule for each program"),
        ("Bash(sh -c *)", "a rule for each program"),
        ("Bash(bash -x:*)", "exactly one command"),
        ("Bash(source:*)", "exactly one command"),
    ] {
        let error = rule(text).unwrap_err();
        assert!(error.message.contains(says), "{text}: {}", error.message);
    }
    for text in [
        "Bash(timeout 60 make)",
        "Bash(bash -x s.sh)",
        "Bash(bash s.sh:*)",
        "Bash(bash:*)",
        "Bash(env:*)",
        "Bash(env *)",
        "Bash(xargs:*)",
        "Bash(timeout:*)",
        "Bash(time:*)",
        "Bash(nice:*)",
        "Bash(command:*)",
        "Bash(command -v:*)",
        "Bash(exec:*)",
        "Bash(*)",
        "Bash(* --version)",
        "Bash(git *)",
        "Bash(cd:*)",
        "Bash([ -f:*)",
        "Bash(ls 'a b':*)",
    ] {
        assert!(rule(text).is_ok(), "{text}");
    }
    for text in ["Bash(sudo ls:*)", "Bash(find . -exec ls:*)", "Bash(find . -exec *)", "Bash(sudo *)"] {
        assert!(try_policy(&[text, "Bash(ls:*)"], &[], &[], PolicyMode::Auto).is_ok(), "{text}");
    }
}
