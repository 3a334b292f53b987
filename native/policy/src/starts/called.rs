//! The names and arguments of a start, in the forms that rules use.

use crate::path::{PathRoots, clean};
use crate::words::{Certainty, CommandPattern};
use beamai_bash_reader::{Analysis, Word, started};
use beamai_isolation::{ProgramStart, Starter};
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many bytes of a script the Linux kernel looks at for its first line.
const SCRIPT_HEAD: u64 = 256;

/// The last part of a path, as text.
pub(super) fn base(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The arguments after the program's name.
pub(super) fn arguments(start: &ProgramStart) -> Vec<String> {
    start.arguments.iter().skip(1).map(|text| text.to_string_lossy().into_owned()).collect()
}

/// Analyses the words of a start as if a shell ran them.
pub(super) fn read(start: &ProgramStart) -> Analysis {
    started(&[vec![base(&start.called)], arguments(start)].concat())
}

/// A program's words, for patterns. If the arguments are incomplete, the last word stands for any others.
pub(super) fn words(name: &str, arguments: &[String], is_all: bool) -> Vec<Word> {
    let known = [name].into_iter().chain(arguments.iter().map(String::as_str)).map(Word::literal);
    known.chain((!is_all).then(Word::unknown)).collect()
}

/// A start as a command, under one of its names.
pub(super) struct CommandForm {
    name: String,
    /// Which arguments it has.
    arguments: FormArguments,
}

enum FormArguments {
    Own,
    /// The script, then the start's own arguments: those of an interpreter.
    Script(String),
    Inner(Vec<String>),
}

impl CommandForm {
    fn own(name: String) -> Self {
        Self { name, arguments: FormArguments::Own }
    }

    /// Whether a deny or ask rule matches, or may match given incomplete arguments. Most rules are about other programs, so
    /// the words are built only if the name fits.
    fn is_meant_by(&self, pattern: &CommandPattern, start: &ProgramStart) -> bool {
        pattern.may_hold_for(&self.name) && pattern.holds(&self.words(start)) > Certainty::No
    }

    fn words(&self, start: &ProgramStart) -> Vec<Word> {
        let given = match &self.arguments {
            FormArguments::Own => arguments(start),
            FormArguments::Script(script) => [vec![script.clone()], arguments(start)].concat(),
            FormArguments::Inner(given) => given.clone(),
        };
        words(&self.name, &given, start.has_all_arguments)
    }
}

/// Whether a deny or ask rule matches a start under any of its names.
pub(super) fn is_meant_by(pattern: &CommandPattern, forms: &[CommandForm], start: &ProgramStart) -> bool {
    forms.iter().any(|form| form.is_meant_by(pattern, start))
        || unversioned(start, |name| pattern.may_hold_for(name))
            .into_iter()
            .any(|name| CommandForm::own(name).is_meant_by(pattern, start))
}

/// All forms of a start, for deny and ask rules: under the name called, each link, the file, the first argument, and as each
/// interpreter gets it. Names without a version come in addition, see [`unversioned`].
pub(super) fn denied_forms(start: &ProgramStart) -> Vec<CommandForm> {
    let argued = start.arguments.first().map(|name| name.to_string_lossy().into_owned());
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    let paths = [&start.called].into_iter().chain(&start.links).chain([&start.file]);
    let mut forms: Vec<CommandForm> = paths.map(text).chain(argued).map(CommandForm::own).collect();
    for interpreter in start.interpreters.iter().map(text) {
        // A rule may name the script by its path or by its name.
        for script in [text(&start.called), base(&start.called)] {
            let arguments = FormArguments::Script(script);
            forms.push(CommandForm { name: interpreter.clone(), arguments });
        }
    }
    if let Some((name, given)) = inner(start).as_deref().and_then(<[String]>::split_first) {
        let names = [name.clone()].into_iter().chain(start.loaded.iter().map(text));
        let inner = |name| CommandForm { name, arguments: FormArguments::Inner(given.to_vec()) };
        forms.extend(names.map(inner));
    }
    forms
}

/// Other paths of the same file in its directory that lack all or part of its version: `perl` for `perl5.36.0`, `python3` for
/// `python3.11`. Only wanted names are looked up.
fn unversioned(start: &ProgramStart, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let name = base(&start.file);
    if base(&start.called) != name || start.is_writable {
        return Vec::new();
    }
    let shorter = name.char_indices().rev().filter(|&(at, _)| at > 0);
    let shorter = shorter.take_while(|(_, char)| char.is_ascii_digit() || ['.', '-'].contains(char));
    let paths = shorter.map(|(at, _)| start.file.with_file_name(&name[..at]));
    let wanted = paths.filter(|path| is_wanted(&path.to_string_lossy()));
    let same = wanted.filter(|path| is_same_file(path, &start.file));
    same.map(|path| path.to_string_lossy().into_owned()).collect()
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

/// Whether `env` starts the interpreter of the starter, a script whose first line is `#!/usr/bin/env NAME`. Whatever the
/// script's arguments are, they cannot make `env` run anything else there.
pub(super) fn interprets_the_starter(name: &str, start: &ProgramStart) -> bool {
    let Starter { program, .. } = &start.starter;
    let is_its_script = start.arguments.get(1).is_some_and(|script| is_same_file(Path::new(script), program));
    is_its_script && interpreter_by_env(program).as_deref() == Some(name)
}

/// The `NAME` in a script's first line `#!/usr/bin/env NAME`.
fn interpreter_by_env(script: &Path) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(script).ok()?.take(SCRIPT_HEAD).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let is_env = base(Path::new(words.next()?)) == "env";
    let name = words.next().filter(|name| is_env && !name.starts_with('-') && !name.contains('='))?;
    words.next().is_none().then(|| name.to_owned())
}

/// The command that a program runs without another start: an applet, or the program that the loader loads.
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

/// Whether the first argument is the name in the path. Multi-call programs choose their function by that argument.
pub(super) fn is_called_by_its_name(start: &ProgramStart) -> bool {
    let given = start.arguments.first().map(|name| base(Path::new(name)));
    given.is_none_or(|given| given == base(&start.called))
}

/// The paths by which a rule can name the called file: absolute, and relative to each directory that the command may run
/// in.
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

/// A command for display, cut after `most` characters, and whether it is complete.
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
