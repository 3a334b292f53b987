//! What a model reads when something is wrong, of every tool of every dialect: short, in the dialect's own names, and
//! without advice that only the host can follow.

use super::env::Env;
use super::server;
use beamai_engine::CallOutcome;
use beamai_engine::catalogue::{self, ToolOrigin, text_for_model};
use beamai_schema::{Param, ParamType, Parameters};
use beamai_tool::Tool;
use beamai_tool::for_model::of_error;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const DIALECTS: [&str; 4] = ["beamai", "microai", "coder", "ide"];
/// Maximum characters of a message, however long the arguments are; arguments that are not known are listed in it.
const LONGEST: usize = 2_000;
/// What only hosts say or can do.
const OF_THE_HOST: [&str; 9] =
    ["=>", "#{", "<<\"", "--allow", "--deny", "--settings", "--network", "kernel", "rule to be changed"];

/// A correct value of an argument.
fn value(name: &str, param: &Param) -> Value {
    if let Some(values) = &param.values {
        return values[0].clone();
    }
    match param.kind {
        ParamType::Integer | ParamType::Float => json!(1),
        ParamType::Boolean => json!(false),
        ParamType::Object => match &param.properties {
            Some(properties) => Value::Object(required(properties)),
            None => json!({}),
        },
        ParamType::Array => {
            let item = param.items.as_deref().map_or(json!("x"), |of| value(name, of));
            let mut other = item.clone();
            if let Some(label) = other.get_mut("label") {
                *label = json!("another");
            }
            if param.min_items.unwrap_or(0) > 1 { json!([item, other]) } else { json!([item]) }
        }
        ParamType::String => match name {
            "path" | "file_path" | "filePath" | "file" => json!("a.txt"),
            "directory" | "cwd" => json!("."),
            "pattern" | "query" => json!("one"),
            "old_string" => json!("one"),
            "command" => json!("true"),
            "url" => json!(server::url("/")),
            "patch" => json!("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"),
            _ => json!("x"),
        },
    }
}

fn required(parameters: &Parameters) -> Map<String, Value> {
    let all = parameters.iter().filter(|(_, param)| param.required);
    all.map(|(name, param)| (name.clone(), value(name, param))).collect()
}

/// What models write where they should not, and what nobody should.
fn wrong_values() -> Vec<Value> {
    let long = "x".repeat(28_000);
    let texts = [
        "",
        "none",
        "d/none/x",
        "d",
        "a.txt/x",
        "/etc/passwd",
        "../x",
        "~/x",
        "(",
        "[",
        "/x/*",
        "a\nb",
        "a\0b",
        "*** Begin Patch\nx",
        "*** Begin Patch\n*** Delete File: none\n*** End Patch",
        "http://127.0.0.1:1/",
        "ftp://x/",
        "{",
        "exit 3",
        "curl -s http://example.com/",
    ];
    let mut all: Vec<Value> = texts.map(Value::from).to_vec();
    all.extend([
        json!(long),
        json!(format!("({long}")),
        json!(format!("d/{long}")),
        json!(format!("../{long}")),
        json!(format!("http://{long}.example/")),
        json!(format!("http://127.0.0.1:1/{long}")),
        json!(format!("(exit 4) # {long}")),
    ]);
    all.extend([
        json!(0),
        json!(-1),
        json!(9_999_999_999_u64),
        json!(true),
        json!([]),
        json!({}),
        json!(null),
    ]);
    all.extend([json!([{}]), json!(["x"]), json!({"x": 1}), json!({"A-B": "x"})]);
    all
}

/// Calls that are wrong in one way.
fn calls(tool: &dyn Tool) -> Vec<Value> {
    let right = required(tool.parameters());
    let mut all =
        vec![Value::Object(right.clone()), json!({}), json!({"x".repeat(28_000): 1}), json!({"pth": "x"})];
    for name in tool.parameters().keys() {
        for wrong in wrong_values() {
            let mut args = right.clone();
            args.insert(name.clone(), wrong);
            all.push(Value::Object(args));
        }
    }
    all
}

