//! The workspace: the only access of tools to files.
//!
//! A [`Workspace`] pins a directory by handle when it is opened. Every path argument becomes a [`WorkspacePath`] first,
//! and every open is relative to the pinned handle, so `..`, absolute paths, links and concurrent renames cannot
//! escape. A session's private temporary directory is a second such directory, named by its absolute path.

mod attributes;
mod batch;
mod cached;
mod draft;
mod guard;
pub mod journal;
mod location;
mod lock;
mod names;
mod path;
mod relocation;
mod resolve;
mod tree;
mod write;

#[cfg(test)]
mod tests;

pub use batch::Batch;
pub use guard::{Access, AccessGuard};
pub use location::expect_at;
pub use lock::{WriteGuard, lock_all};
pub use path::{decode as decode_path, encode as encode_path, escaped_byte};
pub use tree::{ParentDir, Tree, open_entry};
pub use write::{Expected, Replacement};

use beamai_base::{
    Entry, HostHint, PathWay, Reason, Result, ToolError, excerpt, is_local, mount_at, mount_of,
};
use guard::GuardSlot;
use resolve::BaseDir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A workspace as plain data: its path and the identity of the directory when it was pinned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WorkspaceId {
    /// Absolute path, links resolved.
    pub path: String,
    /// Device number of the directory.
    pub device: u64,
    /// Inode number of the directory.
    pub inode: u64,
    /// The path that the host gave, if links are on it. Absolute paths may begin with either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

/// Maximum bytes of a path that a caller gives: that of the Linux kernel, without the byte at its end.
const LONGEST_PATH: usize = 4_095;

/// Advice for a path outside.
const USE_INSIDE: &str = "use a path inside it";

/// A directory pinned by handle.
#[derive(Debug)]
struct PinnedRoot {
    path: PathBuf,
    /// The path that the host gave; differs from `path` if links are on it.
    alias: PathBuf,
    dir: OwnedFd,
    device: u64,
    inode: u64,
    /// The mount that the path led to.
    mount: Option<u64>,
    /// Whether files are on a local file system.
    is_local: bool,
}

impl PinnedRoot {
    fn open(path: &Path) -> Result<Self> {
        let shown = path::encode(path);
        let fail = |error: std::io::Error| ToolError::io("open directory", &shown, error);
        // Without links, and as directories spell it.
        let real = PathWay::of(&path.canonicalize().map_err(fail)?, Entry::at).end;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::open(&real, flags, Mode::empty()).map_err(|error| fail(error.into()))?;
        let stat = rustix::fs::fstat(&dir).map_err(|error| fail(error.into()))?;
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
        Ok(Self {
            path: real,
            alias: path.to_owned(),
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            mount: mount_of(&dir),
            is_local: is_local(&dir),
            dir,
        })
    }

    fn anchor(&self) -> BaseDir<'_> {
        BaseDir { dir: self.dir.as_fd(), path: &self.path, alias: &self.alias }
    }

    fn outside(&self, text: &str, advice: &str) -> ToolError {
        let root = path::encode(&self.path);
        ToolError::new(
            Reason::OutsideWorkspace,
            format!("{} is outside the workspace {root}; {advice}", excerpt(text)),
        )
        .file(text)
    }

    /// The part of an absolute path beneath this root.
    fn strip<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.strip_prefix(&self.path).or_else(|_| path.strip_prefix(&self.alias)).ok()
    }
}

/// The directories that a call may access.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: Arc<PinnedRoot>,
    temp: Option<Arc<PinnedRoot>>,
    /// The temporary directory that was opened last, also by clones: most calls are of the same session.
    last_temp: Arc<Mutex<Option<Arc<PinnedRoot>>>>,
    guard: GuardSlot,
}

/// A path inside the workspace, as written; links are not resolved yet.
#[derive(Debug, Clone)]
pub struct WorkspacePath {
    root: Arc<PinnedRoot>,
    relative: PathBuf,
    is_temp: bool,
    /// The path as written, if it differs from `relative`.
    written: Option<PathBuf>,
    guard: GuardSlot,
}

