//! Git's settings files: read as git reads them, and written unambiguously.

mod entry;
mod reader;
mod system;
#[cfg(test)]
mod tests;
mod writer;

pub use entry::ConfigEntry;
pub use reader::{Malformed, read, read_right_lines};
pub use system::system_directory;
pub use writer::write;
