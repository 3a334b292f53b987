//! What the fuzzers kept: inputs that reach different parts of the code, and every input that ever showed a defect.

mod walk;

use beamai_engine::fuzz;
use walk::walk;

#[test]
fn permission_rules() {
    walk("permission_rules", fuzz::permission_rules);
}

#[test]
fn commands() {
    walk("commands", fuzz::commands);
}

#[test]
fn patches() {
    walk("patches", fuzz::patches);
}

#[test]
fn text_protocol() {
    walk("text_protocol", fuzz::text_protocol);
}
