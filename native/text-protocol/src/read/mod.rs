//! Parses calls once their extent is known.

pub(super) mod json;
pub(super) mod lenient;
mod line;
mod mend;
pub(super) mod value;
pub(super) mod xml;
pub(super) mod yaml;
