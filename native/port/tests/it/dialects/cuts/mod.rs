//! Cut answers: each one names the call that continues. The tests make these calls and compare what they read with the
//! whole.

mod searches;

use super::env::Env;
use super::server;
use beamai_engine::CallOutcome;
use beamai_engine::catalogue::{self, ToolOrigin};
use beamai_tool::for_model::of_error;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A limit that leaves room for a part of what the tests make only.
const LIMIT: usize = 4_000;

/// The texts of a call and of all calls that continue it, without their notes, and the notes of the first one.
fn pages(env: &Env, tool: &str, mut args: Value, limit: usize) -> (Vec<String>, String) {
    let (mut pages, mut notes) = (Vec::new(), None);
    loop {
        let text = env.text(tool, &args, limit);
        let (body, said) = split(&text);
        pages.push(body);
        notes.get_or_insert_with(|| said.clone());
        let next = said.split_once("continue with ").or_else(|| said.split_once("more of it with "));
        let Some((_, next)) = next else { break };
        let next = next.lines().next().unwrap().trim_end_matches(']');
        let next: Value =
            serde_json::from_str(&format!("{{{next}}}")).unwrap_or_else(|error| panic!("{next}: {error}"));
        let changed = next.as_object().unwrap().iter().any(|(name, value)| args[name] != *value);
        assert!(changed, "{tool} {args} goes on with itself: {said}");
        args.as_object_mut().unwrap().extend(next.as_object().unwrap().clone());
        assert!(pages.len() < 2_000, "{tool} {args}");
    }
    (pages, notes.unwrap())
}

/// The text without the notes at its end, and these.
fn split(text: &str) -> (String, String) {
    let lines: Vec<&str> = text.lines().collect();
    let count = lines.iter().rev().take_while(|line| line.starts_with('[') && line.ends_with(']')).count();
    let (body, notes) = lines.split_at(lines.len() - count);
    (body.join("\n"), notes.join("\n"))
}

/// The parts of a line on several pages, without line numbers and marks of what is cut.
fn line_of(pages: &[String]) -> String {
    let part = |page: &String| {
        let line = page.lines().next().unwrap_or_default();
        let line = line.strip_prefix("     1\t").unwrap_or(line);
        line.split("… [cut").next().unwrap_or_default().to_owned()
    };
    pages.iter().map(part).collect()
}

const READERS: [(&str, &str, &str); 4] = [
    ("beamai", "file_read", "path"),
    ("microai", "Read", "file_path"),
    ("coder", "read", "path"),
    ("ide", "read_file", "path"),
];

#[test]
fn a_file_of_one_line_is_read_to_its_end_in_every_dialect() {
    for ((dialect, tool, path), (limit, numbers)) in
        READERS.into_iter().flat_map(|reader| [(1_000, 1_000), (30_000, 15_000)].map(|size| (reader, size)))
    {
        let line: String = (0..numbers).map(|number| format!("{number}é,")).collect();
        let length = line.chars().count();
        for (text, more) in
            [(line.clone(), ""), (format!("{line}\n"), ""), (format!("{line}\n//# map\n"), "//# map")]
        {
            let env = Env::files(dialect, &[("a.min.js", &text)]);
            let (pages, notes) = pages(&env, tool, json!({path: env.absolute("a.min.js")}), limit);
            assert!(
                line_of(&pages) == line,
                "{dialect} {limit}: {} of {length}",
                line_of(&pages).chars().count()
            );
            assert!(
                pages[0].contains(&format!("[cut: the line has {length} characters]")),
                "{dialect}: {notes}"
            );
            let how = match (more.is_empty(), limit > 1_000) {
                (true, _) => "[line 1; continue with ",
                (false, true) => "[line 1; more of it with ",
                (false, false) => "[line 1 of 2; continue with ",
            };
            assert!(notes.starts_with(how), "{dialect}: {notes}");
            let times = pages.iter().map(|page| page.matches("//# map").count()).sum::<usize>();
            assert_eq!(times, usize::from(!more.is_empty()), "{dialect} {limit}");
        }
    }
}

#[test]
fn a_line_that_the_result_itself_has_only_a_part_of_is_told_with_its_whole_length() {
    let line = "é".repeat(1_500_000);
    for (dialect, tool, path) in READERS {
        let env = Env::files(dialect, &[("a.txt", &line)]);
        let text = env.text(tool, &json!({path: env.absolute("a.txt")}), 30_000);
        assert!(
            text.contains("[cut: the line has 1500000 characters]"),
            "{dialect}: {}",
            &text[text.len() - 200..]
        );
        let far = json!({path: env.absolute("a.txt"), "offset": 1, "column": 1_499_991});
        assert_eq!(env.text(tool, &far, 30_000).matches('é').count(), 10, "{dialect}");
    }
}

