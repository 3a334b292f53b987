//! Descriptions of tools and directories; nothing is called.

use crate::call::binary;
use rustler::{Binary, Env, Term};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The tools of a dialect.
#[rustler::nif(schedule = "DirtyCpu")]
fn tools<'a>(env: Env<'a>, dialect: &str) -> Term<'a> {
    binary(env, &beamai_wire::tools(dialect))
}

/// A tool in a provider's format.
#[rustler::nif(schedule = "DirtyCpu")]
fn schema<'a>(env: Env<'a>, request: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::schema(&request))
}

/// A result or an error, rendered for people.
#[rustler::nif(schedule = "DirtyCpu")]
fn display<'a>(env: Env<'a>, request: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::display(&request))
}

/// A result or an error, rendered for a model.
#[rustler::nif(schedule = "DirtyCpu")]
fn for_model<'a>(env: Env<'a>, request: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::for_model(&request))
}

/// Identity of the directory at a path, given as raw bytes.
#[rustler::nif(schedule = "DirtyIo")]
fn workspace<'a>(env: Env<'a>, path: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::workspace(Path::new(OsStr::from_bytes(&path))))
}

/// Whether the directory at a path, given as raw bytes, is a workspace only where the host names it.
#[rustler::nif(schedule = "DirtyIo")]
fn too_wide<'a>(env: Env<'a>, path: Binary<'a>) -> Term<'a> {
    binary(env, &beamai_wire::too_wide(Path::new(OsStr::from_bytes(&path))))
}
