//! Declarations of the web tools. The crate `beamai-web` implements them.

pub mod auth;
pub mod fetch;
pub mod fetched;
mod for_model;
pub mod request;
pub mod search;
