use super::Grep;
use beamai_base::{CancelToken, Reason};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_testenv::TestEnv;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn grep(env: &TestEnv, args: Value) -> Value {
    env.call::<Grep>(args)
}

fn fault(args: Value) -> (Reason, String) {
    let error = TestEnv::new().try_call::<Grep>(args).unwrap_err();
    (error.reason, error.message)
}

/// File, line number and text of a match.
fn line(hit: &Value) -> (&str, u64, &str) {
    let text = |key: &str| hit[key].as_str().unwrap();
    (text("file"), hit["line_number"].as_u64().unwrap(), text("content"))
}

fn lines(grepped: &Value) -> Vec<(&str, u64, &str)> {
    grepped["matches"].as_array().unwrap().iter().map(line).collect()
}

fn numbered(count: usize) -> String {
    (1..=count).map(|number| format!("line {number}\n")).collect()
}

/// Spec 004, scenario "Content Search".
#[test]
fn content_search() {
    let env = TestEnv::with(&[
        ("src/a.rs", "use std;\n\nfn first() -> Error {\n}\n"),
        ("src/b.go", "func second() Error {\n"),
        ("readme.md", "fn in prose Error\n"),
    ]);
    let grepped = grep(&env, json!({"pattern": r"fn \w+\(.*Error", "context": 1, "type": "rust"}));
    assert_eq!(
        grepped["matches"],
        json!([{"file": "src/a.rs", "line_number": 3, "content": "fn first() -> Error {", "before": [""], "after": ["}"]}])
    );
    assert_eq!(grepped["files"], json!(["src/a.rs"]));
    assert_eq!((&grepped["total_matches"], &grepped["truncated"]), (&json!(1), &json!(false)));
    let grepped = grep(&env, json!({"pattern": "func.*Error", "glob": "*.go"}));
    assert_eq!(lines(&grepped), [("src/b.go", 1, "func second() Error {")]);
}

#[test]
fn the_output_modes_agree_on_totals() {
    let env = TestEnv::with(&[("a", "x\nx x\ny\n"), ("b/c", "y\n"), ("b/d", "x\n")]);
    let content = grep(&env, json!({"pattern": "x"}));
    assert_eq!(lines(&content), [("a", 1, "x"), ("a", 2, "x x"), ("b/d", 1, "x")]);
    assert_eq!(content["files"], json!(["a", "b/d"]));
    let files = grep(&env, json!({"pattern": "x", "output_mode": "files_with_matches"}));
    assert_eq!((&files["files"], &files["matches"]), (&json!(["a", "b/d"]), &json!([])));
    let count = grep(&env, json!({"pattern": "x", "output_mode": "count"}));
    assert_eq!((&count["files"], &count["counts"]), (&json!(["a", "b/d"]), &json!({"a": 2, "b/d": 1})));
    for answer in [content, files, count] {
        assert_eq!((&answer["total_matches"], &answer["total_files"]), (&json!(3), &json!(2)));
        assert_eq!(answer["coverage"]["searched"], 3);
    }
}

