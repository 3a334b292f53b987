//! Position encodings: the unit of characters in a line.

/// The unit that a server counts in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PositionEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, which every server supports.
    Utf16,
    /// Unicode code points.
    Utf32,
}

impl PositionEncoding {
    /// Offered to servers, the preferred one first.
    pub(crate) const OFFERED: [&'static str; 3] = ["utf-8", "utf-16", "utf-32"];

    /// The encoding of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Self::Utf8),
            "utf-16" => Some(Self::Utf16),
            "utf-32" => Some(Self::Utf32),
            _ => None,
        }
    }

    fn width(self, char: char) -> usize {
        match self {
            Self::Utf8 => char.len_utf8(),
            Self::Utf16 => char.len_utf16(),
            Self::Utf32 => 1,
        }
    }

    /// Number of units before the character at an index; of the whole line for an index beyond its end.
    pub(crate) fn units(self, line: &str, character: usize) -> usize {
        match line.is_ascii() {
            true => character.min(line.len()),
            false => line.chars().take(character).map(|char| self.width(char)).sum(),
        }
    }

    /// Index of the character that contains a unit; the line's length for a unit beyond its end.
    pub(crate) fn character(self, line: &str, units: u64) -> usize {
        let mut left = usize::try_from(units).unwrap_or(usize::MAX);
        if line.is_ascii() {
            return left.min(line.len());
        }
        let within = line.chars().take_while(|char| {
            let fits = self.width(*char) <= left;
            left = left.saturating_sub(self.width(*char));
            fits
        });
        within.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encodings() -> impl Strategy<Value = PositionEncoding> {
        proptest::sample::select(vec![
            PositionEncoding::Utf8,
            PositionEncoding::Utf16,
            PositionEncoding::Utf32,
        ])
    }

    fn line() -> impl Strategy<Value = String> {
        let char = prop_oneof![
            proptest::char::range('a', 'z'),
            proptest::char::range('ä', 'ÿ'),
            proptest::char::range('一', '龥'),
            proptest::char::range('😀', '🙏'),
            proptest::char::range('\u{10000}', '\u{10ffff}'),
        ];
        proptest::collection::vec(char, 0..20).prop_map(String::from_iter)
    }

    fn prefix_units(encoding: PositionEncoding, prefix: &str) -> usize {
        match encoding {
            PositionEncoding::Utf8 => prefix.len(),
            PositionEncoding::Utf16 => prefix.encode_utf16().count(),
            PositionEncoding::Utf32 => prefix.chars().count(),
        }
    }

    proptest! {
        #[test]
        fn every_character_survives_the_round_trip(encoding in encodings(), line in line(), at in 0_usize..24) {
            let at = at.min(line.chars().count());
            let prefix: String = line.chars().take(at).collect();
            let units = encoding.units(&line, at);
            prop_assert_eq!(units, prefix_units(encoding, &prefix));
            prop_assert_eq!(encoding.character(&line, units as u64), at);
        }

        #[test]
        fn a_unit_within_a_character_is_the_characters(encoding in encodings(), line in line(), units in 0_u64..99) {
            let at = encoding.character(&line, units);
            prop_assert!(at <= line.chars().count());
            let start = encoding.units(&line, at) as u64;
            let end = encoding.units(&line, at + 1) as u64;
            let is_beyond = at == line.chars().count() && units >= start;
            prop_assert!((start <= units && units < end) || is_beyond);
        }
    }

    #[test]
    fn positions_beyond_the_line_are_its_end() {
        assert_eq!(PositionEncoding::Utf16.character("a😀", u64::MAX), 2);
        assert_eq!(PositionEncoding::Utf16.units("a😀", usize::MAX), 3);
        assert_eq!(PositionEncoding::Utf8.character("abc", 1 << 40), 3);
    }
}
