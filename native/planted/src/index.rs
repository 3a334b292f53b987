//! The names in git's index: a reader of versions 2 to 4 (gitformat-index(5)).
//!
//! It accepts less than git does, so that there is one way to read what it accepts.

use super::refused::is_refused;

/// Git would read the file otherwise, or not at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

/// What precedes the object id in an entry, and where the mode is in it.
const STAT: usize = 40;
const MODE: usize = 24;
/// The bits of an entry's flags: its name's length, and whether there are more flags.
const LENGTH: u16 = 0xfff;
const EXTENDED: u16 = 0x4000;
/// The signature and the length of an extension.
const HEAD_OF_EXTENSION: usize = 8;

/// The first path in an index that git itself would refuse, or that a caller does, who gets the path, the mode and the
/// object's id. Ids have this many bytes.
pub(super) fn refused_path(
    text: &[u8],
    id: usize,
    is_foreign: impl Fn(&[u8], u32, &[u8]) -> bool,
) -> Result<Option<Vec<u8>>, Unreadable> {
    let mut refused = None;
    each_entry(text, id, |name, mode, object| {
        if refused.is_none() && (is_refused(name, mode) || is_foreign(name, mode, object)) {
            refused = Some(name.to_vec());
        }
    })?;
    Ok(refused)
}

/// Calls a function with the path, the mode and the object's id of each entry that has a path, and of each that git has
/// kept to make a conflict again.
pub(super) fn each_entry(
    text: &[u8],
    id: usize,
    mut visit: impl FnMut(&[u8], u32, &[u8]),
) -> Result<(), Unreadable> {
    let (version, count) = match text.get(..12) {
        Some(head) if head.starts_with(b"DIRC") => (number(head, 4)?, number(head, 8)?),
        _ => return Err(Unreadable),
    };
    if !(2..=4).contains(&version) {
        return Err(Unreadable);
    }
    let end = text.len().checked_sub(id).filter(|end| *end >= 12).ok_or(Unreadable)?;
    let mut entries =
        Entries { text: &text[..end], at: 12, id, is_compressed: version == 4, name: Vec::new() };
    let (mut blocks, mut has_empty) = (Vec::new(), false);
    for _ in 0..count {
        let start = entries.at;
        let (mode, is_whole) = entries.next()?;
        blocks.push(if is_whole { start } else { 0 });
        has_empty |= entries.name.is_empty();
        if !entries.name.is_empty() {
            visit(&entries.name, mode, &text[start + STAT..start + STAT + id]);
        }
    }
    let is_split = check_extensions(&text[..end], entries.at, id, &blocks, &mut visit)?;
    // Names of replaced entries are in the shared index.
    if has_empty && !is_split { Err(Unreadable) } else { Ok(()) }
}

/// The entries of an index, one after the other.
struct Entries<'t> {
    text: &'t [u8],
    at: usize,
    id: usize,
    is_compressed: bool,
    /// The name of the last one.
    name: Vec<u8>,
}

impl Entries<'_> {
    /// Reads an entry. Returns its mode, and whether its name does not build upon the one before.
    fn next(&mut self) -> Result<(u32, bool), Unreadable> {
        let start = self.at;
        let mode = number(self.text, start + MODE)?;
        let mut at = start + STAT + self.id;
        let flags = short(self.text, at)?;
        at += if flags & EXTENDED == 0 { 2 } else { 4 };
        let before = std::mem::take(&mut self.name);
        if self.is_compressed {
            let stripped = self.varint(&mut at)?;
            let kept = before.len().checked_sub(stripped).ok_or(Unreadable)?;
            self.name = before;
            self.name.truncate(kept);
        }
        let kept = self.name.len();
        let rest = self.text.get(at..).ok_or(Unreadable)?;
        let length = rest.iter().position(|byte| *byte == 0).ok_or(Unreadable)?;
        self.name.extend(&rest[..length]);
        // Git takes the length from the flags, unless it does not fit.
        if usize::from(flags & LENGTH) != self.name.len().min(LENGTH.into()) {
            return Err(Unreadable);
        }
        at += length + 1;
        self.at = if self.is_compressed { at } else { start + (at - 1 - start + 8) / 8 * 8 };
        Ok((mode, kept == 0))
    }

    /// A number as `decode_varint` in git's `varint.c` reads it.
    fn varint(&self, at: &mut usize) -> Result<usize, Unreadable> {
        let mut value: usize = 0;
        loop {
            let byte = *self.text.get(*at).ok_or(Unreadable)?;
            *at += 1;
            value = value
                .checked_mul(128)
                .and_then(|value| value.checked_add(usize::from(byte & 127)))
                .ok_or(Unreadable)?;
            if byte & 128 == 0 {
                return Ok(value);
            }
            value = value.checked_add(1).ok_or(Unreadable)?;
        }
    }
}

