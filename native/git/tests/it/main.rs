//! The git tools against the git program.

mod add;
mod commit;
mod diff;
mod facts;
mod listing;
mod log;
mod random;
mod replaced;
mod repo;
mod safety;
mod status;
mod submodules;
mod whereabouts;
