//! Stages work-tree files.

use super::hooks;
use super::replaced::replaced;
use super::submodule_list::is_submodule_list;
use crate::is_administrative;
use beamai_base::{Reason, ToolError, excerpt};
use beamai_git_repository::changes::{ChangeKind, FileChange, is_below, unmerged};
use beamai_git_repository::tree::{
    FILE, IgnoreStack, LINK, SUBMODULE, SparseDefinition, UntrackedFinder, WorkTreeReader, failed, low, mode,
    named,
};
use beamai_git_repository::{GitCall, GitError, GitResult, Repo, Staging, Untracked, nested};
use beamai_port_tools::git::path::shown;
use beamai_workspace::Workspace;
use git2::{IndexEntry, IndexTime, ObjectType, Oid};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Maximum number of files named in an error.
const NAMED: usize = 10;

/// The result of staging.
#[derive(Debug, Default)]
pub(super) struct StagedFiles {
    /// Paths whose index entry changed, sorted.
    pub(super) files: Vec<Vec<u8>>,
    /// What was skipped.
    pub(super) notes: Vec<String>,
}

/// The change to an index entry.
enum IndexUpdate {
    Put(IndexEntry),
    Remove(Vec<u8>),
}

impl IndexUpdate {
    /// The path that it puts into the index.
    fn put(&self) -> Option<&[u8]> {
        match self {
            Self::Put(entry) => Some(&entry.path),
            Self::Remove(_) => None,
        }
    }
}

/// Refuses a path in a nested repository: `git_commit` would not commit what is staged there.
///
/// # Errors
/// `invalid_argument`.
pub(super) fn refuse_nested(path: &[u8], workspace: &Workspace) -> Result<(), ToolError> {
    let Some(nested) = nested(workspace, path)? else { return Ok(()) };
    let message = format!(
        "{} lies in {}, which is a repository of its own within this one; stage and commit it there with the shell tool \
         (`git -C {} add`)",
        shown(path),
        shown(&nested),
        shown(&nested)
    );
    Err(ToolError::new(Reason::InvalidArgument, message).file(shown(path)))
}

/// Stages everything below a path of the repository, or nothing on error.
pub(super) fn stage(repo: &Repo, below: &[u8], cx: &GitCall) -> GitResult<StagedFiles> {
    if let Some(hook) = hooks::active(repo, &["post-index-change"], cx)? {
        let message = format!("{hook} is active, and this tool runs none; use the shell tool for `git add`");
        return Err(GitError::needs_shell(message).into());
    }
    let mut staging = repo.staging(cx)?;
    let (steps, staged) = {
        let mut contents = WorkTreeReader::new(repo, &staging, cx)?;
        let (mut paths, mut notes) = candidates(repo, &staging, &mut contents, below)?;
        notes.extend(leave_out_denied(repo, &mut paths, below, cx)?);
        notes.extend(leave_out_sparse(repo, &mut paths, below)?);
        refuse_foreign(&mut contents, &paths)?;
        let mut steps = Vec::new();
        for path in &paths {
            cx.check()?;
            steps.push(step(repo, &mut contents, path)?);
        }
        let put = steps.iter().filter_map(IndexUpdate::put).collect::<BTreeSet<_>>();
        let replaced = replaced(repo, &staging, &put, &paths, cx)?;
        steps.extend(replaced.iter().cloned().map(IndexUpdate::Remove));
        paths.extend(replaced);
        steps.extend(smudged(&staging, &mut contents, &paths)?);
        (steps, StagedFiles { files: paths.into_iter().collect(), notes })
    };
    write(repo, &mut staging, steps, cx)?;
    Ok(staged)
}

/// Skips files that rules deny reading, since staged content becomes readable in the repository. Adds a note.
fn leave_out_denied(
    repo: &Repo,
    paths: &mut BTreeSet<Vec<u8>>,
    below: &[u8],
    cx: &GitCall,
) -> GitResult<Option<String>> {
    let all: Vec<Vec<u8>> = paths.iter().map(|path| repo.located.outside(path)).collect();
    let denied = cx.denied.of(&all)?;
    let left_out: Vec<Vec<u8>> =
        all.iter().zip(&denied).filter(|(_, denied)| **denied).map(|(path, _)| path.clone()).collect();
    if left_out.is_empty() {
        return Ok(None);
    }
    let mut kept = denied.iter().map(|denied| !denied);
    paths.retain(|_| kept.next().unwrap_or(false));
    let named = named(&left_out);
    let why = format!("{named}: not staged, because permission rules keep it from being read");
    match all == [repo.located.outside(below)] {
        true => Err(ToolError::new(Reason::Denied, why).file(named).into()),
        false => Ok(Some(why)),
    }
}