/// Checks that the extensions make git read the entries in no other way, and visits those with paths. Returns whether
/// the index is split.
fn check_extensions(
    text: &[u8],
    start: usize,
    id: usize,
    blocks: &[usize],
    visit: &mut impl FnMut(&[u8], u32, &[u8]),
) -> Result<bool, Unreadable> {
    // Git looks for this one at the end, without reading the others.
    let last = text.len().checked_sub(HEAD_OF_EXTENSION + 4 + id);
    if let Some(last) = last.filter(|last| text[*last..].starts_with(b"EOIE"))
        && (last < start || number(text, last + HEAD_OF_EXTENSION)? as usize != start)
    {
        return Err(Unreadable);
    }
    let (mut at, mut is_split) = (start, false);
    while at < text.len() {
        let length = number(text, at + 4)? as usize;
        let content = at + HEAD_OF_EXTENSION;
        let body = content.checked_add(length).and_then(|end| text.get(content..end)).ok_or(Unreadable)?;
        match &text[at..at + 4] {
            b"link" => is_split = true,
            b"IEOT" => check_blocks(body, blocks)?,
            b"REUC" => visit_resolved(body, id, visit)?,
            _ => {}
        }
        at = content + length;
    }
    Ok(is_split)
}

/// Visits what `git checkout -m` makes a conflict of again ("resolve undo"): a path, three modes as octal text, and an
/// object's id for each that is not zero.
fn visit_resolved(
    mut body: &[u8],
    id: usize,
    visit: &mut impl FnMut(&[u8], u32, &[u8]),
) -> Result<(), Unreadable> {
    while !body.is_empty() {
        let mut parts = body.splitn(5, |byte| *byte == 0);
        let name = parts.next().ok_or(Unreadable)?;
        let mut modes = [0; 3];
        for mode in &mut modes {
            let text = std::str::from_utf8(parts.next().ok_or(Unreadable)?).map_err(|_| Unreadable)?;
            *mode = u32::from_str_radix(text, 8).map_err(|_| Unreadable)?;
        }
        body = parts.next().ok_or(Unreadable)?;
        for mode in modes.into_iter().filter(|mode| *mode != 0) {
            let (object, rest) = body.split_at_checked(id).ok_or(Unreadable)?;
            visit(name, mode, object);
            body = rest;
        }
    }
    Ok(())
}

/// Checks the table by which git reads blocks of entries at once: they are the same entries.
fn check_blocks(table: &[u8], blocks: &[usize]) -> Result<(), Unreadable> {
    let mut first = 0_usize;
    // The version comes first.
    for block in table.get(4..).ok_or(Unreadable)?.chunks(8) {
        if number(block, 0)? as usize != *blocks.get(first).ok_or(Unreadable)? {
            return Err(Unreadable);
        }
        first = first.checked_add(number(block, 4)? as usize).ok_or(Unreadable)?;
    }
    if first == blocks.len() { Ok(()) } else { Err(Unreadable) }
}

fn number(text: &[u8], at: usize) -> Result<u32, Unreadable> {
    let bytes = text.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Unreadable)?;
    Ok(u32::from_be_bytes(*bytes))
}

