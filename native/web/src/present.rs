//! Converts responses to results.
//!
//! If the call has a prompt and the host has a chat model, the fetch is interrupted with a request to the model, and
//! [`answered`] continues it.

use super::charset;
use super::markdown;
use super::media::{self, Media};
use super::passages;
use super::pending_consultation::PendingConsultation;
use super::redirects::{FinalResponse, follow_redirects};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use beamai_base::{Reason, Result, ToolError};
use beamai_net::{BodyEnd, Deadline, ReceivedBody, Transport, block_on, text_of};
use beamai_port_tools::web::request::FetchRequest;
use beamai_port_tools::web::{
    fetch::{IMAGE_BYTES, TEXT_BYTES, WebFetch},
    fetched::{CUT_NOTE, WebFetchOutput},
};
use beamai_tool::{CallContext, Consulted, Interrupt, ProgressReporter, consultation::Reply};
use url::Url;

/// Maximum bytes received for a text result.
const PAGE_BYTES: usize = 4 << 20;
/// Maximum bytes of Markdown created from a page.
const MARKDOWN_BYTES: usize = 1 << 20;

/// Runs a fetch.
///
/// # Errors
/// `invalid_argument`, `denied`, `network`, `timeout`, `cancelled`. A response is a result whatever its status code.
/// [`Interrupt::Consult`] if a model has to answer the prompt.
pub(super) fn fetch(
    call: &WebFetch,
    cx: &CallContext,
    transport: Transport,
) -> Result<WebFetchOutput, Interrupt> {
    let plan = FetchRequest::of(call)?;
    let deadline = Deadline::of(cx, call.timeout_sec);
    let (draft, end) = block_on(cx, async {
        let arrival = follow_redirects(&plan, &cx.redirect_policy, &transport, &deadline).await?;
        FetchDraft::received(call, arrival, &deadline, cx).await
    })?;
    match end {
        BodyEnd::Complete | BodyEnd::Capped => draft.finished(cx.has_model),
        BodyEnd::TimedOut => Err(draft.so_far(deadline.timed_out("receiving the body")).into()),
        BodyEnd::Broken(why) => {
            let message = format!("the body from {} broke off: {why}; try again", draft.fetched.url);
            Err(draft.so_far(ToolError::new(Reason::Network, message).with("kind", "body")).into())
        }
    }
}

/// Continues a fetch with the model's answer.
///
/// # Errors
/// `invalid_argument` if the host returns something else than it was given.
pub(super) fn answered(call: &WebFetch, consulted: &Consulted) -> Result<WebFetchOutput> {
    let PendingConsultation { fetched, notes, text } =
        PendingConsultation::resumed(consulted.so_far.clone())?;
    let mut draft = FetchDraft { call, media: Media::Text, fetched, text: String::new(), notes };
    match &consulted.reply {
        Reply::Answer(answer) => {
            let size = text.len().div_ceil(1 << 10);
            draft.notes.push(format!(
                "a chat model wrote this content, as its answer to the prompt from the page's {size} KiB of text; \
                 \"offset\":0 gives the text itself"
            ));
            draft.cut(answer.trim().to_owned());
        }
        Reply::Failed(why) => draft.take_passages(text, &format!("the prompt was not answered: {why}")),
    }
    Ok(draft.noted())
}

/// A result under construction.
struct FetchDraft<'a> {
    call: &'a WebFetch,
    media: Media,
    fetched: WebFetchOutput,
    /// The page's text.
    text: String,
    notes: Vec<String>,
}