/// Skips paths outside of a sparse checkout, except the one that the caller named (`git add --sparse`). Adds a note.
fn leave_out_sparse(repo: &Repo, paths: &mut BTreeSet<Vec<u8>>, below: &[u8]) -> GitResult<Option<String>> {
    let definition = SparseDefinition::new(repo)?;
    let left_out: Vec<Vec<u8>> =
        paths.extract_if(.., |path| *path != below && !definition.has(path)).collect();
    Ok((!left_out.is_empty()).then(|| {
        let left_out: Vec<Vec<u8>> = left_out.iter().map(|path| repo.located.outside(path)).collect();
        format!(
            "{}: not staged, because it is outside of the sparse checkout; name it alone to stage it",
            named(&left_out)
        )
    }))
}

/// Collects the paths to stage below a path, and notes on what is skipped.
fn candidates(
    repo: &Repo,
    staging: &Staging,
    contents: &mut WorkTreeReader<'_>,
    below: &[u8],
) -> GitResult<(BTreeSet<Vec<u8>>, Vec<String>)> {
    refuse_in_submodule(repo, contents, below)?;
    let is_tracked = staging.entries.iter().any(|entry| is_below(&entry.path, below));
    let kind = kind(contents, below, is_tracked)?;
    let changed = |change: FileChange| change.path;
    let is_nested = |change: &FileChange| {
        change.kind == ChangeKind::TypeChanged && change.new.is_some_and(|new| new.mode == SUBMODULE)
    };
    let (nested, changes): (Vec<_>, Vec<_>) =
        contents.changes(staging.stat.as_ref(), below)?.into_iter().partition(is_nested);
    let mut notes: Vec<String> = nested.iter().map(|change| nested_note(&change.path)).collect();
    let mut paths: BTreeSet<Vec<u8>> = changes.into_iter().map(changed).collect();
    // The result names files that cannot be read, and says that they are not staged.
    paths.extend(contents.unread().iter().cloned());
    paths.extend(unmerged(staging, below).into_iter().map(changed));
    // Of a submodule, only its current commit is staged.
    let is_dir = kind == Some(FileType::Directory) && !is_submodule(contents, below);
    let is_ignored = !below.is_empty() && kind.is_some() && {
        IgnoreStack::new(repo, contents.cx)?.ignores_below(&mut contents.dirs, below, is_dir)?
    };
    if is_ignored && !is_tracked {
        return Err(ignored(below));
    }
    if is_dir && !is_ignored {
        let finder = UntrackedFinder::new(repo, &staging.entries, Untracked::All, contents.cx)?;
        let (found, skipped) = finder.find(below)?;
        notes.extend(skipped);
        for path in found {
            match path.strip_suffix(b"/") {
                Some(nested) => {
                    // Nor is the deletion of a file that was there.
                    paths.remove(nested);
                    notes.push(nested_note(nested));
                }
                None => _ = paths.insert(path),
            }
        }
        notes.sort();
        notes.dedup();
    } else if kind.is_some() && contents.staged(below).is_none() {
        paths.insert(below.to_vec());
    }
    Ok((paths, notes))
}

/// The file type at the path; `None` for a tracked file that was deleted.
fn kind(contents: &mut WorkTreeReader<'_>, path: &[u8], is_tracked: bool) -> GitResult<Option<FileType>> {
    let named = || excerpt(&shown(path)).into_owned();
    let refuse = |reason, why: String| Err(ToolError::new(reason, why).file(shown(path)).into());
    if is_administrative(path) {
        let why = format!("{} is git's own; only the work tree's files can be staged", named());
        return refuse(Reason::InvalidArgument, why);
    }
    let found = if path.is_empty() { Ok(FileType::Directory) } else { kind_at(contents, path) };
    match found {
        Ok(FileType::Directory) if is_nested(contents, path) && !is_submodule(contents, path) => {
            refuse(Reason::InvalidArgument, nested_note(path))
        }
        Ok(kind @ (FileType::Directory | FileType::RegularFile | FileType::Symlink)) => Ok(Some(kind)),
        Ok(_) => {
            let why = format!("{} is not a file; git stores only regular files and symbolic links", named());
            refuse(Reason::NotAFile, why)
        }
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if is_tracked => Ok(None),
        Err(Errno::NOENT) => {
            let why = format!("{} did not match any files; check the path", named());
            refuse(Reason::NoSuchFile, why)
        }
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let why = format!("{} is beyond a symbolic link or a file; name the link itself", named());
            refuse(Reason::InvalidArgument, why)
        }
        Err(error) => Err(failed("look at", path, error).into()),
    }
}

