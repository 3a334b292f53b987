//! Program starts in the sandbox, and the decisions about them.
//!
//! The exec guard (the crate `beamai-exec-guard`) reports every `execve` and `execveat` before it happens, with the
//! file and the process that starts it, and every file that a shell opens to write. A judge, which runs in the port outside
//! of the sandbox, decides whether the program may start.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Options of the dynamic loader that take the next argument as their value.
const LOADERS_VALUED: [&str; 7] = [
    "--library-path",
    "--inhibit-rpath",
    "--audit",
    "--preload",
    "--argv0",
    "--glibc-hwcaps-prepend",
    "--glibc-hwcaps-mask",
];

/// Device and inode number.
pub type FileIdentity = (u64, u64);

/// A file with every path by which it was reached: as it was named, after each symbolic link, and its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFile {
    /// The paths. Empty if there is no such file.
    pub names: Vec<PathBuf>,
    /// The file itself.
    pub identity: FileIdentity,
}

/// A `#!` interpreter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interpreter {
    /// The interpreter, by the name in the script.
    pub program: NamedFile,
    /// What follows it in that line: one argument, whatever blanks are in it.
    pub argument: Option<OsString>,
    /// If it is the dynamic loader: the program that it is to load.
    pub loaded: NamedFile,
}

/// A program that is about to start. Paths are absolute, as seen in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramStart {
    /// The path as given by the caller, made absolute and without `.` and `..`.
    pub called: PathBuf,
    /// The path after each symbolic link, in order: each is another name of the file.
    pub links: Vec<PathBuf>,
    /// The file itself.
    pub file: PathBuf,
    /// The file's identity.
    pub identity: FileIdentity,
    /// The path as the caller gave it, which the interpreter of a script gets.
    pub given: OsString,
    /// If the file is the dynamic loader: the program that it is to load, if that was found. That program does not appear
    /// as a start of its own.
    pub loaded: NamedFile,
    /// The chain of `#!` interpreters: that of the file, then that of the interpreter if it is a script, and so on.
    pub interpreters: Vec<Interpreter>,
    /// The interpreters that the file, or the last of its interpreters, may have as an ELF file (`PT_INTERP`), without
    /// the system's dynamic loader. They run with the start's arguments.
    pub elf_interpreters: Vec<NamedFile>,
    /// The arguments, shortened. The first one is the name of the program as given by the caller, which may differ from
    /// the file's name: some programs behave according to it.
    pub arguments: Vec<OsString>,
    /// Whether [`arguments`](Self::arguments) is complete.
    pub has_all_arguments: bool,
    /// Whether commands can write to the file, a link to it, or a directory that contains one of these.
    pub is_writable: bool,
    /// The process that starts it.
    pub starter: Starter,
}

impl ProgramStart {
    /// Whether the file is the dynamic loader, which can start a program without another `execve`.
    pub fn is_loader(&self) -> bool {
        is_loader(&self.called) || is_loader(&self.file)
    }

    /// The loader's arguments, from the program to load on.
    pub fn loaded_arguments(&self) -> &[OsString] {
        loaded_arguments(&self.arguments)
    }
}

/// The arguments, name first, with which the Linux kernel starts the last of these interpreters of a script.
pub fn interpreter_arguments(
    interpreters: &[Interpreter],
    given: &OsStr,
    arguments: &[OsString],
) -> Vec<OsString> {
    let mut list = arguments.to_vec();
    let mut script = given.to_owned();
    for Interpreter { program, argument, .. } in interpreters {
        let name = program.names.first().map(|name| name.clone().into_os_string()).unwrap_or_default();
        let own = [Some(name.clone()), argument.clone(), Some(std::mem::replace(&mut script, name))];
        list.splice(..list.len().min(1), own.into_iter().flatten());
    }
    list
}

/// Whether a file has the name of a dynamic loader.
pub fn is_loader(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ld-linux") || name.starts_with("ld-musl") || name == "ld.so" || name == "ld64.so"
}

/// The loader's arguments, from the program to load on. A value may look like an option. Only musl's loader knows `--`,
/// after which the program follows.
pub fn loaded_arguments(arguments: &[OsString]) -> &[OsString] {
    let mut rest = arguments.get(1..).unwrap_or_default();
    while let Some((option, more)) = rest.split_first() {
        if !option.as_encoded_bytes().starts_with(b"--") {
            break;
        }
        let own = 1 + usize::from(LOADERS_VALUED.iter().any(|valued| option == valued));
        rest = rest.get(own..).unwrap_or_default();
        if option == "--" {
            return more;
        }
    }
    rest
}

