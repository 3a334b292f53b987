//! What the tools of the dialect return where it is not what the operation gives.

use beamai_port_tools::{
    lsp::{CodeLocation, LspOutput},
    web::fetched::{self, Redirect},
};
use beamai_search::glob;
use beamai_walk::SearchCoverage;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
pub(super) struct GlobResult {
    /// Paths of the files, relative to the workspace.
    matches: Vec<String>,
    /// How many files match, those that are not listed included.
    count: u64,
    /// Whether more files match than are listed.
    truncated: bool,
    /// What was searched and what was left out.
    coverage: SearchCoverage,
}

impl From<glob::GlobOutput> for GlobResult {
    fn from(globbed: glob::GlobOutput) -> Self {
        let glob::GlobOutput { files, count, truncated, coverage } = globbed;
        Self { matches: files, count, truncated, coverage }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DefinitionResult {
    /// Where the symbol is defined; null where the server knows no place. The first of locations.
    location: Option<CodeLocation>,
    /// Every place where it is defined.
    locations: Vec<CodeLocation>,
    /// Whether a language server answered. If not, message says why and what to do instead.
    available: bool,
    /// The server's program.
    server: Option<String>,
    /// What else there is to know about the answer.
    message: Option<String>,
    /// What the host can change so that there is an answer.
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
    /// Type and documentation of the symbol, mostly Markdown; empty when there is nothing to say.
    contents: String,
    /// Whether a language server answered. If not, message says why and what to do instead.
    available: bool,
    /// The server's program.
    server: Option<String>,
    /// What else there is to know about the answer.
    message: Option<String>,
    /// What the host can change so that there is an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    configure: Option<String>,
    /// Whether there is more than is given.
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
    /// Address that answered, after every redirect.
    url: String,
    /// Status of the answer, such as 200 or 404.
    status_code: u16,
    /// The Content-Type header as it was sent; empty where there was none.
    content_type: String,
    /// Whether the resource is an image.
    is_image: bool,
    /// The text, pages of HTML as Markdown; an image in base64. Empty for other resources, and for an image over the
    /// limit.
    content: String,
    /// Size of the decoded resource in bytes.
    size_bytes: u64,
    /// The type alone, in lower case, such as text/html.
    media_type: String,
    /// Character encoding that the text was decoded from; null where there is no text.
    charset: Option<String>,
    /// Title of a page of HTML.
    title: Option<String>,
    /// Whether something of the resource was left out; the note says what.
    truncated: bool,
    /// Every redirect that was followed, in order.
    redirects: Vec<Redirect>,
    /// Headers of the answer to a HEAD or OPTIONS request; null for other methods.
    headers: Option<BTreeMap<String, String>>,
    /// What a reader should know of the result: what was left out, guessed or retried.
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
            truncated: fetched.truncated,
            redirects: fetched.redirects,
            headers: fetched.headers,
            note: fetched.note,
        }
    }
}
