//! The task list of a session.

mod for_model;

use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{Operand, PermissionRequest};
use beamai_tool::todo::{Todo, TodoStatus};
use beamai_tool::{
    CallContext, Interrupt, Operation, SessionState, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of tasks of a session.
const MOST: usize = 1000;

/// The whole list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TodoOutput {
    /// Every task, in order.
    pub todos: Vec<Todo>,
    /// Number of tasks.
    pub count: usize,
}

impl TodoOutput {
    fn of(state: &SessionState) -> Self {
        Self { todos: state.todos.clone(), count: state.todos.len() }
    }
}

fn harmless() -> PermissionRequest {
    PermissionRequest {
        rule: "TodoWrite".into(),
        touches: &[],
        allowed_by: &[],
        is_safe: true,
        operand: Operand::None,
    }
}

/// Rejects an invalid list; the session then keeps the current one.
fn valid(state: &SessionState) -> Result<()> {
    let refuse = |message: String| Err(ToolError::new(Reason::InvalidArgument, message));
    let running: Vec<&str> = state
        .todos
        .iter()
        .filter(|todo| todo.status == TodoStatus::InProgress)
        .map(|todo| &*todo.content)
        .collect();
    if running.len() > 1 {
        let message = format!(
            "at most one task can be in_progress, not {}: {}; complete one, or set it to pending, first",
            running.len(),
            running.join(" / ")
        );
        return refuse(message);
    }
    if state.todos.iter().any(|todo| todo.content.trim().is_empty()) {
        return refuse("a task's content is empty; say what is to be done".to_owned());
    }
    if state.todos.len() > MOST {
        return refuse(format!("{} tasks are too many; keep at most {MOST}", state.todos.len()));
    }
    Ok(())
}

fn change(
    cx: &CallContext,
    edit: impl FnOnce(&mut SessionState) -> Result<()>,
) -> Result<TodoOutput, Interrupt> {
    let changed = cx.session.change(|state| {
        edit(state)?;
        valid(state)?;
        Ok::<_, ToolError>(TodoOutput::of(state))
    });
    Ok(changed?)
}

fn fresh_id(state: &SessionState) -> u64 {
    state.todos.iter().map(|todo| todo.id).max().unwrap_or(0) + 1
}

/// Adds a task.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TodoAdd {
    /// Imperative: "Add tests".
    pub content: String,
    /// Status. At most one task of the list can be in progress.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub status: TodoStatus,
    /// Present continuous: "Adding tests".
    pub active_form: Option<String>,
}

/// What [`TodoAdd`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TodoAdded {
    /// Number of the new task.
    pub id: u64,
    /// Every task, in order.
    pub todos: Vec<Todo>,
    /// Number of tasks.
    pub count: usize,
}

impl Operation for TodoAdd {
    type Output = TodoAdded;
    const TRAITS: Traits = Traits::SESSION;
    const RULE: &'static str = "TodoWrite";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(harmless())
    }

    fn run(self, cx: &CallContext) -> Result<TodoAdded, Interrupt> {
        let id = cx.session.read(fresh_id);
        let todo = Todo { id, content: self.content, status: self.status, active_form: self.active_form };
        let TodoOutput { todos, count } = change(cx, |state| {
            state.todos.push(todo);
            Ok(())
        })?;
        Ok(TodoAdded { id, todos, count })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::added(result, call, page)
    }
}

/// Lists the tasks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct TodoList {
    /// Only tasks of this status.
    #[schemars(extend("self_evident" = true))]
    pub status: Option<TodoStatus>,
}

impl Operation for TodoList {
    type Output = TodoOutput;
    const TRAITS: Traits = Traits { read_only: true, idempotent: true, ..Traits::SESSION };
    const RULE: &'static str = "TodoWrite";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(harmless())
    }

    fn run(self, cx: &CallContext) -> Result<TodoOutput, Interrupt> {
        let all = cx.session.read(TodoOutput::of);
        let wanted = |todo: &Todo| self.status.is_none_or(|status| todo.status == status);
        let todos: Vec<Todo> = all.todos.into_iter().filter(wanted).collect();
        Ok(TodoOutput { count: todos.len(), todos })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::listed(result, call, page)
    }
}

