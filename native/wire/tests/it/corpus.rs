//! What the fuzzers kept of what a host sends.

#[path = "../../../engine/tests/it/corpus/walk.rs"]
mod walk;

#[test]
fn port_frames() {
    walk::walk("port_frames", beamai_wire::fuzz::port_frames);
}
