//! Turns panics into messages.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
    static IS_CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; a panic is returned as text with its source location, and not printed.
///
/// # Errors
/// The panic's message.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| match IS_CATCHING.get() {
            true => LAST.with(|last| *last.borrow_mut() = one_line(info)),
            false => print(info),
        }));
    });
    let outer = IS_CATCHING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_CATCHING.set(outer);
    result.map_err(|_| LAST.with(RefCell::take))
}

fn one_line(info: &std::panic::PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("no message");
    match info.location() {
        Some(place) => format!("{message} (at {place})"),
        None => message.to_owned(),
    }
}
