//! The exec guard: a supervisor outside the sandbox decides about every program start beneath a reaper, and about the
//! files that a command's shell opens to write.
//!
//! The reaper installs a seccomp filter (`exec_guard` in the sandbox crate) that reports each `execve` and `execveat`,
//! and files that may be opened by a shell (`file_open`), and passes the listener to the port. In the port, one thread
//! per guarded reaper (`supervisor`) handles the notifications in order. It reads path and arguments from the memory of
//! the process (`memory`), resolves the file as the sandbox sees it (`resolver`, `script`), determines which process
//! starts it and what that process is covered for (`task`, `lineage`), and asks the judge of the order. Then the Linux
//! kernel continues the system call or fails it.
//!
//! If the resolver finds no executable file, the supervisor fails the call itself. If the Linux kernel looked again, a file
//! created in between would start without a decision.
//!
//! Limits: the Linux kernel reads path and arguments again after the decision. Another thread of the process can change them
//! in between, and another process can exchange a file or link in a writable directory. Such a start is marked by
//! [`ProgramStart::is_writable`](beamai_isolation::ProgramStart::is_writable), and a process whose image differs from the
//! judged one is covered for [nothing](beamai_isolation::StartCoverage::NOTHING). Against hostile native code the sandbox is
//! the boundary. Interpreters registered with `binfmt_misc` are not recognised; programs that they run are covered for
//! nothing either.
//!
//! Linux only; empty on other systems.

#![cfg(target_os = "linux")]

mod elf;
mod expected_start;
mod file_open;
mod lineage;
mod listener;
mod memory;
mod program_cache;
mod resolver;
mod script;
mod slice;
mod supervisor;
mod target;
mod task;
mod waiting_start;
mod writable;

pub use expected_start::{ExpectedStart, ProgramArgs, token};
pub use supervisor::GuardHandle;

/// Maximum length of a path in bytes, without the final zero; the Linux kernel's limit.
const MAX_PATH: usize = 4095;
