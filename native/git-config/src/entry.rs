//! An entry of a settings file.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// An entry: `section.subsection.key`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConfigEntry {
    /// In lower case.
    pub section: String,
    /// In lower case where it follows a dot instead of standing in quotes.
    pub subsection: Option<Vec<u8>>,
    /// In lower case.
    pub key: String,
    /// `None` for a key without `=`, which means true.
    pub value: Option<Vec<u8>>,
}

impl ConfigEntry {
    /// The entry of a key with dots; `None` if it has none.
    pub fn of(key: &[u8], value: Option<Vec<u8>>) -> Option<Self> {
        let first = key.iter().position(|byte| *byte == b'.')?;
        let last = key.iter().rposition(|byte| *byte == b'.')?;
        let section = [&key[..first].to_ascii_lowercase(), &key[first..last]].concat();
        let key = String::from_utf8_lossy(&key[last + 1..]).to_ascii_lowercase();
        Some(Self::in_section(&section, key, value))
    }

    /// The entry's name, byte by byte, as git lists it.
    pub fn full_name(&self) -> Vec<u8> {
        let section = self.section.as_bytes();
        let parts = [Some(section), self.subsection.as_deref(), Some(self.key.as_bytes())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(&b'.')
    }

    /// The entry's name, for people.
    pub fn name(&self) -> String {
        let subsection = self.subsection.as_ref().map(|text| String::from_utf8_lossy(text) + ".");
        format!("{}.{}{}", self.section, subsection.unwrap_or_default(), self.key)
    }

    /// Whether it names the work tree.
    pub fn is_work_tree(&self) -> bool {
        self.section == "core" && self.subsection.is_none() && self.key == "worktree"
    }

    /// Its subsection, for comparisons that tolerate invalid UTF-8.
    pub fn subsection_text(&self) -> String {
        String::from_utf8_lossy(self.subsection.as_deref().unwrap_or_default()).into_owned()
    }

    /// The path in its value, byte by byte: git does not decode it.
    pub fn path(&self) -> PathBuf {
        OsString::from_vec(self.value.clone().unwrap_or_default()).into()
    }

    /// Its value, for people and for comparisons that tolerate invalid UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or_default()).into_owned()
    }

    /// The entry of a key in a section, whose subsection follows after a dot.
    pub(crate) fn in_section(section: &[u8], key: String, value: Option<Vec<u8>>) -> Self {
        let mut parts = section.splitn(2, |byte| *byte == b'.');
        let name = parts.next().unwrap_or_default();
        Self {
            section: String::from_utf8_lossy(name).into_owned(),
            subsection: parts.next().map(<[u8]>::to_vec),
            key,
            value,
        }
    }
}
