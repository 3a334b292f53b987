//! Converts a server's form to questions to a person, and the answers to the form's content.

use super::secrets::Secrets;
use beamai_text::{extent, one_line};
use beamai_tool::question::{Answer, Choice, Question};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Maximum number of fields of a form.
const MOST: usize = 20;
/// Maximum length of a server's text in a question, in characters.
const LONGEST: usize = 2_000;

const YES: &str = "Yes";
const NO: &str = "No";
/// The answer that leaves out an optional field.
const NOTHING: &str = "-";

/// A form, as a person is asked to fill it in.
pub(super) enum Form {
    /// It has no fields: the person agrees or refuses.
    Consent(Question),
    Fields(Vec<Field>),
}

/// A field with its question.
pub(super) struct Field {
    name: String,
    is_required: bool,
    question: Question,
    kind: FieldKind,
}

enum FieldKind {
    /// The values, in the order of the question's options.
    Choice(Vec<String>),
    Choices(Vec<String>),
    Boolean,
    Integer,
    Number,
    Text,
}

/// A server's message on one line, which begins with the server's name.
pub(super) fn message(who: &str, text: &str) -> String {
    let text: String = text.chars().take(LONGEST).collect();
    format!("{} asks: {}{}", one_line(who), one_line(&text), extent(&text))
}

impl Form {
    /// One question per field, all with the server's message and without secrets; `None` for a form that cannot be asked.
    pub(super) fn of(message: &str, schema: &Value, secrets: &Secrets) -> Option<Self> {
        let fields = schema["properties"].as_object()?;
        if fields.is_empty() {
            return Some(Self::Consent(consent(message)));
        }
        if fields.len() > MOST {
            return None;
        }
        let line = |(name, field): (&String, &Value)| (line(name, field, secrets), shown(name, secrets));
        let lines = distinct(fields.iter().map(line).collect());
        let field = |((name, field), line): ((&String, &Value), String)| {
            let is_required =
                schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
            let optional = if is_required { "" } else { " [may be left out: -]" };
            Field::of(name, is_required, format!("{message}\n{line}{optional}"), field, secrets)
        };
        Some(Self::Fields(fields.iter().zip(lines).map(field).collect()))
    }

    /// The questions for the host. The order of a server's options recommends none.
    pub(super) fn questions(&self) -> Vec<Value> {
        let questions = match self {
            Self::Consent(question) => vec![question],
            Self::Fields(fields) => fields.iter().map(|field| &field.question).collect(),
        };
        let of_server = |question: &Question| {
            let mut question = json!(question);
            question["asked_by"] = "mcp_server".into();
            question
        };
        questions.into_iter().map(of_server).collect()
    }

    /// The form's content; `None` if an answer is not valid for its field, or if the person refuses.
    pub(super) fn content(self, mut answers: BTreeMap<String, Answer>) -> Option<Map<String, Value>> {
        let fields = match self {
            Self::Consent(question) => {
                return (answers.remove(&question.question)?.text() == YES).then(Map::new);
            }
            Self::Fields(fields) => fields,
        };
        let mut content = Map::new();
        for field in fields {
            let answer = answers.remove(&field.question.question)?;
            match &answer {
                Answer::One(text) if !field.is_required && [NOTHING, ""].contains(&text.trim()) => {}
                _ => _ = content.insert(field.name.clone(), field.value(answer)?),
            }
        }
        Some(content)
    }
}

impl Field {
    fn of(name: &str, is_required: bool, text: String, field: &Value, secrets: &Secrets) -> Self {
        let values = values(field);
        let shown = values.iter().map(|(label, value)| (shown(label, secrets), shown(value, secrets)));
        let shown: Vec<_> = shown.collect();
        let descriptions = shown.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>();
        let options =
            distinct(shown).into_iter().zip(descriptions).map(|(label, value)| choice(&label, &value));
        let values: Vec<_> = values.into_iter().map(|(_, value)| value).collect();
        let (kind, options) = match field["type"].as_str() {
            Some("boolean") => (FieldKind::Boolean, vec![choice(YES, YES), choice(NO, NO)]),
            Some("array") => (FieldKind::Choices(values), options.collect()),
            Some("integer") => (FieldKind::Integer, options.collect()),
            Some("number") => (FieldKind::Number, options.collect()),
            _ if values.is_empty() => (FieldKind::Text, vec![]),
            _ => (FieldKind::Choice(values), options.collect()),
        };
        let multi_select = matches!(kind, FieldKind::Choices(_));
        let question = Question { question: text, header: None, options, multi_select };
        Self { name: name.to_owned(), is_required, question, kind }
    }

    fn value(&self, answer: Answer) -> Option<Value> {
        match &self.kind {
            FieldKind::Choices(values) => match answer {
                Answer::One(text) => text.split(',').map(|part| self.meant(values, part.trim())).collect(),
                Answer::Several(texts) => texts.iter().map(|text| self.meant(values, text)).collect(),
            },
            FieldKind::Boolean => match answer.text().trim().to_ascii_lowercase().as_str() {
                "yes" | "true" => Some(true.into()),
                "no" | "false" => Some(false.into()),
                _ => None,
            },
            FieldKind::Integer => answer.text().trim().parse::<i64>().ok().map(Value::from),
            FieldKind::Number => answer.text().trim().parse::<f64>().ok().map(Value::from),
            FieldKind::Choice(values) => self.meant(values, answer.text().trim()),
            FieldKind::Text => Some(answer.text().into()),
        }
    }

