//! Every schema lists a tool's arguments in the order in which a model should write them: first what says where, then what
//! is there, then what is to be there instead.

use beamai_engine::catalogue;
use beamai_schema::{Parameters, Provider, render};
use serde_json::Value;

/// Arguments that come before others, if a tool has both.
const BEFORE: [(&str, &[&str]); 9] = [
    ("path", &["content", "old_string", "new_string", "replace_all", "offset", "limit", "edits"]),
    ("file_path", &["content", "old_string", "new_string", "replace_all", "offset", "limit", "edits"]),
    ("filePath", &["line", "character", "query"]),
    ("directory", &["pattern"]),
    ("old_string", &["new_string", "content", "replace_all", "edits"]),
    ("new_string", &["replace_all", "edits"]),
    ("command", &["timeout", "cwd", "env", "stdin", "run_in_background"]),
    ("url", &["method", "headers", "body", "prompt"]),
    ("question", &["header", "options"]),
];

fn is_in_order(names: &[&str], what: &str) {
    let place = |name: &str| names.iter().position(|known| *known == name);
    for (first, others) in BEFORE {
        for other in others {
            if let (Some(first_at), Some(other_at)) = (place(first), place(other)) {
                assert!(first_at < other_at, "{what}: {first} comes after {other} in {names:?}");
            }
        }
    }
}

/// The parameters, and those of their objects.
fn each(parameters: &Parameters, what: &str) {
    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
    is_in_order(&names, what);
    for (name, param) in parameters {
        let of = param.items.as_deref().unwrap_or(param);
        of.properties.iter().for_each(|inner| each(inner, &format!("{what}.{name}")));
    }
}

#[test]
fn arguments_are_listed_in_order_of_use() {
    for dialect in catalogue::dialects() {
        for tool in catalogue::dialect(dialect).unwrap().iter() {
            each(tool.parameters(), &format!("{dialect} {}", tool.name()));
        }
    }
}

#[test]
fn required_arguments_come_before_optional_ones_except_where_order_of_use_says_otherwise() {
    for dialect in catalogue::dialects() {
        for tool in catalogue::dialect(dialect).unwrap().iter() {
            let all = tool.parameters();
            let late = all.iter().skip_while(|(_, param)| param.required).find(|(_, param)| param.required);
            // A text that replaces another one, which may be left out, comes after it.
            let is_known = late.is_none_or(|(name, _)| name == "content" && all.contains_key("old_string"));
            assert!(is_known, "{dialect} {}: {late:?}", tool.name());
        }
    }
}

#[test]
fn schemas_of_all_providers_keep_the_order() {
    let providers =
        [Provider::Openai, Provider::OpenaiResponses, Provider::Anthropic, Provider::Gemini, Provider::Mcp];
    for dialect in catalogue::dialects() {
        for tool in catalogue::dialect(dialect).unwrap().iter().filter(|tool| !tool.parameters().is_empty()) {
            let expected: Vec<&str> = tool.parameters().keys().map(String::as_str).collect();
            for provider in providers {
                let rendered = render(provider, tool.name(), "", tool.parameters(), true).schema;
                let properties = ["/function/parameters", "/parameters", "/input_schema", "/inputSchema"]
                    .iter()
                    .find_map(|path| rendered.pointer(path)?["properties"].as_object())
                    .unwrap_or_else(|| panic!("{provider:?} {rendered}"));
                let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                assert_eq!(names, expected, "{dialect} {} {provider:?}", tool.name());
                assert!(properties.values().all(Value::is_object));
            }
        }
    }
}
