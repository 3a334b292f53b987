//! Finds where calls begin and end.
//!
//! A scan can stop at any byte and go on when more has come, without looking at what it has seen. What is looked at
//! again while it is incomplete, such as the beginning of a tag, is bounded in length.

mod function;
mod line;
mod probe;
mod tag;
mod text;
mod xml;
mod yaml;

pub(super) use text::{TextScan, TextScanResult};

use super::ProtocolRules;
use super::call::{CallFormat, ParsedCall};

/// What became of a call. Lengths are in bytes of the buffer, which begins where the call does.
pub(super) enum CallScanResult {
    /// A call of that length.
    Call(usize, Box<ParsedCall>),
    /// No valid call, of that length, and why.
    Invalid(usize, String),
    /// Text after all; what follows this offset has yet to be looked at.
    Text(usize),
}

/// A call that has begun.
pub(super) enum CallScan {
    Tag(tag::TagScan),
    Yaml(yaml::YamlScan),
    Function(function::FunctionScan),
    Xml(xml::XmlScan),
}

impl CallScan {
    pub(super) fn format(&self) -> CallFormat {
        match self {
            Self::Tag(_) => CallFormat::Tag,
            Self::Yaml(_) => CallFormat::Yaml,
            Self::Function(_) => CallFormat::Function,
            Self::Xml(_) => CallFormat::Xml,
        }
    }

    /// Goes on; `None` when it takes more text to tell.
    pub(super) fn look(&mut self, buf: &[u8], rules: &ProtocolRules) -> Option<CallScanResult> {
        match self {
            Self::Tag(scan) => scan.look(buf, rules),
            Self::Yaml(scan) => scan.look(buf, rules),
            Self::Function(scan) => scan.look(buf),
            Self::Xml(scan) => scan.look(buf, rules),
        }
    }

    /// The verdict where the text ends here.
    pub(super) fn cut(&mut self, buf: &[u8], rules: &ProtocolRules) -> CallScanResult {
        match self {
            Self::Tag(scan) => scan.cut(buf),
            Self::Yaml(scan) => scan.cut(buf, rules),
            Self::Function(scan) => scan.cut(buf),
            Self::Xml(scan) => scan.cut(buf),
        }
    }
}