    /// The value with that label, or else that value: one may be the label of another.
    fn meant(&self, values: &[String], text: &str) -> Option<Value> {
        let labelled = self.question.options.iter().position(|choice| choice.label == text);
        let at = labelled.or_else(|| values.iter().position(|value| value == text))?;
        values.get(at).map(|value| value.as_str().into())
    }
}

fn consent(message: &str) -> Question {
    Question {
        question: message.to_owned(),
        header: None,
        options: vec![choice(YES, "Agree"), choice(NO, "Refuse")],
        multi_select: false,
    }
}

fn choice(label: &str, description: &str) -> Choice {
    Choice { label: label.to_owned(), description: description.to_owned() }
}

/// The title and the description of a field.
fn line(name: &str, field: &Value, secrets: &Secrets) -> String {
    let title = shown(field["title"].as_str().unwrap_or(name), secrets);
    let about = field["description"].as_str().map(|text| format!(" ({})", shown(text, secrets)));
    title + &about.unwrap_or_default()
}

/// A server's text on one line without secrets, cut if it is too long.
fn shown(text: &str, secrets: &Secrets) -> String {
    one_line(&secrets.hide(text).chars().take(LONGEST).collect::<String>())
}

/// Texts by which an answer tells which one is meant: equal ones are shown with their details, and those that are equal
/// then, with a number.
fn distinct(pairs: Vec<(String, String)>) -> Vec<String> {
    let mut counts = HashMap::new();
    for (text, _) in &pairs {
        *counts.entry(text.clone()).or_insert(0) += 1;
    }
    let mut taken = HashSet::new();
    let name = |(text, details): (String, String)| {
        let text = if counts[&text] == 1 { text } else { format!("{text} ({details})") };
        let numbered = (2..).map(|number| format!("{text} [{number}]"));
        let mut names = std::iter::once(text.clone()).chain(numbered);
        names.find(|name| taken.insert(name.clone())).unwrap_or(text)
    };
    pairs.into_iter().map(name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(message: &str, schema: &Value) -> Form {
        Form::of(message, schema, &Secrets::default()).unwrap()
    }

    fn texts(form: &Form) -> Vec<String> {
        form.questions().iter().map(|question| question["question"].as_str().unwrap().to_owned()).collect()
    }

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
        filled(asked("Book?", &form()), given)
    }

    fn filled(form: Form, given: &[&str]) -> Option<Value> {
        let answers = given.iter().map(|text| Answer::One((*text).to_owned()));
        let answers = texts(&form).into_iter().zip(answers).collect();
        form.content(answers).map(Value::Object)
    }

    #[test]
    fn every_field_is_a_question_that_shows_the_servers_message() {
        let all = asked("Book?", &form()).questions();
        assert_eq!(all.len(), 5);
        assert_eq!(all[0]["question"], "Book?\nYour name (as in the passport)");
        assert_eq!(
            (&all[2]["options"][0]["label"], &all[2]["options"][1]["label"]),
            (&json!("Yes"), &json!("No"))
        );
        assert_eq!(all[3]["options"][1]["label"], "Medium");
        assert_eq!((&all[4]["multi_select"], &all[4]["asked_by"]), (&json!(true), &json!("mcp_server")));
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
        let form = asked(&message, &form);
        let question = form.questions().remove(0);
        let (text, label) =
            (question["question"].as_str().unwrap(), question["options"][0]["label"].as_str().unwrap());
        assert_eq!(text.lines().count(), 2, "{text:?}");
        assert!(!label.chars().any(beamai_text::is_hidden), "{label:?}");
        assert_eq!(filled(form, &[label]), Some(json!({"x\u{202e}": "\u{9b}1"})));
    }

    #[test]
    fn fields_and_options_that_look_alike_are_told_apart() {
        let form = || {
            let form = json!({"type": "object", "properties": {
                "from": {"type": "string", "title": "Account"},
                "to": {"type": "string", "title": "Account"},
                "what": {"type": "string", "enum": ["keep", "drop", "x"], "enumNames": ["Go on", "Go on", "drop"]},
            }});
            asked("Move?", &form)
        };
        assert_eq!(
            texts(&form())[..2],
            ["Move?\nAccount (from) [may be left out: -]", "Move?\nAccount (to) [may be left out: -]"]
        );
        assert_eq!(
            form().questions()[2]["options"][1],
            json!({"label": "Go on (drop)", "description": "drop"})
        );
        assert_eq!(
            filled(form(), &["a", "b", "Go on (drop)"]),
            Some(json!({"from": "a", "to": "b", "what": "drop"}))
        );
        // A label goes before a value.
        assert_eq!(filled(form(), &["a", "b", "drop"]).unwrap()["what"], "x");
        assert_eq!(filled(form(), &["a", "b", "keep"]).unwrap()["what"], "keep");
    }

    #[test]
    fn a_form_shows_no_secrets_and_returns_the_servers_values() {
        let secrets = Secrets::of(["t0ken-1", "t0ken-2"].into_iter());
        let schema = json!({"type": "object", "properties": {"t0ken-1": {
            "type": "string", "description": "not t0ken-1", "enum": ["t0ken-1", "t0ken-2"]
        }}});
        let form = Form::of("Which?", &schema, &secrets).unwrap();
        let shown = json!(form.questions());
        assert!(!shown.to_string().contains("t0ken"), "{shown}");
        let second = shown[0]["options"][1]["label"].as_str().unwrap();
        assert_eq!(filled(form, &[second]), Some(json!({"t0ken-1": "t0ken-2"})));
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
        assert_eq!(filled(asked("Delete everything?", &form), &["Yes"]), Some(json!({})));
        assert_eq!(filled(asked("Delete everything?", &form), &["No"]), None);
    }
}
