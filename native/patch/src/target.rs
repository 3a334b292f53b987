//! Resolves the file names of a patch, and determines the permissions it needs.

use super::diff::{DiffChange, FileDiff};
use super::name::{self, HeaderName};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{FilePath, Operand, PermissionRequest};
use beamai_text::Check;
use beamai_workspace::{Workspace, WorkspacePath};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// The operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchOperation {
    /// It is created.
    Created,
    /// Its content or mode changes.
    Updated,
    /// It is deleted.
    Deleted,
    /// It is renamed, possibly with changes.
    Renamed,
    /// It is copied, possibly with changes.
    Copied,
}

/// A file of the patch.
#[derive(Debug, Clone)]
pub(super) struct PatchTarget {
    pub(super) operation: PatchOperation,
    /// The file that is deleted, renamed or copied.
    pub(super) from: Option<PatchPath>,
    /// The resulting file.
    pub(super) to: Option<PatchPath>,
    /// A note on how the names were interpreted.
    pub(super) note: Option<String>,
}

/// A path of the patch.
#[derive(Debug, Clone)]
pub(super) struct PatchPath {
    pub(super) location: WorkspacePath,
    /// The path with all links resolved, by which two names of one file are recognized.
    pub(super) path: String,
}

impl PatchPath {
    /// The path as written, and with links resolved.
    fn names(&self) -> (&Path, &str) {
        (self.location.relative(), &self.path)
    }
}

impl PatchTarget {
    /// Whether it puts a file with another content than the one that was there at a path.
    pub(super) fn makes(&self, path: &PatchPath) -> bool {
        let is_other = matches!(
            self.operation,
            PatchOperation::Created | PatchOperation::Renamed | PatchOperation::Copied
        );
        is_other && self.to.as_ref().is_some_and(|to| to.path == path.path)
    }

    /// The path as shown in results.
    pub(super) fn path(&self) -> String {
        self.to
            .as_ref()
            .or(self.from.as_ref())
            .map(|target_path| target_path.location.display())
            .unwrap_or_default()
    }
}

/// Resolves the files of a patch.
///
/// # Errors
/// `outside_workspace` and other errors of paths; those of `check`.
pub(super) fn resolve(
    files: &[FileDiff],
    workspace: &Workspace,
    check: Check<'_>,
) -> Result<Vec<PatchTarget>> {
    let mut resolver = TargetResolver { workspace, created: BTreeSet::new() };
    let mut resolve = |file: &FileDiff| {
        check()?;
        resolver.resolve(file).map_err(|error| error.with("line", file.line))
    };
    files.iter().map(&mut resolve).collect()
}

/// The permissions for these files: `Edit` for each changed or deleted file, `Write` for each new one.
pub(super) fn permissions(targets: &[PatchTarget]) -> Vec<PermissionRequest> {
    let mut permissions: Vec<PermissionRequest> = Vec::new();
    // Rules also check paths as written, so two names of one file are two requests.
    let mut known: BTreeSet<(&str, &Path, &str)> = BTreeSet::new();
    let mut created: BTreeSet<(&Path, &str)> = BTreeSet::new();
    for target in targets {
        let (from, to) = (target.from.as_ref(), target.to.as_ref());
        let source = from.map(|from| match target.operation {
            PatchOperation::Copied => ("Read", from),
            _ => ("Edit", from),
        });
        let result = to.and_then(|to| match target.operation {
            PatchOperation::Updated if created.contains(&to.names()) => None,
            PatchOperation::Updated => Some(("Edit", to)),
            _ => Some(("Write", to)),
        });
        if target.operation != PatchOperation::Updated {
            created.extend(to.map(PatchPath::names));
        }
        for (rule, target_path) in source.into_iter().chain(result) {
            let (written, path) = target_path.names();
            if known.insert((rule, written, path)) {
                permissions.push(permission(rule, target_path));
            }
        }
    }
    permissions
}

/// The permissions of a dry run: `Read` of each file, since its result quotes them.
pub(super) fn permissions_of_dry_run(targets: &[PatchTarget]) -> Vec<PermissionRequest> {
    let mut known = BTreeSet::new();
    let spots = targets.iter().flat_map(|target| target.from.iter().chain(&target.to));
    spots
        .filter(|target_path| known.insert(target_path.names()))
        .map(|target_path| permission("Read", target_path))
        .collect()
}

fn permission(rule: &'static str, target_path: &PatchPath) -> PermissionRequest {
    // Results quote the files, so every change also includes reading.
    let touches: &'static [&'static str] = match rule {
        "Edit" => &["Write", "Read"],
        "Write" => &["Edit", "Read"],
        _ => &[],
    };
    let operand = Operand::File(FilePath {
        path: target_path.path.clone(),
        written: target_path.location.display(),
        is_tree: false,
    });
    PermissionRequest { rule: rule.to_owned(), touches, allowed_by: &[], is_safe: rule == "Read", operand }
}

struct TargetResolver<'a> {
    workspace: &'a Workspace,
    /// Paths created by earlier parts of the patch.
    created: BTreeSet<String>,
}

