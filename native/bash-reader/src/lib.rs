//! Finds the programs and files of a shell command before it runs.
//!
//! [`analyse`] reads a command as bash does. It lists every program that the command can start, with its words as far as
//! they are known, and the files that redirections open. It looks inside wrappers such as `env` or `timeout`, `eval` and
//! `bash -c`. Anything uncertain is a [`Doubt`]: a command with doubts always needs approval. The parser follows bash's
//! grammar; syntax that it does not support, or that bash might read differently, is a doubt too. Nothing is run, and time
//! and depth are bounded.

mod ansi_c;
mod applet;
mod arithmetic;
mod brace;
mod builtin;
mod common;
mod compound;
mod cursor;
mod git;
mod glyphs;
mod heredoc;
mod lexer;
mod options;
mod parameter;
mod parser;
mod plain;
mod run;
#[cfg(test)]
mod tests;
mod tilde;
mod values;
mod variable;
mod word;
mod wrapper;

pub use applet::is_plain_applet;
pub use git::is_message;
pub use glyphs::{CharClass, fits};
pub use plain::plain;
pub use run::{FIND_EXEC, is_shell};
pub use variable::is_read_as_written;
pub use word::Word;

/// Maximum length of a part in messages, in characters.
const SHOWN: usize = 200;

/// The analysis of a command.
#[derive(Debug, Clone, Default)]
pub struct Analysis {
    /// Every program that it can start.
    pub programs: Vec<Invocation>,
    /// Files that its redirections write to.
    pub writes: Vec<Word>,
    /// Files that its redirections read from, if the shell itself may read them.
    pub reads: Vec<Word>,
    /// Files that its redirections open for programs to read.
    pub inputs: Vec<Word>,
    /// Directories that it changes to.
    pub directories: Vec<Word>,
    /// What is uncertain about it.
    pub doubts: Vec<Doubt>,
    /// Whether something in it may run although what stands before it failed, or elsewhere than in its shell.
    branches: bool,
    /// Characters that were read so far.
    read: usize,
    /// Characters of the words of all programs.
    listed: usize,
    /// Values of its variables.
    values: values::Values,
    /// Whether there are characters in it that are several bytes, which bash reads differently in another character set.
    is_wide: bool,
    /// The home directory, which tildes stand for.
    home: Option<String>,
    /// Whether `$HOME` stands for it, too: in a rule, no variable has a value.
    has_variables: bool,
    /// Functions that are certainly defined.
    functions: Vec<String>,
    /// Whether a builtin reads files that redirections open.
    takes_input: bool,
    /// Names that it unsets.
    unset: Vec<String>,
    /// Whether a redirection makes its output or error something else than a file that it writes.
    moves_streams: bool,
}

impl Analysis {
    /// Whether each part runs only if all parts before it succeeded (`cd a && make && cd ..`), so that each change of
    /// directory starts from the one before.
    pub fn is_sequence(&self) -> bool {
        !self.branches
    }
}

/// A program that a command starts, or a builtin of the shell.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Its name and its arguments.
    pub words: Vec<Word>,
    /// Whether it needs permission.
    pub standing: InvocationKind,
    /// Why it can do more than its name says; only a rule for exactly these words covers that.
    pub hazard: Option<String>,
}

/// Whether a program needs permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvocationKind {
    /// It does.
    Judged,
    /// It only starts another program, which is listed too.
    Wrapper,
    /// It has no effect outside the shell.
    Harmless,
}

/// Something about a command that is not known before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The part of the command; empty for the whole command.
    pub part: String,
    /// The reason.
    pub why: String,
    /// The condition under which the caller can ignore it.
    pub unless: Option<DoubtCondition>,
}

/// A condition that this crate cannot check, under which a doubt can be ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoubtCondition {
    /// A rule lets the interpreter run any code.
    CodePath(CodePath),
    /// The environment of the shell has no variable with this name, so the shell does not pass the variable on.
    NotInEnvironment(String),
}

/// A variable that names directories with code for an interpreter. A rule that lets the interpreter run any code covers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePath {
    /// The interpreter, as the command names it.
    pub interpreter: String,
    /// Beginnings of argument lists, each of which can go on so that the interpreter runs any code.
    pub any_code: &'static [&'static [&'static str]],
}

/// Why parsing stopped.
#[derive(Debug)]
struct ParseError(String);

