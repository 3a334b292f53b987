//! The beginning and the end of a long text, such as a command's output.

use super::page::{LINE, ModelPage, cut, cut_line, quantity};

/// Maximum length of the line that says how much is left out, in characters.
const GAP: usize = 250;

/// The line in place of bytes that the shell has left out of a stream: around the number of bytes.
const LEFT_OUT: (&str, &str) = ("[... ", " bytes left out ...]");

/// A line of the text as it is shown.
struct EndLine {
    text: String,
    /// Bytes of the text that it stands for, with its line end.
    bytes: u64,
    /// Whether it stands for bytes that are not in the text.
    is_gap: bool,
}

impl ModelPage {
    /// Adds the beginning and the end of a text that is longer than `room` characters, with a line between them for what
    /// is left out. Lines that are too long are cut. A text may be cut already, with a line for that; `cut_lines` are the
    /// lengths of the lines before and after it, if these are parts of lines. Returns whether something is left out.
    pub fn both_ends(&mut self, text: &str, room: usize, cut_lines: [Option<u64>; 2]) -> bool {
        let room = room.min(self.room());
        let most = LINE.min(room / 3);
        let lines = end_lines(text, most, cut_lines);
        let sizes: Vec<usize> = lines.iter().map(|line| line.text.chars().count() + 1).collect();
        if sizes.iter().sum::<usize>() <= room {
            lines.iter().for_each(|line| _ = self.put(&line.text));
            return lines.iter().any(|line| line.is_gap || line.bytes as usize > line.text.len() + 2);
        }
        let room = room.saturating_sub(GAP);
        let first = fitting(sizes.iter(), room / 3);
        let last = fitting(sizes[first..].iter().rev(), room - room / 3);
        let (head, rest) = lines.split_at(first);
        let (skipped, tail) = rest.split_at(rest.len() - last);
        head.iter().for_each(|line| _ = self.put(&line.text));
        self.put(&cut(&gap(skipped), GAP - 1));
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

fn end_lines(text: &str, most: usize, [before, after]: [Option<u64>; 2]) -> Vec<EndLine> {
    let lines: Vec<&str> = text.lines().collect();
    let is_gap = |at: usize| left_out(lines[at]).is_some();
    let made = lines.iter().enumerate().map(|(at, line)| {
        let size = line.len() as u64 + 1;
        match left_out(line) {
            Some(bytes) => EndLine { text: (*line).to_owned(), bytes, is_gap: true },
            None if at > 0 && is_gap(at - 1) && after.is_some() => {
                EndLine { text: end_of(line, most, after), bytes: size, is_gap: false }
            }
            None if at + 1 < lines.len() && is_gap(at + 1) && before.is_some() => {
                EndLine { text: beginning_of(line, most, before), bytes: size, is_gap: false }
            }
            None => EndLine { text: cut_line(line, most).into_owned(), bytes: size, is_gap: false },
        }
    });
    made.collect()
}

/// The number of bytes that a line stands for.
fn left_out(line: &str) -> Option<u64> {
    let (before, after) = LEFT_OUT;
    line.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
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

    fn shown(text: &str, limit: usize, room: usize, cut_lines: [Option<u64>; 2]) -> (String, bool) {
        let mut page = ModelPage::new(limit);
        let is_cut = page.both_ends(text, room, cut_lines);
        (page.finish(), is_cut)
    }

    #[test]
    fn of_a_long_text_both_ends_are_shown() {
        let text: String = (1..=1_000).map(|number| format!("line {number}\n")).collect();
        let (shown, is_cut) = shown(&text, 2_000, 1_000, [None, None]);
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
        let (shown, _) = shown(&text, 2_000, 1_000, [None, None]);
        let bytes = 500_000 + 2 * (1_800 - shown.matches(['a', 'b']).count() + 1);
        assert!(shown.contains(&format!("\n[… {bytes} bytes left out …]\n")), "{bytes}: {shown}");
    }

    #[test]
    fn of_a_line_that_was_cut_the_whole_length_is_said() {
        let text = format!("{}\n[... 900000 bytes left out ...]\n{}z", "x".repeat(5_000), "y".repeat(5_000));
        let (shown, is_cut) = shown(&text, 30_000, 20_000, [Some(910_001), Some(910_001)]);
        let mark = "[cut: the line has 910001 characters]";
        assert!(shown.contains(&format!("x… {mark}\n[... 900000 bytes")) && is_cut, "{shown}");
        assert!(shown.contains(&format!("\n{mark} …y")) && shown.ends_with("yz"), "{shown}");
        assert!(shown.len() < 4_300);
    }
}
