//! The port program: runs tools in a process of their own, for the BEAM (`serve`) and for the command line.

mod args;
mod call;
mod doctor;
mod keeper;
mod leftovers;
mod mcp;
mod options;
mod refusal;
mod serve;
mod starts;
mod temp_dir;
mod terminal;
mod tools;

use args::UsageError;
use std::process::ExitCode;

const HELP: &str = "\
beamai-port: the tools of beamai in a process of their own

usage: beamai-port <command> [options]

commands:
  tools      list the tools, as JSON
  call       call one tool and print its result, as JSON
  mcp        serve the tools to clients of the Model Context Protocol
  doctor     tell which isolation layers, programs and language servers are there, and what is missing
  serve      answer calls on file descriptors 3 and 4; started by the Erlang side

beamai-port <command> --help says more about a command.
";

fn main() -> ExitCode {
    // Internal: the launcher of processes is this program, started by itself.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|command| command == "launcher") {
        return beamai_process::launcher_main();
    }
    // Internal: the worker of the git tools.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|command| command == beamai_git::COMMAND) {
        return beamai_git::worker_main();
    }
    // Internal: attempts to escape from the sandbox, for `doctor` and for tests.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|command| command == "attack") {
        let arguments = std::env::args_os().skip(2).map(|text| text.to_string_lossy().into_owned());
        return beamai_sandbox::attack_main(&arguments.collect::<Vec<_>>());
    }
    if std::env::args_os().nth(1).is_some_and(|command| command == keeper::COMMAND) {
        return keeper::main();
    }
    keeper::promise();
    #[cfg(target_os = "linux")]
    beamai_process::set_program("/proc/self/exe");
    let mut parser = lexopt::Parser::from_env();
    match run(&mut parser) {
        Ok(code) => code,
        Err(usage) => {
            eprintln!("beamai-port: {usage}");
            ExitCode::from(2)
        }
    }
}

fn run(parser: &mut lexopt::Parser) -> Result<ExitCode, UsageError> {
    use lexopt::prelude::{Long, Short, Value};
    match parser.next()? {
        Some(Long("help") | Short('h')) => Ok(args::print(HELP)),
        Some(Long("version") | Short('V')) => {
            Ok(args::print(concat!("beamai-port ", env!("CARGO_PKG_VERSION"), "\n")))
        }
        Some(Value(command)) => match command.to_str() {
            Some("tools") => tools::main(parser),
            Some("call") => call::main(parser),
            Some("mcp") => mcp::main(parser),
            Some("doctor") => doctor::main(parser),
            Some("serve") => {
                let ended = serve::main(parser);
                // A host that was killed cannot do this itself.
                keeper::clean_up();
                ended
            }
            _ => Err(UsageError(format!(
                "there is no command {command:?}; there are tools, call, mcp, doctor and serve; see --help"
            ))),
        },
        Some(other) => Err(other.unexpected().into()),
        None => Err(UsageError("a command is missing: tools, call, mcp, doctor or serve; see --help".into())),
    }
}
