//! Tool calls in plain text, for models without function calling.
//!
//! A model writes a call between tags, anywhere in its response:
//!
//! ```text
//! <TOOL_CALL>
//! {"tool": "read_file", "args": {"path": "a.txt"}, "reasoning": "why"}
//! </TOOL_CALL>
//! ```
//!
//! [`parse`] finds the first call of a response, and [`parse_all`] all of them with the text around them; a
//! [`CallStream`] does the same for streamed text, with the same result however the text is split.
//!
//! # What is a call
//! - Tags are recognized anywhere except in a fenced block (also in a list or a quote), on a line that begins with
//!   three backticks or tildes, and right after a backtick. Blocks begin and end as in CommonMark, with their list
//!   items and quotes. Lines indented by four spaces are not code here: a model may indent its calls. With
//!   [`ProtocolRules::fenced`], a call that begins a block is one, and ends the block, unless the block is in a quote
//!   or in a list item (after its mark, or indented below it).
//! - Where it is unclear whether a call is in a block, it is an invalid call, so that the model is told. This holds for
//!   all calls after a block that ended with its list item or quote, without its closing line: models often leave the
//!   lines of such a block unindented.
//! - A closing tag inside a JSON string does not end a call. If the JSON is not valid, strings are unreliable: then the
//!   first closing tag ends the call. An unfinished call extends to the end of the text.
//! - **Raw text**: after the JSON, a string argument may follow verbatim, so that code needs no escapes: a line
//!   `content <<END`, the text, and a line `END`. The model chooses the label, and nothing else ends the text. The line
//!   break of the last line is kept; with `<<-END` it is not.
//! - Three further formats: `TOOL:` and `ARGS:` lines with YAML, a line `tool(name="value")`, and
//!   `<tool name="tool"><arg name="name">value</arg></tool>`. The first two begin at the start of a line.
//! - Without known tools, only the format is checked. With them ([`ToolSet`]), names and arguments are checked too, and
//!   values that a format can only write as text are converted to the declared type.
//!
//! # Cost
//! Linear in the text for any input. What turns out not to be a call is scanned again: a malformed call between tags
//! from its first closing tag on, and a line that only looked like a function call from its parenthesis on. Few such
//! scans overlap: one that is outside a string where the next call begins has failed there, since no value has a tag or
//! a parenthesis outside strings; and of two scans with the same quotes, one is always outside a string where the other
//! is inside one. Nesting is bounded: at 32 levels in YAML, at 64 elsewhere.

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

/// How to parse a response.
#[derive(Debug, Clone)]
pub struct ProtocolRules {
    /// The available tools; `None` checks only the format and treats malformed calls as text.
    pub tools: Option<Arc<ToolSet>>,
    /// The formats to recognize; all by default.
    pub formats: Vec<CallFormat>,
    /// Whether nearly valid JSON between tags is repaired; [`ParsedCall::repairs`] lists the changes. Off by default.
    pub repair: bool,
    /// Whether a call that begins a fenced block outside of lists and quotes is parsed as a call, instead of as text.
    /// The call ends the block. Off by default.
    pub fenced: bool,
}

impl Default for ProtocolRules {
    fn default() -> Self {
        Self { tools: None, formats: CallFormat::ALL.to_vec(), repair: false, fenced: false }
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
