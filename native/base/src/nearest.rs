//! "Did you mean": the known names most similar to a wrong one.

use similar::algorithms::{Capture, myers};

/// Maximum length of compared names, in bytes, to bound the time.
const LONGEST: usize = 256;

/// Up to three of `names` that resemble `wrong`, nearest first.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    if wrong.len() > LONGEST {
        return Vec::new();
    }
    let mut scored: Vec<(f32, &str)> = names
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (similarity(wrong, name), name))
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}

fn similarity(a: &str, b: &str) -> f32 {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    // Other programs name their tools with the verb first, or last.
    if words(&a) == words(&b) {
        return 1.0;
    }
    ratio(&a, &b)
}

/// The similarity of two texts, from 0 to 1: the share of their characters that a diff keeps.
#[must_use]
pub fn ratio(one: &str, other: &str) -> f32 {
    let [one, other]: [Vec<char>; 2] = [one, other].map(|text| text.chars().collect());
    let mut diff = Capture::new();
    // `TextDiff` would compile all algorithms; only this one is needed.
    let Ok(()) = myers::diff(&mut diff, &*one, 0..one.len(), &*other, 0..other.len());
    similar::diff_ratio(diff.ops(), one.len(), other.len())
}

/// The words of a name, in alphabetical order.
fn words(name: &str) -> Vec<&str> {
    let mut words: Vec<&str> = name.split(['_', '-', '.']).filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_finds_its_name_and_nonsense_finds_none() {
        let names = ["file_read", "file_write", "shell_exec"];
        assert_eq!(nearest("file_raed", names.into_iter())[0], "file_read");
        assert!(nearest("zzz", names.into_iter()).is_empty());
        assert_eq!(nearest("read_file", names.into_iter()), ["file_read"]);
        let long = "file_read".repeat(100);
        assert!(nearest("file_read", [long.as_str()].into_iter()).is_empty());
    }
}
