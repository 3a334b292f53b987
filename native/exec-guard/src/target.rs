//! The program and arguments of a start.

use super::listener::Notification;
use super::memory::{ArgumentList, ProcessMemory};
use super::resolver::{ProgramResolver, ResolvedProgram};
use beamai_isolation::{NamedFile, interpreter_arguments, is_loader, loaded_arguments};
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The program of a start and its arguments, at the time of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartTarget {
    pub(super) program: ResolvedProgram,
    pub(super) words: ArgumentList,
    /// The path as the caller gave it.
    pub(super) given: OsString,
    /// If the program is the dynamic loader: the program that it is told to load, if that is found.
    pub(super) loaded: NamedFile,
}

impl StartTarget {
    /// Reads and resolves what a notification is about.
    ///
    /// # Errors
    /// The errno that the Linux kernel would return, as far as it can be determined.
    pub(super) fn of(report: &Notification, resolver: &ProgramResolver<'_>) -> Result<Self, Errno> {
        let call = ExecCall::of(report);
        let memory = ProcessMemory(report.thread);
        let path = memory.path(call.path)?;
        let program = call.find(&path, resolver)?;
        Ok(Self::with(program, call.given(path), memory.words(call.words)?, resolver))
    }

    /// A resolved program with its arguments.
    pub(super) fn with(
        mut program: ResolvedProgram,
        given: OsString,
        words: ArgumentList,
        resolver: &ProgramResolver<'_>,
    ) -> Self {
        let loaded = if loads(&program) { loaded(&words.list, resolver) } else { NamedFile::default() };
        for at in 0..program.interpreters.len() {
            let (chain, _) = program.interpreters.split_at(at + 1);
            if chain[at].program.names.iter().any(|name| is_loader(name)) {
                let arguments = interpreter_arguments(chain, &given, &words.list);
                program.interpreters[at].loaded = self::loaded(&arguments, resolver);
            }
        }
        Self { program, words, given, loaded }
    }
}

/// Whether a program is the dynamic loader.
pub(super) fn loads(program: &ResolvedProgram) -> bool {
    is_loader(&program.called) || is_loader(&program.file)
}

/// The program that the loader loads when it gets these arguments.
fn loaded(arguments: &[OsString], resolver: &ProgramResolver<'_>) -> NamedFile {
    let program = loaded_arguments(arguments).first();
    let program = program.and_then(|path| resolver.program(path.as_bytes(), "cwd").ok());
    program.map_or_else(NamedFile::default, ResolvedProgram::into_named)
}

/// The arguments of `execve` or `execveat`.
struct ExecCall {
    /// The directory that a relative path starts from, as a link in the process's `/proc` directory.
    directory: Cow<'static, str>,
    path: u64,
    words: u64,
    /// Whether an empty path means the descriptor itself (`AT_EMPTY_PATH`).
    takes_descriptor: bool,
}

impl ExecCall {
    fn of(report: &Notification) -> Self {
        let [first, second, third, _, flags, _] = report.arguments;
        let cwd = Cow::Borrowed("cwd");
        if report.call == libc::SYS_execve {
            return Self { directory: cwd, path: first, words: second, takes_descriptor: false };
        }
        // The Linux kernel uses the lower 32 bits.
        let directory = match first as i32 {
            libc::AT_FDCWD => cwd,
            fd => format!("fd/{fd}").into(),
        };
        let takes_descriptor = flags as i32 & libc::AT_EMPTY_PATH != 0;
        Self { directory, path: second, words: third, takes_descriptor }
    }

    /// What the Linux kernel tells an interpreter as the path of its script.
    fn given(&self, path: Vec<u8>) -> OsString {
        let path = OsString::from_vec(path);
        if self.directory == "cwd" || Path::new(&path).is_absolute() {
            return path;
        }
        let mut given = OsString::from(format!("/dev/{}", self.directory));
        if !path.is_empty() {
            given.push("/");
            given.push(path);
        }
        given
    }

    fn find(&self, path: &[u8], resolver: &ProgramResolver<'_>) -> Result<ResolvedProgram, Errno> {
        match path.is_empty() && self.takes_descriptor {
            true => resolver.program_of(&self.directory),
            false => resolver.program(path, &self.directory),
        }
    }
}
