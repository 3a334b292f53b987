//! Renders answers of language servers for models.

use super::INSTEAD;
use beamai_tool::for_model::{Fields, ModelCall, ModelPage};

/// Locations as `path:line:character: text`, symbols with their kind, documentation unchanged.
pub(super) fn answered(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    if !result.flag("available") {
        return unavailable(result, call, page);
    }
    if let Some(contents) = result.text("contents") {
        let left_out =
            page.prose(if contents.is_empty() { "the server has no information" } else { contents });
        if left_out > 0 {
            page.note(&format!("cut: {left_out} more characters"));
        }
    }
    let (mut shown, mut given) = (0, 0);
    for (key, line) in LISTS {
        let Some(items) = result.list(key) else { continue };
        given = items.len();
        shown = result.objects(key).filter_map(line).take_while(|line| page.line(line)).count();
        if items.is_empty() {
            page.line("none found");
        }
    }
    let total = result.count("total").unwrap_or(given as u64);
    if result.text("contents").is_none() && (shown as u64) < total {
        page.note(&format!("{shown} of {total}"));
    }
    // That nothing was found is said already.
    let message = result.non_empty("message").filter(|message| !message.ends_with(" found nothing"));
    message.into_iter().for_each(|message| page.note(message));
    Some(())
}

/// Why there is no answer, and which tools of the dialect to use instead.
fn unavailable(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let message = result.non_empty("message")?;
    match (message.strip_suffix(INSTEAD), call.other("Grep"), call.other("Read")) {
        (Some(why), Some(grep), Some(read)) => {
            page.line(&format!("{why} Use {grep} to search for names and {read} to look at files instead."))
        }
        _ => page.line(message),
    };
    Some(())
}

type LineFormatter = fn(Fields<'_>) -> Option<String>;

/// The lists that an answer may have, with the formatter of their elements.
const LISTS: [(&str, LineFormatter); 4] =
    [("locations", place), ("symbols", symbol), ("items", symbol), ("calls", symbol)];

fn place(location: Fields<'_>) -> Option<String> {
    let [line, character] = ["line", "character"].map(|key| location.count(key));
    let preview = location.non_empty("preview").map_or(String::new(), |text| format!(": {}", text.trim()));
    Some(format!("{}:{}:{}{preview}", location.text("path")?, line?, character?))
}

fn symbol(symbol: Fields<'_>) -> Option<String> {
    let [kind, name] = ["kind", "name"].map(|key| symbol.text(key).unwrap_or_default());
    let container = symbol.non_empty("container").map_or(String::new(), |container| format!("{container}."));
    let detail = symbol.non_empty("detail").map_or(String::new(), |detail| format!(" ({detail})"));
    let lines: Vec<String> =
        symbol.objects("sites").filter_map(|site| site.count("line")).map(|line| line.to_string()).collect();
    let sites =
        if lines.is_empty() { String::new() } else { format!(", calls on lines {}", lines.join(", ")) };
    let place = format!("{}:{}", symbol.text("path")?, symbol.count("line")?);
    Some(format!("{place} {kind} {container}{name}{detail}{sites}"))
}

/// One line per diagnostic: `path:line:character: severity: message [source code]`.
pub(super) fn diagnosed(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let diagnostics = result.list("diagnostics")?;
    if !result.flag("available") {
        return unavailable(result, call, page);
    }
    let shown =
        result.objects("diagnostics").map_while(diagnostic).take_while(|line| page.line(line)).count();
    if diagnostics.is_empty() {
        page.line("no errors or warnings");
    }
    let total = result.count("total").unwrap_or(diagnostics.len() as u64);
    if (shown as u64) < total {
        page.note(&format!("{shown} of {total} diagnostics"));
    }
    if !result.flag("complete") {
        page.note("incomplete: the server has not finished; ask again");
    }
    result.non_empty("message").into_iter().for_each(|message| page.note(message));
    Some(())
}

fn diagnostic(of: Fields<'_>) -> Option<String> {
    let [path, severity, message] =
        ["path", "severity", "message"].map(|key| of.text(key).unwrap_or_default());
    let [line, character] = ["line", "character"].map(|key| of.count(key));
    let by: Vec<&str> = ["source", "code"].iter().filter_map(|key| of.non_empty(key)).collect();
    let by = if by.is_empty() { String::new() } else { format!(" [{}]", by.join(" ")) };
    Some(format!("{path}:{}:{}: {severity}: {message}{by}", line?, character?))
}
