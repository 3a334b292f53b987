//! Converts HTML elements to Markdown.

use super::MarkdownPage;
use super::marks::{InlineFormat, OpenFormats};
use super::tables::OpenTables;
use super::writer::Writer;
use html5gum::StartTag;
use std::ops::Range;
use url::Url;

/// Maximum length of a URL; longer ones are omitted.
const LONGEST_ADDRESS: usize = 2000;
/// Maximum depth of numbered lists; deeper ones have bullets.
const DEEPEST_LIST: usize = 64;

/// The position of a page's main part in the output.
#[derive(Debug, Default)]
struct MainPart {
    depth: usize,
    count: usize,
    range: Range<usize>,
}

/// Converts tokens one by one.
pub(super) struct Converter {
    writer: Writer,
    marks: OpenFormats,
    tables: OpenTables,
    /// Number of the next item of each open list; `None` for unordered lists.
    lists: Vec<Option<u32>>,
    base: Url,
    cap: usize,
    is_selective: bool,
    /// The element that is being skipped, and its nesting depth.
    skipped: Option<(Vec<u8>, usize)>,
    left_out: bool,
    title: Option<String>,
    in_title: bool,
    link: Option<String>,
    /// A preformatted block: its language and its text.
    pre: Option<(String, String)>,
    main: MainPart,
    article: MainPart,
}

impl Converter {
    pub(super) fn new(base: &Url, cap: usize, is_selective: bool) -> Self {
        Self {
            writer: Writer::default(),
            marks: OpenFormats::default(),
            tables: OpenTables::default(),
            lists: Vec::new(),
            base: base.clone(),
            cap,
            is_selective,
            skipped: None,
            left_out: false,
            title: None,
            in_title: false,
            link: None,
            pre: None,
            main: MainPart::default(),
            article: MainPart::default(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.writer.len() + self.pre.as_ref().map_or(0, |(_, text)| text.len()) > self.cap
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.in_title {
            self.title.get_or_insert_default().push_str(text);
        } else if self.skipped.is_some() {
        } else if let Some((_, pre)) = &mut self.pre {
            pre.push_str(text);
        } else {
            self.writer.text(text);
        }
    }

    pub(super) fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(skipped == name && !tag.self_closing);
            return;
        }
        match name {
            b"title" => self.in_title = self.title.is_none(),
            b"base" => self.rebase(tag),
            b"a" => self.start_link(tag),
            b"img" => self.image(tag),
            b"br" => self.line_break(),
            b"pre" => self.start_pre(),
            _ if self.pre.is_some() => self.note_language(tag),
            _ if self.is_left_out(name) => self.skip(name, tag.self_closing),
            _ => self.start_block(name, tag),
        }
    }

    fn start_block(&mut self, name: &[u8], tag: &StartTag<()>) {
        if let Some(mark) = InlineFormat::of(name) {
            return self.marks.open(mark, &mut self.writer);
        }
        match name {
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => self.heading(name[1]),
            b"ul" | b"menu" | b"dir" => self.start_list(None),
            b"ol" => {
                self.start_list(Some(attribute(tag, b"start").and_then(|n| n.parse().ok()).unwrap_or(1)))
            }
            b"li" => self.item(),
            b"dd" => {
                self.writer.line();
                self.writer.lead(": ");
            }
            b"dt" => self.writer.block(),
            b"blockquote" => {
                self.writer.block();
                self.writer.quote(true);
            }
            b"hr" => {
                self.writer.block();
                self.writer.literal("---");
                self.writer.block();
            }
            b"table" => self.tables.start(&mut self.writer),
            b"tr" => self.tables.start_row(&mut self.writer),
            b"td" | b"th" => self.tables.cell(name == b"th", &mut self.writer),
            b"main" => self.start_part(true),
            b"article" => self.start_part(false),
            _ if is_block(name) => self.writer.block(),
            _ => {}
        }
    }

    pub(super) fn end(&mut self, name: &[u8]) {
        if name == b"title" {
            self.in_title = false;
        }
        if self.skipped.is_some() {
            return self.end_skipped(name);
        }
        match name {
            b"pre" => self.end_pre(),
            _ if self.pre.is_some() => {}
            b"a" => self.end_link(),
            b"ul" | b"ol" | b"menu" | b"dir" => self.end_list(),
            b"li" | b"dt" | b"dd" => self.writer.line(),
            b"blockquote" => {
                self.writer.block();
                self.writer.quote(false);
            }
            b"table" => self.tables.end(&mut self.writer),
            b"tr" => self.tables.end_row(&mut self.writer),
            b"td" | b"th" => {}
            b"main" => self.end_part(true),
            b"article" => self.end_part(false),
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => {
                self.writer.lead("");
                self.writer.block();
            }
            _ => match InlineFormat::of(name) {
                Some(mark) => self.marks.close(mark, &mut self.writer),
                None if is_block(name) => self.writer.block(),
                None => {}
            },
        }
    }

    pub(super) fn finish(mut self) -> MarkdownPage {
        let is_cut = self.is_full();
        self.end_pre();
        self.end_link();
        self.tables.end(&mut self.writer);
        let part = match (self.main.count, self.article.count) {
            (0, 1) => self.article.range,
            (0, _) => 0..0,
            _ => self.main.range,
        };
        let mut text = self.writer.into_text();
        // A part without an end tag extends to the end.
        let chosen = text[part.start..part.end.min(text.len())].trim();
        let has_part = self.is_selective && chosen.len() >= super::LITTLE;
        let is_reduced = self.left_out || (has_part && chosen.len() < text.trim().len());
        text = if has_part { chosen.to_owned() } else { text.trim().to_owned() };
        text.truncate(text.floor_char_boundary(self.cap));
        let title = self.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        MarkdownPage { title: title.filter(|title| !title.is_empty()), text, is_reduced, is_cut }
    }

