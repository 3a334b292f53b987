//! Forms for a client's user, and their results.

use beamai_text::{indented, one_line, printable};
use beamai_tool::question::{Answer, Answers, Choice, Question};
use rmcp::model::{ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const ALLOW: &str = "allow";
const ALLOW_FOR_SESSION: &str = "allow for this session";
const DENY: &str = "deny";
/// Maximum number of rules in a choice, and maximum bytes of each.
const MOST_RULES: usize = 3;
const LONGEST_RULE: usize = 100;
/// The rule that allows every command, which a form does not offer.
const EVERY_COMMAND: &str = "Bash";

/// A message with form fields.
pub(crate) struct Form {
    /// What it is about.
    pub(crate) message: String,
    /// The fields, as a flat JSON Schema.
    pub(crate) schema: ElicitationSchema,
}

/// The user's decision on an approval request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ApprovalDecision {
    /// Approved once.
    Allow,
    /// Approved for the rest of the session.
    AllowForSession,
    /// Approved, with these rules for the rest of the session.
    AllowByRules(Vec<String>),
    /// Denied, or anything that is not a clear approval.
    Deny,
    /// Closed without an answer.
    Cancelled,
}

/// Names this server, because a client may show forms of several servers.
const WHO: &str = "beamai";

/// An approval request; with choices for the session and for rules, if those are offered.
pub(crate) fn approval(request: &Value, offers_session: bool) -> Form {
    let mut choices = vec![ALLOW.to_owned()];
    if offers_session {
        choices.push(ALLOW_FOR_SESSION.to_owned());
        choices.extend(by_rules(&rules(request)));
    }
    choices.push(DENY.to_owned());
    let decision = json!({"type": "string", "title": "Decision", "enum": choices});
    let mut message = format!("{WHO}: {}", one_line(request["message"].as_str().unwrap_or_default()));
    if let Some(diff) = request["diff"].as_str() {
        message += &format!("\n{}", printable(diff));
    }
    form(message, Map::from_iter([("decision".to_owned(), decision)]), &["decision".to_owned()])
}

/// The rules that would allow the action, if a choice can show all of them. What a whole call wants is its own text,
/// which as a rule could be a pattern for others; what a start or a connection wants is a rule.
fn rules(request: &Value) -> Vec<String> {
    let is_of_call = request["fingerprint"].is_string();
    let rules = request[if is_of_call { "always" } else { "wanted" }].as_array().into_iter().flatten();
    let rules: Vec<String> = rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect();
    let is_shown =
        |rule: &String| *rule != EVERY_COMMAND && rule.len() <= LONGEST_RULE && one_line(rule) == *rule;
    match rules.len() <= MOST_RULES && rules.iter().all(is_shown) {
        true => rules,
        false => Vec::new(),
    }
}

fn by_rules(rules: &[String]) -> Option<String> {
    (!rules.is_empty()).then(|| format!("{ALLOW_FOR_SESSION}: {}", rules.join(", ")))
}

/// The decision on a request. Only an explicit approval counts, and only one that [`approval`] offered.
pub(crate) fn decision(request: &Value, result: &ElicitResult, offers_session: bool) -> ApprovalDecision {
    let said = result.content.as_ref().and_then(|content| content["decision"].as_str());
    match (&result.action, said) {
        (ElicitationAction::Cancel, _) => ApprovalDecision::Cancelled,
        (ElicitationAction::Accept, Some(ALLOW)) => ApprovalDecision::Allow,
        (ElicitationAction::Accept, Some(said)) if offers_session => {
            let rules = rules(request);
            match said {
                ALLOW_FOR_SESSION => ApprovalDecision::AllowForSession,
                _ if by_rules(&rules).as_deref() == Some(said) => ApprovalDecision::AllowByRules(rules),
                _ => ApprovalDecision::Deny,
            }
        }
        _ => ApprovalDecision::Deny,
    }
}

/// The questions of a tool. Each has two fields, since users can always give an answer besides the choices.
pub(crate) fn questions(tool: &str, questions: &[Question], has_lists: bool) -> Form {
    let questions: Vec<Question> = questions.iter().map(shown).collect();
    let (mut fields, mut required) = (Map::new(), Vec::new());
    for (key, question) in keys().zip(&questions) {
        if question.options.is_empty() {
            required.push(key.clone());
            fields.insert(key, text(question, &question.question));
            continue;
        }
        let other =
            json!({"type": "string", "title": "Another answer", "description": "Instead of the choices."});
        fields.insert(key.clone(), choice(question, has_lists));
        fields.insert(other_key(&key), other);
    }
    let texts = questions.iter().map(|one| one.question.clone()).collect::<Vec<_>>().join("\n      ");
    form(format!("{WHO}, in its tool {tool}, asks: {texts}"), fields, &required)
}

