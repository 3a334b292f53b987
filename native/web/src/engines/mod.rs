//! Search engines.

mod brave;
mod searxng;
mod tavily;

use beamai_base::{Domains, HostHint, Reason, Result, ToolError};
use beamai_net::{BodyEnd, Deadline, OutgoingRequest, ReceivedBody, Transport, block_on};
use beamai_port_tools::web::{
    request::address,
    search::{SearchQuery, SearchResult, WebSearch, WebSearchOutput},
};
use beamai_text::hide_secrets;
use beamai_tool::{
    CallContext, WebSettings,
    web_settings::{SearchProvider, SearchSettings},
};
use serde_json::Value;
use url::Url;

/// Maximum size of a response.
const ANSWER_BYTES: usize = 4 << 20;
/// Timeout in seconds.
const SECONDS: u64 = 30;
/// Maximum number of results per request, for all engines.
const MOST: usize = 20;
/// Maximum length of a snippet in bytes.
const SNIPPET_BYTES: usize = 1000;

/// Asks the host's search engine.
///
/// # Errors
/// `not_configured` if there is none, `network` for unexpected responses, `timeout`, `cancelled`.
pub(super) fn search(call: &WebSearch, cx: &CallContext) -> Result<WebSearchOutput> {
    let question = SearchQuery::of(call)?;
    let settings = cx.web.search.as_ref().ok_or_else(not_configured)?;
    let asked = EngineRequest::of(settings, &question)?;
    let answer = asked.send(settings, cx)?;
    let results = match settings.provider {
        SearchProvider::Searxng => searxng::results(&answer),
        SearchProvider::Brave => brave::results(&answer),
        SearchProvider::Tavily => tavily::results(&answer),
    };
    let results = results.ok_or_else(|| unexpected(settings, "its answer has no list of results"))?;
    Ok(found(settings.provider, results, &question, &cx.web))
}

fn not_configured() -> ToolError {
    let hint = HostHint::new(
        "Name one: web => #{search => #{provider => searxng, base_url => <<\"http://127.0.0.1:8888\">>}}, or provider brave \
         or tavily with an api_key",
        "Name one in a file for --settings: {\"web\": {\"search\": {\"provider\": \"searxng\", \"base_url\": \
         \"http://127.0.0.1:8888\"}}}, or provider brave or tavily with an api_key",
    );
    let message = "no search engine is configured; to read a known page, fetch its address";
    ToolError::new(Reason::NotConfigured, message).hint(hint)
}

/// A request in an engine's format.
struct EngineRequest {
    url: Url,
    method: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Option<String>,
}

impl EngineRequest {
    fn of(settings: &SearchSettings, question: &SearchQuery) -> Result<Self> {
        match settings.provider {
            SearchProvider::Searxng => searxng::ask(settings, question),
            SearchProvider::Brave => brave::ask(settings, question),
            SearchProvider::Tavily => tavily::ask(settings, question),
        }
    }

    fn send(&self, settings: &SearchSettings, cx: &CallContext) -> Result<Value> {
        let transport = match settings.base_url {
            Some(_) => Transport::to_own_server(&cx.web),
            // The provider's default endpoint is public and must resolve to public addresses.
            None => Transport::of(&WebSettings {
                user_agent: cx.web.user_agent.clone(),
                ..WebSettings::default()
            }),
        };
        let deadline = Deadline::of(cx, SECONDS);
        let request = OutgoingRequest {
            url: &self.url,
            method: self.method,
            headers: self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect(),
            body: self.body.as_deref().map(str::as_bytes),
            verify_tls: true,
            encodings: OutgoingRequest::ENCODINGS,
        };
        let (status, body) = block_on(cx, async {
            let exchange = transport.exchange(&request, &deadline).await?;
            Ok((exchange.status, exchange.receive(ANSWER_BYTES, &deadline).await?))
        })
        .map_err(|error| error.with("provider", settings.provider.as_str()))?;
        answer(settings, status, &body, &deadline)
    }
}

