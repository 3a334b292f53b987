//! A tool's arguments as command-line flags: `--output-mode count` for `{"output_mode": "count"}`.
//!
//! The flags are generated from the tool's parameters. Values are checked like JSON arguments.

use crate::args::UsageError;
use beamai_schema::{Param, ParamType, Parameters};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, ValueHint};
use serde_json::{Map, Number, Value};

/// A prefix for parameter names, to distinguish them from options.
const ID: &str = "argument ";

/// The name of a boolean flag's value in help.
pub(crate) const BOOLEAN: &str = "BOOLEAN";

/// One flag per parameter, under this heading of the help.
pub(crate) fn args(parameters: &Parameters, heading: &'static str) -> Vec<Arg> {
    let flag = |(name, param): (&String, &Param)| flag(name, param).help_heading(heading);
    parameters.iter().map(flag).collect()
}

/// The arguments given by the flags, by parameter name.
///
/// # Errors
/// For a value that must be JSON and is not.
pub(crate) fn arguments(
    parameters: &Parameters,
    matches: &ArgMatches,
) -> Result<Map<String, Value>, UsageError> {
    let mut arguments = Map::new();
    for (name, param) in parameters {
        if let Some(value) = value(name, param, matches)? {
            arguments.insert(name.clone(), value);
        }
    }
    Ok(arguments)
}

/// The flag of a parameter.
pub(crate) fn flag_name(name: &str) -> String {
    let mut flag = String::new();
    for char in name.trim_start_matches('-').chars() {
        match char {
            '_' => flag.push('-'),
            char if char.is_ascii_uppercase() && !flag.is_empty() => {
                flag.push('-');
                flag.push(char.to_ascii_lowercase());
            }
            char => flag.push(char),
        }
    }
    flag
}

fn flag(name: &str, param: &Param) -> Arg {
    let arg = Arg::new(format!("{ID}{name}"))
        .help(help(param))
        .hide_possible_values(param.kind == ParamType::Boolean);
    let typed = flag_name(name);
    // Parameters such as `-i` are used as they are.
    let arg = match name.strip_prefix('-').map(|name| name.chars().collect::<Vec<_>>()) {
        Some(letters) if letters.len() == 1 => arg.short(letters[0]),
        _ if typed == name => arg.long(typed),
        _ => arg.long(typed).alias(name.to_owned()),
    };
    match param.kind {
        ParamType::Boolean => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_name(BOOLEAN)
            .value_parser(boolean),
        ParamType::Integer => {
            let accepted = format!("a whole number{}", range(param));
            let number = move |text: &str| text.parse::<i64>().map_err(|_| format!("it must be {accepted}"));
            arg.value_name("N").allow_negative_numbers(true).value_parser(number)
        }
        ParamType::Float => {
            let accepted = format!("a number{}", range(param));
            let number = move |text: &str| match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                _ => Err(format!("it must be {accepted}")),
            };
            arg.value_name("NUMBER").allow_negative_numbers(true).value_parser(number)
        }
        ParamType::String => text(arg, name, param),
        ParamType::Array => match scalars(param) {
            Some(_) => arg.value_name("TEXT").action(ArgAction::Append),
            None => arg.value_name("JSON"),
        },
        ParamType::Object => arg.value_name("JSON"),
    }
}

/// The value of a boolean flag; the words are those that clap accepts for booleans.
fn boolean(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" | "y" | "on" | "1" => Ok(true),
        "false" | "f" | "no" | "n" | "off" | "0" => Ok(false),
        _ => Err("it must be true or false".to_owned()),
    }
}

/// The bounds of a number, to be read after "a number".
fn range(param: &Param) -> String {
    match (&param.minimum, &param.maximum) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least} on"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

