//! Runs a program to its end: writes its input, collects its output, enforces its deadline.

use super::child::Child;
use super::message::CommandReport;
use super::pause::Pause;
use super::running;
use beamai_base::CancelToken;
use beamai_isolation::Planted;
use beamai_sandbox::SetupFailure;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval between progress messages.
const PACE: Duration = Duration::from_millis(200);

/// How long to wait for killed processes to disappear.
const GRACE: Duration = Duration::from_secs(10);
/// Read buffer; uninitialized, because zeroing it costs more than a small read.
type Chunk = [MaybeUninit<u8>; 16 << 10];
/// Maximum data in a pipe after all its writers are gone; anything beyond comes from a process outside that was given
/// the pipe.
const MOST_IN_A_PIPE: usize = 1 << 20;

/// How a program is run.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// The whole standard input.
    pub input: &'a [u8],
    /// When it is killed.
    pub deadline: Option<Instant>,
    /// Time that does not count towards the deadline.
    pub pause: Option<Arc<Pause>>,
    /// Kills it when the caller cancels.
    pub wake: CancelWaker,
    /// Receives progress.
    pub listener: Option<ProgressListener<'a>>,
}

/// Receives progress a few times per second: running time, and bytes of output.
pub struct ProgressListener<'a>(pub &'a dyn Fn(Duration, u64));

impl std::fmt::Debug for ProgressListener<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

/// Polling interval while the program's clock is paused.
const LOOK: Duration = Duration::from_millis(200);

/// Why a program has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// By itself.
    Itself,
    /// It timed out.
    TimedOut,
    /// The caller cancelled.
    Cancelled,
}

/// An output stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Receives a program's output. Must not block for long.
pub trait OutputSink {
    /// Receives bytes of a stream; never empty.
    fn take(&mut self, source: OutputStream, bytes: &[u8]);
}

/// The result of a program.
#[derive(Debug)]
pub struct RunResult {
    /// Why it ended.
    pub end: RunEnd,
    /// The reaper's report; an error if the reaper was lost, or could not kill everything within ten seconds.
    pub report: Result<CommandReport, Errno>,
    /// Files planted for the person's own git, and what was done about them.
    pub planted: Vec<Planted>,
}

/// A cancel token that can be polled as a descriptor.
#[derive(Debug)]
pub struct CancelWaker {
    cancel: CancelToken,
    bell: Arc<OwnedFd>,
}

impl CancelWaker {
    /// Watches `cancel`. Created before a program is started, so that a shortage is reported before anything runs.
    ///
    /// # Errors
    /// If no descriptor is available.
    pub fn on(cancel: &CancelToken) -> Result<Self, SetupFailure> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| SetupFailure::new("create the event for cancellation", errno))?;
        let bell = Arc::new(bell);
        let ringer = Arc::clone(&bell);
        cancel.on_cancel(move || _ = rustix::io::write(&ringer, &1_u64.to_ne_bytes()));
        Ok(Self { cancel: cancel.clone(), bell })
    }
}

/// Runs a program to its end and passes its output to the sink. If waiting fails, the program is killed and the report
/// is the error.
pub fn collect(child: Child, terms: &RunOptions<'_>, sink: &mut dyn OutputSink) -> RunResult {
    let mut run = ProgramRun::new(child, terms);
    let watched = run.watch(sink);
    run.stdout.read_what_is_left(sink);
    run.stderr.read_what_is_left(sink);
    if let Err(errno) = watched {
        return RunResult { end: run.end, report: Err(errno), planted: clean_later(run.child) };
    }
    let confinement = Arc::clone(&run.child.confinement);
    // The reaper may have been told before this thread was.
    if run.end == RunEnd::Itself && running::are_ending() {
        run.end = RunEnd::Cancelled;
    }
    // Until the end of this function: the program ends only after the removal.
    let _running = run.child.running.take();
    let report = run.child.report();
    // All its processes are gone, so nothing can plant the files again.
    let planted = confinement.remove_planted();
    RunResult { end: run.end, report, planted }
}

/// What a program plants is removed when its last process has ended, and reported on standard error: while one is left, it
/// could plant it again.
fn clean_later(child: Child) -> Vec<Planted> {
    let why = "some processes of the command may still be there, and can leave more";
    let planted = child.confinement.not_cleaned(why);
    child.kill();
    let clean = move || _ = child.ending();
    _ = std::thread::Builder::new().name("beamai-late-end".to_owned()).spawn(clean);
    planted
}

struct ProgramRun<'a> {
    child: Child,
    terms: &'a RunOptions<'a>,
    input: &'a [u8],
    stdout: StreamPipe,
    stderr: StreamPipe,
    end: RunEnd,
    /// When the program is killed, or, after that, when waiting is given up.
    until: Option<Instant>,
    started: Instant,
    /// Bytes of output so far.
    output: usize,
    /// Time of the next progress message.
    due: Option<Instant>,
}

