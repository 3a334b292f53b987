//! The tools that open files, and how each is called.

use super::fixture::{Fixture, HARMLESS, Kind, SECRET};
use serde_json::{Value, json};
use std::fs;

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) kinds: &'static [Kind],
    /// Whether it leaves out what it may not show, rather than refusing the call.
    pub(crate) is_search: bool,
    pub(crate) args: fn(Kind, usize) -> Value,
    /// What no answer may contain.
    pub(crate) secret: &'static str,
    /// Makes ready for the next call.
    pub(crate) tidy: fn(&Fixture, Kind),
}

const READS: Tool = Tool {
    name: "",
    kinds: &Kind::ALL,
    is_search: false,
    args: |_, _| Value::Null,
    secret: SECRET,
    tidy: |_, _| {},
};
const LISTS: Tool = Tool { kinds: &Kind::OF_DIRECTORIES, is_search: true, ..READS };

pub(crate) fn file_read() -> Tool {
    Tool { name: "file_read", args: |kind, _| json!({"path": kind.file()}), ..READS }
}

pub(crate) fn file_grep() -> Tool {
    // One of the files, or all of the directory.
    let args = |kind: Kind, turn| match kind {
        Kind::Directory | Kind::Directories if turn % 2 == 1 => {
            json!({"pattern": "[a-z]+", "path": kind.directory()})
        }
        _ => json!({"pattern": "[a-z]+", "path": kind.file()}),
    };
    Tool { name: "file_grep", is_search: true, args, ..READS }
}

pub(crate) fn file_glob() -> Tool {
    Tool { name: "file_glob", args: |kind, _| json!({"pattern": "**", "path": kind.directory()}), ..LISTS }
}

pub(crate) fn file_list() -> Tool {
    Tool { name: "file_list", args: |kind, _| json!({"depth": 3, "path": kind.directory()}), ..LISTS }
}

pub(crate) fn file_write() -> Tool {
    let args =
        |kind: Kind, turn| json!({"path": kind.file(), "content": format!("one\n{HARMLESS} {turn}\n")});
    Tool { name: "file_write", args, ..READS }
}

pub(crate) fn file_write_new() -> Tool {
    let args = |kind: Kind, _| json!({"path": format!("{}/new/deep", kind.directory()), "content": "x"});
    Tool { name: "file_write", kinds: &Kind::OF_DIRECTORIES, args, tidy: without_new, ..READS }
}

pub(crate) fn file_append() -> Tool {
    let args = |kind: Kind, _| json!({"path": kind.file(), "content": "x", "mode": "append"});
    // A file that only grew would make each call slower than the one before.
    let tidy = |fixture: &Fixture, kind: Kind| {
        for place in kind.places() {
            _ = reset(fixture, place);
        }
    };
    Tool { name: "file_write", args, tidy, ..READS }
}

fn reset(fixture: &Fixture, place: &str) -> std::io::Result<()> {
    let path = fixture.path(place).join("f");
    let is_long = fs::symlink_metadata(&path)?.len() > 4096;
    // The link that may be here by now leads to what is kept.
    let is_kept = path.canonicalize()?.starts_with(fixture.path("kept"));
    if is_long && !is_kept {
        let options = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NOFOLLOW;
        let holder = fs::File::open(path.parent().unwrap().canonicalize()?)?;
        if holder.metadata()?.is_dir() && !path.canonicalize()?.starts_with(fixture.path("kept")) {
            let file = rustix::fs::openat(&holder, "f", options, rustix::fs::Mode::empty())?;
            let file = fs::File::from(file);
            if file.metadata()?.len() > 4096 {
                file.set_len(4)?;
            }
        }
    }
    Ok(())
}

pub(crate) fn file_edit() -> Tool {
    let args = |kind: Kind, turn: usize| {
        let (old, new) = if turn.is_multiple_of(2) { ("one", "two") } else { ("two", "one") };
        json!({"path": kind.file(), "old_string": old, "new_string": new})
    };
    Tool { name: "file_edit", args, ..READS }
}

pub(crate) fn file_patch() -> Tool {
    let args = |kind: Kind, turn: usize| {
        let (old, new) = if turn.is_multiple_of(2) { ("one", "two") } else { ("two", "one") };
        let file = kind.file();
        json!({"patch": format!("--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{old}\n+{new}\n")})
    };
    Tool { name: "file_patch", args, ..READS }
}

pub(crate) fn file_patch_new() -> Tool {
    let args = |kind: Kind, _| {
        let file = format!("{}/new/deep", kind.directory());
        json!({"patch": format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1 @@\n+x\n")})
    };
    Tool { name: "file_patch", kinds: &Kind::OF_DIRECTORIES, args, tidy: without_new, ..READS }
}

pub(crate) fn file_patch_delete() -> Tool {
    let args = |kind: Kind, _| {
        let file = format!("{}/both", kind.directory());
        json!({"patch": format!("--- a/{file}\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n")})
    };
    // A file of the same name and content where it may go.
    let tidy = |fixture: &Fixture, kind: Kind| {
        for place in kind.places() {
            let path = fixture.path(place);
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
                let path = path.join("both");
                if !path.exists() {
                    _ = fs::write(path, "one\n");
                }
            }
        }
    };
    Tool { name: "file_patch", kinds: &Kind::OF_DIRECTORIES, args, tidy, ..READS }
}

/// Removes what a call has made where it may.
fn without_new(fixture: &Fixture, kind: Kind) {
    for place in kind.places() {
        _ = fs::remove_dir_all(fixture.path(place).join("new"));
    }
}
