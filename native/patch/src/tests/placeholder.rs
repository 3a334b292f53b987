//! Text that stands for text.

use super::*;

fn numbered(count: usize) -> String {
    (1..=count).map(|at| format!("line number {at}\n")).collect()
}

#[test]
fn a_hunk_that_puts_a_placeholder_for_lines_is_refused() {
    let fixture = Fixture::with([("f", &numbered(20))]);
    let gone: String = (2..9).map(|at| format!("-line number {at}\n")).collect();
    let patch = format!(
        "--- a/f\n+++ b/f\n@@ -1,8 +1,2 @@\n line number 1\n{gone}+# ... rest of the lines unchanged ...\n"
    );
    let error = fixture.refused(&patch);
    assert_eq!(error.reason, Reason::Placeholder);
    let problem = &error.details["files"][0]["hunks"][0]["problem"];
    assert_eq!(problem["placeholder"], "# ... rest of the lines unchanged ...");
}

#[test]
fn a_placeholder_that_takes_nothing_away_or_was_there_is_a_line_like_others() {
    let note = "# ... rest of the lines unchanged ...";
    let fixture = Fixture::with([("f", &numbered(5))]);
    fixture.apply(&format!("--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n line number 1\n+{note}\n"));
    fixture.apply(&format!(
        "--- a/f\n+++ b/f\n@@ -2,3 +2 @@\n-{note}\n-line number 2\n-line number 3\n+{note}\n"
    ));
    fixture.apply(&format!("--- /dev/null\n+++ b/g\n@@ -0,0 +1 @@\n+{note}\n"));
    assert_eq!(fixture.get("f"), format!("line number 1\n{note}\nline number 4\nline number 5\n"));
}