impl Workspace {
    /// Opens and pins the directory at `path`.
    ///
    /// # Errors
    /// `no_such_file`, `not_a_directory` or other errors of the operating system.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = || path::encode(path);
        Ok(Self::new(PinnedRoot::open(path).map_err(|error| match error.reason {
            Reason::NoSuchFile => {
                let message = format!(
                    "there is no directory {}; the workspace must be an existing one",
                    excerpt(&shown())
                );
                ToolError::new(Reason::NoSuchFile, message).file(shown())
            }
            Reason::NotADirectory => {
                let message = format!("{} is not a directory; the workspace must be one", excerpt(&shown()));
                ToolError::new(Reason::NotADirectory, message).file(shown())
            }
            _ => error,
        })?))
    }

    /// Opens the directory that `id` names, and rejects any other directory at that path.
    ///
    /// # Errors
    /// `workspace_gone` when it is missing or another directory; otherwise as [`Workspace::open`].
    pub fn pinned(id: &WorkspaceId) -> Result<Self> {
        let mut root = PinnedRoot::open(&path::decode(&id.path)).map_err(|error| match error.reason {
            Reason::NoSuchFile | Reason::NotADirectory => gone(&id.path, "it no longer exists"),
            _ => error,
        })?;
        if let Some(alias) = &id.alias {
            root.alias = path::decode(alias);
        }
        if (root.device, root.inode) != (id.device, id.inode) {
            return Err(gone(&id.path, "another directory is in its place"));
        }
        Ok(Self::new(root))
    }

    fn new(root: PinnedRoot) -> Self {
        Self { root: Arc::new(root), temp: None, last_temp: Arc::default(), guard: GuardSlot::default() }
    }

    /// The same workspace without a guard: for a new call, and for data that outlives one.
    #[must_use]
    pub fn unguarded(&self) -> Self {
        Self { guard: GuardSlot::default(), ..self.clone() }
    }

    /// Sets the guard for every file that is opened through this workspace, its clones and their paths. Only the first
    /// one counts.
    pub fn set_guard(&self, guard: Arc<dyn AccessGuard>) {
        self.guard.set(guard);
    }

    /// Fails if the workspace was moved, removed, recreated or covered by a mount since it was pinned.
    ///
    /// # Errors
    /// `workspace_gone`.
    pub fn expect_in_place(&self) -> Result<()> {
        let shown = || path::encode(&self.root.path);
        let now = rustix::fs::stat(&self.root.path);
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
        match now.map(|now| (now.st_dev as u64, now.st_ino as u64)) {
            Ok(now) if now == (self.root.device, self.root.inode) => match mount_at(&self.root.path) {
                mount if mount == self.root.mount => Ok(()),
                _ => Err(gone(&shown(), "something has been mounted over it")),
            },
            Ok(_) => Err(gone(&shown(), "another directory is in its place")),
            Err(Errno::NOENT | Errno::NOTDIR) => Err(gone(&shown(), "it no longer exists")),
            Err(error) => Err(ToolError::io("find the workspace", shown(), error)),
        }
    }

    /// Whether the workspace is on a local file system.
    pub fn is_local(&self) -> bool {
        self.root.is_local
    }

    /// The same workspace with a session's private temporary directory beside it.
    ///
    /// # Errors
    /// `no_temp_dir` when it is gone or has been replaced by a link; otherwise as [`Workspace::open`].
    pub fn with_temp(&self, path: &Path) -> Result<Self> {
        let Some(found) = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir) else {
            let message =
                format!("the session's temporary directory {} is gone; call again", path::encode(path));
            return Err(ToolError::new(Reason::NoTempDir, message));
        };
        let mut last = self.last_temp.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |temp: &PinnedRoot| temp.alias == path && (temp.device, temp.inode) == (found.dev(), found.ino());
        if !last.as_deref().is_some_and(is_same) {
            *last = Some(Arc::new(PinnedRoot::open(path)?));
        }
        Ok(Self { temp: last.clone(), ..self.clone() })
    }

    /// The same workspace without a temporary directory.
    pub fn without_temp(&self) -> Self {
        Self { temp: None, ..self.clone() }
    }

    /// The workspace as plain data, equal for all paths that lead to it.
    pub fn id(&self) -> WorkspaceId {
        let PinnedRoot { path, device, inode, .. } = &*self.root;
        WorkspaceId { path: path::encode(path), device: *device, inode: *inode, alias: None }
    }

    /// The workspace as plain data, with the path that it was opened by.
    pub fn named(&self) -> WorkspaceId {
        let alias = (self.root.alias != self.root.path).then(|| path::encode(&self.root.alias));
        WorkspaceId { alias, ..self.id() }
    }

    /// Absolute path of the workspace's directory, for programs that are started in it.
    pub fn path(&self) -> &Path {
        &self.root.path
    }

    /// Absolute paths of the workspace: the resolved one, and the one that it was opened by.
    pub fn root_paths(&self) -> [&Path; 2] {
        [&self.root.path, &self.root.alias]
    }

    /// Absolute path of the session's temporary directory.
    pub fn temp_path(&self) -> Option<&Path> {
        self.temp.as_ref().map(|temp| temp.path.as_path())
    }

    /// The session's temporary directory.
    pub fn temp(&self) -> Option<WorkspacePath> {
        self.temp.as_ref().map(|temp| self.at(temp, Path::new(""), true))
    }

    /// Parses a path argument. Relative paths are relative to the workspace; absolute ones must be in it or in the
    /// session's temporary directory.
    ///
    /// # Errors
    /// `outside_workspace` for other absolute paths, for `~`, and for paths that escape by `..` as written;
    /// `invalid_argument` for an empty path or one with a NUL byte. Links that lead out are found when the path is
    /// opened.
    pub fn parse_path(&self, text: &str) -> Result<WorkspacePath> {
        if text.is_empty() {
            return Err(ToolError::new(
                Reason::InvalidArgument,
                "the path is empty; give one in the workspace",
            ));
        }
        if text.len() > LONGEST_PATH {
            let message = format!("the path has {} bytes, and a path has at most {LONGEST_PATH}", text.len());
            return Err(ToolError::new(Reason::InvalidArgument, message));
        }
        if text == "~" || text.starts_with("~/") {
            return Err(self.outside(text));
        }
        let path = path::decode(text);
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(ToolError::new(Reason::InvalidArgument, "the path has a NUL byte; remove it")
                .file(text.escape_debug()));
        }
        match self.beneath(&path).filter(|found| !climbs_out(&found.relative)) {
            Some(found) => Ok(found),
            None => Err(self.outside(text)),
        }
    }

    /// The error for a path outside. Commands have a `/tmp` of their own, so a model may name files in it.
    fn outside(&self, text: &str) -> ToolError {
        let in_tmp = Path::new(text).strip_prefix("/tmp").ok().filter(|inside| !climbs_out(inside));
        let advice = match (in_tmp, &self.temp) {
            (Some(inside), Some(temp)) => {
                let at = path::encode(&temp.path.join(inside));
                format!("file tools have $TMPDIR alone in /tmp: use {}", excerpt(&at))
            }
            (Some(_), None) => format!("file tools have no /tmp: {USE_INSIDE}"),
            (None, _) => USE_INSIDE.to_owned(),
        };
        self.root.outside(text, &advice)
    }

    fn beneath(&self, path: &Path) -> Option<WorkspacePath> {
        if path.is_relative() {
            return Some(self.at(&self.root, path, false));
        }
        if let Some(inside) = self.root.strip(path) {
            return Some(self.at(&self.root, inside, false));
        }
        let temp = self.temp.as_ref()?;
        Some(self.at(temp, temp.strip(path)?, true))
    }

    /// The workspace's own directory.
    pub fn top(&self) -> WorkspacePath {
        self.at(&self.root, Path::new(""), false)
    }

    fn at(&self, root: &Arc<PinnedRoot>, relative: &Path, is_temp: bool) -> WorkspacePath {
        let relative = relative.to_owned();
        let guard = self.guard.clone();
        WorkspacePath { root: Arc::clone(root), relative, is_temp, written: None, guard }.tidied()
    }
}

