//! Starts and processes as commands, for lists and questions.

use super::called;
use beamai_bash_reader::Word;
use beamai_isolation::{ProgramStart, Starter};
use beamai_text::extent;
use beamai_workspace::encode_path;

/// Maximum number of characters of a command in lists, and in a question.
const SHOWN: usize = 200;
pub(super) const ASKED: usize = 4_000;

/// A start as a command for display.
pub fn written(start: &ProgramStart) -> String {
    called::written_start(start)
}

/// The same, shortened.
pub fn shown(start: &ProgramStart) -> String {
    cut(written(start), SHOWN)
}

/// A process as a command for display, shortened.
pub fn shown_process(process: &Starter) -> String {
    let shown = cut(called::written(&process.program, &process.arguments), SHOWN);
    if process.has_all_arguments || shown.ends_with('…') { shown } else { shown + " …" }
}

/// The directory of a start for a question, as bash would write it.
pub fn shown_directory(start: &ProgramStart) -> String {
    let directory = start.starter.directory.as_deref();
    directory.map_or_else(|| "?".to_owned(), |path| Word::literal(&encode_path(path)).shown())
}

/// A start as a command for a question, shortened, and what a person must know of its size.
pub fn asked_about(start: &ProgramStart) -> (String, String) {
    let whole = written(start);
    let size = match start.has_all_arguments {
        true => extent(&whole),
        false => format!("{}, and more that was not read", extent(&whole)),
    };
    let rest = if is_long(&whole) { "; not all of it is shown" } else { "" };
    (cut(whole, ASKED), size + rest)
}

/// Whether a question does not show all of a command.
pub(super) fn is_long(command: &str) -> bool {
    command.chars().nth(ASKED).is_some()
}

/// A text, cut to this number of characters.
pub(super) fn cut(mut text: String, most: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
    text
}
