//! Questions to the person who uses the agent.
//!
//! An operation cannot wait for a person. It stops with its questions before it has any effect; the host asks them and
//! makes the same call again, with the [`Answers`].

mod for_model;

use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{Operand, PermissionRequest};
pub use beamai_tool::question::{Answer, Answers, Choice, Question, RECOMMENDED};
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The text for the model if nobody can be asked.
pub const NO_FRONTEND: &str =
    "There is no interactive terminal, so nobody can be asked. Decide by yourself, and say what you assumed.";
/// The text for the model if the person refuses to answer.
pub const CANCELLED: &str =
    "The questions were cancelled; no answer was given. Do not ask them again unchanged.";

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionOutcome {
    /// Every question has an answer.
    Answered,
    /// The person refused to answer.
    Cancelled,
    /// Nobody can be asked.
    NoFrontend,
}

/// The result of questions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AskOutput {
    /// The outcome.
    pub outcome: QuestionOutcome,
    /// Answers by question; empty unless answered.
    pub answers: BTreeMap<String, String>,
    /// The same as text.
    pub text: String,
}

/// Asks the person.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AskQuestions {
    /// The questions, one to four, asked one after the other.
    #[schemars(length(min = 1, max = 4), extend("self_evident" = true))]
    pub questions: Vec<Question>,
    /// Whether the first choice is shown as recommended.
    #[serde(skip)]
    #[schemars(skip)]
    pub recommends: bool,
}

impl Operation for AskQuestions {
    type Output = AskOutput;
    const TRAITS: Traits = Traits { read_only: true, asks_user: true, ..Traits::PURE };
    const RULE: &'static str = "AskUserQuestion";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: true,
            operand: Operand::None,
        })
    }

    fn run(self, cx: &CallContext) -> Result<AskOutput, Interrupt> {
        self.questions.iter().try_for_each(check)?;
        distinct(self.questions.iter().map(|question| &*question.question), "question")?;
        match cx.answers.clone() {
            None => Err(Interrupt::Question(self.marked())),
            Some(Answers::Answered(answers)) => self.answered(answers),
            Some(Answers::Cancelled) => Ok(unanswered(QuestionOutcome::Cancelled, CANCELLED)),
            Some(Answers::NoFrontend) => Ok(unanswered(QuestionOutcome::NoFrontend, NO_FRONTEND)),
        }
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::answered(result, call, page)
    }
}

impl AskQuestions {
    /// The questions as shown to the person.
    fn marked(self) -> Vec<Question> {
        let mut questions = self.questions;
        let first = questions.iter_mut().filter_map(|question| question.options.first_mut());
        for choice in first.filter(|choice| self.recommends && !choice.label.ends_with(RECOMMENDED)) {
            choice.label.push_str(RECOMMENDED);
        }
        questions
    }

    fn answered(self, mut given: BTreeMap<String, Answer>) -> Result<AskOutput, Interrupt> {
        let mut answers = BTreeMap::new();
        let mut lines = Vec::new();
        for Question { question, options, .. } in self.questions {
            let Some(answer) = given.remove(&question) else {
                let message = format!(
                    "the host's ask_user gave no answer to {question:?}; it must answer every question"
                );
                return Err(ToolError::new(Reason::Crash, message).into());
            };
            let answer = answer.unmarked(options.first().filter(|_| self.recommends)).text();
            lines.push(format!("{question}\n  {answer}"));
            answers.insert(question, answer);
        }
        Ok(AskOutput { outcome: QuestionOutcome::Answered, answers, text: lines.join("\n") })
    }
}

fn unanswered(outcome: QuestionOutcome, text: &str) -> AskOutput {
    AskOutput { outcome, answers: BTreeMap::new(), text: text.to_owned() }
}

fn check(question: &Question) -> Result<()> {
    let refuse = |why: String| {
        Err(ToolError::new(Reason::InvalidArgument, format!("question {:?}: {why}", question.question)))
    };
    if question.question.trim().is_empty() {
        return refuse("it is empty".into());
    }
    if let Some(header) = question.header.as_ref().filter(|header| header.chars().count() > 12) {
        return refuse(format!("its header {header:?} is longer than 12 characters; shorten it"));
    }
    if question.options.len() == 1 {
        return refuse("one option is not a choice; give two to four, or none for free text".into());
    }
    if question.options.len() > 4 {
        return refuse(format!("{} options are too many; give at most 4", question.options.len()));
    }
    distinct(question.options.iter().map(|choice| &*choice.label), "option")
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>, what: &str) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    for text in texts {
        if !seen.insert(text) {
            return Err(ToolError::new(
                Reason::InvalidArgument,
                format!("the {what} {text:?} occurs twice; make them differ"),
            ));
        }
    }
    Ok(())
}
