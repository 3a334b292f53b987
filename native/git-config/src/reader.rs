//! Reads settings files like git.

use super::ConfigEntry;

/// Git would reject the file.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

/// All entries of a file, in order.
pub fn read(text: &[u8]) -> Result<Vec<ConfigEntry>, Malformed> {
    if text.contains(&0) {
        return Err(Malformed);
    }
    let mut entries = Vec::new();
    ConfigReader::new(text).all(&mut entries).map(|()| entries)
}

/// The entries in all correct lines of a file, also if git rejects the file because of other lines. Once somebody
/// corrects those, git takes these.
pub fn read_right_lines(text: &[u8]) -> Vec<ConfigEntry> {
    let (mut reader, mut entries) = (ConfigReader::new(text), Vec::new());
    let mut mistakes = 0;
    while reader.all(&mut entries).is_err() {
        mistakes += 1;
        reader.skip_mistake(mistakes <= MOST_REREAD);
    }
    entries
}

/// For the first mistakes of a file, up to this number, reading goes on after the line where the mistake begins. An
/// open quote can join several lines to that line, and they may be correct. More would take too long in a large file.
const MOST_REREAD: u32 = 100;

/// A port of `git_parse_source` in git's `config.c`.
struct ConfigReader<'t> {
    text: &'t [u8],
    at: usize,
    is_at_end: bool,
    /// The content of the last brackets.
    section: Vec<u8>,
    /// Where the last section or entry begins.
    begun: usize,
}

impl<'t> ConfigReader<'t> {
    fn new(text: &'t [u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        Self { text, at: 0, is_at_end: false, section: Vec::new(), begun: 0 }
    }

    /// Goes to the line after a mistake; with `rereads`, to the line after the one where the mistake begins.
    fn skip_mistake(&mut self, rereads: bool) {
        if rereads {
            (self.at, self.is_at_end) = (self.begun, false);
        }
        while !self.is_at_end && self.text.get(self.at.wrapping_sub(1)) != Some(&b'\n') {
            self.next();
        }
    }

    /// The next character; a line break at the end.
    fn next(&mut self) -> u8 {
        let Some(&byte) = self.text.get(self.at) else {
            self.is_at_end = true;
            return b'\n';
        };
        self.at += 1;
        if byte == b'\r' && self.text.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return b'\n';
        }
        byte
    }

    /// Reads to the end, or to the first mistake.
    fn all(&mut self, entries: &mut Vec<ConfigEntry>) -> Result<(), Malformed> {
        let mut is_comment = false;
        loop {
            let byte = self.next();
            self.begun = self.at;
            match byte {
                b'\n' if self.is_at_end => return Ok(()),
                b'\n' => is_comment = false,
                _ if is_comment => {}
                byte if is_space(byte) => {}
                b'#' | b';' => is_comment = true,
                b'[' => self.section = self.section()?,
                byte if byte.is_ascii_alphabetic() => {
                    let (key, value) = self.key_and_value(byte)?;
                    entries.push(ConfigEntry::in_section(&self.section, key, value));
                }
                _ => return Err(Malformed),
            }
        }
    }

    /// The content of the brackets: the section, and after a dot the subsection.
    fn section(&mut self) -> Result<Vec<u8>, Malformed> {
        let mut name = Vec::new();
        loop {
            match self.next() {
                _ if self.is_at_end => return Err(Malformed),
                b']' if !name.is_empty() => return Ok(name),
                byte if is_space(byte) => return self.subsection(byte, name),
                byte if is_of_key(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return Err(Malformed),
            }
        }
    }

    fn subsection(&mut self, mut byte: u8, mut name: Vec<u8>) -> Result<Vec<u8>, Malformed> {
        while is_space(byte) {
            if byte == b'\n' {
                return Err(Malformed);
            }
            byte = self.next();
        }
        if byte != b'"' {
            return Err(Malformed);
        }
        name.push(b'.');
        loop {
            match self.next() {
                b'\n' => return Err(Malformed),
                b'"' => break,
                b'\\' => match self.next() {
                    b'\n' => return Err(Malformed),
                    byte => name.push(byte),
                },
                byte => name.push(byte),
            }
        }
        if self.next() == b']' { Ok(name) } else { Err(Malformed) }
    }

    fn key_and_value(&mut self, first: u8) -> Result<(String, Option<Vec<u8>>), Malformed> {
        let mut key = char::from(first.to_ascii_lowercase()).to_string();
        let mut byte = self.next();
        while !self.is_at_end && is_of_key(byte) {
            key.push(char::from(byte.to_ascii_lowercase()));
            byte = self.next();
        }
        while matches!(byte, b' ' | b'\t') {
            byte = self.next();
        }
        match byte {
            b'\n' => Ok((key, None)),
            b'=' => Ok((key, Some(self.value()?))),
            _ => Err(Malformed),
        }
    }

    fn value(&mut self) -> Result<Vec<u8>, Malformed> {
        let (mut value, mut is_quoted, mut is_comment) = (Vec::new(), false, false);
        // Trailing spaces are removed.
        let mut end = None;
        loop {
            let byte = self.next();
            match byte {
                b'\n' if is_quoted => return Err(Malformed),
                b'\n' => {
                    value.truncate(end.unwrap_or(value.len()));
                    return Ok(value);
                }
                _ if is_comment => continue,
                byte if is_space(byte) && !is_quoted => {
                    if !value.is_empty() {
                        end.get_or_insert(value.len());
                        value.push(byte);
                    }
                    continue;
                }
                b';' | b'#' if !is_quoted => {
                    is_comment = true;
                    continue;
                }
                _ => end = None,
            }
            match byte {
                b'\\' => match self.next() {
                    b'\n' => {}
                    b't' => value.push(b'\t'),
                    b'b' => value.push(8),
                    b'n' => value.push(b'\n'),
                    byte @ (b'\\' | b'"') => value.push(byte),
                    _ => return Err(Malformed),
                },
                b'"' => is_quoted = !is_quoted,
                byte => value.push(byte),
            }
        }
    }
}

/// Git's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
