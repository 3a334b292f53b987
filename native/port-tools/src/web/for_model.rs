//! Renders web results for models.

use super::fetched::CUT_NOTE;
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
    let shown = (content.trim_end().chars().count() - left_out.min(content.len())) as u64;
    let is_text = !call.has("prompt") || call.has("offset");
    match result.count("text_length").or_else(|| is_text.then(|| content.chars().count() as u64)) {
        Some(total) => note_part(shown, left_out > 0 || result.flag("truncated"), total, call, page),
        None if left_out > 0 => page.note(&format!("cut: {left_out} more characters")),
        None => {}
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
    // Where the text itself was cut has been said, with the call that continues.
    let notes = result.non_empty("note").into_iter().flat_map(|note| note.split("; "));
    let notes: Vec<&str> = notes.filter(|note| !note.starts_with(CUT_NOTE)).collect();
    if !notes.is_empty() {
        page.note(&notes.join("; "));
    }
    Some(())
}

/// Notes which part of the text is shown, unless it is all of it, and the call for what follows.
fn note_part(shown: u64, is_cut: bool, total: u64, call: &ModelCall<'_>, page: &mut ModelPage) {
    let skipped = call.skipped();
    let end = skipped + shown;
    if skipped >= total && skipped > 0 {
        page.note(&format!("nothing follows the first {skipped} characters: the text has {total}"));
    } else if is_cut && end < total {
        let is_repeatable = call
            .argument(&["method"])
            .is_none_or(|method| ["get", "head"].contains(&&*method.to_lowercase()));
        let next = match call.skipping(end).filter(|_| is_repeatable) {
            Some(next) => format!("; continue with {next}"),
            None if is_repeatable => String::new(),
            // The same call again would have its effect again.
            None => "; the rest cannot be shown without sending the request again".to_owned(),
        };
        page.note(&format!("characters {} to {end} of {total}{next}", skipped + 1));
    } else if skipped > 0 {
        page.note(&format!("characters {} to {total} of {total}", skipped + 1));
    }
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