impl<'a> FetchDraft<'a> {
    async fn received(
        call: &'a WebFetch,
        arrival: FinalResponse,
        deadline: &Deadline,
        cx: &CallContext,
    ) -> Result<(Self, BodyEnd)> {
        let FinalResponse { url, exchange, redirects, notes } = arrival;
        let content_type = exchange.header("content-type").unwrap_or_default();
        let media_type = media::essence(&content_type);
        let is_encoded = exchange.header("content-encoding").is_some();
        let declared = exchange.header("content-length").and_then(|length| length.parse().ok());
        let fetched = WebFetchOutput {
            url: url.to_string(),
            status_code: exchange.status,
            content_type,
            redirects,
            size_bytes: declared.unwrap_or_default(),
            ..WebFetchOutput::default()
        };
        let mut draft = Self {
            call,
            media: Media::of(&media_type),
            fetched: WebFetchOutput { media_type, ..fetched },
            text: String::new(),
            notes,
        };
        if matches!(call.method.as_str(), "HEAD" | "OPTIONS") {
            let headers = exchange.headers.iter().map(|(name, value)| (name.to_string(), text_of(value)));
            draft.fetched.headers = Some(headers.collect());
        }
        if call.method.as_str() == "HEAD" {
            draft.fetched.is_image = draft.media == Media::Image;
            return Ok((draft, BodyEnd::Complete));
        }
        if draft.leaves_body(declared.filter(|_| !is_encoded)) {
            return Ok((draft, BodyEnd::Complete));
        }
        let reporter = ProgressReporter::new(cx, |bytes| format!("{bytes} bytes received"));
        let body = exchange.receive_heard(draft.cap(), deadline, &|bytes| reporter.add(bytes)).await?;
        draft.take(&body, &url);
        Ok((draft, body.end))
    }

    /// Maximum bytes to receive.
    fn cap(&self) -> usize {
        if self.media == Media::Image { self.limit(IMAGE_BYTES) } else { PAGE_BYTES }
    }

    fn limit(&self, most: usize) -> usize {
        self.call.max_size_kb.map_or(most, |kib| most.min(usize::try_from(kib).unwrap_or(most) << 10))
    }

    /// Whether the body is not needed, as far as the headers tell.
    fn leaves_body(&mut self, declared: Option<u64>) -> bool {
        let Some(size) = declared else { return false };
        match self.media {
            Media::Image if size > self.cap() as u64 => self.leave_image(),
            Media::Other => self.leave_bytes(),
            _ => return false,
        }
        true
    }

    fn take(&mut self, body: &ReceivedBody, url: &Url) {
        self.fetched.size_bytes = body.bytes.len() as u64;
        if body.end == BodyEnd::Capped && self.media != Media::Image {
            self.fetched.truncated = true;
            self.notes.push(format!("only the first {} MiB were received", PAGE_BYTES >> 20));
        }
        if body.bytes.is_empty() {
            return;
        }
        if self.media == Media::Unknown {
            let (media, image_type) = Media::sniffed(&body.bytes, body.end == BodyEnd::Complete);
            self.media = media;
            self.fetched.media_type = image_type.map_or(self.fetched.media_type.clone(), str::to_owned);
        }
        match self.media {
            Media::Image => self.take_image(body),
            Media::Other => self.leave_bytes(),
            _ => self.take_text(body, url),
        }
    }

    fn take_image(&mut self, body: &ReceivedBody) {
        if body.end == BodyEnd::Capped || body.bytes.len() > self.limit(IMAGE_BYTES) {
            return self.leave_image();
        }
        self.fetched.is_image = true;
        self.fetched.image_base64 = Some(BASE64_STANDARD.encode(&body.bytes));
    }

    fn leave_image(&mut self) {
        (self.fetched.is_image, self.fetched.truncated) = (true, true);
        let limit = self.limit(IMAGE_BYTES) >> 10;
        self.notes.push(format!("the image is over the limit of {limit} KiB and was left out"));
    }

    fn leave_bytes(&mut self) {
        self.fetched.truncated = true;
        let kind = match self.fetched.media_type.as_str() {
            "" => "the resource",
            media_type => media_type,
        };
        self.notes.push(format!("{kind} is neither text nor an image; its bytes were left out"));
    }

    fn take_text(&mut self, body: &ReceivedBody, url: &Url) {
        let label = media::charset(&self.fetched.content_type);
        let decoded = charset::decode(&body.bytes, label.as_deref(), body.end == BodyEnd::Complete);
        self.fetched.charset = Some(decoded.charset.to_owned());
        self.notes.extend(decoded.notes);
        self.text = match self.media == Media::Html && !self.call.wants_source() {
            true => self.readable(&decoded.text, url),
            false => decoded.text,
        };
    }

