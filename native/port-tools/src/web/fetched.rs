//! What a fetch brings back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A resource of the web, whatever its status.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct WebFetchOutput {
    /// Address that answered, after every redirect.
    pub url: String,
    /// Status of the answer, such as 200 or 404.
    pub status_code: u16,
    /// The Content-Type header as it was sent; empty where there was none.
    pub content_type: String,
    /// The text: pages of HTML as Markdown unless their source was asked for, everything else as it is; with a prompt, the
    /// answer to it, and the note says where it comes from. Empty for images and other resources that are not text.
    pub content: String,
    /// Whether the resource is an image.
    pub is_image: bool,
    /// Size of the decoded resource in bytes: what was received, or, where the body was not read, what the server
    /// declared.
    pub size_bytes: u64,
    /// The type alone, in lower case, such as text/html.
    pub media_type: String,
    /// Character encoding that the text was decoded from, such as utf-8 or gbk; null where there is no text.
    pub charset: Option<String>,
    /// Title of a page of HTML.
    pub title: Option<String>,
    /// The image in base64; null where there is none, or where it is over the limit.
    pub image_base64: Option<String>,
    /// Whether something of the resource was left out; the note says what.
    pub truncated: bool,
    /// Every redirect that was followed, in order.
    pub redirects: Vec<Redirect>,
    /// Headers of the answer to a HEAD or OPTIONS request; null for other methods.
    pub headers: Option<BTreeMap<String, String>>,
    /// What a reader should know of the result: what was left out, guessed or retried.
    pub note: Option<String>,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redirect {
    /// Address that answered with the redirect.
    pub from: String,
    /// Its status.
    pub status_code: u16,
    /// Address that it sent on to.
    pub to: String,
}
