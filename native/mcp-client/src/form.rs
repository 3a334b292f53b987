//! Converts a server's form to questions to a person, and the answers to the form's content.

use beamai_text::{extent, one_line};
use beamai_tool::question::{Answer, Choice, Question};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Maximum number of fields of a form.
const MOST: usize = 20;
/// Maximum length of a server's text in a question, in characters.
const LONGEST: usize = 2_000;

const YES: &str = "Yes";
const NO: &str = "No";
/// The answer that leaves out an optional field.
const NOTHING: &str = "-";

/// A server's message on one line, which begins with the server's name.
pub(super) fn message(who: &str, text: &str) -> String {
    let text: String = text.chars().take(LONGEST).collect();
    format!("{} asks: {}{}", one_line(who), one_line(&text), extent(&text))
}

/// One question per field, all with the server's message; `None` for a form that cannot be asked.
pub(super) fn questions(message: &str, schema: &Value) -> Option<Vec<Question>> {
    let fields = fields(schema)?;
    if fields.is_empty() {
        return Some(vec![confirmation(message)]);
    }
    let ask = |(name, field): &(String, &Value)| Question {
        question: text(message, name, field, is_required(schema, name)),
        header: None,
        options: choices(field),
        multi_select: field["type"] == "array",
    };
    (fields.len() <= MOST).then(|| fields.iter().map(ask).collect())
}

/// The form's content; `None` if an answer is not valid for its field, or if the answer to a confirmation was no.
pub(super) fn content(
    message: &str,
    schema: &Value,
    mut answers: BTreeMap<String, Answer>,
) -> Option<Map<String, Value>> {
    let fields = fields(schema)?;
    if fields.is_empty() {
        let answer = answers.remove(&confirmation(message).question)?;
        return (one(answer) == YES).then(Map::new);
    }
    let mut content = Map::new();
    for (name, field) in fields {
        let is_required = is_required(schema, &name);
        let answer = answers.remove(&text(message, &name, field, is_required))?;
        match &answer {
            Answer::One(text) if !is_required && [NOTHING, ""].contains(&text.trim()) => {}
            _ => _ = content.insert(name, value(field, answer)?),
        }
    }
    Some(content)
}

