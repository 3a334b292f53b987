//! The port's side of the launcher.

use super::child::{Child, OpenOutlet};
use super::frame;
use super::message::{Setup, from_bytes, to_bytes};
use super::pipes::Pipes;
use super::running::RunningProgram;
use super::spec::ProgramSpec;
use beamai_exec_guard::{ExpectedStart, GuardHandle};
use beamai_isolation::{Isolation, Outlet};
use beamai_sandbox::Confinement;
use beamai_sandbox::SetupFailure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Timeout for creating a reaper, after which the launcher is considered stuck.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of idle reapers; beyond it, the one that has been idle longest is ended.
const MAX_STOCK: usize = 8;
/// Maximum number of reapers in a row that may die before they take an order. Idle ones may have ended because of what
/// their last command left.
const MAX_TRIES: usize = MAX_STOCK + 5;

/// Sets the program whose subcommand `launcher` calls [`launcher_main`](super::launcher_main). The port sets
/// `/proc/self/exe`, which stays valid when its file is replaced. Only the first call counts.
pub fn set_program(path: impl Into<PathBuf>) {
    _ = PROGRAM.set(path.into());
}

/// The program that was set.
pub fn program() -> Option<&'static PathBuf> {
    PROGRAM.get()
}

/// The launcher of this program. Its process is started with the first command, and again if it dies.
pub struct Launcher(Mutex<Option<LauncherProcess>>);

/// A launcher process.
struct LauncherProcess {
    socket: OwnedFd,
    /// Idle reapers.
    stock: Vec<IdleReaper>,
}

/// An order for a reaper, with everything that belongs to it.
struct PendingOrder<'a> {
    vouched: Option<Arc<ExpectedStart>>,
    body: &'a [u8],
    fds: &'a [BorrowedFd<'a>],
    outlet: Option<&'a Arc<dyn Outlet>>,
}

/// A reaper that waits for an order.
pub(super) struct IdleReaper {
    pub(super) isolation: Isolation,
    pub(super) confinement: Arc<Confinement>,
    pub(super) control: OwnedFd,
    /// The exec guard that supervises its program starts.
    pub(super) guard: Option<GuardHandle>,
    /// The listening socket for network connections of its programs.
    pub(super) proxy: Option<OwnedFd>,
}

impl Launcher {
    /// The launcher of this process.
    pub fn shared() -> &'static Self {
        static SHARED: Launcher = Launcher(Mutex::new(None));
        &SHARED
    }

    /// Starts a program. If it cannot be executed, its report says so.
    ///
    /// # Errors
    /// The step that failed; [`SetupFailure::is_shortage`] tells whether a retry may help.
    pub fn spawn(&self, spec: &ProgramSpec) -> Result<Child, SetupFailure> {
        self.spawn_connected(spec, None)
    }

    /// As [`Launcher::spawn`], with an outlet that serves the program's network connections until none of its processes
    /// is left. The confinement must have a [proxy](Confinement::has_proxy).
    ///
    /// # Errors
    /// Those of [`Launcher::spawn`].
    pub fn spawn_connected(
        &self,
        spec: &ProgramSpec,
        outlet: Option<&Arc<dyn Outlet>>,
    ) -> Result<Child, SetupFailure> {
        let vouched = spec.vouched()?.map(Arc::new);
        let body = spec.order(vouched.as_ref().map_or(0, |vouched| vouched.token))?;
        let pipes = Pipes::open(spec.stdin).map_err(|errno| SetupFailure::new("make pipes", errno))?;
        let fds: Vec<_> = [&spec.directory].into_iter().chain(&pipes.theirs).map(AsFd::as_fd).collect();
        let order = PendingOrder { vouched, body: &body, fds: &fds, outlet };
        let running = spec.confinement.is_cleaned_up_after().then(RunningProgram::register).transpose()?;
        let (ready, opened) = self.order(&spec.confinement, &order)?;
        running.iter().try_for_each(|running| running.has_reaper(&ready.control))?;
        Ok(Child {
            stdin: pipes.stdin,
            stdout: Some(pipes.stdout),
            stderr: Some(pipes.stderr),
            isolation: ready.isolation,
            // The reaper has an equal confinement, except for the state from before this command.
            confinement: Arc::clone(&spec.confinement),
            control: ready.control,
            guard: ready.guard,
            proxy: ready.proxy,
            opened,
            was_killed: AtomicBool::new(false),
            running,
        })
    }

    /// Gives the order to a reaper. If a reaper has not taken it, because it had died or become outdated, it has done
    /// nothing, so another one is tried.
    fn order(
        &self,
        confinement: &Arc<Confinement>,
        order: &PendingOrder<'_>,
    ) -> Result<(IdleReaper, Option<OpenOutlet>), SetupFailure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let ready = self.reaper(confinement)?;
            if let (Some(guard), Some(vouched)) = (&ready.guard, &order.vouched) {
                guard.begin(Arc::clone(vouched));
            }
            let opened = ready.connect(order.outlet)?;
            match ready.give(order.body, order.fds) {
                Ok(()) => return Ok((ready, opened)),
                Err(Errno::PIPE) if tries < MAX_TRIES => {}
                Err(errno) => return Err(SetupFailure::new("give an order to the reaper", errno)),
            }
        }
    }

    fn reaper(&self, confinement: &Arc<Confinement>) -> Result<IdleReaper, SetupFailure> {
        let mut state = self.lock();
        if let Some(Ok(taken)) = state.as_mut().map(|running| running.take(confinement)) {
            return taken;
        }
        // It was not running, or has died: start it.
        let running = state.insert(LauncherProcess::start()?);
        running.take(confinement).unwrap_or_else(|errno| {
            *state = None;
            Err(SetupFailure::new("reach the launcher", errno))
        })
    }

    /// Keeps a reaper whose program has left nothing behind.
    pub(super) fn keep(&self, ready: IdleReaper) {
        let mut state = self.lock();
        let Some(running) = state.as_mut() else { return };
        running.stock.push(ready);
        let outlived = (running.stock.len() > MAX_STOCK).then(|| running.stock.remove(0));
        drop(state);
        drop(outlived);
    }

    fn lock(&self) -> MutexGuard<'_, Option<LauncherProcess>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IdleReaper {
    fn new(
        isolation: Isolation,
        confinement: Arc<Confinement>,
        control: OwnedFd,
    ) -> Result<Self, SetupFailure> {
        let mut ready = Self { isolation, confinement, control, guard: None, proxy: None };
        if ready.isolation.on.iter().any(|layer| layer == "exec_guard") {
            let guard = ready.supervise();
            ready.guard = Some(guard.map_err(|errno| SetupFailure::new("supervise a reaper", errno))?);
        }
        if ready.confinement.has_proxy && ready.isolation.on.iter().any(|layer| layer == "network_namespace")
        {
            let proxy = ready.receive_one();
            ready.proxy =
                Some(proxy.map_err(|errno| SetupFailure::new("receive the socket of a proxy", errno))?);
        }
        Ok(ready)
    }

    fn receive_one(&self) -> Result<OwnedFd, Errno> {
        let frame = frame::receive(self.control.as_fd())?.ok_or(Errno::PIPE)?;
        frame.fds.into_iter().next().ok_or(Errno::MFILE)
    }

    /// Opens an outlet on the reaper's proxy socket.
    fn connect(&self, outlet: Option<&Arc<dyn Outlet>>) -> Result<Option<OpenOutlet>, SetupFailure> {
        let (Some(proxy), Some(outlet)) = (&self.proxy, outlet) else { return Ok(None) };
        let failure = |error: std::io::Error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::AGAIN);
            SetupFailure::new("serve connections to the network", errno)
        };
        outlet.open(proxy.try_clone().map_err(failure)?).map_err(failure)?;
        Ok(Some(OpenOutlet(Arc::clone(outlet))))
    }

    /// Starts supervising program starts.
    fn supervise(&self) -> Result<GuardHandle, Errno> {
        let frame = frame::receive(self.control.as_fd())?.ok_or(Errno::PIPE)?;
        let mut fds = frame.fds.into_iter();
        let (Some(listener), Some(root)) = (fds.next(), fds.next()) else { return Err(Errno::MFILE) };
        GuardHandle::start(listener, root, &self.isolation, &self.confinement)
    }

    /// Sends an order and waits until it has been taken.
    fn give(&self, body: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        frame::send(self.control.as_fd(), body, fds)?;
        let patience = Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 };
        let mut answer = [PollFd::new(&self.control, PollFlags::IN)];
        match retry_on_intr(|| poll(&mut answer, Some(&patience)))? {
            0 => Err(Errno::TIMEDOUT),
            _ => frame::receive(self.control.as_fd())?.map(drop).ok_or(Errno::PIPE),
        }
    }
}