#[test]
fn options_change_what_matches() {
    let env = TestEnv::with(&[("a", "a.c\nabc\nA.C\nxa.cx\n")]);
    let found = |mut args: Value| {
        args["pattern"] = "a.c".into();
        lines(&grep(&env, args)).into_iter().map(|(_, number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!(found(json!({})), [1, 2, 4]);
    assert_eq!(found(json!({"literal": true})), [1, 4]);
    assert_eq!(found(json!({"case_insensitive": true})), [1, 2, 3, 4]);
    assert_eq!(found(json!({"word": true})), [1, 2]);
    assert_eq!(found(json!({"word": true, "literal": true, "case_insensitive": true})), [1, 3]);
}

#[test]
fn every_match_has_its_own_context() {
    let env = TestEnv::with(&[("a", "1\n2 x\n3\n4 x\n5 x\n6\n7\n8 x\n")]);
    let grepped = grep(&env, json!({"pattern": "x", "before": 2, "after": 1}));
    let context: Vec<_> =
        grepped["matches"].as_array().unwrap().iter().map(|hit| (&hit["before"], &hit["after"])).collect();
    assert_eq!(
        context,
        [
            (&json!(["1"]), &json!(["3"])),
            (&json!(["2 x", "3"]), &json!(["5 x"])),
            (&json!(["3", "4 x"]), &json!(["6"])),
            (&json!(["6", "7"]), &json!([])),
        ]
    );
    let grepped = grep(&env, json!({"pattern": "^1", "context": 3, "after": 0}));
    assert_eq!(grepped["matches"][0]["after"], json!([]));
}

#[test]
fn a_match_may_go_over_several_lines() {
    let env = TestEnv::with(&[("a", "one {\n  two\n}\nrest\none {\n}\nlast one {")]);
    let grepped = grep(&env, json!({"pattern": r"\{.*?\}", "multiline": true, "context": 1}));
    assert_eq!(
        grepped["matches"],
        json!([
            {"file": "a", "line_number": 1, "content": "one {\n  two\n}", "before": [], "after": ["rest"]},
            {"file": "a", "line_number": 5, "content": "one {\n}", "before": ["rest"], "after": ["last one {"]},
        ])
    );
    assert_eq!(grepped["total_matches"], 2);
    // Two matches on a line are one line; two multiline matches that share a line are one.
    assert_eq!(grep(&env, json!({"pattern": "e", "multiline": true}))["total_matches"], 4);
    assert_eq!(lines(&grep(&env, json!({"pattern": r"one|\}\nrest", "multiline": true}))).len(), 4);
    assert_eq!(lines(&grep(&env, json!({"pattern": r"o\n\}\nr", "multiline": true})))[0].1, 2);
    assert_eq!(grep(&env, json!({"pattern": "^", "multiline": true}))["total_matches"], 7);
    env.file("a", "");
    assert_eq!(grep(&env, json!({"pattern": "x*", "multiline": true}))["total_matches"], 0);
}

#[test]
fn line_ends_of_either_kind_are_line_ends() {
    let env = TestEnv::with(&[("dos", "foo\r\nbar\r\n"), ("unix", "foo\nbar\n")]);
    assert_eq!(lines(&grep(&env, json!({"pattern": "o$"}))), [("dos", 1, "foo"), ("unix", 1, "foo")]);
    assert_eq!(grep(&env, json!({"pattern": r"\r$"}))["files"], json!(["dos"]));
    assert_eq!(grep(&env, json!({"pattern": r"foo\r\nbar", "multiline": true}))["files"], json!(["dos"]));
}

#[test]
fn text_is_found_in_whatever_encoding_begins_with_a_mark() {
    let env = TestEnv::new();
    let utf16: Vec<u8> = "\u{feff}grün\nzweite\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    env.file("utf16", &utf16);
    env.file("utf8", "\u{feff}grün\n");
    for multiline in [false, true] {
        let grepped = grep(&env, json!({"pattern": "^grün$", "multiline": multiline}));
        assert_eq!(lines(&grepped), [("utf16", 1, "grün"), ("utf8", 1, "grün")]);
    }
}

#[test]
fn text_that_is_not_utf8_is_shown_as_it_is_read() {
    let env = TestEnv::new();
    let text = "déjà vu\ncafé noir\nl'été\n";
    env.file("latin1", text.chars().map(|char| char as u8).collect::<Vec<u8>>());
    env.file("sjis", encoding_rs::SHIFT_JIS.encode("テスト noir\nこれはテストです\n").0);
    for multiline in [false, true] {
        let grepped = grep(&env, json!({"pattern": "noir", "context": 1, "multiline": multiline}));
        assert_eq!(lines(&grepped), [("latin1", 2, "café noir"), ("sjis", 1, "テスト noir")]);
        let matches = &grepped["matches"];
        assert_eq!((&matches[0]["before"], &matches[0]["after"]), (&json!(["déjà vu"]), &json!(["l'été"])));
        let read = env.call::<beamai_files::FileRead>(json!({"path": "latin1"}));
        assert_eq!(matches[0]["encoding"], read["encoding"]);
        assert_eq!(matches[1]["encoding"], "shift_jis");
        assert!(!grepped["coverage"]["note"].as_str().unwrap().contains("UTF-8"), "{grepped}");
    }
}

#[test]
fn text_beyond_ascii_is_found_in_every_encoding_that_is_read() {
    let env = TestEnv::new();
    let text = "déjà vu\ncafé noir\nl'été\n";
    env.file("latin1", text.chars().map(|char| char as u8).collect::<Vec<u8>>());
    env.file("sjis", encoding_rs::SHIFT_JIS.encode("テスト noir\nこれはテストです\n").0);
    env.file("utf16", text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>());
    env.file("utf8", text);
    // More than is read at once: the rest is decoded while it is searched.
    let far = format!("{text}{}l'été fini\n", "une ligne de plus\n".repeat(200_000));
    env.file("large", far.chars().map(|char| char as u8).collect::<Vec<u8>>());
    for multiline in [false, true] {
        let found = |pattern: &str| {
            let grepped = grep(&env, json!({"pattern": pattern, "multiline": multiline, "context": 1}));
            lines(&grepped)
                .into_iter()
                .map(|(file, line, text)| format!("{file}:{line}:{text}"))
                .collect::<Vec<_>>()
        };
        let all = ["large:2:café noir", "latin1:2:café noir", "utf16:2:café noir", "utf8:2:café noir"];
        assert_eq!(found("café"), all);
        assert_eq!(found(r"caf\x{e9}"), all);
        assert_eq!(found("été fini"), ["large:200004:l'été fini"]);
        assert_eq!(found("これは"), ["sjis:2:これはテストです"]);
        // Every second byte is NUL, so it is decoded for any pattern.
        assert_eq!(found("vu$").iter().filter(|hit| **hit == "utf16:1:déjà vu").count(), 1);
    }
    let hit = grep(&env, json!({"pattern": "café", "glob": "latin1"}))["matches"][0].clone();
    let read = env.call::<beamai_files::FileRead>(json!({"path": "latin1"}));
    assert_eq!(hit["encoding"], read["encoding"]);
}

#[test]
fn text_in_no_known_encoding_is_shown_as_well_as_it_can_be() {
    let env = TestEnv::new();
    env.file("broken", b"gr\xc3\xbcn, sch\xc3\xb6n, caf\xe9 noir\n");
    let grepped = grep(&env, json!({"pattern": "noir"}));
    assert_eq!(lines(&grepped), [("broken", 1, "grün, schön, caf\u{fffd} noir")]);
    assert!(grepped["coverage"]["note"].as_str().unwrap().contains("1 match not in UTF-8"));
}

#[test]
fn binary_files_are_left_out_and_counted() {
    let env = TestEnv::with(&[("text", "needle\n")]);
    env.file("binary", b"needle\n\0needle\n");
    for multiline in [false, true] {
        let grepped = grep(&env, json!({"pattern": "needle", "multiline": multiline}));
        assert_eq!(lines(&grepped).len(), 1);
        assert_eq!(grepped["coverage"]["skipped"], json!({"binary": 1}));
        assert_eq!(
            (&grepped["coverage"]["searched"], &grepped["coverage"]["complete"]),
            (&json!(1), &json!(true))
        );
    }
    let note = grep(&env, json!({"pattern": "needle", "path": "binary"}))["coverage"]["note"].clone();
    assert_eq!(note, "searched 0 files; left out: 1 binary (binary)");
    for name in ["c", "a", "d", "b"] {
        env.file(name, b"\0");
    }
    let coverage = grep(&env, json!({"pattern": "needle"}))["coverage"].clone();
    assert_eq!(coverage["binary_files"], json!(["a", "b", "binary"]));
    assert_eq!(coverage["note"], "searched 1 file; left out: 5 binary (a, b, binary, …)");
}

#[test]
fn a_long_line_is_cut_around_its_match_and_said_to_be() {
    let env = TestEnv::new();
    let long = "x".repeat(3 << 20);
    env.file("a", format!("{long}needle{long}\nnext\n"));
    let grepped = grep(&env, json!({"pattern": "needle", "after": 1}));
    let hit = &grepped["matches"][0];
    assert!(hit["content"].as_str().unwrap().contains("needle"));
    assert_eq!(hit["content"].as_str().unwrap().len(), 2000);
    assert_eq!((&hit["content_truncated"], &hit["after"]), (&json!(true), &json!(["next"])));
    let hit = &grep(&env, json!({"pattern": "next", "before": 1}))["matches"][0];
    assert_eq!(hit["before"][0].as_str().unwrap().len(), 2000);
    assert_eq!(hit["content_truncated"], true);
}

#[test]
fn a_page_follows_the_one_before_it() {
    let env = TestEnv::with(&[("a", "x\nx\nx\n"), ("b", "x\n"), ("c", "x\nx\n")]);
    let grepped = grep(&env, json!({"pattern": "x", "offset": 2, "limit": 3}));
    assert_eq!(lines(&grepped), [("a", 3, "x"), ("b", 1, "x"), ("c", 1, "x")]);
    assert_eq!((&grepped["total_matches"], &grepped["truncated"]), (&json!(6), &json!(true)));
    assert_eq!(grepped["coverage"]["note"], "searched 3 files; showing 3 of 6 matches, offset: 5 continues");
    let last = grep(&env, json!({"pattern": "x", "offset": 5}));
    assert_eq!((lines(&last), &last["truncated"]), (vec![("c", 2, "x")], &json!(false)));
    let beyond = grep(&env, json!({"pattern": "x", "offset": 9}));
    assert_eq!((lines(&beyond), &beyond["truncated"]), (vec![], &json!(false)));
    let files = grep(&env, json!({"pattern": "x", "output_mode": "count", "offset": 1, "limit": 1}));
    assert_eq!((&files["counts"], &files["truncated"]), (&json!({"b": 1}), &json!(true)));
}

#[test]
fn an_answer_that_would_be_too_large_ends_early_and_goes_on_where_it_ended() {
    let mut env = TestEnv::with(&[("a", &numbered(300)), ("b", &numbered(300))]);
    let all = grep(&env, json!({"pattern": "line", "limit": 1000, "context": 1}));
    env.cx.limits.content_bytes = 5000;
    let mut pages = Vec::new();
    while pages.len() < 600 {
        let args = json!({"pattern": "line", "limit": 1000, "offset": pages.len(), "context": 1});
        let page = grep(&env, args);
        let hits = page["matches"].as_array().unwrap();
        assert!(!hits.is_empty() && hits.len() < 100, "{}", hits.len());
        pages.extend(hits.clone());
        assert_eq!(page["truncated"], pages.len() < 600);
    }
    assert_eq!(all["matches"], Value::Array(pages));
}

#[test]
fn a_file_that_is_named_is_searched_whatever_its_name() {
    let env = TestEnv::with(&[(".git/HEAD", ""), (".gitignore", "*\n"), (".env", "KEY=1\n")]);
    let grepped = grep(&env, json!({"pattern": "KEY", "path": ".env", "glob": "*.rs"}));
    assert_eq!(lines(&grepped), [(".env", 1, "KEY=1")]);
    assert_eq!(grep(&env, json!({"pattern": "KEY"}))["total_matches"], 0);
    assert_eq!(grep(&env, json!({"pattern": "KEY", "hidden": true, "ignored": true}))["total_matches"], 1);
    assert_eq!(grep(&env, json!({"pattern": "KEY", "glob": ".env", "ignored": true}))["total_matches"], 1);
}

#[test]
fn links_and_special_files_are_left_out_and_hold_nothing_up() {
    let env = TestEnv::with(&[("a", "x\n")]);
    env.fifo("pipe");
    env.link("a", "link");
    env.link("/etc/passwd", "out");
    let socket = std::os::unix::net::UnixListener::bind(env.path("socket")).unwrap();
    let grepped = grep(&env, json!({"pattern": "x|root"}));
    assert_eq!(lines(&grepped), [("a", 1, "x")]);
    assert_eq!(grepped["coverage"]["skipped"], json!({"links": 2, "special": 2}));
    drop(socket);
    let reason = |path: &str| env.try_call::<Grep>(json!({"pattern": "x", "path": path})).unwrap_err().reason;
    assert_eq!(reason("pipe"), Reason::NotAFile);
    assert_eq!(reason("out"), Reason::OutsideWorkspace);
    assert_eq!(reason("gone"), Reason::NoSuchFile);
    assert_eq!(lines(&grep(&env, json!({"pattern": "x", "path": "link"}))), [("a", 1, "x")]);
}

#[test]
fn a_directory_that_turns_into_a_link_leads_nowhere() {
    let env = TestEnv::with(&[("dir/a", "inside\n"), ("dir/sub/b", "inside\n")]);
    let outside = TestEnv::with(&[("a", "secret\n"), ("sub/b", "secret\n")]);
    env.link(outside.dir.path(), "swap");
    let (dir, swap) = (env.path("dir"), env.path("swap"));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let (cwd, flags) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                rustix::fs::renameat_with(cwd, &dir, cwd, &swap, flags).unwrap();
            }
        });
        for _ in 0..1000 {
            let grepped = grep(&env, json!({"pattern": "secret"}));
            assert_eq!(grepped["total_matches"], 0);
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(grep(&env, json!({"pattern": "inside"}))["total_matches"].as_u64().unwrap() > 0);
}

#[test]
fn a_wrong_pattern_is_explained() {
    let said = |args: Value| {
        let (reason, message) = fault(args);
        assert_eq!(reason, Reason::InvalidPattern);
        message
    };
    assert_eq!(
        said(json!({"pattern": "(foo"})),
        "the pattern \"(foo\" is not valid: unclosed group at character 1; set literal to true to search for it literally"
    );
    assert!(said(json!({"pattern": "ä[z-a]"})).contains("at character 3"));
    let around = said(json!({"pattern": r"(?=x)"}));
    assert!(around.contains("look-around") && around.contains("write ab for a(?=b)"), "{around}");
    assert!(!around.contains("literal"), "{around}");
    assert!(said(json!({"pattern": r"(a)\1"})).ends_with("; write out what it repeats"));
    assert!(said(json!({"pattern": r"\pX"})).contains("Unicode property not found at character 1"));
    assert!(said(json!({"pattern": "a\nb"})).contains("set multiline to true"));
    assert_eq!(
        said(json!({"pattern": "a\nb", "literal": true})),
        "the text \"a\\nb\" cannot be searched for: it contains a line end, and each line is searched by itself: search for one \
         of its lines, or set multiline to true"
    );
    assert!(said(json!({"pattern": ""})).contains("empty"));
    assert!(said(json!({"pattern": r"\w{1000}{1000}"})).contains("too large"));
    assert!(said(json!({"pattern": "(".repeat(50_000) + &")".repeat(50_000)})).contains("nest"));
    assert!(said(json!({"pattern": "x", "glob": "[a"})).contains("unclosed character class"));
    let (reason, message) = fault(json!({"pattern": "x", "type": "rusty"}));
    assert_eq!(reason, Reason::InvalidArgument);
    assert!(message.contains("rust"), "{message}");
}

#[test]
fn a_directory_of_many_files_is_searched_the_same_every_time() {
    let env = TestEnv::new();
    (0..500).for_each(|number| env.file(format!("f{number:03}"), numbered(number % 7)));
    let first = grep(&env, json!({"pattern": "line", "limit": 100, "offset": 50}));
    assert_eq!(first["coverage"]["searched"], 500);
    for _ in 0..20 {
        assert_eq!(grep(&env, json!({"pattern": "line", "limit": 100, "offset": 50})), first);
    }
}

#[test]
fn a_file_too_large_for_one_read_is_searched_like_any_other() {
    let env = TestEnv::new();
    let mut text = numbered(300_000);
    text.push_str("the end");
    env.file("large", &text);
    let grepped = grep(&env, json!({"pattern": "^line .*99999$|end", "context": 1}));
    assert_eq!(
        lines(&grepped),
        [
            ("large", 99_999, "line 99999"),
            ("large", 199_999, "line 199999"),
            ("large", 299_999, "line 299999"),
            ("large", 300_001, "the end")
        ]
    );
    assert_eq!(grepped["matches"][2]["after"], json!(["line 300000"]));
    assert_eq!(grepped["matches"][3]["before"], json!(["line 300000"]));
    assert_eq!(grep(&env, json!({"pattern": "^$"}))["total_matches"], 0);
    let mut env = env;
    env.cx.limits.whole_file_bytes = 1 << 20;
    let grepped = grep(&env, json!({"pattern": "line", "multiline": true}));
    assert_eq!(
        (&grepped["coverage"]["skipped"], &grepped["coverage"]["complete"]),
        (&json!({"too_large": 1}), &json!(false))
    );
    assert!(
        grepped["coverage"]["note"].as_str().unwrap().contains("large is too large for a multiline search")
    );
}

#[test]
fn a_search_ends_in_the_middle_of_a_file() {
    let env = TestEnv::new();
    // No literal prefix to skip to, and a pattern that keeps ninety states alive.
    env.file("large", "abcdefghijklmnop abc def ghi\n".repeat(1 << 20));
    let cancel = CancelToken::new();
    let mut cx = env.cx.clone();
    cx.cancel = cancel.clone();
    let slow = TestEnv { dir: env.dir, cx };
    let pattern = "i[a-p ]{90}[^a-p \n]";
    let end = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        Instant::now()
    });
    let error = slow.try_call::<Grep>(json!({"pattern": pattern})).unwrap_err();
    let late = end.join().unwrap().elapsed();
    assert_eq!(error.reason, Reason::Cancelled);
    assert!(late < Duration::from_secs(20), "{late:?}");
}

