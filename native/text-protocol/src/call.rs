//! What a response is made of.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How a call was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallFormat {
    /// JSON between `<TOOL_CALL>` and `</TOOL_CALL>`.
    Tag,
    /// `TOOL:` and `ARGS:` lines.
    Yaml,
    /// `tool(name="value")` on a line of its own.
    Function,
    /// `<tool name="tool"><arg name="name">value</arg></tool>`.
    Xml,
}

impl CallFormat {
    /// Every format there is.
    pub const ALL: [CallFormat; 4] =
        [CallFormat::Tag, CallFormat::Yaml, CallFormat::Function, CallFormat::Xml];

    /// The format's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::Yaml => "yaml",
            Self::Function => "function",
            Self::Xml => "xml",
        }
    }
}

/// A call that a model made.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedCall {
    /// Name of the tool, as it was written: names are case-sensitive.
    pub tool: String,
    /// The arguments, as they were given.
    pub args: Map<String, Value>,
    /// Why the model calls, if it said so; what is not text comes as its JSON.
    pub reasoning: Option<String>,
    /// How the call was written.
    pub format: CallFormat,
    /// What was mended to make it a call, one sentence each; nothing unless [`super::ProtocolRules::repair`] is on.
    pub repairs: Vec<String>,
}

impl ParsedCall {
    pub(super) fn new(tool: String, args: Map<String, Value>, format: CallFormat) -> Self {
        Self { tool, args, reasoning: None, format, repairs: Vec::new() }
    }
}

/// What was begun as a call and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCall {
    /// What is wrong with it.
    pub message: String,
    /// All of its text, tags included.
    pub raw: Vec<u8>,
    /// The format that it was begun in.
    pub format: CallFormat,
}

/// A part of a response. Texts and calls come in the order in which they stand there.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponsePiece {
    /// Text, byte by byte as it was given.
    Text(Vec<u8>),
    /// A call.
    Call(ParsedCall),
    /// A call that is not valid. Comes only where the tools are known; it is text otherwise.
    Invalid(InvalidCall),
}
