//! Text that stands for text.

use super::*;

const LAZY: &str = "fn a() {}\n\n// ... rest of the code unchanged ...\n";

fn code() -> String {
    (0..30).map(|at| format!("fn f{at}() {{ work({at}); }}\n")).collect()
}

#[test]
fn a_write_that_would_shrink_the_file_to_a_placeholder_is_refused() {
    for old in [code().into_bytes(), encoded("utf-16le", &format!("\u{FEFF}{}", code()))] {
        let fixture = Fixture::with(old);
        let error = fixture.refused("file_write", json!({"path": "f", "content": LAZY}));
        assert_eq!((error.reason, &error.details["line"]), (Reason::Placeholder, &json!(3)));
        assert!(error.message.contains("rest of the code unchanged"), "{error}");
    }
}

#[test]
fn a_write_of_such_a_line_is_done_where_nothing_is_lost_by_it() {
    // A new file, an empty one, one that grows.
    Fixture::new().write(json!({"path": "f", "content": LAZY}));
    Fixture::with("").write(json!({"path": "f", "content": LAZY}));
    Fixture::with("x\n").write(json!({"path": "f", "content": LAZY}));
    let fixture = Fixture::with(code());
    fixture.write(json!({"path": "f", "content": code() + LAZY}));
    // It is there now, so a shorter text may have it, once.
    fixture.write(json!({"path": "f", "content": LAZY}));
    assert_eq!(fixture.get("f"), LAZY.as_bytes());
    let fixture = Fixture::with(code() + LAZY);
    fixture.refused("file_write", json!({"path": "f", "content": format!("{LAZY}{LAZY}")}));
    let fixture = Fixture::with(code());
    fixture.write(json!({"path": "f", "content": LAZY, "mode": "append"}));
    // What was no text has none that could be meant.
    Fixture::with(b"\x7FELF\0\0\0".repeat(100)).write(json!({"path": "f", "content": LAZY}));
}

#[test]
fn a_large_file_is_looked_through_for_the_line() {
    let fixture = Fixture::with(code().repeat(200));
    fixture.refused("file_write", json!({"path": "f", "content": LAZY}));
    let fixture = Fixture::with(code().repeat(200) + LAZY);
    fixture.write(json!({"path": "f", "content": LAZY}));
}

#[test]
fn an_edit_that_puts_a_placeholder_for_code_is_refused() {
    let fixture = Fixture::with(code());
    let old: String = code().lines().skip(3).take(5).map(|line| format!("{line}\n")).collect();
    for new in ["// ... existing code ...\n", "    # ... (rest of the function remains the same)\n"] {
        assert_eq!(fixture.refused_edit(&old, new).0, Reason::Placeholder, "{new}");
    }
    let new = format!("{old}// ... existing code ...\n");
    fixture.edit(json!({"path": "f", "old_string": old, "new_string": new}));
    fixture.edit(json!({"path": "f", "old_string": new, "new_string": "// ... existing code ...\n"}));
}

#[test]
fn prose_about_the_rest_of_something_is_no_placeholder() {
    let fixture = Fixture::with(code());
    let content = "# The rest of the file\n\nThe rest of the document remains the same.\nfn f(x) { ... }\n";
    fixture.write(json!({"path": "f", "content": content}));
    assert_eq!(fixture.get("f"), content.as_bytes());
}

#[test]
fn fewer_lines_are_a_loss_even_where_the_note_is_longer_than_they_were() {
    let fixture = Fixture::with("a\nb\nc\nd\n");
    let note = "# ... rest of the file unchanged ...\n";
    fixture.refused("file_write", json!({"path": "f", "content": format!("a\n{note}")}));
    assert_eq!(fixture.refused_edit("b\nc\n", note).0, Reason::Placeholder);
    fixture.edit(json!({"path": "f", "old_string": "b\n", "new_string": note}));
    fixture.write(json!({"path": "f", "content": format!("A\n{note}C\nD\n{note}")}));
}
