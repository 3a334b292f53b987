//! The interpreter that an ELF file names (`PT_INTERP`, elf(5)).
//!
//! The Linux kernel takes the layout, of 32 or 64 bits, from the machine that a file is for, and ignores the class in
//! its header. This module reads both layouts.

use super::MAX_PATH;

/// Type of the program header that names the interpreter.
const PT_INTERP: u32 = 3;
/// Maximum size of all program headers in bytes; the Linux kernel's limit.
const MAX_HEADERS: usize = 64 << 10;

/// Where the fields of a 32-bit or 64-bit file are, in bytes.
struct Layout {
    /// Size of an address or offset.
    word: usize,
    header_offset: usize,
    header_count: usize,
    header_size: usize,
    segment_offset: usize,
    segment_length: usize,
}

const OF_32_BITS: Layout = Layout {
    word: 4,
    header_offset: 28,
    header_count: 44,
    header_size: 32,
    segment_offset: 4,
    segment_length: 16,
};
const OF_64_BITS: Layout = Layout {
    word: 8,
    header_offset: 32,
    header_count: 56,
    header_size: 56,
    segment_offset: 8,
    segment_length: 32,
};

/// The paths of the interpreters, one for each layout in which the file names one. `head` is the beginning of the file,
/// and `read` reads at most this many bytes from an offset.
pub(super) fn interpreters(head: &[u8], read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Vec<Vec<u8>> {
    match head.starts_with(b"\x7fELF") {
        true => [OF_64_BITS, OF_32_BITS].iter().filter_map(|layout| named(layout, head, &read)).collect(),
        false => Vec::new(),
    }
}

fn named(layout: &Layout, head: &[u8], read: impl Fn(u64, usize) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let Layout { word, header_size, .. } = *layout;
    let count = number(head, layout.header_count, 2)? as usize;
    let length = Some(count * header_size).filter(|length| *length <= MAX_HEADERS)?;
    let headers = read(number(head, layout.header_offset, word)?, length)?;
    let names_interpreter = |header: &&[u8]| number(header, 0, 4) == Some(PT_INTERP.into());
    let header = headers.chunks_exact(header_size).find(names_interpreter)?;
    let length = usize::try_from(number(header, layout.segment_length, word)?).ok()?;
    let path = read(number(header, layout.segment_offset, word)?, length.min(MAX_PATH))?;
    path.split(|byte| *byte == 0).next().map(<[u8]>::to_vec)
}

/// The number in these bytes. Only files of the machine's own byte order can be executed.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + size)?;
    Some(match size {
        2 => u16::from_ne_bytes(bytes.try_into().ok()?).into(),
        4 => u32::from_ne_bytes(bytes.try_into().ok()?).into(),
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(file: &mut Vec<u8>, at: usize, bytes: &[u8]) {
        file.resize(file.len().max(at + bytes.len()), 0);
        file[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn read(file: &[u8]) -> Vec<String> {
        let part = |from: u64, length: usize| {
            let rest = file.get(usize::try_from(from).ok()?..)?;
            Some(rest[..length.min(rest.len())].to_vec())
        };
        let found = interpreters(&file[..file.len().min(256)], part).into_iter();
        found.map(|path| String::from_utf8(path).unwrap()).collect()
    }

    #[test]
    fn the_interpreter_is_read_from_the_program_headers() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert!(read(&own).iter().all(|path| path.contains("/ld")), "{:?}", read(&own));
        // A second header of each size names it, far behind.
        for (class, layout) in [(1_u8, OF_32_BITS), (2, OF_64_BITS), (0, OF_64_BITS), (2, OF_32_BITS)] {
            let word = |number: u32| [number.to_ne_bytes(), [0; 4]].concat()[..layout.word].to_vec();
            let mut file = b"\x7fELF".to_vec();
            put(&mut file, 4, &[class]);
            put(&mut file, layout.header_count, &2_u16.to_ne_bytes());
            put(&mut file, layout.header_offset, &word(1_000));
            let second = 1_000 + layout.header_size;
            put(&mut file, second, &PT_INTERP.to_ne_bytes());
            put(&mut file, second + layout.segment_offset, &word(5_000));
            put(&mut file, second + layout.segment_length, &word(5));
            put(&mut file, 5_000, b"/a/b\0rest");
            assert_eq!(read(&file), ["/a/b"]);
            assert_eq!(read(&file[..4_000]), [""; 0]);
            put(&mut file, layout.header_count, &1_u16.to_ne_bytes());
            assert_eq!(read(&file), [""; 0]);
        }
        for other in [&b"#!/bin/sh\n"[..], b"\x7fELF", b"\x7fELF\x03", b""] {
            assert_eq!(read(other), [""; 0]);
        }
    }
}
