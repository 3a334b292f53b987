//! Brace expansion: `a{b,c}` is `ab ac`.

use super::word::{ExpansionSource, WordPiece};

/// Maximum number of words, and of pieces in them, that one word may expand to.
const MOST_WORDS: usize = 512;
const MOST_PIECES: usize = 1 << 16;
/// Maximum number of braces in one word.
const MOST_BRACES: usize = 64;

const fn plain(char: char) -> WordPiece {
    WordPiece::Char { char, quoted: false }
}

/// The words that a word expands to; `None` if they are too many.
pub(super) fn expand(pieces: Vec<WordPiece>) -> Option<Vec<Vec<WordPiece>>> {
    match pieces.iter().filter(|piece| **piece == plain('{')).count() {
        0 => Some(vec![pieces]),
        1..=MOST_BRACES => expand_from(&pieces, 0, &mut MOST_PIECES.clone(), 0),
        _ => None,
    }
}

/// Expands the pieces from a position on, beginning with the first pair of braces that contains a comma.
fn expand_from(
    pieces: &[WordPiece],
    from: usize,
    budget: &mut usize,
    depth: usize,
) -> Option<Vec<Vec<WordPiece>>> {
    *budget = budget.checked_sub(pieces.len() + 1)?;
    if depth > 32 {
        return None;
    }
    let Some((open, close, commas)) = (from..pieces.len()).find_map(|at| braces(pieces, at)) else {
        return Some(vec![pieces.to_vec()]);
    };
    if commas.is_empty() {
        return sequence(pieces, open, close, budget, depth);
    }
    let mut bounds = vec![open];
    bounds.extend(commas);
    bounds.push(close);
    let tails = expand_from(&pieces[close + 1..], 0, budget, depth + 1)?;
    let mut words = Vec::new();
    for pair in bounds.windows(2) {
        for middle in expand_from(&pieces[pair[0] + 1..pair[1]], 0, budget, depth + 1)? {
            for tail in &tails {
                *budget = budget.checked_sub(open + middle.len() + tail.len())?;
                words.push([&pieces[..open], &middle, tail].concat());
            }
        }
        if words.len() > MOST_WORDS {
            return None;
        }
    }
    Some(words)
}

/// `{1..9}`: its numbers are treated as unknown text.
fn sequence(
    pieces: &[WordPiece],
    open: usize,
    close: usize,
    budget: &mut usize,
    depth: usize,
) -> Option<Vec<Vec<WordPiece>>> {
    let mut word = pieces[..open].to_vec();
    let source =
        if counts(&pieces[open + 1..close]) { ExpansionSource::Counted } else { ExpansionSource::Other };
    word.push(WordPiece::Unknown { quoted: false, source });
    let tails = expand_from(&pieces[close + 1..], 0, budget, depth + 1)?;
    Some(tails.into_iter().map(|tail| [word.clone(), tail].concat()).collect())
}

/// Whether bash expands this as a sequence.
fn counts(range: &[WordPiece]) -> bool {
    let char = |piece: &WordPiece| match piece {
        WordPiece::Char { char, quoted: false } => Some(*char),
        _ => None,
    };
    let text: Option<String> = range.iter().map(char).collect();
    text.is_some_and(|text| {
        let numbers: Vec<&str> = text.split("..").collect();
        let is_number =
            |text: &&str| text.len() < 10 && text.parse::<i32>().is_ok() && !text.starts_with('+');
        matches!(numbers.len(), 2 | 3) && numbers.iter().all(is_number)
    })
}

/// If the brace at a position begins an expansion: the position of its closing brace, and the commas in between.
fn braces(pieces: &[WordPiece], open: usize) -> Option<(usize, usize, Vec<usize>)> {
    if pieces[open] != plain('{') {
        return None;
    }
    let (mut depth, mut commas) = (0_usize, Vec::new());
    for (at, piece) in pieces.iter().enumerate().skip(open + 1) {
        match piece {
            WordPiece::Char { char: '{', quoted: false } => depth += 1,
            WordPiece::Char { char: ',', quoted: false } if depth == 0 => commas.push(at),
            WordPiece::Char { char: '}', quoted: false } if depth == 0 => {
                let has_dots = pieces[open..at].windows(2).any(|pair| pair == [plain('.'), plain('.')]);
                return (!commas.is_empty() || has_dots).then_some((open, at, commas));
            }
            WordPiece::Char { char: '}', quoted: false } => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Whether braces are left that bash might still expand.
pub(super) fn is_doubtful(pieces: &[WordPiece]) -> bool {
    let Some(open) = pieces.iter().position(|piece| *piece == plain('{')) else { return false };
    let rest = &pieces[open..];
    rest.contains(&plain(',')) || rest.windows(2).any(|pair| pair == [plain('.'), plain('.')])
}

/// Whether braces are balanced.
pub(super) fn is_whole(pieces: &[WordPiece]) -> bool {
    let mut depth = 0_i64;
    let is_closed = pieces.iter().all(|piece| {
        depth += i64::from(*piece == plain('{')) - i64::from(*piece == plain('}'));
        depth >= 0
    });
    is_closed && depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(word: &[WordPiece]) -> String {
        let shown = |piece: &WordPiece| match piece {
            WordPiece::Char { char, .. } => *char,
            WordPiece::Unknown { .. } | WordPiece::EmptyQuotes => '$',
        };
        word.iter().map(shown).collect()
    }

    fn expanded(text: &str) -> Vec<String> {
        let words = expand(text.chars().map(plain).collect()).unwrap();
        words.iter().map(|word| shown(word)).collect()
    }

    #[test]
    fn alternatives_become_words() {
        assert_eq!(expanded("{rm,-rf,x}"), ["rm", "-rf", "x"]);
        assert_eq!(expanded("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(expanded("{a,b}{c,d}"), ["ac", "ad", "bc", "bd"]);
        assert_eq!(expanded("{{a,b}"), ["{a", "{b"]);
        assert_eq!(expanded("{,x}"), ["", "x"]);
    }

    #[test]
    fn what_is_no_expansion_stays() {
        assert_eq!(expanded("{}"), ["{}"]);
        assert_eq!(expanded("{a}"), ["{a}"]);
        assert_eq!(expanded("x{1..3}y"), ["x$y"]);
    }

    #[test]
    fn too_many_words_are_given_up() {
        assert!(expand("{a,b}".repeat(20).chars().map(plain).collect()).is_none());
        assert!(expand("{a,".repeat(50_000).chars().map(plain).collect()).is_none());
    }
}
