//! `beamai-port serve`: serves the Erlang side.
//!
//! One thread reads frames and runs instant calls itself; all other calls run on pool threads, which write their
//! replies themselves. If the host stops reading, the writers block, the queue fills up, reading stops, and the host
//! sees a busy port.

use crate::args::UsageError;
use crate::{keeper, told_to_end};
use beamai_base::{Reason, ToolError};
use beamai_services::services;
use beamai_wire::frame::{self, MAX_WRITE, PortRequest, ResponseKind};
use beamai_wire::{
    CallOptions, CallPool, CallRequest, CancelToken, DispatchResult, Dispatcher, MOST_WAITING_FOR_PROCESSES,
    PoolBusy, Progress,
};
use clap::{Arg, ArgMatches, Command};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

const ABOUT: &str = "\
Answer calls in frames on file descriptor 3 (in) and 4 (out) until the input ends. Started by the Erlang side with
open_port and the options {packet, 4} and nouse_stdio; of no use on a command line.";

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Exit code for beams of another version, known to the Erlang side.
const OTHER_VERSION: u8 = 3;
const INPUT: RawFd = 3;
const OUTPUT: RawFd = 4;

pub(crate) fn command() -> Command {
    Command::new("serve")
        .about("Answer calls on file descriptors 3 and 4; started by the Erlang side")
        .long_about(ABOUT)
        .arg(
            Arg::new("beams")
                .long("beams")
                .value_name("VERSION")
                .help("Version of the host's beams; if it is not that of this program, exit with 3"),
        )
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let ended = serve(matches.get_one::<String>("beams"));
    // The host may have been killed, and cannot see to it itself.
    keeper::clean_up();
    ended
}

fn serve(beams: Option<&String>) -> Result<ExitCode, UsageError> {
    // Beams that are on a path without the application's description do not know theirs.
    if let Some(other) = beams.filter(|version| !["unknown", OWN_VERSION].contains(&version.as_str())) {
        eprintln!("beamai-port: this program is of {OWN_VERSION} and the beams are of {other}");
        return Ok(ExitCode::from(OTHER_VERSION));
    }
    let (input, output) = (descriptor(INPUT)?, descriptor(OUTPUT)?);
    let ended = PortServer::new(output).run(BufReader::with_capacity(64 << 10, input));
    Ok(match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("beamai-port: the host's input cannot be read: {error}");
            ExitCode::FAILURE
        }
    })
}

/// Takes over a descriptor that the host opened, and sets close-on-exec.
fn descriptor(fd: RawFd) -> Result<File, UsageError> {
    // SAFETY: the descriptor is only inspected with F_GETFD, and not closed through this handle.
    let borrowed = unsafe { std::os::fd::BorrowedFd::borrow_raw(fd) };
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC).map_err(|_| {
        UsageError(format!("file descriptor {fd} is not open; serve is started by the Erlang side"))
    })?;
    // SAFETY: nothing else in this program owns descriptors 3 and 4; the host opened them for this purpose.
    Ok(File::from(unsafe { OwnedFd::from_raw_fd(fd) }))
}

struct PortServer {
    shared: Arc<PortState>,
    pool: CallPool,
}

struct PortState {
    dispatcher: Dispatcher,
    output: Mutex<File>,
    running: Mutex<HashMap<Vec<u8>, RunningCall>>,
}

/// A call that has not been answered.
struct RunningCall {
    cancel: CancelToken,
    /// Whether it has a thread.
    has_started: bool,
}

impl PortServer {
    fn new(output: File) -> Self {
        let shared = PortState {
            dispatcher: Dispatcher::new(services()),
            output: Mutex::new(output),
            running: Mutex::default(),
        };
        Self { shared: Arc::new(shared), pool: CallPool::new("beamai-call", MOST_WAITING_FOR_PROCESSES) }
    }