    fn is_left_out(&self, name: &[u8]) -> bool {
        match name {
            b"script" | b"style" | b"template" | b"noscript" | b"svg" | b"math" | b"iframe" | b"object"
            | b"audio" | b"video" | b"canvas" | b"select" | b"datalist" | b"textarea" | b"noembed"
            | b"noframes" => true,
            b"nav" | b"button" => self.is_selective,
            _ => false,
        }
    }

    fn skip(&mut self, name: &[u8], is_closed: bool) {
        self.left_out |= name == b"nav";
        if !(is_closed && matches!(name, b"svg" | b"math")) {
            self.skipped = Some((name.to_owned(), 1));
        }
        self.writer.space();
    }

    fn end_skipped(&mut self, name: &[u8]) {
        let Some((skipped, depth)) = &mut self.skipped else { return };
        *depth -= usize::from(skipped == name);
        if *depth == 0 {
            self.skipped = None;
        }
    }

    fn rebase(&mut self, tag: &StartTag<()>) {
        if let Some(base) = attribute(tag, b"href").and_then(|href| self.base.join(&href).ok()) {
            self.base = base;
        }
    }

    fn heading(&mut self, level: u8) {
        self.writer.block();
        let marks = "###### ";
        self.writer.lead(&marks[usize::from(b'6' - level)..]);
    }

    fn line_break(&mut self) {
        match &mut self.pre {
            Some((_, text)) => text.push('\n'),
            None => self.writer.line(),
        }
    }

    fn start_list(&mut self, first: Option<u32>) {
        if self.lists.is_empty() {
            self.writer.block();
        }
        self.writer.line();
        if self.lists.len() < DEEPEST_LIST {
            self.lists.push(first);
            self.writer.list(true);
        }
    }

    fn end_list(&mut self) {
        if self.lists.pop().is_some() {
            self.writer.list(false);
        }
        self.writer.line();
        if self.lists.is_empty() {
            self.writer.block();
        }
    }

    fn item(&mut self) {
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        self.writer.item(mark);
    }

    fn start_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        self.link =
            attribute(tag, b"href").and_then(|href| self.absolute(&href)).filter(|_| self.pre.is_none());
        if self.link.is_some() {
            self.marks.open(InlineFormat::Link, &mut self.writer);
            // A link around block elements is rendered as one link.
            self.writer.is_inline = true;
        }
    }

    fn end_link(&mut self) {
        let Some(href) = self.link.take() else { return };
        self.writer.is_inline = self.writer.in_cell;
        self.marks.close_link(&href, &mut self.writer);
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let Some(alt) = attribute(tag, b"alt").filter(|alt| !alt.trim().is_empty()) else { return };
        let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
        let src = attribute(tag, b"src").and_then(|src| self.absolute(&src));
        self.writer.literal(&match src {
            Some(src) => format!("![{alt}]({src})"),
            None => format!("[image: {alt}]"),
        });
    }

    /// The absolute http(s) URL of a link.
    fn absolute(&self, href: &str) -> Option<String> {
        if href.is_empty() || href.starts_with('#') || href.starts_with("data:") {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let is_useful =
            matches!(url.scheme(), "http" | "https" | "mailto") && url.as_str().len() <= LONGEST_ADDRESS;
        is_useful.then(|| url.into())
    }

    fn start_pre(&mut self) {
        self.pre.get_or_insert_default();
    }

    fn note_language(&mut self, tag: &StartTag<()>) {
        let Some((language, _)) = &mut self.pre else { return };
        let class = attribute(tag, b"class").unwrap_or_default();
        let named = class.split_whitespace().find_map(|class| class.strip_prefix("language-"));
        if let (true, Some(named)) = (language.is_empty(), named) {
            *language =
                named.chars().filter(|c| c.is_ascii_alphanumeric() || "+-#.".contains(*c)).take(20).collect();
        }
    }

    fn end_pre(&mut self) {
        let Some((language, text)) = self.pre.take() else { return };
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.trim().is_empty() {
            return;
        }
        if self.writer.is_inline {
            return self.writer.text(text);
        }
        let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
        let opening = format!("{fence}{language}");
        self.writer.block();
        self.writer.lines([opening.as_str()].into_iter().chain(text.lines()).chain([fence.as_str()]));
        self.writer.block();
    }

    fn start_part(&mut self, is_main: bool) {
        self.writer.block();
        let at = self.writer.len();
        let part = if is_main { &mut self.main } else { &mut self.article };
        part.depth += 1;
        if part.depth == 1 {
            part.count += 1;
            if part.count == 1 {
                part.range = at..usize::MAX;
            }
        }
    }

    fn end_part(&mut self, is_main: bool) {
        self.writer.block();
        let at = self.writer.len();
        let part = if is_main { &mut self.main } else { &mut self.article };
        if part.depth == 1 && part.count == 1 {
            part.range.end = at;
        }
        part.depth = part.depth.saturating_sub(1);
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    Some(String::from_utf8_lossy(value).trim().to_owned())
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

fn is_block(name: &[u8]) -> bool {
    matches!(
        name,
        b"address"
            | b"aside"
            | b"body"
            | b"caption"
            | b"center"
            | b"details"
            | b"dialog"
            | b"div"
            | b"dl"
            | b"fieldset"
            | b"figcaption"
            | b"figure"
            | b"footer"
            | b"form"
            | b"header"
            | b"hgroup"
            | b"html"
            | b"legend"
            | b"nav"
            | b"option"
            | b"p"
            | b"search"
            | b"section"
            | b"summary"
    )
}
