//! The beginning and the end of a long text, such as a command's output.

use super::Fields;
use super::page::{LINE, ModelPage, cut_line, quantity};

/// Maximum length of the line that says how much is left out, in characters.
const GAP: usize = 250;

/// What a text lacks that was cut before it is rendered, as a shell cuts a stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct StreamCut {
    /// The index of the line in place of what is left out, and the number of bytes left out.
    gap: Option<(usize, u64)>,
    /// The length of the line before the gap, if the text has only its beginning.
    before: Option<u64>,
    /// The length of the line after the gap, if the text has only its end.
    after: Option<u64>,
}

impl StreamCut {
    /// What a result, or the details of an error, say of this stream: `stdout` or `stderr`.
    pub fn of(fields: Fields<'_>, stream: &str) -> Self {
        let gap = fields.object(&format!("{stream}_gap"));
        let gap = gap.and_then(|gap| Some((gap.count("line")?, gap.count("bytes")?)));
        let lines = fields.object(&format!("{stream}_cut_lines"));
        let [before, after] = ["before", "after"].map(|end| lines.and_then(|lines| lines.count(end)));
        let index = |line: u64| usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        Self { gap: gap.map(|(line, bytes)| (index(line), bytes)), before, after }
    }
}

/// A line of the text as it is shown.
struct EndLine {
    text: String,
    /// Bytes of the text that it stands for, with its line end.
    bytes: u64,
    /// Whether it stands for bytes that are not in the text.
    is_gap: bool,
    /// Whether it shows only a part of what it stands for.
    is_cut: bool,
}

impl ModelPage {
    /// Adds the beginning and the end of a text that is longer than `room` characters, with a line between them for what
    /// is left out. Lines that are too long are cut. `cut` is what the text lacks already. Returns whether something is
    /// left out.
    pub fn both_ends(&mut self, text: &str, room: usize, cut: StreamCut) -> bool {
        let room = room.min(self.room());
        let most = LINE.min(room / 3);
        let lines = end_lines(text, most, cut);
        let sizes: Vec<usize> = lines.iter().map(|line| line.text.chars().count() + 1).collect();
        if sizes.iter().sum::<usize>() <= room {
            lines.iter().for_each(|line| _ = self.put(&line.text));
            return lines.iter().any(|line| line.is_cut);
        }
        let room = room.saturating_sub(GAP);
        let first = fitting(sizes.iter(), room / 3);
        let last = fitting(sizes[first..].iter().rev(), room - room / 3);
        let (head, rest) = lines.split_at(first);
        let (skipped, tail) = rest.split_at(rest.len() - last);
        head.iter().for_each(|line| _ = self.put(&line.text));
        self.put(&super::page::cut(&gap(skipped), GAP - 1));
        tail.iter().for_each(|line| _ = self.put(&line.text));
        true
    }
}

/// The line in place of these. How many lines there were where the shell has left some out is not known.
fn gap(skipped: &[EndLine]) -> String {
    let bytes: u64 = skipped.iter().map(|line| line.bytes).sum();
    match skipped.iter().any(|line| line.is_gap) {
        true => format!("[… {bytes} bytes left out …]"),
        false => format!("[… {}, {bytes} bytes left out …]", quantity(skipped.len() as u64, "line", "lines")),
    }
}

/// The lines of a text as they are shown. A line that the shell's cut went through is left out with what the shell has
/// left out, unless it is long.
fn end_lines(text: &str, most: usize, StreamCut { gap: cut, before, after }: StreamCut) -> Vec<EndLine> {
    let shown = |(at, line): (usize, &str)| {
        let bytes = line.len() as u64 + 1;
        let left_out = |bytes| EndLine { text: String::new(), bytes, is_gap: true, is_cut: true };
        let is_short = |length: Option<u64>| length.is_some_and(|length| length <= most as u64);
        let text = match cut {
            Some((gap, bytes)) if at == gap => return left_out(bytes),
            // The shell has added the line end.
            Some((gap, _)) if at + 1 == gap && is_short(before) => return left_out(bytes - 1),
            Some((gap, _)) if at == gap + 1 && is_short(after) => return left_out(bytes),
            Some((gap, _)) if at + 1 == gap && before.is_some() => beginning_of(line, most, before),
            Some((gap, _)) if at == gap + 1 && after.is_some() => end_of(line, most, after),
            _ => cut_line(line, most).into_owned(),
        };
        EndLine { is_cut: text != line, text, bytes, is_gap: false }
    };
    let mut lines: Vec<EndLine> = text.lines().enumerate().map(shown).collect();
    lines.dedup_by(|next, first| {
        let is_same_gap = next.is_gap && first.is_gap;
        first.bytes += if is_same_gap { next.bytes } else { 0 };
        is_same_gap
    });
    for at in 0..lines.len() {
        if lines[at].is_gap {
            lines[at].text = gap(&lines[at..=at]);
        }
    }
    lines
}

