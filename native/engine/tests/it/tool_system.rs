//! The scenarios of the tool system's requirements that concern the trait and the registry, by their names.

use beamai_base::Reason;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings, catalogue};
use beamai_schema::{Parameters, Provider, render};
use beamai_tool::{CallContext, ToolRegistry};
use beamai_workspace::Workspace;
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn probe() -> ToolRegistry {
    catalogue::dialect("probe").unwrap().clone()
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn settings(directory: &std::path::Path, permissions: Value) -> HostSettings {
    let id = Workspace::open(directory).unwrap().id();
    serde_json::from_value(json!({"workspace": id, "permissions": permissions})).unwrap()
}

fn call(tool: &str, args: Value) -> CallRequest {
    serde_json::from_value(json!({"tool": tool, "args": args})).unwrap()
}

#[test]
fn tool_basic_information() {
    for name in catalogue::dialects() {
        for tool in catalogue::dialect(name).unwrap().iter() {
            assert!(!tool.name().is_empty());
            assert!(tool.description().len() > 5, "{}", tool.name());
            let schema =
                render(Provider::Mcp, tool.name(), tool.description(), tool.parameters(), false).schema;
            follows_json_schema(&schema["inputSchema"]);
            assert_eq!(tool.output_schema()["type"], "object", "{}", tool.name());
        }
    }
}

fn follows_json_schema(schema: &Value) {
    assert_eq!(schema["type"], "object");
    for (name, property) in schema["properties"].as_object().unwrap() {
        let known = ["string", "integer", "number", "boolean", "array", "object"];
        assert!(known.contains(&property["type"].as_str().unwrap()), "{name}");
        assert!(property["description"].is_string(), "{name} says nothing to the model");
    }
    for name in schema["required"].as_array().unwrap() {
        assert!(schema["properties"].get(name.as_str().unwrap()).is_some());
    }
}

#[test]
fn tool_execution() {
    let directory = tempfile::tempdir().unwrap();
    let cx = CallContext::new(Workspace::open(directory.path()).unwrap());
    let tool = probe().get("probe_noop").unwrap().clone();
    let Ok(value) = tool.execute(map(json!({"echo": "back"})), &cx) else { panic!("it failed") };
    assert_eq!(value, json!({"echo": "back"}));
}

#[test]
fn permission_requirements() {
    let directory = tempfile::tempdir().unwrap();
    let host =
        Host::new(&settings(directory.path(), json!({"default": "ask"})), std::sync::Arc::default()).unwrap();
    let CallOutcome::Ask(request) = host.call(call("probe_noop", json!({})), CallOptions::default()) else {
        panic!("it ran")
    };
    let mut approved = call("probe_noop", json!({}));
    approved.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
    assert!(matches!(host.call(approved, CallOptions::default()), CallOutcome::Ok(..)));
}

#[test]
fn an_approval_holds_for_the_approved_call_alone() {
    let directory = tempfile::tempdir().unwrap();
    let host =
        Host::new(&settings(directory.path(), json!({"default": "ask"})), std::sync::Arc::default()).unwrap();
    let CallOutcome::Ask(request) = host.call(call("probe_noop", json!({})), CallOptions::default()) else {
        panic!("it ran")
    };
    let mut other = call("probe_noop", json!({"echo": "something else"}));
    other.approved = Some(request["fingerprint"].as_str().unwrap().to_owned());
    let CallOutcome::Error(error) = host.call(other, CallOptions::default()) else { panic!("it ran") };
    assert_eq!(error.reason, Reason::NeedsApproval);
}

#[test]
fn register_tool() {
    let mut registry = ToolRegistry::new();
    let tool = probe().get("probe_noop").unwrap().clone();
    registry.register(Arc::clone(&tool)).unwrap();
    assert!(registry.get("probe_noop").is_some());
    let error = registry.register(tool).unwrap_err();
    assert!(error.message.contains("\"probe_noop\" is registered already"));
    assert_eq!(registry.list().len(), 1);
}

#[test]
fn get_tool() {
    assert_eq!(probe().get("probe_noop").unwrap().name(), "probe_noop");
    assert!(probe().get("no_such_tool").is_none());
}

#[test]
fn list_tools() {
    let registry = probe();
    let listed = registry.list();
    assert!(listed.contains(&("probe_panic", "Crashes.")));
    assert_eq!(listed.len(), registry.iter().count());
}

#[test]
fn filter_tools() {
    let filtered = probe().filter(&["probe_noop", "no_such_tool"]);
    assert_eq!(filtered.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["probe_noop"]);
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_names() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::new(&settings(directory.path(), json!({})), std::sync::Arc::default()).unwrap();
    let mut wrong = call("probe_nop", json!({}));
    wrong.dialect = Some("probe".to_owned());
    let CallOutcome::Error(error) = host.call(wrong, CallOptions::default()) else { panic!("it ran") };
    assert_eq!((error.reason, error.tool.as_str()), (Reason::UnknownTool, "probe_nop"));
    assert!(error.message.contains("did you mean probe_noop"), "{}", error.message);
}

#[test]
fn a_panic_in_a_tool_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let host = Host::new(&settings(directory.path(), json!({})), std::sync::Arc::default()).unwrap();
    let CallOutcome::Error(error) = host.call(call("probe_panic", json!({})), CallOptions::default()) else {
        panic!("it ran")
    };
    assert_eq!(error.reason, Reason::Crash);
    assert!(error.message.contains("asked to crash"), "{}", error.message);
}

#[test]
fn a_strict_schema_requires_everything_and_lets_the_optional_be_null() {
    let parameters: Parameters = serde_json::from_value(json!({
        "path": {"type": "string", "required": true},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
    }))
    .unwrap();
    let rendered = render(Provider::Openai, "t", "d", &parameters, true);
    assert!(rendered.strict);
    assert_eq!(
        rendered.schema["function"]["parameters"],
        json!({
            "type": "object",
            "properties": {
                "mode": {"type": ["string", "null"], "enum": ["a", "b", null]},
                "path": {"type": "string"},
            },
            "required": ["path", "mode"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn what_strict_cannot_express_is_rendered_without_it() {
    let parameters: Parameters = serde_json::from_value(json!({"env": {"type": "object"}})).unwrap();
    assert!(!render(Provider::Openai, "t", "d", &parameters, true).strict);
}

#[test]
fn a_sub_agent_has_no_time_limit_of_its_own() {
    let task = beamai_engine::catalogue::find("task", None).unwrap();
    assert_eq!(beamai_engine::listing(&**task)["timeout"], Value::Null);
}
