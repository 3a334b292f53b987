//! A program that exchanges a link, or a directory, again and again while tools open files through it: what rules keep
//! from a tool stays kept, whichever of the two is there when.
//!
//! Each tool is tried for about a second; `BEAMAI_EXCHANGE_SECONDS=10` makes it longer, and then so many exchanges must
//! have been seen that the race was a race. The controls do what a tool must not do, and show that it can be lost.
#![cfg(target_os = "linux")]

mod control;
mod exchanger;
mod fixture;
mod policy;
mod tools;

use exchanger::Exchanger;
use fixture::{Fixture, Kind};
use policy::Policy;
use std::time::{Duration, Instant};
use tools::Tool;

/// Seconds for which a tool is tried.
fn seconds() -> f64 {
    std::env::var("BEAMAI_EXCHANGE_SECONDS").map_or(1.0, |text| text.parse().unwrap())
}

/// Exchanges that a second must bring at least, on a machine that has other things to do.
const EXCHANGES: f64 = 500.0;

/// How long a round goes on on a slow machine, until it has seen both a call that was done and one that was refused.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came of a tool's calls while things were exchanged.
#[derive(Debug, Default)]
struct Tried {
    exchanges: u64,
    done: u64,
    refused: u64,
    /// Why a call was refused last.
    why: String,
}

impl Tried {
    fn add(&mut self, other: &Self) {
        self.exchanges += other.exchanges;
        self.done += other.done;
        self.refused += other.refused;
    }
}

/// Tries one tool under every policy with every kind of exchange.
fn attack(tool: &Tool) {
    let rounds: Vec<_> =
        tool.kinds.iter().flat_map(|kind| Policy::ALL.map(|policy| (*kind, policy))).collect();
    let time = Duration::from_secs_f64(seconds() / rounds.len() as f64);
    let mut all = Tried::default();
    for (kind, policy) in rounds {
        let fixture = Fixture::new();
        let tried = round(tool, &fixture, kind, policy, time);
        assert!(tried.done > 0, "{}, {kind:?}, {policy:?}: nothing was ever allowed: {tried:?}", tool.name);
        assert!(
            tried.refused > 0,
            "{}, {kind:?}, {policy:?}: nothing was ever refused: {tried:?}",
            tool.name
        );
        all.add(&tried);
    }
    println!("{}: {} exchanges, {} calls done, {} refused", tool.name, all.exchanges, all.done, all.refused);
    assert!(all.exchanges as f64 >= EXCHANGES * seconds(), "{}: no race: {all:?}", tool.name);
}

fn round(tool: &Tool, fixture: &Fixture, kind: Kind, policy: Policy, time: Duration) -> Tried {
    let host = policy.host(fixture);
    let (one, other) = kind.exchanged();
    let exchanger = Exchanger::start(fixture.path(one), fixture.path(other));
    let (mut tried, end) = (Tried::default(), Instant::now() + time);
    let mut turn = 0;
    // A slow machine gets as long as it needs to see both.
    let patience = Instant::now() + PATIENCE;
    while Instant::now() < end || (tried.done == 0 || tried.refused == 0) && Instant::now() < patience {
        let args = (tool.args)(kind, turn);
        turn += 1;
        match policy.call(&host, tool.name, args) {
            Ok(result) => {
                assert!(!result.contains(tool.secret), "{}, {kind:?}, {policy:?}: {result}", tool.name);
                let is_empty = tool.is_search && !result.contains(fixture::HARMLESS);
                *(if is_empty { &mut tried.refused } else { &mut tried.done }) += 1;
            }
            Err(error) => {
                assert!(!error.contains(tool.secret), "{}, {kind:?}, {policy:?}: {error}", tool.name);
                tried.refused += 1;
                tried.why = error;
            }
        }
        if let Some(harm) = fixture.harm() {
            panic!("{}, {kind:?}, {policy:?}, after {tried:?}: {harm}", tool.name);
        }
        (tool.tidy)(fixture, kind);
    }
    tried.exchanges = exchanger.stop();
    tried
}

macro_rules! tests {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            attack(&tools::$name());
        }
    )*};
}

tests! {
    file_read
    file_grep
    file_glob
    file_list
    file_write
    file_write_new
    file_append
    file_edit
    file_patch
    file_patch_new
    file_patch_delete
}