fn text(arg: Arg, name: &str, param: &Param) -> Arg {
    match &param.values {
        Some(values) => {
            let values: Vec<String> = values.iter().filter_map(|it| it.as_str().map(str::to_owned)).collect();
            arg.value_name("WORD").value_parser(PossibleValuesParser::new(values)).ignore_case(true)
        }
        None => match name {
            "path" | "file_path" | "filePath" | "file" => {
                arg.value_name("PATH").value_hint(ValueHint::AnyPath)
            }
            "directory" | "cwd" => arg.value_name("DIR").value_hint(ValueHint::DirPath),
            _ => arg.value_name("TEXT"),
        },
    }
}

/// The description, whether it is required, and its syntax if that is not obvious.
fn help(param: &Param) -> String {
    let mut help = param.description.clone().unwrap_or_default();
    let mut add = |note: &str| {
        help.push_str(if help.is_empty() { "" } else { " " });
        help.push_str(note);
    };
    match param.kind {
        ParamType::Array if scalars(param).is_some() => add("May be repeated."),
        ParamType::Array => add("A JSON array."),
        ParamType::Object => add("A JSON object."),
        _ => {}
    }
    match &param.default {
        Some(Value::Bool(false)) | None => {}
        Some(Value::String(default)) => add(&format!("[default: {default}]")),
        Some(default) => add(&format!("[default: {default}]")),
    }
    if param.required {
        add("[required]");
    }
    help
}

/// The type of a list's elements, if they can be given one by one.
fn scalars(param: &Param) -> Option<ParamType> {
    let kind = param.items.as_deref()?.kind;
    (!matches!(kind, ParamType::Array | ParamType::Object)).then_some(kind)
}

fn value(name: &str, param: &Param, matches: &ArgMatches) -> Result<Option<Value>, UsageError> {
    let id = format!("{ID}{name}");
    let text = || matches.get_one::<String>(&id);
    Ok(match (param.kind, scalars(param)) {
        (ParamType::Boolean, _) => matches.get_one::<bool>(&id).map(|is_set| (*is_set).into()),
        (ParamType::Integer, _) => matches.get_one::<i64>(&id).map(|number| (*number).into()),
        (ParamType::Float, _) => {
            matches.get_one::<f64>(&id).and_then(|number| Number::from_f64(*number)).map(Value::Number)
        }
        (ParamType::String, _) => text().map(|text| canonical(param, text)),
        (ParamType::Array, Some(kind)) => {
            let given =
                matches.get_many::<String>(&id).map(|texts| texts.map(|text| element(kind, text)).collect());
            given.map(Value::Array)
        }
        (ParamType::Array | ParamType::Object, _) => match text() {
            None => None,
            Some(text) => {
                let parsed = serde_json::from_str(text);
                let what = if param.kind == ParamType::Array { "array" } else { "object" };
                let wrong = |error: serde_json::Error| {
                    let column = error.column();
                    UsageError(format!(
                        "--{} takes a JSON {what}, and {text:?} is not JSON from column {column} on",
                        flag_name(name)
                    ))
                };
                Some(parsed.map_err(wrong)?)
            }
        },
    })
}

/// The enumerated value that matches case-insensitively.
fn canonical(param: &Param, text: &str) -> Value {
    let known = param.values.iter().flatten().filter_map(Value::as_str);
    known.into_iter().find(|word| word.eq_ignore_ascii_case(text)).unwrap_or(text).into()
}

/// An element of a list; elements of a wrong type are left to the tool's own check.
fn element(kind: ParamType, text: &str) -> Value {
    match kind {
        ParamType::String => text.into(),
        _ => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
    }
}

/// A tool call as typed after `call`, quoted for a shell.
pub(crate) fn written(tool: &str, arguments: &Map<String, Value>) -> String {
    let mut typed = tool.to_owned();
    for (name, value) in arguments {
        let flag = match name.starts_with('-') {
            true => name.clone(),
            false => format!("--{}", flag_name(name)),
        };
        match value {
            Value::Bool(true) => typed.push_str(&format!(" {flag}")),
            Value::Bool(false) => typed.push_str(&format!(" {flag}=false")),
            Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
                items.iter().for_each(|item| typed.push_str(&with_value(&flag, item)));
            }
            value => typed.push_str(&with_value(&flag, value)),
        }
    }
    typed
}