/// The process that starts a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// Its pid, as seen by the port.
    pub pid: i32,
    /// The file that it executes.
    pub program: PathBuf,
    /// Its arguments, shortened.
    pub arguments: Vec<OsString>,
    /// Whether [`arguments`](Self::arguments) is complete.
    pub has_all_arguments: bool,
    /// Its working directory, in which the program starts. Only set for a start that waits for an answer.
    pub directory: Option<PathBuf>,
    /// What its own start covers.
    pub coverage: StartCoverage,
}

/// Which starts the approval of a program's start covers, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StartCoverage {
    /// Only parts of the program itself: this entry of the judge's table.
    Parts(u16),
    /// None: its starts are judged like starts by the command's shell, and so are the files that it opens to write. For
    /// shells whose text was judged.
    JudgedWithFiles,
    /// None: its starts are judged like starts by the command's shell. For other shells, and for wrappers.
    Judged,
    /// All that no rule denies. For runners, and for commands that were approved as a whole.
    Everything,
}

impl StartCoverage {
    /// An entry that does not exist in any table.
    pub const NOTHING: Self = Self::Parts(u16::MAX);

    /// Whether its starts are judged like starts by the command's shell.
    pub fn is_judged(self) -> bool {
        matches!(self, Self::JudgedWithFiles | Self::Judged)
    }

    /// The coverage common to both.
    pub fn least(self, other: Self) -> Self {
        match (self, other) {
            (Self::Parts(one), Self::Parts(another)) if one != another => Self::NOTHING,
            _ => self.min(other),
        }
    }
}

/// The decision about a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartDecision {
    /// Allowed, with this coverage.
    Start(StartCoverage),
    /// Fails with `EACCES`.
    Refuse,
    /// Waits: the guard passes it to [`GuardJudge::hold`] and continues with other starts.
    Hold,
}

/// Decides what the exec guard reports of one command: the programs that start, and the files that its shells open to
/// write. Called on the guard's thread, so it must not block.
///
/// About starts, it is only asked about existing executable files. Two cases need no special treatment: the start of
/// the order's own program is not judged; and the start of a shortcut, in place of a shell, is judged like a start by
/// that shell: if it is not allowed at once, it fails, and the shell starts the same program.
pub trait GuardJudge: Send + Sync {
    /// Decides about a start.
    fn decide(&self, start: &ProgramStart) -> StartDecision;

    /// Whether a start goes on whoever makes it. Only asked where an order covers everything; what is not admitted is
    /// decided about.
    fn admits(&self, _: &ProgramStart) -> bool {
        false
    }

    /// Whether a program that is [`JudgedWithFiles`](StartCoverage::JudgedWithFiles) may open a file to write, by this
    /// path as it gave it, which leads to this file (`None`: unknown). Where the path is a descriptor of the shell that
    /// is open for reading only, it is the path of that descriptor's file. What is refused fails with `EACCES`.
    fn writes(&self, _path: &OsStr, _file: Option<&Path>, _by: &Starter) -> bool {
        true
    }

    /// Takes a start that needs approval. Dropping `held` refuses it.
    fn hold(&self, start: ProgramStart, held: Box<dyn HeldStart>);
}

impl std::fmt::Debug for dyn GuardJudge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GuardJudge")
    }
}

/// A start that waits for a decision. Dropping it refuses the start.
pub trait HeldStart: Send {
    /// Allows the start.
    fn start(self: Box<Self>, coverage: StartCoverage);

    /// Makes the start fail with `EACCES`.
    fn refuse(self: Box<Self>);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_to_load_follows_the_loaders_options_and_their_values() {
        for (given, expected) in [
            ("./p a", "./p a"),
            ("--library-path d ./p --argv0", "./p --argv0"),
            ("--inhibit-rpath --library-path ./p a", "./p a"),
            ("--argv0 --argv0 --inhibit-cache ./p", "./p"),
            ("--preload=x --audit x -p a", "-p a"),
            ("-- --library-path x", "--library-path x"),
            ("--library-path", ""),
            ("--inhibit-cache", ""),
            ("", ""),
        ] {
            let words: Vec<OsString> =
                ["ld.so"].into_iter().chain(given.split_ascii_whitespace()).map(Into::into).collect();
            assert_eq!(loaded_arguments(&words).join(OsStr::new(" ")), expected, "{given}");
        }
    }
}
