//! Text in files: which bytes are which characters, where lines end, what changed.
//!
//! A file is [`FileBytes`]: in memory, or read in pieces. [`sniff()`] says what the bytes are; a [`Charset`] decodes them
//! and encodes what is put among them. [`find()`] finds text at character boundaries whatever the charset,
//! [`splice()`] writes a file with some ranges exchanged and every other byte as it was, and a [`Diff`] says what
//! that changes.

mod around;
mod bytes;
mod chars;
mod charset;
mod diff;
mod find;
mod front_matter;
mod lines;
mod placeholder;
mod resemble;
mod shown;
mod sniff;
mod splice;
mod window;

pub use around::around;
pub use bytes::FileBytes;
pub use charset::{Charset, Unmappable};
pub use diff::{Diff, DiffBuilder};
pub use find::{FileScan, Needle, Occurrence, Overlap, find, summarize};
pub use front_matter::front_matter;
pub use lines::{LineEnding, LineStats, line_breaks};
pub use placeholder::placeholders;
pub use resemble::{Resemblance, resemble};
pub use shown::{escaped, extent, is_hidden, json, literal, one_line, printable, visible};
pub use sniff::{ContentKind, HEAD, sniff};
pub use splice::{Splice, splice};
pub use window::LineWindow;

use beamai_base::Result;

/// Asked now and then by long work whether to go on; see `CallContext::check` of `beamai-tool`.
pub type Check<'a> = &'a dyn Fn() -> Result<()>;
