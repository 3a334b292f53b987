//! Whatever a file is, an edit and a patch change what they are told to, and nothing else: not a byte beside it, not
//! the mode, not a link on the way.

use beamai_engine::catalogue;
use beamai_text::Charset;
use beamai_tool::{CallContext, Interrupt};
use beamai_workspace::Workspace;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use tempfile::TempDir;

/// What is exchanged, on a line of its own.
const OLD: &str = "the old line";

/// An encoding, what a text begins with so that the encoding is told right, and letters that it holds.
struct Encoding {
    label: &'static str,
    lead: &'static str,
    letters: &'static str,
}

const ENCODINGS: [Encoding; 6] = [
    Encoding { label: "utf-8", lead: "", letters: "aä漢😀\\ \t" },
    Encoding { label: "utf-8", lead: "\u{FEFF}", letters: "aä漢😀\\ \t" },
    Encoding { label: "utf-16le", lead: "\u{FEFF}", letters: "aä漢😀\u{A0A}\u{D00}\u{2028}" },
    Encoding { label: "utf-16be", lead: "\u{FEFF}", letters: "aä漢😀\u{A0A}\u{A00}\u{2028}" },
    Encoding {
        label: "windows-1252",
        lead: "un été à la plage, où les élèves français rêvent déjà de Noël, sans arrêt, près de la forêt\n",
        letters: "aéàü\\ ",
    },
    Encoding {
        label: "gbk",
        lead: "中华人民共和国的首都是北京，这是一个中文文件，内容是文字，编码不是统一码。\n",
        // The second byte of some is that of an ASCII character.
        letters: "a中文汉字啊亅乗俓\\ ",
    },
];

#[derive(Debug, Clone)]
struct Case {
    label: &'static str,
    before: String,
    new: String,
    /// What ends the line that is exchanged, and what comes after it.
    end: &'static str,
    after: String,
    mode: u32,
    is_linked: bool,
}

