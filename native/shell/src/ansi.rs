//! Removes terminal escape sequences from a stream.

use std::borrow::Cow;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

/// The parser's position relative to an escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum EscapeState {
    /// Outside any sequence.
    #[default]
    Text,
    /// After the escape character.
    Escape,
    /// In a short sequence, such as the selection of a character set.
    Short,
    /// In a control sequence, such as a colour.
    Control,
    /// In an operating system command, such as a title or a link. It ends at a line break at the latest, so that an
    /// unterminated one does not swallow the rest of the output.
    Command,
    /// In a device control string, such as an image, which may span lines.
    Device,
    /// After the escape character in a command or a device control string.
    Ending,
}

/// Removes the escape sequences (ECMA-48) of one stream, however it is split into chunks. All other bytes are kept.
#[derive(Debug, Default)]
pub(super) struct Stripper(EscapeState);

impl Stripper {
    /// Returns the next chunk without escape sequences.
    pub(super) fn strip<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.0 == EscapeState::Text && memchr::memchr(ESCAPE, bytes).is_none() {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(bytes.iter().copied().filter(|byte| self.keeps(*byte)).collect())
    }

    /// Advances by one byte. Returns true if the byte belongs to no sequence.
    fn keeps(&mut self, byte: u8) -> bool {
        let (next, keeps) = match self.0 {
            EscapeState::Text => text(byte),
            // CAN and SUB cancel a sequence.
            _ if matches!(byte, 0x18 | 0x1a) => (EscapeState::Text, false),
            EscapeState::Escape => escape(byte),
            EscapeState::Short => short(byte),
            EscapeState::Control => control(byte),
            EscapeState::Command => command(byte),
            EscapeState::Device => device(byte),
            EscapeState::Ending if byte == b'\\' => (EscapeState::Text, false),
            EscapeState::Ending => escape(byte),
        };
        self.0 = next;
        keeps
    }
}

fn text(byte: u8) -> (EscapeState, bool) {
    if byte == ESCAPE { (EscapeState::Escape, false) } else { (EscapeState::Text, true) }
}

fn escape(byte: u8) -> (EscapeState, bool) {
    match byte {
        b'[' => (EscapeState::Control, false),
        b']' | b'X' | b'^' | b'_' => (EscapeState::Command, false),
        b'P' => (EscapeState::Device, false),
        _ => short(byte),
    }
}

fn short(byte: u8) -> (EscapeState, bool) {
    match byte {
        0x20..=0x2f => (EscapeState::Short, false),
        0x30..=0x7e => (EscapeState::Text, false),
        // Not a valid continuation: treat the byte as text again.
        _ => text(byte),
    }
}

fn control(byte: u8) -> (EscapeState, bool) {
    match byte {
        0x20..=0x3f => (EscapeState::Control, false),
        0x40..=0x7e => (EscapeState::Text, false),
        _ => text(byte),
    }
}

fn command(byte: u8) -> (EscapeState, bool) {
    match byte {
        BELL => (EscapeState::Text, false),
        ESCAPE => (EscapeState::Ending, false),
        b'\n' => (EscapeState::Text, true),
        _ => (EscapeState::Command, false),
    }
}

fn device(byte: u8) -> (EscapeState, bool) {
    if byte == ESCAPE { (EscapeState::Ending, false) } else { (EscapeState::Device, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stripped(text: &str) -> String {
        String::from_utf8(Stripper::default().strip(text.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn sequences_of_every_kind_go() {
        for (with, without) in [
            ("\x1b[1;31mred\x1b[0m\n", "red\n"),
            ("\x1b[38:2::1:2:3mx\x1b[?25l\x1b[2 q", "x"),
            ("\x1b]8;;http://x\x07link\x1b]8;;\x1b\\ rest", "link rest"),
            ("\x1b]0;ti✓tle\x07after", "after"),
            ("\x1b(Bplain\x1b)0\x1b#8\x1b%G.", "plain."),
            ("\x1b7\x1bMa\x1b=\x1bcb", "ab"),
            ("\x1bPq#0;2;0\n-~~\n\x1b\\after", "after"),
            ("\x1b_Gf=100;AAAA\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\.", "."),
        ] {
            assert_eq!(stripped(with), without, "{with:?}");
        }
    }

    #[test]
    fn other_control_characters_stay() {
        let text = "a\tb\r\n\x07\x08\x00\x7f ä 漢 \u{9b}";
        assert_eq!(stripped(text), text);
    }

    #[test]
    fn what_was_begun_and_not_ended_swallows_no_other_line() {
        assert_eq!(stripped("\x1b]8;;http://x\nnext"), "\nnext");
        assert_eq!(stripped("\x1b[31\nnext"), "\nnext");
        assert_eq!(stripped("\x1b\nnext"), "\nnext");
        assert_eq!(stripped("\x1b[3ä"), "ä");
        assert_eq!(stripped("\x1b[3\x18x \x1bPq\x1ax"), "x x");
        assert_eq!(stripped("\x1b[3\x1b[0mx\x1b]8;;\x1b[0my"), "xy");
    }

    /// Text with many of the bytes that escape sequences consist of.
    fn noise() -> impl Strategy<Value = Vec<u8>> {
        let special = proptest::sample::select(b"\x1b\x1b\x1b[]P_\\(;?0m\x07\x18\nAb\xc3\xa4\x9c".to_vec());
        proptest::collection::vec(special, 0..80)
    }

    proptest! {
        #[test]
        fn it_makes_no_difference_where_the_pieces_are_split(text in noise(), cuts in proptest::collection::vec(0..80_usize, 0..6)) {
            let whole = Stripper::default().strip(&text).into_owned();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.sort_unstable();
            let (mut stripper, mut pieces, mut start) = (Stripper::default(), Vec::new(), 0);
            for end in cuts.into_iter().chain([text.len()]) {
                pieces.extend_from_slice(&stripper.strip(&text[start..end]));
                start = end;
            }
            prop_assert_eq!(pieces, whole);
        }

        #[test]
        fn nothing_of_it_is_left_and_a_second_time_changes_nothing(text in noise()) {
            let once = Stripper::default().strip(&text).into_owned();
            prop_assert!(!once.contains(&ESCAPE));
            let twice = Stripper::default().strip(&once).into_owned();
            prop_assert_eq!(twice, once);
        }

        #[test]
        fn text_without_sequences_is_not_touched(text in proptest::collection::vec(any::<u8>(), 0..80)) {
            let text: Vec<u8> = text.into_iter().filter(|byte| *byte != ESCAPE).collect();
            prop_assert_eq!(Stripper::default().strip(&text).into_owned(), text);
        }
    }
}