/// An output stream that has not ended.
struct StreamPipe {
    source: OutputStream,
    fd: Option<OwnedFd>,
}

impl<'a> ProgramRun<'a> {
    fn new(mut child: Child, terms: &'a RunOptions<'a>) -> Self {
        let stdout = StreamPipe { source: OutputStream::Stdout, fd: child.stdout.take() };
        let stderr = StreamPipe { source: OutputStream::Stderr, fd: child.stderr.take() };
        let (end, until) = (RunEnd::Itself, terms.deadline);
        let started = Instant::now();
        let due = terms.listener.is_some().then(|| started + PACE);
        let (input, output) = (terms.input, 0);
        let mut run = Self { child, terms, input, stdout, stderr, end, until, started, output, due };
        run.feed();
        run
    }

    /// Waits for the reaper's report; the error is the reason why there will be none.
    fn watch(&mut self, sink: &mut dyn OutputSink) -> Result<(), Errno> {
        let mut chunk: Chunk = [MaybeUninit::uninit(); _];
        loop {
            let has_report = self.wait()?;
            self.output += self.stdout.read(&mut chunk, sink);
            self.output += self.stderr.read(&mut chunk, sink);
            if has_report {
                return Ok(());
            }
            self.feed();
            self.tell();
            if self.is_given_up() {
                return Err(Errno::TIMEDOUT);
            }
        }
    }

    /// Waits for an event; true if the report can be read.
    fn wait(&self) -> Result<bool, Errno> {
        let streams = [&self.stdout, &self.stderr].into_iter().filter_map(|stream| stream.fd.as_ref());
        let input = self.child.stdin.as_ref().map(|fd| PollFd::new(fd, PollFlags::OUT));
        // After a cancellation the descriptor stays readable, so polling it again would spin.
        let wake = (self.end == RunEnd::Itself).then(|| PollFd::new(&self.terms.wake.bell, PollFlags::IN));
        let mut fds = vec![PollFd::from_borrowed_fd(self.child.control(), PollFlags::IN)];
        fds.extend(streams.map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(input.into_iter().chain(wake));
        let first = self.over().into_iter().chain(self.due).min();
        let time = first.map(|until| timespec(until.saturating_duration_since(Instant::now())));
        match poll(&mut fds, time.as_ref()) {
            Ok(_) => Ok(!fds[0].revents().is_empty()),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// The deadline, or the next check if the clock is paused.
    fn over(&self) -> Option<Instant> {
        match (self.until, &self.terms.pause, self.end) {
            (Some(until), Some(pause), RunEnd::Itself) => {
                pause.extend(until).or_else(|| Some(Instant::now() + LOOK))
            }
            (until, _, _) => until,
        }
    }

    fn tell(&mut self) {
        if let (Some(ProgressListener(hear)), Some(due)) = (&self.terms.listener, self.due)
            && Instant::now() >= due
        {
            hear(self.started.elapsed(), self.output as u64);
            self.due = Some(Instant::now() + PACE);
        }
    }

    /// Writes as much input as the program accepts. The program may close its input early.
    fn feed(&mut self) {
        while let (Some(stdin), false) = (&self.child.stdin, self.input.is_empty()) {
            match retry_on_intr(|| rustix::io::write(stdin, self.input)) {
                Ok(written) => self.input = &self.input[written..],
                Err(Errno::AGAIN) => return,
                Err(_) => break,
            }
        }
        self.child.stdin = None;
    }

    /// Kills the program on timeout or cancellation; true if killing it has taken too long.
    fn is_given_up(&mut self) -> bool {
        let is_late = self.over().is_some_and(|until| Instant::now() >= until);
        let end = match self.end {
            RunEnd::Itself if self.terms.wake.cancel.is_cancelled() => RunEnd::Cancelled,
            RunEnd::Itself if is_late => RunEnd::TimedOut,
            RunEnd::Itself => return false,
            RunEnd::TimedOut | RunEnd::Cancelled => return is_late,
        };
        self.end = end;
        self.until = Some(Instant::now() + GRACE);
        self.child.kill();
        false
    }
}

impl StreamPipe {
    /// Reads once if data is available, and closes the stream at its end. Returns the number of bytes.
    fn read(&mut self, chunk: &mut Chunk, sink: &mut dyn OutputSink) -> usize {
        let Some(fd) = &self.fd else { return 0 };
        match rustix::io::read(fd, chunk) {
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Ok((bytes, _)) if !bytes.is_empty() => {
                sink.take(self.source, bytes);
                bytes.len()
            }
            Ok(_) | Err(_) => {
                self.fd = None;
                0
            }
        }
    }

    fn read_what_is_left(&mut self, sink: &mut dyn OutputSink) {
        let mut chunk: Chunk = [MaybeUninit::uninit(); _];
        let mut total = 0;
        while total < MOST_IN_A_PIPE {
            match self.read(&mut chunk, sink) {
                0 => return,
                count => total += count,
            }
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