#[test]
fn time_that_runs_out_is_an_error_with_what_was_found() {
    let mut env = TestEnv::with(&[("a", "x\n")]);
    env.cx.deadline = Some(Instant::now());
    let error = env.try_call::<Grep>(json!({"pattern": "x"})).unwrap_err();
    assert_eq!(error.reason, Reason::Timeout);
    assert_eq!((&error.details["total_matches"], &error.details["searched"]), (&json!(0), &json!(0)));
}

#[test]
fn a_rule_on_reading_holds_for_searching() {
    let env = TestEnv::with(&[("a", "x\n")]);
    let outcome = |permissions: Value| {
        let settings = json!({"workspace": env.cx.workspace.id(), "permissions": permissions});
        let settings: HostSettings = serde_json::from_value(settings).unwrap();
        let call: CallRequest =
            serde_json::from_value(json!({"tool": "file_grep", "args": {"pattern": "x"}})).unwrap();
        Host::new(&settings, std::sync::Arc::default()).unwrap().call(call, CallOptions::default())
    };
    assert!(matches!(outcome(json!({})), CallOutcome::Ok(..)));
    assert!(matches!(outcome(json!({"allow": ["Read"], "default": "deny"})), CallOutcome::Ok(..)));
    let CallOutcome::Error(error) = outcome(json!({"deny": ["Read"]})) else { panic!("it ran") };
    assert_eq!((error.reason, &error.details["matched_rule"]), (Reason::Denied, &json!("Read")));
    let CallOutcome::Ask(request) = outcome(json!({"ask": ["Grep"]})) else { panic!("nobody was asked") };
    assert_eq!(
        (&request["subject"], &request["message"]),
        (&json!("Grep(.)"), &json!("file_grep wants to read ."))
    );
}

