//! `web_search`.

use crate::context::{CallContext, Stop};
use crate::domain::Domains;
use crate::error::{Reason, Result, ToolError};
use crate::for_model::{Fields, ModelCall, Page};
use crate::operation::Operation;
use crate::policy::{Need, Operand};
use crate::tool::{Door, Pace, Traits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks a search engine.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct WebSearch {
    /// What to search for.
    pub query: String,
    /// Only results from these domains and their subdomains, such as ["go.dev"].
    pub allowed_domains: Option<Vec<String>>,
    /// No results from these domains and their subdomains.
    pub blocked_domains: Option<Vec<String>>,
    /// Most results.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 20))]
    pub limit: usize,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Found {
    /// The results, best first.
    pub results: Vec<SearchResult>,
    /// How many there are.
    pub count: usize,
    /// The search engine that answered: searxng, brave or tavily.
    pub provider: String,
    /// What a reader should know of the results: what was left out, and why.
    pub note: Option<String>,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchResult {
    /// Title of the page.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What it says about the query.
    pub snippet: String,
}

fn ten() -> usize {
    10
}

/// A checked search.
#[cfg_attr(not(feature = "port"), allow(dead_code, reason = "described everywhere, run by the port only"))]
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) query: String,
    pub(crate) allowed: Domains,
    pub(crate) blocked: Domains,
    pub(crate) limit: usize,
}

impl Question {
    /// Checks a call.
    ///
    /// # Errors
    /// `invalid_argument` for an empty query or what is no domain.
    pub(crate) fn of(call: &WebSearch) -> Result<Self> {
        let wrong = |message: String| ToolError::new(Reason::InvalidArgument, message);
        let list = |name: &str, texts: &Option<Vec<String>>| {
            let parsed = Domains::parse(texts.as_deref().unwrap_or_default());
            parsed.map_err(|why| wrong(format!("\"{name}\": {why}")))
        };
        let query = call.query.trim().to_owned();
        if query.is_empty() {
            return Err(wrong("\"query\" is empty; say what to search for".into()));
        }
        Ok(Self {
            query,
            allowed: list("allowed_domains", &call.allowed_domains)?,
            blocked: list("blocked_domains", &call.blocked_domains)?,
            limit: call.limit,
        })
    }
}

impl Operation for WebSearch {
    type Output = Found;
    const TRAITS: Traits = Traits {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: true,
        door: Door::Port,
        pace: Pace::Long,
        session: false,
        asks_user: false,
    };
    const RULE: &'static str = "WebSearch";
    /// It changes nothing, but the query leaves the machine.
    const ASKS: bool = true;

    fn need(&self, _: &CallContext) -> Result<Need> {
        let question = Question::of(self)?;
        Ok(Need {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::Query(question.query),
        })
    }

    #[cfg(feature = "port")]
    fn run(self, cx: &CallContext) -> Result<Found, Stop> {
        Ok(super::engines::search(&self, cx)?)
    }

    #[cfg(not(feature = "port"))]
    fn run(self, _: &CallContext) -> Result<Found, Stop> {
        Err(super::needs_port("web_search"))
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut Page) -> Option<()> {
        super::for_model::searched(result, call, page)
    }
}
