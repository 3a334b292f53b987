//! Patches between `*** Begin Patch` and `*** End Patch`.

use super::*;

fn wrapped(inner: &str) -> String {
    format!("*** Begin Patch\n{inner}*** End Patch\n")
}

#[test]
fn files_are_added_updated_moved_and_deleted_at_once() {
    let fixture = Fixture::with([
        ("src/app.py", "def greet():\n    print(\"Hi\")\n\ndef part():\n    pass\n"),
        ("old.txt", "1\n2\n"),
        ("gone.txt", "a\nb\n"),
    ]);
    let patch = wrapped(
        "*** Add File: docs/new.txt\n+Hello\n+world\n*** Update File: src/app.py\n@@ def greet():\n-    print(\"Hi\")\n\
         +    print(\"Hello\")\n\n*** Update File: old.txt\n*** Move to: kept/new.txt\n@@\n 1\n-2\n+two\n\
         *** End of File\n*** Delete File: gone.txt\n",
    );
    let value = fixture.apply(&patch);
    assert_eq!(fixture.get("docs/new.txt"), "Hello\nworld\n");
    assert_eq!(fixture.get("src/app.py"), "def greet():\n    print(\"Hello\")\n\ndef part():\n    pass\n");
    assert_eq!(fixture.get("kept/new.txt"), "1\ntwo\n");
    assert!(!fixture.path("gone.txt").exists() && !fixture.path("old.txt").exists());
    let operations: Vec<_> =
        value["files"].as_array().unwrap().iter().map(|file| &file["operation"]).collect();
    assert_eq!(operations, ["created", "updated", "renamed", "deleted"]);
    assert!(value["files"][1]["hunks"][0].get("note").is_none(), "{value}");
    let permissions = json!([
        "Write(docs/new.txt)",
        "Edit(src/app.py)",
        "Edit(old.txt)",
        "Write(kept/new.txt)",
        "Edit(gone.txt)"
    ]);
    assert_eq!(value["permissions"], permissions);
}

#[test]
fn several_hunks_of_a_file_are_placed_by_their_lines() {
    let fixture = Fixture::with([("f", "a\nb\nc\nd\ne\n")]);
    fixture.apply(&wrapped("*** Update File: f\n@@\n-a\n+A\n@@\n d\n-e\n+E\n"));
    assert_eq!(fixture.get("f"), "A\nb\nc\nd\nE\n");
    // The first hunk may go without its header.
    fixture.apply(&wrapped("*** Update File: f\n A\n-b\n+B\n"));
    assert_eq!(fixture.get("f"), "A\nB\nc\nd\nE\n");
}

#[test]
fn each_part_starts_from_the_result_of_those_before_it() {
    let fixture = Fixture::with([("dst", "old\n"), ("src", "moved\n")]);
    fixture.apply(&wrapped("*** Delete File: dst\n*** Add File: dst\n+new\n*** Delete File: dst\n"));
    assert!(!fixture.path("dst").exists());
    fixture.apply(&wrapped("*** Add File: dst\n+old\n"));
    fixture.apply(&wrapped(
        "*** Update File: dst\n*** Move to: kept\n*** Update File: src\n*** Move to: dst\n*** Update File: dst\n*** Move to: last\n",
    ));
    assert_eq!((fixture.get("kept").as_str(), fixture.get("last").as_str()), ("old\n", "moved\n"));
    assert!(!fixture.path("dst").exists() && !fixture.path("src").exists());
}

#[test]
fn lines_in_several_places_are_refused_however_the_header_names_them() {
    let fixture = Fixture::with([("f", "def a\n  x\ndef b\n  x\n")]);
    let error = fixture.refused(&wrapped("*** Update File: f\n@@ def b\n-  x\n+  y\n"));
    assert_eq!(error.reason, Reason::Ambiguous);
    fixture.apply(&wrapped("*** Update File: f\n@@\n def b\n-  x\n+  y\n"));
    assert_eq!(fixture.get("f"), "def a\n  x\ndef b\n  y\n");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let fixture = Fixture::with([("f", "x\n")]);
    for (patch, line, why) in [
        ("*** Begin Patch\n*** Update File: f\n@@\n-x\n+y\n", 5, "expected \"*** End Patch\""),
        ("*** Begin Patch\n*** End Patch\n", 2, "no file in it"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch\n", 2, "nothing follows"),
        ("*** Begin Patch\n*** Change File: f\n*** End Patch\n", 2, "expected \"*** Update File: path\""),
        ("*** Begin Patch\n*** Add File: n\nx\n*** End Patch\n", 3, "begin with \"+\""),
        ("*** Begin Patch\n*** Add File: n\n+x\ny\n*** End Patch\n", 4, "begin with \"+\""),
        ("*** Begin Patch\n*** Update File: f\n@@\n x\n*** End Patch\n", 3, "changes nothing"),
        (
            "*** Begin Patch\n*** Update File: f\n@@\nx\n*** End Patch\n",
            4,
            "expected a line that begins with",
        ),
        ("*** Begin Patch\n*** Update File: \n@@\n-x\n*** End Patch\n", 2, "no file name"),
    ] {
        let error = fixture.refused(patch);
        assert_eq!(
            (error.reason, &error.details["line"]),
            (Reason::InvalidArgument, &json!(line)),
            "{patch}: {error}"
        );
        assert!(error.message.contains(why), "{patch}: {error}");
    }
    let error = fixture.refused(&wrapped("*** Update File: f\n@@\n-y\n+z\n"));
    assert_eq!(error.reason, Reason::NoMatch);
}

#[test]
fn hints_are_in_the_form_of_the_patch() {
    let fixture = Fixture::with([("f", "x\ny\nx\n")]);
    let refused = |inner: &str| {
        let message = fixture.refused(&wrapped(inner)).message;
        message.strip_prefix("the patch does not apply; nothing was changed\n- ").unwrap().to_owned()
    };
    assert_eq!(
        refused("*** Update File: f\n@@\n-x\n+y\n"),
        "f: its lines are in 2 places of the file, at lines 1, 3; give more lines of context"
    );
    assert_eq!(
        refused("*** Update File: f\n@@\n+y\n"),
        "f: it has no line that is in the file already; give lines of the file before and after as context"
    );
    assert_eq!(
        refused("*** Add File: f\n+y\n"),
        "f exists already; change it with \"*** Update File: f\", or choose another path"
    );
}
