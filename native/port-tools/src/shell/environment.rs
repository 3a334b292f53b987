//! Environment variables of a command.

use beamai_base::{Reason, Result, ToolError, excerpt};
use serde_json::{Map, Value};

/// Parses an `env` argument.
///
/// # Errors
/// `invalid_argument`, listing every invalid variable.
pub(super) fn variables(env: &Map<String, Value>) -> Result<Vec<(String, String)>> {
    let mut problems = Vec::new();
    let mut variables = Vec::new();
    for (name, value) in env {
        match variable(name, value) {
            Ok(value) => variables.push((name.clone(), value)),
            Err(problem) => problems.push(format!("{:?} {problem}", excerpt(name))),
        }
    }
    match problems.is_empty() {
        true => Ok(variables),
        false => {
            let message = format!("env must be an object of strings: {}", problems.join("; "));
            Err(ToolError::new(Reason::InvalidArgument, message).with("problems", problems))
        }
    }
}

fn variable(name: &str, value: &Value) -> Result<String, String> {
    if !is_name(name) {
        return Err("is not a name of letters, digits and underscores".to_owned());
    }
    match value {
        Value::String(text) if text.contains('\0') => Err("has a NUL byte in its value".to_owned()),
        Value::String(text) => Ok(text.clone()),
        other => Err(format!("must be a string, not {}", excerpt(&other.to_string()))),
    }
}

/// Whether the name is a valid shell variable. Other names in the environment can define bash functions, which would
/// replace the command that the policy judges.
fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
}

/// A value, quoted for bash if necessary.
pub(super) fn quoted(value: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_./:,@%+=-".contains(char);
    match !value.is_empty() && value.chars().all(plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(env: &Value) -> Result<Vec<(String, String)>> {
        variables(env.as_object().unwrap())
    }

    #[test]
    fn every_wrong_variable_is_named() {
        let error = check(&json!({"PORT": 8080, "A=B": "x", "": "x", "OK": "x", "N": "a\0b"})).unwrap_err();
        assert_eq!(error.reason, Reason::InvalidArgument);
        for part in [r#""PORT" must be a string, not 8080"#, r#""A=B" is not a name"#, r#""" is not"#, "NUL"]
        {
            assert!(error.message.contains(part), "{}", error.message);
        }
        assert!(!error.message.contains("OK"));
    }

    #[test]
    fn a_function_cannot_be_smuggled_in() {
        assert!(check(&json!({"BASH_FUNC_git%%": "() { rm -rf x; }"})).is_err());
    }

    #[test]
    fn values_are_quoted_as_bash_reads_them() {
        assert_eq!(quoted("a/b-1.txt"), "a/b-1.txt");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("it's $x"), r"'it'\''s $x'");
        assert_eq!(quoted("~/x"), "'~/x'");
    }
}
