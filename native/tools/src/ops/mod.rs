//! The operations, one file per family.

pub mod probe;
pub mod shell;
