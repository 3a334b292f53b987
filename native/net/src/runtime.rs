//! From a thread that may wait to work that must not.

use beamai_base::{Reason, Result, ToolError};
use beamai_tool::CallContext;
use std::future::Future;
use std::sync::Arc;
use tokio::runtime::Builder;
use tokio::sync::Notify;

/// Runs `work` on this thread until it is done or the call is cancelled, whichever comes first; in the latter case it
/// is dropped where it stands, and its connections with it.
///
/// # Errors
/// Those of `work`, or `cancelled`.
pub fn block_on<T>(cx: &CallContext, work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(no_runtime)?;
    let cancelled = Arc::new(Notify::new());
    let wake = Arc::clone(&cancelled);
    cx.cancel.on_cancel(move || wake.notify_one());
    let result = runtime.block_on(async {
        tokio::select! {
            biased;
            () = cancelled.notified() => Err(ToolError::new(Reason::Cancelled, "the call was cancelled")),
            result = work => result,
        }
    });
    // A name may still be asked for in a thread of the system's resolver, which nothing can interrupt.
    runtime.shutdown_background();
    result
}

fn no_runtime(error: std::io::Error) -> ToolError {
    ToolError::new(Reason::Busy, format!("the system gives no means to wait for the network: {error}"))
}
