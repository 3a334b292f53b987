//! The parts of a parsed response.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The format of a call.
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
    /// All formats.
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

/// A call by a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedCall {
    /// Name of the tool, as written: names are case-sensitive.
    pub tool: String,
    /// The arguments, as given.
    pub args: Map<String, Value>,
    /// The model's reason for the call, if given; if it is not a string, its JSON.
    pub reasoning: Option<String>,
    /// The format of the call.
    pub format: CallFormat,
    /// What was repaired, one sentence each; empty unless [`super::ProtocolRules::repair`] is on.
    pub repairs: Vec<String>,
}

impl ParsedCall {
    pub(super) fn new(tool: String, args: Map<String, Value>, format: CallFormat) -> Self {
        Self { tool, args, reasoning: None, format, repairs: Vec::new() }
    }
}

/// A malformed call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCall {
    /// What is wrong with it.
    pub message: String,
    /// All of its text, including tags.
    pub raw: Vec<u8>,
    /// The format that it begins with.
    pub format: CallFormat,
}

/// A part of a response. Texts and calls are in order.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponsePiece {
    /// Text, byte by byte as given.
    Text(Vec<u8>),
    /// A call.
    Call(ParsedCall),
    /// A call that is not valid. Only if the tools are known; otherwise it is text.
    Invalid(InvalidCall),
}
