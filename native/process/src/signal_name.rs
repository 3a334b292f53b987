//! Names of signals.

use libc::{
    SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGINT, SIGIO, SIGKILL, SIGPIPE, SIGPROF, SIGPWR,
    SIGQUIT, SIGSEGV, SIGSYS, SIGTERM, SIGTRAP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};

/// Signals that terminate a process by default.
const NAMES: [(i32, &str); 22] = [
    (SIGABRT, "SIGABRT"),
    (SIGALRM, "SIGALRM"),
    (SIGBUS, "SIGBUS"),
    (SIGFPE, "SIGFPE"),
    (SIGHUP, "SIGHUP"),
    (SIGILL, "SIGILL"),
    (SIGINT, "SIGINT"),
    (SIGIO, "SIGIO"),
    (SIGKILL, "SIGKILL"),
    (SIGPIPE, "SIGPIPE"),
    (SIGPROF, "SIGPROF"),
    (SIGPWR, "SIGPWR"),
    (SIGQUIT, "SIGQUIT"),
    (SIGSEGV, "SIGSEGV"),
    (SIGSYS, "SIGSYS"),
    (SIGTERM, "SIGTERM"),
    (SIGTRAP, "SIGTRAP"),
    (SIGUSR1, "SIGUSR1"),
    (SIGUSR2, "SIGUSR2"),
    (SIGVTALRM, "SIGVTALRM"),
    (SIGXCPU, "SIGXCPU"),
    (SIGXFSZ, "SIGXFSZ"),
];

/// The name of a signal that can terminate a process; `signal 34` for those without a name.
pub fn signal_name(number: i32) -> String {
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {number}"),
    }
}
