//! Paths within `.git`: git runs programs that a repository's settings name.

use super::rule::PermissionRule;
use std::path::Path;

/// Whether a path is a `.git` directory or inside one.
fn is_in_repository(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether a rule for changing files may cover these paths: within `.git`, only a rule that names it.
pub(super) fn covers_all(rule: &PermissionRule, paths: &[impl AsRef<Path>]) -> bool {
    !matches!(&*rule.tool, "Edit" | "Write")
        || rule.text.split(|char| "/(){},".contains(char)).any(|part| part.eq_ignore_ascii_case(".git"))
        || !paths.iter().any(|path| is_in_repository(path.as_ref()))
}
