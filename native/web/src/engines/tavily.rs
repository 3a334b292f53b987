//! The Tavily search API.

use super::{EngineRequest, endpoint, key, result, wanted};
use beamai_base::Result;
use beamai_port_tools::web::search::{SearchQuery, SearchResult};
use beamai_tool::web_settings::SearchSettings;
use serde_json::{Value, json};

pub(super) fn ask(settings: &SearchSettings, question: &SearchQuery) -> Result<EngineRequest> {
    let base = settings.base_url.as_deref().unwrap_or("https://api.tavily.com");
    let mut body = json!({"query": question.query, "max_results": wanted(question)});
    let lists = [("include_domains", &question.allowed), ("exclude_domains", &question.blocked)];
    for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
        body[name] = list.iter().collect();
    }
    let headers = vec![
        ("authorization", format!("Bearer {}", key(settings))),
        ("content-type", "application/json".to_owned()),
    ];
    Ok(EngineRequest {
        url: endpoint(base, "/search", &[])?,
        method: "POST",
        headers,
        body: Some(body.to_string()),
    })
}

pub(super) fn results(answer: &Value) -> Option<Vec<SearchResult>> {
    let results = answer["results"].as_array()?;
    Some(results.iter().filter_map(|one| result(one, "title", "url", "content")).collect())
}
