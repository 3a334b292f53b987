//! The git tools against the git program.

mod diff;
mod random;
mod repo;
mod status;