fn gone(shown: &str, why: &str) -> ToolError {
    let message = format!("the workspace {shown} was moved, removed or recreated: {why}");
    let hint = HostHint::new("Put it back, or make a new kernel for it", "Put it back, or start again in it");
    ToolError::new(Reason::WorkspaceGone, message).file(shown).hint(hint)
}

/// Whether a path as written goes above its start. It is refused even if links or missing directories would make it end
/// inside: nobody means it.
fn climbs_out(path: &Path) -> bool {
    use std::path::Component;
    let mut depth = 0_usize;
    path.components().any(|part| match part {
        Component::ParentDir if depth == 0 => true,
        Component::ParentDir => {
            depth -= 1;
            false
        }
        Component::Normal(_) => {
            depth += 1;
            false
        }
        _ => false,
    })
}

impl WorkspacePath {
    fn tidied(mut self) -> Self {
        if self.relative.as_os_str().is_empty() {
            self.relative.push(".");
        }
        self
    }

    /// The path as results show it: relative to the workspace, absolute in the temporary directory.
    pub fn display(&self) -> String {
        path::encode(&self.shown(&self.relative))
    }

    fn shown(&self, relative: &Path) -> PathBuf {
        let clean: PathBuf =
            relative.components().filter(|part| *part != std::path::Component::CurDir).collect();
        match (self.is_temp, clean.as_os_str().is_empty()) {
            (true, _) => self.root.path.join(clean),
            (false, true) => PathBuf::from("."),
            (false, false) => clean,
        }
    }

    /// The path beneath the pinned directory, as written.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// The absolute path outside the workspace; for programs that take no handle.
    pub fn absolute(&self) -> PathBuf {
        self.root.path.join(&self.relative)
    }

