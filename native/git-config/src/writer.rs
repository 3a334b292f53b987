//! Writes settings files that have only one reading.

use super::ConfigEntry;

/// A file with only these entries.
pub fn write<'e>(entries: impl IntoIterator<Item = &'e ConfigEntry>) -> Vec<u8> {
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
