//! More calls at once than the machine's limits allow: all descriptors of a process are used up.

use crate::{common::Env, own_process::is_own_process};
use beamai_base::Reason;
use beamai_engine::CallOutcome;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

#[test]
fn a_thousand_calls_at_once_run_or_are_refused_as_busy() {
    if !is_own_process(module_path!(), "a_thousand_calls_at_once_run_or_are_refused_as_busy") {
        return;
    }
    let env = Env::new();
    let few = Rlimit { current: Some(300), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, few).unwrap();
    let outcomes: Vec<CallOutcome> = std::thread::scope(|scope| {
        let call = |number| {
            let env = &env;
            scope.spawn(move || env.call(json!({"command": format!("echo {number}; sleep 0.2")})))
        };
        let threads: Vec<_> = (0..1000).map(call).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut ran = 0;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            CallOutcome::Ok(result, _) => {
                assert_eq!(result["stdout"], format!("{number}\n"));
                ran += 1;
            }
            CallOutcome::Error(error) => assert_eq!(error.reason, Reason::Busy, "{error}"),
            other => panic!("{other:?}"),
        }
    }
    assert!((10..1000).contains(&ran), "{ran} ran");
    assert_eq!(env.stdout("echo after"), "after\n");
}
