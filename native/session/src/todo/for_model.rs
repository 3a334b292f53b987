//! Task lists, rendered for models.

use beamai_tool::for_model::{Fields, ModelCall, ModelPage, quantity};

/// One task per line: number, status as a checkbox, and content.
pub(super) fn listed(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let todos = result.list("todos")?;
    let shown = result.objects("todos").map_while(line).take_while(|line| page.line(line)).count();
    if todos.is_empty() {
        page.line("no tasks");
    }
    if shown < todos.len() {
        page.note(&format!("{shown} of {} tasks", todos.len()));
    }
    Some(())
}

fn line(todo: Fields<'_>) -> Option<String> {
    let status = match todo.text("status")? {
        "completed" => "[x]",
        "in_progress" => "[>]",
        _ => "[ ]",
    };
    Some(format!("{}. {status} {}", todo.count("id")?, todo.text("content")?))
}

/// The number of the new task.
pub(super) fn added(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    page.line(&format!("added task {}", result.count("id")?));
    Some(())
}

/// The task after the update.
pub(super) fn updated(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    result.list("todos")?;
    let id = call.number("id");
    match result.objects("todos").find(|todo| todo.count("id") == id).and_then(line) {
        Some(task) => page.line(&task),
        None => page.line("removed"),
    };
    Some(())
}

/// Number of tasks by status; the model knows the list, as it has just sent it.
pub(super) fn replaced(result: Fields<'_>, _: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
    let todos = result.list("todos")?;
    let of =
        |status: &str| result.objects("todos").filter(|todo| todo.text("status") == Some(status)).count();
    let statuses = [("completed", "completed"), ("in_progress", "in progress"), ("pending", "pending")];
    let counts: Vec<String> = statuses
        .into_iter()
        .map(|(status, words)| (of(status), words))
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let detail = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    page.line(&format!("{}{detail}", quantity(todos.len() as u64, "task", "tasks")));
    Some(())
}
