//! Computes Landlock rules that stand in for mounts which hide paths or make them read-only.
//!
//! A Landlock rule permits access below a path; no rule can deny. A denied path is therefore excluded by permitting its
//! siblings one by one, and not the directories above it as a whole. In those directories nothing can be created,
//! renamed or removed, because that right would apply to everything below; they are reported to the host.

use super::devices::NODES;
use crate::Confinement;
use beamai_base::identity_at;
use landlock::{AccessFs, BitFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of rules. Each costs some microseconds and memory of the Linux kernel.
const MOST: usize = 20_000;

/// Directories that other programs and sessions store data in. Under the full tier commands have private ones.
const OTHERS: [&str; 2] = ["/tmp", "/dev"];

/// Paths, with the rights below each.
pub(super) struct Grants {
    pub(super) rules: Vec<(PathBuf, BitFlags<AccessFs>)>,
    /// Writable directories in which nothing can be created, renamed or removed.
    pub(super) fixed: Vec<PathBuf>,
    rights: Rights,
    /// Paths that can neither be removed nor replaced. Links are not followed.
    held: Vec<PathBuf>,
    /// Paths that are neither readable nor writable.
    hidden: Vec<PathBuf>,
    /// Paths that are not writable.
    read_only: Vec<PathBuf>,
    /// Paths that the host makes visible, and not writable.
    shown: Vec<PathBuf>,
}

/// The rights to read and to write.
#[derive(Clone, Copy)]
pub(super) struct Rights {
    pub(super) read: BitFlags<AccessFs>,
    pub(super) write: BitFlags<AccessFs>,
}

impl Grants {
    /// The grants for a confinement, whose workspace is at this path without links.
    ///
    /// # Errors
    /// `E2BIG` if denied paths have too many siblings.
    pub(super) fn of(confinement: &Confinement, workspace: &Path, rights: Rights) -> Result<Self, Errno> {
        let named = |paths: &[OsString]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let denied = |paths: Vec<PathBuf>| -> Vec<PathBuf> {
            paths.iter().map(|path| real(path)).filter(|path| may_be_there(path)).collect()
        };
        let (hidden, read_only) = confinement.closed();
        let mut grants = Self {
            rules: Vec::new(),
            fixed: Vec::new(),
            rights,
            held: named(&confinement.held),
            hidden: denied(hidden),
            read_only: denied(read_only),
            shown: named(&confinement.readable),
        };
        let writable = writable(confinement, workspace);
        grants.machine(&writable)?;
        for root in writable {
            grants.writable_beneath(root, confinement.exec_writable)?;
        }
        for path in &confinement.readable {
            let hidden = grants.hidden.clone();
            grants.readable_beneath(path.into(), &hidden, rights.read)?;
        }
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        NODES.into_iter().try_for_each(|path| grants.add(path.into(), device))?;
        Ok(grants)
    }

    /// Permits reading the machine's files, except for hidden ones. Directories can be listed everywhere.
    fn machine(&mut self, writable: &[PathBuf]) -> Result<(), Errno> {
        let mut kept_out = self.hidden.clone();
        kept_out.extend(OTHERS.map(PathBuf::from));
        // The right to read includes the right to execute, which writable directories may lack.
        kept_out.extend_from_slice(writable);
        self.add("/".into(), AccessFs::ReadDir.into())?;
        self.readable_beneath("/".into(), &kept_out, self.rights.read)
    }

    /// Permits reading below a path, except for excluded paths.
    fn readable_beneath(
        &mut self,
        path: PathBuf,
        kept_out: &[PathBuf],
        read: BitFlags<AccessFs>,
    ) -> Result<(), Errno> {
        if is_among(&path, kept_out) {
            return Ok(());
        }
        if !kept_out.iter().any(|other| other.starts_with(&path)) {
            return self.add(path, read);
        }
        entries(&path).try_for_each(|path| self.readable_beneath(path, kept_out, read))
    }

    /// Permits reading and writing below a path, except for denied paths.
    fn writable_beneath(&mut self, path: PathBuf, executes: bool) -> Result<(), Errno> {
        let mut read = self.rights.read;
        if !executes {
            read.remove(AccessFs::Execute);
        }
        if is_among(&path, &self.hidden) {
            return Ok(());
        }
        if self.shown.contains(&path) || is_among(&path, &self.read_only) {
            let hidden = self.hidden.clone();
            return self.readable_beneath(path, &hidden, read);
        }
        let is_above = |denied: &[PathBuf]| denied.iter().any(|denied| denied.starts_with(&path));
        let holds = self.held.iter().any(|held| held.parent().is_some_and(|above| above.starts_with(&path)));
        let has_fixed = is_above(&self.read_only) || is_above(&self.shown);
        match (is_above(&self.hidden) || holds, has_fixed) {
            (false, false) => return self.add(path, read | self.rights.write),
            (false, true) => self.add(path.clone(), read)?,
            (true, _) => self.add(path.clone(), AccessFs::ReadDir.into())?,
        }
        self.fixed.push(path.clone());
        entries(&path).try_for_each(|path| self.writable_beneath(path, executes))
    }

    fn add(&mut self, path: PathBuf, rights: BitFlags<AccessFs>) -> Result<(), Errno> {
        if self.rules.len() >= MOST {
            return Err(Errno::TOOBIG);
        }
        self.rules.push((path, rights));
        Ok(())
    }
}

/// Whether a path is one of these, or another name of such a file: a rule of Landlock is about a file, whatever its name.
fn is_among(path: &Path, denied: &[PathBuf]) -> bool {
    let names = path.symlink_metadata().map_or(0, |found| if found.is_file() { found.nlink() } else { 0 });
    let mut most = MOST;
    denied.iter().any(|denied| denied == path || names > 1 && has(denied, identity_at(path), &mut most))
}

/// Whether this file is at a path or beneath it; also if that is too much to look at.
fn has(path: &Path, file: (u64, u64), most: &mut usize) -> bool {
    let Some(left) = most.checked_sub(1) else { return true };
    *most = left;
    let is_directory = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    identity_at(path) == file || is_directory && entries(path).any(|below| has(&below, file, most))
}

/// The entries of a directory. Links are skipped, since their targets have rules of their own; unreadable directories
/// are empty.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_link = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entries.filter(move |entry| !is_link(entry)).map(|entry| entry.path())
}

