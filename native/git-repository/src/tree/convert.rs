//! Converts file content to blob content: line endings and `$Id$`, according to settings and attributes. Filters and
//! encodings are not supported; they are reported so that callers can refuse them.

use super::attributes::{AttributeState, AttributeStates};
use crate::repo::{AutoCrlf, GitSettings};

/// How line endings are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EolConversion {
    /// Unchanged.
    Kept,
    /// CRLF becomes LF.
    Text,
    /// CRLF becomes LF if the content looks like text and the staged blob has no CRLF.
    Guessed,
}

/// How a file is converted on its way into the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    endings: EolConversion,
    /// Whether checkout converts LF to CRLF.
    is_crlf_outside: bool,
    ident: bool,
    /// The unsupported part: `filter=lfs`, `working-tree-encoding=UTF-16`.
    pub foreign: Option<String>,
}

impl Conversion {
    /// The conversion that attributes and settings demand.
    pub fn new(states: &AttributeStates, settings: &GitSettings) -> Self {
        let (endings, is_crlf_outside) = endings(states, settings.autocrlf);
        Self {
            endings,
            is_crlf_outside,
            ident: states.get(&b"ident"[..]) == Some(&AttributeState::Set),
            foreign: foreign(states),
        }
    }

    /// Whether nothing is converted.
    pub fn is_none(&self) -> bool {
        self.endings == EolConversion::Kept && !self.ident
    }

    /// The blob content. `staged` returns the blob that is staged at the path.
    pub fn clean(&self, bytes: Vec<u8>, staged: impl FnOnce() -> Option<Vec<u8>>) -> Vec<u8> {
        let bytes = match self.removes_cr(&bytes, staged) {
            true => without_cr(bytes, self.endings == EolConversion::Guessed),
            false => bytes,
        };
        if self.ident { without_ident(bytes) } else { bytes }
    }

    fn removes_cr(&self, bytes: &[u8], staged: impl FnOnce() -> Option<Vec<u8>>) -> bool {
        if self.endings == EolConversion::Kept || !bytes.contains(&b'\r') {
            return false;
        }
        let stats = TextStats::of(bytes);
        let is_guess_off = || stats.is_binary() || staged().is_some_and(|blob| has_crlf(&blob));
        stats.crlf > 0 && !(self.endings == EolConversion::Guessed && is_guess_off())
    }

    /// Whether staging and checking out again would change the file's line endings.
    pub fn is_lossy(&self, work: &[u8], blob: &[u8]) -> bool {
        let (work, blob) = (TextStats::of(work), TextStats::of(blob));
        let is_mixed = blob.crlf + blob.lone_cr > 0;
        let grows = self.is_crlf_outside && !(self.endings == EolConversion::Guessed && is_mixed);
        let (crlf, lf) = if grows { (blob.crlf + blob.lf, 0) } else { (blob.crlf, blob.lf) };
        let is_guess_off = self.endings == EolConversion::Guessed && work.is_binary();
        let is_lost = (work.crlf > 0 && crlf == 0) || (work.lf > 0 && lf == 0);
        self.endings != EolConversion::Kept && !is_guess_off && is_lost
    }
}

const ENCODING: &str = "working-tree-encoding";

fn endings(states: &AttributeStates, autocrlf: AutoCrlf) -> (EolConversion, bool) {
    // Git ignores unknown values and falls back to the older attribute `crlf` (`git_path_check_crlf`).
    let is_known = |state: &&AttributeState| match state {
        AttributeState::Value(value) => matches!(&**value, b"input" | b"auto"),
        state => **state != AttributeState::Unspecified,
    };
    let known = |name: &[u8]| states.get(name).filter(is_known);
    let text = known(b"text").or_else(|| known(b"crlf"));
    let eol = match states.get(&b"eol"[..]) {
        Some(AttributeState::Value(value)) if value == b"lf" => Some(false),
        Some(AttributeState::Value(value)) if value == b"crlf" => Some(true),
        _ => None,
    };
    let outside = eol.unwrap_or(autocrlf == AutoCrlf::True);
    match (text, eol) {
        (Some(AttributeState::Unset), _) => (EolConversion::Kept, false),
        (Some(AttributeState::Value(value)), _) if value == b"input" => (EolConversion::Text, false),
        (Some(AttributeState::Value(value)), _) if value == b"auto" => (EolConversion::Guessed, outside),
        (Some(AttributeState::Set), _) | (_, Some(_)) => (EolConversion::Text, outside),
        _ if autocrlf != AutoCrlf::False => (EolConversion::Guessed, autocrlf == AutoCrlf::True),
        _ => (EolConversion::Kept, false),
    }
}

