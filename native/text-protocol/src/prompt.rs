//! The system prompt that explains the protocol to a model.

use super::tools::{ToolSet, ToolSpec};
use beamai_schema::{Param, ParamType, Parameters};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Maximum nesting of objects in a signature.
const MOST_LEVELS: usize = 4;

/// Parameters that name a location; they come first.
const PLACES: &[&str] = &["path", "file", "file_path", "directory", "dir", "url", "name", "id"];

/// Parameters for long text; one of them illustrates raw text.
const TEXTS: &[&str] = &["content", "new_string", "patch", "code", "text", "body", "command"];

/// The prompt: tools, formats, rules, examples.
pub fn system_prompt(tools: &ToolSet) -> String {
    let mut out =
        "You are an AI coding assistant with access to these tools:\n\nAVAILABLE TOOLS:\n".to_owned();
    tools.iter().for_each(|tool| describe(&mut out, tool));
    out.push_str(PROTOCOL);
    raw_form(&mut out, tools);
    examples(&mut out, tools);
    out
}

const PROTOCOL: &str = r#"
TOOL CALLING PROTOCOL:
When you need to use a tool, respond with this EXACT format:

<TOOL_CALL>
{
  "tool": "tool_name",
  "args": {"arg1": "value1"},
  "reasoning": "why you need this tool"
}
</TOOL_CALL>

IMPORTANT RULES:
1. Use ONLY ONE tool call per response
2. JSON inside <TOOL_CALL> must be valid
3. "tool" must match exactly one of the available tools
4. "args" must include all required parameters
5. After receiving TOOL_RESULT, you can make another tool call or provide final answer
6. When you have the final answer, respond normally without any tags
"#;

fn describe(out: &mut String, tool: &ToolSpec) {
    _ = write!(
        out,
        "- {}({})",
        tool.name,
        tool.parameters.as_ref().map_or("…".to_owned(), |all| signature(all, 0))
    );
    let description = one_line(&tool.description);
    _ = writeln!(out, "{}{description}", if description.is_empty() { "" } else { ": " });
    for (name, param) in ordered(tool.parameters.iter().flatten()) {
        let about = about(param);
        if !about.is_empty() {
            _ = writeln!(out, "    {name}: {about}");
        }
    }
    if let Some(schema) = &tool.input_schema {
        _ = writeln!(out, "    JSON Schema of args: {}", Value::Object(schema.clone()));
    }
}

/// `path: string, limit?: integer`.
fn signature(parameters: &Parameters, level: usize) -> String {
    let one = |(name, param): (&String, &Param)| {
        let optional = if is_needed(param) { "" } else { "?" };
        format!("{name}{optional}: {}", type_name(param, level))
    };
    ordered(parameters.iter()).into_iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Sorts required parameters first, and among them those that name a location.
fn ordered<'a>(parameters: impl Iterator<Item = (&'a String, &'a Param)>) -> Vec<(&'a String, &'a Param)> {
    let mut all: Vec<_> = parameters.collect();
    let place = |name: &str| PLACES.iter().position(|place| *place == name).unwrap_or(PLACES.len());
    all.sort_by_key(|(name, param)| (!is_needed(param), place(name)));
    all
}

fn is_needed(param: &Param) -> bool {
    param.required && param.default.is_none()
}