/// Changes or removes a task.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TodoUpdate {
    /// Number of the task.
    #[schemars(range(min = 1), extend("self_evident" = true))]
    pub id: u64,
    /// New status. At most one task of the list can be in progress.
    #[schemars(extend("self_evident" = true))]
    pub status: Option<TodoStatus>,
    /// New instruction.
    #[schemars(extend("self_evident" = true))]
    pub content: Option<String>,
    /// New present continuous form.
    #[schemars(extend("self_evident" = true))]
    pub active_form: Option<String>,
    /// Removes the task from the list.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub remove: bool,
}

impl Operation for TodoUpdate {
    type Output = TodoOutput;
    const TRAITS: Traits = Traits { idempotent: true, ..Traits::SESSION };
    const RULE: &'static str = "TodoWrite";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(harmless())
    }

    fn run(self, cx: &CallContext) -> Result<TodoOutput, Interrupt> {
        change(cx, |state| self.apply(state))
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::updated(result, call, page)
    }
}

impl TodoUpdate {
    fn apply(self, state: &mut SessionState) -> Result<()> {
        let known: Vec<String> = state.todos.iter().map(|todo| todo.id.to_string()).collect();
        let Some(at) = state.todos.iter().position(|todo| todo.id == self.id) else {
            let known = if known.is_empty() {
                "the list is empty".to_owned()
            } else {
                format!("there are: {}", known.join(", "))
            };
            return Err(ToolError::new(
                Reason::InvalidArgument,
                format!("no task has the id {}; {known}", self.id),
            ));
        };
        if self.remove {
            state.todos.remove(at);
            return Ok(());
        }
        if self.status.is_none() && self.content.is_none() && self.active_form.is_none() {
            let message = "nothing to change: give a status, content or active_form, or remove";
            return Err(ToolError::new(Reason::InvalidArgument, message));
        }
        let todo = &mut state.todos[at];
        todo.status = self.status.unwrap_or(todo.status);
        todo.content = self.content.unwrap_or_else(|| std::mem::take(&mut todo.content));
        todo.active_form = self.active_form.or_else(|| todo.active_form.take());
        Ok(())
    }
}

/// A task of a list that replaces the current one.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct NewTodo {
    /// Its number, of a task that the list has already; without one, or with one that an earlier task has, it gets the
    /// next free one.
    #[schemars(extend("unlisted" = true))]
    pub id: Option<u64>,
    /// Imperative: "Add tests".
    pub content: String,
    /// Status. At most one task can be in progress.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub status: TodoStatus,
    /// Present continuous: "Adding tests".
    pub active_form: Option<String>,
}

/// Replaces the whole list.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TodoReplace {
    /// All tasks in order; those left out are deleted.
    pub todos: Vec<NewTodo>,
}

impl Operation for TodoReplace {
    type Output = TodoOutput;
    const TRAITS: Traits = Traits { idempotent: true, ..Traits::SESSION };
    const RULE: &'static str = "TodoWrite";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        Ok(harmless())
    }

    fn run(self, cx: &CallContext) -> Result<TodoOutput, Interrupt> {
        change(cx, |state| {
            state.todos = numbered(self.todos);
            Ok(())
        })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::replaced(result, call, page)
    }
}

/// The tasks with numbers of their own: the first that has a number keeps it, the others get the least that none has.
fn numbered(new: Vec<NewTodo>) -> Vec<Todo> {
    let mut taken = BTreeSet::new();
    let kept: Vec<Option<u64>> =
        new.iter().map(|new| new.id.filter(|id| *id > 0 && taken.insert(*id))).collect();
    let mut free = (1..).filter(|id| !taken.contains(id));
    let todo = |(new, kept): (NewTodo, Option<u64>)| Todo {
        id: kept.or_else(|| free.next()).unwrap_or_default(),
        content: new.content,
        status: new.status,
        active_form: new.active_form,
    };
    new.into_iter().zip(kept).map(todo).collect()
}
