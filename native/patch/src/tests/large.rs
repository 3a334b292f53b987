//! Files that are worked on in pieces.

use super::*;

#[test]
fn a_file_that_is_not_held_in_memory_is_patched() {
    for (label, lead) in [
        ("utf-8", ""),
        ("utf-16le", "\u{FEFF}"),
        ("gbk", "中华人民共和国的首都是北京，这是一个中文文件，内容是文字。\n"),
    ] {
        let charset = beamai_text::Charset::labelled(label, b"").unwrap();
        let text: String = (0..20_000).map(|at| format!("第一行中文文字 {at}\r\n")).collect();
        let encoded = |text: &str| charset.encode(text).unwrap().into_owned();
        let fixture = Fixture::new();
        fixture.put("f", encoded(&format!("{lead}{text}")));
        let hunk = |at: usize| {
            format!(
                "@@ -{at},3 +{at},3 @@\n 第一行中文文字 {}\n-第一行中文文字 {}\n+第二行\n 第一行中文文字 {}\n",
                at - 1,
                at,
                at + 1
            )
        };
        let patch = format!("--- a/f\n+++ b/f\n{}{}", hunk(77), hunk(19_000));
        let value = fixture.call(json!({"patch": patch})).unwrap();
        let hunks = &value["files"][0]["hunks"];
        let offset = if label == "gbk" { 1 } else { 0 };
        assert_eq!((&hunks[0]["offset"], &hunks[1]["offset"]), (&json!(offset), &json!(offset)));
        let after = text
            .replace("第一行中文文字 77\r\n", "第二行\r\n")
            .replace("第一行中文文字 19000\r\n", "第二行\r\n");
        assert!(fixture.bytes("f") == encoded(&format!("{lead}{after}")), "{label}");
    }
}

#[test]
fn a_line_longer_than_any_block_is_no_obstacle() {
    let long = "x".repeat(3 << 20);
    let fixture = Fixture::with([("f", &format!("a\n{long}\nb\n{long}y"))]);
    fixture.call(json!({"patch": "--- a/f\n+++ b/f\n@@ -3 +3,2 @@\n-b\n+B\n+c\n"})).unwrap();
    assert!(fixture.get("f") == format!("a\n{long}\nB\nc\n{long}y"));
    let patch = format!("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-{long}\n+short\n");
    fixture.call(json!({"patch": patch})).unwrap();
    assert!(fixture.get("f") == format!("a\nshort\nB\nc\n{long}y"));
}

#[test]
fn a_place_among_very_many_is_told_by_its_line_alone() {
    let fixture = Fixture::with([("f", &"x\n".repeat(100_000))]);
    fixture.call(json!({"patch": "--- a/f\n+++ b/f\n@@ -70000 +70000 @@\n-x\n+y\n"})).unwrap();
    assert_eq!(fixture.get("f").find('y'), Some(139_998));
    let error =
        fixture.call(json!({"patch": "--- a/f\n+++ b/f\n@@ -200000 +200000 @@\n-x\n+z\n"})).unwrap_err();
    assert_eq!(error.reason, Reason::Ambiguous);
    assert!(error.message.contains("in 99999 places"), "{error}");
}

#[test]
fn many_hunks_and_files_are_applied_at_once() {
    let text: String = (0..20_000).map(|at| format!("line {at}\n")).collect();
    let fixture = Fixture::with([("f", &text)]);
    let hunks: String = (1..2000)
        .map(|at| format!("@@ -{0} +{0} @@\n-line {1}\n+LINE {1}\n", at * 10 + 1, at * 10))
        .collect();
    let files: String =
        (0..150).map(|at| format!("--- /dev/null\n+++ b/many/{at}\n@@ -0,0 +1 @@\n+{at}\n")).collect();
    let value = fixture.call(json!({"patch": format!("--- a/f\n+++ b/f\n{hunks}{files}")})).unwrap();
    assert_eq!(value["files"][0]["additions"], 1999);
    assert_eq!(fixture.get("f").matches("LINE").count(), 1999);
    assert_eq!(fixture.get("many/149"), "149\n");
}

#[test]
fn a_patch_that_is_too_large_is_refused_before_anything_is_looked_at() {
    let fixture = Fixture::with([("f", "x\n")]);
    let line = "+a line of some length, of which there are many\n";
    let lines = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n".to_owned() + &line.repeat((100 << 20) / line.len());
    let hunks = "--- a/f\n+++ b/f\n".to_owned() + &"@@\n-x\n+y\n".repeat(60_000);
    let files = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+y\n".repeat(30_000);
    for (patch, why) in [(lines, "bytes"), (hunks, "50000 hunks"), (files, "files")] {
        let error = fixture.call(json!({"patch": patch})).unwrap_err();
        assert_eq!(error.reason, Reason::TooLarge);
        assert!(error.message.contains(why) && error.message.contains("split it"), "{error}");
    }
    assert_eq!(fixture.names(), ["f"]);
}

#[test]
fn very_many_hunks_that_fit_in_very_many_places_end_soon() {
    let fixture = Fixture::with([("f", &"x\n".repeat(500))]);
    let started = std::time::Instant::now();
    let hunks = "@@\n-x\n+y\n".repeat(20_000);
    let error = fixture.call(json!({"patch": format!("--- a/f\n+++ b/f\n{hunks}")})).unwrap_err();
    assert_eq!(error.reason, Reason::Ambiguous);
    let insertions = "@@ -3,0 +4 @@\n+y\n".repeat(20_000);
    fixture.call(json!({"patch": format!("--- a/f\n+++ b/f\n{insertions}")})).unwrap();
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}
