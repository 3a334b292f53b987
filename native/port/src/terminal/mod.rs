//! The user at the terminal: approvals and questions of a call from the command line.
//!
//! Prompts go to standard error, so that standard output has only the result.

mod line;

use beamai_text::{indented, printable};
use beamai_tool::question::{Answer, Answers, Choice, Question};
use line::TypedLine;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::IsTerminal;

/// The response to an approval request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Approval {
    /// Approved.
    Given,
    /// Denied.
    Declined,
    /// Closed without an answer.
    Cancelled,
}

/// A terminal with a user.
pub(crate) struct Terminal(());

impl Terminal {
    /// The terminal of this program, if it can be read from and written to.
    pub(crate) fn of_this_program() -> Option<Self> {
        (std::io::stdin().is_terminal() && std::io::stderr().is_terminal()).then_some(Self(()))
    }

    /// Asks for approval; anything but yes denies. Changes are shown as a diff.
    pub(crate) fn approves(&self, request: &Value) -> Approval {
        eprintln!("{}", printable(request["message"].as_str().unwrap_or_default()));
        if let Some(diff) = request["diff"].as_str() {
            eprintln!("{}", printable(diff));
        }
        match line::read("Allow it? [y/N] (Esc cancels): ") {
            TypedLine::Text(text) if is_yes(&text) => Approval::Given,
            TypedLine::Text(_) => Approval::Declined,
            TypedLine::Cancelled => Approval::Cancelled,
        }
    }

    /// Asks about a program that a command starts. Returns rules for later starts of the command, or an empty list for
    /// this start only; `None` if denied.
    pub(crate) fn decides(&self, request: &Value) -> Option<Vec<String>> {
        let rules = request["wanted"].as_array().into_iter().flatten();
        let rules: Vec<String> = rules.filter_map(|rule| rule.as_str().map(str::to_owned)).collect();
        if rules.is_empty() {
            return (self.approves(request) == Approval::Given).then_some(rules);
        }
        eprintln!("{}", printable(request["message"].as_str().unwrap_or_default()));
        let prompt =
            format!("Allow it? [y]es, by [r]ule ({}) from here on, [N]o: ", printable(&rules.join(", ")));
        match line::read(&prompt) {
            TypedLine::Text(text) if is_yes(&text) => Some(Vec::new()),
            TypedLine::Text(text) if ["r", "rule"].contains(&text.trim()) => Some(rules),
            _ => None,
        }
    }

    /// Asks questions one by one. Cancelling one cancels all.
    pub(crate) fn answers(&self, questions: &[Question]) -> Answers {
        let asked = questions.iter().map(|question| Some((question.question.clone(), ask(question)?)));
        asked.collect::<Option<BTreeMap<_, _>>>().map_or(Answers::Cancelled, Answers::Answered)
    }
}

/// The mark of the first choice, unless the question already has it.
const RECOMMENDED: &str = " (Recommended)";

fn ask(question: &Question) -> Option<Answer> {
    eprintln!("The model asks: {}", indented(&question.question));
    for (number, Choice { label, description }) in (1..).zip(&question.options) {
        let is_marked = number != 1 || label.ends_with(RECOMMENDED);
        let recommended = if is_marked { "" } else { RECOMMENDED };
        eprintln!("  {number}. {}{recommended}  {}", indented(label), indented(description));
    }
    loop {
        match line::read(prompt(question)) {
            TypedLine::Cancelled => return None,
            TypedLine::Text(text) if text.trim().is_empty() => {}
            TypedLine::Text(text) => return Some(chosen(question, text.trim())),
        }
    }
}

fn prompt(question: &Question) -> &'static str {
    match (question.options.is_empty(), question.multi_select) {
        (true, _) => "Your answer (Esc cancels): ",
        (false, false) => "A number, or an answer of your own (Esc cancels): ",
        (false, true) => "Numbers with commas, or an answer of your own (Esc cancels): ",
    }
}

/// The labels of the given numbers, or the text as it is.
fn chosen(question: &Question, text: &str) -> Answer {
    let label = |number: &str| {
        let index = number.trim().parse::<usize>().ok()?.checked_sub(1)?;
        Some(question.options.get(index)?.label.clone())
    };
    match (label(text), question.multi_select) {
        (Some(label), false) => Answer::One(label),
        (None, false) => Answer::One(text.to_owned()),
        (_, true) => {
            let labels: Option<Vec<String>> = text.split(',').map(label).collect();
            labels.map_or_else(|| Answer::One(text.to_owned()), Answer::Several)
        }
    }
}

/// Whether an answer is yes, in capital letters or not.
fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(multi_select: bool) -> Question {
        let choice = |label: &str| Choice { label: label.into(), description: String::new() };
        let options = vec![choice("Red"), choice("Green")];
        Question { question: "Which?".into(), header: None, options, multi_select }
    }

    #[test]
    fn a_number_stands_for_its_label_and_anything_else_for_itself() {
        assert_eq!(chosen(&question(false), "2"), Answer::One("Green".into()));
        for own in ["3", "0", "blue", "1,2"] {
            assert_eq!(chosen(&question(false), own), Answer::One(own.into()));
        }
    }

    #[test]
    fn several_numbers_stand_for_several_labels() {
        assert_eq!(chosen(&question(true), "2, 1"), Answer::Several(vec!["Green".into(), "Red".into()]));
        assert_eq!(chosen(&question(true), "1, blue"), Answer::One("1, blue".into()));
    }

    #[test]
    fn what_is_shown_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[2J\nb"), "a\u{241b}[2J\nb");
    }
}
