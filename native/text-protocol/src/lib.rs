//! Tool calls in plain text, for models without function calling.
//!
//! A model writes a call between tags, in the middle of whatever else it says:
//!
//! ```text
//! <TOOL_CALL>
//! {"tool": "read_file", "args": {"path": "a.txt"}, "reasoning": "why"}
//! </TOOL_CALL>
//! ```
//!
//! [`parse`] finds the first call of a response and [`parse_all`] every one, with the text around them; a [`CallStream`]
//! does the same for text that comes in pieces, and gives the same answer however the text was split.
//!
//! # What is a call
//! - Tags are found anywhere, but for Markdown code: in a fenced block, on a line that begins with three backticks
//!   or tildes, and right after a backtick, a tag is text.
//! - A closing tag inside a JSON string does not end a call. Where the JSON is not valid there are no reliable
//!   strings: then the first closing tag ends it. A call that the text breaks off in reaches to the text's end.
//! - **Raw text**: after the JSON, a string argument may follow as it is, so that code needs no escapes:
//!   a line `content <<END`, the text, and a line `END`. The label is the model's choice, and nothing else ends the
//!   text. It keeps the line break of its last line; with `<<-END` it does not.
//! - Three further formats: `TOOL:` and `ARGS:` lines with YAML, a line `tool(name="value")`, and
//!   `<tool name="tool"><arg name="name">value</arg></tool>`. The first two begin at the start of a line.
//! - Without known tools only the format is checked. With them ([`ToolSet`]) names and arguments are, too, and values
//!   that a format can only write as text take the declared type.
//!
//! # Cost
//! Linear in the text, whatever it holds. What turns out to be no call is read again: a malformed call between tags
//! from its first closing tag on, and a line that only looked like a function call from its parenthesis on. Few
//! such readings overlap: one that is outside a string where the next call begins has failed there, since no value
//! has a tag or a parenthesis outside strings; and of two readings with the same quotes one is always outside a
//! string where the other is inside one. Nesting is bounded: at 32 levels in YAML, at 64 elsewhere.

mod call;
mod machine;
mod prompt;
mod read;
mod result;
mod scan;
mod stream;
mod tools;
mod whole;

pub use call::{CallFormat, InvalidCall, ParsedCall, ResponsePiece};
pub use prompt::system_prompt;
pub use result::{format_error, format_result};
pub use stream::CallStream;
pub use tools::{ToolSet, ToolSpec};
pub use whole::{check, find, parse, parse_all};

use std::sync::Arc;

/// How to read a response.
#[derive(Debug, Clone)]
pub struct ProtocolRules {
    /// The tools there are; `None` checks the format alone and takes every malformed call for text.
    pub tools: Option<Arc<ToolSet>>,
    /// The formats that are looked for; all of them by default.
    pub formats: Vec<CallFormat>,
    /// Whether near misses of JSON between the tags are mended; each one is reported in [`ParsedCall::repairs`]. Off by
    /// default.
    pub repair: bool,
}

impl Default for ProtocolRules {
    fn default() -> Self {
        Self { tools: None, formats: CallFormat::ALL.to_vec(), repair: false }
    }
}

impl ProtocolRules {
    /// The default rules, with tools.
    pub fn with_tools(tools: ToolSet) -> Self {
        Self { tools: Some(Arc::new(tools)), ..Self::default() }
    }

    fn has(&self, format: CallFormat) -> bool {
        self.formats.contains(&format)
    }
}
