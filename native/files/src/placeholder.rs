//! Refuses new text with a placeholder for old text.
//!
//! A model that writes `// ... rest of the code unchanged ...` means the current content of the file, which the write
//! would delete. Therefore a change that removes bytes or lines must not add such a line. Changes that only add text
//! may, and existing placeholders may stay.

use beamai_base::{Reason, Result, ToolError};
use beamai_text::placeholders;
use std::collections::BTreeSet;

/// Maximum number of different lines that are looked up in the old text.
const LOOKED_FOR: usize = 20;

/// Refuses a text with a placeholder line that occurs less often in the text it replaces. `had` returns how often a
/// line occurs there, counting up to the given number.
///
/// # Errors
/// `placeholder`, and those of `had`.
pub fn refuse(shown: &str, new: &str, mut had: impl FnMut(&str, usize) -> Result<usize>) -> Result<()> {
    let mut seen = BTreeSet::new();
    let found = placeholders(new).filter(|(_, line)| seen.insert(*line));
    for (number, line) in found.take(LOOKED_FOR) {
        let count = new.matches(line).count();
        if had(line, count)? < count {
            return Err(refused(shown, number, line));
        }
    }
    Ok(())
}

fn refused(shown: &str, number: usize, line: &str) -> ToolError {
    let message = format!(
        "line {number} of the new text, {line:?}, only stands for text, and {shown} would lose that text; give all of \
         it, or change no more than the lines that differ. If the line is meant as it is, add it by a change that \
         removes nothing"
    );
    ToolError::new(Reason::Placeholder, message).with("placeholder", line).with("line", number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(old: &str, new: &str) -> Result<()> {
        refuse("f", new, |line, _| Ok(old.matches(line).count()))
    }

    #[test]
    fn a_placeholder_that_was_not_there_is_refused() {
        let error = check("a\nb\n", "a\n// ... rest of code unchanged ...\n").unwrap_err();
        assert_eq!((error.reason, &error.details["line"]), (Reason::Placeholder, &2.into()));
        assert_eq!(error.details["placeholder"], "// ... rest of code unchanged ...");
        assert!(error.message.contains("f would lose that text"), "{error}");
    }

    #[test]
    fn one_that_was_there_as_often_may_stay() {
        let one = "# ... existing code ...\n";
        let two = one.repeat(2);
        assert!(check(one, one).is_ok() && check(&two, one).is_ok() && check(one, "x\n").is_ok());
        assert!(check(one, &two).is_err());
        assert!(check(one, "# ... existing code ...\n# ... other functions ...\n").is_err());
    }
}
