//! What a search must leave out, because rules keep it from being read.

use super::path::{PathPattern, Roots};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The files that rules keep from being read. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ReadGuard(Option<Arc<Guarded>>);

#[derive(Debug)]
struct Guarded {
    denied: Vec<PathPattern>,
    asked: Vec<PathPattern>,
    roots: Roots,
    /// Whether what is asked about may be read: somebody was asked.
    is_approved: bool,
}

impl ReadGuard {
    pub(super) fn new(denied: Vec<PathPattern>, asked: Vec<PathPattern>, roots: Roots) -> Self {
        match denied.is_empty() && asked.is_empty() {
            true => Self(None),
            false => Self(Some(Arc::new(Guarded { denied, asked, roots, is_approved: false }))),
        }
    }

    /// The guard of a call that was approved: what rules ask about may be read.
    #[must_use]
    pub fn approved(&self) -> Self {
        Self(self.0.as_ref().map(|guarded| {
            let Guarded { denied, asked, roots, .. } = &**guarded;
            let (denied, asked, roots) = (denied.clone(), asked.clone(), roots.clone());
            Arc::new(Guarded { denied, asked, roots, is_approved: true })
        }))
    }

    /// Whether nothing is kept from being read.
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a file or directory, by its path relative to the workspace, must be left out.
    pub fn hides(&self, path: &Path) -> bool {
        let Some(guarded) = &self.0 else { return false };
        let any =
            |patterns: &[PathPattern]| patterns.iter().any(|pattern| pattern.matches(path, &guarded.roots));
        any(&guarded.denied) || (!guarded.is_approved && any(&guarded.asked))
    }

    /// As [`ReadGuard::hides`], for the bytes of a path.
    pub fn hides_bytes(&self, path: &[u8]) -> bool {
        !self.is_open() && self.hides(Path::new(OsStr::from_bytes(path)))
    }
}
