//! Serves a command's connections on one thread until the command has ended.

use super::http::HttpClient;
use super::upstream::Upstream;
use super::{Gate, http, socks};
use beamai_isolation::{HostCredentials, Outlet};
use beamai_net::Transport;
use rustix::process::{Resource, getrlimit};
use std::io;
use std::net::TcpListener as Listener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

/// Maximum number of concurrent connections of a command, tunnels included; further ones wait. A connection needs two
/// descriptors.
const MOST_AT_ONCE: usize = 256;
/// This process may open this many files for each connection that all commands together may have. A connection needs
/// two, so half of them are left for other calls.
const FILES_PER_CONNECTION: u64 = 4;

/// Limits the connections of all commands together.
static OF_ALL_COMMANDS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(most_of_all())));

fn most_of_all() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files / FILES_PER_CONNECTION).unwrap_or(usize::MAX).clamp(2, Semaphore::MAX_PERMITS)
}

/// The permits of a connection, which it holds until it ends.
pub(super) type Place = Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>;
/// First byte of SOCKS 5. No HTTP method begins with it.
const SOCKS_5: u8 = 5;

/// The proxy of one command.
pub struct Proxy {
    upstream: Arc<Upstream>,
    again: watch::Sender<()>,
    serving: Mutex<Option<ProxyThread>>,
}

struct ProxyThread {
    end: oneshot::Sender<()>,
    thread: JoinHandle<()>,
    listener: Listener,
}

impl Proxy {
    /// Creates a proxy that asks this gate, connects through this transport, and adds these credentials to requests.
    pub fn new(gate: Arc<dyn Gate>, transport: Transport, credentials: HostCredentials) -> Self {
        let (again, _) = watch::channel(());
        let upstream = Arc::new(Upstream { gate, transport, credentials, again: again.subscribe() });
        Self { upstream, again, serving: Mutex::default() }
    }

    /// Closes connections that the gate no longer permits.
    pub fn look_again(&self) {
        self.again.send_replace(());
    }
}

impl Outlet for Proxy {
    fn open(&self, listener: OwnedFd) -> io::Result<()> {
        self.close();
        let listener = Listener::from(listener);
        listener.set_nonblocking(true)?;
        let accepting = listener.try_clone()?;
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let (end, ended) = oneshot::channel();
        let upstream = Arc::clone(&self.upstream);
        let thread = std::thread::Builder::new()
            .name("beamai-network".to_owned())
            .spawn(move || run(runtime, accepting, &upstream, ended))?;
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(ProxyThread { end, thread, listener });
        Ok(())
    }

    fn close(&self) {
        let serving = self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(ProxyThread { end, thread, listener }) = serving else { return };
        drop(end);
        _ = thread.join();
        // Pending connections of this command must not be served to the next one.
        while listener.accept().is_ok() {}
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.close();
    }
}

/// Serves until `ended` is sent or dropped. Dropping the runtime closes all connections.
fn run(runtime: Runtime, listener: Listener, upstream: &Arc<Upstream>, ended: oneshot::Receiver<()>) {
    runtime.block_on(async {
        tokio::select! {
            biased;
            _ = ended => {}
            () = accept(listener, upstream) => {}
        }
    });
    // A lookup may still be running in a thread of the system's resolver, which cannot be interrupted.
    runtime.shutdown_background();
}

async fn accept(listener: Listener, upstream: &Arc<Upstream>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    // One command leaves room for others.
    let own = Arc::new(Semaphore::new(MOST_AT_ONCE.min(most_of_all() / 2)));
    let mut connections = JoinSet::new();
    loop {
        let Ok(in_own) = Arc::clone(&own).acquire_owned().await else { return };
        let Ok(in_all) = Arc::clone(&OF_ALL_COMMANDS).acquire_owned().await else { return };
        let place = Place::new((in_own, in_all));
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let upstream = Arc::clone(upstream);
                    connections.spawn(serve(stream, upstream, place));
                }
                // Out of descriptors: retry when some connection may have ended.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, upstream: Arc<Upstream>, place: Place) {
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == SOCKS_5 => _ = socks::serve(stream, upstream).await,
        Ok(1) => http::serve(stream, upstream, HttpClient::Program(place)).await,
        _ => {}
    }
}
