//! The names and arguments of a start, in the forms that rules use.

use super::applet::Applet;
use super::program_rule::ProgramRule;
use super::table;
use crate::arguments::Arguments;
use crate::bytes::text;
use beamai_bash_reader::{Analysis, Word, started, started_as_shown, system_name};
use beamai_isolation::{
    FileIdentity, Interpreter, NamedFile, ProgramStart, Starter, interpreter_arguments, is_loader,
    loaded_arguments,
};
use beamai_path_rules::{PathRoots, clean};
use beamai_workspace::encode_path;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
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
    start.arguments.iter().skip(1).map(|word| text(word)).collect()
}

/// Analyses the words of a start as if a shell ran them. `is_shown`: whether it is one that the text of its starter shows.
pub(super) fn read(start: &ProgramStart, is_shown: bool, home: Option<&str>) -> Analysis {
    let words = [vec![base(&start.called)], arguments(start)].concat();
    if is_shown { started_as_shown(&words, home) } else { started(&words) }
}

/// A path as text, and as the text of a word where that is another one.
fn both(path: &OsStr) -> impl Iterator<Item = String> {
    let (shown, word) = (path.to_string_lossy().into_owned(), text(path));
    let word = Some(word).filter(|word| *word != shown);
    [shown].into_iter().chain(word)
}

/// Arguments, for patterns. If they are incomplete, the last one may be cut, and stands for any others.
pub(super) fn compared(given: &[String], is_all: bool) -> Arguments {
    let known = whole(given, is_all).iter().map(|word| Word::literal(word));
    Arguments::of(&known.chain((!is_all).then(Word::unknown)).collect::<Vec<_>>())
}

/// The arguments that are known as a whole: of an incomplete list, the last one may be cut.
pub(super) fn whole(given: &[String], is_all: bool) -> &[String] {
    if is_all { given } else { &given[..given.len().saturating_sub(1)] }
}

/// A program that runs by a start, as a command under each of its names: the file, an interpreter, or what one of these runs
/// without a start of its own.
pub(super) struct CommandForm {
    /// Paths and names; none if the name cannot be known.
    pub(super) names: Vec<String>,
    pub(super) identity: Option<FileIdentity>,
    /// Its arguments; `None` means those of the start.
    arguments: Option<Vec<String>>,
    /// The name that it is given (`argv[0]`), if known.
    argued: Option<String>,
    /// Whether it is a command of git by its name alone: `git-stats` of another project, or a copy of git.
    is_by_name: bool,
    /// The arguments, for patterns.
    compared: OnceCell<Arguments>,
}

impl CommandForm {
    /// Whether a deny or ask rule matches, or may match given incomplete arguments. Most rules are about other programs, so
    /// the words are built only if the name fits.
    fn is_meant_by(&self, rule: &ProgramRule, start: &ProgramStart) -> bool {
        // A rule about all of git is about git's own commands.
        let any = || Arguments::of(&[Word::literal("\u{1}")]);
        if self.is_by_name && rule.holds(&Word::literal("git"), &any()) {
            return false;
        }
        let holds = |first| rule.holds(&first, self.compared(start));
        let is_wanted = |name: &str| rule.pattern.may_hold_for(name);
        let is_named = |name: &str| is_wanted(name) && holds(Word::literal(name));
        self.names.iter().any(|name| is_named(name))
            || self.names.is_empty() && holds(Word::unknown())
            || rule.name_of(self).is_some_and(|name| holds(Word::literal(name)))
            || self.names.iter().flat_map(|name| unversioned(name, is_wanted)).any(|name| is_named(&name))
    }

    fn compared(&self, start: &ProgramStart) -> &Arguments {
        self.compared.get_or_init(|| match &self.arguments {
            Some(given) => compared(given, start.has_all_arguments),
            None => compared(&arguments(start), start.has_all_arguments),
        })
    }

    fn new(names: Vec<String>, identity: Option<FileIdentity>, arguments: Option<Vec<String>>) -> Self {
        let argued = names.first().cloned();
        Self { names, identity, arguments, argued, is_by_name: false, compared: OnceCell::new() }
    }