impl LauncherProcess {
    fn start() -> Result<Self, SetupFailure> {
        let failure = |errno| SetupFailure::new("start the launcher", errno);
        let program = PROGRAM.get().ok_or_else(|| failure(Errno::NOENT))?.clone();
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(failure)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).map_err(failure)?;
        let (started, told) = mpsc::channel();
        std::thread::Builder::new()
            .name("beamai-launcher-keeper".to_owned())
            .spawn(move || keep(program, theirs, &started))
            .map_err(|_| failure(Errno::AGAIN))?;
        match told.recv() {
            Ok(Ok(())) => Ok(Self { socket, stock: Vec::new() }),
            Ok(Err(error)) => Err(failure(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
            Err(_) => Err(failure(Errno::IO)),
        }
    }

    /// An idle or new reaper with this confinement. The outer error means that the launcher is lost, the inner one that
    /// it could not create a reaper.
    fn take(&mut self, confinement: &Arc<Confinement>) -> Result<Result<IdleReaper, SetupFailure>, Errno> {
        self.check()?;
        if let Some(at) = self.stock.iter().rposition(|ready| ready.confinement == *confinement) {
            return Ok(Ok(self.stock.remove(at)));
        }
        frame::send(self.socket.as_fd(), &to_bytes(confinement.as_ref()), &[])?;
        let frame = frame::receive(self.socket.as_fd())?.ok_or(Errno::PIPE)?;
        let setup: Setup = from_bytes(&frame.body)?;
        Ok(setup.and_then(|entered| match frame.fds.into_iter().next() {
            Some(control) => IdleReaper::new(entered.isolation, Arc::clone(confinement), control),
            // The Linux kernel drops a received descriptor if the process is at its limit.
            None => Err(SetupFailure::new("receive the socket of a reaper", Errno::MFILE)),
        }))
    }

    /// Fails if the launcher is gone: its reapers die with it, although their sockets may still be open here.
    fn check(&self) -> Result<(), Errno> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::empty())];
        retry_on_intr(|| poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })))?;
        if fds[0].revents().is_empty() { Ok(()) } else { Err(Errno::PIPE) }
    }
}

/// Runs the launcher process until it ends. The launcher has a parent-death signal tied to the thread that started it,
/// so this thread must live as long.
fn keep(program: PathBuf, socket: OwnedFd, started: &mpsc::Sender<std::io::Result<()>>) {
    let spawned = Command::new(program)
        .arg0("beamai-launcher")
        .arg("launcher")
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Dropping the command has closed this side's copy of the launcher's socket.
    match spawned {
        Ok(mut child) => {
            _ = started.send(Ok(()));
            _ = child.wait();
        }
        Err(error) => _ = started.send(Err(error)),
    }
}
