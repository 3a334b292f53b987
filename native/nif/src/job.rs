//! Calls that run on native threads and reply by message.

use crate::call::{DISPATCHER, ok};
use beamai_wire::{
    CallOptions, CallPool, CancelToken, DispatchResult, ExecutionClass, INSTANT_BYTES, Progress, parse_call,
};
use rustler::env::SavedTerm;
use rustler::{
    Atom, Binary, Encoder, Env, LocalPid, Monitor, OwnedBinary, OwnedEnv, Reference, Resource, ResourceArc,
    Term,
};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;

mod atoms {
    rustler::atoms! { busy, progress }
}

static POOL: LazyLock<CallPool> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    CallPool::new("beamai-job", (4 * cores).max(8))
});

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A running call. The VM monitors its caller, and the call is cancelled when the caller dies.
pub(crate) struct JobHandle {
    cancel: CancelToken,
}

#[rustler::resource_impl]
impl Resource for JobHandle {
    const IMPLEMENTS_DOWN: bool = true;

    fn down<'a>(&'a self, _: Env<'a>, _: LocalPid, _: Monitor) {
        self.cancel.cancel();
    }
}

/// Starts a call. The reply is sent as `{Ref, Reply}`, progress as `{Ref, progress, Message}`.
#[rustler::nif]
fn start<'a>(env: Env<'a>, settings: Binary<'a>, call: Binary<'a>, reference: Reference<'a>) -> Term<'a> {
    let job = ResourceArc::new(JobHandle { cancel: CancelToken::new() });
    let caller = env.pid();
    if job.monitor(Some(env), &caller).is_none() {
        job.cancel.cancel();
    }
    let owner = owner_of(&call);
    let work = JobInput::new(settings, call, reference, caller, &job);
    match POOL.submit(ExecutionClass::Long, owner.as_deref(), move || work.run()) {
        Ok(()) => (ok(), job).encode(env),
        Err(beamai_wire::PoolBusy) => atoms::busy().encode(env),
    }
}

/// Whose call it is. Of a large call that is not looked for, because this is a normal scheduler; such calls count as
/// those of one owner.
fn owner_of(call: &[u8]) -> Option<String> {
    (call.len() <= INSTANT_BYTES).then(|| parse_call(call).ok()).flatten()?.owner()
}

/// Number of jobs that are running on threads now.
#[rustler::nif]
fn running() -> usize {
    RUNNING.load(Ordering::SeqCst)
}

/// Cancels a job; it still replies.
#[rustler::nif]
fn cancel(job: ResourceArc<JobHandle>) -> Atom {
    job.cancel.cancel();
    ok()
}

/// Input of a job on its thread. Binaries are references, so that large arguments are not copied.
struct JobInput {
    terms: OwnedEnv,
    settings: SavedTerm,
    call: SavedTerm,
    reference: SavedTerm,
    caller: LocalPid,
    job: ResourceArc<JobHandle>,
    arrived: Instant,
}

impl JobInput {
    fn new<'a>(
        settings: Binary<'a>,
        call: Binary<'a>,
        reference: Reference<'a>,
        caller: LocalPid,
        job: &ResourceArc<JobHandle>,
    ) -> Self {
        let terms = OwnedEnv::new();
        Self {
            settings: terms.save(settings),
            call: terms.save(call),
            reference: terms.save(reference),
            terms,
            caller,
            job: job.clone(),
            arrived: Instant::now(),
        }
    }

    fn run(mut self) {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        let run = CallOptions {
            cancel: self.job.cancel.clone(),
            progress: Some(self.progress()),
            arrived: Some(self.arrived),
            ..CallOptions::default()
        };
        let reply = self.terms.run(|env| {
            let load = |saved: &SavedTerm| Binary::from_term(saved.load(env));
            let (Ok(settings), Ok(call)) = (load(&self.settings), load(&self.call)) else {
                return Vec::new();
            };
            match DISPATCHER.call(&settings, &call, run) {
                DispatchResult::Reply(reply) => reply,
                // A call defers only if it has a bound on bytes, and a job has none.
                DispatchResult::Defer => Vec::new(),
            }
        });
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        // Sending fails if the caller has died; then nobody waits for the reply.
        _ = self
            .terms
            .send_and_clear(&self.caller, |env| (self.reference.load(env), owned(&reply).release(env)));
    }

    fn progress(&self) -> Progress {
        let terms = OwnedEnv::new();
        let reference = self.terms.run(|env| terms.save(self.reference.load(env)));
        let caller = self.caller;
        let terms = std::sync::Mutex::new((terms, reference));
        Arc::new(move |message| {
            let message = owned(&beamai_wire::encode(&message));
            let Ok(held) = terms.lock() else { return };
            let (terms, reference) = &*held;
            let mut letter = OwnedEnv::new();
            let reference = terms.run(|env| letter.save(reference.load(env)));
            _ = letter.send_and_clear(&caller, |env| {
                (reference.load(env), atoms::progress(), message.release(env))
            });
        })
    }
}

fn owned(bytes: &[u8]) -> OwnedBinary {
    OwnedBinary::from_slice(bytes)
}
