//! The report as text for people.

use super::{
    DoctorReport, ForeignFiles, InTheWay, LayerReport, LayerStatus, foreign_files, obstacles, programs,
    servers,
};
use beamai_isolation::Tier;
use beamai_workspace::Workspace;
use std::fmt::Write;
use std::path::Path;

/// The report as text, followed by what is missing.
pub(super) fn of(report: &DoctorReport) -> String {
    let mut text = String::from("isolation of commands\n");
    if let Some(problem) = &report.problem {
        line(&mut text, false, "layers", problem);
    }
    for layer in &report.layers {
        let is_there = !matches!(layer.state, LayerStatus::Off | LayerStatus::Broken);
        line(&mut text, is_there, &layer.layer, &told(layer));
    }
    if !report.obstacles.is_empty() {
        text.push_str("\nin the way of layers\n");
    }
    for InTheWay { name, layers, finding, remedy } in &report.obstacles {
        line(&mut text, false, name, &format!("{finding} (layers: {})", layers.join(", ")));
        remedied(&mut text, remedy);
    }
    text.push_str("\nprograms\n");
    for program in &report.programs {
        let path = program.path.as_ref().map(|path| path.display().to_string());
        let told = path.unwrap_or_else(|| format!("not on the PATH; needed for {}", program.needed_for));
        line(&mut text, program.path.is_some(), program.name, &told);
    }
    let told = report.git.problem.as_deref().unwrap_or("the workspace is one");
    line(&mut text, report.git.repository, "git repository", told);
    if let Some(ForeignFiles { finding, remedy, .. }) = &report.foreign_files {
        line(&mut text, false, "workspace", finding);
        remedied(&mut text, remedy);
    }
    text.push_str("\nlanguage servers\n");
    for server in &report.language_servers {
        let told = server.program.as_ref().or(server.missing.as_ref()).map_or("", String::as_str);
        line(&mut text, server.program.is_some(), &server.language, told);
    }
    text.push_str(match (report.required_works, report.tier) {
        (true, _) => "\nThe sandbox `required`, which is the default, works here.\n",
        (false, Some(Tier::Landlock)) => {
            "\nThe sandbox `required`, which is the default, does not work here: with it, no command runs. The tier \
             `landlock` does: `--sandbox required:landlock`.\n"
        }
        (false, _) => {
            "\nThe sandbox `required`, which is the default, does not work here: with it, no command runs.\n"
        }
    });
    text
}

/// One line for each thing that is missing. The repository is only reported if the workspace is known.
pub(super) fn missing(workspace: Option<&Workspace>) -> String {
    let mut lines = Vec::new();
    for obstacle in obstacles() {
        lines.push(format!(
            "not every command runs here sandboxed: {}: {}",
            obstacle.finding, obstacle.remedy
        ));
    }
    for program in programs().iter().filter(|program| program.path.is_none()) {
        lines.push(format!("{} is not on the PATH; needed for {}", program.name, program.needed_for));
    }
    if let Some(problem) = workspace.and_then(|workspace| beamai_git::availability(workspace).problem) {
        lines.push(format!("no git repository for the git tools: {problem}"));
    }
    if let Some(foreign) = workspace.and_then(|workspace| foreign_files(workspace.path())) {
        lines.push(format!("{}: {}", foreign.finding, foreign.remedy));
    }
    let all = servers(workspace.map_or(Path::new("/nowhere"), Workspace::path));
    let absent = all.iter().filter(|server| server.program.is_none());
    let hints: Vec<String> = absent
        .map(|server| match server.install {
            Some(hint) => format!("{} ({hint})", server.language),
            None => server.language.clone(),
        })
        .collect();
    if !hints.is_empty() {
        lines.push(format!("no language server for {}", hints.join(", ")));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn line(text: &mut String, is_there: bool, name: &str, told: &str) {
    let mark = if is_there { "ok" } else { "--" };
    // Writing to a string cannot fail.
    _ = writeln!(text, "  {mark}  {name:<22} {told}");
}

fn remedied(text: &mut String, remedy: &str) {
    _ = writeln!(text, "      {:<22} {remedy}", "what to do");
}

fn told(layer: &LayerReport) -> String {
    let why = layer.why.as_deref().unwrap_or_default();
    match layer.state {
        LayerStatus::Proved => format!("proved: without it, commands {}", layer.attempt),
        LayerStatus::On => format!("on: commands cannot {}", layer.attempt),
        LayerStatus::Broken => format!("BROKEN: commands {}", layer.attempt),
        LayerStatus::Off => format!("off: {why}"),
    }
}
