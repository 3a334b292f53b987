//! Determines the programs that a simple command starts.

use super::common::is_common;
use super::options::ParsedOptions;
use super::parser::{self, SimpleCommand};
use super::values::Values;
use super::variable::{is_read_as_written, names_character_set};
use super::word::{RawWord, Word};
use super::{Analysis, Invocation, InvocationKind, ParseError, base, builtin, git, is_plain_applet, wrapper};

type Result<T> = std::result::Result<T, ParseError>;

/// Maximum depth of wrappers and nested texts.
const MOST_DEPTH: usize = 32;
/// Maximum number of programs.
const MOST_PROGRAMS: usize = 2000;
/// Maximum number of characters of their words: each wrapper in a row repeats those of all that it starts.
const MOST_LISTED: usize = 1 << 20;

/// Records what a program with these words does.
pub(super) fn words(out: &mut Analysis, words: Vec<Word>) -> Result<()> {
    let part = String::new();
    InvocationCollector { out, part, is_shell: false, is_behind_wrapper: false }.run(words, 0)
}

/// Whether a program is a shell.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Options of `find` that start a program.
pub const FIND_EXEC: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

/// Shells, which run the text given with `-c`.
const SHELLS: [&str; 13] =
    ["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "hush", "rbash", "fish", "yash", "csh", "tcsh"];

/// Records what a simple command does.
pub(super) fn simple(out: &mut Analysis, simple: SimpleCommand, depth: usize) -> Result<()> {
    let program =
        simple.words.first().filter(|word| !word.has_unknown()).and_then(Word::text).unwrap_or_default();
    // `IFS=… read` changes the separator for that one `read` only.
    let is_read = program == "read";
    let keeps_characters = |name: &str, value: &Option<RawWord>| {
        let locale = value.as_ref().filter(|_| names_character_set(name)).and_then(RawWord::literal);
        locale.is_some_and(|locale| is_read_as_written(&locale))
    };
    for (name, value) in &simple.assignments {
        if is_read && name == "IFS" || keeps_characters(name, value) {
            continue;
        }
        match simple.words.is_empty() {
            true => out.assigned_in_shell(name, &simple.part),
            false => out.assigned_for(name, &program, &simple.part),
        }
    }
    if simple.words.is_empty() {
        out.reads.extend(simple.reads);
        return Ok(());
    }
    out.inputs.extend(simple.reads);
    let part = simple.part.trim().to_owned();
    InvocationCollector { out, part, is_shell: true, is_behind_wrapper: false }.call(simple.words, depth)
}

/// Lists the programs of one part of a command.
struct InvocationCollector<'a> {
    out: &'a mut Analysis,
    part: String,
    /// Whether the shell itself runs the next command, so that builtins apply.
    is_shell: bool,
    /// Whether a program starts the next command.
    is_behind_wrapper: bool,
}

