//! Replays the fuzzing corpus of host input.

#[path = "../../../engine/tests/it/corpus/walk.rs"]
mod walk;

#[test]
fn port_frames() {
    walk::walk("port_frames", beamai_wire::fuzz::port_frames);
}
