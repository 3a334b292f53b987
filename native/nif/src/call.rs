//! Calls on the caller's own scheduler, and the policy's verdicts.

use beamai_wire::Services;
use beamai_wire::{CallOptions, DispatchResult, Dispatcher};
use rustler::{Atom, Binary, Encoder, Env, NewBinary, Term};
use std::sync::LazyLock;
use std::time::Instant;

mod atoms {
    rustler::atoms! { allow, defer, ok, unknown }
}

/// Maximum bytes that a call may process on a dirty scheduler: reading and hashing them takes about a millisecond.
const INLINE_BYTES: u64 = 1 << 20;

pub(crate) static DISPATCHER: LazyLock<Dispatcher> = LazyLock::new(|| Dispatcher::new(Services::default()));

/// Runs a call on this normal scheduler if it finishes quickly. Returns `defer` otherwise: the settings are not
/// [pinned](pin) yet, the arguments are too large, or the file is not in memory.
#[rustler::nif]
fn call_now<'a>(env: Env<'a>, settings: Binary<'a>, request: Binary<'a>) -> Term<'a> {
    let start = Instant::now();
    let answer = match DISPATCHER.call_at_once(&settings, &request) {
        Some(reply) => binary(env, &reply),
        None => atoms::defer().encode(env),
    };
    // A time slice is a millisecond; the scheduler must be told how much of it was used.
    let percent = start.elapsed().as_micros() / 10;
    if percent > 0 {
        rustler::schedule::consume_timeslice(env, percent.min(100) as i32);
    }
    answer
}

/// Runs a bounded call; returns `defer` if it is too large for a dirty scheduler.
#[rustler::nif(schedule = "DirtyIo")]
fn call<'a>(env: Env<'a>, settings: Binary<'a>, request: Binary<'a>) -> Term<'a> {
    run(env, settings, request)
}

fn run<'a>(env: Env<'a>, settings: Binary<'a>, request: Binary<'a>) -> Term<'a> {
    let run = CallOptions { inline_bytes: Some(INLINE_BYTES), ..CallOptions::default() };
    match DISPATCHER.call(&settings, &request, run) {
        DispatchResult::Reply(reply) => binary(env, &reply),
        DispatchResult::Defer => atoms::defer().encode(env),
    }
}

/// Judges a tool that is implemented in Erlang. Only lookups and string comparisons.
#[rustler::nif]
fn judge<'a>(env: Env<'a>, settings: Binary<'a>, tool: &str, requires_permission: bool) -> Term<'a> {
    match DISPATCHER.judge(&settings, tool, requires_permission) {
        None => atoms::unknown().encode(env),
        Some(None) => atoms::allow().encode(env),
        Some(Some(reply)) => binary(env, &reply),
    }
}

/// Prepares settings for calls.
#[rustler::nif(schedule = "DirtyIo")]
fn pin<'a>(env: Env<'a>, settings: Binary<'a>) -> Term<'a> {
    match DISPATCHER.pin(&settings) {
        None => ok().encode(env),
        Some(reply) => binary(env, &reply),
    }
}

/// The verdict on a call.
#[rustler::nif(schedule = "DirtyIo")]
fn explain<'a>(env: Env<'a>, settings: Binary<'a>, call: Binary<'a>) -> Term<'a> {
    binary(env, &DISPATCHER.explain(&settings, &call))
}

/// The verdict on a tool that is implemented in Erlang.
#[rustler::nif(schedule = "DirtyIo")]
fn explain_own<'a>(env: Env<'a>, settings: Binary<'a>, tool: &str, requires_permission: bool) -> Term<'a> {
    binary(env, &DISPATCHER.explain_own(&settings, tool, requires_permission))
}

pub(crate) fn ok() -> Atom {
    atoms::ok()
}

pub(crate) fn binary<'a>(env: Env<'a>, bytes: &[u8]) -> Term<'a> {
    NewBinary::from_slice(env, bytes).into()
}
