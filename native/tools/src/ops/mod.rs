//! The operations, one file per family.

pub mod file;
pub mod probe;
pub mod question;
pub mod skill;
pub mod todo;