fn foreign(states: &AttributeStates) -> Option<String> {
    ["filter", ENCODING].into_iter().find_map(|name| match states.get(name.as_bytes())? {
        // Git stops with an error if the attribute has no value.
        AttributeState::Set if name == ENCODING => Some(name.to_owned()),
        AttributeState::Value(value) if name == "filter" || !(value.is_empty() || is_utf8(value)) => {
            Some(format!("{name}={}", String::from_utf8_lossy(value)))
        }
        _ => None,
    })
}

fn is_utf8(encoding: &[u8]) -> bool {
    encoding.eq_ignore_ascii_case(b"utf-8") || encoding.eq_ignore_ascii_case(b"utf8")
}

/// Statistics about the bytes of a text.
#[derive(Debug, Default)]
struct TextStats {
    nul: usize,
    lone_cr: usize,
    lf: usize,
    crlf: usize,
    printable: usize,
    other: usize,
}

impl TextStats {
    fn of(bytes: &[u8]) -> Self {
        let mut stats = Self::default();
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => stats.crlf += 1,
                b'\r' => stats.lone_cr += 1,
                b'\n' if at > 0 && bytes[at - 1] == b'\r' => {}
                b'\n' => stats.lf += 1,
                0 => (stats.nul, stats.other) = (stats.nul + 1, stats.other + 1),
                8 | 9 | 12 | 27 | 32..=126 | 128.. => stats.printable += 1,
                _ => stats.other += 1,
            }
        }
        // A final control-Z is an end-of-file marker of old DOS files.
        stats.other -= usize::from(bytes.last() == Some(&0x1a));
        stats
    }

    fn is_binary(&self) -> bool {
        self.lone_cr > 0 || self.nul > 0 || (self.printable >> 7) < self.other
    }
}

fn has_crlf(blob: &[u8]) -> bool {
    let stats = TextStats::of(blob);
    stats.crlf > 0 && !stats.is_binary()
}

fn without_cr(bytes: Vec<u8>, every: bool) -> Vec<u8> {
    let is_kept = |at: usize| bytes[at] != b'\r' || (!every && bytes.get(at + 1) != Some(&b'\n'));
    (0..bytes.len()).filter(|at| is_kept(*at)).map(|at| bytes[at]).collect()
}

/// Replaces `$Id: anything$` within a line by `$Id$`.
fn without_ident(bytes: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes.as_slice();
    while let Some(at) = memchr::memmem::find(rest, b"$Id:") {
        out.extend_from_slice(&rest[..at + 3]);
        rest = &rest[at + 3..];
        if let Some(end) = memchr::memchr2(b'$', b'\n', rest).filter(|end| rest[*end] == b'$') {
            out.push(b'$');
            rest = &rest[end + 1..];
        }
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str, staged: Option<&str>, bytes: &str) -> String {
        let states = [(b"text".to_vec(), AttributeState::Value(text.into()))].into();
        let (endings, is_crlf_outside) = endings(&states, AutoCrlf::False);
        let conversion = Conversion { endings, is_crlf_outside, ident: true, foreign: None };
        let blob = conversion.clean(bytes.into(), || staged.map(|text| text.as_bytes().to_vec()));
        String::from_utf8(blob).unwrap()
    }

    #[test]
    fn guessed_text_loses_its_carriage_returns_once() {
        assert_eq!(clean("auto", None, "a\r\nb\n"), "a\nb\n");
        assert_eq!(clean("auto", Some("a\r\n"), "a\r\nb\r\n"), "a\r\nb\r\n");
        assert_eq!(clean("auto", None, "a\r\n\0"), "a\r\n\0");
        assert_eq!(clean("auto", None, "a\rb\r\n"), "a\rb\r\n");
        assert_eq!(clean("input", None, "a\rb\r\n"), "a\rb\n");
    }

    #[test]
    fn an_expanded_id_is_folded() {
        assert_eq!(clean("input", None, "x $Id: 123 $ y $Id: no\n$"), "x $Id$ y $Id: no\n$");
    }
}
