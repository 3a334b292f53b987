//! Results of the dialect's tools that differ from those of the operation.

use beamai_port_tools::{
    lsp::{CodeLocation, LspOutput},
    web::fetched::{self, Redirect},
};
use beamai_search::{glob, remaining::Remaining};
use beamai_walk::SearchCoverage;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
pub(super) struct GlobResult {
    /// Paths of the files, relative to the workspace.
    matches: Vec<String>,
    /// Number of files that match, including those not listed.
    count: u64,
    /// Whether more files match; continue with offset.
    truncated: bool,
    /// Where the files after the listed ones are; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<Remaining>,
    /// What was searched and what was left out.
    coverage: SearchCoverage,
}

impl From<glob::GlobOutput> for GlobResult {
    fn from(globbed: glob::GlobOutput) -> Self {
        let glob::GlobOutput { files, count, truncated, remaining, coverage } = globbed;
        Self { matches: files, count, truncated, remaining, coverage }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DefinitionResult {
    /// Where the symbol is defined: the first of locations; null if the server does not know.
    location: Option<CodeLocation>,
    /// All places where it is defined.
    locations: Vec<CodeLocation>,
    /// Whether a language server answered. If not, message says why and what to do instead.
    available: bool,
    /// The server's program.
    server: Option<String>,
    /// Further information about the answer.
    message: Option<String>,
    /// What the host can configure so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    configure: Option<String>,
}

impl From<LspOutput> for DefinitionResult {
    fn from(output: LspOutput) -> Self {
        let LspOutput { available, server, message, configure, locations, .. } = output;
        let locations = locations.unwrap_or_default();
        Self { location: locations.first().cloned(), locations, available, server, message, configure }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct HoverResult {
    /// Type and documentation of the symbol, usually Markdown; empty if the server has none.
    contents: String,
    /// Whether a language server answered. If not, message says why and what to do instead.
    available: bool,
    /// The server's program.
    server: Option<String>,
    /// Further information about the answer.
    message: Option<String>,
    /// What the host can configure so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    configure: Option<String>,
    /// Whether the contents were cut.
    truncated: bool,
}

impl From<LspOutput> for HoverResult {
    fn from(output: LspOutput) -> Self {
        let LspOutput { available, server, message, configure, contents, truncated, .. } = output;
        Self { contents: contents.unwrap_or_default(), available, server, message, configure, truncated }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct FetchResult {
    /// URL of the final response, after redirects.
    url: String,
    /// Status code, such as 200 or 404.
    status_code: u16,
    /// The Content-Type header as sent; empty if there was none.
    content_type: String,
    /// Whether the resource is an image.
    is_image: bool,
    /// The text, HTML as Markdown; an image in base64. Empty for other resources, and for images over the limit.
    content: String,
    /// Size of the decoded resource in bytes.
    size_bytes: u64,
    /// The type alone, in lower case, such as text/html.
    media_type: String,
    /// Character encoding of the original text; null if there is no text.
    charset: Option<String>,
    /// Title of an HTML page.
    title: Option<String>,
    /// Characters of the whole text, of which content is a part; absent if content is all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text_length: Option<u64>,
    /// Whether part of the resource was left out; the note says what.
    truncated: bool,
    /// The redirects that were followed, in order.
    redirects: Vec<Redirect>,
    /// Response headers for HEAD and OPTIONS; null for other methods.
    headers: Option<BTreeMap<String, String>>,
    /// What was left out, guessed or retried.
    note: Option<String>,
}

impl From<fetched::WebFetchOutput> for FetchResult {
    fn from(fetched: fetched::WebFetchOutput) -> Self {
        Self {
            url: fetched.url,
            status_code: fetched.status_code,
            content_type: fetched.content_type,
            is_image: fetched.is_image,
            content: fetched.image_base64.unwrap_or(fetched.content),
            size_bytes: fetched.size_bytes,
            media_type: fetched.media_type,
            charset: fetched.charset,
            title: fetched.title,
            text_length: fetched.text_length,
            truncated: fetched.truncated,
            redirects: fetched.redirects,
            headers: fetched.headers,
            note: fetched.note,
        }
    }
}
