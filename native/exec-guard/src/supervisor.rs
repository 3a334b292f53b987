//! The thread that answers for the starts beneath one reaper.

use super::found::Found;
use super::held::Held;
use super::lineage::{Lineage, Origin, Pending, Processes};
use super::listener::{Listener, Report};
use super::memory::Words;
use super::order::{First, Vouched};
use super::resolver::{Caller, Program, Resolver, View};
use super::target::Target;
use super::task::{self, Task};
use super::writable::{Protection, Unwritable};
use beamai_isolation::{Coverage, Decision, Isolation, Start, Starter};
use beamai_sandbox::Confinement;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The port's handle of the thread. It ends with the reaper and everything beneath it.
#[derive(Clone)]
pub struct Guard(Arc<Mutex<Option<Arc<Watch>>>>);

/// What is known of one order.
pub(super) struct Watch {
    vouched: Arc<Vouched>,
    lineage: Mutex<Lineage>,
    unwritable: Unwritable,
    found: Found,
}

impl Watch {
    fn new(vouched: Arc<Vouched>) -> Self {
        Self {
            vouched,
            lineage: Mutex::default(),
            unwritable: Unwritable::default(),
            found: Found::default(),
        }
    }

    fn lineage(&self) -> MutexGuard<'_, Lineage> {
        self.lineage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resolver<'a>(&'a self, view: &'a View, caller: Caller<'a>) -> Resolver<'a> {
        Resolver { view, unwritable: &self.unwritable, found: &self.found, caller }
    }

    /// What a report is about, as it is now.
    ///
    /// # Errors
    /// As for [`Target::of`].
    pub(super) fn target(&self, view: &View, report: &Report) -> Result<Target, Errno> {
        Target::of(report, &self.resolver(view, Caller::Thread(report.thread)))
    }

    /// Notes a start that is let go on. To be called before it is.
    pub(super) fn expect(&self, pending: Pending) {
        self.lineage().expect(pending);
    }
}

impl Guard {
    /// Begins to answer for the starts beneath a reaper, of which the listener and the root directory came.
    ///
    /// # Errors
    /// `EAGAIN` where there is no thread to be had.
    pub fn start(
        listener: OwnedFd,
        root: OwnedFd,
        isolation: &Isolation,
        confinement: &Confinement,
    ) -> Result<Self, Errno> {
        let view = Arc::new(View { root, protection: Protection::of(isolation, confinement) });
        let guard = Self(Arc::default());
        let supervisor =
            Supervisor { listener: Arc::new(Listener::new(listener)), view, guard: guard.clone() };
        let thread = std::thread::Builder::new().name("beamai-exec-guard".to_owned());
        thread.spawn(move || supervisor.run()).map_err(|_| Errno::AGAIN)?;
        Ok(guard)
    }

    /// Has the starts of an order judged from here on. None of the order before is left.
    pub fn begin(&self, vouched: Arc<Vouched>) {
        *self.current() = Some(Arc::new(Watch::new(vouched)));
    }

