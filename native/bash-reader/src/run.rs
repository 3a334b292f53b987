//! From the words of a simple command to the programs that it starts.

use super::parser::{self, SimpleCommand};
use super::values::ValueKind;
use super::word::Word;
use super::{Analysis, FileAccess, Invocation, InvocationKind, ParseError, base, builtin, git, wrapper};

type Result<T> = std::result::Result<T, ParseError>;

/// Deepest chain of wrappers and texts within texts.
const MOST_DEPTH: usize = 32;
/// Most programs that are listed.
const MOST_PROGRAMS: usize = 2000;

/// Takes note of what a program does that is started with these words.
pub(super) fn words(out: &mut Analysis, words: Vec<Word>) -> Result<()> {
    InvocationCollector { out, part: String::new(), is_shell: false }.run(words, 0)
}

/// Whether a program is a shell.
pub fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// Shells, which run the text after `-c`.
const SHELLS: [&str; 10] = ["bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash"];

/// Takes note of what a simple command does.
pub(super) fn simple(out: &mut Analysis, simple: SimpleCommand, depth: usize) -> Result<()> {
    // What `read` splits by, it splits by for once.
    let is_read = simple.words.first().and_then(Word::text).as_deref() == Some("read");
    for (name, _) in simple.assignments.iter().filter(|(name, _)| !is_read || name != "IFS") {
        out.assigned(name, &simple.part);
    }
    let files = simple.reads.into_iter().map(|file| FileAccess { file });
    match simple.words.is_empty() {
        true => out.reads.extend(files),
        false => out.inputs.extend(files),
    }
    match simple.words.is_empty() {
        true => Ok(()),
        false => InvocationCollector { out, part: simple.part.trim().to_owned(), is_shell: true }
            .call(simple.words, depth),
    }
}

/// Lists the programs of one part of a command.
struct InvocationCollector<'a> {
    out: &'a mut Analysis,
    part: String,
    /// Whether the shell itself runs what comes next, its builtins included.
    is_shell: bool,
}

