//! The text protocol. Short texts are parsed on the caller's scheduler, others on a dirty one.

use crate::call::binary;
use beamai_wire::{ParsedResponse, Protocol, ResponseStream};
use rustler::{Binary, Encoder, Env, Resource, ResourceArc, Term};
use std::sync::{Mutex, MutexGuard, PoisonError};

mod atoms {
    rustler::atoms! { defer, ok, stale, text }
}

static PROTOCOL: Protocol = Protocol::new();

/// The state of a streamed response. One process uses it at a time; the lock protects against misuse.
pub(crate) struct StreamResource(Mutex<ResponseStream>);

#[rustler::resource_impl]
impl Resource for StreamResource {}

impl StreamResource {
    fn lock(&self) -> MutexGuard<'_, ResponseStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[rustler::nif]
fn parse_text_now<'a>(env: Env<'a>, rules: Binary<'a>, text: Binary<'a>, all: bool) -> Term<'a> {
    match PROTOCOL.is_instant(&rules, &text) {
        true => parse(env, &rules, &text, all),
        false => atoms::defer().encode(env),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn parse_text<'a>(env: Env<'a>, rules: Binary<'a>, text: Binary<'a>, all: bool) -> Term<'a> {
    parse(env, &rules, &text, all)
}

fn parse<'a>(env: Env<'a>, rules: &[u8], text: &[u8], all: bool) -> Term<'a> {
    let parsed = if all { PROTOCOL.parse_all(rules, text) } else { PROTOCOL.parse(rules, text) };
    match parsed {
        Ok(ParsedResponse::Text) => atoms::text().encode(env),
        Ok(ParsedResponse::Term(term)) => binary(env, &term),
        Err(reply) => binary(env, &reply),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn stream_new<'a>(env: Env<'a>, rules: Binary<'a>) -> Term<'a> {
    match PROTOCOL.stream(&rules) {
        Ok(stream) => (atoms::ok(), ResourceArc::new(StreamResource(Mutex::new(stream)))).encode(env),
        Err(reply) => binary(env, &reply),
    }
}

#[rustler::nif]
fn stream_feed_now<'a>(
    env: Env<'a>,
    stream: ResourceArc<StreamResource>,
    step: u64,
    bytes: Binary<'a>,
) -> Term<'a> {
    // Locked by another process: do not wait for it on this scheduler.
    let Ok(mut held) = stream.0.try_lock() else { return atoms::defer().encode(env) };
    match held.is_instant(&bytes) {
        true => pieces(env, held.feed(step, &bytes)),
        false => atoms::defer().encode(env),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn stream_feed<'a>(
    env: Env<'a>,
    stream: ResourceArc<StreamResource>,
    step: u64,
    bytes: Binary<'a>,
) -> Term<'a> {
    pieces(env, stream.lock().feed(step, &bytes))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn stream_end<'a>(env: Env<'a>, stream: ResourceArc<StreamResource>, step: u64) -> Term<'a> {
    pieces(env, stream.lock().end(step))
}

fn pieces<'a>(env: Env<'a>, pieces: Option<Vec<u8>>) -> Term<'a> {
    match pieces {
        Some(pieces) => binary(env, &pieces),
        None => atoms::stale().encode(env),
    }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn system_prompt<'a>(env: Env<'a>, rules: Binary<'a>) -> Term<'a> {
    binary(env, &PROTOCOL.system_prompt(&rules))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn format_result<'a>(env: Env<'a>, outcome: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::format_result(&outcome))
}

#[rustler::nif]
fn format_error<'a>(env: Env<'a>, message: &str) -> Term<'a> {
    binary(env, beamai_wire::format_error(message).as_bytes())
}
