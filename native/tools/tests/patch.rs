//! Patches, compared with what the `git` program makes of the same ones.

#[path = "patch/generated.rs"]
mod generated;
#[path = "patch/history.rs"]
mod history;
#[path = "patch/random.rs"]
mod random;
#[path = "patch/twins.rs"]
mod twins;
