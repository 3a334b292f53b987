//! Tools that work on the session, and questions to a person.

use beamai_base::{Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_workspace::Workspace;
use serde_json::{Value, json};

fn host() -> Host {
    let directory = std::env::temp_dir();
    let id = Workspace::open(&directory).unwrap().id();
    let settings: HostSettings = serde_json::from_value(json!({"workspace": id})).unwrap();
    Host::new(&settings, std::sync::Arc::default()).unwrap()
}

/// A session as a host keeps it: its state goes in with each call and comes back changed.
struct Session(Value);

impl Session {
    fn call(&mut self, tool: &str, args: Value) -> Result<Value, ToolError> {
        let call: CallRequest =
            serde_json::from_value(json!({"tool": tool, "args": args, "session": {"state": self.0}}))
                .unwrap();
        match host().call(call, CallOptions::default()) {
            CallOutcome::Ok(value, state) => {
                if let Some(state) = state {
                    self.0 = json!(state);
                }
                Ok(value)
            }
            CallOutcome::Error(error) => Err(error),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn tasks_are_added_listed_changed_and_removed() {
    let mut session = Session(json!({}));
    assert_eq!(session.call("todo_add", json!({"content": "Write it"})).unwrap()["id"], 1);
    let added = session.call("todo_add", json!({"content": "Test it", "active_form": "Testing it"})).unwrap();
    assert_eq!((added["id"].as_u64(), added["count"].as_u64()), (Some(2), Some(2)));
    session.call("todo_update", json!({"id": 1, "status": "in_progress"})).unwrap();
    let running = session.call("todo_list", json!({"status": "in_progress"})).unwrap();
    assert_eq!(running["todos"], json!([{"id": 1, "content": "Write it", "status": "in_progress"}]));
    session.call("todo_update", json!({"id": 1, "remove": true})).unwrap();
    assert_eq!(session.call("todo_list", json!({})).unwrap()["count"], 1);
}

#[test]
fn at_most_one_task_is_in_progress() {
    let mut session = Session(json!({}));
    session.call("todo_add", json!({"content": "One", "status": "in_progress"})).unwrap();
    let error = session.call("todo_add", json!({"content": "Two", "status": "in_progress"})).unwrap_err();
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert!(error.message.contains("One / Two"), "{}", error.message);
    assert_eq!(session.call("todo_list", json!({})).unwrap()["count"], 1);
}

#[test]
fn an_update_without_a_change_says_what_can_be_changed() {
    let mut session = Session(json!({}));
    session.call("todo_add", json!({"content": "One"})).unwrap();
    let error = session.call("todo_update", json!({"id": 1})).unwrap_err();
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert!(error.message.contains("give a status, content or active_form, or remove"), "{}", error.message);
}

#[test]
fn an_unknown_task_is_answered_with_the_ones_there_are() {
    let mut session = Session(json!({}));
    session.call("todo_add", json!({"content": "One"})).unwrap();
    let error = session.call("todo_update", json!({"id": 7, "status": "completed"})).unwrap_err();
    assert!(error.message.contains("no task has the id 7; there are: 1"), "{}", error.message);
}

fn ask(questions: &Value, answers: Option<Value>) -> CallOutcome {
    let mut call = json!({"tool": "human_input", "args": {"questions": questions}});
    if let Some(answers) = answers {
        call["answers"] = answers;
    }
    host().call(serde_json::from_value(call).unwrap(), CallOptions::default())
}

fn database() -> Value {
    json!([{
        "question": "Which database should we use?",
        "header": "Database",
        "options": [{"label": "PostgreSQL", "description": "Relational"}, {"label": "Redis", "description": "In memory"}],
    }])
}

#[test]
fn questions_go_to_the_host_and_its_answers_to_the_model() {
    let CallOutcome::Question(questions) = ask(&database(), None) else { panic!("nobody was asked") };
    assert_eq!(questions[0].options[0].label, "PostgreSQL");
    let answers = json!({"outcome": "answered", "answers": {"Which database should we use?": "Redis"}});
    let CallOutcome::Ok(value, _) = ask(&database(), Some(answers)) else { panic!("no result") };
    assert_eq!(value["outcome"], "answered");
    assert_eq!(value["answers"], json!({"Which database should we use?": "Redis"}));
}

#[test]
fn several_choices_come_as_one_text() {
    let answers =
        json!({"outcome": "answered", "answers": {"Which database should we use?": ["Redis", "my own"]}});
    let CallOutcome::Ok(value, _) = ask(&database(), Some(answers)) else { panic!("no result") };
    assert_eq!(value["answers"]["Which database should we use?"], "Redis, my own");
}

#[test]
fn a_refusal_and_a_missing_terminal_are_results_that_say_so() {
    for outcome in ["cancelled", "no_frontend"] {
        let CallOutcome::Ok(value, _) = ask(&database(), Some(json!({"outcome": outcome}))) else {
            panic!("no result")
        };
        assert_eq!((&value["outcome"], &value["answers"]), (&json!(outcome), &json!({})));
        assert!(value["text"].as_str().unwrap().len() > 20);
    }
}

#[test]
fn bad_questions_reach_nobody() {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let bad = [
        json!([]),
        json!([{"question": ""}]),
        json!([{"question": "q", "header": "more than twelve"}]),
        json!([{"question": "q", "options": [option("one")]}]),
        json!([{"question": "q", "options": [option("a"), option("a")]}]),
        json!([{"question": "q", "options": [option("a"), option("b"), option("c"), option("d"), option("e")]}]),
        json!([{"question": "q"}, {"question": "q"}]),
        json!([{"question": "1"}, {"question": "2"}, {"question": "3"}, {"question": "4"}, {"question": "5"}]),
    ];
    for questions in bad {
        let CallOutcome::Error(error) = ask(&questions, None) else { panic!("{questions} was asked") };
        assert_eq!(error.reason, Reason::InvalidArgument, "{questions}");
    }
}
