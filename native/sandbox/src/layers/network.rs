//! A network namespace with only a loopback interface. If the host permits some names, a proxy socket listens on it,
//! whose connections are accepted outside.

use super::{AttemptCounters, Layer, LayerContext};
use crate::{Confinement, SetupFailure};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsRawFd, OwnedFd};

/// Address of the proxy socket: the usual port of a proxy, always free in a new namespace.
pub const PROXY: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 3128);
/// Backlog of the proxy socket.
const BACKLOG: i32 = 256;

pub(super) struct NetworkLayer;

impl Layer for NetworkLayer {
    fn name(&self) -> &'static str {
        "network_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWNET
    }

    fn unwanted(&self, confinement: &Confinement) -> Option<&'static str> {
        confinement.network.then_some("the network is switched on")
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        raise_loopback().map_err(|errno| SetupFailure::new("raise the loopback interface", errno))?;
        if stage.confinement.has_proxy {
            let socket =
                listen().map_err(|errno| SetupFailure::new("listen on the loopback interface", errno))?;
            stage.proxy = Some(socket);
        }
        // Without them, a command's output is all there is to tell by.
        stage.attempts = AttemptCounters::open().ok();
        Ok(())
    }
}

fn socket(kind: SocketType) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)
}

fn listen() -> Result<OwnedFd, Errno> {
    let socket = socket(SocketType::STREAM)?;
    rustix::net::bind(&socket, &PROXY)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn raise_loopback() -> Result<(), Errno> {
    let socket = socket(SocketType::DGRAM)?;
    // SAFETY: a structure of numbers, for which zero is valid; the name is shorter than its field.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    #[allow(clippy::cast_possible_truncation)]
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    request.ifr_ifru.ifru_flags = flags;
    // SAFETY: the request outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
