//! The files with the state of a rebase, an am, a cherry-pick or a bisection: what git writes there, and nothing else.

use super::directory::{FileStamp, OpenDirectory};
use super::files::KnownFiles;
use super::references::is_beneath_refs;
use super::repository::Cleaner;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories with the state of a sequence.
pub(super) const STATES: [&str; 3] = ["rebase-merge", "sequencer", "rebase-apply"];

/// What a file holds.
#[derive(Clone, Copy)]
enum Content {
    /// Git shows it, or compares it with words.
    Text,
    /// Looked at in `sequence.rs`.
    Sequence,
    /// A number, which git's prompt script evaluates.
    Number,
    /// Names of objects.
    Ids,
    /// The branch that is written at the end.
    Branch,
    /// References that are deleted at the end.
    Labels,
    /// References that are written at the end, each with two objects.
    Updates,
    /// Variables that scripts of older versions evaluate.
    Author,
    /// An option with a key.
    Signature,
    /// Options of `git apply`.
    ApplyOptions,
    /// The branch or the object that is checked out at the end.
    Start,
    /// Words that scripts of older versions evaluate.
    Quoted,
    /// A file that another program uses if it is there: the number of a process to end, or settings with commands.
    Foreign,
}

use Content::{
    ApplyOptions, Author, Branch, Foreign, Ids, Labels, Number, Quoted, Sequence, Signature, Start, Text,
    Updates,
};

/// Files in a repository's directory: of `git bisect` (`builtin/bisect.c`), `git instaweb` (`git-instaweb.sh`), lazygit
/// and glab.
const IN_DIRECTORY: [(Content, &str); 5] = [
    (Start, "BISECT_START"),
    (Quoted, "BISECT_NAMES"),
    (Foreign, "pid"),
    (Foreign, "lazygit.yml"),
    (Foreign, "glab-cli/config.yml"),
];

/// The files in `rebase-merge` and `sequencer` (git's `sequencer.c`, `builtin/rebase.c`), and in `rebase-apply`
/// (`builtin/am.c`, `builtin/rebase.c`).
#[rustfmt::skip]
const FILES: &[(Content, &[&str])] = &[
    (Sequence, &["git-rebase-todo", "todo", "strategy", "strategy_opts", "opts"]),
    (Number, &["msgnum", "end", "next", "last"]),
    (Ids, &[
        "abort-safety", "amend", "autostash", "head", "onto", "orig-head", "original-commit", "rewritten",
        "rewritten-list", "rewritten-pending", "squash-onto", "stopped-sha",
    ]),
    (Branch, &["head-name"]),
    (Labels, &["refs-to-delete"]),
    (Updates, &["update-refs"]),
    (Author, &["author-script"]),
    (Signature, &["gpg_sign_opt"]),
    (ApplyOptions, &["apply-opt"]),
    (Text, &[
        "allow_rerere_autoupdate", "applying", "cdate_is_adate", "current-fixups", "dirtyindex", "done",
        "drop_redundant_commits", "dropped", "final-commit", "git-rebase-todo.backup", "ignore_date", "info",
        "interactive", "keep", "keep_redundant_commits", "message", "message-fixup", "message-squash", "messageid", "msg",
        "no-reschedule-failed-exec", "no-verify", "no_inbody_headers", "patch", "patch-merge-index", "quiet",
        "quoted-cr", "rebasing", "rerere-autoupdate", "reschedule-failed-exec", "scissors", "sign", "signoff",
        "threeway", "trailer", "utf8", "verbose",
    ]),
];

/// Options of `git apply` that `git am` takes: without a value, and with one.
const SWITCHES: [&str; 4] =
    ["--ignore-space-change", "--ignore-whitespace", "--reject", "--no-ignore-whitespace"];
const VALUES: [&str; 3] = ["--whitespace=", "--exclude=", "--include="];

/// The state of a sequence as it was before a command.
pub(super) type KnownState = BTreeMap<PathBuf, Option<FileStamp>>;

pub(super) fn state(repository: &OpenDirectory) -> KnownState {
    let in_directory = IN_DIRECTORY.iter().filter(|(_, name)| repository.kind(name).is_some());
    let mut all: KnownState = in_directory.map(|(_, name)| (name.into(), repository.stamp(name))).collect();
    for directory in STATES {
        let Ok(found) = repository.beneath(directory.as_ref()) else { continue };
        all.extend(
            found.names().into_iter().map(|name| (Path::new(directory).join(&name), found.stamp(name))),
        );
    }
    all
}

