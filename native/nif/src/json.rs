//! JSON and front matter for the Erlang side: chat models speak the one, sub-agents are described in the other, and
//! OTP 25 has no library for either.

use crate::call::binary;
use rustler::{Binary, Env, Term};

/// JSON text to a term. For little text: some ten microseconds for each KiB.
#[rustler::nif]
fn json_decode_now<'a>(env: Env<'a>, text: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_decode(&text))
}

/// JSON text to a term.
#[rustler::nif(schedule = "DirtyCpu")]
fn json_decode<'a>(env: Env<'a>, text: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_decode(&text))
}

/// A term to JSON text. For small terms, as [`json_decode_now`].
#[rustler::nif]
fn json_encode_now<'a>(env: Env<'a>, term: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_encode(&term))
}

/// A term to JSON text.
#[rustler::nif(schedule = "DirtyCpu")]
fn json_encode<'a>(env: Env<'a>, term: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_encode(&term))
}

/// The head and the body of a Markdown text.
#[rustler::nif(schedule = "DirtyCpu")]
fn front_matter<'a>(env: Env<'a>, text: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::front_matter(&text))
}