    /// Serves until the end of input, then cancels running calls, and waits until commands have been cleaned up after.
    /// A signal that tells this program to end does the same.
    fn run(&self, mut input: BufReader<File>) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        told_to_end::end_on_signal(move |_| shared.cancel_all(), |_| keeper::clean_up());
        let mut bytes = Vec::new();
        let ended = loop {
            match frame::read(&mut input, &mut bytes) {
                Ok(true) => self.take(&bytes),
                Ok(false) => break Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        self.shared.cancel_all();
        told_to_end::end_commands();
        ended
    }

    fn take(&self, bytes: &[u8]) {
        match frame::parse(bytes) {
            Some(PortRequest::Call { id, settings, call }) => {
                match self.shared.dispatcher.call_at_once(settings, call) {
                    Some(reply) => self.shared.write(ResponseKind::Reply, id, &reply),
                    None => self.start(id, settings, call),
                }
            }
            Some(PortRequest::Cancel { id }) => self.shared.cancel(id),
            Some(PortRequest::End { id, session }) => self.end(id, session),
            None => eprintln!("beamai-port: a frame of {} bytes means nothing", bytes.len()),
        }
    }

    /// Ends a session before any later frame is handled. If something in it has to be killed first, the reply is sent
    /// from a thread of its own, because the pool may be full of long calls.
    fn end(&self, id: &[u8], session: &str) {
        let done = beamai_wire::ok(&serde_json::Value::Null);
        let Some(wait) = beamai_services::end_session(session) else {
            return self.shared.write(ResponseKind::Reply, id, &done);
        };
        let (shared, own) = (Arc::clone(&self.shared), id.to_owned());
        let reply = move || {
            wait();
            shared.write(ResponseKind::Reply, &own, &done);
        };
        if std::thread::Builder::new().name("beamai-end".to_owned()).spawn(reply).is_err() {
            let message = "the session is ending, and there is no thread to wait for that";
            self.shared.write(
                ResponseKind::Reply,
                id,
                &beamai_wire::error(&ToolError::new(Reason::Busy, message)),
            );
        }
    }

    fn start(&self, id: &[u8], settings: &[u8], call: &[u8]) {
        let call = match beamai_wire::parse_call(call) {
            Ok(call) => call,
            Err(error) => return self.shared.write(ResponseKind::Reply, id, &beamai_wire::error(&error)),
        };
        let token = CancelToken::new();
        let running = RunningCall { cancel: token.clone(), has_started: false };
        self.shared.running().insert(id.to_owned(), running);
        let owner = call.owner();
        let pace = self.shared.dispatcher.pace(settings, &call);
        let (shared, own, settings) = (Arc::clone(&self.shared), id.to_owned(), settings.to_owned());
        let arrived = Instant::now();
        let job = move || shared.answer(&own, &settings, call, token, arrived);
        if let Err(PoolBusy) = self.pool.submit(pace, owner.as_deref(), job) {
            let message = "too many calls are waiting already; try again when some have ended";
            self.shared.finish(id, &beamai_wire::error(&ToolError::new(Reason::Busy, message)));
        }
    }
}

impl PortState {
    /// Cancels a call. One that waits for a thread is answered now, because that may take long.
    fn cancel(&self, id: &[u8]) {
        let mut running = self.running();
        match running.get(id) {
            Some(call) if call.has_started => call.cancel.cancel(),
            Some(_) => {
                running.remove(id);
                drop(running);
                let error = ToolError::new(Reason::Cancelled, "the call was cancelled before it had begun");
                self.write(ResponseKind::Reply, id, &beamai_wire::error(&error));
            }
            None => {}
        }
    }

    fn cancel_all(&self) {
        self.running().values().for_each(|call| call.cancel.cancel());
    }

    fn answer(
        self: &Arc<Self>,
        id: &[u8],
        settings: &[u8],
        call: CallRequest,
        cancel: CancelToken,
        arrived: Instant,
    ) {
        match self.running().get_mut(id) {
            Some(running) => running.has_started = true,
            None => return,
        }
        let run = CallOptions {
            cancel,
            progress: Some(self.progress(id)),
            arrived: Some(arrived),
            ..CallOptions::default()
        };
        match self.dispatcher.call_parsed(settings, call, run) {
            DispatchResult::Reply(reply) if reply.len() > MAX_WRITE => {
                self.finish(id, &too_long(reply.len()))
            }
            DispatchResult::Reply(reply) => self.finish(id, &reply),
            // Does not happen: calls only defer if inline work is limited.
            DispatchResult::Defer => {}
        }
    }

    fn progress(self: &Arc<Self>, id: &[u8]) -> Progress {
        let (shared, id) = (Arc::clone(self), id.to_owned());
        Arc::new(move |message| shared.write(ResponseKind::Progress, &id, &beamai_wire::encode(&message)))
    }

    fn finish(&self, id: &[u8], reply: &[u8]) {
        self.running().remove(id);
        self.write(ResponseKind::Reply, id, reply);
    }

    /// If the host has exited, the input ends too, and with it the program.
    fn write(&self, kind: ResponseKind, id: &[u8], body: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        _ = frame::write(&mut *output, kind, id, body);
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, RunningCall>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_long(length: usize) -> Vec<u8> {
    let message =
        format!("the result has {length} bytes, over the {MAX_WRITE} that a frame may have; ask for less");
    beamai_wire::error(&ToolError::new(Reason::TooLarge, message))
}
