//! Scripts of sed: which of them neither run nor write anything.

use std::iter::Peekable;
use std::str::Chars;

/// Whether a script only prints, deletes, counts and substitutes.
pub(super) fn is_plain(script: &str) -> bool {
    let mut rest = script.chars().peekable();
    loop {
        skip(&mut rest, " ;");
        if rest.peek().is_none() {
            return true;
        }
        if command(&mut rest).is_none() {
            return false;
        }
    }
}

/// One command with its addresses; `None` for any that is not known.
fn command(rest: &mut Peekable<Chars<'_>>) -> Option<()> {
    while let Some(char) = rest.next_if(|char| char.is_ascii_digit() || "$,/~+! ".contains(*char)) {
        if char == '/' {
            part(rest, '/')?;
        }
    }
    match rest.next()? {
        'p' | 'd' | 'q' | '=' => {}
        's' => {
            let mark = rest.next().filter(|char| "/|#,:@".contains(*char))?;
            part(rest, mark)?;
            part(rest, mark)?;
            skip(rest, "0123456789gipI");
        }
        _ => return None,
    }
    skip(rest, " ");
    rest.peek().is_none_or(|char| *char == ';').then_some(())
}

/// A pattern or a replacement up to its mark; `None` where it is not certain which mark that is.
fn part(rest: &mut Peekable<Chars<'_>>, mark: char) -> Option<()> {
    let mut depth = 0_i32;
    loop {
        match rest.next()? {
            '\n' => return None,
            '\\' => _ = rest.next().filter(|char| *char != '\n')?,
            char if char == mark => return (depth == 0).then_some(()),
            '[' => {
                rest.next_if_eq(&'^');
                // A bracket first in a set is one of its characters, and not every sed looks for sets here.
                if rest.peek() == Some(&']') {
                    return None;
                }
                depth += 1;
            }
            ']' => depth = (depth - 1).max(0),
            _ => {}
        }
    }
}

fn skip(rest: &mut Peekable<Chars<'_>>, chars: &str) {
    while rest.next_if(|char| chars.contains(*char)).is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prints_deletes_and_substitutes_is_plain() {
        for script in [
            "p",
            "1,20p",
            "$p",
            "/^#/d",
            "/fn main/,/^}/p",
            "/x/!d",
            "s/a/b/g",
            "s|a/b|c|",
            "s/a\\/b/c/",
            "1d;$d",
            "s/[a-z]*/x/2p",
            "/a/s/b/c/; 3q",
            "0~2p",
            "10,+3p",
            "=",
        ] {
            assert!(is_plain(script), "{script}");
        }
    }

    #[test]
    fn what_runs_or_writes_or_is_not_sure_is_not() {
        for script in [
            "1e x",
            "e",
            "s/a/b/e",
            "s/a/b/ge",
            "s/a/b/w x",
            "w x",
            "1w x",
            "/a/w x",
            "r x",
            "R x",
            "W x",
            "/a/{e x\n}",
            "p;e x",
            "p\ne x",
            "s/[/]e;s/x/",
            "/[/]p;e/e x",
            "s/a/b\\\ne x/",
            "a x",
            "\\cacw x",
            "s/a",
            "/a",
            "y/a/b/",
            "b",
            "1!{p}",
            "I",
            "/a/Ie x",
            "p}e",
        ] {
            assert!(!is_plain(script), "{script:?}");
        }
    }
}
