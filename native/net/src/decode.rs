//! Decodes content encodings, up to a size limit.

use brotli_decompressor::DecompressorWriter;
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, Write};

/// Collects decoded bytes up to a limit.
#[derive(Debug)]
pub(super) struct BoundedSink {
    bytes: Vec<u8>,
    cap: usize,
    is_full: bool,
}

impl BoundedSink {
    fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), cap, is_full: false }
    }
}

impl Write for BoundedSink {
    /// Fails once more than the limit arrives, which stops the decoder that writes here.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.cap - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_full |= bytes.len() > room;
        match self.is_full {
            true => Err(io::Error::other("full")),
            false => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The supported encodings.
#[derive(Debug, Clone, Copy)]
pub(super) enum ContentEncoding {
    Gzip,
    Deflate,
    Brotli,
}

/// Decodes a body incrementally.
pub(super) enum Decoder {
    /// Buffers the first two bytes: `deflate` names two formats, and an empty body has no encoding at all.
    Waiting(ContentEncoding, Vec<u8>, BoundedSink),
    Identity(BoundedSink),
    Gzip(MultiGzDecoder<BoundedSink>),
    Zlib(ZlibDecoder<BoundedSink>),
    Bare(DeflateDecoder<BoundedSink>),
    Brotli(Box<DecompressorWriter<BoundedSink>>),
}

impl Decoder {
    /// The decoder for a `Content-Encoding`, limited to `cap` decoded bytes. `None` for an unsupported encoding.
    pub(super) fn of(encoding: &str, cap: usize) -> Option<Self> {
        let sink = BoundedSink::new(cap);
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" | "none" => Some(Self::Identity(sink)),
            "gzip" | "x-gzip" => Some(Self::Waiting(ContentEncoding::Gzip, Vec::new(), sink)),
            "deflate" => Some(Self::Waiting(ContentEncoding::Deflate, Vec::new(), sink)),
            "br" => Some(Self::Waiting(ContentEncoding::Brotli, Vec::new(), sink)),
            _ => None,
        }
    }

    /// Feeds encoded bytes.
    ///
    /// # Errors
    /// If the data is damaged, or the limit is reached; [`Decoder::is_full`] tells which.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Self::Waiting(_, start, _) = self {
            start.extend_from_slice(bytes);
            return if start.len() < 2 { Ok(()) } else { self.start_decoder() };
        }
        self.writer().write_all(bytes)
    }

    /// Whether the limit was reached.
    pub(super) fn is_full(&self) -> bool {
        self.sink().is_full
    }

    /// The decoded bytes, and the error if the data ended prematurely.
    pub(super) fn finish(mut self) -> (Vec<u8>, Option<io::Error>) {
        let error = self.end().err().filter(|_| !self.is_full());
        (std::mem::take(&mut self.sink_mut().bytes), error)
    }

    fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Identity(_) => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
            Self::Bare(decoder) => decoder.try_finish(),
            Self::Waiting(_, start, _) if start.is_empty() => Ok(()),
            // A complete one-byte body exists only in Brotli.
            Self::Waiting(..) => self.start_decoder().and_then(|()| self.end()),
            Self::Brotli(decoder) => decoder.close(),
        }
    }

    fn start_decoder(&mut self) -> io::Result<()> {
        let Self::Waiting(encoding, start, sink) = self else { return Ok(()) };
        let start = std::mem::take(start);
        let sink = std::mem::replace(sink, BoundedSink::new(0));
        *self = match encoding {
            ContentEncoding::Gzip => Self::Gzip(MultiGzDecoder::new(sink)),
            ContentEncoding::Brotli => Self::Brotli(Box::new(DecompressorWriter::new(sink, 8 << 10))),
            ContentEncoding::Deflate if has_zlib_header(&start) => Self::Zlib(ZlibDecoder::new(sink)),
            ContentEncoding::Deflate => Self::Bare(DeflateDecoder::new(sink)),
        };
        self.writer().write_all(&start)
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Identity(sink) | Self::Waiting(_, _, sink) => sink,
            Self::Gzip(decoder) => decoder,
            Self::Zlib(decoder) => decoder,
            Self::Bare(decoder) => decoder,
            Self::Brotli(decoder) => &mut **decoder,
        }
    }

    fn sink(&self) -> &BoundedSink {
        match self {
            Self::Identity(sink) | Self::Waiting(_, _, sink) => sink,
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Zlib(decoder) => decoder.get_ref(),
            Self::Bare(decoder) => decoder.get_ref(),
            Self::Brotli(decoder) => decoder.get_ref(),
        }
    }

    fn sink_mut(&mut self) -> &mut BoundedSink {
        match self {
            Self::Identity(sink) | Self::Waiting(_, _, sink) => sink,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
            Self::Bare(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
        }
    }
}

