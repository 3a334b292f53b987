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

fn is_sure(command: &str) -> bool {
    let analysis = analyse(command, HOME);
    analysis.doubts.is_empty() && analysis.programs.iter().all(|program| program.hazard.is_none())
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
