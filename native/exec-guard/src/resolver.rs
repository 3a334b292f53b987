//! From a path that a process names to the file that the kernel would run: resolved in the sandbox's own view.

use super::MAX_PATH;
use super::program_cache::{FileStamp, ProgramCache};
use super::script;
use super::task::{self, FileId};
use super::writable::{UnwritableDirs, WriteProtection};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, fstat, fstatvfs};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Most links on one way, as the kernel has it.
const MAX_LINKS: usize = 40;
/// The kernel's number for `/proc`.
const PROC: u64 = 0x9fa0;

/// The sandbox's file system, as its processes see it.
pub(super) struct SandboxRoot {
    /// Its root. Commands cannot have another one: the filter of system calls refuses that.
    pub(super) root: OwnedFd,
    pub(super) protection: WriteProtection,
}

/// Whose working directory and `/proc/self` count.
#[derive(Clone, Copy)]
pub(super) enum Caller<'a> {
    Thread(i32),
    /// The reaper's child before it is a program, in this directory. It names nothing beneath `/proc`.
    Order(&'a Path),
}

/// A program, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedProgram {
    pub(super) called: PathBuf,
    pub(super) links: Vec<PathBuf>,
    pub(super) file: PathBuf,
    pub(super) interpreters: Vec<PathBuf>,
    pub(super) is_writable: bool,
    /// The file, and each interpreter.
    pub(super) stamps: Vec<FileStamp>,
}

impl ResolvedProgram {
    /// The file that the process will have as its image: the program, or its last interpreter.
    pub(super) fn image(&self) -> FileId {
        self.stamps.last().map_or((0, 0, 0), |stamp| stamp.id)
    }
}

/// A file that may be executed.
struct ExecutableFile {
    called: PathBuf,
    links: Vec<PathBuf>,
    file: PathBuf,
    fd: OwnedFd,
    is_writable: bool,
    /// The path that leads there, whoever asks.
    path: Option<Vec<u8>>,
}

/// Looks for programs on behalf of one caller.
pub(super) struct ProgramResolver<'a> {
    pub(super) view: &'a SandboxRoot,
    pub(super) unwritable: &'a UnwritableDirs,
    pub(super) found: &'a ProgramCache,
    pub(super) caller: Caller<'a>,
}

