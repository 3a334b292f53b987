//! Any change comes out as it was meant, and every byte outside it stays, whatever the encoding.

use super::*;
use beamai_testenv::ENCODINGS;
use beamai_text::{Charset, ContentKind, sniff};
use proptest::prelude::*;
use similar::{Algorithm, ChangeTag};
use std::fmt::Write;

#[derive(Debug, Clone)]
struct Case {
    label: &'static str,
    /// What the file begins with and the change leaves alone.
    lead: &'static str,
    old: String,
    new: String,
}

/// Lines, most of them known ones, with ends of the given kinds.
fn lines(letters: &'static str, ends: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let letter = proptest::sample::select(letters.chars().collect::<Vec<_>>());
    let word = proptest::collection::vec(letter, 0..3).prop_map(String::from_iter);
    let line = (word, proptest::sample::select(ends)).prop_map(|(word, end)| word + end);
    proptest::collection::vec(line, 0..30)
}

fn case(ends: &'static [&'static str]) -> impl Strategy<Value = Case> {
    proptest::sample::select(&ENCODINGS[..]).prop_flat_map(move |(label, lead, letters)| {
        let edit = (0usize..30, 0usize..4, lines(letters, ends));
        (lines(letters, ends), proptest::collection::vec(edit, 1..4), any::<(bool, bool)>()).prop_map(
            move |(old, edits, (old_ends, new_ends))| {
                let mut new = old.clone();
                for (at, gone, lines) in edits {
                    let at = at.min(new.len());
                    new.splice(at..(at + gone).min(new.len()), lines.into_iter().take(3));
                }
                let text = |lines: Vec<String>, ends: bool| match (lines.concat(), ends) {
                    (text, true) => text,
                    (text, false) => text.trim_end_matches(['\r', '\n']).to_owned(),
                };
                Case { label, lead, old: text(old, old_ends), new: text(new, new_ends) }
            },
        )
    })
}

impl Case {
    fn bytes(&self, text: &str) -> Vec<u8> {
        let text = format!("{}{text}", self.lead);
        Charset::labelled(self.label, b"").unwrap().encode(&text).unwrap().into_owned()
    }

    /// The text as a diff shows it: the mark of a file is not part of it.
    fn shown(&self, text: &str) -> String {
        format!("{}{text}", self.lead.trim_start_matches('\u{FEFF}'))
    }

    /// Whether there is a change, of a file whose encoding will be told right.
    fn is_plain(&self) -> bool {
        let charset = match sniff(&self.bytes(&self.old), true) {
            ContentKind::Text(charset) => charset.name(),
            _ => return false,
        };
        self.old != self.new && charset == self.label
    }
}

/// A unified diff of a file `f`; `header` writes the header of a hunk.
fn unified(old: &str, new: &str, header: impl Fn(usize, usize, usize, usize) -> String) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let ops = similar::capture_diff_slices(Algorithm::Myers, &old, &new);
    let mut text = String::from("--- a/f\n+++ b/f\n");
    for hunk in similar::group_diff_ops(ops, 3) {
        let (first, last) = (hunk.first().unwrap(), hunk.last().unwrap());
        let side =
            |from: std::ops::Range<usize>, to: std::ops::Range<usize>| (from.start, to.end - from.start);
        let ((at, len), (new_at, new_len)) =
            (side(first.old_range(), last.old_range()), side(first.new_range(), last.new_range()));
        text += &header(
            if len == 0 { at } else { at + 1 },
            len,
            if new_len == 0 { new_at } else { new_at + 1 },
            new_len,
        );
        for change in hunk.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let end = if change.value().ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            _ = write!(text, "{sign}{}{end}", change.value());
        }
    }
    text
}

