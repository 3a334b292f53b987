mod doubts;
mod everyday;
mod programs;
mod redirections;
mod words;

use super::*;

const HOME: Option<&str> = Some("/h");

fn programs(command: &str) -> Vec<String> {
    analyse(command, HOME).programs.iter().map(Invocation::shown).collect()
}

/// Whether a command is understood. As the text that a shell is started with, it is not better understood.
#[track_caller]
fn is_sure(command: &str) -> bool {
    let is_certain = analyse(command, HOME).is_certain();
    let shell = ["bash", "-c", command].map(str::to_owned);
    assert!(is_certain || !started(&shell).is_certain(), "{command}");
    is_certain
}

#[track_caller]
fn runs(command: &str, expected: &[&str]) {
    assert_eq!(programs(command), expected, "{command}");
    assert!(is_sure(command), "{command}: {:?}", analyse(command, HOME));
}

#[track_caller]
fn doubted(command: &str) {
    assert!(!is_sure(command), "{command}: {:?}", analyse(command, HOME));
}