impl ProgramResolver<'_> {
    /// The program at a path, relative to a directory of the caller's (a link of its `/proc`) or its working directory.
    ///
    /// # Errors
    /// What the kernel would answer, as far as that can be told.
    pub(super) fn program(&self, path: &[u8], directory: &str) -> Result<ResolvedProgram, Errno> {
        match self.found.again(&self.view.root, path) {
            Some(program) => Ok(program),
            None => self.with_interpreters(self.place(path, directory)?),
        }
    }

    /// The program that a descriptor of the caller's names.
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
        for depth in 0.. {
            let head = head(&last)?;
            let Some(path) = script::interpreter(&head) else { break };
            if depth == script::MAX_INTERPRETERS {
                return Err(Errno::LOOP);
            }
            let next = self.place(path, "cwd")?;
            runs(&next.fd)?;
            is_writable |= next.is_writable;
            stamps.push(FileStamp::of(&next.fd)?);
            paths.push(next.path);
            interpreters.extend([next.called].into_iter().chain(next.links).chain([next.file]));
            interpreters.dedup();
            last = next.fd;
        }
        let ExecutableFile { called, links, file, .. } = place;
        let program = ResolvedProgram { called, links, file, interpreters, is_writable, stamps };
        if !is_writable && let Some(paths) = paths.into_iter().collect() {
            self.found.note(&program, paths);
        }
        Ok(program)
    }

    fn place(&self, path: &[u8], directory: &str) -> Result<ExecutableFile, Errno> {
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let given = Path::new(OsStr::from_bytes(path));
        let base = match given.is_absolute() {
            true => PathBuf::from("/"),
            false => self.directory(directory)?,
        };
        let climbs = given.components().any(|part| part == Component::ParentDir);
        // Components forget a last slash, which only a directory may have.
        if path.ends_with(b"/") || path.ends_with(b"/.") {
            return Err(Errno::NOTDIR);
        }
        let straight: PathBuf = base.components().chain(given.components()).collect();
        if !climbs {
            match open(&self.view.root, &straight, ResolveFlags::NO_SYMLINKS, OFlags::empty()) {
                Ok(fd) => {
                    let is_writable = self.is_writable(&fd, &straight);
                    return Ok(ExecutableFile {
                        called: straight.clone(),
                        links: Vec::new(),
                        file: straight,
                        fd,
                        is_writable,
                        path: given.is_absolute().then(|| path.to_owned()),
                    });
                }
                // There are links on the way.
                Err(Errno::LOOP | Errno::XDEV | Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
        let mut walk = PathWalk::new(self, base, given);
        let place = walk.run()?;
        let is_anybodys = given.is_absolute() && !walk.depends_on_caller;
        Ok(ExecutableFile { path: is_anybodys.then(|| path.to_owned()), ..place })
    }

    /// Where a directory of the caller's stands.
    fn directory(&self, link: &str) -> Result<PathBuf, Errno> {
        match self.caller {
            Caller::Order(directory) => Ok(directory.to_owned()),
            Caller::Thread(thread) => {
                let fd = task::open_link(thread, link).map_err(|_| Errno::BADF)?;
                self.name_of(&fd)?.ok_or(Errno::NOENT)
            }
        }
    }

    /// The path, without links, at which the sandbox sees what `fd` names; `None` where it has none.
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

    /// Whether commands can write a file without links in its path, or exchange it.
    fn is_writable(&self, fd: &OwnedFd, file: &Path) -> bool {
        self.view.protection.lets_write(fd.as_fd(), file)
            || self.changes_in(file.parent().unwrap_or(Path::new("/")))
    }

    fn changes_in(&self, directory: &Path) -> bool {
        self.unwritable.is_writable(&self.view.protection, &self.view.root, directory)
    }
}

/// A file that has no path any more, or never had one: nothing can be said for it.
fn nameless(called: PathBuf, links: Vec<PathBuf>, fd: OwnedFd) -> Result<ExecutableFile, Errno> {
    let mut called = called.into_os_string();
    called.push(" (deleted)");
    let called = PathBuf::from(called);
    Ok(ExecutableFile { file: called.clone(), called, links, fd, is_writable: true, path: None })
}

/// The way to a file, one name after the other.
struct PathWalk<'r, 'a> {
    resolver: &'r ProgramResolver<'a>,
    /// Where it is now, without links.
    real: PathBuf,
    /// What is left of it.
    rest: VecDeque<OsString>,
    /// How many of the names left are the caller's own and not a link's.
    own: usize,
    called: PathBuf,
    links: Vec<PathBuf>,
    is_writable: bool,
    /// Whether it went over a link of `/proc`.
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
            // The way ended at a directory.
            let Some(name) = self.rest.pop_front() else { return Err(Errno::ACCESS) };
            self.own -= usize::from(is_own);
            if name == ".." {
                self.is_writable |= self.resolver.changes_in(&self.real);
                self.real.pop();
                // Where this leads is no matter of names.
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

    /// Goes on by one name; the file, where that is the end.
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

    /// Goes on where a link leads.
    fn follow(&mut self, target: &Path) -> Result<(), Errno> {
        // Who can change the directory can put another link there.
        self.is_writable |= self.resolver.changes_in(&self.real);
        if target.is_absolute() {
            self.real = "/".into();
        }
        for name in names(target).into_iter().rev() {
            self.rest.push_front(name);
        }
        self.note_link()
    }

    /// Notes what the file is called from here on.
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

    /// Links of `/proc` lead to what processes have, or mean whoever asks, which is the caller and not this process.
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

    /// Goes on at what a process has.
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

/// Opens what lies at a path that has no links but at its end, for its name only.
pub(super) fn open_real(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    open(root, path, ResolveFlags::NO_SYMLINKS, OFlags::NOFOLLOW)
}

/// Opens what a path leads to, for its name only.
pub(super) fn open_followed(root: &OwnedFd, path: &[u8]) -> Result<OwnedFd, Errno> {
    open(root, Path::new(OsStr::from_bytes(path)), ResolveFlags::empty(), OFlags::empty())
}

fn open(root: &OwnedFd, path: &Path, resolve: ResolveFlags, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | flags;
    rustix::fs::openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT | resolve)
}

fn is_of_proc(fd: &OwnedFd) -> bool {
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    rustix::fs::fstatfs(fd).is_ok_and(|found| found.f_type as u64 == PROC)
}

/// Whether the kernel would run a file, as far as its kind and mode tell.
fn runs(fd: &OwnedFd) -> Result<(), Errno> {
    let found = rustix::fs::statat(fd, "", AtFlags::EMPTY_PATH)?;
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_program = Mode::from_raw_mode(found.st_mode).intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH);
    match is_file && is_program && !fstatvfs(fd)?.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        true => Ok(()),
        false => Err(Errno::ACCESS),
    }
}

/// The beginning of a file. One that may be executed and not read is refused: it might name any interpreter.
fn head(fd: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(format!("/proc/self/fd/{}", fd.as_raw_fd()), flags, Mode::empty())?;
    let mut head = vec![0; script::HEAD];
    let mut length = 0;
    loop {
        match rustix::io::pread(&file, &mut head[length..], length as u64)? {
            0 => break,
            more => length += more,
        }
        if length == script::HEAD {
            break;
        }
    }
    head.truncate(length);
    Ok(head)
}
