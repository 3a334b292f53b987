//! The thread that decides about the starts beneath one reaper.

use super::expected_start::{ExpectedProgram, ExpectedStart};
use super::file_open;
use super::lineage::{AllowedStart, Lineage, PendingStart};
use super::listener::{Notification, NotificationListener};
use super::memory::ArgumentList;
use super::program_cache::ProgramCache;
use super::resolver::{Caller, ProgramResolver, ResolvedProgram, SandboxRoot};
use super::slice;
use super::target::{self, StartTarget};
use super::task::{self, ProcessInfo};
use super::waiting_start::{AskedStart, WaitingStart};
use super::writable::{UnwritableDirs, WriteProtection};
use beamai_isolation::{Isolation, ProgramStart, StartCoverage, StartDecision, Starter};
use beamai_sandbox::Confinement;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The port's handle of the supervisor thread, which ends when the reaper and all processes beneath it have ended.
#[derive(Clone)]
pub struct GuardHandle(Arc<Mutex<Option<Arc<OrderState>>>>);

/// The state of one order.
pub(super) struct OrderState {
    vouched: Arc<ExpectedStart>,
    lineage: Mutex<Lineage>,
    unwritable: UnwritableDirs,
}

impl OrderState {
    fn new(vouched: Arc<ExpectedStart>) -> Self {
        Self { vouched, lineage: Mutex::default(), unwritable: UnwritableDirs::default() }
    }

    /// Whether all that it starts is covered, and only deny rules decide.
    fn covers_everything(&self) -> bool {
        self.vouched.coverage == StartCoverage::Everything
    }

    fn lineage(&self) -> MutexGuard<'_, Lineage> {
        self.lineage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resolver<'a>(&'a self, view: &'a SandboxRoot, caller: Caller<'a>) -> ProgramResolver<'a> {
        ProgramResolver { view, unwritable: &self.unwritable, caller }
    }

    /// What a notification is about, at this moment.
    ///
    /// # Errors
    /// As for [`StartTarget::of`].
    pub(super) fn target(&self, view: &SandboxRoot, report: &Notification) -> Result<StartTarget, Errno> {
        StartTarget::of(report, &self.resolver(view, Caller::Thread(report.thread)))
    }

    /// Records an allowed start. Must be called before the answer is sent.
    pub(super) fn expect(&self, pending: PendingStart) {
        self.lineage().expect(pending);
    }
}

impl GuardHandle {
    /// Starts the thread for a reaper, with the reaper's listener and root directory.
    ///
    /// # Errors
    /// `EAGAIN` if no thread can be created.
    pub fn start(
        listener: OwnedFd,
        root: OwnedFd,
        isolation: &Isolation,
        confinement: &Confinement,
    ) -> Result<Self, Errno> {
        let protection = WriteProtection::of(isolation, confinement);
        let view = Arc::new(SandboxRoot { root, protection, found: ProgramCache::default() });
        let guard = Self(Arc::default());
        let supervisor = Supervisor {
            listener: Arc::new(NotificationListener::new(listener)),
            view,
            guard: guard.clone(),
        };
        let thread = std::thread::Builder::new().name("beamai-exec-guard".to_owned());
        thread.spawn(move || supervisor.run()).map_err(|_| Errno::AGAIN)?;
        Ok(guard)
    }

    /// Begins an order: its starts are judged from here on. No process of the previous order may be left.
    pub fn begin(&self, vouched: Arc<ExpectedStart>) {
        *self.current() = Some(Arc::new(OrderState::new(vouched)));
    }

