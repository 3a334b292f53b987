//! Attempts to escape from the sandbox, as a command could make them. The port's `doctor` uses them to verify its
//! layers, and so do the tests; outside of a sandbox they succeed.
//!
//! None of them does harm: files are created at paths from the caller, and signals are those that are ignored.

mod calls;
mod kernel;
mod reach;
mod use_up;

pub use reach::started;

use std::io;
use std::process::ExitCode;

/// An attempt: its name, its arguments, and a function that tells whether it succeeded.
struct Attack {
    name: &'static str,
    /// Number of arguments.
    arguments: usize,
    attempt: fn(&[String]) -> io::Result<()>,
}

const ATTACKS: &[Attack] = &[
    // What can be reached.
    Attack { name: "write", arguments: 1, attempt: |of| reach::write(&of[0]) },
    Attack { name: "open", arguments: 1, attempt: |of| reach::open(&of[0]) },
    Attack { name: "tcp", arguments: 1, attempt: |of| reach::tcp(&of[0]) },
    Attack { name: "udp", arguments: 1, attempt: |of| reach::udp(&of[0]) },
    Attack { name: "unix", arguments: 1, attempt: |of| reach::unix(&of[0]) },
    Attack { name: "abstract", arguments: 1, attempt: |of| reach::abstract_socket(&of[0]) },
    Attack { name: "datagram_pair", arguments: 1, attempt: |of| reach::datagram_pair(&of[0]) },
    Attack { name: "process", arguments: 1, attempt: |of| reach::process(&of[0]) },
    Attack { name: "process_of", arguments: 2, attempt: |of| reach::process_of(&of[0], &of[1]) },
    Attack { name: "end", arguments: 1, attempt: |of| reach::end(&of[0]) },
    Attack { name: "signal", arguments: 1, attempt: |of| reach::signal(&of[0]) },
    Attack { name: "shared_memory", arguments: 1, attempt: |of| reach::shared_memory(&of[0]) },
    Attack { name: "namespace", arguments: 2, attempt: |of| reach::namespace(&of[0], &of[1]) },
    Attack { name: "start", arguments: 1, attempt: |of| reach::start(&of[0]) },
    // What the kernel can be asked for.
    Attack { name: "users", arguments: 0, attempt: |_| kernel::users() },
    Attack { name: "capability", arguments: 0, attempt: |_| kernel::capability() },
    Attack { name: "privileges", arguments: 0, attempt: |_| kernel::privileges() },
    Attack { name: "call", arguments: 1, attempt: |of| calls::call(&of[0]) },
    Attack { name: "foreign", arguments: 0, attempt: |_| kernel::foreign() },
    Attack { name: "other_numbers", arguments: 0, attempt: |_| kernel::other_numbers() },
    Attack { name: "limit", arguments: 1, attempt: |of| kernel::limit(&of[0]) },
    Attack { name: "priority", arguments: 1, attempt: |of| kernel::priority(&of[0]) },
    Attack { name: "terminal", arguments: 0, attempt: |_| kernel::terminal() },
    // What can be used up.
    Attack { name: "memory", arguments: 1, attempt: |of| use_up::memory(&of[0]) },
    Attack { name: "memory_together", arguments: 2, attempt: |of| use_up::memory_together(&of[0], &of[1]) },
    Attack { name: "dropped_memory", arguments: 2, attempt: |of| use_up::dropped_memory(&of[0], &of[1]) },
    Attack { name: "page_tables", arguments: 1, attempt: |of| use_up::page_tables(&of[0]) },
    Attack { name: "processes", arguments: 1, attempt: |of| use_up::processes(&of[0]) },
];

/// Makes the attempt that the arguments name. Exits with 0 if it succeeded, with 1 if it was refused (the reason is
/// printed to standard error), and with 2 if there is no such attempt.
pub fn attack_main(arguments: &[String]) -> ExitCode {
    let Some((name, rest)) = arguments.split_first() else { return unknown("") };
    match ATTACKS.iter().find(|attack| attack.name == name) {
        Some(attack) if attack.arguments == rest.len() => match (attack.attempt)(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{name}: {error}");
                ExitCode::FAILURE
            }
        },
        _ => unknown(name),
    }
}

fn unknown(name: &str) -> ExitCode {
    let names: Vec<_> = ATTACKS.iter().map(|attack| attack.name).collect();
    eprintln!("there is no attempt {name:?} with these arguments; there are: {}", names.join(", "));
    ExitCode::from(2)
}

/// The error of a system call that returned `result`, if it failed.
fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn number<T: std::str::FromStr>(text: &str) -> io::Result<T> {
    text.parse().map_err(|_| io::Error::other(format!("{text:?} is not a number")))
}