impl InvocationCollector<'_> {
    /// A command that the shell itself runs, or a call of a function.
    fn call(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        match words[0].text().is_some_and(|name| self.out.functions.contains(&name)) {
            true => {
                self.list(words, InvocationKind::Harmless, None);
                Ok(())
            }
            false => self.run(words, depth),
        }
    }

    fn run(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        if depth > MOST_DEPTH || self.out.programs.len() >= MOST_PROGRAMS || self.out.listed > MOST_LISTED {
            return Err(ParseError::new("it runs too many programs to look at each"));
        }
        let name = words.first().filter(|word| !word.has_unknown()).and_then(Word::text);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            self.doubt("which program it runs shows only when it runs");
            self.list(words, InvocationKind::Judged, None);
            return Ok(());
        };
        match base(&name) {
            "eval" => self.eval(words, depth),
            "trap" => self.trap(words, depth),
            "cd" | "pushd" | "popd" => {
                self.change_directory(base(&name), &words);
                // As a builtin it has no effect outside the shell; the directory is judged separately.
                let standing = if self.is_shell { InvocationKind::Harmless } else { InvocationKind::Judged };
                self.list(words, standing, None);
                Ok(())
            }
            "find" => self.find(words, depth),
            shell if SHELLS.contains(&shell) => self.shell(shell, words, depth),
            other => self.program(other, words, depth),
        }
    }

    fn program(&mut self, name: &str, words: Vec<Word>, depth: usize) -> Result<()> {
        if let Some((standing, found)) = wrapper::unwrap(name, &words) {
            self.list(words, standing, None);
            return self.wrapped(name, found, depth);
        }
        let is_builtin = self.is_shell || builtin::is_program(name);
        if let Some(hazard) = is_builtin.then(|| builtin::look(name, &words[1..], self.out)).flatten() {
            // The program with the same name evaluates nothing.
            let hazard = hazard.filter(|_| self.is_shell);
            let standing = if hazard.is_none() { InvocationKind::Harmless } else { InvocationKind::Judged };
            self.list(words, standing, hazard);
            return Ok(());
        }
        if name == "git" {
            let before = self.out.directories.len();
            self.out.directories.extend(git::elsewhere(&words[1..]).cloned());
            // They are git's own.
            self.out.branches |= self.out.directories.len() > before;
        }
        self.list(words, InvocationKind::Judged, None);
        Ok(())
    }

    fn wrapped(&mut self, name: &str, found: Option<wrapper::Unwrapped>, depth: usize) -> Result<()> {
        let Some(wrapper::Unwrapped { inner, assigned, is_elsewhere }) = found else {
            self.doubt(&format!("what {name} starts is not clear from its command line"));
            return Ok(());
        };
        for name in &assigned {
            self.out.assigned(name, &self.part);
        }
        if is_elsewhere {
            self.out.directories.push(Word::unknown());
        }
        let applet = matches!(name, "busybox" | "toybox").then(|| inner.first().and_then(Word::text));
        if applet.is_some_and(|applet| !applet.is_some_and(|applet| is_plain_applet(&applet))) {
            self.doubt(&format!("{name} may run other programs in its own process"));
        }
        let is_builtin = matches!(name, "command" | "builtin");
        self.is_behind_wrapper |= !is_builtin && name != "exec";
        self.is_shell &= is_builtin;
        match inner.is_empty() {
            true => Ok(()),
            false => self.run(inner, depth + 1),
        }
    }

    fn eval(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        let texts: Option<Vec<String>> = words[1..].iter().map(Word::text).collect();
        self.list(words, InvocationKind::Wrapper, None);
        let Some(texts) = texts else {
            self.doubt("what eval runs shows only when it runs");
            return Ok(());
        };
        let has_end = texts.first().is_some_and(|text| text == "--");
        self.text(&texts[usize::from(has_end)..].join(" "), depth)
    }

    fn trap(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        let mut texts = words[1..].iter().map(Word::text).skip_while(|text| text.as_deref() == Some("--"));
        let text = texts.next();
        self.list(words, InvocationKind::Wrapper, None);
        match text {
            None => Ok(()),
            // A single dash restores the default.
            Some(Some(text)) if matches!(&*text, "-" | "-l" | "-p" | "-lp" | "-pl" | "-P") => Ok(()),
            Some(Some(text)) => {
                let before = self.out.directories.len();
                self.text(&text, depth)?;
                self.out.may_repeat_since(before);
                Ok(())
            }
            Some(None) => {
                self.doubt("what trap runs shows only when it runs");
                Ok(())
            }
        }
    }

    fn text(&mut self, text: &str, depth: usize) -> Result<()> {
        parser::read(text, depth + 1, self.out)
    }

    fn shell(&mut self, name: &str, words: Vec<Word>, depth: usize) -> Result<()> {
        match self.is_behind_wrapper {
            true => self.inheriting_shell(name, words, depth),
            false => self.own_shell(name, words, depth),
        }
    }

    /// A shell that a program starts. That may set any variable for it and start it in any directory, and the exec
    /// guard does not know which.
    fn inheriting_shell(&mut self, name: &str, words: Vec<Word>, depth: usize) -> Result<()> {
        let (values, home) = (std::mem::replace(&mut self.out.values, Values::lost()), self.out.home.take());
        let read = self.out.shell_reads();
        let result = self.own_shell(name, words, depth);
        self.out.doubt_values();
        if self.out.shell_reads() > read {
            self.doubt("a program starts the shell that reads a file, maybe in another directory");
        }
        (self.out.values, self.out.home) = (values, home);
        result
    }

    fn own_shell(&mut self, name: &str, words: Vec<Word>, depth: usize) -> Result<()> {
        let Some(script) = script(&words, self.out) else {
            // Programs of a script are judged when they start; a text from standard input can also write files by itself.
            let is_file = words.get(1).and_then(Word::text).is_some_and(|text| !text.starts_with(['-', '+']));
            let hazard = (!is_file).then(|| "a shell runs what is not looked at".to_owned());
            self.list(words, InvocationKind::Judged, hazard);
            return Ok(());
        };
        let Some(text) = script.text() else {
            self.doubt("what the shell runs shows only when it runs");
            self.list(words, InvocationKind::Judged, None);
            return Ok(());
        };
        let is_sure = name == "bash" || matches!(name, "sh" | "dash") && is_common(&text);
        self.list(words, if is_sure { InvocationKind::Wrapper } else { InvocationKind::Judged }, None);
        // The other shell does not know this one's functions.
        let functions = std::mem::take(&mut self.out.functions);
        let before = self.out.programs.len();
        let result = self.text(&text, depth);
        self.out.functions = functions;
        // Other shells read some texts differently from bash.
        if !is_sure || name != "bash" && self.out.programs[before..].iter().any(is_exec_with_option) {
            self.doubt("another shell than bash may read the text in another way");
        }
        result
    }

    fn find(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        let is = |word: &Word, names: &[&str]| word.text().is_some_and(|text| names.contains(&&*text));
        let mut rest = &words[..];
        while let Some(at) = rest.iter().position(|word| is(word, &FIND_EXEC)) {
            rest = &rest[at + 1..];
            let inner = rest.iter().take_while(|word| !is(word, &[";", "+"])).cloned();
            let inner: Vec<Word> = inner.map(|word| wrapper::filled(word, "{}")).collect();
            if !inner.is_empty() {
                (self.is_shell, self.is_behind_wrapper) = (false, true);
                self.run(inner, depth + 1)?;
            }
        }
        self.list(words, InvocationKind::Judged, None);
        Ok(())
    }

    fn change_directory(&mut self, name: &str, words: &[Word]) {
        // As a program it changes nothing; `-P` goes where links lead.
        self.out.branches |= !self.is_shell
            || words.get(1).is_none_or(|word| word.text().is_none_or(|text| text.starts_with('-')));
        let options = ParsedOptions::read(&words[1..], "LPe@").filter(|_| name == "cd");
        let target = options.and_then(|options| options.operands.first().cloned());
        // `-` means the previous directory.
        let is_named = |word: &Word| word.text().is_some_and(|text| !text.starts_with('-'));
        self.out.directories.push(target.filter(is_named).unwrap_or_else(Word::unknown));
    }

    fn doubt(&mut self, why: &str) {
        self.out.doubt(self.part.clone(), why);
    }

    fn list(&mut self, words: Vec<Word>, standing: InvocationKind, hazard: Option<String>) {
        let name = words.first().and_then(Word::text);
        // A program outside the system directories may be anything, whatever its name.
        let is_elsewhere = name.is_some_and(|name| super::system_name(&name).is_none());
        let standing = if is_elsewhere { InvocationKind::Judged } else { standing };
        self.out.listed += words.iter().map(|word| word.pieces.len() + 1).sum::<usize>();
        self.out.programs.push(Invocation { words, standing, hazard });
    }
}

/// Whether this is an option of `exec`, which is a program's name for other shells than bash.
fn is_exec_with_option(program: &Invocation) -> bool {
    program.name().is_some_and(|name| name == "exec")
        && program.words.get(1).is_some_and(Word::may_begin_option)
}

/// The text that a shell runs with `-c`, if all options are known. Options may also follow `-c`; the text is the first
/// operand.
fn script<'a>(words: &'a [Word], out: &mut Analysis) -> Option<&'a Word> {
    let options = ParsedOptions::read(&words[1..], "ceuxo: norc noprofile")?;
    builtin::trace(&options, out);
    let is_plain = options.values_of(&["o"]).all(builtin::is_plain_option);
    options.operands.first().filter(|_| is_plain && options.letters.contains('c'))
}