fn short(text: &[u8], at: usize) -> Result<u16, Unreadable> {
    let bytes = text.get(at..).and_then(|rest| rest.first_chunk()).ok_or(Unreadable)?;
    Ok(u16::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An index with these names, each with the length that its flags tell.
    fn index(version: u8, names: &[(&str, u16)]) -> Vec<u8> {
        let mut text =
            [b"DIRC\0\0\0", &[version][..], &u32::try_from(names.len()).unwrap().to_be_bytes()].concat();
        for (name, length) in names {
            let start = text.len();
            text.resize(start + STAT + 20, 0);
            text.extend(length.to_be_bytes());
            // Nothing is stripped from the name before.
            text.extend((version == 4).then_some(0));
            text.extend(name.as_bytes());
            let end = if version == 4 { text.len() + 1 } else { start + (text.len() - start + 8) / 8 * 8 };
            text.resize(end, 0);
        }
        text
    }

    fn refused(mut text: Vec<u8>) -> Result<Option<String>, Unreadable> {
        text.extend([0; 20]);
        let refused = refused_path(&text, 20, |_, _, _| false)?;
        Ok(refused.map(|path| String::from_utf8_lossy(&path).into_owned()))
    }

    fn with_extension(mut text: Vec<u8>, name: &str, body: &[u32]) -> Vec<u8> {
        text.extend(name.as_bytes());
        text.extend(u32::try_from(body.len() * 4).unwrap().to_be_bytes());
        body.iter().for_each(|number| text.extend(number.to_be_bytes()));
        text
    }

    #[test]
    fn the_first_path_that_git_refuses_is_found() {
        for version in 2..=4 {
            assert_eq!(refused(index(version, &[("a", 1)])), Ok(None));
            let refused = refused(index(version, &[(".git/x", 6)]));
            assert_eq!(refused, Ok(Some(".git/x".to_owned())));
        }
        assert_eq!(refused(index(2, &[("a", 1), ("b/../c", 6)])), Ok(Some("b/../c".to_owned())));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_not_read() {
        for text in [
            index(1, &[]),
            index(5, &[]),
            // Lengths that are not the name's.
            index(2, &[("abc", 2)]),
            index(2, &[("abc", 4)]),
            index(2, &[("a\0b", 3)]),
            index(4, &[("a", 1), ("bc", 1)]),
            // A name that only a shared index gives.
            index(2, &[("", 0)]),
            b"DIRC\0\0\0\x02\0\0\0\x01".to_vec(),
            b"".to_vec(),
            // Tables by which git finds other entries.
            with_extension(index(2, &[("a", 1)]), "IEOT", &[1, 20, 1]),
            with_extension(index(2, &[("a", 1)]), "IEOT", &[1, 12, 2]),
            with_extension(index(2, &[("a", 1)]), "EOIE", &[12, 0, 0, 0, 0, 0]),
            [index(2, &[]), b"TREE\0\0\0\x09".to_vec()].concat(),
        ] {
            assert_eq!(refused(text.clone()), Err(Unreadable), "{text:?}");
        }
        assert_eq!(refused(with_extension(index(2, &[("a", 1)]), "IEOT", &[1, 12, 1])), Ok(None));
        assert_eq!(refused(with_extension(index(2, &[("", 0)]), "link", &[])), Ok(None));
    }

    #[test]
    fn a_conflict_that_can_be_made_again_counts() {
        let with = |body: &[u8]| {
            let head = u32::try_from(body.len()).unwrap().to_be_bytes();
            refused([&index(2, &[("a", 1)]), &b"REUC"[..], &head, body].concat())
        };
        let kept = |name: &str| [name.as_bytes(), b"\x00100644\x000\x00100755\0", &[1; 40]].concat();
        assert_eq!(with(&kept("b")), Ok(None));
        let both = [kept("b"), kept(".git/x")].concat();
        assert_eq!(with(&both), Ok(Some(".git/x".to_owned())));
        for body in [&both[..both.len() - 1], b"b\x00100644\0", b"b\x00x\x000\x000\0"] {
            assert_eq!(with(body), Err(Unreadable));
        }
    }

    proptest! {
        #[test]
        fn no_file_makes_the_reader_fail(
            version in 2u8..5, names in proptest::collection::vec(("[a-c./]{0,5}", 0u16..7), 0..5),
            changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..4), cut in 0usize..60,
        ) {
            let names: Vec<(&str, u16)> = names.iter().map(|(name, length)| (name.as_str(), *length)).collect();
            let mut text = index(version, &names);
            for (at, byte) in changes {
                let at = at % text.len();
                text[at] = byte;
            }
            text.truncate(text.len().saturating_sub(cut));
            _ = refused(text);
        }
    }
}
