//! The Brave Search API.

use super::{EngineRequest, endpoint, key, restricted, result, wanted};
use crate::markdown::plain;
use beamai_base::Result;
use beamai_port_tools::web::search::{SearchQuery, SearchResult};
use beamai_tool::web_settings::SearchSettings;
use serde_json::Value;

pub(super) fn ask(settings: &SearchSettings, question: &SearchQuery) -> Result<EngineRequest> {
    let base = settings.base_url.as_deref().unwrap_or("https://api.search.brave.com");
    let count = wanted(question).to_string();
    let url = endpoint(base, "/res/v1/web/search", &[("q", &restricted(question)), ("count", &count)])?;
    let headers =
        vec![("x-subscription-token", key(settings).to_owned()), ("accept", "application/json".to_owned())];
    Ok(EngineRequest { url, method: "GET", headers, body: None })
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    // A search without results has no "web" key at all.
    let Some(results) = answer.get("web").and_then(|web| web["results"].as_array()) else {
        return answer.get("query").map(|_| Vec::new());
    };
    let plain =
        |one: SearchResult| SearchResult { title: plain(&one.title), snippet: plain(&one.snippet), ..one };
    Some(results.iter().filter_map(|one| result(one, "title", "url", "description")).map(plain).collect())
}
