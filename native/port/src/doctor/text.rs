//! The report for people.

use super::{Layer, Report, State};
use std::fmt::Write;

/// The report as text, with what is missing at the end.
pub(super) fn of(report: &Report) -> String {
    let mut text = String::from("isolation of commands\n");
    if let Some(problem) = &report.problem {
        line(&mut text, false, "layers", problem);
    }
    for layer in &report.layers {
        line(&mut text, layer.state == State::Proved || layer.state == State::On, &layer.layer, &told(layer));
    }
    text.push_str("\nprograms\n");
    for program in &report.programs {
        let path = program.path.as_ref().map(|path| path.display().to_string());
        let told = path.unwrap_or_else(|| format!("not on the PATH; needed for {}", program.needed_for));
        line(&mut text, program.path.is_some(), program.name, &told);
    }
    let told = report.git.problem.as_deref().unwrap_or("the workspace is one");
    line(&mut text, report.git.repository, "git repository", told);
    text.push_str("\nlanguage servers\n");
    for server in &report.language_servers {
        let told = server.program.as_ref().or(server.missing.as_ref()).map_or("", String::as_str);
        line(&mut text, server.program.is_some(), &server.language, told);
    }
    text.push_str(match report.required_works {
        true => "\nThe sandbox `required`, which is the default, works here.\n",
        false => {
            "\nThe sandbox `required`, which is the default, does not work here: with it, no command runs.\n"
        }
    });
    text
}

fn line(text: &mut String, is_there: bool, name: &str, told: &str) {
    let mark = if is_there { "ok" } else { "--" };
    // Writing to a string cannot fail.
    _ = writeln!(text, "  {mark}  {name:<22} {told}");
}

fn told(layer: &Layer) -> String {
    let why = layer.why.as_deref().unwrap_or_default();
    match layer.state {
        State::Proved => format!("proved: without it, commands {}", layer.attempt),
        State::On => format!("on: commands cannot {}", layer.attempt),
        State::Broken => format!("BROKEN: commands {}", layer.attempt),
        State::Off => format!("off: {why}"),
    }
}