fn lines(letters: &'static str) -> impl Strategy<Value = String> {
    let letter = proptest::sample::select(letters.chars().collect::<Vec<_>>());
    let word = proptest::collection::vec(letter, 0..6).prop_map(String::from_iter);
    let end = proptest::sample::select(&["\n", "\n", "\r\n", "\r\n", "\r", "\r\r\n"][..]);
    let line = (word, end).prop_map(|(word, end)| word + end);
    proptest::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

fn case() -> impl Strategy<Value = Case> {
    (0..ENCODINGS.len()).prop_flat_map(|at| {
        let Encoding { label, lead, letters } = ENCODINGS[at];
        let letter = proptest::sample::select(letters.chars().collect::<Vec<_>>());
        let new = proptest::collection::vec(letter, 1..20).prop_map(String::from_iter);
        let mode = proptest::sample::select(&[0o644, 0o600, 0o640, 0o755, 0o700, 0o664][..]);
        let parts = (lines(letters), new, 0..4, lines(letters), mode, any::<bool>());
        parts.prop_map(move |(before, new, end, after, mode, is_linked)| {
            // The line that is exchanged begins after a line feed.
            let before = match before.rfind('\n') {
                Some(last) => format!("{lead}{}", &before[..=last]),
                None => lead.to_owned(),
            };
            let (end, after) = match end {
                0 => ("", String::new()),
                1 => ("\r\n", after),
                // Without a line end at the end.
                2 => ("\n", after.trim_end_matches(['\r', '\n']).to_owned()),
                _ => ("\n", after),
            };
            Case { label, before, new, end, after, mode, is_linked }
        })
    })
}

impl Case {
    fn bytes(&self, line: &str) -> Vec<u8> {
        let text = format!("{}{line}{}{}", self.before, self.end, self.after);
        Charset::labelled(self.label, b"").unwrap().encode(&text).unwrap().into_owned()
    }
}

/// A file `d/f`, and `link`, which leads to it.
struct Fixture {
    dir: TempDir,
    cx: CallContext,
}

impl Fixture {
    fn new(bytes: &[u8], mode: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("d/f");
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(&file, bytes).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        symlink("d/f", dir.path().join("link")).unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        Self { dir, cx }
    }

    fn call(&self, tool: &str, args: Value) -> Result<Value, TestCaseError> {
        let tool = catalogue::find(tool, Some("beamai")).unwrap();
        match tool.execute(args.as_object().unwrap().clone(), &self.cx) {
            Ok(value) => Ok(value),
            Err(Interrupt::Failed(error)) => Err(TestCaseError::fail(format!("{error}"))),
            Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
        }
    }

    /// That the file has these bytes and is otherwise what it was.
    fn holds(&self, bytes: &[u8], mode: u32) -> Result<(), TestCaseError> {
        let file = self.dir.path().join("d/f");
        prop_assert_eq!(std::fs::read(&file).unwrap(), bytes);
        prop_assert_eq!(file.symlink_metadata().unwrap().mode(), 0o100_000 | mode);
        let target = std::fs::read_link(self.dir.path().join("link")).unwrap();
        prop_assert_eq!(target.to_str(), Some("d/f"));
        let names = std::fs::read_dir(self.dir.path().join("d")).unwrap();
        prop_assert_eq!(names.count(), 1, "something is left beside the file");
        Ok(())
    }
}

fn path(case: &Case) -> &'static str {
    if case.is_linked { "link" } else { "d/f" }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn an_edit_changes_nothing_beside_it(case in case()) {
        let fixture = Fixture::new(&case.bytes(OLD), case.mode);
        let args = json!({"path": path(&case), "old_string": OLD, "new_string": case.new});
        let value = fixture.call("file_edit", args)?;
        prop_assert_eq!(&value["encoding"], case.label);
        fixture.holds(&case.bytes(&case.new), case.mode)?;
    }

    #[test]
    fn a_patch_changes_nothing_beside_it(case in case(), is_numbered in any::<bool>()) {
        let fixture = Fixture::new(&case.bytes(OLD), case.mode);
        let line = case.before.matches('\n').count() + 1;
        let header = if is_numbered { format!("@@ -{line} +{line} @@") } else { "@@ @@".to_owned() };
        let name = path(&case);
        let patch = format!("--- a/{name}\n+++ b/{name}\n{header}\n-{OLD}\n+{}\n", case.new);
        let value = fixture.call("file_patch", json!({"patch": patch}))?;
        prop_assert_eq!(&value["files"][0]["encoding"], case.label);
        prop_assert_eq!(&value["files"][0]["hunks"][0]["line"], line);
        fixture.holds(&case.bytes(&case.new), case.mode)?;
    }

    #[test]
    fn an_edit_and_a_patch_undo_each_other(case in case()) {
        let fixture = Fixture::new(&case.bytes(OLD), case.mode);
        let new = format!("{}-", case.new);
        fixture.call("file_edit", json!({"path": path(&case), "old_string": OLD, "new_string": new}))?;
        let line = case.before.matches('\n').count() + 1;
        let name = path(&case);
        let patch = format!("--- a/{name}\n+++ b/{name}\n@@ -{line} +{line} @@\n-{new}\n+{OLD}\n");
        fixture.call("file_patch", json!({"patch": patch}))?;
        fixture.holds(&case.bytes(OLD), case.mode)?;
    }

    #[test]
    fn what_is_refused_changes_nothing(case in case()) {
        let bytes = case.bytes(OLD);
        let fixture = Fixture::new(&bytes, case.mode);
        let name = path(&case);
        let edit = json!({"path": name, "old_string": "a line that is not there", "new_string": case.new});
        let edited = fixture.call("file_edit", edit);
        prop_assert!(edited.is_err());
        let good = format!("--- a/{name}\n+++ b/{name}\n@@ @@\n-{OLD}\n+{}\n", case.new);
        let bad = "--- a/d/f\n+++ b/d/f\n@@ @@\n-a line that is not there\n+x\n";
        let patched = fixture.call("file_patch", json!({"patch": good.clone() + bad}));
        prop_assert!(patched.is_err());
        fixture.call("file_patch", json!({"patch": good, "dry_run": true}))?;
        fixture.holds(&bytes, case.mode)?;
    }
}
