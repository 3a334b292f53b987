//! Inline formats.

use super::writer::Writer;

/// An inline format with a Markdown delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InlineFormat {
    Bold,
    Italic,
    Code,
    Struck,
    Link,
}

impl InlineFormat {
    /// The format of an element.
    pub(super) fn of(tag: &[u8]) -> Option<Self> {
        match tag {
            b"b" | b"strong" => Some(Self::Bold),
            b"i" | b"em" | b"cite" | b"var" | b"dfn" => Some(Self::Italic),
            b"code" | b"kbd" | b"samp" | b"tt" => Some(Self::Code),
            b"del" | b"s" | b"strike" => Some(Self::Struck),
            _ => None,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Bold => "**",
            Self::Italic => "*",
            Self::Code => "`",
            Self::Struck => "~~",
            Self::Link => "[",
        }
    }
}

/// The open formats. A format nested in itself is written once.
#[derive(Debug, Default)]
pub(super) struct OpenFormats {
    depths: [u32; 5],
}

impl OpenFormats {
    pub(super) fn open(&mut self, mark: InlineFormat, writer: &mut Writer) {
        let depth = &mut self.depths[mark as usize];
        *depth += 1;
        if *depth == 1 {
            writer.open(mark);
        }
    }

    pub(super) fn close(&mut self, mark: InlineFormat, writer: &mut Writer) {
        let depth = &mut self.depths[mark as usize];
        if *depth == 1 && writer.close(mark) {
            writer.append(mark.text());
        }
        *depth = depth.saturating_sub(1);
    }

    /// Ends a link.
    pub(super) fn close_link(&mut self, href: &str, writer: &mut Writer) {
        self.depths[InlineFormat::Link as usize] = 0;
        if writer.close(InlineFormat::Link) {
            writer.append("](");
            writer.append(href);
            writer.append(")");
        }
    }
}
