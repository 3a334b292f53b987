//! Renders web results for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage};

/// The text of the resource, followed by notes on anything unexpected.
pub(super) fn fetched(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let (content, status) = (result.text("content")?, result.count("status_code")?);
    let kind = result.non_empty("media_type").unwrap_or("unknown type");
    let size = result.count("size_bytes").unwrap_or(0);
    let is_image = result.flag("is_image");
    if let Some(headers) = result.object("headers") {
        let line =
            |(name, value): (&String, &serde_json::Value)| Some(format!("{name}: {}", value.as_str()?));
        headers.iter().filter_map(line).take_while(|line| page.line(line)).for_each(drop);
    } else if is_image || content.is_empty() {
        page.line(&format!("{kind}, {size} bytes"));
    }
    let left_out = if is_image { 0 } else { page.prose(content) };
    if left_out > 0 {
        page.note(&format!("cut: {left_out} more characters"));
    }
    if !(200..300).contains(&status) {
        page.note(&format!("status {status}"));
    }
    let url =
        result.non_empty("url").filter(|url| call.argument(&["url"]).is_some_and(|asked| asked != *url));
    if let Some(url) = url.filter(|_| result.list("redirects").is_some_and(|redirects| !redirects.is_empty()))
    {
        page.note(&format!("redirected to {url}"));
    }
    result.non_empty("note").into_iter().for_each(|note| page.note(note));
    Some(())
}

/// Title, URL and snippet of each result.
pub(super) fn searched(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let results = result.list("results")?;
    let text = |found: Fields<'_>| {
        let [title, url, snippet] =
            ["title", "url", "snippet"].map(|key| found.text(key).unwrap_or_default());
        format!("{title}\n{url}\n{snippet}\n")
    };
    let shown = result.objects("results").map(text).take_while(|text| page.line(text)).count();
    if results.is_empty() {
        page.line("no results");
    }
    if shown < results.len() {
        page.note(&format!("{shown} of {} results", results.len()));
    }
    result.non_empty("note").into_iter().for_each(|note| page.note(note));
    Some(())
}
