//! Many calls at once.

use super::*;

#[test]
fn concurrent_edits_of_one_file_lose_nothing() {
    let lines: String = (0..64).map(|n| format!("line {n} old\n")).collect();
    let fixture = Fixture::with(&lines);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for n in (0..64).filter(|n| n % 8 == thread) {
                    let (old, new) = (format!("line {n} old\n"), format!("line {n} new\n"));
                    fixture.edit(json!({"path": "f", "old_string": old, "new_string": new}));
                }
            });
        }
    });
    assert_eq!(String::from_utf8(fixture.get("f")).unwrap(), lines.replace("old", "new"));
}

#[test]
fn of_concurrent_writes_that_expect_one_version_one_succeeds() {
    let fixture = Fixture::with("start");
    let done: Vec<bool> = std::thread::scope(|scope| {
        let calls = (0..8).map(|n| {
            let args = json!({"path": "f", "content": format!("{n}"), "expected_hash": hash(b"start")});
            let fixture = &fixture;
            scope.spawn(move || match fixture.call("file_write", args) {
                Ok(_) => true,
                Err(error) => {
                    assert_eq!(error.reason, Reason::Stale);
                    false
                }
            })
        });
        calls.collect::<Vec<_>>().into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|done| **done).count(), 1);
}

#[test]
fn concurrent_additions_all_arrive() {
    let fixture = Fixture::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let fixture = &fixture;
            scope.spawn(move || {
                for n in 0..20 {
                    fixture.write(
                        json!({"path": "d/f", "content": format!("{thread}.{n}\n"), "mode": "append"}),
                    );
                }
            });
        }
    });
    let text = String::from_utf8(fixture.get("d/f")).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), 160);
}

#[test]
fn a_call_that_cannot_be_cancelled_does_not_wait_for_a_lock() {
    let mut fixture = Fixture::with("old");
    fixture.cx.inline_bytes = Some(1 << 20);
    let path = fixture.cx.workspace.parse_path("f").unwrap();
    let _guard = path.try_lock().unwrap();
    let args = json!({"path": "f", "old_string": "old", "new_string": "new"});
    let tool = super::tool("file_edit");
    let ended = tool.execute(args.as_object().unwrap().clone(), &fixture.cx);
    assert!(matches!(ended, Err(Interrupt::Defer)));
}

#[test]
fn a_large_file_moves_to_a_thread_of_its_own_before_anything_happens() {
    let mut fixture = Fixture::with("x".repeat(2000));
    fixture.cx.inline_bytes = Some(1000);
    for (tool, args) in [
        ("file_read", json!({"path": "f"})),
        ("file_edit", json!({"path": "f", "old_string": "x", "new_string": "y", "replace_all": true})),
        ("file_write", json!({"path": "f", "content": "y"})),
        ("file_write", json!({"path": "new", "content": "y".repeat(2000)})),
    ] {
        let tool = super::tool(tool);
        let ended = tool.execute(args.as_object().unwrap().clone(), &fixture.cx);
        assert!(matches!(ended, Err(Interrupt::Defer)));
    }
    assert_eq!(fixture.get("f"), "x".repeat(2000).as_bytes());
    assert!(!fixture.path("new").exists());
}

#[test]
fn a_cancelled_call_changes_nothing() {
    let fixture = Fixture::with("old ".repeat(100));
    fixture.cx.cancel.cancel();
    let args = json!({"path": "f", "old_string": "old", "new_string": "new", "replace_all": true});
    assert_eq!(fixture.refused("file_edit", args).reason, Reason::Cancelled);
}
