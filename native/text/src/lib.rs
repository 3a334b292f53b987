//! Text in files: encodings, line ends, changes.
//!
//! A file is [`FileBytes`]: in memory, or read in pieces. [`sniff()`] detects the type and encoding; a [`Charset`]
//! decodes and encodes. [`find()`] finds text at character boundaries in any charset, [`splice()`] writes a file with
//! some ranges replaced and all other bytes unchanged, and a [`Diff`] shows the changes.

mod around;
mod bytes;
mod chars;
mod charset;
mod contrast;
mod diff;
mod excerpt;
mod find;
mod front_matter;
mod lines;
mod long_line;
mod placeholder;
mod resemble;
mod secret_spelling;
mod secrets;
mod shown;
mod sniff;
mod splice;
mod window;

pub use around::around;
pub use bytes::FileBytes;
pub use charset::{Charset, Unmappable, encoding_line};
pub use contrast::Contrast;
pub use diff::{Diff, DiffBuilder, LONG_LINES, quoted};
pub use excerpt::{Excerpt, differing};
pub use find::{FileScan, Needle, Occurrence, Overlap, find, summarize};
pub use front_matter::front_matter;
pub use lines::{LineEnding, LineStats, line_breaks};
pub use placeholder::placeholders;
pub use resemble::{NearLine, Resemblance, resemble};
pub use secrets::hide_secrets;
pub use shown::{
    escaped, extent, in_question, indented, is_hidden, is_unseen, json, literal, name_in_sentence, one_line,
    printable, visible,
};
pub use sniff::{ContentKind, HEAD, sniff};
pub use splice::{Splice, splice};
pub use window::LineWindow;

use beamai_base::Result;

/// Called regularly by long work; an error ends the work. See `CallContext::check` of `beamai-tool`.
pub type Check<'a> = &'a dyn Fn() -> Result<()>;
