//! Similarity of two files, computed as git does, so that the percentages agree.

use std::collections::HashMap;

/// The maximum score.
pub(super) const MAX_SCORE: u64 = 60_000;
/// Maximum chunk length; longer lines are split.
const PIECE: usize = 64;
/// Number of hash classes for chunks, as in git.
const CLASSES: u32 = 107_927;

/// Number of bytes per hash class.
pub(super) type ChunkSizes = HashMap<u32, u64>;

/// Whether git treats the content as binary: a NUL in its first 8,000 bytes.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_some()
}

/// Splits a file into lines, and long lines into chunks, and counts the bytes of each hash class. In text, a carriage
/// return before a line feed is ignored.
pub(super) fn pieces(bytes: &[u8]) -> ChunkSizes {
    let is_text = !is_binary(bytes);
    let mut pieces = ChunkSizes::new();
    let (mut low, mut high, mut length) = (0_u32, 0_u32, 0_usize);
    let mut end = |low: &mut u32, high: &mut u32, length: &mut usize| {
        let class = low.wrapping_add(high.wrapping_mul(0x61)) % CLASSES;
        *pieces.entry(class).or_default() += *length as u64;
        (*low, *high, *length) = (0, 0, 0);
    };
    for (at, byte) in bytes.iter().enumerate() {
        if is_text && *byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
            continue;
        }
        let before = low;
        low = (low << 7) ^ (high >> 25);
        high = (high << 7) ^ (before >> 25);
        low = low.wrapping_add(u32::from(*byte));
        length += 1;
        if length == PIECE || *byte == b'\n' {
            end(&mut low, &mut high, &mut length);
        }
    }
    if length > 0 {
        end(&mut low, &mut high, &mut length);
    }
    pieces
}

/// The score of two files: the bytes of the old one that also occur in the new one, relative to the larger size.
pub(super) fn score(old: &ChunkSizes, old_size: u64, new: &ChunkSizes, new_size: u64) -> u64 {
    let kept: u64 = old.iter().filter_map(|(class, bytes)| Some(*bytes.min(new.get(class)?))).sum();
    match old_size.max(new_size) {
        0 => MAX_SCORE,
        size => kept * MAX_SCORE / size,
    }
}

/// Whether files of these sizes can reach the minimum score at all.
pub(super) fn can_reach(least: u64, old_size: u64, new_size: u64) -> bool {
    let larger = old_size.max(new_size);
    larger * (MAX_SCORE - least) >= (larger - old_size.min(new_size)) * MAX_SCORE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_lines_is_half_of_the_score() {
        let (old, new) = (b"aaaa\nbbbb\n", b"aaaa\ncccc\n");
        assert_eq!(score(&pieces(old), 10, &pieces(new), 10), MAX_SCORE / 2);
    }

    #[test]
    fn carriage_returns_do_not_count_in_text() {
        assert_eq!(pieces(b"a\r\nb\r\n"), pieces(b"a\nb\n"));
    }
}