impl Cleaner<'_> {
    /// Sets aside what a command has changed in a state, and git would not have written.
    pub(super) fn clean_sequence_state(
        &mut self,
        path: &Path,
        repository: &OpenDirectory,
        known: Option<&KnownFiles>,
    ) {
        for (file, stamp) in state(repository) {
            if known.is_some_and(|known| known.state.get(&file) == Some(&stamp)) {
                continue;
            }
            let (Some(place), Some(name)) = (file.parent(), file.file_name()) else { continue };
            let Ok(directory) = repository.beneath(place) else { continue };
            if let Some(fault) = fault_of(&directory, name, content_of(&file)) {
                self.set_aside(&path.join(place), &directory, name, fault);
            }
        }
    }
}

/// Why a file may not stay: git would not have written it so. `None` if it may.
fn fault_of(directory: &OpenDirectory, name: &OsStr, content: Option<Content>) -> Option<&'static str> {
    let fault = match content {
        Some(Foreign) => "a file that another program would use",
        None => return Some("not a file of git's there"),
        Some(Sequence) => return None,
        // Patches can be of any size.
        Some(Text) => {
            let is_file = matches!(directory.kind(name), None | Some(FileType::RegularFile));
            return (!is_file).then_some("not a file");
        }
        Some(Number) => "not a number",
        Some(Ids) => "not an object",
        Some(Start) => "not a branch or an object",
        Some(Quoted) => "not quoted as git quotes",
        Some(Branch | Labels | Updates) => "a reference outside of refs",
        Some(Author) => "not an author",
        Some(Signature | ApplyOptions) => "options that git would not have passed",
    };
    let is_right = match directory.read(name) {
        Ok(text) => content.is_some_and(|content| content.allows(&text)),
        Err(errno) => errno == Errno::NOENT,
    };
    (!is_right).then_some(fault)
}

/// What git writes to a file with this path in a repository's directory; `None` if it writes none.
fn content_of(file: &Path) -> Option<Content> {
    if let Some((content, _)) = IN_DIRECTORY.iter().find(|(_, own)| file == Path::new(own)) {
        return Some(*content);
    }
    let name = file.file_name()?;
    let is_patch = name.as_bytes().iter().all(u8::is_ascii_digit);
    let is_lock =
        |name: &OsStr| name.to_str().and_then(|name| name.strip_suffix(".lock")).map(OsString::from);
    let of = |name: &OsStr| FILES.iter().find(|(_, names)| names.iter().any(|own| name == *own));
    match of(name) {
        Some((content, _)) => Some(*content),
        // What a killed git leaves is not read.
        None => (is_patch || is_lock(name).is_some_and(|name| of(&name).is_some())).then_some(Text),
    }
}

impl Content {
    fn allows(self, text: &[u8]) -> bool {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let mut lines = line.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        match self {
            Text | Sequence => true,
            Foreign => false,
            Start => is_branch(line),
            Quoted => words(line.trim_ascii_end()).is_some(),
            Number => line.iter().all(u8::is_ascii_digit),
            Ids => text.split(u8::is_ascii_whitespace).all(is_id),
            Branch => line == b"detached HEAD" || is_beneath_refs(line),
            Labels => lines.all(|line| line.starts_with(b"refs/rewritten/") && is_beneath_refs(line)),
            Updates => lines
                .enumerate()
                .all(|(at, line)| if at % 3 == 0 { is_beneath_refs(line) } else { is_id(line) }),
            Author => lines.all(is_author),
            Signature => line.is_empty() || line.starts_with(b"-S") && !line.contains(&b'\n'),
            ApplyOptions => words(line).is_some_and(|words| words.iter().all(|word| is_apply_option(word))),
        }
    }
}

/// Whether a text can be a branch's short name or an object's, and no option (git-check-ref-format(1)).
fn is_branch(text: &[u8]) -> bool {
    let is_of_name = |byte: &u8| !byte.is_ascii_control() && !b" ~^:?*[\\".contains(byte);
    !text.starts_with(b"-") && text.iter().all(is_of_name)
}

/// Whether a word is an object's name, whole or abbreviated.
fn is_id(word: &[u8]) -> bool {
    word.len() <= 64 && word.iter().all(u8::is_ascii_hexdigit)
}

fn is_author(line: &[u8]) -> bool {
    ["GIT_AUTHOR_NAME=", "GIT_AUTHOR_EMAIL=", "GIT_AUTHOR_DATE="].iter().any(|variable| {
        let value = line.strip_prefix(variable.as_bytes());
        value.is_some_and(|value| {
            value.starts_with(b"'") && words(value).is_some_and(|words| words.len() == 1)
        })
    })
}

