//! Git config files: parsed like git, and written unambiguously.

use super::directory::OpenDirectory;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// An entry: `section.subsection.key`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ConfigEntry {
    /// In lower case.
    pub(super) section: String,
    pub(super) subsection: Option<Vec<u8>>,
    /// In lower case.
    pub(super) key: String,
    /// `None` for a key without `=`, which means true.
    pub(super) value: Option<Vec<u8>>,
}

impl ConfigEntry {
    /// The entry of a key with dots; `None` if it has none.
    pub(super) fn of(key: &[u8], value: Option<Vec<u8>>) -> Option<Self> {
        let first = key.iter().position(|byte| *byte == b'.')?;
        let last = key.iter().rposition(|byte| *byte == b'.')?;
        let section = [&key[..first].to_ascii_lowercase(), &key[first..last]].concat();
        let key = String::from_utf8_lossy(&key[last + 1..]).to_ascii_lowercase();
        Some(entry(&section, key, value))
    }

    /// The entry's name, for people.
    pub(super) fn name(&self) -> String {
        let subsection = self.subsection.as_ref().map(|text| String::from_utf8_lossy(text) + ".");
        format!("{}.{}{}", self.section, subsection.unwrap_or_default(), self.key)
    }

    /// Whether it names the work tree.
    pub(super) fn is_work_tree(&self) -> bool {
        self.section == "core" && self.subsection.is_none() && self.key == "worktree"
    }

    /// Its subsection, for comparisons that tolerate invalid UTF-8.
    pub(super) fn subsection_text(&self) -> String {
        String::from_utf8_lossy(self.subsection.as_deref().unwrap_or_default()).into_owned()
    }

    /// The path in its value, byte by byte: git does not decode it.
    pub(super) fn path(&self) -> PathBuf {
        OsString::from_vec(self.value.clone().unwrap_or_default()).into()
    }

    /// Its value, for people and for comparisons that tolerate invalid UTF-8.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into_owned()
    }
}

/// Git would reject the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// All entries of a file, in order.
pub(super) fn read(text: &[u8]) -> Result<Vec<ConfigEntry>, Malformed> {
    if text.contains(&0) {
        return Err(Malformed);
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    ConfigReader { text, at: 0, is_at_end: false }.all()
}

/// Config files in a repository.
pub(super) const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// All entries of a repository's own config files that can be read.
pub(super) fn entries_of(repository: &OpenDirectory) -> impl Iterator<Item = ConfigEntry> {
    let texts = CONFIGS.into_iter().filter_map(|name| repository.read(name).ok());
    texts.filter_map(|text| read(&text).ok()).flatten()
}

/// A file with only these entries.
pub(super) fn write<'e>(entries: impl IntoIterator<Item = &'e ConfigEntry>) -> Vec<u8> {
    let mut text = Vec::new();
    let mut last = None;
    for entry in entries {
        let section = (&entry.section, &entry.subsection);
        if last != Some(section) {
            text.extend(b"[");
            text.extend(entry.section.as_bytes());
            if let Some(subsection) = &entry.subsection {
                text.extend(b" \"");
                escape(subsection, &mut text);
                text.extend(b"\"");
            }
            text.extend(b"]\n");
            last = Some(section);
        }
        text.push(b'\t');
        text.extend(entry.key.as_bytes());
        if let Some(value) = &entry.value {
            text.extend(b" = \"");
            escape(value, &mut text);
            text.push(b'"');
        }
        text.push(b'\n');
    }
    text
}

fn escape(bytes: &[u8], text: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\n' => text.extend(b"\\n"),
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            byte => text.push(*byte),
        }
    }
}

/// A port of `git_parse_source` in git's `config.c`.
struct ConfigReader<'t> {
    text: &'t [u8],
    at: usize,
    is_at_end: bool,
}

