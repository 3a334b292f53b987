//! Patterns of paths in permission rules: which paths they match, what they cover, and where they lead through links.
//!
//! A [`PathRule`] has the syntax of ignore files, with alternatives in braces. It is matched name by name, against the
//! absolute path or one relative to the workspace; [`PathRoots`] has the directories that are meant.

#![forbid(unsafe_code)]

mod pattern;
mod roots;
mod rule;

pub use pattern::check_classes;
pub use roots::{PathRoots, clean, is_outside};
pub use rule::{PathRule, literal_pattern, literal_patterns};
