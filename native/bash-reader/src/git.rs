//! The arguments of git that matter for rules: its directories, and messages.

use super::word::Word;

/// The directories in leading `-C` options.
pub(super) fn elsewhere(args: &[Word]) -> impl Iterator<Item = &Word> {
    let pairs = args.chunks_exact(2).take_while(|pair| pair[0].text().as_deref() == Some("-C"));
    pairs.map(|pair| &pair[1]).take_while(|word| !word.may_split())
}

/// Whether an argument of git is a message, which names no file. The arguments begin with git's subcommand.
pub fn is_message(args: &[Word], at: usize) -> bool {
    let is = |at: usize, names: &[&str]| args[at].text().is_some_and(|text| names.contains(&&*text));
    at > 1
        && is(0, &["commit", "tag", "merge"])
        && is(at - 1, &["-m", "-am", "--message"])
        && !(0..at).any(|at| is(at, &["--"]))
        && !args[..=at].iter().any(Word::may_split)
}