/// The answers; cancelled if one is missing.
pub(crate) fn answers(questions: &[Question], result: &ElicitResult) -> Answers {
    let content = match (&result.action, &result.content) {
        (ElicitationAction::Accept, Some(content)) => content,
        _ => return Answers::Cancelled,
    };
    let all = keys().zip(questions).map(|(key, question)| {
        let own = content[other_key(&key)].as_str().map(str::trim).filter(|text| !text.is_empty());
        let answer = match own {
            Some(text) => Answer::One(text.to_owned()),
            None => answer(question, &content[&key])?,
        };
        Some((question.question.clone(), answer))
    });
    all.collect::<Option<BTreeMap<_, _>>>().map_or(Answers::Cancelled, Answers::Answered)
}

fn answer(question: &Question, given: &Value) -> Option<Answer> {
    match given {
        Value::Array(several) => {
            let labels: Vec<String> =
                several.iter().filter_map(Value::as_str).map(|text| meant(question, text)).collect();
            (!labels.is_empty()).then_some(Answer::Several(labels))
        }
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) if question.multi_select => Some(several(question, text)),
        Value::String(text) => Some(Answer::One(meant(question, text))),
        _ => None,
    }
}

/// Comma-separated labels, or free text.
fn several(question: &Question, text: &str) -> Answer {
    let parts: Vec<String> = text.split(',').map(|part| meant(question, part.trim())).collect();
    let is_label = |part: &String| question.options.iter().any(|choice| choice.label == *part);
    if parts.iter().all(is_label) { Answer::Several(parts) } else { Answer::One(text.to_owned()) }
}

/// A question as sent to a client. Its text comes from a model and may be shown on a terminal, where none of its lines
/// may look like one of ours.
fn shown(question: &Question) -> Question {
    let choice = |choice: &Choice| Choice {
        label: indented(&choice.label),
        description: indented(&choice.description),
    };
    Question {
        question: indented(&question.question),
        header: question.header.as_deref().map(indented),
        options: question.options.iter().map(choice).collect(),
        multi_select: question.multi_select,
    }
}

/// The label that was shown as this text, or the text itself.
fn meant(question: &Question, text: &str) -> String {
    let label = question.options.iter().map(|choice| &choice.label).find(|label| indented(label) == text);
    label.map_or(text, |label| label).to_owned()
}

fn keys() -> impl Iterator<Item = String> {
    (1..).map(|number| format!("answer_{number}"))
}

fn other_key(key: &str) -> String {
    format!("{key}_other")
}

fn text(question: &Question, description: &str) -> Value {
    let title = question.header.as_deref().unwrap_or("Answer");
    json!({"type": "string", "title": title, "description": description})
}

fn choice(question: &Question, has_lists: bool) -> Value {
    let mut description = question.question.clone();
    for choice in &question.options {
        description += &format!("\n- {}: {}", choice.label, choice.description);
    }
    let labels: Vec<&str> = question.options.iter().map(|choice| choice.label.as_str()).collect();
    let mut field = text(question, &description);
    match (question.multi_select, has_lists) {
        (false, _) => field["enum"] = json!(labels),
        (true, true) => {
            field["type"] = json!("array");
            field["items"] = json!({"type": "string", "enum": labels});
        }
        (true, false) => field["description"] = (description + "\nSeveral with commas between them.").into(),
    }
    field
}