fn type_name(param: &Param, level: usize) -> String {
    if let Some(values) = &param.values {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match (param.kind, &param.items, &param.properties) {
        (ParamType::Array, Some(items), _) if level < MOST_LEVELS => {
            let of = type_name(items, level + 1);
            if of.contains(' ') { format!("({of})[]") } else { format!("{of}[]") }
        }
        (ParamType::Object, _, Some(properties)) if level < MOST_LEVELS => {
            format!("{{{}}}", signature(properties, level + 1))
        }
        (kind, ..) => kind.json_name().to_owned(),
    }
}

fn about(param: &Param) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(param.description.as_deref().map(one_line).filter(|text| !text.is_empty()));
    match (&param.minimum, &param.maximum) {
        (Some(least), Some(most)) => parts.push(format!("From {least} to {most}.")),
        (Some(least), None) => parts.push(format!("At least {least}.")),
        (None, Some(most)) => parts.push(format!("At most {most}.")),
        (None, None) => {}
    }
    parts.extend(param.default.as_ref().map(|value| format!("Default: {value}")));
    parts.join(" ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn raw_form(out: &mut String, tools: &ToolSet) {
    let has_text = |tool: &&ToolSpec, name: &str| {
        tool.parameters
            .as_ref()
            .and_then(|all| all.get(name))
            .is_some_and(|param| param.kind == ParamType::String)
    };
    let found = TEXTS.iter().find_map(|name| Some((tools.iter().find(|tool| has_text(tool, name))?, *name)));
    let Some((tool, name)) = found else { return };
    let mut args = sample_args(tool);
    args.shift_remove(name);
    let head = json!({"tool": tool.name, "args": args});
    _ = write!(
        out,
        "\nLONG TEXT:\nA long text argument, such as code, may follow the JSON as it is, without escapes: after a \
         line with its name and <<END, up to a line END. Choose another word than END where the text has such a \
         line. The line break before END belongs to the text; with <<-END it does not.\n\n\
         <TOOL_CALL>\n{}\n{name} <<END\nfirst line\n\"second\" line\nEND\n</TOOL_CALL>\n",
        spaced(&head)
    );
}

fn examples(out: &mut String, tools: &ToolSet) {
    let needed =
        |tool: &ToolSpec| tool.parameters.iter().flatten().filter(|(_, param)| is_needed(param)).count();
    // No example values are made up for a tool with its own schema.
    let mut all: Vec<&ToolSpec> = tools.iter().filter(|tool| tool.input_schema.is_none()).collect();
    // Prefers tools with one argument, and for reading files: these examples are short and familiar.
    all.sort_by_key(|tool| (reads(tool).is_none(), needed(tool).abs_diff(1)));
    if !all.is_empty() {
        out.push_str("\nEXAMPLES:\n");
    }
    for (at, tool) in all.into_iter().take(2).enumerate() {
        out.push_str(if at == 0 { "" } else { "\n" });
        match reads(tool) {
            Some(path) => read_example(out, tool, path),
            None => example(out, tool),
        }
    }
}

/// The only required parameter of a tool that reads files.
fn reads(tool: &ToolSpec) -> Option<&str> {
    let mut needed = tool.parameters.iter().flatten().filter(|(_, param)| is_needed(param));
    let (name, _) = needed.next().filter(|_| tool.name.contains("read"))?;
    (needed.next().is_none() && matches!(name.as_str(), "path" | "file" | "file_path")).then_some(name)
}

/// The example of the protocol's specification.
fn read_example(out: &mut String, tool: &ToolSpec, path: &str) {
    let call =
        call_text(tool, &format!("{{\"{path}\": \"package.json\"}}"), "Need to read package.json to answer");
    _ = write!(
        out,
        r#"User: "What's in package.json?"
You: {call}
System: TOOL_RESULT: {{"success": true, "data": {{"content": "{{\"version\": \"1.0.0\"}}"}}}}

You: The package.json contains version 1.0.0
"#
    );
}

fn example(out: &mut String, tool: &ToolSpec) {
    let name = &tool.name;
    let args = spaced(&Value::Object(sample_args(tool)));
    let call = call_text(tool, &args, &format!("Need {name} to answer"));
    _ = write!(
        out,
        "User: \"Please use {name}.\"\nYou: {call}\n\
         System: TOOL_RESULT: {{\"success\": true, \"data\": {{…}}, \"error\": null}}\n\n\
         You: (the answer, or the next call)\n"
    );
}

fn call_text(tool: &ToolSpec, args: &str, reasoning: &str) -> String {
    format!(
        "<TOOL_CALL>\n{{\n  \"tool\": \"{}\",\n  \"args\": {args},\n  \"reasoning\": \"{reasoning}\"\n}}\n</TOOL_CALL>\n",
        tool.name
    )
}

fn sample_args(tool: &ToolSpec) -> Map<String, Value> {
    sample_object(tool.parameters.as_ref(), 0)
}

fn sample_object(parameters: Option<&Parameters>, level: usize) -> Map<String, Value> {
    let needed = parameters.into_iter().flatten().filter(|(_, param)| is_needed(param));
    let sample = |(name, param): (&String, &Param)| (name.clone(), sample(name, param, level));
    ordered(needed).into_iter().map(sample).collect()
}

fn sample(name: &str, param: &Param, level: usize) -> Value {
    if let Some(value) = param.values.as_ref().and_then(|values| values.first()) {
        return value.clone();
    }
    match param.kind {
        ParamType::String => Value::from(match name {
            "path" | "file" | "file_path" => "src/main.rs",
            "directory" | "dir" => ".",
            "command" => "ls",
            "url" => "https://example.com/",
            "pattern" | "query" => "TODO",
            _ => "text",
        }),
        ParamType::Integer | ParamType::Float => param.minimum.clone().map_or(json!(1), Value::Number),
        ParamType::Boolean => json!(true),
        ParamType::Array => match param.items.as_deref().filter(|_| level < MOST_LEVELS) {
            Some(items) => json!([sample(name, items, level + 1)]),
            None => json!([]),
        },
        ParamType::Object => {
            Value::Object(sample_object(param.properties.as_ref().filter(|_| level < MOST_LEVELS), level + 1))
        }
    }
}

/// JSON on one line, with a space after each colon and comma.
fn spaced(value: &Value) -> String {
    super::result::spaced(value)
}
