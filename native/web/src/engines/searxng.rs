//! The search API of SearXNG, with `format=json`.

use super::{EngineRequest, endpoint, restricted, result};
use beamai_base::Result;
use beamai_port_tools::web::search::{SearchQuery, SearchResult};
use beamai_tool::web_settings::SearchSettings;
use serde_json::Value;

pub(super) fn ask(settings: &SearchSettings, question: &SearchQuery) -> Result<EngineRequest> {
    let base = settings.base_url.as_deref().unwrap_or_default();
    let url = endpoint(base, "/search", &[("q", &restricted(question)), ("format", "json")])?;
    let key = settings.api_key.as_ref().map(|key| ("authorization", format!("Bearer {}", key.reveal())));
    Ok(EngineRequest { url, method: "GET", headers: key.into_iter().collect(), body: None })
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    let results = answer["results"].as_array()?;
    Some(results.iter().filter_map(|one| result(one, "title", "url", "content")).collect())
}
