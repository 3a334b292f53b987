//! Sub-agents: the core hands the work to the host and takes the report.

use super::env::Env;
use super::signature::check;
use beamai_base::Reason;
use beamai_engine::CallOutcome;
use serde_json::json;

fn task() -> serde_json::Value {
    json!({"agent": "reviewer", "objective": "Review src."})
}

#[test]
fn the_work_goes_to_the_host_and_its_report_to_the_model() {
    for dialect in ["beamai", "coder"] {
        check(dialect, "task", "agent:string! objective:string!", "summary state error");
        let env = Env::new(dialect);
        let CallOutcome::Delegate(work) = env.outcome("task", &task(), json!({})) else {
            panic!("it was not delegated")
        };
        assert_eq!((work.agent.as_str(), work.objective.as_str()), ("reviewer", "Review src."));
        let report = json!({"report": {"summary": "All is well."}});
        let CallOutcome::Ok(done, _) = env.outcome("task", &task(), report) else { panic!("no result") };
        assert_eq!((&done["summary"], &done["state"]), (&json!("All is well."), &json!("completed")));
        let report = json!({"report": {
            "summary": "Half of it.", "state": "out_of_budget", "error": "its time was over", "agent": "reviewer",
            "tool_calls": 3, "usage": {"total_tokens": 5},
        }});
        let CallOutcome::Ok(done, _) = env.outcome("task", &task(), report) else { panic!("no result") };
        assert_eq!((&done["state"], &done["usage"]["total_tokens"]), (&json!("out_of_budget"), &json!(5)));
    }
}

#[test]
fn somebody_is_asked_about_the_agent_before() {
    let env = Env::with("coder", json!({}));
    let CallOutcome::Ask(request) = env.outcome("task", &task(), json!({})) else {
        panic!("nobody was asked")
    };
    assert_eq!((&request["rule"], &request["subject"]), (&json!("Task"), &json!("Task(reviewer)")));
    let approved = json!({"approved": request["fingerprint"]});
    assert!(matches!(env.outcome("task", &task(), approved), CallOutcome::Delegate(_)));
    let env = Env::with("coder", json!({"deny": ["Task"]}));
    env.refuses(&[("task", task(), Reason::Denied)]);
}

#[test]
fn bad_input_is_refused() {
    Env::new("coder").refuses(&[
        ("task", json!({"agent": "reviewer"}), Reason::InvalidArgument),
        ("task", json!({"agent": "a) b", "objective": "x"}), Reason::InvalidArgument),
        ("task", json!({"agent": "", "objective": "x"}), Reason::InvalidArgument),
        ("task", json!({"agent": "reviewer", "objective": " \n"}), Reason::InvalidArgument),
    ]);
}