    fn argued(self, argued: Option<String>) -> Self {
        Self { argued, ..self }
    }

    /// A program that may be any, with any arguments.
    fn unknown() -> Self {
        let form = Self::new(Vec::new(), None, Some(Vec::new()));
        Self { compared: OnceCell::from(Arguments::of(&[Word::unknown()])), ..form }
    }

    /// A program that another one is by its arguments.
    fn of_words(words: &[String]) -> Self {
        Self::new(words[..1].to_vec(), None, Some(words[1..].to_vec()))
    }
}

/// Whether a deny or ask rule matches a start under any of its names.
pub(super) fn is_meant_by(rule: &ProgramRule, forms: &[CommandForm], start: &ProgramStart) -> bool {
    forms.iter().any(|form| form.is_meant_by(rule, start))
}

/// All forms of a start, for deny and ask rules: under the name called, each link, the file and the first argument, as each
/// interpreter gets it, and what these run in turn.
pub(super) fn denied_forms(start: &ProgramStart) -> Vec<CommandForm> {
    let argued = start.arguments.first().map(|name| text(name));
    let is_named = start.has_all_arguments || start.arguments.len() > 1;
    // As a login shell is called. Programs of many names skip the dash.
    let logged_in = argued.as_deref().and_then(|name| name.strip_prefix('-')).map(str::to_owned);
    let paths = [&start.called].into_iter().chain(&start.links).chain([&start.file]);
    let mut names: Vec<String> =
        paths.flat_map(|path| both(path.as_os_str())).chain(argued.clone()).chain(logged_in).collect();
    names.dedup();
    let own = CommandForm::new(names, Some(start.identity), None).argued(argued.clone());
    let mut forms = Vec::with_capacity(2);
    // The name itself may be cut.
    forms.extend((!is_named).then(CommandForm::unknown));
    add_with_inner(own, &start.loaded, start, &mut forms);
    for NamedFile { names, identity } in &start.elf_interpreters {
        let names: Vec<String> = names.iter().flat_map(|name| both(name.as_os_str())).collect();
        // Whether it heeds the name of the file that it interprets is up to it.
        for argued in [None, argued.clone()] {
            let form = CommandForm::new(names.clone(), Some(*identity), None).argued(argued);
            add_with_inner(form, &NamedFile::default(), start, &mut forms);
        }
    }
    for at in 0..start.interpreters.len() {
        add_interpreter(start, &start.interpreters[..=at], &mut forms);
    }
    forms
}

/// Adds the last of these interpreters. A rule may name the script in several ways, and may be written without the argument
/// in the script's first line if that is an option.
fn add_interpreter(start: &ProgramStart, chain: &[Interpreter], forms: &mut Vec<CommandForm>) {
    let Some(Interpreter { program, argument, loaded }) = chain.last() else { return };
    let names: Vec<String> = program.names.iter().flat_map(|name| both(name.as_os_str())).collect();
    let is_option = argument.as_ref().is_some_and(|text| text.as_encoded_bytes().starts_with(b"-"));
    let mut scripts = vec![start.given.clone(), start.called.clone().into(), base(&start.called).into()];
    scripts.dedup();
    for script in scripts {
        let given = interpreter_arguments(chain, &script, &start.arguments);
        let given: Vec<String> = given.iter().skip(1).map(|word| text(word)).collect();
        let form = |given| CommandForm::new(names.clone(), Some(program.identity), Some(given));
        if is_option {
            forms.push(form(given[1..].to_vec()));
        }
        add_with_inner(form(given), loaded, start, forms);
    }
}

