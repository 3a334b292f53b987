//! Runs asynchronous work on a blocking thread.

use beamai_base::{Reason, Result, ToolError};
use beamai_tool::CallContext;
use std::future::Future;
use std::sync::Arc;
use tokio::runtime::Builder;
use tokio::sync::Notify;

/// Runs `work` on this thread until it finishes or the call is cancelled. Cancellation drops it together with its
/// connections.
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
    // A lookup may still be running in a thread of the system's resolver, which cannot be interrupted.
    runtime.shutdown_background();
    result
}

fn no_runtime(error: std::io::Error) -> ToolError {
    ToolError::new(Reason::Busy, format!("the system gives no means to wait for the network: {error}"))
}