/// What a search for lines finds, computed in the simplest way.
fn reference_search(files: &[String], pattern: &str) -> Vec<(String, u64, String)> {
    let pattern = regex::Regex::new(pattern).unwrap();
    let mut found = Vec::new();
    for (number, text) in files.iter().enumerate() {
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
        let lines = lines.enumerate().filter(|(_, line)| !text.is_empty() && pattern.is_match(line));
        found.extend(lines.map(|(at, line)| (format!("f{number}"), at as u64 + 1, line.to_owned())));
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn it_finds_what_trying_every_line_finds(
        files in proptest::collection::vec("([abc ]{0,6}\n){0,12}[abc]{0,3}", 1..6),
        pattern in "\\^?(a|b|\\.|[ab]|\\[ab\\]|a\\*|b\\?c|\\\\b){1,3}\\$?",
        offset in 0usize..6,
        limit in 1usize..20,
    ) {
        let env = TestEnv::new();
        files.iter().enumerate().for_each(|(number, text)| env.file(format!("f{number}"), text));
        let all = reference_search(&files, &pattern);
        let grepped = grep(&env, json!({"pattern": pattern, "offset": offset, "limit": limit}));
        let page: Vec<_> = all.iter().skip(offset).take(limit).cloned().collect();
        let found: Vec<_> = lines(&grepped).into_iter().map(|(f, n, c)| (f.to_owned(), n, c.to_owned())).collect();
        prop_assert_eq!(found, page);
        prop_assert_eq!(grepped["total_matches"].as_u64().unwrap(), all.len() as u64);
        // In multiline mode, a dot matches a line end too.
        if !pattern.contains('.') {
            let multiline = grep(&env, json!({"pattern": pattern, "multiline": true}));
            prop_assert_eq!(multiline["total_matches"].as_u64().unwrap(), all.len() as u64);
        }
    }
}
