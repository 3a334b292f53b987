//! The values that variables can have.
//!
//! Bash evaluates some values again: arithmetic evaluates the values of variables, and a subscript in these can run
//! commands; `[ $x ]` turns words into operators. Such a use is safe only if every value that the command assigns is a
//! number, or a word without special characters. In a loop an assignment may follow the use, so uses are checked at the
//! end.

use super::word::{ExpansionSource, WordPiece};
use std::collections::{HashMap, HashSet};

/// Maximum number of assignments between variables that are tracked.
const MOST_FLOWS: usize = 1000;

/// The kinds of values, from the most to the least restricted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueKind {
    /// Digits and minus signs, or nothing.
    Number,
    /// Characters that neither split, nor match file names, nor begin a subscript; or nothing.
    Token,
    /// Any text.
    Any,
}

/// The variables of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Values {
    ids: HashMap<String, u16>,
    /// The least restricted kind among the values assigned to each variable.
    worst: HashMap<u16, ValueKind>,
    /// Assignments between variables: target, source.
    flows: Vec<(u16, u16)>,
    /// Uses, with the least restricted kind that is safe.
    uses: Vec<(u16, ValueKind)>,
    /// Variables that are arrays.
    lists: HashSet<u16>,
    /// Variables whose assigned value would be evaluated if they were arrays.
    scalars: Vec<u16>,
    /// Whether any variable may have been assigned anything.
    is_lost: bool,
    /// Whether the shell shows what it runs, for which it evaluates `PS4`.
    is_traced: bool,
}

impl Values {
    /// The source of an expansion of this variable.
    pub(super) fn source(&mut self, name: &str) -> ExpansionSource {
        let next = u16::try_from(self.ids.len()).ok();
        match (self.ids.get(name), next) {
            (Some(id), _) => ExpansionSource::Variable(*id),
            (None, Some(id)) => {
                self.ids.insert(name.to_owned(), id);
                ExpansionSource::Variable(id)
            }
            (None, None) => ExpansionSource::Other,
        }
    }

    /// Records an assignment of a value that is at worst of this kind.
    pub(super) fn assign(&mut self, name: &str, kind: ValueKind) {
        let ExpansionSource::Variable(id) = self.source(name) else { return self.is_lost = true };
        let worst = self.worst.entry(id).or_insert(kind);
        *worst = kind.max(*worst);
    }

    /// Records an assignment of a word.
    pub(super) fn assign_word(&mut self, name: &str, value: &[WordPiece]) {
        self.assign(name, value.iter().map(kind).max().unwrap_or(ValueKind::Number));
        let ExpansionSource::Variable(target) = self.source(name) else { return };
        let sources = value.iter().filter_map(|piece| match piece {
            WordPiece::Unknown { source: ExpansionSource::Variable(source), .. } => Some((target, *source)),
            _ => None,
        });
        self.flows.extend(sources);
        self.is_lost |= self.flows.len() > MOST_FLOWS;
    }

    /// Whether a word is of a kind, as far as known so far; variables are checked again at the end.
    pub(super) fn require(&mut self, word: &[WordPiece], least: ValueKind) -> bool {
        word.iter().all(|piece| match piece {
            WordPiece::Unknown { source: ExpansionSource::Variable(id), .. } => {
                self.uses.push((*id, least));
                self.worst.contains_key(id)
            }
            piece => kind(piece) <= least,
        })
    }

    /// Records that a variable is an array.
    pub(super) fn list(&mut self, name: &str) {
        let ExpansionSource::Variable(id) = self.source(name) else { return self.is_lost = true };
        self.lists.insert(id);
    }

    /// Records an assignment that is safe only if the variable is not an array.
    pub(super) fn scalar(&mut self, name: &str) {
        let ExpansionSource::Variable(id) = self.source(name) else { return self.is_lost = true };
        self.scalars.push(id);
    }

    /// Variables that may all have been assigned anything.
    pub(super) fn lost() -> Self {
        Self { is_lost: true, ..Self::default() }
    }

    /// Records that any variable may have any value from here on.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// Whether any variable may have been assigned anything.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Records that the shell shows what it runs (`set -x`). No command may set `PS4`, so that only a lost value matters.
    pub(super) fn trace(&mut self) {
        self.is_traced = true;
    }

    /// Whether every use gets values of its kind.
    pub(super) fn hold(&mut self) -> bool {
        let is_used = self.is_traced || !(self.uses.is_empty() && self.scalars.is_empty());
        let is_lost = self.is_lost && is_used;
        !is_lost && !self.scalars.iter().any(|id| self.lists.contains(id)) && {
            self.flow();
            self.uses.iter().all(|(id, least)| self.worst.get(id).is_some_and(|kind| kind <= least))
        }
    }

    fn flow(&mut self) {
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            for (target, source) in &self.flows {
                let from = self.worst.get(source).copied().unwrap_or(ValueKind::Any);
                let to = self.worst.entry(*target).or_insert(from);
                is_changed |= from > *to;
                *to = from.max(*to);
            }
        }
    }

    /// The names of all variables, if the value of any is evaluated.
    pub(super) fn evaluated(&self) -> impl Iterator<Item = &str> {
        self.ids.keys().map(String::as_str).filter(|_| !self.uses.is_empty())
    }
}

fn kind(piece: &WordPiece) -> ValueKind {
    match piece {
        WordPiece::Char { char: '0'..='9' | '-', .. } => ValueKind::Number,
        WordPiece::Char { char, .. } if char.is_ascii_alphanumeric() || "_./:,@%+=".contains(*char) => {
            ValueKind::Token
        }
        WordPiece::Char { .. } | WordPiece::Unknown { source: ExpansionSource::Other, .. } => ValueKind::Any,
        WordPiece::Unknown { .. } | WordPiece::EmptyQuotes => ValueKind::Number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Vec<WordPiece> {
        text.chars().map(|char| WordPiece::Char { char, quoted: false }).collect()
    }

    fn variable(values: &mut Values, name: &str) -> Vec<WordPiece> {
        vec![WordPiece::Unknown { quoted: true, source: values.source(name) }]
    }

    #[test]
    fn a_later_assignment_spoils_an_earlier_use() {
        let mut values = Values::default();
        values.assign_word("i", &literal("0"));
        let word = variable(&mut values, "i");
        assert!(values.require(&word, ValueKind::Number) && values.hold());
        values.assign_word("i", &literal("a[0]"));
        assert!(!values.hold());
    }

    #[test]
    fn values_flow_from_variable_to_variable() {
        let mut values = Values::default();
        let from = variable(&mut values, "from");
        values.assign_word("to", &from);
        let word = variable(&mut values, "to");
        assert!(values.require(&word, ValueKind::Token) && !values.hold());
        values.assign_word("from", &literal("a.b"));
        values.worst.clear();
        values.assign_word("from", &literal("a.b"));
        values.assign_word("to", &from);
        assert!(values.hold());
    }

    #[test]
    fn what_was_never_assigned_is_not_known() {
        let mut values = Values::default();
        let word = variable(&mut values, "x");
        assert!(!values.require(&word, ValueKind::Token));
    }
}