#[test]
fn cut_lines_among_others_are_named_with_the_first_one_to_go_on_in() {
    let text = format!("a\n{}\nb\n{}\nc\n", "x".repeat(5_000), "y".repeat(6_000));
    for (dialect, tool, path) in READERS {
        let env = Env::files(dialect, &[("a.txt", &text)]);
        let shown = env.text(tool, &json!({path: env.absolute("a.txt")}), 30_000);
        assert!(shown.contains("x… [cut: the line has 5000 characters]\n"), "{dialect}: {shown}");
        assert!(shown.contains("y… [cut: the line has 6000 characters]\n"), "{dialect}: {shown}");
        let notes = "[line 2; more of it with \"offset\":2,\"column\":2001,\"limit\":1]\n[also cut: lines 4]";
        assert!(shown.ends_with(notes), "{dialect}: {shown}");
        let (pages, _) = pages(&env, tool, json!({path: env.absolute("a.txt")}), 30_000);
        // The lines after it are on the first page, and what reads on in it ends with it.
        assert_eq!(pages[1].trim_start_matches("     2\t"), "x".repeat(3_000), "{dialect}");
        assert_eq!(pages.len(), 2, "{dialect}");
    }
}

fn tree(dialect: &'static str) -> (Env, Vec<String>) {
    let env = Env::new(dialect);
    let place = |number: usize| match number {
        0..700 => format!("src/deep/{}/f{number:04}.rs", number % 7),
        700..1_100 => format!("src/f{number:04}.rs"),
        _ => format!("tests/f{number:04}.rs"),
    };
    let mut files: Vec<String> = (0..1_300).map(place).collect();
    files.iter().for_each(|path| env.file(path, "let needle = 1;\nno\nlet needle = 2;\n"));
    files.sort();
    (env, files)
}

const FINDERS: [(&str, &str, &str); 4] = [
    ("beamai", "file_glob", "**/*.rs"),
    ("microai", "Glob", "**/*.rs"),
    ("coder", "glob", "**/*.rs"),
    ("ide", "list_files", "**/*.rs"),
];

/// The arguments with others added.
fn with(args: &Value, more: Value) -> Value {
    let mut args = args.clone();
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    args
}

/// The numbers of what a note says is not shown, by what they are of.
fn rest(notes: &str) -> BTreeMap<String, usize> {
    let (_, rest) = notes.split_once("; the rest: ").unwrap_or_else(|| panic!("{notes}"));
    let parts = rest.split("; continue with").next().unwrap().split(", ");
    parts
        .map(|part| part.rsplit_once(": ").unwrap())
        .map(|(name, count)| (name.to_owned(), count.parse().unwrap()))
        .collect()
}

#[test]
fn a_directory_with_many_entries_is_listed_page_by_page() {
    for (dialect, tool) in [("beamai", "file_list"), ("coder", "list")] {
        let env = Env::new(dialect);
        let names: Vec<String> = (0..1_500).map(|number| format!("f{number:04}")).collect();
        names.iter().for_each(|name| env.file(&format!("d/{name}"), ""));
        let (pages, notes) = pages(&env, tool, json!({"path": "d"}), LIMIT);
        assert_eq!(pages.join("\n").lines().collect::<Vec<_>>(), names, "{dialect}");
        let shown = pages[0].lines().count();
        assert_eq!(
            notes,
            format!("[{shown} of 1500 entries; continue with \"offset\":{shown}]"),
            "{dialect}"
        );
    }
}

#[test]
fn a_tree_is_listed_page_by_page_with_every_entry_once() {
    let (env, files) = tree("beamai");
    let (pages, _) = pages(&env, "file_list", json!({"depth": 4, "limit": 500}), LIMIT);
    let text = pages.join("\n");
    for file in files {
        let name = file.rsplit('/').next().unwrap();
        assert_eq!(text.matches(name).count(), 1, "{file}");
    }
}

