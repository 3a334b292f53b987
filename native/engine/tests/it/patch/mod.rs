//! Patches, compared with what the `git` program makes of the same ones.

mod generated;
mod history;
mod random;
mod twins;