/// What a model reads of a call; `None` if somebody is asked or has to work first.
fn read(env: &Env, dialect: &str, tool: &str, args: &Value) -> Option<String> {
    match env.outcome(tool, args, json!({})) {
        CallOutcome::Error(error) => Some(of_error(&error.to_value(), 30_000)),
        CallOutcome::Ok(result, _) => {
            let args = args.as_object().unwrap();
            let text = text_for_model(ToolOrigin::Dialect(dialect), tool, args, &result, 30_000).unwrap();
            // The notes alone: the rest is content.
            Some(text.lines().filter(|line| line.starts_with('[')).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// The names that a text gives to arguments: `"name":`.
fn arguments(text: &str) -> Vec<&str> {
    let parts: Vec<&str> = text.split('"').collect();
    let named = parts.windows(2).skip(1).step_by(2);
    named.filter(|pair| pair[1].starts_with(':') && !pair[1].starts_with(": ")).map(|pair| pair[0]).collect()
}

fn all_arguments(parameters: &Parameters, into: &mut BTreeSet<String>) {
    for (name, param) in parameters {
        into.insert(name.clone());
        let of = param.items.as_deref().unwrap_or(param);
        of.properties.iter().for_each(|properties| all_arguments(properties, into));
    }
}

/// Whether a text is in a value.
fn says(value: &Value, text: &str) -> bool {
    match value {
        Value::String(own) => own.contains(text),
        Value::Array(items) => items.iter().any(|item| says(item, text)),
        Value::Object(members) => members.iter().any(|(name, of)| name.contains(text) || says(of, text)),
        _ => false,
    }
}

/// The names that texts of a dialect may give to arguments, and those of tools that they may not name.
struct Names {
    known: BTreeSet<String>,
    foreign: BTreeSet<String>,
}

impl Names {
    fn of(dialect: &str) -> Self {
        let own = catalogue::dialect(dialect).unwrap();
        let mut known = BTreeSet::new();
        own.iter().for_each(|tool| all_arguments(tool.parameters(), &mut known));
        let of_others = DIALECTS.iter().flat_map(|other| catalogue::dialect(other).unwrap().iter());
        // Names without an underscore are words, or canonical names in rules.
        let foreign = of_others
            .map(|tool| tool.name().to_owned())
            .filter(|name| name.contains('_') && own.get(name).is_none() && !known.contains(name))
            .collect();
        Self { known, foreign }
    }
}

/// What is wrong with a text. What the arguments say themselves may be repeated.
fn faults(names: &Names, args: &Value, text: &str) -> Vec<String> {
    let words: BTreeSet<&str> = text.split(|char: char| !char.is_alphanumeric() && char != '_').collect();
    let mut faults: Vec<String> = words
        .into_iter()
        .filter(|word| names.foreign.contains(*word))
        .map(|name| format!("names the tool {name} of another dialect"))
        .collect();
    faults.extend(
        arguments(text)
            .into_iter()
            .filter(|name| !names.known.contains(*name) && !says(args, name))
            .map(|name| format!("names the argument {name}")),
    );
    faults.extend(
        OF_THE_HOST.iter().filter(|words| text.contains(**words)).map(|words| format!("says {words}")),
    );
    if text.chars().count() > LONGEST {
        faults.push(format!("has {} characters", text.chars().count()));
    }
    faults
}

fn shown(text: &str) -> String {
    beamai_base::excerpt(text).into_owned()
}

/// Makes every wrong call of a dialect; the faults of what is read, each once for a tool.
fn trial(dialect: &'static str, permissions: Value) -> Vec<String> {
    let env = Env::with(dialect, permissions);
    env.file("a.txt", "one\ntwo\n");
    env.file("d/b.txt", "three\n");
    let made =
        std::process::Command::new("git").args(["init", "-q"]).current_dir(env.path(".")).status().unwrap();
    assert!(made.success());
    let (names, mut found) = (Names::of(dialect), BTreeSet::new());
    for tool in catalogue::dialect(dialect).unwrap().iter() {
        for args in calls(&**tool) {
            env.file("a.txt", "one\ntwo\n");
            let Some(text) = read(&env, dialect, tool.name(), &args) else { continue };
            for fault in faults(&names, &args, &text) {
                let example = format!("{}\n    {}", shown(&args.to_string()), shown(&text));
                let key = format!("{dialect} {} {fault}", tool.name());
                if !found.iter().any(|known: &String| known.starts_with(&key)) {
                    found.insert(format!("{key}: {example}"));
                }
            }
        }
    }
    found.into_iter().collect()
}

#[test]
fn errors_and_notes_are_short_and_name_what_the_dialect_has() {
    let found: Vec<String> =
        DIALECTS.iter().flat_map(|dialect| trial(dialect, json!({"default": "allow"}))).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn refusals_say_nothing_that_only_the_host_can_do() {
    // By rules, and by the mode: nothing is started or fetched, so this is quick.
    let denied = json!({"deny": ["Bash(true)", "Edit(**)", "Write(**)"], "default": "deny"});
    let found: Vec<String> = DIALECTS.iter().flat_map(|dialect| trial(dialect, denied.clone())).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_fault_is_found() {
    let text = "use file_grep with \"depth\":2, or ask for the rule to be changed";
    assert_eq!(
        faults(&Names::of("microai"), &json!({}), text),
        [
            "names the tool file_grep of another dialect",
            "names the argument depth",
            "says rule to be changed"
        ]
    );
    assert!(faults(&Names::of("microai"), &json!({}), "continue with \"offset\":3, or use Grep").is_empty());
}