#[test]
fn the_notes_of_a_short_tree_count_truly_and_lead_to_every_entry() {
    let env = Env::new("beamai");
    let mut files: Vec<String> =
        (0..400).map(|number| format!("a/{:02}/deep/f{number:04}", number % 40)).collect();
    files.extend((400..1_600).map(|number| format!("b-{}/f{number:04}", number % 3)));
    files.extend((1_600..1_650).map(|number| format!("z/f{number:04}")));
    files.iter().for_each(|path| env.file(path, ""));
    let (mut calls, mut seen, mut made) = (vec![json!({"depth": 4})], BTreeSet::new(), 0);
    while let Some(args) = calls.pop() {
        let text = env.text("file_list", &args, 30_000);
        let mut above: Vec<&str> = Vec::new();
        for line in text.lines() {
            let Some((said, next)) = line.trim().trim_end_matches(']').split_once("\"path\":") else {
                above.push(line);
                continue;
            };
            let next = with(&args, serde_json::from_str(&format!("{{\"path\":{next}}}")).unwrap());
            let whole =
                env.call("file_list", with(&next, json!({"limit": 100_000})))["count"].as_u64().unwrap();
            // What is shown of the directory stands above the note, further in than its name.
            let level = line.len() - line.trim_start().len();
            let is_below = |above: &&&str| above.len() - above.trim_start().len() >= level;
            let shown = above.iter().rev().take_while(is_below).count() as u64;
            let words: Vec<&str> = said.trim_start_matches('[').split(' ').collect();
            match words.as_slice() {
                ["at", "least", count, ..] => {
                    assert!(count.parse::<u64>().unwrap() + shown <= whole, "{text}")
                }
                [count, ..] => assert_eq!(count.parse::<u64>().unwrap() + shown, whole, "{args}: {text}"),
                [] => panic!("{line}"),
            }
            calls.push(next);
        }
        if let Some((_, next)) = split(&text).1.split_once("continue with ") {
            let next = serde_json::from_str(&format!("{{{}}}", next.trim_end_matches(']'))).unwrap();
            calls.push(with(&args, next));
        }
        seen.extend(text.lines().map(|line| line.trim().rsplit('/').next().unwrap().to_owned()));
        made += 1;
        assert!(made < 100, "{args}");
    }
    for file in files {
        assert!(seen.contains(file.rsplit('/').next().unwrap()), "{file}");
    }
}

const SEARCHERS: [(&str, &str, &str); 4] = [
    ("beamai", "file_grep", "pattern"),
    ("microai", "Grep", "pattern"),
    ("coder", "grep", "pattern"),
    ("ide", "search_code", "query"),
];

#[test]
fn a_long_diff_a_long_history_and_a_long_status_are_read_to_their_ends() {
    for dialect in ["beamai", "coder"] {
        let env = Env::new(dialect);
        env.git(&["init", "-q"]);
        for number in 0..40 {
            env.file(&format!("f{number:02}"), "old\n".repeat(20));
        }
        env.git(&["add", "."]);
        for number in 0..60 {
            env.git(&[
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                &format!("Commit {number:02}\n\nBody {number:02}"),
            ]);
        }
        for number in 0..40 {
            env.file(
                &format!("f{number:02}"),
                (0..20).map(|line| format!("new {line}\n")).collect::<String>(),
            );
            env.file(&format!("untracked{number:02}"), "");
        }
        for (tool, args) in
            [("git_diff", json!({})), ("git_status", json!({})), ("git_log", json!({"limit": 7}))]
        {
            let whole = env.text(tool, &args, 1 << 20);
            let (pages, notes) = pages(&env, tool, args.clone(), 1_500);
            let text = pages.join("\n");
            assert!(pages.len() > 1, "{dialect} {tool}: {notes}");
            match tool {
                "git_log" => {
                    let subjects: Vec<&str> =
                        text.lines().filter_map(|line| Some(line.split_once(": Commit ")?.1)).collect();
                    let expected: Vec<String> = (0..60).rev().map(|number| format!("{number:02}")).collect();
                    assert_eq!(subjects, expected, "{dialect}");
                }
                _ => {
                    assert_eq!(text.replace('\n', ""), split(&whole).0.replace('\n', ""), "{dialect} {tool}")
                }
            }
        }
        let notes = pages(&env, "git_diff", json!({}), 1_500).1;
        assert!(notes.contains("[\"path\" shows one alone; not shown: f"), "{dialect}: {notes}");
        let (oneline, _) = pages(&env, "git_log", json!({"limit": 7, "oneline": true}), 1_500);
        assert_eq!(oneline.join("\n").lines().count(), 60, "{dialect}");
    }
}

