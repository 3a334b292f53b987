//! Resolves the path given to `execve` to the file that the Linux kernel would run, in the sandbox's view of the file
//! system.

use super::MAX_PATH;
use super::elf;
use super::program_cache::{FileStamp, ProgramCache};
use super::script;
use super::task::{self, FileId};
use super::writable::{UnwritableDirs, WriteProtection};
use beamai_base::while_raced;
use beamai_isolation::{FileIdentity, Interpreter, NamedFile, is_loader};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, fstatvfs};
use rustix::io::Errno;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Maximum number of symbolic links on one path; the Linux kernel's limit.
pub(super) const MAX_LINKS: usize = 40;
/// `PROC_SUPER_MAGIC`: the file system type of `/proc`.
const PROC: u64 = 0x9fa0;

/// The file system as processes in the sandbox see it.
pub(super) struct SandboxRoot {
    /// Its root. Commands cannot change their root: the system call filter refuses `chroot`.
    pub(super) root: OwnedFd,
    pub(super) protection: WriteProtection,
    pub(super) found: ProgramCache,
}

/// Whose working directory and `/proc/self` are used.
#[derive(Clone, Copy)]
pub(super) enum Caller<'a> {
    Thread(i32),
    /// The reaper's child before its first start, in this directory. It names no path beneath `/proc`.
    Order(&'a Path),
}

/// A resolved program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedProgram {
    pub(super) called: PathBuf,
    pub(super) links: Vec<PathBuf>,
    pub(super) file: PathBuf,
    /// Without what they load, which depends on arguments.
    pub(super) interpreters: Vec<Interpreter>,
    /// The interpreters that the image may have as an ELF file, without the system's dynamic loader.
    pub(super) elf_interpreters: Vec<NamedFile>,
    pub(super) is_writable: bool,
    /// The file, and each interpreter.
    pub(super) stamps: Vec<FileStamp>,
}

impl ResolvedProgram {
    /// The file that becomes the image of the process: the program, or its last interpreter.
    pub(super) fn image(&self) -> FileId {
        self.stamps.last().map_or((0, 0, 0), |stamp| stamp.id)
    }

    /// The identity of the program's own file.
    pub(super) fn identity(&self) -> FileIdentity {
        self.stamps.first().map_or((0, 0), FileStamp::identity)
    }

    /// The program without what it needs to start.
    pub(super) fn into_named(self) -> NamedFile {
        let identity = self.identity();
        named(self.called, self.links, self.file, identity)
    }
}

fn named(called: PathBuf, links: Vec<PathBuf>, file: PathBuf, identity: FileIdentity) -> NamedFile {
    let mut names = [vec![called], links, vec![file]].concat();
    names.dedup();
    NamedFile { names, identity }
}

/// A resolved file.
struct ExecutableFile {
    called: PathBuf,
    links: Vec<PathBuf>,
    file: PathBuf,
    fd: OwnedFd,
    is_writable: bool,
    /// The absolute path as given, if it leads there for every process.
    path: Option<Vec<u8>>,
}

/// Resolves programs on behalf of one caller.
pub(super) struct ProgramResolver<'a> {
    pub(super) view: &'a SandboxRoot,
    pub(super) unwritable: &'a UnwritableDirs,
    pub(super) caller: Caller<'a>,
}

