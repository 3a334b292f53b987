//! Results of the dialect's tools that differ from those of the operation.

use beamai_files::FileReadOutput;
use beamai_text::LineEnding;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(super) struct ReadResult {
    /// The whole text, with its original line endings. Empty for an image.
    content: String,
    /// Number of lines; 0 for an image.
    lines: u64,
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
        Self {
            content: read.content,
            lines: read.total_lines.unwrap_or(0),
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
