//! Checks rules on opened files: a permission holds for exactly the paths that were judged.

use super::Policy;
use super::pattern::touches_file;
use super::permission_request::{FilePath, Operand, PermissionRequest, PermissionRequests};
use super::secret_paths::SecretPaths;
use super::verdict::Verdict;
use beamai_base::{Reason, Result, ToolError, excerpt};
use beamai_path_rules::{PathRoots, PathRule};
use beamai_workspace::{Access, AccessGuard, decode_path};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The files that must not be read. Clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct ReadGuard(Option<Arc<GuardedPaths>>);

#[derive(Debug, Clone)]
struct GuardedPaths {
    denied: Vec<PathRule>,
    asked: Vec<PathRule>,
    secrets: SecretPaths,
    /// Allow rules, which permit a secret if they name it.
    named: Vec<PathRule>,
    roots: PathRoots,
}

impl ReadGuard {
    pub(super) fn new(
        denied: Vec<PathRule>,
        asked: Vec<PathRule>,
        (secrets, named): (SecretPaths, Vec<PathRule>),
        roots: PathRoots,
    ) -> Self {
        let is_open = denied.is_empty() && asked.is_empty() && secrets.is_empty();
        let guarded = GuardedPaths { denied, asked, secrets, named, roots };
        Self((!is_open).then(|| Arc::new(guarded)))
    }

    /// The guard of an approved call. The person approved the paths in the question, so ask rules that match one of
    /// them no longer hide files. Other ask rules still do, such as `Read(*.key)` after the approval of a search in
    /// `docs`.
    #[must_use]
    pub fn approved(&self, permissions: &PermissionRequests) -> Self {
        let Some(guarded) = &self.0 else { return Self::default() };
        let mut guarded = (**guarded).clone();
        let is_named = |pattern: &PathRule| {
            permissions.iter().any(|permission| match &permission.operand {
                Operand::File(file) | Operand::Project(file) => touches_file(pattern, file, &guarded.roots),
                _ => false,
            })
        };
        guarded.asked.retain(|pattern| !is_named(pattern));
        Self(Some(Arc::new(guarded)))
    }

    /// Whether everything may be read.
    pub fn is_open(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a file or directory must be left out. `path` is relative to the workspace.
    pub fn hides(&self, path: &Path) -> bool {
        let Some(guarded) = &self.0 else { return false };
        let any =
            |patterns: &[PathRule]| patterns.iter().any(|pattern| pattern.matches(path, &guarded.roots));
        any(&guarded.denied)
            || any(&guarded.asked)
            || guarded.secrets.keep(path, guarded.named.iter(), &guarded.roots).is_some()
    }

    /// As [`ReadGuard::hides`], for a path as bytes.
    pub fn hides_bytes(&self, path: &[u8]) -> bool {
        !self.is_open() && self.hides(Path::new(OsStr::from_bytes(path)))
    }
}

/// The files that each tool must leave out.
#[derive(Debug, Clone, Default)]
pub struct ReadGuards {
    of_reads: ReadGuard,
    /// By canonical name, of tools that have rules of their own about files.
    of_tools: HashMap<String, ReadGuard>,
}

impl ReadGuards {
    pub(super) fn new(of_reads: ReadGuard, of_tools: HashMap<String, ReadGuard>) -> Self {
        Self { of_reads, of_tools }
    }

    /// The guard of a tool with this canonical name.
    pub fn of(&self, tool: &str) -> ReadGuard {
        self.of_tools.get(tool).unwrap_or(&self.of_reads).clone()
    }
}

/// Applies a call's permissions when files are opened. A path that still leads where it led when it was judged is allowed.
/// A path that leads elsewhere by now is judged again, without asking anybody.
#[derive(Debug)]
pub(super) struct FileGuard {
    policy: Arc<Policy>,
    permissions: Vec<PermissionRequest>,
    hidden: ReadGuard,
}

impl FileGuard {
    pub(super) fn new(policy: Arc<Policy>, permissions: &PermissionRequests, hidden: ReadGuard) -> Self {
        Self { policy, permissions: permissions.iter().cloned().collect(), hidden }
    }

    /// Judges a permission request whose path leads elsewhere by now.
    fn judge(&self, permission: &PermissionRequest, file: &FilePath, real: &str) -> Result<()> {
        let file = FilePath { path: real.to_owned(), ..file.clone() };
        let permission = PermissionRequest { operand: Operand::File(file), ..permission.clone() };
        let judgement = self.policy.judge(&permission);
        let (because, hint) = (judgement.because(), judgement.hint(&permission));
        match judgement.verdict {
            Verdict::Allow(_) => Ok(()),
            Verdict::Deny(rule) => Err(denied(&permission, rule, &because).hint(hint)),
            Verdict::Ask(_) => Err(changed(&permission)),
        }
    }

    /// Judges a path that no permission request names, such as a file beside the one that the call is about.
    fn unnamed(&self, access: Access, written: &str, real: &str) -> Result<()> {
        let permission = |rule: &str, is_safe| PermissionRequest {
            rule: rule.to_owned(),
            touches: if is_safe { &[] } else { &["Edit", "Read"] },
            allowed_by: &[],
            is_safe,
            operand: Operand::File(FilePath {
                path: real.to_owned(),
                written: written.to_owned(),
                is_tree: false,
            }),
        };
        let is_above = |permission: &PermissionRequest| matches!(&permission.operand, Operand::File(file) if is_beneath(&file.path, real));
        match access {
            Access::Write => self.judge(&permission("Write", false), &FilePath::plain(written), real),
            Access::List if self.permissions.iter().any(is_above) => Ok(()),
            _ if [written, real].iter().any(|path| self.hidden.hides(&decode_path(path))) => {
                Err(denied(&permission("Read", true), None, ""))
            }
            Access::List | Access::Read => Ok(()),
        }
    }
}

impl AccessGuard for FileGuard {
    fn check(&self, access: Access, written: &str, real: &str) -> Result<()> {
        let mut is_named = false;
        for permission in &self.permissions {
            match &permission.operand {
                Operand::File(file) | Operand::Project(file) if file.written == written => {
                    is_named = true;
                    if file.path != real {
                        self.judge(permission, file, real)?;
                    }
                }
                Operand::Command(line) if access == Access::List => {
                    is_named = true;
                    if line.directory != real {
                        return Err(changed(permission));
                    }
                }
                _ => {}
            }
        }
        if is_named { Ok(()) } else { self.unnamed(access, written, real) }
    }
}

fn is_beneath(path: &str, directory: &str) -> bool {
    directory == "." || decode_path(path).starts_with(decode_path(directory))
}

fn denied(permission: &PermissionRequest, rule: Option<String>, because: &str) -> ToolError {
    let why = match &rule {
        Some(rule) => format!("the permission rule {rule} denies it"),
        None => "the permissions keep it from being used".to_owned(),
    };
    let message =
        format!("{} is not allowed: {why}{because}; nothing was done", excerpt(&permission.subject()));
    with_file(ToolError::new(Reason::Denied, message), permission)
        .with("matched_rule", rule.map_or(Value::Null, Value::from))
}

fn changed(permission: &PermissionRequest) -> ToolError {
    let message = format!(
        "{} is not what was allowed: another program has changed where the path leads; nothing was done, so call again",
        excerpt(&permission.subject())
    );
    with_file(ToolError::new(Reason::Changed, message), permission)
}

fn with_file(error: ToolError, permission: &PermissionRequest) -> ToolError {
    match permission.operand.detail() {
        Some((key, text)) => error.with(key, text),
        None => error,
    }
}