/// Adds a form, and what it runs without another start: an applet, what the loader loads, or a command of git.
fn add_with_inner(form: CommandForm, loaded: &NamedFile, start: &ProgramStart, forms: &mut Vec<CommandForm>) {
    let is_named = |test: fn(&str) -> bool| form.names.iter().any(|name| test(base_name(name)));
    let given = || form.arguments.clone().unwrap_or_else(|| arguments(start));
    let is_all = start.has_all_arguments;
    let inner = [
        is_named(|name| is_loader(Path::new(name))).then(|| loaded_form(&given(), loaded, is_all)).flatten(),
        is_named(|name| name == "coreutils").then(|| coreutils_form(&given())).flatten(),
    ];
    let applet = Applet::of(&form.names, form.identity, form.argued.as_deref(), given, is_all);
    forms
        .extend(applet.map(|applet| applet.plain().map_or_else(CommandForm::unknown, CommandForm::of_words)));
    // Each has fewer arguments or another name, so this ends.
    for inner in inner.into_iter().flatten().chain(git_forms(&form, &given)) {
        add_with_inner(inner, &NamedFile::default(), start, forms);
    }
    forms.push(form);
}

/// What the loader loads, also under the name that it is told to give it. It may be any program where that was not
/// found: the loader looks for a name without a slash elsewhere, and its path may be cut or lead through another
/// process.
fn loaded_form(given: &[String], loaded: &NamedFile, is_all: bool) -> Option<CommandForm> {
    let list: Vec<OsString> = [OsString::new()].into_iter().chain(given.iter().map(OsString::from)).collect();
    let Some((name, own_arguments)) = loaded_arguments(&list).split_first() else {
        return (!is_all).then(CommandForm::unknown);
    };
    if !is_all && own_arguments.is_empty() {
        return Some(CommandForm::unknown());
    }
    let text = |text: &OsString| text.to_string_lossy().into_owned();
    let options = &given[..given.len() - own_arguments.len() - 1];
    let told = options.windows(2).filter(|pair| pair[0] == "--argv0").map(|pair| pair[1].clone());
    let told: Vec<String> = told
        .chain(options.iter().filter_map(|option| option.strip_prefix("--argv0=").map(str::to_owned)))
        .collect();
    let argued = told.last().cloned().unwrap_or_else(|| text(name));
    let paths = loaded.names.iter().map(|path| path.to_string_lossy().into_owned());
    let names = match loaded.names.is_empty() {
        true => Vec::new(),
        false => [text(name)].into_iter().chain(paths).chain(told).collect(),
    };
    let identity = Some(loaded.identity).filter(|_| !loaded.names.is_empty());
    let arguments = Some(own_arguments.iter().map(text).collect());
    Some(CommandForm::new(names, identity, arguments).argued(Some(argued)))
}

/// The program that `coreutils` is told to be.
fn coreutils_form(given: &[String]) -> Option<CommandForm> {
    const CHOICE: &str = "--coreutils-prog=";
    let at = given.iter().position(|text| !text.starts_with('-') || text.starts_with(CHOICE))?;
    let name = given[at].strip_prefix(CHOICE).unwrap_or(&given[at]).to_owned();
    Some(CommandForm::new(vec![name], None, Some(given[at + 1..].to_vec())))
}

/// `git X …` for each name `git-X …`: git and its copies are that command by this name, and git starts such a program
/// for it.
fn git_forms(form: &CommandForm, given: &dyn Fn() -> Vec<String>) -> Vec<CommandForm> {
    let commands = form.names.iter().filter_map(|name| base_name(name).strip_prefix("git-"));
    let mut commands: Vec<&str> = commands.filter(|name| !name.is_empty()).collect();
    commands.dedup();
    let is_part = |name: &String| {
        let directory = name.rsplit('/').nth(1);
        base_name(name) == "git" || directory == Some("git-core")
    };
    let is_by_name = !form.names.iter().any(is_part);
    let git = |command: &str| {
        let arguments = Some([vec![command.to_owned()], given()].concat());
        CommandForm { is_by_name, ..CommandForm::new(vec!["git".to_owned()], form.identity, arguments) }
    };
    commands.into_iter().map(git).collect()
}