impl ProgramResolver<'_> {
    /// The program at a path. A relative path starts from `directory`, a link in the caller's `/proc` directory.
    ///
    /// # Errors
    /// The errno that the Linux kernel would return, as far as it can be determined.
    pub(super) fn program(&self, path: &[u8], directory: &str) -> Result<ResolvedProgram, Errno> {
        match self.view.found.again(&self.view.root, path) {
            Some(program) => Ok(program),
            None => self.with_interpreters(self.place(path, directory)?),
        }
    }

    /// The program that one of the caller's descriptors refers to.
    ///
    /// # Errors
    /// As for [`Self::program`].
    pub(super) fn program_of(&self, link: &str) -> Result<ResolvedProgram, Errno> {
        let Caller::Thread(thread) = self.caller else { return Err(Errno::ACCESS) };
        let fd = task::open_link(thread, link).map_err(|_| Errno::BADF)?;
        let called = Path::new("/proc/self").join(link);
        let place = match self.name_of(&fd)? {
            Some(file) => {
                let is_writable = self.is_writable(&fd, &file);
                ExecutableFile { called: file.clone(), links: Vec::new(), file, fd, is_writable, path: None }
            }
            None => nameless(called, Vec::new(), fd)?,
        };
        self.with_interpreters(place)
    }

    fn with_interpreters(&self, place: ExecutableFile) -> Result<ResolvedProgram, Errno> {
        let mut interpreters = Vec::new();
        let mut is_writable = place.is_writable;
        let mut last = place.fd;
        let mut stamps = vec![FileStamp::of(&last)?];
        let mut paths = vec![place.path];
        runs(&last)?;
        let (mut elf_interpreters, mut is_anybodys) = (Vec::new(), true);
        for depth in 0.. {
            let file = readable(&last)?;
            let head = read(&file, 0, script::HEAD)?;
            let Some((path, argument)) = script::interpreter(&head) else {
                for path in elf::interpreters(&head, |offset, length| read(&file, offset, length).ok()) {
                    // One that is missing, or depends on the caller, may be another one next time.
                    is_anybodys &= path.starts_with(b"/");
                    let Ok(found) = self.place(&path, "cwd") else {
                        is_anybodys = false;
                        continue;
                    };
                    if !found.is_writable && is_loader(&found.file) {
                        continue;
                    }
                    is_writable |= found.is_writable;
                    let identity = FileStamp::of(&found.fd)?.identity();
                    elf_interpreters.push(named(found.called, found.links, found.file, identity));
                }
                break;
            };
            if depth == script::MAX_INTERPRETERS {
                return Err(Errno::LOOP);
            }
            let next = self.place(path, "cwd")?;
            runs(&next.fd)?;
            is_writable |= next.is_writable;
            let stamp = FileStamp::of(&next.fd)?;
            stamps.push(stamp);
            paths.push(next.path);
            let program = named(next.called, next.links, next.file, stamp.identity());
            let argument = argument.map(|text| OsStr::from_bytes(text).to_owned());
            interpreters.push(Interpreter { program, argument, loaded: NamedFile::default() });
            last = next.fd;
        }
        let ExecutableFile { called, links, file, .. } = place;
        let program =
            ResolvedProgram { called, links, file, interpreters, elf_interpreters, is_writable, stamps };
        if !is_writable
            && is_anybodys
            && let Some(paths) = paths.into_iter().collect()
        {
            self.view.found.note(&program, paths);
        }
        Ok(program)
    }

    fn place(&self, path: &[u8], directory: &str) -> Result<ExecutableFile, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        // `components` drops a trailing slash, which is valid for directories only.
        if path.ends_with(b"/") || path.ends_with(b"/.") {
            return Err(Errno::NOTDIR);
        }
        let given = Path::new(OsStr::from_bytes(path));
        let base: Cow<'_, Path> = match given.is_absolute() {
            true => Path::new("/").into(),
            false => self.directory(directory)?.into(),
        };
        if !given.components().any(|part| part == Component::ParentDir) {
            // Most of the paths that a search by name tries do not exist, so the clean path is made afterwards.
            match open(&self.view.root, &base.join(given), ResolveFlags::NO_SYMLINKS, OFlags::empty()) {
                Ok(fd) => {
                    let own = given.components().filter(|part| *part != Component::CurDir);
                    let file: PathBuf = base.components().chain(own).collect();
                    let is_writable = self.is_writable(&fd, &file);
                    return Ok(ExecutableFile {
                        called: file.clone(),
                        links: Vec::new(),
                        file,
                        fd,
                        is_writable,
                        path: given.is_absolute().then(|| path.to_owned()),
                    });
                }
                // There are links on the path.
                Err(Errno::LOOP | Errno::XDEV | Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
        // Most often the links lead to a directory that does not have the file, as `/sbin` does. On one file system,
        // without `/proc`, links lead every process to the same place, so one call can tell.
        if let Err(errno @ (Errno::NOENT | Errno::NOTDIR)) = open(
            &self.view.root,
            &base.join(given),
            ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV,
            OFlags::empty(),
        ) {
            return Err(errno);
        }
        let mut walk = PathWalk::new(self, base.into_owned(), given);
        let place = walk.run()?;
        let is_anybodys = given.is_absolute() && !walk.depends_on_caller;
        Ok(ExecutableFile { path: is_anybodys.then(|| path.to_owned()), ..place })
    }

    /// The path of one of the caller's directories.
    fn directory(&self, link: &str) -> Result<PathBuf, Errno> {
        match self.caller {
            Caller::Order(directory) => Ok(directory.to_owned()),
            Caller::Thread(thread) => {
                let fd = task::open_link(thread, link).map_err(|_| Errno::BADF)?;
                self.name_of(&fd)?.ok_or(Errno::NOENT)
            }
        }
    }

    /// The path of `fd` in the sandbox, without links; `None` if it has none there.
    fn name_of(&self, fd: &OwnedFd) -> Result<Option<PathBuf>, Errno> {
        let name = rustix::fs::readlink(format!("/proc/self/fd/{}", fd.as_raw_fd()), Vec::new())?;
        let name = PathBuf::from(OsString::from_vec(name.into_bytes()));
        if !name.is_absolute() {
            return Ok(None);
        }
        match open_real(&self.view.root, &name).and_then(|again| task::file_id(&again, "")) {
            Ok(again) if again == task::file_id(fd, "")? => Ok(Some(name)),
            _ => Ok(None),
        }
    }

    /// Whether commands can write or replace a file. Its path contains no links.
    fn is_writable(&self, fd: &OwnedFd, file: &Path) -> bool {
        self.view.protection.lets_write(fd.as_fd(), file)
            || self.changes_in(file.parent().unwrap_or(Path::new("/")))
    }

    fn changes_in(&self, directory: &Path) -> bool {
        self.unwritable.is_writable(&self.view.protection, &self.view.root, directory)
    }
}

/// A file without a path: deleted, or never linked. It counts as writable.
fn nameless(called: PathBuf, links: Vec<PathBuf>, fd: OwnedFd) -> Result<ExecutableFile, Errno> {
    let mut called = called.into_os_string();
    called.push(" (deleted)");
    let called = PathBuf::from(called);
    Ok(ExecutableFile { file: called.clone(), called, links, fd, is_writable: true, path: None })
}

/// Walks a path component by component.
struct PathWalk<'r, 'a> {
    resolver: &'r ProgramResolver<'a>,
    /// The directory reached so far, without links.
    real: PathBuf,
    /// The components still to come.
    rest: VecDeque<OsString>,
    /// How many of the remaining components come from the given path rather than from a link.
    own: usize,
    called: PathBuf,
    links: Vec<PathBuf>,
    is_writable: bool,
    /// Whether it followed a link in `/proc`.
    depends_on_caller: bool,
}

impl<'r, 'a> PathWalk<'r, 'a> {
    fn new(resolver: &'r ProgramResolver<'a>, base: PathBuf, given: &Path) -> Self {
        let rest = names(given);
        let own = rest.len();
        Self {
            resolver,
            called: base.clone(),
            real: base,
            rest,
            own,
            links: Vec::new(),
            is_writable: false,
            depends_on_caller: false,
        }
    }

    fn run(&mut self) -> Result<ExecutableFile, Errno> {
        loop {
            let is_own = self.rest.len() <= self.own;
            // The path ended at a directory.
            let Some(name) = self.rest.pop_front() else { return Err(Errno::ACCESS) };
            self.own -= usize::from(is_own);
            if name == ".." {
                self.is_writable |= self.resolver.changes_in(&self.real);
                self.real.pop();
                // What `..` means depends on where links led, so the called path continues from the real one.
                if is_own {
                    self.called.clone_from(&self.real);
                }
                continue;
            }
            if is_own {
                self.called.push(&name);
            }
            if let Some(place) = self.step(name)? {
                return Ok(place);
            }
        }
    }

    /// Follows one component; returns the file if it was the last one.
    fn step(&mut self, name: OsString) -> Result<Option<ExecutableFile>, Errno> {
        let next = self.real.join(&name);
        let fd = open_real(&self.resolver.view.root, &next)?;
        match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
            FileType::Symlink if is_of_proc(&fd) => self.follow_of_proc(&fd, &name, next),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&fd, "", Vec::new())?;
                self.follow(Path::new(OsStr::from_bytes(target.as_bytes()))).map(|()| None)
            }
            FileType::Directory => {
                self.real = next;
                Ok(None)
            }
            _ if self.rest.is_empty() => Ok(Some(self.end(next, fd))),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn end(&mut self, file: PathBuf, fd: OwnedFd) -> ExecutableFile {
        let is_writable = self.is_writable || self.resolver.is_writable(&fd, &file);
        let (called, links) = (std::mem::take(&mut self.called), std::mem::take(&mut self.links));
        ExecutableFile { called, links, file, fd, is_writable, path: None }
    }

    /// Continues at the target of a link.
    fn follow(&mut self, target: &Path) -> Result<(), Errno> {
        // A writer of the directory can replace the link.
        self.is_writable |= self.resolver.changes_in(&self.real);
        if target.is_absolute() {
            self.real = "/".into();
        }
        for name in names(target).into_iter().rev() {
            self.rest.push_front(name);
        }
        self.note_link()
    }

    /// Records the path of the file as seen after following a link.
    fn note_link(&mut self) -> Result<(), Errno> {
        let mut path = self.real.clone();
        for name in &self.rest {
            match name == ".." {
                true => _ = path.pop(),
                false => path.push(name),
            }
        }
        self.links.push(path);
        let length: usize = self.rest.iter().map(|name| name.len() + 1).sum();
        match self.links.len() > MAX_LINKS || length > MAX_PATH {
            true => Err(Errno::LOOP),
            false => Ok(()),
        }
    }

    /// Links in `/proc` lead to a process's own files, or depend on the process that follows them: that has to be the
    /// caller.
    fn follow_of_proc(
        &mut self,
        link: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
    ) -> Result<Option<ExecutableFile>, Errno> {
        self.depends_on_caller = true;
        let Caller::Thread(thread) = self.resolver.caller else { return Err(Errno::ACCESS) };
        let process = || task::process_of(thread).and_then(task::own_number);
        match name.as_bytes() {
            b"self" => self.follow(Path::new(&process()?.to_string())).map(|()| None),
            b"thread-self" => {
                let target = format!("{}/task/{}", process()?, task::own_number(thread)?);
                self.follow(Path::new(&target)).map(|()| None)
            }
            b"mounts" | b"net" if self.real.file_name().is_some_and(|name| name == "proc") => {
                let target = rustix::fs::readlinkat(link, "", Vec::new())?;
                self.follow(Path::new(OsStr::from_bytes(target.as_bytes()))).map(|()| None)
            }
            _ => self.jump(path),
        }
    }

    /// Continues at the file or directory that a link of a process in `/proc` refers to.
    fn jump(&mut self, link: PathBuf) -> Result<Option<ExecutableFile>, Errno> {
        let below = link.strip_prefix("/").unwrap_or(&link);
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.resolver.view.root, below, flags, Mode::empty())?;
        let is_directory = FileType::from_raw_mode(fstat(&fd)?.st_mode) == FileType::Directory;
        match self.resolver.name_of(&fd)? {
            Some(real) if is_directory => {
                self.real = real;
                self.note_link().map(|()| None)
            }
            Some(real) if self.rest.is_empty() => {
                self.real.clone_from(&real);
                self.note_link()?;
                Ok(Some(self.end(real, fd)))
            }
            None if self.rest.is_empty() && !is_directory => {
                nameless(std::mem::take(&mut self.called), std::mem::take(&mut self.links), fd).map(Some)
            }
            Some(_) => Err(Errno::NOTDIR),
            None => Err(Errno::ACCESS),
        }
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

/// Opens a path with `O_PATH`. Only its last component may be a link, which is opened itself.
pub(super) fn open_real(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    open(root, path, ResolveFlags::NO_SYMLINKS, OFlags::NOFOLLOW)
}

/// Opens the target of a path with `O_PATH`, following links.
pub(super) fn open_followed(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(root, Path::new(OsStr::from_bytes(path)), ResolveFlags::empty(), OFlags::empty())
}

/// The same, but not following what leads elsewhere for each process.
pub(super) fn open_for_all(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    open(root, path, ResolveFlags::NO_MAGICLINKS, OFlags::empty())
}

fn open(root: &OwnedFd, path: &Path, resolve: ResolveFlags, flags: OFlags) -> Result<OwnedFd, Errno> {
    let (flags, resolve) = (OFlags::PATH | OFlags::CLOEXEC | flags, ResolveFlags::IN_ROOT | resolve);
    while_raced(|| rustix::fs::openat2(root, path, flags, Mode::empty(), resolve))
}

pub(super) fn is_of_proc(fd: &OwnedFd) -> bool {
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    rustix::fs::fstatfs(fd).is_ok_and(|found| found.f_type as u64 == PROC)
}

/// Fails if file type, mode or mount keep a file from being executed.
fn runs(fd: &OwnedFd) -> Result<(), Errno> {
    let found = rustix::fs::statat(fd, "", AtFlags::EMPTY_PATH)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_program = Mode::from_raw_mode(found.st_mode).intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
    match is_file && is_program && !fstatvfs(fd)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        true => Ok(()),
        false => Err(Errno::ACCESS),
    }
}

