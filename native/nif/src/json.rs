//! JSON and front matter for Erlang: for chat models and for definitions of sub-agents. OTP 25 has no library for
//! either.

use crate::call::binary;
use rustler::{Binary, Env, Term};

/// Decodes JSON text to a term. For short text: about ten microseconds per KiB.
#[rustler::nif]
fn json_decode_now<'a>(env: Env<'a>, text: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_decode(&text))
}

/// Decodes JSON text to a term.
#[rustler::nif(schedule = "DirtyCpu")]
fn json_decode<'a>(env: Env<'a>, text: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_decode(&text))
}

/// Encodes a term as JSON text. For small terms, as [`json_decode_now`].
#[rustler::nif]
fn json_encode_now<'a>(env: Env<'a>, term: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_encode(&term))
}

/// Encodes a term as JSON text.
#[rustler::nif(schedule = "DirtyCpu")]
fn json_encode<'a>(env: Env<'a>, term: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::json_encode(&term))
}

/// Front matter and body of a Markdown text.
#[rustler::nif(schedule = "DirtyCpu")]
fn front_matter<'a>(env: Env<'a>, text: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::front_matter(&text))
}
