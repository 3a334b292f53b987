//! Command-line parsing shared by the subcommands.

use std::fmt;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// An error in the command line; the program exits with code 2.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<lexopt::Error> for UsageError {
    fn from(error: lexopt::Error) -> Self {
        Self(format!("{error}; see --help"))
    }
}

/// The value of the next option, as text.
pub(crate) fn text(parser: &mut lexopt::Parser) -> Result<String, UsageError> {
    parser.value()?.into_string().map_err(|value| UsageError(format!("{value:?} is not valid UTF-8")))
}

/// Prints to stdout. A closed pipe is not an error; a full disk is, with exit code 1.
pub(crate) fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("beamai-port: the output cannot be written: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