    /// Forgets the order. Without one, everything is refused.
    pub fn end(&self) {
        *self.current() = None;
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Watch>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

struct Supervisor {
    listener: Arc<Listener>,
    view: Arc<View>,
    guard: Guard,
}

/// What becomes of a start.
enum Answer {
    GoOn,
    Fail(Errno),
    /// Somebody else answers.
    Later,
}

impl Supervisor {
    fn run(self) {
        while let Ok(Some(report)) = self.listener.next() {
            // A judge that panics allows nothing.
            let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&report)));
            match answer.unwrap_or(Err(Errno::ACCESS)) {
                Ok(Answer::GoOn) => self.listener.go_on(report.id),
                Ok(Answer::Fail(errno)) => self.listener.fail(report.id, errno),
                Ok(Answer::Later) => {}
                Err(errno) => self.listener.fail(report.id, told(errno)),
            }
        }
    }

    fn answer(&self, report: &Report) -> Result<Answer, Errno> {
        let Some(watch) = self.guard.current().clone() else { return Ok(Answer::Fail(Errno::ACCESS)) };
        let [.., number, _, token] = report.arguments;
        if report.call == libc::SYS_execve && token == watch.vouched.token {
            return self.first(report, &watch, number);
        }
        let thread = report.thread;
        let target = watch.target(&self.view, report)?;
        let task = Task::of(task::process_of(thread)?)?;
        let starter = self.starter(&watch, &task);
        // Until here, all of it may have been another process's with the same numbers.
        if !self.listener.waits(report.id) {
            return Ok(Answer::Later);
        }
        let file = target.program.image();
        let start = start(target.clone(), starter);
        let pending = |coverage| {
            let origin = Origin::new(start.file.clone(), &start.arguments, coverage);
            Pending { thread, task, file, origin: Arc::new(origin) }
        };
        match watch.vouched.judge.decide(&start) {
            Decision::Start(coverage) => {
                watch.expect(pending(coverage));
                Ok(Answer::GoOn)
            }
            Decision::Refuse => Ok(Answer::Fail(Errno::ACCESS)),
            Decision::Hold => {
                let asked = (target, pending(Coverage::NOTHING));
                let held = Held::new(&self.listener, *report, &watch, &self.view, asked);
                watch.vouched.judge.hold(start, Box::new(held));
                Ok(Answer::Later)
            }
        }
    }

    /// The first start of an order. What takes the program's place is let go on only where nobody has to be asked:
    /// otherwise the program comes, and starts it.
    fn first(&self, report: &Report, watch: &Arc<Watch>, number: u64) -> Result<Answer, Errno> {
        let vouched = &watch.vouched;
        let first = vouched.first(number).ok_or(Errno::ACCESS)?;
        let (path, arguments) = match first {
            First::Program(command) => (&command.path, &command.arguments),
            First::Place(path) => (path, &vouched.words),
        };
        let caller = Caller::Order(&vouched.directory);
        let resolver = watch.resolver(&self.view, caller);
        let program = resolver.program(path.as_os_str().as_bytes(), "cwd")?;
        let task = Task::unseen(task::process_of(report.thread)?)?;
        let file = program.image();
        let coverage = match first {
            First::Program(_) => vouched.coverage,
            First::Place(_) => {
                let starter = Starter {
                    pid: task.pid,
                    program: vouched.program.path.clone(),
                    arguments: vouched.program.arguments.clone(),
                    coverage: vouched.coverage,
                };
                let words = Words { list: arguments.clone(), is_all: true };
                let target = Target::with(program, words, &resolver);
                match vouched.judge.decide(&start(target, starter)) {
                    Decision::Start(coverage) => coverage,
                    _ => return Ok(Answer::Fail(Errno::ACCESS)),
                }
            }
        };
        let origin = Arc::new(Origin::new(path.clone(), arguments, coverage));
        watch.expect(Pending { thread: report.thread, task, file, origin });
        Ok(Answer::GoOn)
    }

    fn starter(&self, watch: &Watch, task: &Task) -> Starter {
        let origin = watch.lineage().origin(task, &Proc);
        let pid = task.pid;
        match origin {
            Some(origin) => {
                let Origin { program, arguments, coverage } = Origin::clone(&origin);
                Starter { pid, program, arguments, coverage }
            }
            None => {
                let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
                Starter { pid, program, arguments: Vec::new(), coverage: Coverage::NOTHING }
            }
        }
    }
}

fn start(target: Target, starter: Starter) -> Start {
    let Target { program, words, loaded } = target;
    let Program { called, links, file, interpreters, is_writable, .. } = program;
    let Words { list: arguments, is_all: has_all_arguments } = words;
    Start { called, links, file, loaded, interpreters, arguments, has_all_arguments, is_writable, starter }
}

/// What a process is told: what the kernel would tell it, and nothing of what went wrong out here.
fn told(errno: Errno) -> Errno {
    const KERNELS: [Errno; 6] =
        [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG, Errno::FAULT, Errno::BADF];
    if KERNELS.contains(&errno) { errno } else { Errno::ACCESS }
}

/// The machine's processes.
struct Proc;

impl Processes for Proc {
    fn task(&self, pid: i32) -> Option<Task> {
        Task::of(pid).ok()
    }

    fn is_random(&self, pid: i32) -> bool {
        task::is_random(pid)
    }
}
