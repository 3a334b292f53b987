//! Signals that ask the program to exit.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM, SIGINT or SIGHUP. A signal that cannot be handled keeps its default effect.
pub(super) async fn told_to_end() {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [term, int, hangup] = kinds.map(|kind| async move {
        match signal(kind) {
            Ok(mut told) => _ = told.recv().await,
            Err(_) => std::future::pending().await,
        }
    });
    tokio::select! {
        () = term => {}
        () = int => {}
        () = hangup => {}
    }
}