/// Writable paths with links resolved: the workspace, the session's temporary directory, and the host's paths.
fn writable(confinement: &Confinement, workspace: &Path) -> Vec<PathBuf> {
    let temp = confinement.temp.iter().map(|path| real(Path::new(path)));
    let listed = confinement.writable.iter().map(PathBuf::from);
    [workspace.to_owned()].into_iter().chain(temp).chain(listed).collect()
}

/// Whether nothing but directories is above a path.
fn may_be_there(path: &Path) -> bool {
    let is_other = |above: &Path| above.symlink_metadata().is_ok_and(|found| !found.is_dir());
    !path.ancestors().skip(1).any(is_other)
}

/// Resolves the links of a path whose last component need not exist.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use landlock::ABI;

    /// Grants within a writable directory.
    fn grants(root: &Path, hidden: &[&str], read_only: &[&str]) -> Grants {
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect();
        let rights = Rights { read: AccessFs::from_read(ABI::V5), write: AccessFs::from_write(ABI::V5) };
        let mut grants = Grants {
            rules: Vec::new(),
            fixed: Vec::new(),
            rights,
            held: Vec::new(),
            hidden: paths(hidden),
            read_only: paths(read_only),
            shown: Vec::new(),
        };
        grants.writable_beneath(root.to_owned(), true).unwrap();
        grants
    }

    /// The right that a path has from a rule on it or on a directory above it.
    fn may(grants: &Grants, path: &Path, right: AccessFs) -> bool {
        grants.rules.iter().any(|(above, rights)| path.starts_with(above) && rights.contains(right))
    }

    #[test]
    fn nothing_is_beneath_a_file() {
        let (_dir, root) = tree();
        assert!(may_be_there(&root.join("a/b/none/below")) && !may_be_there(&root.join("key/below/deeper")));
    }

    fn tree() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        for file in ["key", "plain", "a/secret", "a/other", "a/b/deep"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        (dir, root)
    }

    #[test]
    fn without_rules_a_directory_is_permitted_as_a_whole() {
        let (_dir, root) = tree();
        let grants = grants(&root, &[], &[]);
        assert!(grants.rules.len() == 1 && grants.fixed.is_empty());
    }

    #[test]
    fn what_is_denied_is_permitted_by_no_rule_and_what_lies_beside_it_is() {
        let (_dir, root) = tree();
        let grants = grants(&root, &["a/secret"], &["key"]);
        let may = |path: &str, right| may(&grants, &root.join(path), right);
        assert!(!may("a/secret", AccessFs::ReadFile) && !may("a/secret", AccessFs::WriteFile));
        assert!(may("key", AccessFs::ReadFile) && !may("key", AccessFs::WriteFile));
        for path in ["plain", "a/other", "a/b/deep", "a/b/new"] {
            assert!(may(path, AccessFs::ReadFile) && may(path, AccessFs::WriteFile), "{path}");
        }
        // In the directories above, nothing can be created or removed.
        assert_eq!(grants.fixed, [root.clone(), root.join("a")]);
        for right in [AccessFs::MakeReg, AccessFs::RemoveFile, AccessFs::Refer] {
            assert!(!may("new", right) && !may("a/secret", right), "{right:?}");
        }
        assert!(may("a/b/new", AccessFs::MakeReg));
    }

    #[test]
    fn another_name_of_a_denied_file_gives_no_right_to_it() {
        let (_dir, root) = tree();
        std::fs::hard_link(root.join("a/secret"), root.join("name")).unwrap();
        std::fs::hard_link(root.join("key"), root.join("a/name")).unwrap();
        std::fs::hard_link(root.join("a/b/deep"), root.join("deep")).unwrap();
        let grants = grants(&root, &["a/secret", "a/b"], &["key"]);
        assert!(!may(&grants, &root.join("name"), AccessFs::ReadFile));
        assert!(!may(&grants, &root.join("deep"), AccessFs::ReadFile));
        assert!(may(&grants, &root.join("a/name"), AccessFs::ReadFile));
        assert!(!may(&grants, &root.join("a/name"), AccessFs::WriteFile));
    }

    #[test]
    fn what_is_hidden_in_what_is_read_only_stays_hidden_and_the_rest_unwritten() {
        let (_dir, root) = tree();
        let grants = grants(&root, &["a/secret"], &["a"]);
        let may = |path: &str, right| may(&grants, &root.join(path), right);
        assert!(!may("a/secret", AccessFs::ReadFile) && may("a/other", AccessFs::ReadFile));
        assert!(!may("a/other", AccessFs::WriteFile) && !may("a/b/deep", AccessFs::WriteFile));
    }

    #[test]
    fn a_name_that_must_not_come_to_be_keeps_its_directory_as_it_is() {
        let (_dir, root) = tree();
        let grants = grants(&root, &[], &["new/conf"]);
        assert_eq!(grants.fixed, std::slice::from_ref(&root));
        assert!(!may(&grants, &root.join("new"), AccessFs::MakeDir));
    }
}