impl InvocationCollector<'_> {
    /// What the shell itself starts, or a function of the command.
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
        if depth > MOST_DEPTH || self.out.programs.len() >= MOST_PROGRAMS {
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
                // As a builtin it has no effect beyond the shell; where it leads is judged by itself.
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
        if let Some(found) = wrapper::unwrap(name, &words) {
            return self.wrapper(name, words, found, depth);
        }
        let is_builtin = self.is_shell || builtin::is_program(name);
        if let Some(found) = is_builtin.then(|| builtin::look(name, &words[1..], depth, self.out)).flatten() {
            // The program of the same name evaluates nothing.
            match self.is_shell {
                true => self.list(words, found.standing, found.hazard),
                false => self.list(words, InvocationKind::Harmless, None),
            }
            return Ok(());
        }
        if name == "git" {
            self.out.directories.extend(git::elsewhere(&words[1..]).cloned());
        }
        self.list(words, InvocationKind::Judged, None);
        Ok(())
    }

    fn wrapper(
        &mut self,
        name: &str,
        words: Vec<Word>,
        found: wrapper::Unwrapped,
        depth: usize,
    ) -> Result<()> {
        let is_query =
            name == "command" && words.get(1).and_then(Word::text).is_some_and(|text| is_query(&text));
        if is_query {
            self.list(words, InvocationKind::Harmless, None);
            return Ok(());
        }
        for name in &found.assigned {
            self.out.assigned(name, &self.part);
            self.out.values.assign(name, ValueKind::Any);
        }
        if let Some(odd) = found.odd {
            self.doubt(&format!("{name}: {odd}"));
        }
        if matches!(name, "env" | "sudo") && has_directory(&words) {
            self.out.directories.push(Word::unknown());
        }
        self.list(words, found.standing, None);
        self.is_shell &= matches!(name, "command" | "builtin");
        match found.inner.is_empty() {
            true => Ok(()),
            false => self.run(found.inner, depth + 1),
        }
    }

    fn eval(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        let texts: Option<Vec<String>> = words[1..].iter().map(Word::text).collect();
        self.list(words, InvocationKind::Wrapper, None);
        match texts.as_deref() {
            Some([end, texts @ ..]) if end == "--" => self.text(&texts.join(" "), depth),
            Some(texts) => self.text(&texts.join(" "), depth),
            None => {
                self.doubt("what eval runs shows only when it runs");
                Ok(())
            }
        }
    }

    fn trap(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        let mut texts = words[1..].iter().map(Word::text).skip_while(|text| text.as_deref() == Some("--"));
        let text = texts.next();
        self.list(words, InvocationKind::Wrapper, None);
        match text {
            None => Ok(()),
            // A lone dash puts back what was there before.
            Some(Some(text)) if matches!(&*text, "-" | "-l" | "-p" | "-lp" | "-pl" | "-P") => Ok(()),
            Some(Some(text)) => self.text(&text, depth),
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
        let Some(script) = script(&words) else {
            // What a script starts is judged as it starts; a text from elsewhere can also write by itself.
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
        // Other shells read some texts in another way than bash.
        let is_sure = name == "bash" || matches!(name, "sh" | "dash") && text.chars().all(is_common);
        self.list(words, if is_sure { InvocationKind::Wrapper } else { InvocationKind::Judged }, None);
        if !is_sure {
            self.doubt("another shell than bash may read the text in another way");
        }
        // Its functions are its own.
        let functions = std::mem::take(&mut self.out.functions);
        let result = self.text(&text, depth);
        self.out.functions = functions;
        result
    }

    fn find(&mut self, words: Vec<Word>, depth: usize) -> Result<()> {
        let texts: Vec<Option<String>> = words.iter().map(Word::text).collect();
        let is = |at: usize, names: &[&str]| texts[at].as_deref().is_some_and(|text| names.contains(&text));
        let starters: Vec<usize> =
            (0..texts.len()).filter(|at| is(*at, &["-exec", "-execdir", "-ok", "-okdir"])).collect();
        for start in starters {
            let end = (start..texts.len()).find(|at| is(*at, &[";", "+"])).unwrap_or(texts.len());
            let fill = |word: &Word| match word.text().is_none_or(|text| text.contains("{}")) {
                true => Word::unknown(),
                false => word.clone(),
            };
            let inner: Vec<Word> = words[start + 1..end].iter().map(fill).collect();
            if !inner.is_empty() {
                self.is_shell = false;
                self.run(inner, depth + 1)?;
            }
        }
        self.list(words, InvocationKind::Judged, None);
        Ok(())
    }

    fn change_directory(&mut self, name: &str, words: &[Word]) {
        let mut targets = words[1..].iter().skip_while(|word| word.text().is_some_and(|text| is_flag(&text)));
        // What else begins with a dash is the last directory, or an option that is not known.
        let target = match (name, targets.next()) {
            ("cd", Some(word)) if word.text().is_some_and(|text| !text.starts_with('-')) => word.clone(),
            _ => Word::unknown(),
        };
        self.out.directories.push(target);
    }

    fn doubt(&mut self, why: &str) {
        self.out.doubt(self.part.clone(), why);
    }

    fn list(&mut self, words: Vec<Word>, standing: InvocationKind, hazard: Option<String>) {
        let name = words.first().and_then(Word::text);
        // What lies elsewhere may be anything, whatever it is called.
        let is_elsewhere = name.is_some_and(|name| super::system_name(&name).is_none());
        let standing = if is_elsewhere { InvocationKind::Judged } else { standing };
        self.out.programs.push(Invocation { words, standing, hazard, part: super::shortened(&self.part) });
    }
}

fn is_query(text: &str) -> bool {
    matches!(text, "-v" | "-V")
}

fn is_flag(text: &str) -> bool {
    text == "--"
        || text.strip_prefix('-').is_some_and(|letters| letters.chars().all(|char| "LPe@".contains(char)))
            && text.len() > 1
}

fn has_directory(words: &[Word]) -> bool {
    words.iter().any(|word| {
        let text = word.shown();
        text.starts_with("-C") || text.starts_with("--chdir") || text.starts_with("-D")
    })
}

/// Whether every shell reads the character alike, quotes and all.
fn is_common(char: char) -> bool {
    char.is_ascii_alphanumeric() || " \n_-./=:,@%+'\";|".contains(char)
}

/// The text that a shell runs by `-c`, where all of its options are known. Options may stand behind `-c`, too; the text
/// is the first word that is none.
fn script(words: &[Word]) -> Option<&Word> {
    let (mut at, mut is_text) = (1, false);
    loop {
        let word = words.get(at)?;
        let known = word.text();
        match known.as_deref() {
            // What is not known may be another option, unless it surely begins as none.
            None => return (is_text && !may_be_option(word)).then_some(word),
            Some("--norc" | "--noprofile") if !is_text => {}
            Some("-o") => {
                let name = words.get(at + 1)?.text()?;
                if !matches!(&*name, "pipefail" | "errexit" | "nounset" | "xtrace") {
                    return None;
                }
                at += 1;
            }
            Some("-" | "--") => return words.get(at + 1).filter(|_| is_text),
            Some(text) if text.starts_with('-') && text[1..].chars().all(|char| "ceux".contains(char)) => {
                is_text |= text.contains('c');
            }
            Some(text) => return (is_text && !text.starts_with(['-', '+'])).then_some(word),
        }
        at += 1;
    }
}

/// Whether what a word turns out to be can be an option.
fn may_be_option(word: &Word) -> bool {
    word.may_be_words() || word.first().is_none_or(|char| char == '-')
}
