//! Every byte outside a change stays as it was, whatever the encoding.

use super::*;
use beamai_testenv::ENCODINGS;
use beamai_text::Charset;
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Case {
    label: &'static str,
    before: String,
    old: String,
    after: String,
    new: String,
}

fn case() -> impl Strategy<Value = Case> {
    proptest::sample::select(&ENCODINGS[..]).prop_flat_map(|(label, lead, letters)| {
        let text = |most: usize| {
            let pieces = letters.chars().map(String::from).chain(["\n", "\r\n", "\r", " "].map(String::from));
            proptest::collection::vec(proptest::sample::select(pieces.collect::<Vec<_>>()), 0..most)
                .prop_map(|pieces| pieces.concat())
        };
        (text(60), text(6), text(60), text(8)).prop_map(move |(before, old, after, new)| Case {
            label,
            before: format!("{lead}{before}"),
            old,
            after,
            new,
        })
    })
}

impl Case {
    fn bytes(&self, middle: &str) -> Vec<u8> {
        encoded(self.label, &format!("{}{middle}{}", self.before, self.after))
    }

    /// Where the old text is, if it is there once and the call means it as it is.
    fn is_plain(&self, text: &str, charset: Charset) -> bool {
        let body = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let starts = body.char_indices().filter(|(at, _)| body[*at..].starts_with(&self.old)).count();
        starts == 1 && self.old != self.new && charset.name() == self.label && !self.old.is_empty()
    }
}

/// The text with the line ends that an edit of a file of that text gives it.
fn adapted(case: &Case, text: &str) -> String {
    let feeds = text.matches('\n').count();
    let is_crlf = feeds > 0 && feeds == text.matches("\r\n").count();
    if is_crlf && !case.old.contains('\n') {
        return case.new.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    case.new.clone()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn bytes_outside_the_change_stay_identical(case in case()) {
        let bytes = case.bytes(&case.old);
        let charset = match beamai_text::sniff(&bytes, true) {
            beamai_text::ContentKind::Text(charset) => charset,
            other => panic!("{other:?}"),
        };
        let text = format!("{}{}{}", case.before, case.old, case.after);
        prop_assume!(case.is_plain(&text, charset));
        let fixture = Fixture::with(&bytes);
        fixture.edit(json!({"path": "f", "old_string": case.old, "new_string": case.new}));
        prop_assert_eq!(fixture.get("f"), case.bytes(&adapted(&case, &text)));
    }

    #[test]
    fn stray_bytes_around_a_change_stay_identical(
        before in proptest::collection::vec(0x20u8..=0xFF, 0..40),
        after in proptest::collection::vec(0x20u8..=0xFF, 0..40),
        new in "[a-zé]{0,5}",
    ) {
        // Enough that is UTF-8 beyond doubt, so that the rest counts as strays.
        let lead = "ä".repeat(100);
        let around = |middle: &str| [lead.as_bytes(), &before, middle.as_bytes(), &after].concat();
        let bytes = around("«needle»");
        let fixture = Fixture::with(&bytes);
        fixture.edit(json!({"path": "f", "old_string": "«needle»", "new_string": new}));
        prop_assert_eq!(fixture.get("f"), around(&new));
    }

    #[test]
    fn what_was_read_can_be_edited_and_comes_out_as_edited(case in case()) {
        let fixture = Fixture::with(case.bytes(&case.old));
        let read = fixture.read(json!({"path": "f", "limit": 100_000}));
        let text = read["content"].as_str().unwrap();
        prop_assume!(read["lossy"].is_null() && text.contains("a"));
        let (encoding, hash) = (read["encoding"].clone(), read["hash"].clone());
        fixture.edit(json!({"path": "f", "old_string": "a", "new_string": "bb", "replace_all": true, "expected_hash": hash}));
        let again = fixture.read(json!({"path": "f", "limit": 100_000, "encoding": encoding}));
        prop_assert_eq!(again["content"].as_str().unwrap(), text.replace('a', "bb"));
        prop_assert_eq!(&again["bom"], &read["bom"]);
    }
}