/// Opens a file for reading. A file that may be executed but not read is refused: it might name any interpreter.
fn readable(fd: &OwnedFd) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = rustix::fs::open(format!("/proc/self/fd/{}", fd.as_raw_fd()), flags, Mode::empty())?;
    Ok(File::from(fd))
}

/// At most this many bytes of a file.
fn read(file: &File, offset: u64, length: usize) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; length];
    let mut have = 0;
    while have < length {
        match rustix::io::pread(file, &mut bytes[have..], offset.saturating_add(have as u64))? {
            0 => break,
            more => have += more,
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tempfile::TempDir;

    /// openat2(2) fails with `EAGAIN` when something is renamed while it resolves a `..`.
    #[test]
    fn a_path_is_opened_while_something_else_is_renamed() {
        let (dir, elsewhere, is_over) =
            (TempDir::new().unwrap(), TempDir::new().unwrap(), AtomicBool::new(false));
        std::fs::create_dir(dir.path().join("d")).unwrap();
        let root = rustix::fs::open(dir.path(), OFlags::PATH, Mode::empty()).unwrap();
        let names = ["a", "b"].map(|name| elsewhere.path().join(name));
        std::fs::write(&names[0], "").unwrap();
        let opened = std::thread::scope(|scope| {
            scope.spawn(|| {
                for at in (0..2).cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    std::fs::rename(&names[at], &names[1 - at]).unwrap();
                }
            });
            let path = Path::new("d/../d/../d/..");
            let opened = (0..20_000).try_for_each(|_| open_for_all(&root, path).map(drop));
            is_over.store(true, Ordering::Relaxed);
            opened
        });
        assert_eq!(opened, Ok(()));
    }
}