fn form(message: String, fields: Map<String, Value>, required: &[String]) -> Form {
    let mut schema = json!({"type": "object", "properties": fields});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let schema = serde_json::from_value(schema).expect("the fields above are what forms may have");
    Form { message, schema }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_tool::question::Choice;

    fn question(labels: &[&str], multi_select: bool) -> Question {
        let choice = |label: &&str| Choice { label: (*label).into(), description: "so".into() };
        let options = labels.iter().map(choice).collect();
        Question { question: format!("{labels:?}?"), header: None, options, multi_select }
    }

    fn accepted(content: Value) -> ElicitResult {
        ElicitResult::new(ElicitationAction::Accept).with_content(content)
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for (content, expected) in [
            (json!({"decision": "allow"}), ApprovalDecision::Allow),
            (json!({"decision": "allow for this session"}), ApprovalDecision::AllowForSession),
            (json!({"decision": "deny"}), ApprovalDecision::Deny),
            (json!({"decision": true}), ApprovalDecision::Deny),
            (json!({}), ApprovalDecision::Deny),
        ] {
            assert_eq!(decision(&json!({}), &accepted(content), true), expected);
        }
        let declined =
            ElicitResult::new(ElicitationAction::Decline).with_content(json!({"decision": "allow"}));
        assert_eq!(decision(&json!({}), &declined, true), ApprovalDecision::Deny);
        assert_eq!(
            decision(&json!({}), &ElicitResult::new(ElicitationAction::Accept), true),
            ApprovalDecision::Deny
        );
        assert_eq!(
            decision(&json!({}), &ElicitResult::new(ElicitationAction::Cancel), true),
            ApprovalDecision::Cancelled
        );
    }

    #[test]
    fn rules_are_offered_where_all_of_them_can_be_shown() {
        let offered = |rules: &[&str], offers| {
            let form = approval(&json!({"message": "?", "wanted": rules}), offers);
            let schema = serde_json::to_value(form.schema).unwrap();
            schema["properties"]["decision"]["enum"].as_array().unwrap().clone()
        };
        let choice = "allow for this session: Bash(rm:*), Bash(ls:*)";
        let rules = ["Bash(rm:*)", "Bash(ls:*)"];
        assert_eq!(offered(&rules, true), ["allow", "allow for this session", choice, "deny"]);
        assert_eq!(offered(&rules, false), ["allow", "deny"]);
        for hidden in [&["Bash"][..], &["Bash(a\u{202e}:*)"], &["Bash(a:*)"; 4], &[]] {
            assert_eq!(offered(hidden, true).len(), 3, "{hidden:?}");
        }
        let request = json!({"wanted": rules});
        let said = accepted(json!({"decision": choice}));
        assert_eq!(
            decision(&request, &said, true),
            ApprovalDecision::AllowByRules(rules.map(str::to_owned).to_vec())
        );
        assert_eq!(decision(&json!({"wanted": ["Bash(rm:*)"]}), &said, true), ApprovalDecision::Deny);
        let call = json!({"wanted": ["Bash(touch a*)"], "fingerprint": "x"});
        let said = accepted(json!({"decision": "allow for this session: Bash(touch a*)"}));
        assert_eq!(decision(&call, &said, true), ApprovalDecision::Deny);
    }

    #[test]
    fn a_session_is_offered_where_it_is_of_one_client() {
        let schema =
            |offers| serde_json::to_value(approval(&json!({"message": "?"}), offers).schema).unwrap();
        assert_eq!(
            schema(true)["properties"]["decision"]["enum"],
            json!(["allow", "allow for this session", "deny"])
        );
        assert_eq!(schema(false)["properties"]["decision"]["enum"], json!(["allow", "deny"]));
        let request = json!({"wanted": ["Bash(rm:*)"]});
        for choice in ["allow for this session", "allow for this session: Bash(rm:*)"] {
            let said = accepted(json!({"decision": choice}));
            assert_eq!(decision(&request, &said, false), ApprovalDecision::Deny, "{choice}");
        }
    }

    #[test]
    fn questions_become_fields_and_fields_answers() {
        let asked =
            [question(&[], false), question(&["Red", "Green"], false), question(&["A", "B", "C"], true)];
        for has_lists in [false, true] {
            let schema = serde_json::to_value(questions("human_input", &asked, has_lists).schema).unwrap();
            assert_eq!(schema["required"], json!(["answer_1"]));
            assert_eq!(schema["properties"]["answer_2"]["enum"], json!(["Red", "Green"]));
            let list = if has_lists { "array" } else { "string" };
            assert_eq!(schema["properties"]["answer_3"]["type"], list);
        }
        let several = [json!(["A", "C"]), json!("A, C")];
        for list in several {
            let given =
                json!({"answer_1": "x", "answer_2": "Red", "answer_2_other": " blue ", "answer_3": list});
            let Answers::Answered(answers) = answers(&asked, &accepted(given)) else { panic!() };
            assert_eq!(answers[&asked[0].question], Answer::One("x".into()));
            assert_eq!(answers[&asked[1].question], Answer::One("blue".into()));
            assert_eq!(answers[&asked[2].question], Answer::Several(vec!["A".into(), "C".into()]));
        }
    }

    #[test]
    fn a_form_names_who_asks_and_hides_nothing() {
        let request = json!({"message": "shell_exec wants to run: a\nb\u{202e}"});
        assert_eq!(approval(&request, false).message, r#"beamai: "shell_exec wants to run: a\nb\u{202e}""#);
        let change = json!({"message": "file_edit wants to change a", "diff": "-a\n+b\u{1b}\n"});
        assert_eq!(approval(&change, false).message, "beamai: file_edit wants to change a\n-a\n+b\u{241b}\n");
        let asked = [question(&["Red\u{9b}", "Green"], false)];
        let form = questions("human_input", &asked, true);
        assert!(form.message.starts_with("beamai, in its tool human_input, asks: "), "{}", form.message);
        let lines = Question {
            question: "Ready?\nbeamai: shell_exec wants to run: a".into(),
            ..question(&[], false)
        };
        let message = questions("human_input", &[lines.clone(), lines], true).message;
        assert_eq!(message.matches("\n      beamai: ").count(), 2, "{message}");
        assert!(!message.contains("\nbeamai"), "{message}");
        let schema = serde_json::to_value(form.schema).unwrap();
        let label = schema["properties"]["answer_1"]["enum"][0].as_str().unwrap();
        assert_eq!(label, "Red\u{fffd}");
        let Answers::Answered(answers) = answers(&asked, &accepted(json!({"answer_1": label}))) else {
            panic!()
        };
        assert_eq!(answers[&asked[0].question], Answer::One("Red\u{9b}".into()));
    }

    #[test]
    fn an_answer_that_is_missing_cancels_all() {
        let asked = [question(&["Red", "Green"], false)];
        for given in [json!({}), json!({"answer_1": " "}), json!({"answer_1": 1})] {
            assert_eq!(answers(&asked, &accepted(given)), Answers::Cancelled);
        }
        assert_eq!(answers(&asked, &ElicitResult::new(ElicitationAction::Cancel)), Answers::Cancelled);
    }
}
