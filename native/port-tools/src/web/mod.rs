//! Fetching and searching, as they are described. The crate `beamai-web` does the work.

pub mod auth;
pub mod fetch;
pub mod fetched;
mod for_model;
pub mod request;
pub mod search;
