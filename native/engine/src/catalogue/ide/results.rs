//! Results of the dialect's tools that differ from those of the operation.

use beamai_files::FileReadOutput;
use beamai_text::LineEnding;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(super) struct ReadResult {
    /// The text, with its original line endings. Empty for an image.
    content: String,
    /// Number of lines of the file; 0 for an image.
    lines: u64,
    /// Number of the first line of content, if that is not the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    /// Number of the last line of content, if that is not the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u64>,
    /// Column of the first character in content, if it is not the start of its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_column: Option<u64>,
    /// Whether the file has more lines after end_line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_more: bool,
    /// Encoding that the text was decoded from; null for an image.
    encoding: Option<String>,
    /// Line ending.
    line_ending: LineEnding,
    /// BLAKE3 hash of the file.
    hash: Option<String>,
    /// Size of the file in bytes.
    size: u64,
    /// Whether the file has bytes that are invalid in its encoding; content has U+FFFD for them.
    lossy: bool,
    /// The image, base64-encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    image_base64: Option<String>,
    /// Media type of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
}

impl From<FileReadOutput> for ReadResult {
    fn from(read: FileReadOutput) -> Self {
        let is_part =
            read.has_more || read.start_line.is_some_and(|line| line > 1) || read.start_column.is_some();
        let of_part = |line: Option<u64>| line.filter(|_| is_part);
        Self {
            content: read.content,
            lines: read.total_lines.unwrap_or(0),
            start_line: of_part(read.start_line),
            end_line: of_part(read.end_line),
            start_column: read.start_column,
            has_more: read.has_more,
            encoding: read.encoding,
            line_ending: read.line_ending,
            hash: read.hash,
            size: read.size,
            lossy: read.lossy,
            image_base64: read.image_base64,
            media_type: read.media_type,
        }
    }
}