/// The beginning of a line of this length.
fn beginning_of(part: &str, most: usize, length: Option<u64>) -> String {
    let shown: String = part.chars().take(most).collect();
    format!("{shown}… [{}]", mark(length))
}

/// The end of a line of this length.
fn end_of(part: &str, most: usize, length: Option<u64>) -> String {
    let skipped = part.chars().count().saturating_sub(most);
    let at = part.char_indices().nth(skipped).map_or(part.len(), |(at, _)| at);
    format!("[{}] …{}", mark(length), &part[at..])
}

fn mark(length: Option<u64>) -> String {
    length.map_or("cut".to_owned(), |length| format!("cut: the line has {length} characters"))
}

/// How many lines of these sizes fit together.
fn fitting<'a>(sizes: impl Iterator<Item = &'a usize>, room: usize) -> usize {
    let sums = sizes.scan(0, |sum, size| {
        *sum += size;
        Some(*sum)
    });
    sums.take_while(|sum| *sum <= room).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, limit: usize, room: usize, cut: StreamCut) -> (String, bool) {
        let mut page = ModelPage::new(limit);
        let is_cut = page.both_ends(text, room, cut);
        (page.finish(), is_cut)
    }

    #[test]
    fn of_a_long_text_both_ends_are_shown() {
        let text: String = (1..=1_000).map(|number| format!("line {number}\n")).collect();
        let (shown, is_cut) = shown(&text, 2_000, 1_000, StreamCut::default());
        assert!(shown.starts_with("line 1\n") && shown.ends_with("\nline 1000") && is_cut, "{shown}");
        let (head, rest) = shown.split_once("\n[… ").unwrap();
        let (gap, tail) = rest.split_once(" bytes left out …]\n").unwrap();
        let (lines, bytes) = gap.split_once(" lines, ").unwrap();
        assert_eq!(lines.parse::<usize>().unwrap() + head.lines().count() + tail.lines().count(), 1_000);
        assert_eq!(bytes.parse::<usize>().unwrap() + head.len() + 1 + tail.len() + 1, text.len());
        assert!(shown.chars().count() <= 1_000, "{shown}");
    }

    #[test]
    fn what_the_shell_has_left_out_counts_too() {
        let text = format!("{}[... 500000 bytes left out ...]\n{}", "a\n".repeat(900), "b\n".repeat(900));
        let cut = StreamCut { gap: Some((900, 500_000)), ..StreamCut::default() };
        let (shown, _) = shown(&text, 2_000, 1_000, cut);
        let bytes = 500_000 + 2 * (1_800 - shown.matches(['a', 'b']).count() + 1);
        assert!(shown.contains(&format!("\n[… {bytes} bytes left out …]\n")), "{bytes}: {shown}");
    }

    #[test]
    fn of_a_line_that_was_cut_the_whole_length_is_said() {
        let text = format!("{}\n[... 900000 bytes left out ...]\n{}z", "x".repeat(5_000), "y".repeat(5_000));
        let length = Some(910_001);
        let cut = StreamCut { gap: Some((1, 900_000)), before: length, after: length };
        let (shown, is_cut) = shown(&text, 30_000, 20_000, cut);
        let mark = "[cut: the line has 910001 characters]";
        assert!(shown.contains(&format!("x… {mark}\n[… 900000 bytes")) && is_cut, "{shown}");
        assert!(shown.contains(&format!("\n{mark} …y")) && shown.ends_with("yz"), "{shown}");
        assert!(shown.len() < 4_300);
    }

    #[test]
    fn a_short_line_that_was_cut_is_left_out_with_the_rest_and_one_mark_says_so() {
        let text = "one\nline 2\nli\n[... 500 bytes left out ...]\n99\nline 100";
        let cut = StreamCut { gap: Some((3, 500)), before: Some(6), after: Some(7) };
        let (shown, is_cut) = shown(text, 2_000, 1_000, cut);
        assert_eq!(shown, "one\nline 2\n[… 505 bytes left out …]\nline 100");
        assert!(is_cut);
    }

    #[test]
    fn a_line_of_the_command_that_looks_like_a_gap_is_a_line() {
        let text = "[... 500000 bytes left out ...]\n".repeat(900);
        let (shown, is_cut) = shown(&text, 2_000, 1_000, StreamCut::default());
        let left_out = 900 - shown.matches("[... 500000 bytes").count();
        let gap = format!("[… {left_out} lines, {} bytes left out …]", left_out * 32);
        assert!(shown.contains(&gap) && is_cut, "{gap}: {shown}");
    }

    #[test]
    fn what_a_stream_lacks_is_read_from_the_result() {
        let result =
            serde_json::json!({"stdout_gap": {"line": 3, "bytes": 7}, "stdout_cut_lines": {"after": 9}});
        let cut = StreamCut::of(Fields::of(&result).unwrap(), "stdout");
        assert_eq!((cut.gap, cut.before, cut.after), (Some((2, 7)), None, Some(9)));
    }
}
