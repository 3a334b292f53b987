//! Fetching and searching, as they are described. The crate `beamai-web` does the work.

pub mod auth;
pub mod fetch;
pub mod fetched;
pub mod request;
pub mod search;
