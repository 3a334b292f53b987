//! What Landlock permits where no mount hides anything or makes it read-only.
//!
//! A rule of Landlock permits what lies beneath a path, and none forbids. So what is denied is kept out by permitting what
//! lies beside it: each file and directory beside it by itself, and the directories above it not as wholes. In those
//! directories nothing can be created, renamed or removed, because that would be a right on everything beneath; they are
//! told to the host.

use super::devices::NODES;
use crate::Confinement;
use beamai_protected::ProtectedPaths;
use beamai_workspace::decode_path;
use landlock::{AccessFs, BitFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Most rules. Each costs some microseconds and an entry of the kernel's tree.
const MOST: usize = 20_000;

/// Places of the machine in which other programs, and other sessions, keep what is theirs. Under the full tier commands
/// have their own ones.
const OTHERS: [&str; 2] = ["/tmp", "/dev"];

/// Paths, and what is permitted beneath each.
pub(super) struct Grants {
    pub(super) rules: Vec<(PathBuf, BitFlags<AccessFs>)>,
    /// Directories that can be written, in which nothing can be created, renamed or removed.
    pub(super) fixed: Vec<PathBuf>,
    rights: Rights,
    /// What is neither read nor written.
    hidden: Vec<PathBuf>,
    /// What is not written.
    read_only: Vec<PathBuf>,
}

/// What it is to read and to write.
#[derive(Clone, Copy)]
pub(super) struct Rights {
    pub(super) read: BitFlags<AccessFs>,
    pub(super) write: BitFlags<AccessFs>,
}

impl Grants {
    /// Those of a confinement.
    ///
    /// # Errors
    /// `E2BIG` where too much lies beside what is denied.
    pub(super) fn of(confinement: &Confinement, rights: Rights) -> Result<Self, Errno> {
        let matched = |list: fn(&ProtectedPaths) -> &Vec<String>| {
            confinement.found.iter().flat_map(move |found| {
                let root = decode_path(&found.root);
                list(found).iter().map(move |path| root.join(decode_path(path)))
            })
        };
        let named = |paths: &[OsString]| paths.iter().map(PathBuf::from).collect::<Vec<_>>().into_iter();
        // What the host shows or gives to be written is denied by nothing.
        let is_denied = |path: &PathBuf| {
            !confinement.readable.iter().chain(&confinement.writable).any(|shown| shown == path)
        };
        let denied = |paths: &mut dyn Iterator<Item = PathBuf>| -> Vec<PathBuf> {
            paths.filter(is_denied).map(|path| real(&path)).collect()
        };
        let mut grants = Self {
            rules: Vec::new(),
            fixed: Vec::new(),
            rights,
            hidden: denied(&mut named(&confinement.hidden).chain(matched(|found| &found.hidden))),
            read_only: denied(&mut named(&confinement.read_only).chain(matched(|found| &found.read_only))),
        };
        grants.machine(confinement)?;
        for root in writable(confinement) {
            grants.writable_beneath(root, confinement.exec_writable)?;
        }
        for path in &confinement.readable {
            grants.add(real(Path::new(path)), rights.read)?;
        }
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        NODES.into_iter().try_for_each(|path| grants.add(path.into(), device))?;
        Ok(grants)
    }

    /// The machine is read, but for what is hidden. Names can be listed everywhere.
    fn machine(&mut self, confinement: &Confinement) -> Result<(), Errno> {
        let mut kept_out = self.hidden.clone();
        kept_out.extend(OTHERS.map(PathBuf::from));
        // The right to read brings that to execute, which the places that can be written may lack.
        kept_out.extend(writable(confinement));
        self.add("/".into(), AccessFs::ReadDir.into())?;
        self.readable_beneath("/".into(), &kept_out, self.rights.read)
    }

    /// Permits to read what lies at a path, but for what is kept out.
    fn readable_beneath(
        &mut self,
        path: PathBuf,
        kept_out: &[PathBuf],
        read: BitFlags<AccessFs>,
    ) -> Result<(), Errno> {
        if kept_out.contains(&path) {
            return Ok(());
        }
        if !kept_out.iter().any(|other| other.starts_with(&path)) {
            return self.add(path, read);
        }
        entries(&path).try_for_each(|path| self.readable_beneath(path, kept_out, read))
    }

    /// Permits to read and write what lies at a path, but for what is denied.
    fn writable_beneath(&mut self, path: PathBuf, executes: bool) -> Result<(), Errno> {
        let mut read = self.rights.read;
        if !executes {
            read.remove(AccessFs::Execute);
        }
        if self.hidden.contains(&path) {
            return Ok(());
        }
        if self.read_only.contains(&path) {
            let hidden = self.hidden.clone();
            return self.readable_beneath(path, &hidden, read);
        }
        let is_above = |denied: &[PathBuf]| denied.iter().any(|denied| denied.starts_with(&path));
        match (is_above(&self.hidden), is_above(&self.read_only)) {
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

/// What lies in a directory. What a link leads to is permitted where it is, or not; and nothing in what cannot be listed.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_link = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    entries.filter(move |entry| !is_link(entry)).map(|entry| entry.path())
}

/// What can be written, without links: the workspace, the session's temporary directory, and what the host names.
fn writable(confinement: &Confinement) -> Vec<PathBuf> {
    let all = [&confinement.workspace].into_iter().chain(&confinement.temp).chain(&confinement.writable);
    all.map(|path| real(Path::new(path))).collect()
}

/// A path without links, also where nothing lies at its end.
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

    /// Grants within a directory that can be written.
    fn grants(root: &Path, hidden: &[&str], read_only: &[&str]) -> Grants {
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect();
        let rights = Rights { read: AccessFs::from_read(ABI::V5), write: AccessFs::from_write(ABI::V5) };
        let mut grants = Grants {
            rules: Vec::new(),
            fixed: Vec::new(),
            rights,
            hidden: paths(hidden),
            read_only: paths(read_only),
        };
        grants.writable_beneath(root.to_owned(), true).unwrap();
        grants
    }

    /// What can be done to a path by a right on it, or on a directory above it.
    fn may(grants: &Grants, path: &Path, right: AccessFs) -> bool {
        grants.rules.iter().any(|(above, rights)| path.starts_with(above) && rights.contains(right))
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
        // In the directories above, nothing comes to be and nothing goes.
        assert_eq!(grants.fixed, [root.clone(), root.join("a")]);
        for right in [AccessFs::MakeReg, AccessFs::RemoveFile, AccessFs::Refer] {
            assert!(!may("new", right) && !may("a/secret", right), "{right:?}");
        }
        assert!(may("a/b/new", AccessFs::MakeReg));
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
