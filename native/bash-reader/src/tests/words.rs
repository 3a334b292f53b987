//! Words, directories and the order of commands.

use super::*;

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
    assert_eq!(crate::words("cat $HOME", Some("/h")).unwrap()[1].text(), None);
}
