//! A network namespace with a loopback interface and nothing else.

use super::{Layer, LayerContext};
use crate::{Confinement, SetupFailure};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::os::fd::AsRawFd;

pub(super) struct Network;

impl Layer for Network {
    fn name(&self) -> &'static str {
        "network_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWNET
    }

    fn unwanted(&self, confinement: &Confinement) -> Option<&'static str> {
        confinement.network.then_some("the network is switched on")
    }

    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        raise_loopback().map_err(|errno| SetupFailure::new("raise the loopback interface", errno))
    }
}

fn raise_loopback() -> Result<(), Errno> {
    let socket =
        rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: a structure of numbers, for which zeros are a value; its name is shorter than its room for one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    #[allow(clippy::cast_possible_truncation)]
    let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    request.ifr_ifru.ifru_flags = flags;
    // SAFETY: the request is read, and outlives the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}
