//! Basics of all crates of beamai: the error type, a cancel token, and small helpers.

#![forbid(unsafe_code)]

mod cancel;
mod destination;
pub mod domain;
mod error;
mod excerpt;
mod host_hint;
pub mod json;
mod mount;
mod nearest;
pub mod panics;
mod path_way;
mod program_directories;
mod race;
mod secret;
mod settings;
mod spelling;
mod temp_dir;

pub use cancel::CancelToken;
pub use destination::{Destination, HostPattern};
pub use domain::Domains;
pub use error::{CONFIGURE, ErrorKind, Reason, Result, ToolError, describe};
pub use excerpt::excerpt;
pub use host_hint::{HostHint, HostTerms};
pub use mount::{mount_at, mount_of};
pub use nearest::{nearest, ratio};
pub use path_way::{
    Entry, EntryIdentity, PathStep, PathWay, entry_identity, identity_at, is_of_programs, without_parents,
};
pub use program_directories::{directories_in, program_directories};
pub use race::while_raced;
pub use secret::Secret;
pub use settings::SettingsMap;
pub use spelling::{ignores_case, is_local, listed_name};
pub use temp_dir::temp_dir;
