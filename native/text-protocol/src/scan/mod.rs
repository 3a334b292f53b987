//! Finds where calls begin and end.
//!
//! A scan can stop at any byte and continue with more input, without repeating work. What is scanned again while
//! incomplete, such as the beginning of a tag, has a bounded length.

mod block;
mod code;
mod container;
mod function;
mod line;
mod margin;
mod probe;
mod tag;
mod text;
mod xml;
mod yaml;

pub(super) use text::{TextScan, TextScanResult};

use super::ProtocolRules;
use super::call::{CallFormat, ParsedCall};

/// The result of scanning a call. Lengths are in bytes of the buffer, which begins with the call.
pub(super) enum CallScanResult {
    /// A call of that length.
    Call(usize, Box<ParsedCall>),
    /// An invalid call of that length, and the reason.
    Invalid(usize, String),
    /// Text; scanning must continue at this offset.
    Text(usize),
}

/// A call in progress.
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

    /// Continues; `None` if more input is needed.
    pub(super) fn look(&mut self, buf: &[u8], rules: &ProtocolRules) -> Option<CallScanResult> {
        match self {
            Self::Tag(scan) => scan.look(buf, rules),
            Self::Yaml(scan) => scan.look(buf, rules),
            Self::Function(scan) => scan.look(buf),
            Self::Xml(scan) => scan.look(buf, rules),
        }
    }

    /// The result if the text ends here.
    pub(super) fn cut(&mut self, buf: &[u8], rules: &ProtocolRules) -> CallScanResult {
        match self {
            Self::Tag(scan) => scan.cut(buf),
            Self::Yaml(scan) => scan.cut(buf, rules),
            Self::Function(scan) => scan.cut(buf),
            Self::Xml(scan) => scan.cut(buf),
        }
    }
}