    fn readable(&mut self, html: &str, url: &Url) -> String {
        let page = markdown::convert(html, url, MARKDOWN_BYTES);
        self.fetched.title = page.title;
        if page.text.is_empty() && !html.trim().is_empty() {
            self.notes.push(
                "the page has no text of its own, perhaps because a script makes it; \"as\": \"html\" gives its source"
                    .into(),
            );
        }
        if page.is_reduced {
            self.notes.push("the page's main part; \"as\":\"html\" gives all of its source".into());
        }
        if page.is_cut {
            self.fetched.truncated = true;
            self.notes.push(format!("the page's text was cut at {} MiB", MARKDOWN_BYTES >> 20));
        }
        page.text
    }

    /// The call's prompt, unless the call wants the text itself.
    fn prompt(&self) -> Option<&'a str> {
        self.call.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty() && self.call.offset.is_none())
    }

    /// Error pages are not used to answer a prompt.
    fn finished(mut self, has_model: bool) -> Result<WebFetchOutput, Interrupt> {
        let is_answerable = (200..300).contains(&self.fetched.status_code) && !self.text.is_empty();
        if let Some(prompt) = self.prompt().filter(|_| has_model && is_answerable) {
            let asked = PendingConsultation { fetched: self.fetched, notes: self.notes, text: self.text };
            return Err(Interrupt::Consult(asked.consultation(prompt)));
        }
        self.take_content();
        Ok(self.noted())
    }

    fn take_content(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.prompt().filter(|_| !text.is_empty()) {
            Some(_) => self.take_passages(text, "no model was asked to answer the prompt"),
            None => self.cut_page(text),
        }
    }

    fn take_passages(&mut self, text: String, unanswered: &str) {
        let passages = passages::for_prompt(self.prompt().unwrap_or_default(), &text, unanswered);
        let is_part = passages.text.len() < text.len();
        self.fetched.truncated |= is_part;
        self.notes.push(passages.note);
        if is_part { self.cut(passages.text) } else { self.cut_page(text) }
    }

    /// Takes the page's own text, from the call's offset on.
    fn cut_page(&mut self, mut text: String) {
        if text.is_empty() {
            return;
        }
        let skipped = self.call.offset.unwrap_or(0);
        if skipped > 0 || text.len() > self.limit(TEXT_BYTES) || self.prompt().is_some() {
            self.fetched.text_length = Some(text.chars().count() as u64);
        }
        let start = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
        text.drain(..start);
        self.cut(text);
    }

    fn cut(&mut self, mut text: String) {
        let limit = self.limit(TEXT_BYTES);
        if text.len() > limit {
            self.fetched.truncated = true;
            self.notes.push(format!("{CUT_NOTE}{} KiB of {}", limit >> 10, text.len().div_ceil(1 << 10)));
            if let Some(given) = self.call.max_size_kb.filter(|given| *given > (limit >> 10) as u64) {
                self.notes.push(format!("max_size_kb is {}, the maximum for text, not {given}", limit >> 10));
            }
            text.truncate(text.floor_char_boundary(limit));
        }
        self.fetched.content = text;
    }

    fn noted(mut self) -> WebFetchOutput {
        self.fetched.note = (!self.notes.is_empty()).then(|| self.notes.join("; "));
        self.fetched
    }

    /// Adds what was received so far to an error.
    fn so_far(mut self, error: ToolError) -> ToolError {
        self.take_content();
        let WebFetchOutput { url, status_code, content_type, content, size_bytes, redirects, .. } =
            self.fetched;
        let error = error
            .with("url", url)
            .with("status_code", status_code)
            .with("content_type", content_type)
            .with("content", content)
            .with("size_bytes", size_bytes);
        match redirects.is_empty() {
            true => error,
            false => error.with("redirects", serde_json::json!(redirects)),
        }
    }
}