impl TargetResolver<'_> {
    fn resolve(&mut self, file: &FileDiff) -> Result<PatchTarget> {
        let target = match &file.change {
            DiffChange::Update { old, new, is_known } => self.update(file, old, new, *is_known)?,
            DiffChange::Create(new) if new.is_bare => self.create(&new.text)?,
            DiffChange::Create(new) => self.create(without(&new.text, "b/"))?,
            DiffChange::Delete(old) | DiffChange::Remove(old) => {
                let from = match old.is_bare {
                    true => self.target_path(&old.text)?,
                    false => self.first(&[without(&old.text, "a/"), &old.text, without(&old.text, "b/")])?.1,
                };
                refuse_link(&from)?;
                PatchTarget { operation: PatchOperation::Deleted, from: Some(from), to: None, note: None }
            }
            DiffChange::Rename { old, new } => {
                let target = self.pair(PatchOperation::Renamed, old, new)?;
                target.from.as_ref().map_or(Ok(()), refuse_link)?;
                target
            }
            DiffChange::Copy { old, new } => self.pair(PatchOperation::Copied, old, new)?,
        };
        if target.operation != PatchOperation::Updated {
            self.created.extend(target.to.as_ref().map(|to| to.path.clone()));
        }
        Ok(target)
    }

    fn create(&self, name: &str) -> Result<PatchTarget> {
        let to = Some(self.target_path(name)?);
        Ok(PatchTarget { operation: PatchOperation::Created, from: None, to, note: None })
    }

    fn pair(&self, operation: PatchOperation, old: &str, new: &str) -> Result<PatchTarget> {
        Ok(PatchTarget {
            operation,
            from: Some(self.target_path(old)?),
            to: Some(self.target_path(new)?),
            note: None,
        })
    }

    fn update(
        &self,
        file: &FileDiff,
        old: &HeaderName,
        new: &HeaderName,
        is_known: bool,
    ) -> Result<PatchTarget> {
        let names = names(old, new);
        let (at, to) = self.first(&names)?;
        let may_be_new = file.has_no_old_lines() && file.hunks.len() == 1 && !is_known;
        if may_be_new && !self.exists(&to) {
            return self.create(names[0]);
        }
        let is_other = common_tail(&old.text, &new.text).is_none() && names[at] == without(&old.text, "a/");
        let note = (is_other && old.text != new.text).then(|| {
            let other = &new.text;
            format!("the patch names {other:?} too; nothing is renamed without \"rename from\" and \"rename to\" lines")
        });
        Ok(PatchTarget { operation: PatchOperation::Updated, from: None, to: Some(to), note })
    }

    /// The first name that exists; if none does, the first name.
    fn first(&self, names: &[&str]) -> Result<(usize, PatchPath)> {
        let mut spots = names.iter().map(|name| self.target_path(name)).enumerate();
        let (_, first) = spots.next().unwrap_or_else(|| (0, self.target_path(".")));
        if first.as_ref().is_ok_and(|first| self.exists(first)) {
            return first.map(|first| (0, first));
        }
        let other = spots
            .filter_map(|(at, target_path)| Some((at, target_path.ok()?)))
            .find(|(_, target_path)| self.exists(target_path));
        other.map_or(first.map(|first| (0, first)), Ok)
    }

    fn exists(&self, target_path: &PatchPath) -> bool {
        self.created.contains(&target_path.path) || target_path.location.stat().is_ok()
    }

    fn target_path(&self, name: &str) -> Result<PatchPath> {
        let location = self.workspace.parse_path(name)?;
        Ok(PatchPath { path: location.destination()?, location })
    }
}

/// The names that a changed file may have, most likely first.
fn names<'n>(old: &'n HeaderName, new: &'n HeaderName) -> Vec<&'n str> {
    let (old_text, new_text) = (old.text.as_str(), new.text.as_str());
    if old.is_bare && new.is_bare && old == new {
        return vec![new_text];
    }
    let mut names: Vec<&str> = name::tail_of_pair(old_text, new_text).into_iter().collect();
    if old_text.starts_with("a/") && new_text.starts_with("b/") {
        names.extend([without(new_text, "b/"), without(old_text, "a/")]);
    }
    names.extend([new_text, old_text]);
    names.extend(common_tail(old_text, new_text).filter(|_| old_text != new_text));
    names.extend([without(new_text, "b/"), without(old_text, "a/")]);
    names
}

/// The common part of two names after the first directory of each.
fn common_tail<'n>(old: &'n str, new: &str) -> Option<&'n str> {
    name::tail(old).filter(|tail| name::tail(new) == Some(tail))
}

fn without<'n>(name: &'n str, prefix: &str) -> &'n str {
    name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).unwrap_or(name)
}

/// Refuses symbolic links: removing or renaming one is not a text change.
fn refuse_link(target_path: &PatchPath) -> Result<()> {
    if !target_path.location.is_link() {
        return Ok(());
    }
    let shown = target_path.location.display();
    let message = format!(
        "{shown} is a symbolic link to {}; patches remove and rename files only, so use a shell command (rm, ln)",
        target_path.path
    );
    Err(ToolError::new(Reason::NotAFile, message).file(shown))
}
