//! What a shell command runs, found out before it runs.
//!
//! [`analyse`] reads a command as bash does and lists every program that it can start, with the words it gets as far
//! as they are known, and the files that its redirections open. Wrappers such as `env` or `timeout`, `eval` and
//! `bash -c` are seen through. Whatever cannot be told for sure is a [`Doubt`]: a command with doubts is never allowed
//! without being asked about. The grammar is bash's own as far as it is followed; the rest of it, and whatever bash
//! might read in another way, is a doubt, too. Nothing here runs anything, and time and depth are bounded.

mod ansi_c;
mod arithmetic;
mod brace;
mod builtin;
mod compound;
mod cursor;
mod git;
mod heredoc;
mod lexer;
mod options;
mod parameter;
mod parser;
mod plain;
mod run;
#[cfg(test)]
mod tests;
mod values;
mod variable;
mod word;
mod wrapper;

pub use git::is_message;
pub use plain::plain;
pub use run::is_shell;
pub use variable::is_telling;
pub use word::{CharClass, Word};

/// Longest text that is shown of a part.
const SHOWN: usize = 200;

/// What a command does, as far as it can be told.
#[derive(Debug, Clone, Default)]
pub struct Analysis {
    /// Every program that it can start.
    pub programs: Vec<Invocation>,
    /// Files that its redirections write to.
    pub writes: Vec<Word>,
    /// Files that its redirections read from, where the shell itself may read them.
    pub reads: Vec<Word>,
    /// Files that its redirections let a program read.
    pub inputs: Vec<Word>,
    /// Directories that it changes to.
    pub directories: Vec<Word>,
    /// What cannot be told of it.
    pub doubts: Vec<Doubt>,
    /// Characters that were read so far.
    read: usize,
    /// Values of its variables.
    values: values::Values,
    /// Functions that are surely defined.
    functions: Vec<String>,
    /// Whether a builtin reads what its redirections open.
    takes_input: bool,
    /// Names that it unsets.
    unset: Vec<String>,
}

/// A program that a command starts, or a builtin of the shell.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// Its name and its arguments.
    pub words: Vec<Word>,
    /// Whether it needs leave of its own.
    pub standing: InvocationKind,
    /// Why more than its name says can happen; only a rule for exactly these words covers that.
    pub hazard: Option<String>,
}

/// Whether a program needs leave of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvocationKind {
    /// It does.
    Judged,
    /// It only starts another one, which is listed too.
    Wrapper,
    /// It does nothing beyond the shell.
    Harmless,
}

/// Something that cannot be told before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The part of the command; empty for the whole of it.
    pub part: String,
    /// What it is.
    pub why: String,
}

/// Why a command is not read to its end.
#[derive(Debug)]
struct ParseError(String);

impl ParseError {
    fn new(why: &str) -> Self {
        Self(why.to_owned())
    }
}

/// Finds out what a command does.
pub fn analyse(command: &str) -> Analysis {
    let mut analysis = Analysis::default();
    if let Err(ParseError(why)) = parser::read(command, 0, &mut analysis) {
        analysis.doubt(String::new(), &why);
    }
    if analysis.takes_input {
        let inputs = std::mem::take(&mut analysis.inputs);
        analysis.reads.extend(inputs);
    }
    if !analysis.values.hold() {
        analysis.doubt(String::new(), "values that only the run shows are evaluated, and can run commands");
    }
    analysis
}

/// Finds out what a program does that is started with these words.
pub fn started(words: &[String]) -> Analysis {
    let mut analysis = Analysis::default();
    let known = words.iter().map(|text| Word::literal(text)).collect();
    if let Err(ParseError(why)) = run::words(&mut analysis, known) {
        analysis.doubt(String::new(), &why);
    }
    analysis
}

/// The words of a text that is a name and arguments and nothing else; `None` for any other.
pub fn words(text: &str) -> Option<Vec<Word>> {
    let mut analysis = Analysis::default();
    let words = parser::words(text, &mut analysis).ok()?;
    (analysis.programs.is_empty() && analysis.doubts.is_empty()).then_some(words)
}

impl Invocation {
    /// The name that it is started by, where it is known.
    pub fn name(&self) -> Option<String> {
        self.words.first().and_then(Word::text)
    }

    /// The name that a rule for programs of the system means: bare, or of a standard directory. A program anywhere else
    /// is known by its path alone, whatever it is called.
    pub fn system_name(&self) -> Option<String> {
        let name = self.name()?;
        Some(system_name(&name).unwrap_or(&name).to_owned())
    }

    /// Its arguments, up to the first that is not known.
    pub fn known_arguments(&self) -> Vec<String> {
        self.words.iter().skip(1).map_while(Word::text).collect()
    }

    /// Whether a start under this name, with these arguments and perhaps more, is what was read.
    pub fn foresees(&self, name: &str, arguments: &[String], is_all: bool) -> bool {
        let Some((first, rest)) = self.words.split_first() else { return false };
        first.text().is_none_or(|text| base(&text) == name) && foresee(rest, arguments, is_all)
    }

    /// Its words as one would type them.
    pub fn shown(&self) -> String {
        let words: Vec<String> = self.words.iter().take(64).map(Word::shown).collect();
        shortened(&words.join(" "))
    }
}

/// Whether words can turn out to be these texts. One that may be several words may be any.
fn foresee(words: &[Word], texts: &[String], is_all: bool) -> bool {
    let mut reached = vec![false; texts.len() + 1];
    reached[0] = true;
    for word in words {
        // Where the rest of the arguments is not known, whatever is left may be among it.
        if !is_all && reached[texts.len()] {
            return true;
        }
        let next = match word.may_split() {
            true => {
                let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
                (0..reached.len()).map(|at| at >= first).collect()
            }
            false => {
                let step = |at: usize| at > 0 && reached[at - 1] && word.may_expand_to(&texts[at - 1]);
                (0..reached.len()).map(step).collect()
            }
        };
        reached = next;
    }
    reached[texts.len()]
}

impl Analysis {
    /// Whether its redirections open no file.
    pub fn opens_nothing(&self) -> bool {
        self.writes.is_empty() && self.reads.is_empty() && self.inputs.is_empty()
    }

    /// Takes note of a doubt. There may be many; some are enough.
    fn doubt(&mut self, part: String, why: &str) {
        let doubt = Doubt { part: shortened(part.trim()), why: why.to_owned() };
        if self.doubts.len() < 16 && !self.doubts.contains(&doubt) {
            self.doubts.push(doubt);
        }
    }

    /// Variables whose values bash evaluates, or may: those of the environment can run commands there.
    pub fn evaluated(&self) -> impl Iterator<Item = &str> {
        self.values.evaluated()
    }

    /// Takes note of a variable that is set.
    fn assigned(&mut self, name: &str, part: &str) {
        if is_telling(name) {
            self.doubt(part.to_owned(), &format!("the variable {name} can change what is run"));
        }
    }
}

/// Directories whose programs are meant by their bare names.
const STANDARD: [&str; 6] =
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/usr/local/sbin/"];

/// The bare name of a program of the system; `None` where another place is named.
pub fn system_name(name: &str) -> Option<&str> {
    let bare = STANDARD.iter().find_map(|directory| name.strip_prefix(directory)).unwrap_or(name);
    (!bare.contains('/') && !bare.is_empty()).then_some(bare)
}

/// The last part of a path.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
