//! The port program: runs tools in a process of their own, for the BEAM (`serve`) and for the command line.

mod args;
mod attended_call;
mod call;
mod cli;
mod completer;
mod completions;
mod doctor;
mod help;
mod keeper;
mod man;
mod mcp;
mod options;
mod progress_line;
mod serve;
mod settings_file;
mod terminal;
mod told_to_end;
mod tool_flags;
mod tools;
mod unique_keys;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    beamai_process::ignore_signals_of_writes();
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
    // Internal: removes what a worker leaves behind if this program is killed.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|command| command == beamai_git::KEEPER) {
        return beamai_git::keeper_main();
    }
    // Internal: attempts to escape from the sandbox, for `doctor` and for tests.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|command| command == "attack") {
        let arguments = std::env::args_os().skip(2).map(|text| text.to_string_lossy().into_owned());
        return beamai_sandbox::attack_main(&arguments.collect::<Vec<_>>());
    }
    // Internal: says what can follow on a command line, for the scripts of `completions`.
    if std::env::args_os().nth(1).is_some_and(|command| command == completer::COMMAND) {
        return completer::main(&std::env::args_os().skip(2).collect::<Vec<_>>());
    }
    if std::env::args_os().nth(1).is_some_and(|command| command == keeper::COMMAND) {
        return keeper::main();
    }
    keeper::promise();
    beamai_git::use_system_settings();
    #[cfg(target_os = "linux")]
    beamai_process::set_program("/proc/self/exe");
    let ended = cli::run(std::env::args_os().collect());
    told_to_end::end_commands();
    beamai_private_dir::delete_all();
    told_to_end::exit_code().unwrap_or(ended)
}