#[test]
fn a_long_line_of_a_diff_has_the_length_of_the_files_line_and_can_be_read_on() {
    for dialect in ["beamai", "coder"] {
        let env = Env::files(dialect, &[("d/a.txt", "one\ntwo\n")]);
        env.git(&["init", "-q"]);
        env.git(&["add", "."]);
        env.file("d/a.txt", format!("one\nnew\n{}z\ntwo\n", "é".repeat(3_000)));
        let shown = env.text("git_diff", &json!({}), 30_000);
        assert!(shown.contains("é… [cut: the line has 3001 characters]\n two"), "{dialect}: {shown}");
        let (_, next) = shown.split_once("more of the first cut line: ").unwrap_or_else(|| panic!("{shown}"));
        let (read, args) = next.trim_end_matches(']').split_once(' ').unwrap();
        let rest = env.text(read, &serde_json::from_str(args).unwrap(), 30_000);
        assert_eq!(rest, format!("{}z", "é".repeat(1_000)), "{dialect}");
        env.git(&["add", "."]);
        let staged = env.text("git_diff", &json!({"staged": true}), 30_000);
        assert!(staged.ends_with("[cut: the line has 3001 characters]\n+two"), "{dialect}: {staged}");
    }
}

#[test]
fn a_long_page_of_the_web_is_read_to_its_end() {
    let text = server::numbers();
    for (dialect, tool) in [("beamai", "web_fetch"), ("coder", "fetch"), ("microai", "WebFetch")] {
        let env = Env::new(dialect);
        let mut args = json!({"url": server::url("/numbers")});
        if dialect == "microai" {
            args["prompt"] = json!("the number 12345");
            let shown = env.text(tool, &args, 30_000);
            assert!(!shown.contains("leave the prompt out"), "{shown}");
            args["offset"] = json!(0);
        }
        let (pages, notes) = pages(&env, tool, args, 30_000);
        let joined: String = pages.concat();
        let plain = |text: &str| text.replace(' ', "");
        assert!(plain(&joined) == plain(&text), "{dialect}: {}", joined.chars().count());
        let length = text.chars().count();
        assert!(notes.contains(&format!(" of {length}; continue with \"offset\":")), "{dialect}: {notes}");
        assert!(!notes.contains("KiB"), "{dialect}: {notes}");
    }
}

#[test]
fn of_a_commands_long_output_lengths_are_true_and_all_of_it_can_be_read() {
    for (dialect, tool) in [("beamai", "shell_exec"), ("microai", "Bash"), ("coder", "bash")] {
        let env = Env::new(dialect);
        let shown = env.text(
            tool,
            &json!({"command": "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end"}),
            30_000,
        );
        assert_eq!(shown.matches("[cut: the line has 1000000 characters]").count(), 2, "{dialect}: {shown}");
        assert!(!shown.contains("32768") && shown.contains("\nend\n"), "{dialect}");
        let shown = env.text(tool, &json!({"command": "seq 1 8000"}), 30_000);
        let (_, next) = shown.split_once("all output: ").unwrap_or_else(|| panic!("{dialect}: {shown}"));
        let (read, args) = next.trim_end_matches(']').split_once(' ').unwrap();
        let mut args: Value = serde_json::from_str(args).unwrap();
        (args["offset"], args["limit"]) = (json!(4_000), json!(1));
        assert!(env.text(read, &args, 30_000).contains("4000"), "{dialect}");
        let short = env.text(tool, &json!({"command": "seq 1 2000"}), 30_000);
        assert!(short.ends_with("\n2000"), "{dialect}");
    }
}

#[test]
fn a_long_line_in_a_commands_short_output_can_be_read_to_its_end() {
    for ((dialect, tool), (_, read, _)) in
        [("beamai", "shell_exec"), ("microai", "Bash"), ("coder", "bash")].into_iter().zip(READERS)
    {
        let env = Env::new(dialect);
        let shown = env.text(tool, &json!({"command": "echo one; seq -s , 1 1000; echo end"}), 30_000);
        assert!(
            shown.contains(",527,… [cut: the line has 3892 characters]\nend\n[all output: "),
            "{dialect}: {shown}"
        );
        let (_, next) = shown.split_once("[all output: ").unwrap();
        let (name, args) = next.trim_end_matches(']').split_once(' ').unwrap();
        assert_eq!(name, read, "{dialect}");
        let (pages, _) = pages(&env, read, serde_json::from_str(args).unwrap(), 30_000);
        assert!(pages[1].ends_with(",999,1000") && pages.len() == 2, "{dialect}: {}", pages[1]);
        // Short lines leave no file.
        let shown = env.text(tool, &json!({"command": "seq -s , 1 400"}), 30_000);
        assert!(shown.ends_with(",400"), "{dialect}: {shown}");
        // A smaller limit than that of the tool cuts what no file is kept of.
        let shown = env.text(tool, &json!({"command": "seq 1 400"}), 1_000);
        assert!(shown.contains("[the rest is not kept: redirect the output"), "{dialect}: {shown}");
    }
}