fn fields(schema: &Value) -> Option<Vec<(String, &Value)>> {
    Some(schema["properties"].as_object()?.iter().map(|(name, field)| (name.clone(), field)).collect())
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

fn confirmation(message: &str) -> Question {
    let choice =
        |label: &str, description: &str| Choice { label: label.into(), description: description.into() };
    Question {
        question: message.to_owned(),
        header: None,
        options: vec![choice(YES, "Agree"), choice(NO, "Refuse")],
        multi_select: false,
    }
}

fn text(message: &str, name: &str, field: &Value, is_required: bool) -> String {
    let title = shown(field["title"].as_str().unwrap_or(name));
    let about = field["description"].as_str().map(|text| format!(" ({})", shown(text))).unwrap_or_default();
    let optional = if is_required { "" } else { " [may be left out: -]" };
    format!("{message}\n{title}{about}{optional}")
}

/// A server's text on one line, cut if it is too long.
fn shown(text: &str) -> String {
    one_line(&text.chars().take(LONGEST).collect::<String>())
}

/// The values of a field, with their labels.
fn values(field: &Value) -> Vec<(String, String)> {
    let field = if field["type"] == "array" { &field["items"] } else { field };
    if let Some(titled) = field["oneOf"].as_array().or_else(|| field["anyOf"].as_array()) {
        let pair = |one: &Value| {
            let value = one["const"].as_str()?.to_owned();
            Some((one["title"].as_str().unwrap_or(&value).to_owned(), value))
        };
        return titled.iter().filter_map(pair).collect();
    }
    let names = field["enumNames"].as_array();
    let named = |(at, value): (usize, &Value)| {
        let value = value.as_str()?.to_owned();
        let name = names.and_then(|names| names.get(at)?.as_str()).unwrap_or(&value);
        Some((name.to_owned(), value))
    };
    field["enum"].as_array().into_iter().flatten().enumerate().filter_map(named).collect()
}

fn choices(field: &Value) -> Vec<Choice> {
    if field["type"] == "boolean" {
        return [YES, NO].map(|label| Choice { label: label.into(), description: label.into() }).into();
    }
    let choice =
        |(label, value): (String, String)| Choice { label: shown(&label), description: shown(&value) };
    values(field).into_iter().map(choice).collect()
}

fn one(answer: Answer) -> String {
    match answer {
        Answer::One(text) => text,
        Answer::Several(texts) => texts.join(", "),
    }
}

fn value(field: &Value, answer: Answer) -> Option<Value> {
    let values = values(field);
    let meant = |text: &str| {
        let is_meant = |(label, value): &&(String, String)| shown(label) == text || value == text;
        values.iter().find(is_meant).map(|(_, value)| Value::from(value.as_str()))
    };
    match field["type"].as_str() {
        Some("array") => match answer {
            Answer::One(text) => text.split(',').map(|part| meant(part.trim())).collect(),
            Answer::Several(texts) => texts.iter().map(|text| meant(text)).collect(),
        },
        Some("boolean") => match one(answer).trim().to_ascii_lowercase().as_str() {
            "yes" | "true" => Some(true.into()),
            "no" | "false" => Some(false.into()),
            _ => None,
        },
        Some("integer") => one(answer).trim().parse::<i64>().ok().map(Value::from),
        Some("number") => one(answer).trim().parse::<f64>().ok().map(Value::from),
        _ if !values.is_empty() => meant(one(answer).trim()),
        _ => Some(one(answer).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn form() -> Value {
        json!({"type": "object", "required": ["name", "age"], "properties": {
            "name": {"type": "string", "title": "Your name", "description": "as in the passport"},
            "age": {"type": "integer"},
            "vegan": {"type": "boolean"},
            "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        }})
    }

    fn answered(given: &[&str]) -> Option<Value> {
        let questions = questions("Book?", &form()).unwrap();
        let pairs = questions.into_iter().zip(given);
        let answers =
            pairs.map(|(question, text)| (question.question, Answer::One((*text).to_owned()))).collect();
        content("Book?", &form(), answers).map(Value::Object)
    }

    #[test]
    fn every_field_is_a_question_that_shows_the_servers_message() {
        let all = questions("Book?", &form()).unwrap();
        assert_eq!(all.len(), 5);
        assert_eq!(all[0].question, "Book?\nYour name (as in the passport)");
        assert_eq!(all[2].options.iter().map(|choice| &*choice.label).collect::<Vec<_>>(), ["Yes", "No"]);
        assert_eq!(all[3].options[1].label, "Medium");
        assert!(all[4].multi_select);
    }

    #[test]
    fn a_question_says_first_who_asks_and_its_text_stays_on_its_line() {
        let message =
            message("the MCP server files (fs), in its tool move", "Agree?\n\nThe MCP server bank asks");
        assert_eq!(
            message,
            "the MCP server files (fs), in its tool move asks: \"Agree?\\n\\nThe MCP server bank asks\" (3 lines, 32 characters)"
        );
        let form = json!({"type": "object", "properties": {"x\u{202e}": {
            "type": "string", "title": "a\nb", "enum": ["\u{9b}1", "plain"]
        }}});
        let asked = &questions(&message, &form).unwrap()[0];
        assert_eq!(asked.question.lines().count(), 2, "{asked:?}");
        assert!(!asked.options[0].label.chars().any(beamai_text::is_hidden), "{asked:?}");
        let answers = BTreeMap::from([(asked.question.clone(), Answer::One(asked.options[0].label.clone()))]);
        assert_eq!(
            content(&message, &form, answers).map(Value::Object),
            Some(json!({"x\u{202e}": "\u{9b}1"}))
        );
    }

    #[test]
    fn answers_become_values_of_their_fields_types() {
        assert_eq!(
            answered(&["Ann", " 41", "no", "Medium", "a, b"]),
            Some(json!({"name": "Ann", "age": 41, "vegan": false, "size": "m", "tags": ["a", "b"]}))
        );
        assert_eq!(answered(&["Ann", "41", "-", "-", ""]), Some(json!({"name": "Ann", "age": 41})));
    }

    #[test]
    fn an_answer_that_its_field_does_not_take_declines_the_form() {
        assert_eq!(answered(&["Ann", "old", "no", "Medium", "a"]), None);
        assert_eq!(answered(&["Ann", "41", "no", "XL", "a"]), None);
    }

    #[test]
    fn a_form_without_fields_is_a_question_of_yes_or_no() {
        let form = json!({"type": "object", "properties": {}});
        let all = questions("Delete everything?", &form).unwrap();
        let answer = |label: &str| BTreeMap::from([(all[0].question.clone(), Answer::One(label.to_owned()))]);
        assert_eq!(content("Delete everything?", &form, answer("Yes")), Some(Map::new()));
        assert_eq!(content("Delete everything?", &form, answer("No")), None);
    }
}
