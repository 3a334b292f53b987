//! The definition of a sparse checkout: which paths of the repository belong to the work tree.

use super::dirs::split;
use super::ignore::{IgnoreLines, rules};
use crate::repo::Repo;
use beamai_base::Result;

/// The patterns of `.git/info/sparse-checkout`; `None` if the whole repository is checked out.
#[derive(Debug)]
pub struct SparseDefinition(Option<IgnoreLines>);

impl SparseDefinition {
    /// Reads the patterns.
    ///
    /// # Errors
    /// `access_denied` if rules or the file's mode keep them from being read.
    pub fn new(repo: &Repo) -> Result<Self> {
        if !repo.config.get_bool("core.sparsecheckout").unwrap_or(false) {
            return Ok(Self(None));
        }
        Ok(Self(repo.admin("info/sparse-checkout")?.map(|text| rules(0, Some(text), repo.settings.case))))
    }

    /// Whether a file belongs to the work tree: by the pattern that fits it, or else its nearest directory.
    pub fn has(&self, path: &[u8]) -> bool {
        let Some(patterns) = &self.0 else { return true };
        let above = std::iter::successors(Some(split(path).0), |dir| Some(split(dir).0));
        let above = above.take_while(|dir| !dir.is_empty());
        let of_directories = above.filter_map(|dir| patterns.verdict(dir, true));
        patterns.verdict(path, false).into_iter().chain(of_directories).next().unwrap_or(false)
    }
}
