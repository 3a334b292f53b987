//! The program and arguments of a start.

use super::listener::Notification;
use super::memory::{ArgumentList, ProcessMemory};
use super::resolver::{ProgramResolver, ResolvedProgram};
use beamai_isolation::{is_loader, loaded_arguments};
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The program of a start and its arguments, at the time of reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StartTarget {
    pub(super) program: ResolvedProgram,
    pub(super) words: ArgumentList,
    /// If the program is the dynamic loader: every name of the program that it is told to load, if that is found.
    pub(super) loaded: Vec<PathBuf>,
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
        Ok(Self::with(program, memory.words(call.words)?, resolver))
    }

    /// A resolved program with its arguments.
    pub(super) fn with(
        program: ResolvedProgram,
        words: ArgumentList,
        resolver: &ProgramResolver<'_>,
    ) -> Self {
        let is_loader = is_loader(&program.called) || is_loader(&program.file);
        let operand = loaded_arguments(&words.list).first().filter(|_| is_loader);
        let loaded = operand.and_then(|path| resolver.program(path.as_bytes(), "cwd").ok());
        let mut loaded = loaded.map_or_else(Vec::new, |program| {
            [vec![program.called], program.links, vec![program.file]].concat()
        });
        loaded.dedup();
        Self { program, words, loaded }
    }
}

/// The arguments of `execve` or `execveat`.
struct ExecCall {
    /// The directory that a relative path starts from, as a link in the process's `/proc` directory.
    directory: String,
    path: u64,
    words: u64,
    /// Whether an empty path means the descriptor itself (`AT_EMPTY_PATH`).
    takes_descriptor: bool,
}

impl ExecCall {
    fn of(report: &Notification) -> Self {
        let [first, second, third, _, flags, _] = report.arguments;
        let cwd = || "cwd".to_owned();
        if report.call == libc::SYS_execve {
            return Self { directory: cwd(), path: first, words: second, takes_descriptor: false };
        }
        // The Linux kernel uses the lower 32 bits.
        let directory = match first as i32 {
            libc::AT_FDCWD => cwd(),
            fd => format!("fd/{fd}"),
        };
        let takes_descriptor = flags as i32 & libc::AT_EMPTY_PATH != 0;
        Self { directory, path: second, words: third, takes_descriptor }
    }

    fn find(&self, path: &[u8], resolver: &ProgramResolver<'_>) -> Result<ResolvedProgram, Errno> {
        match path.is_empty() && self.takes_descriptor {
            true => resolver.program_of(&self.directory),
            false => resolver.program(path, &self.directory),
        }
    }
}