fn stated(old: usize, old_len: usize, new: usize, new_len: usize) -> String {
    format!("@@ -{old},{old_len} +{new},{new_len} @@\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_diff_makes_the_new_file_of_the_old_one(case in case(&["\n", "\n", "\r\n", "\r\r\n", "\rx\n"])) {
        prop_assume!(case.is_plain());
        let fixture = Fixture::new();
        fixture.put("f", case.bytes(&case.old));
        let patch = unified(&case.shown(&case.old), &case.shown(&case.new), stated);
        let value = fixture.call(json!({"patch": patch})).map_err(|error| TestCaseError::fail(format!("{error}\n{patch}")))?;
        prop_assert_eq!(fixture.bytes("f"), case.bytes(&case.new), "{}", patch);
        let hunks = value["files"][0]["hunks"].as_array().unwrap();
        prop_assert!(hunks.iter().all(|hunk| hunk["offset"] == 0));
    }

    #[test]
    fn without_line_numbers_it_is_the_right_place_or_none(case in case(&["\n", "\r\n"])) {
        prop_assume!(case.is_plain());
        let fixture = Fixture::new();
        fixture.put("f", case.bytes(&case.old));
        let patch = unified(&case.shown(&case.old), &case.shown(&case.new), |_, _, _, _| "@@ @@\n".to_owned());
        match fixture.call(json!({"patch": patch})) {
            Ok(_) => prop_assert_eq!(fixture.bytes("f"), case.bytes(&case.new), "{}", patch),
            Err(error) => {
                prop_assert_eq!(error.reason, Reason::Ambiguous, "{}", patch);
                prop_assert_eq!(fixture.bytes("f"), case.bytes(&case.old));
            }
        }
    }

    #[test]
    fn a_patch_with_lf_changes_a_file_with_cr_lf(case in case(&["\n"])) {
        prop_assume!(case.is_plain() && case.shown(&case.old).contains('\n'));
        let fixture = Fixture::new();
        let windows = |text: &str| String::from_utf16(&text.encode_utf16().collect::<Vec<_>>()).unwrap().replace('\n', "\r\n");
        let file = |text: &str| {
            let text = windows(&format!("{}{text}", case.lead));
            Charset::labelled(case.label, b"").unwrap().encode(&text).unwrap().into_owned()
        };
        fixture.put("f", file(&case.old));
        let patch = unified(&case.shown(&case.old), &case.shown(&case.new), stated);
        let value = fixture.call(json!({"patch": patch})).map_err(|error| TestCaseError::fail(format!("{error}\n{patch}")))?;
        prop_assert_eq!(fixture.bytes("f"), file(&case.new), "{}", patch);
        prop_assert_eq!(&value["files"][0]["line_endings_adapted"], &json!(true));
    }

    #[test]
    fn stray_bytes_outside_the_change_stay(
        before in proptest::collection::vec(0x20u8..=0xFF, 0..40),
        after in proptest::collection::vec(0x20u8..=0xFF, 0..40),
        new in "[a-zé]{0,5}",
    ) {
        // Enough that is UTF-8 beyond doubt, so that the rest counts as strays.
        let lead = "ä".repeat(100);
        let around = |middle: &str| [lead.as_bytes(), &before, b"\n", middle.as_bytes(), b"\n", &after].concat();
        let fixture = Fixture::new();
        fixture.put("f", around("«line»"));
        fixture.call(json!({"patch": format!("--- a/f\n+++ b/f\n@@ -2 +2 @@\n-«line»\n+{new}\n")})).unwrap();
        prop_assert_eq!(fixture.bytes("f"), around(&new));
    }

    #[test]
    fn any_text_is_a_patch_or_an_error(text in "(--- a/f\n|\\+\\+\\+ b/f\n|@@ -1 \\+1 @@\n|@@\n|-x\n|\\+y\n| z\n|\n|\\\\ No\n|diff --git a/f b/f\n|rename from f\n|new file mode 100644\n|/dev/null|[a-z@+-]{0,3}){0,12}") {
        let fixture = Fixture::with([("f", "x\nz\n")]);
        let before = fixture.tree();
        if fixture.call(json!({"patch": text})).is_err() {
            prop_assert_eq!(fixture.tree(), before);
        }
    }
}