fn with_value(flag: &str, value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    // Text that begins like a flag would be parsed as one.
    let between = if value.is_string() && text.starts_with('-') { '=' } else { ' ' };
    format!(" {flag}{between}{}", quoted(&text))
}

/// Quotes a word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_@%+=:,./-".contains(char);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_engine::catalogue;
    use clap::Command;
    use serde_json::json;

    fn parsed(tool: &str, words: &[&str]) -> Result<Value, String> {
        let parameters = catalogue::find(tool, None).unwrap().parameters();
        let command = Command::new("call").no_binary_name(true).args(args(parameters, "Arguments"));
        let matches = command.try_get_matches_from(words).map_err(|error| error.to_string())?;
        arguments(parameters, &matches).map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_are_arguments_of_their_kind() {
        let words =
            ["--pattern", "TODO", "--output-mode", "Count", "--literal", "--hidden=false", "--limit=5"];
        let expected =
            json!({"pattern": "TODO", "output_mode": "count", "literal": true, "limit": 5, "hidden": false});
        assert_eq!(parsed("file_grep", &words).unwrap(), expected);
        assert_eq!(
            parsed("file_read", &["--path", "a", "--offset", "-5"]).unwrap(),
            json!({"path": "a", "offset": -5})
        );
        let words = ["--query", "x", "--allowed-domains", "a.example", "--allowed_domains", "b.example"];
        let expected = json!({"query": "x", "allowed_domains": ["a.example", "b.example"]});
        assert_eq!(parsed("web_search", &words).unwrap(), expected);
        let words = ["--command", "true", "--env", r#"{"A": "b"}"#];
        assert_eq!(parsed("shell_exec", &words).unwrap(), json!({"command": "true", "env": {"A": "b"}}));
        assert_eq!(
            parsed("Grep", &["--pattern", "x", "-i", "-A", "2"]).unwrap(),
            json!({"pattern": "x", "-i": true, "-A": 2})
        );
    }

    /// Text written for people parses to the same arguments.
    #[test]
    fn what_is_written_is_read() {
        let arguments =
            json!({"pattern": "-it's", "path": "a b", "limit": 5, "literal": true, "hidden": false});
        let typed = written("file_grep", arguments.as_object().unwrap());
        assert_eq!(typed, r"file_grep --pattern='-it'\''s' --path 'a b' --limit 5 --literal --hidden=false");
        let words = ["--pattern=-it's", "--path", "a b", "--limit", "5", "--literal", "--hidden=false"];
        assert_eq!(parsed("file_grep", &words).unwrap(), arguments);
    }

    #[test]
    fn a_wrong_flag_or_value_is_named_with_what_is_near() {
        for (words, parts) in [
            (&["--patern", "x"][..], &["--patern", "'--pattern'"][..]),
            (&["--limit", "ten"], &["'ten'", "--limit <N>", "it must be a whole number from "]),
            (&["--limit", "99999999999999999999"], &["--limit <N>", "it must be a whole number from "]),
            (&["--literal=maybe"], &["'maybe'", "--literal", "it must be true or false"]),
            (&["--output-mode", "cuont"], &["'cuont'", "files_with_matches", "'count'"]),
        ] {
            let said = parsed("file_grep", words).unwrap_err();
            assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        }
        let said = parsed("shell_exec", &["--env", "{A}"]).unwrap_err();
        assert!(
            said.contains("--env takes a JSON object, and \"{A}\" is not JSON from column 2 on"),
            "{said}"
        );
    }

    /// The flags of a tool's parameters are unique, in every dialect.
    #[test]
    fn every_tool_has_flags() {
        for dialect in catalogue::dialects() {
            for tool in catalogue::dialect(dialect).unwrap().iter() {
                Command::new("call").args(args(tool.parameters(), "Arguments")).debug_assert();
            }
        }
    }
}
