//! What is reported of a command.

use beamai_isolation::Planted;

/// Maximum number of findings in a result. The most dangerous ones come first.
const MOST: usize = 100;
/// The beginning of an outcome if something was not removed.
pub(super) const STILL_THERE: &str = "still there";

/// Findings, of which only the first ones are listed.
#[derive(Debug, Default)]
pub(super) struct Findings {
    listed: Vec<Planted>,
    /// Of those that are not listed.
    removed: usize,
    left: usize,
}

impl Findings {
    pub(super) fn push(&mut self, planted: Planted) {
        match &planted.outcome {
            _ if self.listed.len() < MOST => self.listed.push(planted),
            outcome if outcome.starts_with(STILL_THERE) => self.left += 1,
            _ => self.removed += 1,
        }
    }

    /// Adds those of another directory.
    pub(super) fn extend(&mut self, other: Self) {
        self.removed += other.removed;
        self.left += other.left;
        other.listed.into_iter().for_each(|planted| self.push(planted));
    }

    /// Those that are listed, and one that stands for the others.
    pub(super) fn into_list(self) -> Vec<Planted> {
        let Self { mut listed, removed, left } = self;
        if removed + left > 0 {
            let outcome = match left {
                0 => "removed or renamed as well: look for names with planted in them".to_owned(),
                _ => {
                    format!("{STILL_THERE} ({left} of them): check all repositories here before you use git")
                }
            };
            let setting = format!("and {} more", removed + left);
            listed.push(Planted { path: ".".to_owned(), setting, outcome });
        }
        listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(outcomes: &[&str]) -> Vec<Planted> {
        let mut findings = Findings::default();
        for outcome in outcomes {
            let (path, setting) = ("p".to_owned(), "s".to_owned());
            findings.push(Planted { path, setting, outcome: (*outcome).to_owned() });
        }
        let mut all = Findings::default();
        all.extend(findings);
        all.into_list()
    }

    #[test]
    fn a_list_has_an_end_and_says_what_it_leaves_out() {
        assert_eq!(of(&["removed"; MOST]).len(), MOST);
        let list = of(&["removed"; MOST + 7]);
        assert_eq!((list.len(), &*list[MOST].setting), (MOST + 1, "and 7 more"));
        assert!(list[MOST].outcome.starts_with("removed"));
        let mut outcomes = vec!["removed"; MOST];
        outcomes.extend(["removed", "still there (x)", "still there (x)"]);
        let last = of(&outcomes).pop().unwrap();
        assert_eq!(last.setting, "and 3 more");
        assert!(last.outcome.starts_with("still there (2 of them)"));
    }
}