impl ParseError {
    fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// Analyses a command. Tildes and `$HOME` in it stand for `home`, which is the value of `HOME` that its shell gets;
/// what they stand for is unknown if that is `None`.
pub fn analyse(command: &str, home: Option<&str>) -> Analysis {
    Analysis::read(home, |analysis| {
        analysis.is_wide = !command.is_ascii();
        parser::read(command, 0, analysis)
    })
}

/// Analyses a program started with these words. The variables that it inherits may have any value, `HOME` included,
/// also those that its text sets: `x=1 true` does not set `x`.
pub fn started(words: &[String]) -> Analysis {
    Analysis::read(None, |analysis| {
        analysis.values = values::Values::lost();
        analysis.start(words)
    })
}

/// As [`started`], for a program that a shell starts whose text shows it, so that it inherits what that text sets.
/// Tildes in a text that it runs stand for `home`, as for [`analyse`].
pub fn started_as_shown(words: &[String], home: Option<&str>) -> Analysis {
    Analysis::read(home, |analysis| analysis.start(words))
}

/// What bash takes for blanks between words, and the end of a line. Other white space belongs to words.
pub const BLANKS: [char; 3] = [' ', '\t', '\n'];

/// A text without the blanks around it. One after a backslash belongs to a word.
pub fn trimmed(text: &str) -> &str {
    let text = text.trim_start_matches(BLANKS);
    let kept = text.trim_end_matches(BLANKS);
    let backslashes = kept.len() - kept.trim_end_matches('\\').len();
    match backslashes % 2 {
        0 => kept,
        _ => &text[..text.len().min(kept.len() + 1)],
    }
}

/// The words of a text that consists of a name and arguments only; `None` for any other text. Tildes in it stand for
/// `home`, as for [`analyse`].
pub fn words(text: &str, home: Option<&str>) -> Option<Vec<Word>> {
    let mut analysis = Analysis::of(home);
    let words = parser::words(text, &mut analysis).ok()?;
    (analysis.programs.is_empty() && analysis.doubts.is_empty()).then_some(words)
}

/// As [`words`], with each word as a glob. Quoted characters are escaped in it. A word with any expansion but a tilde's
/// is `None`.
pub fn globs(text: &str, home: Option<&str>) -> Option<Vec<Option<String>>> {
    let mut analysis = Analysis::of(home);
    let words = parser::raw_words(text, &mut analysis).ok()?;
    let globs = words.into_iter().map(|word| word.with_braces(home).glob()).collect();
    (analysis.programs.is_empty() && analysis.doubts.is_empty()).then_some(globs)
}

impl Invocation {
    /// The name that it is started by, if known.
    pub fn name(&self) -> Option<String> {
        self.words.first().and_then(Word::text)
    }

    /// Its name for rules about system programs: given without a path, or in a standard directory. A program anywhere
    /// else can be named only by its path.
    pub fn system_name(&self) -> Option<String> {
        let name = self.name()?;
        Some(system_name(&name).unwrap_or(&name).to_owned())
    }

    /// Its arguments up to the first unknown one.
    pub fn known_arguments(&self) -> Vec<String> {
        self.words.iter().skip(1).map_while(Word::text).collect()
    }

    /// Whether a start with this name and these arguments can be this invocation.
    pub fn foresees(&self, name: &str, arguments: &[String], is_all: bool) -> bool {
        let Some((first, rest)) = self.words.split_first() else { return false };
        first.text().is_none_or(|text| base(&text) == name) && foresee(rest, arguments, is_all)
    }

    /// Its words as one would type them, for display.
    pub fn shown(&self) -> String {
        let words: Vec<String> = self.words.iter().take(64).map(Word::shown).collect();
        shortened(&words.join(" "))
    }
}

/// Whether words can expand to these texts. A word that may split can expand to any number of texts.
fn foresee(words: &[Word], texts: &[String], is_all: bool) -> bool {
    // The last of an incomplete list may be cut.
    let texts = if is_all { texts } else { &texts[..texts.len().saturating_sub(1)] };
    let mut reached = vec![false; texts.len() + 1];
    reached[0] = true;
    for word in words {
        // If the texts are incomplete, the remaining words may be among the missing ones.
        if !is_all && reached[texts.len()] {
            return true;
        }
        let next = match word.may_split() {
            true => {
                let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
                (0..reached.len()).map(|at| at >= first).collect()
            }
            false => {
                let step = |at: usize| at > 0 && reached[at - 1] && word.may_be(&texts[at - 1]);
                (0..reached.len()).map(step).collect()
            }
        };
        reached = next;
    }
    reached[texts.len()]
}

impl Analysis {
    fn of(home: Option<&str>) -> Self {
        Self { home: home.map(str::to_owned), ..Self::default() }
    }

    fn start(&mut self, words: &[String]) -> Result<(), ParseError> {
        self.is_wide = !words.iter().all(|word| word.is_ascii());
        run::words(self, words.iter().map(|text| Word::literal(text)).collect())
    }

