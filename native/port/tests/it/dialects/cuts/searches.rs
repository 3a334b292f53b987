//! Cut answers of searches.

use super::*;

#[test]
fn of_many_files_every_page_follows_the_one_before_and_the_others_are_counted() {
    for (dialect, tool, pattern) in FINDERS {
        let (env, files) = tree(dialect);
        let mut args = json!({"pattern": pattern});
        if dialect == "ide" {
            args["directory"] = json!(".");
        }
        for limit in [1_000, 30_000] {
            let (pages, notes) = pages(&env, tool, args.clone(), limit);
            assert_eq!(pages.join("\n").lines().collect::<Vec<_>>(), files, "{dialect}");
            let shown = pages[0].lines().count();
            assert!(notes.starts_with(&format!("[{shown} of 1300 files; the rest: ")), "{notes}");
            assert!(notes.ends_with(&format!("; continue with \"offset\":{shown}]")), "{notes}");
            let sum: usize = rest(&notes).values().sum();
            assert_eq!(sum, 1_300 - shown, "{dialect}: {notes}");
            let next = env.text(tool, &with(&args, json!({"offset": shown})), limit);
            assert!(!next.contains("the rest"), "{dialect}: {next}");
            assert!(notes.contains("tests/: 200") && notes.contains("src/: "), "{dialect}: {notes}");
        }
        args["offset"] = json!(1_300);
        assert_eq!(env.text(tool, &args, 30_000), "[nothing follows the first 1300: there are 1300 files]");
    }
}

#[test]
fn of_many_matches_the_first_are_shown_and_the_others_counted_truly() {
    for (dialect, tool, pattern) in SEARCHERS {
        let env = Env::new(dialect);
        let mut all = BTreeMap::new();
        for number in 0..30 {
            let file = format!("d{}/f{number:02}.txt", number % 3);
            env.file(&file, "needle\nno\n".repeat(10 + number));
            all.insert(file, 10 + number);
        }
        let total: usize = all.values().sum();
        let (pages, notes) = pages(&env, tool, json!({pattern: "needle"}), 30_000);
        let shown = by_file(&pages[..1]);
        // The schema's default, where there is one.
        let most = if dialect == "coder" { 200 } else { 100 };
        assert_eq!(shown.values().sum::<usize>(), most, "{dialect}: {notes}");
        // The results of the other two have no number of files.
        let files = if ["beamai", "microai"].contains(&dialect) { " in 30 files" } else { "" };
        let head = format!("[{most} of {total} matches{files}; the rest: ");
        assert!(notes.starts_with(&head), "{dialect}: {notes}");
        assert_eq!(notes.lines().count(), 1, "{dialect}: {notes}");
        let more = rest(&notes);
        assert_eq!(more.values().sum::<usize>(), total - most, "{dialect}: {notes}");
        for (file, count) in more.iter().filter(|(file, _)| file.ends_with(".txt")) {
            assert_eq!(*count, all[file] - shown.get(file).unwrap_or(&0), "{dialect}: {file}: {notes}");
        }
        assert_eq!(by_file(&pages), all, "{dialect}");
    }
}

/// Number of matching lines by file, of pages of a search.
fn by_file(pages: &[String]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    let mut file = String::new();
    for line in pages.iter().flat_map(|page| page.lines()).filter(|line| !line.is_empty()) {
        match line.split_once(':').filter(|(number, _)| number.parse::<u64>().is_ok()) {
            Some(_) => *counts.entry(file.clone()).or_insert(0) += 1,
            None => file = line.to_owned(),
        }
    }
    counts
}

#[test]
fn matches_that_do_not_fit_with_their_context_are_still_shown() {
    let env = Env::files("beamai", &[("a.txt", &format!("{}\n", "x".repeat(390)).repeat(120))]);
    let args = json!({"pattern": "x", "context": 50});
    let (pages, _) = pages(&env, "file_grep", args, LIMIT);
    assert_eq!(by_file(&pages)["a.txt"], 120);
}

