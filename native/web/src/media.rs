//! Media types.

use beamai_text::{ContentKind, sniff};

/// Kinds of resources that are treated differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    /// An HTML page.
    Html,
    /// Other text.
    Text,
    /// A raster image.
    Image,
    /// Anything else.
    Other,
    /// No type was given.
    Unknown,
}

/// The media type of a Content-Type header, in lower case and without parameters.
pub(super) fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The charset of a Content-Type header.
pub(super) fn charset(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    })
}

impl Media {
    /// The kind of a media type.
    pub(super) fn of(essence: &str) -> Self {
        let (family, name) = essence.split_once('/').unwrap_or_default();
        match (family, name) {
            ("text", "html") | ("application", "xhtml+xml") => Self::Html,
            ("text", _) | ("image", "svg+xml") | ("message", _) => Self::Text,
            ("image", _) => Self::Image,
            ("application", name) if is_textual(name) => Self::Text,
            ("" | "unknown", _) | ("application", "octet-stream" | "x-download" | "force-download") => {
                Self::Unknown
            }
            (_, name) if name.ends_with("+json") || name.ends_with("+xml") => Self::Text,
            _ => Self::Other,
        }
    }

    /// Detects the kind of the content, and the media type of an image.
    pub(super) fn sniffed(bytes: &[u8], is_whole: bool) -> (Self, Option<&'static str>) {
        match sniff(bytes, is_whole) {
            ContentKind::Image(media_type) => (Self::Image, Some(media_type)),
            ContentKind::Text(_) if looks_like_page(bytes) => (Self::Html, None),
            ContentKind::Text(_) => (Self::Text, None),
            ContentKind::Binary(_) => (Self::Other, None),
        }
    }
}

fn is_textual(name: &str) -> bool {
    const NAMES: [&str; 16] = [
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "x-javascript",
        "yaml",
        "x-yaml",
        "toml",
        "graphql",
        "sql",
        "x-sh",
        "x-httpd-php",
        "x-www-form-urlencoded",
        "ld+json",
        "x-ndjson",
        "rtf",
    ];
    NAMES.contains(&name) || name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+yaml")
}

fn looks_like_page(bytes: &[u8]) -> bool {
    let start: Vec<u8> = bytes.trim_ascii_start().iter().take(15).map(u8::to_ascii_lowercase).collect();
    [&b"<!doctype html"[..], b"<html", b"<head", b"<body"].iter().any(|sign| start.starts_with(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_apart() {
        for (essence, media) in [
            ("text/html", Media::Html),
            ("application/xhtml+xml", Media::Html),
            ("text/plain", Media::Text),
            ("application/json", Media::Text),
            ("application/vnd.api+json", Media::Text),
            ("application/atom+xml", Media::Text),
            ("image/svg+xml", Media::Text),
            ("image/png", Media::Image),
            ("application/pdf", Media::Other),
            ("video/mp4", Media::Other),
            ("application/octet-stream", Media::Unknown),
            ("", Media::Unknown),
        ] {
            assert_eq!(Media::of(essence), media, "{essence}");
        }
    }

    #[test]
    fn bytes_tell_what_no_header_said() {
        let sniffed = |bytes: &[u8]| Media::sniffed(bytes, true);
        assert_eq!(sniffed(b"\x89PNG\r\n\x1a\n...."), (Media::Image, Some("image/png")));
        assert_eq!(sniffed(b"\n <!DOCTYPE HTML><p>"), (Media::Html, None));
        assert_eq!(sniffed("just tęxt".as_bytes()), (Media::Text, None));
        assert_eq!(sniffed(b"\xff\xfeh\0i\0"), (Media::Text, None));
        assert_eq!(sniffed(b"PK\x03\x04\0\0"), (Media::Other, None));
    }

    #[test]
    fn parameters_are_read_as_they_are_written() {
        assert_eq!(essence("Text/HTML; charset=x"), "text/html");
        assert_eq!(charset("text/html; a=b; Charset=\"GBK\""), Some("GBK".into()));
        assert_eq!(charset("text/html"), None);
    }
}
