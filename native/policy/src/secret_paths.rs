//! Known places of secrets within a workspace: the sandbox hides them from commands, and file tools refuse them.

use super::pattern::RulePattern;
use super::permission_request::{FilePath, Operand, PermissionRequest};
use super::rule::PermissionRule;
use beamai_isolation::secrets::{self, KnownSecrets};
use beamai_path_rules::{PathRoots, PathRule, clean};
use beamai_workspace::{Workspace, decode_path};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Places of secrets within a workspace, and the exceptions that the host makes. Paths are relative to the workspace.
#[derive(Debug, Clone, Default)]
pub(super) struct SecretPaths {
    places: Arc<BTreeSet<PathBuf>>,
    shown: Vec<PathBuf>,
    /// The paths of the workspace.
    roots: Vec<PathBuf>,
    /// The known places at the last look, and those of them that are in the workspace.
    last: Arc<Mutex<Option<LastLook>>>,
}

type LastLook = (Arc<KnownSecrets>, Arc<BTreeSet<PathBuf>>);

impl SecretPaths {
    /// The places within a workspace. If the workspace itself is such a place, or inside one, the host chose that on
    /// purpose. `shown` are the paths that the sandbox makes readable.
    pub(super) fn within<'p>(workspace: &Workspace, shown: impl Iterator<Item = &'p PathBuf>) -> Self {
        let roots: Vec<PathBuf> = workspace.root_paths().into_iter().map(Path::to_owned).collect();
        let shown = shown.filter_map(|path| inside(path, &roots)).collect();
        let none = Self { shown, roots, ..Self::default() };
        none.now().unwrap_or(none)
    }

    #[cfg(test)]
    pub(super) fn at(places: BTreeSet<PathBuf>, shown: Vec<PathBuf>) -> Self {
        Self { places: Arc::new(places), shown, ..Self::default() }
    }

    /// The same as secrets lie now, if that has changed: a link may have been made that leads into the workspace.
    pub(super) fn now(&self) -> Option<Self> {
        let known = secrets::known();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let places = match &*last {
            Some((seen, places)) if Arc::ptr_eq(seen, &known) => Arc::clone(places),
            _ => {
                let place =
                    |path: &Path| inside(path, &self.roots).filter(|path| !path.as_os_str().is_empty());
                let places = Arc::new(known.all(place).into_iter().collect());
                Arc::clone(&last.insert((known, places)).1)
            }
        };
        (places != self.places).then(|| Self { places, ..self.clone() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place of secrets that contains a path, unless the sandbox makes the path readable, or a pattern that names
    /// something in that place matches it.
    pub(super) fn keep<'p>(
        &self,
        path: &Path,
        mut named: impl Iterator<Item = &'p PathRule>,
        roots: &PathRoots,
    ) -> Option<&Path> {
        let place = path.ancestors().find_map(|above| self.places.get(above))?;
        let is_shown = self.shown.iter().any(|shown| shown.starts_with(place) && path.starts_with(shown));
        let is_named =
            |pattern: &PathRule| pattern.names_within(place, roots) && pattern.matches(path, roots);
        (!is_shown && !named.any(is_named)).then_some(place)
    }

    /// The place of secrets that a permission request is about, if it is denied for that.
    pub(super) fn refuse(
        &self,
        permission: &PermissionRequest,
        allow: &[PermissionRule],
        roots: &PathRoots,
    ) -> Option<&Path> {
        let (Operand::File(file) | Operand::Project(file)) = &permission.operand else { return None };
        if self.is_empty() {
            return None;
        }
        paths(file).iter().find_map(|path| {
            self.keep(
                path,
                naming(allow, |rule| rule.tool == "Read" || rule.is_about(&permission.rule)),
                roots,
            )
        })
    }
}

/// The file patterns of allow rules.
pub(super) fn naming<'r>(
    allow: &'r [PermissionRule],
    counts: impl Fn(&PermissionRule) -> bool + 'r,
) -> impl Iterator<Item = &'r PathRule> {
    allow.iter().filter(move |rule| counts(rule)).filter_map(|rule| match &rule.pattern {
        Some(RulePattern::Path(pattern)) => Some(pattern),
        _ => None,
    })
}

/// A path relative to the workspace with these roots, if it lies there.
fn inside(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    roots.iter().find_map(|root| path.strip_prefix(root).ok()).map(Path::to_owned)
}

fn paths(file: &FilePath) -> [PathBuf; 2] {
    [clean(&decode_path(&file.written)), clean(&decode_path(&file.path))]
}