impl ConfigReader<'_> {
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

    fn all(mut self) -> Result<Vec<ConfigEntry>, Malformed> {
        let (mut entries, mut section, mut is_comment) = (Vec::new(), Vec::new(), false);
        loop {
            match self.next() {
                b'\n' if self.is_at_end => return Ok(entries),
                b'\n' => is_comment = false,
                _ if is_comment => {}
                byte if is_space(byte) => {}
                b'#' | b';' => is_comment = true,
                b'[' => section = self.section()?,
                byte if byte.is_ascii_alphabetic() => {
                    let (key, value) = self.key_and_value(byte)?;
                    entries.push(entry(&section, key, value));
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

fn entry(section: &[u8], key: String, value: Option<Vec<u8>>) -> ConfigEntry {
    let mut parts = section.splitn(2, |byte| *byte == b'.');
    let name = parts.next().unwrap_or_default();
    ConfigEntry {
        section: String::from_utf8_lossy(name).into_owned(),
        subsection: parts.next().map(<[u8]>::to_vec),
        key,
        value,
    }
}

/// Git's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// What git parses in a file; `None` if it rejects it.
    fn by_git(text: &[u8]) -> Option<Vec<u8>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, text).unwrap();
        let mut git = Command::new("git");
        let output =
            git.args(["config", "--list", "-z", "--no-includes", "-f"]).arg(file.path()).output().unwrap();
        output.status.success().then_some(output.stdout)
    }

    /// The entries in the format of `git config --list -z`.
    fn listed(entries: &[ConfigEntry]) -> Vec<u8> {
        let mut text = Vec::new();
        for entry in entries {
            text.extend(entry.section.as_bytes());
            for subsection in entry.subsection.iter() {
                text.push(b'.');
                text.extend(subsection);
            }
            text.push(b'.');
            text.extend(entry.key.as_bytes());
            for value in entry.value.iter() {
                text.push(b'\n');
                text.extend(value);
            }
            text.push(0);
        }
        text
    }

    fn assert_as_git(text: &[u8]) {
        let shown = String::from_utf8_lossy(text);
        match (read(text), by_git(text)) {
            (Ok(entries), Some(listing)) => {
                assert_eq!(listed(&entries), listing, "{shown:?}");
                // Written files are parsed back identically, by both.
                let again = write(&entries);
                assert_eq!(by_git(&again).as_deref(), Some(&*listing), "{shown:?} written");
                assert_eq!(read(&again).as_ref(), Ok(&entries), "{shown:?} written");
            }
            (Err(Malformed), None) => {}
            (own, git) => panic!("{shown:?}: {own:?}, and git: {}", git.is_some()),
        }
    }

    #[test]
    fn files_are_read_as_git_reads_them() {
        for text in [
            "[core]\n\tbare = false\n\tfsmonitor = ./p\n",
            "[Core]FSMonitor=./p",
            "\u{feff}[core]\r\n\tpager = less \\\r\n -R ; comment\r\n",
            "[a \"B \\\" \\\\ \\x\"] k = \"v # no\" # yes\n[a.B.c]\nk\n",
            "[core]\n# pager = a\n; b\n pager = x\"y  z\"  w   \n",
            "[core] pager = a\\tb\\nc\\bd\\\"e\\\\\n",
            "[core] pager = a\\qb\n",
            "[core\n]pager = a",
            "[core] pager = \"open\n",
            "[a \"b\"\n] c = d\n",
            "[a \"b\nc\"] c = d\n",
            "[a] 1c = d\n",
            "[a] c d = e\n",
            "[a] c- = e\r\r\n d=\r\n",
            "[alias]\n\tx = !echo \\\n\tf\n",
            "[a]",
            "[a",
            "[]\n",
            "[ \"a\"] b = c\n",
            "",
        ] {
            assert_as_git(text.as_bytes());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn no_file_is_read_otherwise_than_by_git(parts in proptest::collection::vec(proptest::sample::select(vec![
            "[core]", "[a \"", "\"]", "[", "]", "\"", "\\", "\n", "\r\n", "\r", " ", "\t", "#", ";", "=", "fsmonitor",
            "K-1", ".", "x", "!", "true", "\\\n", "é", "[inc.Lude]", "[a \"b\"]", "\n\tpager = v", "\u{b}", "\u{c}",
        ]), 0..14)) {
            // An entry must be in a section.
            assert_as_git(format!("[s]\n{}", parts.concat()).as_bytes());
        }
    }
}
