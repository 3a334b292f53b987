//! The end of the program because somebody wants it: a signal, or the end of its input. Commands are ended first, and what
//! they left for the person's git is removed.

use beamai_base::CancelToken;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How long commands may take to end.
#[cfg(target_os = "linux")]
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a call may take to print its result after its command has ended.
const PRINTING: Duration = Duration::from_secs(5);

/// The signal that has ended a call; zero for none.
static SIGNAL: AtomicU8 = AtomicU8::new(0);

/// Waits for SIGTERM, SIGINT, SIGHUP or SIGQUIT, and returns its number. A signal that cannot be handled keeps its
/// default effect. `is_ready` is called when it would not be missed.
async fn signal_when(is_ready: impl FnOnce()) -> u8 {
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup(), SignalKind::quit()];
    let ignored = ignored_signals();
    let opened = kinds.map(|kind| {
        let number = u8::try_from(kind.as_raw_value()).unwrap_or_default();
        let is_ignored = ignored >> (number - 1) & 1 == 1;
        (number, if is_ignored { None } else { signal(kind).ok() })
    });
    is_ready();
    let [term, int, hangup, quit] = opened.map(|(number, opened)| async move {
        match opened {
            Some(mut told) => _ = told.recv().await,
            None => std::future::pending().await,
        }
        number
    });
    tokio::select! {
        number = term => number,
        number = int => number,
        number = hangup => number,
        number = quit => number,
    }
}

/// The signals that were ignored when this program started, as under `nohup`: one bit per signal.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

/// Waits for SIGTERM, SIGINT, SIGHUP or SIGQUIT.
pub(crate) async fn by_signal() {
    signal_when(|| ()).await;
}

/// Cancels a call when a signal tells the program to end. The result of a command that ran is printed, unless that takes
/// too long. A call without one has nothing to clean up, and may be waiting for a person.
pub(crate) fn cancel_on_signal(cancel: &CancelToken) {
    let cancel = cancel.clone();
    let begin = move |number| {
        SIGNAL.store(number, Ordering::Release);
        cancel.cancel();
    };
    let print = |had_any| {
        if had_any {
            std::thread::sleep(PRINTING);
        }
    };
    end_on_signal(begin, print);
}

/// Ends the program when a signal tells it to. `begin` gets the number of the signal, and `finish`, after all commands
/// have ended and what they left is removed, whether there were any.
pub(crate) fn end_on_signal(
    begin: impl FnOnce(u8) + Send + 'static,
    finish: impl FnOnce(bool) + Send + 'static,
) {
    let (ready, is_ready) = mpsc::channel();
    let watch = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        let number = runtime.block_on(signal_when(|| _ = ready.send(())));
        begin(number);
        finish(end_commands());
        beamai_private_dir::delete_all();
        std::process::exit(128 + i32::from(number));
    };
    // Without a thread, signals keep their default effect.
    if std::thread::Builder::new().name("beamai-signals".to_owned()).spawn(watch).is_ok() {
        _ = is_ready.recv();
    }
}

/// The exit code of a program that a signal has ended, as shells give it.
pub(crate) fn exit_code() -> Option<ExitCode> {
    let number = SIGNAL.load(Ordering::Acquire);
    (number != 0).then(|| ExitCode::from(128 + number))
}

/// Ends all commands and servers, and waits until what they left is removed. Nothing can be started any more. Returns
/// whether anything was ever running.
#[cfg(target_os = "linux")]
pub(crate) fn end_commands() -> bool {
    let (had_any, all_ended) = beamai_process::end_all(PATIENCE);
    if !all_ended {
        eprintln!(
            "beamai-port: commands could not be ended within {} s; look for new git repositories before you use git where \
             they ran",
            PATIENCE.as_secs()
        );
    }
    had_any
}

/// Does nothing: here, the program starts nothing.
#[cfg(not(target_os = "linux"))]
pub(crate) fn end_commands() -> bool {
    false
}