fn kind_at(contents: &mut WorkTreeReader<'_>, path: &[u8]) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(contents.dirs.lstat(path)?.st_mode))
}

fn is_nested(contents: &mut WorkTreeReader<'_>, path: &[u8]) -> bool {
    !path.is_empty() && contents.dirs.lstat(&[path, b"/.git"].concat()).is_ok()
}

fn is_submodule(contents: &WorkTreeReader<'_>, path: &[u8]) -> bool {
    contents.staged(path).is_some_and(|entry| entry.mode == SUBMODULE)
}

/// Refuses a path in a submodule that is not checked out here; [`refuse_nested`] is about one that is. Staging it would
/// replace the submodule.
fn refuse_in_submodule(repo: &Repo, contents: &WorkTreeReader<'_>, path: &[u8]) -> GitResult<()> {
    let mut above = memchr::memchr_iter(b'/', path).map(|end| &path[..end]);
    let Some(submodule) = above.find(|path| is_submodule(contents, path)) else { return Ok(()) };
    let [path, submodule] = [path, submodule].map(|path| shown(&repo.located.outside(path)));
    let message = format!(
        "{path} is in the submodule {submodule}, which is not checked out; use the shell tool for `git submodule update \
         --init`, or for `git rm --cached {submodule}` if it is no longer meant to be a submodule"
    );
    Err(ToolError::new(Reason::InvalidArgument, message).file(path).into())
}

fn nested_note(path: &[u8]) -> String {
    format!(
        "{} is a repository of its own and was not staged; use the shell tool for `git submodule add` if it is meant",
        shown(path)
    )
}

fn ignored(path: &[u8]) -> GitError {
    let message = format!(
        "The following paths are ignored by one of your .gitignore files: {}. Use the shell tool for `git add -f` \
         if it is meant to be added",
        shown(path)
    );
    ToolError::new(Reason::InvalidArgument, message).file(shown(path)).into()
}

/// Refuses files that need a program or an encoding conversion.
fn refuse_foreign(contents: &mut WorkTreeReader<'_>, paths: &BTreeSet<Vec<u8>>) -> GitResult<()> {
    let mut foreign = Vec::new();
    for path in paths {
        let is_file = contents
            .dirs
            .lstat(path)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        if let Some(needed) = contents.conversion(path)?.foreign.filter(|_| is_file) {
            foreign.push(format!("{} ({needed})", shown(path)));
        }
    }
    if foreign.is_empty() {
        return Ok(());
    }
    let rest = foreign.len().saturating_sub(NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let named = foreign[..foreign.len() - rest].join(", ");
    let message = format!(
        "nothing was staged: the attributes of {named}{more} ask for a conversion that this tool does not do; use \
         the shell tool for `git add`"
    );
    Err(GitError::needs_shell(message).with("files", foreign).into())
}

/// The update for a changed path. Writes its blob.
fn step(repo: &Repo, contents: &mut WorkTreeReader<'_>, path: &[u8]) -> GitResult<IndexUpdate> {
    let like = contents.staged(path).map_or(FILE, |entry| entry.mode);
    let stat = match contents.dirs.lstat(path) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(IndexUpdate::Remove(path.to_vec())),
        Err(error) => return Err(failed("look at", path, error).into()),
    };
    if like == SUBMODULE && FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return submodule(repo, contents, path, &stat);
    }
    match mode(&stat, like, repo.settings.file_mode) {
        Some(LINK) if is_submodule_list(path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)) => {
            let message = format!(
                "nothing was staged: {} is a symbolic link, which git accepts for no list of submodules; make it a file",
                shown(path)
            );
            Err(ToolError::new(Reason::InvalidArgument, message).file(shown(path)).into())
        }
        Some(LINK) => {
            let link = contents.dirs.read_link(path).map_err(|error| failed("read link", path, error))?;
            Ok(IndexUpdate::Put(entry(path, LINK, blob(repo, &link)?, &stat)))
        }
        Some(mode) => file(repo, contents, path, mode),
        None => Ok(IndexUpdate::Remove(path.to_vec())),
    }
}