    /// Ends the order. Without one, every start is refused.
    pub fn end(&self) {
        *self.current() = None;
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<OrderState>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for GuardHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

struct Supervisor {
    listener: Arc<NotificationListener>,
    view: Arc<SandboxRoot>,
    guard: GuardHandle,
}

/// The answer to a notification.
enum StartResponse {
    GoOn,
    Fail(Errno),
    /// The answer comes from elsewhere, or is no longer needed.
    Later,
}

impl Supervisor {
    fn run(self) {
        slice::shorten();
        while let Ok(Some(report)) = self.listener.next() {
            // If the judge panics, the start is refused.
            let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&report)));
            match answer.unwrap_or(Err(Errno::ACCESS)) {
                Ok(StartResponse::GoOn) => self.listener.go_on(report.id),
                Ok(StartResponse::Fail(errno)) => self.listener.fail(report.id, errno),
                Ok(StartResponse::Later) => {}
                Err(errno) => self.listener.fail(report.id, told(errno)),
            }
        }
    }

    fn answer(&self, report: &Notification) -> Result<StartResponse, Errno> {
        let Some(watch) = self.guard.current().clone() else { return Ok(StartResponse::Fail(Errno::ACCESS)) };
        if file_open::is_open(report) {
            return self.opened(report, &watch);
        }
        let [.., number, _, token] = report.arguments;
        if report.call == libc::SYS_execve && token == watch.vouched.token {
            return self.first(report, &watch, number);
        }
        let thread = report.thread;
        let target = watch.target(&self.view, report)?;
        let (file, stamps) = (target.program.image(), target.program.stamps.clone());
        let mut start = start(target, unknown(0));
        // All processes beneath the reaper are of this order, so it does not matter which one starts the program.
        if watch.covers_everything() && watch.vouched.judge.admits(&start) {
            let is_still_there = self.listener.waits(report.id);
            return Ok(if is_still_there { StartResponse::GoOn } else { StartResponse::Later });
        }
        let task = match task::process_of(thread).and_then(ProcessInfo::of) {
            Ok(task) => task,
            Err(errno) => {
                // It fails anyway, as where the process's first thread has ended; one that a rule denies is listed.
                if !watch.vouched.judge.admits(&start) {
                    watch.vouched.judge.decide(&start);
                }
                return Err(errno);
            }
        };
        start.starter = self.starter(&watch, &task);
        // Only now is it certain that nothing read above came from a later process with the same number.
        if !self.listener.waits(report.id) {
            return Ok(StartResponse::Later);
        }
        let pending = |start: ProgramStart, coverage| {
            let ProgramStart { file: program, arguments, has_all_arguments, .. } = start;
            let origin = AllowedStart::new(program, arguments, has_all_arguments, coverage);
            PendingStart { thread, task, file, origin: Arc::new(origin) }
        };
        match watch.vouched.judge.decide(&start) {
            StartDecision::Start(coverage) => {
                watch.expect(pending(start, coverage));
                Ok(StartResponse::GoOn)
            }
            StartDecision::Refuse => Ok(StartResponse::Fail(Errno::ACCESS)),
            StartDecision::Hold => {
                start.starter.directory = task::directory(thread);
                let pending = pending(start.clone(), StartCoverage::NOTHING);
                let asked = AskedStart { start: start.clone(), stamps, pending };
                let held = WaitingStart::new(&self.listener, *report, &watch, &self.view, asked);
                watch.vouched.judge.hold(start, Box::new(held));
                Ok(StartResponse::Later)
            }
        }
    }

    /// A file that is opened to write. Only those of shells whose text was judged are judged: what other programs write
    /// is their own. A process that cannot be looked into is another program.
    fn opened(&self, report: &Notification, watch: &OrderState) -> Result<StartResponse, Errno> {
        if watch.covers_everything() {
            return Ok(StartResponse::GoOn);
        }
        let Ok(task) = task::process_of(report.thread).and_then(ProcessInfo::of) else {
            return Ok(StartResponse::GoOn);
        };
        let origin = watch.lineage().origin(&task);
        let shell = origin.filter(|origin| origin.coverage == StartCoverage::JudgedWithFiles);
        let Some(shell) = shell else { return Ok(StartResponse::GoOn) };
        let path = file_open::opened(report)?;
        if !self.listener.waits(report.id) {
            return Ok(StartResponse::Later);
        }
        let Some(path) = path else { return Ok(StartResponse::GoOn) };
        let file = file_open::file(report, &self.view.root, &path)?;
        match watch.vouched.judge.writes(&path, file.as_deref(), &shell.starter(task.pid)) {
            true => Ok(StartResponse::GoOn),
            false => Ok(StartResponse::Fail(Errno::ACCESS)),
        }
    }

    /// The first start of an order. A replacement for the program is allowed only if nobody has to be asked; otherwise the
    /// program itself starts, and starts it in turn.
    fn first(
        &self,
        report: &Notification,
        watch: &Arc<OrderState>,
        number: u64,
    ) -> Result<StartResponse, Errno> {
        let vouched = &watch.vouched;
        let first = vouched.first(number).ok_or(Errno::ACCESS)?;
        let (path, arguments) = match first {
            ExpectedProgram::Program(command) => (&command.path, &command.arguments),
            ExpectedProgram::Place(path) => (path, &vouched.words),
        };
        let caller = Caller::Order(&vouched.directory);
        let resolver = watch.resolver(&self.view, caller);
        let program = resolver.program(path.as_os_str().as_bytes(), "cwd")?;
        let task = ProcessInfo::unseen(task::process_of(report.thread)?)?;
        let file = program.image();
        let coverage = match first {
            ExpectedProgram::Program(_) => vouched.coverage,
            ExpectedProgram::Place(_) => {
                let starter = Starter {
                    pid: task.pid,
                    program: vouched.program.path.clone(),
                    arguments: vouched.program.arguments.clone(),
                    has_all_arguments: true,
                    directory: None,
                    coverage: vouched.coverage,
                };
                // The loader may be given a path through `/proc/self`. Where that leads is only known once the shell
                // starts it.
                if target::loads(&program) {
                    return Ok(StartResponse::Fail(Errno::ACCESS));
                }
                let words = ArgumentList { list: arguments.clone(), is_all: true };
                let target = StartTarget::with(program, path.clone().into(), words, &resolver);
                match vouched.judge.decide(&start(target, starter)) {
                    StartDecision::Start(coverage) => coverage,
                    _ => return Ok(StartResponse::Fail(Errno::ACCESS)),
                }
            }
        };
        let origin = Arc::new(AllowedStart::new(path.clone(), arguments.clone(), true, coverage));
        watch.expect(PendingStart { thread: report.thread, task, file, origin });
        Ok(StartResponse::GoOn)
    }

    /// The starter, from the start that it comes from. Where everything is covered, starts are not remembered, and a
    /// process is described by what it says of itself, which only messages show.
    fn starter(&self, watch: &OrderState, task: &ProcessInfo) -> Starter {
        let pid = task.pid;
        let origin = if watch.covers_everything() { None } else { watch.lineage().origin(task) };
        match origin {
            Some(origin) => origin.starter(pid),
            None => {
                let ArgumentList { list: arguments, is_all: has_all_arguments } =
                    match watch.covers_everything() {
                        true => task::arguments(pid),
                        false => ArgumentList { list: Vec::new(), is_all: false },
                    };
                let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
                Starter { program, arguments, has_all_arguments, ..unknown(pid) }
            }
        }
    }
}

/// A starter of which nothing is known, and which so covers nothing.
fn unknown(pid: i32) -> Starter {
    Starter {
        pid,
        program: PathBuf::new(),
        arguments: Vec::new(),
        has_all_arguments: false,
        directory: None,
        coverage: StartCoverage::NOTHING,
    }
}

/// A start as the judge gets it.
pub(super) fn start(target: StartTarget, starter: Starter) -> ProgramStart {
    let StartTarget { program, words, given, loaded } = target;
    let identity = program.identity();
    let ResolvedProgram { called, links, file, interpreters, elf_interpreters, is_writable, .. } = program;
    let ArgumentList { list: arguments, is_all: has_all_arguments } = words;
    ProgramStart {
        called,
        links,
        file,
        identity,
        given,
        loaded,
        interpreters,
        elf_interpreters,
        arguments,
        has_all_arguments,
        is_writable,
        starter,
    }
}

/// The errno for the process: what the Linux kernel itself could return, else `EACCES`, so that errors of the
/// supervisor do not show.
fn told(errno: Errno) -> Errno {
    const KERNELS: [Errno; 6] =
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG, Errno::FAULT, Errno::BADF];
    if KERNELS.contains(&errno) { errno } else { Errno::ACCESS }
}
