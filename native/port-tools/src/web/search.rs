//! `web_search`.

use beamai_base::{Domains, Reason, Result, ToolError};
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Door, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Searches the web.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct WebSearch {
    /// What to search for.
    #[schemars(extend("self_evident" = true))]
    pub query: String,
    /// Only these and their subdomains.
    pub allowed_domains: Option<Vec<String>>,
    /// No results from these domains and their subdomains.
    #[schemars(extend("self_evident" = true))]
    pub blocked_domains: Option<Vec<String>>,
    /// Maximum number of results.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 20), extend("self_evident" = true))]
    pub limit: usize,
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebSearchOutput {
    /// The results, best first.
    pub results: Vec<SearchResult>,
    /// Number of results.
    pub count: usize,
    /// The search engine: searxng, brave or tavily.
    pub provider: String,
    /// What was left out, and why.
    pub note: Option<String>,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchResult {
    /// Title of the page.
    pub title: String,
    /// Its URL.
    pub url: String,
    /// An excerpt or summary.
    pub snippet: String,
}

fn ten() -> usize {
    10
}

/// A validated search.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// What to search for, trimmed.
    pub query: String,
    /// Only results from these domains, if any are given.
    pub allowed: Domains,
    /// No results from these domains.
    pub blocked: Domains,
    /// Maximum number of results.
    pub limit: usize,
}

impl SearchQuery {
    /// Validates a call.
    ///
    /// # Errors
    /// `invalid_argument` for an empty query or an invalid domain.
    pub fn of(call: &WebSearch) -> Result<Self> {
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

    /// The query with the domain lists of at most `most` domains, in the words of search engines: `weather site:a.example`.
    pub fn with_lists_up_to(&self, most: usize) -> String {
        let list = |domains: &Domains, mark: &str, between: &str| {
            let all: Vec<String> = domains.iter().map(|domain| format!("{mark}{domain}")).collect();
            (1..=most).contains(&all.len()).then(|| all.join(between))
        };
        let lists = [list(&self.allowed, "site:", " OR "), list(&self.blocked, "-site:", " ")];
        std::iter::once(self.query.clone()).chain(lists.into_iter().flatten()).collect::<Vec<_>>().join(" ")
    }
}

impl Operation for WebSearch {
    type Output = WebSearchOutput;
    const TRAITS: Traits = Traits {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: true,
        door: Door::Port,
        pace: ExecutionClass::Long,
        session: false,
        asks_user: false,
    };
    const RULE: &'static str = "WebSearch";
    /// Asks for approval although nothing is changed, because the query is sent to another machine.
    const ASKS: bool = true;

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        // The lists are sent, too.
        let sent = SearchQuery::of(self)?.with_lists_up_to(usize::MAX);
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::Query(sent),
        })
    }

    fn run(self, cx: &CallContext) -> Result<WebSearchOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::searched(result, call, page)
    }
}