fn file(repo: &Repo, contents: &mut WorkTreeReader<'_>, path: &[u8], mode: u32) -> GitResult<IndexUpdate> {
    let (stat, work) = contents.raw(path)?;
    let conversion = contents.conversion(path)?;
    let bytes = contents.clean(path, &conversion, work.clone());
    if repo.settings.safecrlf && conversion.is_lossy(&work, &bytes) {
        let message = format!(
            "staging {} would change its line endings irreversibly, which core.safecrlf forbids; make them consistent first",
            shown(path)
        );
        return Err(GitError::state(message));
    }
    Ok(IndexUpdate::Put(entry(path, mode, blob(repo, &bytes)?, &stat)))
}

fn submodule(repo: &Repo, contents: &WorkTreeReader<'_>, path: &[u8], stat: &Stat) -> GitResult<IndexUpdate> {
    let own = [&repo.located.outside(path), &b"/.git"[..]].concat();
    let head = Repo::open(contents.cx, Some(&own)).and_then(|nested| nested.head());
    match head {
        Ok(Some(head)) => Ok(IndexUpdate::Put(entry(path, SUBMODULE, head, stat))),
        _ => Err(GitError::state(format!("the submodule {} has no commit that can be staged", shown(path)))),
    }
}

fn blob(repo: &Repo, bytes: &[u8]) -> GitResult<Oid> {
    Ok(repo.git.odb()?.write(ObjectType::Blob, bytes)?)
}

fn entry(path: &[u8], mode: u32, id: Oid, stat: &Stat) -> IndexEntry {
    let time = |seconds: u32, nanoseconds: u32| IndexTime::new(seconds.cast_signed(), nanoseconds);
    IndexEntry {
        ctime: time(low(stat.st_ctime), low(stat.st_ctime_nsec)),
        mtime: time(low(stat.st_mtime), low(stat.st_mtime_nsec)),
        dev: low(stat.st_dev),
        ino: low(stat.st_ino),
        mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        file_size: low(stat.st_size),
        id,
        flags: u16::try_from(path.len()).unwrap_or(0xfff).min(0xfff),
        flags_extended: 0,
        path: path.to_vec(),
    }
}

/// "Racy" entries, whose files changed so soon after staging that only a comparison of content shows it. A rewritten
/// index would hide the change, so their size is set to zero, which forces that comparison.
fn smudged(
    staging: &Staging,
    contents: &mut WorkTreeReader<'_>,
    staged: &BTreeSet<Vec<u8>>,
) -> GitResult<Vec<IndexUpdate>> {
    let Some(stat) = &staging.stat else { return Ok(Vec::new()) };
    let mut steps = Vec::new();
    for entry in staging.entries.iter().filter(|entry| !staged.contains(&entry.path)) {
        contents.cx.check()?;
        if contents.is_racily_changed(entry, stat)? {
            let copy = IndexEntry { path: entry.path.clone(), file_size: 0, ..*entry };
            steps.push(IndexUpdate::Put(copy));
        }
    }
    Ok(steps)
}

fn write(repo: &Repo, staging: &mut Staging, steps: Vec<IndexUpdate>, cx: &GitCall) -> GitResult<()> {
    if steps.is_empty() {
        return Ok(());
    }
    for step in steps {
        let path = match &step {
            IndexUpdate::Put(entry) => &entry.path,
            IndexUpdate::Remove(path) => path,
        };
        let path = Path::new(OsStr::from_bytes(path));
        // Both updates also remove the path's conflict entries.
        match staging.index.conflict_remove(path) {
            Err(error) if error.code() != git2::ErrorCode::NotFound => return Err(error.into()),
            _ => {}
        }
        match step {
            IndexUpdate::Put(entry) => staging.index.add(&entry)?,
            IndexUpdate::Remove(_) => remove(staging, path)?,
        }
    }
    let now = repo.located.git_dir.join(Path::new("index")).stat().ok();
    let version = |stat: &Stat| (stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if now.as_ref().map(version) != staging.stat.as_ref().map(version) {
        let message = "another git process changed the staging area meanwhile; try again";
        return Err(ToolError::new(Reason::Stale, message).into());
    }
    repo.tell_locks(cx, &["index.lock"], &[])?;
    Ok(staging.index.write()?)
}

fn remove(staging: &mut Staging, path: &Path) -> GitResult<()> {
    match staging.index.remove(path, 0) {
        Err(error) if error.code() != git2::ErrorCode::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
