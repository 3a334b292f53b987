//! The exec guard: every start of a program beneath a reaper is looked at from outside before it happens.
//!
//! The reaper installs a filter (`sandbox/exec_guard`) that has the kernel report each `execve` and `execveat`, and hands
//! the listener to the port. There, one thread for each guarded reaper (`supervisor`) takes the reports, one after the
//! other: it reads what is to be started from the memory of the process (`memory`), finds the file as the sandbox sees it
//! (`resolver`, `script`), finds out who starts it and what that one's own start covers (`task`, `lineage`), and asks the
//! judge of the order. The kernel goes on with the call, or fails it.
//!
//! What is answered with an error of the resolver's own (a file that is not there, one that may not be executed) is not
//! left to the kernel: what is missing when it is looked for could be there a moment later, unjudged.
//!
//! Limits: the kernel reads path and arguments again after the answer, so another thread of the process can change them
//! between, and another process can exchange a file or link in what can be written; such a start shows in
//! [`ProgramStart::is_writable`](beamai_isolation::ProgramStart::is_writable), and a process whose image is not the one that was judged
//! has [nothing](beamai_isolation::StartCoverage::NOTHING) covered. Against hostile native code the sandbox is the boundary.
//! Interpreters of the `binfmt_misc` kind are not foreseen: programs run by them have nothing covered, too.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]

mod expected_start;
mod lineage;
mod listener;
mod memory;
mod program_cache;
mod resolver;
mod script;
mod supervisor;
mod target;
mod task;
mod waiting_start;
mod writable;

pub use expected_start::{ExpectedStart, ProgramArgs, token};
pub use supervisor::GuardHandle;

/// Most bytes of a path, as the kernel has it.
const MAX_PATH: usize = 4095;