/// The last part of a path that is text.
pub(super) fn base_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Other paths of the same file beside this one, without all or part of its version: `perl` for `perl5.36.0`, `python3` for
/// `python3.11`. Only wanted names are looked up. A program that is another one under each name has none.
fn unversioned(path: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let Some((directory, name)) = path.rsplit_once('/').filter(|_| path.starts_with('/')) else {
        return Vec::new();
    };
    let shorter = name.char_indices().rev().filter(|&(at, _)| at > 0);
    let shorter = shorter.take_while(|(_, char)| char.is_ascii_digit() || ['.', '-'].contains(char));
    let paths = shorter.map(|(at, _)| format!("{directory}/{}", &name[..at]));
    let wanted = paths.filter(|shorter| is_wanted(shorter));
    wanted.filter(|shorter| is_same_program(Path::new(shorter), Path::new(path))).collect()
}

/// Whether two paths lead to the same file, and that is the same program under each of its names.
fn is_same_program(one: &Path, other: &Path) -> bool {
    is_same_file(one, other) && one.canonicalize().is_ok_and(|file| !table::is_named_by_call(&file))
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

/// The applet that a start runs.
pub(super) fn applet(start: &ProgramStart) -> Option<Applet> {
    let paths = [&start.called].into_iter().chain(&start.links).chain([&start.file]);
    let names: Vec<String> = paths.map(|path| path.to_string_lossy().into_owned()).collect();
    let argued = start.arguments.first().map(|name| text(name));
    let given = || arguments(start);
    Applet::of(&names, Some(start.identity), argued.as_deref(), given, start.has_all_arguments)
}

/// Whether the first argument is the name in the path. Multi-call programs choose their function by that argument.
pub(super) fn is_called_by_its_name(start: &ProgramStart) -> bool {
    let given = start.arguments.first().map(|name| base(Path::new(name)));
    given.is_none_or(|given| given == base(&start.called))
}

/// The paths by which a rule can name the called file: absolute, relative to each directory that the command may run
/// in, and as given if that means the file in one of these.
pub(super) fn spellings(start: &ProgramStart, directories: &[PathBuf], roots: &PathRoots) -> Vec<String> {
    let meant = roots.meant(Path::new(""), &start.called);
    let below = directories.iter().filter_map(|directory| meant.strip_prefix(clean(directory)).ok());
    let mut spellings = vec![start.called.to_string_lossy().into_owned()];
    for path in below.filter(|path| path.is_relative()) {
        let path = path.to_string_lossy();
        spellings.push(format!("./{path}"));
        spellings.extend(path.contains('/').then(|| path.into_owned()));
    }
    spellings.extend(directories.iter().filter_map(|directory| as_given(start, directory, &meant, roots)));
    spellings
}

/// The path as the command has it, if it leads from this directory to the called file: `../run.sh`. `exec` puts the
/// directory before it.
fn as_given(start: &ProgramStart, directory: &Path, meant: &Path, roots: &PathRoots) -> Option<String> {
    let given = Path::new(&start.given);
    let given = given.strip_prefix(roots.top()?.join(directory)).unwrap_or(given);
    let is_path = given.is_relative() && given.components().count() > 1;
    (is_path && roots.meant(directory, given) == meant).then(|| given.to_string_lossy().into_owned())
}

/// A start for display, as bash would write it: with the name that it is given, if that is not the program's.
pub(super) fn written_start(start: &ProgramStart) -> String {
    let command = written(&start.called, &start.arguments);
    let name = start.arguments.first().map(Path::new).filter(|name| base(name) != base(&start.called));
    match name {
        Some(name) => format!("exec -a {} {command}", Word::literal(&encode_path(name)).shown()),
        None => command,
    }
}

/// A command for display: with the path of its program, unless that is of the system.
pub(super) fn written(path: &Path, given: &[OsString]) -> String {
    let path = encode_path(path);
    let program = system_name(&path).unwrap_or(&path).to_owned();
    let arguments = given.iter().skip(1).map(|text| encode_path(Path::new(text)));
    let words = [program].into_iter().chain(arguments).map(|word| Word::literal(&word).shown());
    words.collect::<Vec<_>>().join(" ")
}
