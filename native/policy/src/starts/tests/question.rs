//! Questions about starts: what they say, and what an approval of one covers.

use super::*;

#[test]
fn an_approval_does_not_cover_what_the_question_did_not_show() {
    let approve = |words: &[&str]| {
        let case = allowed(&["Bash(gcc:*)"], "gcc x.c");
        let coverage = case.rules.as_ref().unwrap().approve(&by("gcc", StartCoverage::Judged, words));
        (coverage, case.covers(&by("env", StartCoverage::Judged, &["perl", "-e", "x"])))
    };
    let long = format!("A={}", "x".repeat(5_000));
    assert_eq!(approve(&["env", "A=1", "perl", "-e", "x"]).1, Some(StartCoverage::Everything));
    assert_eq!(approve(&["env", &long, "perl", "-e", "x"]), (StartCoverage::Judged, None));
    assert_eq!(approve(&["sh", "-c", "$x"]).0, StartCoverage::Everything);
    assert_eq!(approve(&["sh", "-c", &format!("$x #{long}")]).0, StartCoverage::Judged);
}

#[test]
fn a_question_quotes_the_directory_and_marks_what_it_leaves_out() {
    let mut start = by("gcc", StartCoverage::Judged, &["perl"]);
    start.starter.directory = Some("/w/p: git status #".into());
    assert_eq!(shown_directory(&start), "'/w/p: git status #'");
    assert_eq!(shown_process(&start.starter), "gcc");
    start.starter.has_all_arguments = false;
    assert_eq!(shown_process(&start.starter), "gcc …");
}

#[test]
fn a_question_names_the_rule_that_would_allow_it() {
    let case = allowed(&["Bash(git:*)"], "git status");
    let wanted = |start: &ProgramStart| match case.judge(start) {
        StartVerdict::Ask { wanted, .. } => wanted.join(" "),
        other => panic!("{other:?}"),
    };
    assert_eq!(wanted(&by("git", parts_of("git"), &["npm", "run", "x"])), "Bash(npm run:*)");
    assert_eq!(wanted(&by("git", parts_of("git"), &["rm", "-rf", "x"])), "Bash(rm:*)");
    // A rule for it, and so for the builtin, would allow nothing.
    assert_eq!(wanted(&by("git", parts_of("git"), &["/usr/lib/execline/bin/export", "PATH"])), "");
    let own = ProgramStart { is_writable: true, ..by("git", parts_of("git"), &["/w/p", "2"]) };
    assert_eq!(wanted(&own), "Bash(/w/p 2:*)");
    let shell = |text: &str| wanted(&by("git", parts_of("git"), &["bash", "-c", text]));
    assert_eq!(shell("rm x; ls"), "Bash(ls:*) Bash(rm:*)");
    // No rule for a name covers what these can do.
    for powerful in ["let x=1; rm x", "printf -v 'a[0]' x", "history -w x", "source x", "declare -i x=y; ls"]
    {
        assert_eq!(shell(powerful), "", "{powerful}");
    }
}

#[test]
fn a_question_that_does_not_show_all_of_a_text_names_the_files_or_says_that_they_are_not_known() {
    let case = allowed(&["Bash(awk:*)"], "awk -f x");
    let padding = format!(": {}\n", "x".repeat(5_000));
    let shell = |text: &str| by("awk", parts_of("awk"), &["bash", "-c", &(padding.clone() + text)]);
    let why = |start: &ProgramStart| match case.judge(start) {
        StartVerdict::Ask { why, .. } => why.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&shell("rm x > a 2> b")), "it redirects into a, b");
    assert_eq!(why(&shell("rm x")), "");
    for moving in [
        "cd d; rm x > a",
        "(cd d && rm x > a)",
        "rm x > a; pushd d; rm x > a",
        "f=a; rm x > $f",
        "rm x > a$$",
    ] {
        assert_eq!(why(&shell(moving)), "it redirects into files that only the run shows", "{moving}");
    }
    for evaluating in [
        "printf -v 'a[$(echo > keep)]' x",
        "[ -v 'a[$(echo > keep)]' ]",
        "read 'a[$(echo > keep)]'",
        "let 'x[$(echo > keep)]=1'",
        "declare -i 'x=a[$(echo > keep)]'",
        "source /dev/stdin",
        "history -w keep",
        "x='a[$(echo > keep)]'; ((x))",
        "$x",
    ] {
        let why = why(&shell(&format!("{evaluating}; rm y > a")));
        assert_eq!(why, "it may redirect into any file, because it cannot be analysed", "{evaluating}");
    }
    let many: String = (0..100).map(|at| format!("rm x > {}{at}; ", "y".repeat(200))).collect();
    assert!(
        why(&shell(&many)).ends_with("y18 and 81 other files that are not shown"),
        "{}",
        why(&shell(&many))
    );
    let applet = by("awk", parts_of("awk"), &["busybox", "sh", "-c", &(padding.clone() + "rm x")]);
    assert!(why(&applet).ends_with("it may redirect into any file, and be another program"));
    let unread = ProgramStart { has_all_arguments: false, ..shell("rm x > a") };
    assert_eq!(why(&unread), "it may redirect into any file, because not all of it was read");
}

#[test]
fn an_approved_start_covers_what_a_rule_for_it_would_and_the_text_that_was_shown() {
    let case = allowed(&["Bash(awk:*)"], "awk -f x");
    let rules = case.rules.as_ref().unwrap();
    let shell = by("awk", parts_of("awk"), &["sh", "-c", "rm gone | ./own x"]);
    assert!(case.asks(&shell));
    assert_eq!(rules.approve(&shell), StartCoverage::Judged);
    assert_eq!(case.covers(&by_sh(start(&["rm", "gone"]))), Some(parts_of("rm")));
    assert_eq!(case.covers(&by_sh(case.own(&["./own", "x"]))), Some(StartCoverage::Everything));
    let other = ProgramStart { is_writable: true, ..start(&["/w/other/own", "x"]) };
    for other in [start(&["rm", "other"]), start(&["mv", "gone", "x"]), case.own(&["./own", "y"]), other] {
        assert!(case.asks(&by_sh(other.clone())), "{other:?}");
    }
    for (words, coverage) in [
        (&["git", "push"][..], parts_of("git")),
        (&["make", "x"], StartCoverage::Everything),
        (&["vendor-tool", "x"], StartCoverage::NOTHING),
        (&["timeout", "5", "vendor-tool"], StartCoverage::Judged),
        // What they run was not shown.
        (&["sh"], StartCoverage::Everything),
        (&["sh", "script"], StartCoverage::Everything),
    ] {
        assert_eq!(rules.approve(&start(words)), coverage, "{words:?}");
    }
    assert_eq!(case.covers(&by_sh(start(&["vendor-tool"]))), Some(StartCoverage::NOTHING));
}
