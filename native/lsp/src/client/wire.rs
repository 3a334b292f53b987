//! The parts of server messages that are used here.

use serde::Deserialize;
use serde_json::Value;

/// A position in a document, counted from zero in the server's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Position {
    pub line: u64,
    pub character: u64,
}

/// A range between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Range {
    pub start: Position,
    pub end: Position,
}

/// A range of a document.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "AnyLocation")]
pub(crate) struct Location {
    pub uri: String,
    pub range: Range,
}

/// Both formats of a location, and the one without a range of workspace symbols.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyLocation {
    Location {
        uri: String,
        range: Option<Range>,
    },
    #[serde(rename_all = "camelCase")]
    Link {
        target_uri: String,
        target_selection_range: Range,
    },
}

impl From<AnyLocation> for Location {
    fn from(any: AnyLocation) -> Self {
        let start = Position { line: 0, character: 0 };
        match any {
            AnyLocation::Location { uri, range } => {
                Self { uri, range: range.unwrap_or(Range { start, end: start }) }
            }
            AnyLocation::Link { target_uri, target_selection_range } => {
                Self { uri: target_uri, range: target_selection_range }
            }
        }
    }
}

/// A symbol of a document, with its children or the name of its container.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Symbol {
    /// With its location.
    #[serde(rename_all = "camelCase")]
    Flat { name: String, kind: u64, container_name: Option<String>, location: Location },
    /// In the requested document.
    #[serde(rename_all = "camelCase")]
    Nested {
        name: String,
        detail: Option<String>,
        kind: u64,
        range: Range,
        selection_range: Range,
        #[serde(default)]
        children: Vec<Symbol>,
    },
}

/// A function in a call hierarchy. It must be sent back to the server unchanged.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallHierarchyItem {
    pub name: String,
    pub kind: u64,
    pub detail: Option<String>,
    pub uri: String,
    pub selection_range: Range,
}

/// Caller or callee, and the ranges of the calls.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallHierarchyCall {
    #[serde(alias = "from", alias = "to")]
    pub item: CallHierarchyItem,
    pub from_ranges: Vec<Range>,
}

/// The result of `textDocument/hover`.
#[derive(Debug, Deserialize)]
pub(crate) struct Hover {
    pub contents: MarkedText,
}

/// Text, in all formats of the protocol's versions.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum MarkedText {
    /// Plain text or Markdown.
    Text(String),
    /// Code.
    Code { language: String, value: String },
    /// Plain text or Markdown, with its kind.
    Markup { value: String },
    /// Several.
    Several(Vec<MarkedText>),
}

impl MarkedText {
    /// The text, with code in fences.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) | Self::Markup { value: text } => text.trim().to_owned(),
            Self::Code { language, value } => format!("```{language}\n{}\n```", value.trim()),
            Self::Several(parts) => {
                let texts = parts.iter().map(Self::text).filter(|text| !text.is_empty());
                texts.collect::<Vec<_>>().join("\n\n")
            }
        }
    }
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Diagnostic {
    pub range: Range,
    pub severity: Option<u64>,
    pub code: Option<Value>,
    pub source: Option<String>,
    pub message: String,
}

/// Published diagnostics of a document.
#[derive(Debug, Deserialize)]
pub(crate) struct PublishDiagnostics {
    pub uri: String,
    pub version: Option<i64>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Requested diagnostics of a document.
#[derive(Debug, Deserialize)]
pub(crate) struct DiagnosticReport {
    #[serde(default)]
    pub items: Vec<Diagnostic>,
}

/// The error in a response.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ResponseError {
    pub code: i64,
    pub message: String,
}

impl ResponseError {
    /// Whether a retry may help: the document changed meanwhile, or the server cancelled the request.
    pub(crate) fn is_passing(&self) -> bool {
        const CONTENT_MODIFIED: i64 = -32801;
        const SERVER_CANCELLED: i64 = -32802;
        matches!(self.code, CONTENT_MODIFIED | SERVER_CANCELLED)
    }
}

/// The name of a symbol's kind.
pub(crate) fn kind_name(kind: u64) -> &'static str {
    const NAMES: [&str; 26] = [
        "file",
        "module",
        "namespace",
        "package",
        "class",
        "method",
        "property",
        "field",
        "constructor",
        "enum",
        "interface",
        "function",
        "variable",
        "constant",
        "string",
        "number",
        "boolean",
        "array",
        "object",
        "key",
        "null",
        "enum_member",
        "struct",
        "event",
        "operator",
        "type_parameter",
    ];
    let index = usize::try_from(kind).ok().and_then(|kind| kind.checked_sub(1));
    index.and_then(|index| NAMES.get(index)).copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_location_comes_in_two_shapes() {
        let range = json!({"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}});
        let plain: Location = serde_json::from_value(json!({"uri": "file:///a", "range": range})).unwrap();
        let link: Location = serde_json::from_value(
            json!({"targetUri": "file:///a", "targetRange": range, "targetSelectionRange": range}),
        )
        .unwrap();
        assert_eq!((plain.uri, plain.range), (link.uri, link.range));
    }

    #[test]
    fn contents_come_in_many_shapes() {
        let marked =
            json!(["", {"language": "c", "value": "int x"}, {"kind": "markdown", "value": "*x*\n"}, "y"]);
        let marked: MarkedText = serde_json::from_value(marked).unwrap();
        assert_eq!(marked.text(), "```c\nint x\n```\n\n*x*\n\ny");
    }

    #[test]
    fn kinds_have_names() {
        let names = [0, 1, 12, 26, 27, u64::MAX].map(kind_name);
        assert_eq!(names, ["unknown", "file", "function", "type_parameter", "unknown", "unknown"]);
    }
}