/// The words that git has quoted for a shell (git's `quote.c`); `None` if they are quoted otherwise.
fn words(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    if text.contains(&0) {
        return None;
    }
    let mut words = Vec::new();
    let mut rest = text.strip_prefix(b" ").unwrap_or(text);
    while !rest.is_empty() {
        rest = rest.strip_prefix(b"'")?;
        let mut word = Vec::new();
        loop {
            let end = rest.iter().position(|byte| *byte == b'\'')?;
            word.extend(&rest[..end]);
            rest = &rest[end + 1..];
            match rest {
                [b'\\', byte @ (b'\'' | b'!'), b'\'', ..] => {
                    word.push(*byte);
                    rest = &rest[3..];
                }
                [] | [b' ', _, ..] => break,
                _ => return None,
            }
        }
        rest = rest.strip_prefix(b" ").unwrap_or(rest);
        words.push(word);
    }
    Some(words)
}

/// Whether an option of `git apply` only says how a patch fits.
fn is_apply_option(word: &[u8]) -> bool {
    let Ok(word) = std::str::from_utf8(word) else { return false };
    let is_number = |count: &str| count.parse::<u32>().is_ok();
    SWITCHES.contains(&word)
        || VALUES.iter().any(|option| word.starts_with(option))
        || ["-p", "-C"].iter().any(|option| word.strip_prefix(option).is_some_and(is_number))
        || word.strip_prefix("--directory=").is_some_and(|path| !path.starts_with('/') && !is_above(path))
}

fn is_above(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(name: &str, text: &str) -> bool {
        let file = if name.starts_with("BISECT") { name.into() } else { Path::new(STATES[0]).join(name) };
        content_of(&file).is_some_and(|content| content.allows(text.as_bytes()))
    }

    #[test]
    fn what_git_writes_is_allowed() {
        let id = "0123456789012345678901234567890123456789";
        for (name, text) in [
            ("msgnum", "2\n".to_owned()),
            ("next", "12".to_owned()),
            ("stopped-sha", "0123abc".to_owned()),
            ("rewritten-list", format!("{id} {id}\n{id} {id}\n")),
            ("autostash", format!("{id}\n")),
            ("head-name", "refs/heads/a/b\n".to_owned()),
            ("head-name", "detached HEAD\n".to_owned()),
            ("refs-to-delete", "refs/rewritten/onto\nrefs/rewritten/a\n".to_owned()),
            ("update-refs", format!("refs/heads/x\n{id}\n{id}\nrefs/heads/y\n{id}\n{id}\n")),
            (
                "author-script",
                "GIT_AUTHOR_NAME='O'\\''N\\$'\nGIT_AUTHOR_EMAIL='a@b'\nGIT_AUTHOR_DATE='@1 +0100'\n"
                    .to_owned(),
            ),
            ("gpg_sign_opt", "-Skey\n".to_owned()),
            (
                "apply-opt",
                " '--whitespace=fix' '-p2' '-C1' '--directory=a/b' '--exclude=it'\\''s'".to_owned(),
            ),
            ("apply-opt", String::new()),
            ("done", "exec anything\n".to_owned()),
            ("BISECT_START", "feature/ä\n".to_owned()),
            ("BISECT_START", format!("{id}\n")),
            ("BISECT_NAMES", " 'src/it'\\''s' 'b c'\n".to_owned()),
            ("BISECT_NAMES", "'--' 'f' \n".to_owned()),
            ("BISECT_NAMES", "\n".to_owned()),
            ("0001", "From\n".to_owned()),
            ("git-rebase-todo.lock", String::new()),
        ] {
            assert!(allowed(name, &text), "{name} {text:?}");
        }
    }

    #[test]
    fn what_git_does_not_write_is_not_allowed() {
        for (name, text) in [
            ("msgnum", "$(x)"),
            ("onto", "--x"),
            ("head-name", "commondir"),
            ("head-name", "refs/../x"),
            ("head-name", "refs/heads/x\0"),
            ("refs-to-delete", "refs/heads/main"),
            ("update-refs", "commondir\n00\n00\n"),
            ("update-refs", "refs/heads/x\n00\ncommondir\n"),
            ("author-script", "GIT_AUTHOR_NAME='x'$(y)\n"),
            ("author-script", "PATH='x'\n"),
            ("author-script", "GIT_AUTHOR_NAME=x\n"),
            ("gpg_sign_opt", "--x"),
            ("apply-opt", "'--build-fake-ancestor=/x'"),
            ("apply-opt", "'-p1' '--directory=../x'"),
            ("apply-opt", "'--directory=/x'"),
            ("apply-opt", "-p1"),
            ("apply-opt", "'-p' '-C1'"),
            ("apply-opt", "'-p1' ;x"),
            ("apply-opt", "'-p1"),
            ("apply-opt", "'-p1\0'"),
            ("BISECT_START", "-f\n"),
            ("BISECT_START", "main --force"),
            ("BISECT_NAMES", " 'a' $(x)\n"),
            ("BISECT_NAMES", "'a'\nx\n"),
            ("pid", "1"),
            ("some-file", ""),
            ("some-file.lock", ""),
        ] {
            assert!(!allowed(name, text), "{name} {text:?}");
        }
    }
}
