//! Renders command results for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage, StreamCut, quantity};
use serde_json::json;

/// Rule names of the tools for background commands.
const POLL: &str = "BashOutput";
const KILL: &str = "KillShell";
/// How to see all output of which no file is kept.
const NOT_KEPT: &str = "the rest is not kept: redirect the output into a file of the workspace, or pipe it through cut -c, head or tail";

/// The command's output, followed by a line for anything unusual.
pub(super) fn ended(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    result.text("stdout")?;
    if let Some(id) = result.non_empty("id") {
        page.line(&in_background(id, call));
        return Some(());
    }
    let is_cut = printed(result, "(no output)", page);
    match (result.number("exit_code"), result.non_empty("signal")) {
        (Some(0), _) => {}
        (Some(code), _) => page.note(&format!("exit code {code}")),
        (None, Some(signal)) => page.note(&format!("killed by {signal}")),
        (None, None) => page.note("killed"),
    }
    aftermath(result, is_cut, call, page);
    Some(())
}

fn in_background(id: &str, call: &ModelCall<'_>) -> String {
    let args = json!({"id": id});
    let [poll, kill] = [POLL, KILL].map(|rule| call.other_call(rule, &args));
    let how = match (poll, kill) {
        (Some(poll), Some(kill)) => format!("; output: {poll}; end: {kill}"),
        _ => String::new(),
    };
    format!("running in the background as {id}{how}")
}

/// New output of a background command, and its status.
pub(super) fn polled(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let status = result.non_empty("status")?;
    let is_cut = printed(result, "(no new output)", page);
    let code = result.number("exit_code").map(|code| format!(", exit code {code}"));
    let signal = result.non_empty("signal").map(|signal| format!(", killed by {signal}"));
    page.note(&format!("{}{}", status.replace('_', " "), code.or(signal).unwrap_or_default()));
    result.non_empty("error").into_iter().for_each(|error| page.note(error));
    aftermath(result, is_cut, call, page);
    Some(())
}

/// Standard output, then standard error, with a heading if there is both, or what is said if there is neither; returns
/// whether some of it is left out.
fn printed(result: Fields<'_>, nothing: &str, page: &mut ModelPage) -> bool {
    let [stdout, stderr] = ["stdout", "stderr"].map(|key| result.text(key).unwrap_or_default().trim_end());
    let errors = stderr.chars().count().min(page.room() / 2);
    let room = page.room() - errors.min(page.room() / 2);
    let mut is_cut = result.flag("truncated");
    if !stdout.is_empty() {
        is_cut |= page.both_ends(stdout, room, StreamCut::of(result, "stdout"));
    }
    let is_exact = |stream: &str| result.non_empty(&format!("{stream}_base64")).is_none();
    for (stream, text) in
        [("stdout", stdout), ("stderr", stderr)].iter().filter(|(stream, _)| !is_exact(stream))
    {
        page.note(&match text.is_empty() {
            true => format!("{stream} is not text"),
            false => format!("{stream} has bytes that are not UTF-8; U+FFFD stands for them"),
        });
    }
    if !stderr.is_empty() {
        if !stdout.is_empty() {
            page.line("[stderr]");
        }
        let room = page.room();
        is_cut |= page.both_ends(stderr, room, StreamCut::of(result, "stderr"));
    }
    if page.is_empty() && is_exact("stdout") && is_exact("stderr") {
        page.line(nothing);
    }
    is_cut
}

/// Names that were reached or refused, on one line.
fn network(result: Fields<'_>) -> Option<String> {
    let count = |of: &Fields<'_>, key: &str| of.count(key).unwrap_or_default();
    let shown =
        |name: &str, count: u64| if count > 1 { format!("{name} ({count} times)") } else { name.to_owned() };
    let uses: Vec<Fields<'_>> = result.objects("network").collect();
    let name = |of: &Fields<'_>| of.text("name").unwrap_or_default().to_owned();
    let reached = uses.iter().filter(|of| count(of, "reached") > 0);
    let reached: Vec<String> = reached.map(|of| shown(&name(of), count(of, "reached"))).collect();
    let refused = uses.iter().filter(|of| count(of, "refused") > 0).map(|of| {
        let why = of.non_empty("why").map(|why| format!(": {why}")).unwrap_or_default();
        format!("{}{why}", shown(&name(of), count(of, "refused")))
    });
    let refused: Vec<String> = refused.collect();
    let parts = [("reached", reached), ("refused", refused)];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, all)| !all.is_empty())
        .map(|(word, all)| format!("{word} {}", all.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| format!("network: {}", parts.join("; ")))
}

/// Notes on the command besides its output.
fn aftermath(result: Fields<'_>, is_cut: bool, call: &ModelCall<'_>, page: &mut ModelPage) {
    let file = result.non_empty("output_file").or_else(|| result.non_empty("output_copy").filter(|_| is_cut));
    let lacks = result.non_empty("output_file_lacks");
    match file {
        Some(file) => {
            page.note(&format!("all output: {}", call.reading(file).unwrap_or_else(|| file.to_owned())))
        }
        None if is_cut && lacks.is_none() => page.note(NOT_KEPT),
        None => {}
    }
    lacks.into_iter().for_each(|lacks| page.note(lacks));
    if let Some(count) = result.count("killed").filter(|count| *count > 0) {
        page.note(&format!("{} left running and killed", quantity(count, "process", "processes")));
    }
    for start in result.objects("refused") {
        let of = |key: &str| start.non_empty(key);
        let by = of("reason").or(of("rule")).unwrap_or("not permitted");
        page.note(&format!("not started: {} ({by})", of("command").or(of("program")).unwrap_or_default()));
    }
    if let Some(more) = result.count("refused_more").filter(|count| *count > 0) {
        page.note(&format!("not started: {more} more"));
    }
    if let Some(line) = network(result) {
        page.note(&line);
    }
    if result.non_empty("network_off").is_some() {
        page.note(match result.list("network").is_some() {
            true => "the command tried to connect by itself; here only the proxy in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY leads out",
            false => "the command tried to reach the network, which is off here: do without it, or tell the user",
        });
    }
    if result.non_empty("foreign_files").is_some() {
        page.note("files here belong to another user, and commands cannot change them: use the file tools, or tell the user");
    }
    if result.non_empty("held_paths").is_some() {
        page.note("commands cannot move or delete git repositories that were here before, nor protected files: tell the user");
    }
    for planted in result.objects("planted") {
        let [path, setting, outcome] =
            ["path", "setting", "outcome"].map(|key| planted.text(key).unwrap_or_default());
        page.note(&format!("planted for git: {path}: {setting}: {outcome}"));
    }
    for (key, words) in [("off", "isolation is off"), ("partly", "isolation is partial")] {
        let layers = result.object("isolation").into_iter().flat_map(|isolation| isolation.objects(key));
        let names: Vec<&str> = layers.filter_map(|layer| layer.non_empty("layer")).collect();
        if !names.is_empty() {
            page.note(&format!("{words}: {}", names.join(", ")));
        }
    }
}
