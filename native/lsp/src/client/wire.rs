//! What servers send, as far as it is of use here.

use serde::Deserialize;
use serde_json::Value;

/// A point in a document, counted from zero in the server's units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Position {
    pub line: u64,
    pub character: u64,
}

/// From a point to another.
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

/// The two shapes in which a location comes, and the one without a range that a workspace symbol may have.
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

/// A symbol of a document, with those in it or with the name of the one that it is in.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Symbol {
    /// Wherever it is.
    #[serde(rename_all = "camelCase")]
    Flat { name: String, kind: u64, container_name: Option<String>, location: Location },
    /// In the document that was asked about.
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

/// A function as call hierarchies name it. The server wants it back as it was.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallHierarchyItem {
    pub name: String,
    pub kind: u64,
    pub detail: Option<String>,
    pub uri: String,
    pub selection_range: Range,
}

/// Who calls, or is called, and where.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallHierarchyCall {
    #[serde(alias = "from", alias = "to")]
    pub item: CallHierarchyItem,
    pub from_ranges: Vec<Range>,
}

/// What is known of a symbol.
#[derive(Debug, Deserialize)]
pub(crate) struct Hover {
    pub contents: MarkedText,
}

/// Text in the shapes that the protocol has had for it.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum MarkedText {
    /// Plain or Markdown.
    Text(String),
    /// Code.
    Code { language: String, value: String },
    /// Plain or Markdown, and it says which.
    Markup { value: String },
    /// Several.
    Several(Vec<MarkedText>),
}

impl MarkedText {
    /// The text, code in fences.
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

/// Something that is wrong with a document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Diagnostic {
    pub range: Range,
    pub severity: Option<u64>,
    pub code: Option<Value>,
    pub source: Option<String>,
    pub message: String,
}

/// What is wrong with a document, unasked.
#[derive(Debug, Deserialize)]
pub(crate) struct PublishDiagnostics {
    pub uri: String,
    pub version: Option<i64>,
    pub diagnostics: Vec<Diagnostic>,
}

/// What is wrong with a document, when asked.
#[derive(Debug, Deserialize)]
pub(crate) struct DiagnosticReport {
    #[serde(default)]
    pub items: Vec<Diagnostic>,
}

/// The error that a server answers with.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ResponseError {
    pub code: i64,
    pub message: String,
}

impl ResponseError {
    /// The document changed meanwhile, or the server gave up for a reason of its own: another try may help.
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
