//! Selects the passages of a text that match a prompt best; used when no model can answer the prompt.

use std::collections::{BTreeSet, HashMap};

/// Texts up to this size are returned whole.
const SHORT: usize = 8 << 10;
/// Maximum bytes of passages.
const BUDGET: usize = 16 << 10;
/// BM25 parameters, with their usual values: term saturation and length normalization.
const K: f64 = 1.2;
const B: f64 = 0.75;
/// Minimum score of a passage, relative to the best one. A word that occurs in all passages cannot reach it.
const WORTH: f64 = 0.2;
/// Words in prompts that do not describe the subject.
const COMMON: &str = " a about all an and any are as at be by can could do does explain extract find for from get give \
    how i if in into is it its list main me my of on or page please say section show summarise summarize tell text that \
    the their them there these they this to up use using was we were what when where which who why will with you your ";

/// The selected part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Passages {
    pub(super) text: String,
    /// A note for the reader on the selection.
    pub(super) note: String,
}

/// The passages of a Markdown text that match a prompt best, in their original order. `unanswered` says why no model
/// has answered the prompt.
pub(super) fn for_prompt(prompt: &str, text: &str, unanswered: &str) -> Passages {
    if text.len() <= SHORT {
        let note = format!("{unanswered}; this is the whole text of the page");
        return Passages { text: text.to_owned(), note };
    }
    let blocks = blocks(text);
    let chosen = best(prompt, &blocks, BUDGET);
    if chosen.is_empty() {
        let note =
            format!("{unanswered}, and the page has none of its words; this is the text from its beginning");
        return Passages { text: text.to_owned(), note };
    }
    let note = format!(
        "{unanswered}; these are the {} of the page's {} passages that share most words with it, in the page's order, \
         with […] where others were left out; \"offset\":0 gives the text from its beginning",
        chosen.len(),
        blocks.len()
    );
    Passages { text: joined(&blocks, &chosen), note }
}

/// The passages of a long text that match a question best, at most `budget` bytes; the start of the text if none match.
pub(super) fn chosen(question: &str, text: &str, budget: usize) -> String {
    let blocks = blocks(text);
    let mut chosen = match best(question, &blocks, budget) {
        chosen if chosen.is_empty() => text.to_owned(),
        chosen => joined(&blocks, &chosen),
    };
    chosen.truncate(chosen.floor_char_boundary(budget));
    chosen
}

/// Indices of the blocks that match a question best.
fn best(question: &str, blocks: &[Passage<'_>], budget: usize) -> BTreeSet<usize> {
    let wanted: BTreeSet<String> =
        terms(question).filter(|term| !COMMON.contains(&format!(" {term} "))).collect();
    within(budget, blocks, &scores(&wanted, blocks))
}

/// A paragraph, list, table or code block, with its heading.
struct Passage<'a> {
    text: &'a str,
    heading: Option<usize>,
}

fn blocks(text: &str) -> Vec<Passage<'_>> {
    let mut blocks = Vec::new();
    let mut heading = None;
    for text in pieces(text) {
        if text.starts_with('#') {
            heading = None;
        }
        blocks.push(Passage { text, heading });
        if text.starts_with('#') {
            heading = Some(blocks.len() - 1);
        }
    }
    blocks
}

/// Splits the text at blank lines outside of fenced code.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches('\n');
        let fence = rest.len() - rest.trim_start_matches('`').len();
        let end = match fence {
            3.. => rest[fence..].find(&format!("\n{}", &rest[..fence])).map(|at| at + 2 * fence + 1),
            _ => rest.find("\n\n"),
        };
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The words of a text, stemmed; for scripts without spaces, pairs of characters.
fn terms(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let words: Vec<String> = lower.split(|c: char| !c.is_alphanumeric()).flat_map(parts).collect();
    words.into_iter()
}

fn parts(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    match chars.iter().any(|c| matches!(u32::from(*c), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af)) {
        true if chars.len() > 1 => chars.windows(2).map(|pair| pair.iter().collect()).collect(),
        _ if chars.is_empty() => vec![],
        _ => vec![stem(word).to_owned()],
    }
}

fn stem(word: &str) -> &str {
    let endings = ["ing", "ed", "es", "s"];
    let stem = endings.iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    if stem.len() >= 4 { stem } else { word }
}