    /// A path below this one.
    #[must_use]
    pub fn join(&self, name: &Path) -> Self {
        Self { relative: self.relative.join(name), written: None, ..self.clone() }
    }

    /// The path with links resolved. Rules still see it as written.
    ///
    /// # Errors
    /// As [`WorkspacePath::resolved`].
    pub fn resolve_links(&self) -> Result<Self> {
        let target = self.walk(resolve::MissingDirs::Refuse).map_err(|error| self.error("find", error))?;
        let written = Some(self.written.clone().unwrap_or_else(|| self.relative.clone()));
        Ok(Self { relative: target.resolved, written, ..self.clone() })
    }

    /// The path with links resolved, as results show it. The last component need not exist.
    ///
    /// # Errors
    /// `outside_workspace` when it leads out, `no_such_file` when a parent directory is missing.
    pub fn resolved(&self) -> Result<String> {
        let target = self.walk(resolve::MissingDirs::Refuse).map_err(|error| self.error("find", error))?;
        Ok(path::encode(&self.shown(&target.resolved)))
    }

    /// The path that a write would change, links resolved. Components that do not exist are kept as written.
    ///
    /// # Errors
    /// `outside_workspace` when it leads out, or other errors of the operating system.
    pub fn destination(&self) -> Result<String> {
        let target = self.walk(resolve::MissingDirs::Imagine).map_err(|error| self.error("find", error))?;
        Ok(path::encode(&self.shown(&target.resolved)))
    }

    /// The parent directory, as written, and the file name; `None` if the path has no file name.
    pub fn parent(&self) -> Option<(Self, &OsStr)> {
        let above = self.relative.parent()?;
        let name = self.relative.file_name()?;
        Some((Self { relative: above.to_owned(), written: None, ..self.clone() }.tidied(), name))
    }

    /// Opens a regular file for reading. FIFOs, sockets and devices are rejected without blocking.
    ///
    /// # Errors
    /// `no_such_file`, `is_a_directory`, `not_a_file`, `outside_workspace`, `access_denied` or `io`.
    pub fn open_file(&self) -> Result<(File, Stat)> {
        let fd = self.open(Access::Read, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let stat = self.look_at(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((File::from(fd), stat)),
            other => Err(self.not_a_file(other)),
        }
    }

    /// Opens a directory for listing.
    ///
    /// # Errors
    /// `no_such_file`, `not_a_directory`, `outside_workspace`, `access_denied` or `io`.
    pub fn open_dir(&self) -> Result<OwnedFd> {
        self.open(Access::List, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK)
    }

    /// Metadata of the file at this path, links followed.
    ///
    /// # Errors
    /// `no_such_file`, `outside_workspace`, `access_denied` or `io`.
    pub fn stat(&self) -> Result<Stat> {
        self.look_at(&self.find()?)
    }

    /// Whether a directory lies at this path, links followed.
    pub fn is_directory(&self) -> bool {
        self.stat().is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Whether the last component of the path is a symbolic link.
    pub fn is_link(&self) -> bool {
        let Some((above, name)) = self.parent() else { return false };
        let Ok(dir) = above.find() else { return false };
        rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }

    /// Opens a handle without read access; no guard is asked.
    fn find(&self) -> Result<OwnedFd> {
        resolve::open(&self.root.anchor(), &self.relative, OFlags::PATH)
            .map_err(|error| self.error("open", error))
    }

    fn look_at(&self, fd: &OwnedFd) -> Result<Stat> {
        rustix::fs::fstat(fd).map_err(|error| self.error("look at", error))
    }

    fn walk(&self, missing: resolve::MissingDirs) -> Result<resolve::ResolvedTarget, rustix::io::Errno> {
        resolve::walk(&self.root.anchor(), &self.relative, missing)
    }

    /// The error of a file system operation on this path; `action` is the operation, such as "read".
    pub fn error(&self, action: &str, error: rustix::io::Errno) -> ToolError {
        match error {
            // openat2(2) returns EXDEV for a path that leads out, by ".." or by a link.
            rustix::io::Errno::XDEV => self.root.outside(&self.display(), USE_INSIDE),
            _ => ToolError::io(action, self.display(), error),
        }
    }

    fn not_a_file(&self, kind: FileType) -> ToolError {
        let shown = self.display();
        match kind {
            FileType::Directory => {
                ToolError::new(Reason::IsADirectory, format!("{shown} is a directory; name a file in it"))
                    .file(shown)
            }
            other => {
                let kind = kind_name(other);
                ToolError::new(
                    Reason::NotAFile,
                    format!("{shown} is a {kind}; only regular files can be used"),
                )
                .file(shown)
            }
        }
    }
}

/// The name of a file type in results.
pub fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "unknown",
    }
}