fn has_zlib_header(start: &[u8]) -> bool {
    matches!(start, [first, second, ..] if first & 0x0f == 8 && u16::from_be_bytes([*first, *second]) % 31 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    fn encoded(encoding: &str, bytes: &[u8]) -> Vec<u8> {
        match encoding {
            "gzip" => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "zlib" => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            "bare" => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            _ => {
                let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 9, 22);
                encoder.write_all(bytes).unwrap();
                encoder.into_inner()
            }
        }
    }

    fn decoded(name: &str, bytes: &[u8], piece: usize, cap: usize) -> (Vec<u8>, bool, bool) {
        let mut decoder = Decoder::of(name, cap).unwrap();
        let broke = bytes.chunks(piece).any(|piece| decoder.push(piece).is_err());
        let full = decoder.is_full();
        let (bytes, error) = decoder.finish();
        (bytes, full, (broke || error.is_some()) && !full)
    }

    const KINDS: [(&str, &str); 4] =
        [("gzip", "gzip"), ("deflate", "zlib"), ("deflate", "bare"), ("br", "br")];

    #[test]
    fn every_encoding_decodes_in_pieces_of_any_size() {
        let text = "Grüße aus dem Netz. ".repeat(1000).into_bytes();
        for (name, kind) in KINDS {
            let encoded = encoded(kind, &text);
            for piece in [1, 7, 4096, usize::MAX >> 1] {
                assert_eq!(decoded(name, &encoded, piece, 1 << 20), (text.clone(), false, false), "{kind}");
            }
        }
    }

    #[test]
    fn a_bomb_ends_at_the_cap() {
        let zeros = vec![0; 8 << 20];
        for (name, kind) in KINDS {
            let (bytes, full, broke) = decoded(name, &encoded(kind, &zeros), 64 << 10, 1 << 20);
            assert_eq!((bytes.len(), full, broke), (1 << 20, true, false), "{kind}");
        }
    }

    #[test]
    fn a_cap_that_fits_exactly_is_not_full() {
        for (name, kind) in KINDS {
            assert_eq!(
                decoded(name, &encoded(kind, b"12345"), 64, 5),
                (b"12345".to_vec(), false, false),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_body_cut_short_keeps_what_came_and_says_so() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
        for (name, kind) in KINDS {
            let encoded = encoded(kind, &text);
            let (bytes, full, broke) = decoded(name, &encoded[..encoded.len() / 2], 1024, 1 << 20);
            assert!(!full && broke && !bytes.is_empty() && text.starts_with(&bytes), "{kind}");
        }
    }

    #[test]
    fn an_empty_body_is_no_damage() {
        for name in ["", "gzip", "deflate", "br"] {
            assert_eq!(decoded(name, b"", 1, 10), (vec![], false, false), "{name}");
        }
    }

    #[test]
    fn encodings_that_nobody_asked_for_are_not_guessed_at() {
        assert!(Decoder::of("zstd", 10).is_none());
        assert!(Decoder::of("gzip, gzip", 10).is_none());
    }
}
