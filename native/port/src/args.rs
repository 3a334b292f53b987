//! Command-line parsing shared by the subcommands.

use beamai_base::describe;
use std::fmt;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::LazyLock;

/// An error in the command line; the program exits with code 2.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of this program in help and errors: that of its file in `priv`, or the installed one.
pub(crate) fn program() -> &'static str {
    static PROGRAM: LazyLock<&'static str> = LazyLock::new(|| {
        let called = std::env::args_os().next().unwrap_or_default();
        let is_installed = Path::new(&called).file_name().is_some_and(|name| name == INSTALLED);
        if is_installed { INSTALLED } else { "beamai-port" }
    });
    *PROGRAM
}

/// The name under which `make install` puts the program on the `PATH`.
pub(crate) const INSTALLED: &str = "beamai";

/// Whether this stream may be coloured: it is a terminal, and the environment does not forbid it (`NO_COLOR` with any
/// value, see <https://no-color.org>, or `TERM=dumb`).
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Prints to stdout. A closed pipe is not an error; a full disk is, with exit code 1.
pub(crate) fn print(text: impl AsRef<[u8]>) -> ExitCode {
    let mut out = std::io::stdout();
    written(out.write_all(text.as_ref()).and_then(|()| out.flush()))
}

/// The exit code after writing output.
pub(crate) fn written(result: std::io::Result<()>) -> ExitCode {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("{}: the output cannot be written: {}", program(), describe(&error));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
