//! Arguments of tools with Erlang handlers, and names.

use crate::call::binary;
use rustler::{Binary, Env, Term};

/// Checks arguments against parameters.
#[rustler::nif(schedule = "DirtyCpu")]
fn check_arguments<'a>(env: Env<'a>, parameters: Binary<'a>, request: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::check_arguments(&parameters, &request))
}

/// The names that resemble a wrong one.
#[rustler::nif(schedule = "DirtyCpu")]
fn nearest<'a>(wrong: Binary<'a>, names: Vec<Binary<'a>>) -> Vec<String> {
    beamai_wire::nearest(&wrong, &names.iter().map(|name| &**name).collect::<Vec<_>>())
}

/// Arguments, as text, on the line of an approval prompt.
#[rustler::nif(schedule = "DirtyCpu")]
fn in_question(text: &str) -> String {
    beamai_wire::in_question(text)
}

/// A text of a server without the secrets that it may repeat.
#[rustler::nif(schedule = "DirtyCpu")]
fn hide_secrets(text: &str, secrets: Vec<&str>, is_cut: bool) -> String {
    beamai_wire::hide_secrets(text, &secrets, is_cut)
}