/// The BM25 score of each block, including the words of its heading.
fn scores(wanted: &BTreeSet<String>, blocks: &[Passage<'_>]) -> Vec<f64> {
    let counted: Vec<(HashMap<String, f64>, f64)> =
        blocks.iter().map(|block| counted(wanted, block.text)).collect();
    let average = counted.iter().map(|(_, length)| length).sum::<f64>() / blocks.len().max(1) as f64;
    let rarity: HashMap<&String, f64> = wanted.iter().map(|term| (term, rarity(term, &counted))).collect();
    let own = |at: usize| {
        let (counts, length) = &counted[at];
        let share = |(term, count): (&String, &f64)| {
            rarity[term] * count * (K + 1.0) / (count + K * (1.0 - B + B * length / average.max(1.0)))
        };
        counts.iter().map(share).sum::<f64>()
    };
    let with_heading = |(at, block): (usize, &Passage<'_>)| {
        own(at) + block.heading.map_or(0.0, |heading| own(heading) / 2.0)
    };
    blocks.iter().enumerate().map(with_heading).collect()
}

fn counted(wanted: &BTreeSet<String>, text: &str) -> (HashMap<String, f64>, f64) {
    let mut counts = HashMap::new();
    let mut length = 0.0;
    for term in terms(text) {
        length += 1.0;
        if wanted.contains(&term) {
            *counts.entry(term).or_insert(0.0) += 1.0;
        }
    }
    (counts, length)
}

fn rarity(term: &str, counted: &[(HashMap<String, f64>, f64)]) -> f64 {
    let with = counted.iter().filter(|(counts, _)| counts.contains_key(term)).count() as f64;
    (1.0 + (counted.len() as f64 - with + 0.5) / (with + 0.5)).ln()
}

/// Selects the best blocks within the budget, with their headings.
fn within(budget: usize, blocks: &[Passage<'_>], scores: &[f64]) -> BTreeSet<usize> {
    let best = scores.iter().copied().fold(0.0, f64::max);
    let is_good = |at: &usize| scores[*at] > 0.0 && scores[*at] >= best * WORTH;
    let mut order: Vec<usize> = (0..blocks.len()).filter(is_good).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    let mut chosen = BTreeSet::new();
    let mut size = 0;
    for at in order {
        let added: Vec<usize> = [Some(at), blocks[at].heading].into_iter().flatten().collect();
        let more: usize =
            added.iter().filter(|at| !chosen.contains(*at)).map(|at| blocks[*at].text.len() + 2).sum();
        if size + more <= budget || chosen.is_empty() {
            size += more;
            chosen.extend(added);
        }
    }
    chosen
}

fn joined(blocks: &[Passage<'_>], chosen: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    let mut next = 0;
    for &at in chosen {
        if at > next {
            text.push_str("[…]\n\n");
        }
        text.push_str(blocks[at].text);
        text.push_str("\n\n");
        next = at + 1;
    }
    match next < blocks.len() {
        true => text + "[…]",
        false => text.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_MODEL: &str = "no model was asked";

    fn long(middle: &str) -> String {
        let filler =
            |n: usize| format!("Paragraph {n} talks of gardens, rivers and the weather of the season.\n\n");
        let half = |from: usize| (from..from + 150).map(filler).collect::<String>();
        format!("# Guide\n\n{}{middle}\n\n# Appendix\n\n{}", half(0), half(200))
    }

    #[test]
    fn the_passages_that_fit_come_in_order_with_their_heading() {
        let text = long("## Handling errors\n\nReturn them to the caller.\n\nAn error is a value.");
        let found = for_prompt("Extract the section about error handling", &text, NO_MODEL);
        assert_eq!(
            found.text,
            "[…]\n\n## Handling errors\n\nReturn them to the caller.\n\nAn error is a value.\n\n[…]"
        );
        assert!(
            found.note.contains("no model was asked") && found.note.contains("3 of the page's"),
            "{}",
            found.note
        );
    }

    #[test]
    fn a_short_text_is_given_whole() {
        let found = for_prompt("anything", "# A\n\nb", NO_MODEL);
        assert_eq!(found.text, "# A\n\nb");
        assert!(found.note.contains("whole"));
    }

    #[test]
    fn a_prompt_without_a_match_gets_the_text_and_hears_of_it() {
        let text = long("");
        let found = for_prompt("quantum chromodynamics", &text, NO_MODEL);
        assert_eq!(found.text, text);
        assert!(found.note.contains("none of its words"));
    }

    #[test]
    fn a_word_that_all_passages_have_chooses_none_of_them() {
        let found = for_prompt("paragraph 77", &long(""), NO_MODEL);
        assert_eq!(found.text.matches("Paragraph").count(), 1, "{}", found.text);
        assert!(found.text.contains("Paragraph 77 "));
    }

    #[test]
    fn scripts_without_spaces_are_searched_too() {
        let found = for_prompt("错误处理", &long("## 错误处理\n\n返回错误值。"), NO_MODEL);
        assert!(found.text.contains("返回错误值"), "{}", found.text);
        assert!(!found.text.contains("gardens"));
    }

    #[test]
    fn passages_stay_within_the_budget() {
        let found = for_prompt("gardens", &long("").repeat(20), NO_MODEL);
        assert!(found.text.len() <= BUDGET + 2000, "{}", found.text.len());
    }

    #[test]
    fn code_is_one_passage_whatever_lines_it_has() {
        let text = "a\n\n```rust\nx\n\ny\n```\n\nb";
        assert_eq!(pieces(text).collect::<Vec<_>>(), ["a", "```rust\nx\n\ny\n```", "b"]);
        assert_eq!(pieces("```\nopen").collect::<Vec<_>>(), ["```\nopen"]);
    }
}
