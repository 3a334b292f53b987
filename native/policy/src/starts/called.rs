//! A start by the names that rules know programs by.

use crate::path::{PathRoots, clean};
use beamai_bash_reader::{Analysis, Word, started};
use beamai_isolation::ProgramStart;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The last part of a path, as text.
pub(super) fn base(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The arguments behind the program's name.
pub(super) fn arguments(start: &ProgramStart) -> Vec<String> {
    start.arguments.iter().skip(1).map(|text| text.to_string_lossy().into_owned()).collect()
}

/// What a start comes to by its words, as if a shell had them.
pub(super) fn read(start: &ProgramStart) -> Analysis {
    started(&[vec![base(&start.called)], arguments(start)].concat())
}

/// A program's words, for patterns. Behind arguments that are not all known, there may be any.
pub(super) fn words(name: &str, arguments: &[String], is_all: bool) -> Vec<Word> {
    let known = [name].into_iter().chain(arguments.iter().map(String::as_str)).map(Word::literal);
    known.chain((!is_all).then(Word::unknown)).collect()
}

/// Every command that a start is, for rules that deny: under the name called, each link's, the file's, its name without a
/// version, the first argument's, and as each interpreter of its chain gets it.
pub(super) fn denied_forms(start: &ProgramStart) -> Vec<Vec<Word>> {
    let own = arguments(start);
    let all = start.has_all_arguments;
    let argued = start.arguments.first().map(|name| name.to_string_lossy().into_owned());
    let paths = [&start.called].into_iter().chain(&start.links).chain([&start.file]);
    let paths = paths.map(|path| path.to_string_lossy().into_owned());
    let names = paths.chain(unversioned(start)).chain(argued);
    let mut forms: Vec<Vec<Word>> = names.map(|name| words(&name, &own, all)).collect();
    for interpreter in &start.interpreters {
        let name = interpreter.to_string_lossy().into_owned();
        // The script stands before the arguments, by whichever name a rule may know it.
        for script in [start.called.to_string_lossy().into_owned(), base(&start.called)] {
            let given = [vec![script], own.clone()].concat();
            forms.push(words(&name, &given, all));
        }
    }
    if let Some((name, given)) = inner(start).as_deref().and_then(<[String]>::split_first) {
        forms.push(words(name, given, all));
        let loaded = start.loaded.iter().map(|path| path.to_string_lossy());
        forms.extend(loaded.map(|name| words(&name, given, all)));
    }
    forms
}

/// The paths without a version, or less of it, by which the same file can be called where it is: `perl` for `perl5.36.0`,
/// `python3` for `python3.11`.
fn unversioned(start: &ProgramStart) -> Vec<String> {
    let name = base(&start.file);
    let shorter = name.char_indices().rev().filter(|&(at, _)| at > 0);
    let shorter = shorter.take_while(|(_, char)| char.is_ascii_digit() || ['.', '-'].contains(char));
    let mut shorter = shorter.peekable();
    if base(&start.called) != name || start.is_writable || shorter.peek().is_none() {
        return Vec::new();
    }
    let identity = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    let own = identity(&start.file);
    let paths = shorter.map(|(at, _)| start.file.with_file_name(&name[..at]));
    let same = paths.filter(|path| own.is_some() && identity(path) == own);
    same.map(|path| path.to_string_lossy().into_owned()).collect()
}

/// The command that a program becomes without another start: an applet, or what the loader loads.
pub(super) fn inner(start: &ProgramStart) -> Option<Vec<String>> {
    let given = arguments(start);
    let file = base(&start.file);
    if ["busybox", "toybox"].contains(&&*file) {
        let called = base(&start.called);
        return (called == file)
            .then(|| given.into_iter().skip_while(|text| text.starts_with('-')).collect());
    }
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    start.is_loader().then(|| start.loaded_arguments().iter().map(text).collect())
}

/// Whether the first argument says what the path does: a program that is many in one goes by the argument.
pub(super) fn is_called_by_its_name(start: &ProgramStart) -> bool {
    let given = start.arguments.first().map(|name| base(Path::new(name)));
    given.is_none_or(|given| given == base(&start.called))
}

/// The paths by which a rule can name the file that is called: absolute, and relative to each directory that the
/// command may be in.
pub(super) fn spellings(start: &ProgramStart, directories: &[PathBuf], roots: &PathRoots) -> Vec<String> {
    let meant = roots.meant(Path::new(""), &start.called.to_string_lossy());
    let below = directories.iter().filter_map(|directory| meant.strip_prefix(clean(directory)).ok());
    let mut spellings = vec![start.called.to_string_lossy().into_owned()];
    for path in below.filter(|path| path.is_relative()) {
        let path = path.to_string_lossy();
        spellings.push(format!("./{path}"));
        spellings.extend(path.contains('/').then(|| path.into_owned()));
    }
    spellings
}

/// A command for people: name and arguments, cut after so many characters; whether that is all of it.
pub(super) fn shown(path: &Path, given: &[OsString], most: usize) -> (String, bool) {
    let arguments = given.iter().skip(1).map(|text| text.to_string_lossy().into_owned());
    let mut shown = String::new();
    for word in [base(path)].into_iter().chain(arguments) {
        let space = if shown.is_empty() { "" } else { " " };
        shown += &format!("{space}{}", Word::literal(&word).shown());
        if let Some((end, _)) = shown.char_indices().nth(most) {
            return (format!("{}…", &shown[..end]), false);
        }
    }
    (shown, true)
}
