//! The operations, one file per family.

pub mod probe;
pub mod question;
pub mod shell;
pub mod skill;
pub mod todo;
