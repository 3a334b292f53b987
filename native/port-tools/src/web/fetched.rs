//! Result of `web_fetch`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a note on a text that was cut begins.
pub const CUT_NOTE: &str = "the text was cut at ";

/// A web resource, whatever its status code.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WebFetchOutput {
    /// URL of the final response, after redirects.
    pub url: String,
    /// Status code, such as 200 or 404.
    pub status_code: u16,
    /// The Content-Type header as sent; empty if there was none.
    pub content_type: String,
    /// The text: HTML pages as Markdown unless the source was requested, everything else unchanged. With a prompt, the
    /// answer to it; the note tells where it comes from. Empty for images and other resources that are not text.
    pub content: String,
    /// Whether the resource is an image.
    pub is_image: bool,
    /// Size of the decoded resource in bytes: what was received, or what the server declared if the body was not read.
    pub size_bytes: u64,
    /// The type alone, in lower case, such as text/html.
    pub media_type: String,
    /// Character encoding of the original text, such as utf-8 or gbk; null if there is no text.
    pub charset: Option<String>,
    /// Title of an HTML page.
    pub title: Option<String>,
    /// Characters of the whole text, of which content is a part; absent if content is all of it, or something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_length: Option<u64>,
    /// The image in base64; null if there is none, or if it is over the limit.
    pub image_base64: Option<String>,
    /// Whether part of the resource was left out; the note says what.
    pub truncated: bool,
    /// The redirects that were followed, in order.
    pub redirects: Vec<Redirect>,
    /// Response headers for HEAD and OPTIONS; null for other methods.
    pub headers: Option<BTreeMap<String, String>>,
    /// What was left out, guessed or retried.
    pub note: Option<String>,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redirect {
    /// URL that redirected.
    pub from: String,
    /// Its status code.
    pub status_code: u16,
    /// Target of the redirect.
    pub to: String,
}
