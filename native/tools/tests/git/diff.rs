//! `git_diff` prints what `git diff` prints.

use crate::repo::Repo;

#[test]
fn hunks_have_context_and_headings() {
    let text: String = (0..60).map(|line| format!("fn f{line}() {{\n    body {line}\n}}\n")).collect();
    let repo = Repo::with(&[("a.rs", &text)]);
    repo.write(
        "a.rs",
        text.replace("body 3\n", "changed\n").replace("body 40\n", "").replace("fn f50", "fn g50"),
    );
    repo.is_shown_alike();
}
