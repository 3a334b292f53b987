//! Rename detection, as in git: pairs of deleted and added files with equal content first, then pairs with the same
//! file name, then the most similar ones.

use super::similarity::{ChunkSizes, MAX_SCORE, can_reach, pieces, score};
use super::{ChangeKind, FileChange};
use crate::call::GitCall;
use crate::{fail::GitResult, tree::split};
use git2::Oid;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Minimum score of a rename.
const LEAST: u64 = MAX_SCORE / 2;
/// Minimum score of a rename that keeps the file name.
const LEAST_SAME_NAME: u64 = MAX_SCORE * 3 / 4;
/// Number of candidates kept per added file.
const CANDIDATES: usize = 4;

/// The state of a rename detection.
struct RenameDetector<'a, F> {
    changes: &'a [FileChange],
    /// Indices of unpaired deleted and added files.
    old: BTreeSet<usize>,
    new: BTreeSet<usize>,
    /// New index, old index, score.
    found: Vec<(usize, usize, u64)>,
    content: F,
    known: HashMap<usize, (ChunkSizes, u64)>,
    cx: &'a GitCall,
}

/// Pairs deleted and added files. `content` returns a file's bytes, or `None` if it is not eligible.
///
/// # Errors
/// Those of `content`, and `cancelled` and `timeout`.
pub fn pair<F>(changes: Vec<FileChange>, limit: usize, cx: &GitCall, content: F) -> GitResult<Vec<FileChange>>
where
    F: FnMut(&FileChange) -> GitResult<Option<Vec<u8>>>,
{
    let at = |kind: ChangeKind| (0..changes.len()).filter(|at| changes[*at].kind == kind).collect();
    let (old, new): (BTreeSet<usize>, BTreeSet<usize>) = (at(ChangeKind::Deleted), at(ChangeKind::Added));
    if old.is_empty() || new.is_empty() {
        return Ok(changes);
    }
    let mut renames =
        RenameDetector { changes: &changes, old, new, found: Vec::new(), content, known: HashMap::new(), cx };
    renames.same_content();
    renames.same_name()?;
    if renames.old.len().saturating_mul(renames.new.len()) <= limit.saturating_mul(limit) {
        renames.alike()?;
    }
    let found = renames.found;
    Ok(merged(changes, &found))
}

/// The changes, each pair merged into a rename.
fn merged(changes: Vec<FileChange>, found: &[(usize, usize, u64)]) -> Vec<FileChange> {
    let by_new: HashMap<usize, (usize, u64)> =
        found.iter().map(|(new, old, score)| (*new, (*old, *score))).collect();
    let taken: HashSet<usize> = found.iter().map(|(_, old, _)| *old).collect();
    let one = |(at, change): (usize, &FileChange)| match by_new.get(&at) {
        Some((old, score)) => Some(FileChange {
            kind: ChangeKind::Renamed {
                from: changes[*old].path.clone(),
                percent: u32::try_from(score * 100 / MAX_SCORE).unwrap_or(100),
            },
            old: changes[*old].old,
            ..change.clone()
        }),
        None => (!taken.contains(&at)).then(|| change.clone()),
    };
    changes.iter().enumerate().filter_map(one).collect()
}

impl<F> RenameDetector<'_, F>
where
    F: FnMut(&FileChange) -> GitResult<Option<Vec<u8>>>,
{
    fn name(&self, at: usize) -> &[u8] {
        split(&self.changes[at].path).1
    }

    fn take(&mut self, new: usize, old: usize, score: u64) {
        self.found.push((new, old, score));
        self.new.remove(&new);
        self.old.remove(&old);
    }

    /// Whether both are regular files, or both are not.
    fn same_type(&self, old: usize, new: usize) -> bool {
        let is_file = |mode: Option<u32>| mode.is_some_and(|mode| mode & 0o170_000 == 0o100_000);
        let (old, new) = (self.changes[old].old, self.changes[new].new);
        is_file(old.map(|side| side.mode)) == is_file(new.map(|side| side.mode))
    }

    fn same_content(&mut self) {
        let mut by_id: HashMap<Option<Oid>, BTreeSet<usize>> = HashMap::new();
        for old in &self.old {
            by_id.entry(self.changes[*old].old.map(|side| side.id)).or_default().insert(*old);
        }
        for new in self.new.clone() {
            let id = self.changes[new].new.map(|side| side.id);
            let Some(same) = by_id.get_mut(&id) else { continue };
            let candidates = || same.iter().copied().filter(|old| self.same_type(*old, new));
            let namesake = candidates().find(|old| self.name(*old) == self.name(new));
            if let Some(old) = namesake.or_else(|| candidates().next()) {
                same.remove(&old);
                self.take(new, old, MAX_SCORE);
            }
        }
    }

    /// Pairs files whose name occurs once among the deleted and once among the added files.
    fn same_name(&mut self) -> GitResult<()> {
        let single = |positions: &BTreeSet<usize>| {
            let mut by_name: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
            for at in positions {
                by_name.entry(self.name(*at).to_vec()).or_default().push(*at);
            }
            by_name.into_iter().filter(|(_, all)| all.len() == 1).map(|(name, all)| (name, all[0]))
        };
        let new: HashMap<Vec<u8>, usize> = single(&self.new).collect();
        let mut pairs: Vec<(usize, usize)> =
            single(&self.old).filter_map(|(name, old)| Some((old, *new.get(&name)?))).collect();
        pairs.sort_unstable();
        for (old, new) in pairs {
            let score = self.score(old, new, LEAST_SAME_NAME)?;
            if score >= LEAST_SAME_NAME {
                self.take(new, old, score);
            }
        }
        Ok(())
    }

    /// Pairs the remaining files, most similar first.
    fn alike(&mut self) -> GitResult<()> {
        let mut all: Vec<(usize, usize, u64)> = Vec::new();
        for new in self.new.clone() {
            let mut best: Vec<(usize, usize, u64)> = Vec::new();
            for old in self.old.clone() {
                let score = self.score(old, new, LEAST)?;
                if score >= LEAST {
                    best.push((new, old, score));
                }
            }
            best.sort_by_key(|one| self.rank(one));
            best.truncate(CANDIDATES);
            all.extend(best);
        }
        all.sort_by_key(|one| self.rank(one));
        for (new, old, score) in all {
            if self.new.contains(&new) && self.old.contains(&old) {
                self.take(new, old, score);
            }
        }
        Ok(())
    }

    /// Sort key: by score, then pairs that keep the name.
    fn rank(&self, (new, old, score): &(usize, usize, u64)) -> (u64, bool) {
        (u64::MAX - score, self.name(*new) != self.name(*old))
    }

    fn score(&mut self, old: usize, new: usize, least: u64) -> GitResult<u64> {
        self.cx.check()?;
        let is_file = self.changes[old].old.is_some_and(|side| side.mode & 0o170_000 == 0o100_000);
        if !is_file || !self.same_type(old, new) || !self.know(old)? || !self.know(new)? {
            return Ok(0);
        }
        let ((old, old_size), (new, new_size)) = (&self.known[&old], &self.known[&new]);
        Ok(match can_reach(least, *old_size, *new_size) && *old_size > 0 && *new_size > 0 {
            true => score(old, *old_size, new, *new_size),
            false => 0,
        })
    }

    /// Computes a file's chunks once; false if it is not eligible.
    fn know(&mut self, at: usize) -> GitResult<bool> {
        if !self.known.contains_key(&at) {
            let Some(bytes) = (self.content)(&self.changes[at])? else { return Ok(false) };
            self.known.insert(at, (pieces(&bytes), bytes.len() as u64));
        }
        Ok(true)
    }
}