fn answer(settings: &SearchSettings, status: u16, body: &ReceivedBody, deadline: &Deadline) -> Result<Value> {
    match &body.end {
        BodyEnd::TimedOut => return Err(deadline.timed_out("receiving the results")),
        BodyEnd::Broken(why) => return Err(unexpected(settings, &format!("its answer broke off: {why}"))),
        BodyEnd::Capped => return Err(unexpected(settings, "its answer is too large")),
        BodyEnd::Complete => {}
    }
    if status != 200 {
        return Err(refused(settings, status, &body.bytes));
    }
    serde_json::from_slice(&body.bytes)
        .map_err(|error| unexpected(settings, &format!("its answer is not JSON: {error}")))
}

fn refused(settings: &SearchSettings, status: u16, body: &[u8]) -> ToolError {
    let advice = if status == 429 { "; wait before the next search, its quota is used up" } else { "" };
    let hint = match (status, settings.provider) {
        (403, SearchProvider::Searxng) => Some("Its own settings must list json under search.formats"),
        (401 | 403, _) => Some("Check api_key in the web settings"),
        (300..=399, _) => Some("Check base_url in the web settings"),
        _ => None,
    };
    // A server's page about an error may quote the request.
    let said = hide_secrets(&String::from_utf8_lossy(body), &[key(settings)], false);
    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    let error = unexpected(settings, &format!("it answered {status}{advice}"));
    let error = error.with("status_code", status).with("content", said);
    hint.map_or(error.clone(), |hint| error.hint(HostHint::new(hint, hint)))
}

fn unexpected(settings: &SearchSettings, why: &str) -> ToolError {
    let provider = settings.provider.as_str();
    ToolError::new(Reason::Network, format!("the search engine {provider} failed: {why}"))
        .with("provider", provider)
}

/// The results that the domain lists allow, up to the limit.
fn found(
    provider: SearchProvider,
    results: Vec<SearchResult>,
    question: &SearchQuery,
    web: &WebSettings,
) -> WebSearchOutput {
    let all = results.len();
    let allows = |list: &Domains, url: &Url| list.is_empty() || list.covering(url).is_some();
    let is_wanted = |result: &SearchResult| {
        let Ok((url, _)) = address(&result.url) else { return false };
        allows(&question.allowed, &url)
            && allows(&web.allowed_domains, &url)
            && question.blocked.covering(&url).is_none()
            && web.blocked_domains.covering(&url).is_none()
    };
    let mut results: Vec<_> = results.into_iter().filter(is_wanted).collect();
    let left_out = all - results.len();
    results.truncate(question.limit);
    let note =
        (left_out > 0).then(|| format!("{left_out} results were left out because of the domain lists"));
    WebSearchOutput { count: results.len(), results, provider: provider.as_str().to_owned(), note }
}

/// A URL below the engine's base URL, with a query.
fn endpoint(base: &str, path: &str, query: &[(&str, &str)]) -> Result<Url> {
    let (mut url, _) = address(&format!("{}{path}", base.trim_end_matches('/')))?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

/// Adds the domain lists to the query, for engines that have no other parameter for them. Only short lists: engines
/// ignore long ones, and results are filtered anyway.
fn restricted(question: &SearchQuery) -> String {
    const FEW: usize = 8;
    question.with_lists_up_to(FEW)
}

/// Number of results to request, so that enough remain after filtering by domain.
fn wanted(question: &SearchQuery) -> usize {
    if question.allowed.is_empty() && question.blocked.is_empty() { question.limit } else { MOST }
}

/// Converts one result; `None` without a URL.
fn result(result: &Value, title: &str, url: &str, snippet: &str) -> Option<SearchResult> {
    let text =
        |key: &str| result[key].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut snippet = text(snippet);
    if snippet.len() > SNIPPET_BYTES {
        snippet.truncate(snippet.floor_char_boundary(SNIPPET_BYTES));
        snippet.push('…');
    }
    Some(SearchResult { title: text(title), url: result[url].as_str()?.to_owned(), snippet })
}

fn key(settings: &SearchSettings) -> &str {
    settings.api_key.as_ref().map_or("", |key| key.reveal())
}