#[test]
fn of_many_files_with_matches_some_are_shown_and_the_others_counted_by_directory() {
    for (dialect, tool, pattern) in &SEARCHERS[..3] {
        let (env, files) = tree(dialect);
        for mode in ["files_with_matches", "count"] {
            let args = json!({*pattern: "needle", "output_mode": mode});
            let (pages, notes) = pages(&env, tool, args, 30_000);
            let most = if *dialect == "beamai" { 100 } else { 200 };
            assert_eq!(pages[0].lines().count(), most, "{dialect}");
            assert!(notes.starts_with(&format!("[{most} of 1300 files; the rest: ")), "{dialect}: {notes}");
            assert!(notes.ends_with(&format!("; continue with \"offset\":{most}]")), "{dialect}: {notes}");
            assert_eq!(rest(&notes).values().sum::<usize>(), 1_300 - most, "{dialect}: {notes}");
            let found: Vec<String> =
                pages.join("\n").lines().map(|line| line.split(':').next().unwrap().to_owned()).collect();
            assert_eq!(found, files, "{dialect}");
            let beyond = json!({*pattern: "needle", "output_mode": mode, "offset": 1_400});
            let said = "[nothing follows the first 1400: there are 1300 files]";
            assert_eq!(env.text(tool, &beyond, 30_000), said, "{dialect}");
        }
    }
}

#[test]
fn the_number_of_results_that_a_call_asks_for_is_the_number_it_gets() {
    let env = Env::files("ide", &[("a.txt", &"needle\n".repeat(700))]);
    let count = |options: Value| {
        let args = json!({"query": "needle", "options": options});
        let object = env.call("search_code", args.clone())["matches"].as_array().unwrap().len();
        let text = env.text("search_code", &args, 30_000);
        (object, text.matches(":needle").count())
    };
    assert_eq!(count(json!({})), (100, 100));
    assert_eq!(count(json!({"max_results": 300})), (300, 300));
    assert_eq!(count(json!({"max_results": 20})), (20, 20));
    let args = json!({"query": "needle", "options": {"max_results": 500_000}});
    let text = env.text("search_code", &args, 30_000);
    assert!(text.ends_with("[max_results is 100000, the maximum, not 500000]"), "{text}");
    // The options that the call has stay in the one that continues.
    let args = json!({"query": "NEEDLE", "options": {"glob": "*.txt"}});
    let text = env.text("search_code", &args, 30_000);
    assert!(text.contains(r#"continue with "options":{"glob":"*.txt","offset":100}]"#), "{text}");
}

#[test]
fn a_match_in_a_long_line_is_shown_with_its_place_and_the_call_that_reads_on() {
    let line = format!("{}é needle {}", "a;".repeat(40_000), "b;".repeat(20_000));
    for ((dialect, tool, pattern), (_, read, path)) in SEARCHERS.into_iter().zip(READERS) {
        let env = Env::files(dialect, &[("a.min.js", &format!("first\n{line}\nneedle\n"))]);
        let shown = env.text(tool, &json!({pattern: "needle"}), 30_000);
        let mark = format!("of {}]", line.chars().count());
        assert!(shown.contains("é needle b;") && shown.contains(&mark), "{dialect}: {shown}");
        let (_, next) =
            shown.split_once("more of the first cut line: ").unwrap_or_else(|| panic!("{dialect}: {shown}"));
        let (tool, args) = next.trim_end_matches(']').split_once(' ').unwrap();
        let args: Value = serde_json::from_str(args).unwrap();
        assert_eq!((tool, &args[path], &args["offset"]), (read, &json!("a.min.js"), &json!(2)), "{dialect}");
        let column = args["column"].as_u64().unwrap() as usize;
        let part: String = line.chars().skip(column - 1).take(30).collect();
        let text = env.text(tool, &args, 30_000);
        assert!(text.trim_start_matches("     2\t").starts_with(&part), "{dialect}: {}", &text[..80]);
        assert!(
            shown.contains(&format!("characters {} to {} {mark}", column - 400, column - 1)),
            "{dialect}: {shown}"
        );
    }
}