#[test]
fn output_that_is_not_text_is_not_called_none() {
    let env = Env::new("coder");
    let text = |command: &str| env.text("bash", &json!({"command": command}), 30_000);
    assert_eq!(text("printf '\\0\\377'"), "[stdout is not text]");
    assert_eq!(
        text("printf 'caf\\351'"),
        "caf\u{fffd}\n[stdout has bytes that are not UTF-8; U+FFFD stands for them]"
    );
    assert_eq!(text("true"), "(no output)");
}

#[test]
fn a_command_that_was_too_slow_is_told_how_it_can_have_more_time() {
    for (dialect, tool, advice) in [
        ("beamai", "shell_exec", "give a longer \"timeout\", or \"run_in_background\":true"),
        ("microai", "Bash", "give a longer \"timeout\", or \"run_in_background\":true"),
        ("coder", "bash", "split the work into shorter commands"),
    ] {
        let env = Env::new(dialect);
        let (mut args, mut more) = (json!({"command": "echo so far; sleep 1000 & sleep 1000"}), json!({}));
        match dialect {
            // Its tool has no timeout, so the host's has to do.
            "coder" => more["timeout"] = json!(500),
            _ => args["timeout"] = json!(500),
        }
        let CallOutcome::Error(error) = env.outcome(tool, &args, more) else { panic!("{dialect}") };
        let text = of_error(&error.to_value(), 30_000);
        let (first, rest) = text.split_once('\n').unwrap();
        assert!(first.starts_with("timeout after ") && first.ends_with(advice), "{dialect}: {text}");
        assert!(first.contains(" and was killed, 3 processes in all; "), "{dialect}: {text}");
        assert_eq!(rest, "[stdout so far]\nso far", "{dialect}");
    }
}

#[test]
fn a_directory_of_git_alone_is_not_said_to_be_left_out() {
    for ((dialect, tool, pattern), (_, find, glob)) in SEARCHERS.into_iter().zip(FINDERS) {
        let env = Env::files(dialect, &[("a.rs", "x\n"), (".git/HEAD", "x\n")]);
        assert_eq!(env.text(tool, &json!({pattern: "x"}), 30_000), "a.rs\n1:x", "{dialect}");
        assert_eq!(env.text(tool, &json!({pattern: "nowhere"}), 30_000), "no matches", "{dialect}");
        let mut args = json!({"pattern": glob});
        if dialect == "ide" {
            args["directory"] = json!(".");
        }
        assert_eq!(env.text(find, &args, 30_000), "a.rs", "{dialect}");
        env.file(".env", "x\n");
        assert_eq!(
            env.text(tool, &json!({pattern: "x"}), 30_000),
            "a.rs\n1:x\n[left out: 1 hidden]",
            "{dialect}"
        );
    }
}

#[test]
fn an_object_of_the_text_protocol_names_the_call_that_continues_too() {
    let env = Env::files("ide", &[("a.txt", &"needle\n".repeat(700)), ("b.js", &"x".repeat(90_000))]);
    let object = |tool: &str, args: Value, limit: usize| {
        let result = env.call(tool, args.clone());
        let object = catalogue::object_for_model(
            ToolOrigin::Dialect("ide"),
            tool,
            args.as_object().unwrap(),
            &result,
            limit,
        );
        object.unwrap()["cut"].clone()
    };
    let said = object("search_code", json!({"query": "needle"}), 30_000);
    assert_eq!(
        said["matches"],
        r#"the first 100 of 700 elements are given; continue with "options":{"offset":100}"#
    );
    let said = object("read_file", json!({"path": "b.js"}), 5_000);
    let said = said["content"].as_str().unwrap();
    assert!(said.contains(" of 90000 of line 1 are given; continue with \"offset\":1,\"column\":"), "{said}");
}