    /// What a reader finds, with what only the whole shows.
    fn read(home: Option<&str>, reader: impl FnOnce(&mut Self) -> Result<(), ParseError>) -> Self {
        let mut analysis = Self { has_variables: true, ..Self::of(home) };
        if let Err(ParseError(why)) = reader(&mut analysis) {
            analysis.doubt(String::new(), &why);
        }
        if analysis.moves_streams && !(analysis.reads.is_empty() && analysis.inputs.is_empty()) {
            analysis.doubt(
                String::new(),
                "its output or error may be a file that it reads, and /dev/stdout and /dev/stderr write there",
            );
        }
        if analysis.takes_input {
            let inputs = std::mem::take(&mut analysis.inputs);
            analysis.reads.extend(inputs);
        }
        analysis.doubt_values();
        analysis
    }

    /// How many files its shells may read so far.
    fn shell_reads(&self) -> usize {
        self.reads.len() + if self.takes_input { self.inputs.len() } else { 0 }
    }

    /// Doubts it if what bash evaluates may be anything.
    fn doubt_values(&mut self) {
        if !self.values.hold() {
            self.doubt(String::new(), "values that only the run shows are evaluated, and can run commands");
        }
    }

    /// Whether its words show all that it can do: nothing is uncertain, and no builtin can do more than its name says.
    pub fn is_certain(&self) -> bool {
        self.doubts.is_empty() && self.programs.iter().all(|program| program.hazard.is_none())
    }

    /// Whether redirections open no file.
    pub fn opens_nothing(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty() && self.inputs.is_empty()
    }

    /// Records a doubt, up to a maximum number.
    fn doubt(&mut self, part: String, why: &str) {
        let doubt = Doubt { part: shortened(part.trim()), why: why.to_owned(), unless: None };
        // Doubts that the caller can ignore must not take the place of others.
        let count = self.doubts.iter().filter(|doubt| doubt.unless.is_none()).count();
        if count < 16 && !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Variables whose values bash may evaluate. If they come from the environment, their values can run commands.
    pub fn evaluated(&self) -> impl Iterator<Item = &str> {
        self.values.evaluated()
    }

    /// Whether setting a variable can affect what is run by this text.
    pub fn is_telling(&self, name: &str) -> bool {
        variable::is_telling(name) || self.is_wide && variable::names_character_set(name)
    }

    /// Records that its changes of directory after the first `before` may happen repeatedly.
    fn may_repeat_since(&mut self, before: usize) {
        if self.directories[before..].iter().any(|word| word.first() != Some('/')) {
            self.directories.push(Word::unknown());
        }
    }

    /// Records an assignment to a variable of the shell. Programs get it only if the environment already has a variable
    /// with this name: a command that exports it is doubted for the export.
    fn assigned_in_shell(&mut self, name: &str, part: &str) {
        if self.values.is_lost() || variable::is_of_shell(name) {
            self.assigned(name, part);
        } else if self.is_telling(name) {
            self.doubt_unless(part, name, DoubtCondition::NotInEnvironment(name.to_owned()));
        }
    }

    /// Records an assignment to a variable that programs get.
    fn assigned(&mut self, name: &str, part: &str) {
        if self.is_telling(name) {
            self.doubt(part.to_owned(), &can_change(name));
        }
    }

    /// Records an assignment before the program that it is for.
    fn assigned_for(&mut self, name: &str, program: &str, part: &str) {
        match variable::code_path(name, program) {
            Some(code_path) => self.doubt_unless(part, name, DoubtCondition::CodePath(code_path)),
            None => self.assigned(name, part),
        }
    }

    fn doubt_unless(&mut self, part: &str, variable: &str, condition: DoubtCondition) {
        let unless = Some(condition);
        if !self.doubts.iter().any(|doubt| doubt.unless == unless) {
            self.doubts.push(Doubt { part: shortened(part.trim()), why: can_change(variable), unless });
        }
    }
}

fn can_change(variable: &str) -> String {
    format!("the variable {variable} can change what is run")
}

/// Whether a shell may always open this path to write.
pub fn is_sink(path: &str) -> bool {
    heredoc::SINKS.contains(&path)
}

/// Directories of system programs, which rules name without a path.
pub const SYSTEM_DIRECTORIES: [&str; 6] =
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"];

/// The name of a system program without its path; `None` if the path is in another directory.
pub fn system_name(name: &str) -> Option<&str> {
    let bare = SYSTEM_DIRECTORIES.iter().find_map(|directory| name.strip_prefix(directory)).unwrap_or(name);
    (!bare.contains('/') && !bare.is_empty()).then_some(bare)
}

/// The last component of a path.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
