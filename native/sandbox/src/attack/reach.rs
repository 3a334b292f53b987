//! Access to files, sockets, processes and memory of others.

use super::{checked, number};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::FromRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram, UnixStream};
use std::time::Duration;

/// Appends to a file, creating it if it does not exist.
pub(super) fn write(path: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(b"attack\n")
}

/// Opens a file for reading.
pub(super) fn open(path: &str) -> io::Result<()> {
    std::fs::File::open(path).map(drop)
}

pub(super) fn tcp(address: &str) -> io::Result<()> {
    let address: SocketAddr = number(address)?;
    TcpStream::connect_timeout(&address, Duration::from_secs(2))?.write_all(b"attack\n")
}

pub(super) fn udp(address: &str) -> io::Result<()> {
    let any = if address.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
    UdpSocket::bind(any)?.send_to(b"attack\n", address).map(drop)
}

pub(super) fn unix(path: &str) -> io::Result<()> {
    UnixStream::connect(path)?.write_all(b"attack\n")
}

pub(super) fn abstract_socket(name: &str) -> io::Result<()> {
    UnixStream::connect_addr(&UnixAddr::from_abstract_name(name)?)?.write_all(b"attack\n")
}

/// Sends from one end of a socket pair to another socket.
pub(super) fn datagram_pair(path: &str) -> io::Result<()> {
    let mut pair = [0; 2];
    // SAFETY: the array has room for two descriptors, which are new.
    let socket = unsafe {
        checked(libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, pair.as_mut_ptr()).into())?;
        UnixDatagram::from_raw_fd(pair[0])
    };
    socket.connect(path)?;
    socket.send(b"attack\n").map(drop)
}

/// Looks up a process.
pub(super) fn process(pid: &str) -> io::Result<()> {
    std::fs::read(format!("/proc/{pid}/stat")).map(drop)
}

/// Looks up a process by pid and start time. In a sandbox, another process may have the pid.
pub(super) fn process_of(pid: &str, start: &str) -> io::Result<()> {
    match started(pid)? == start {
        true => Ok(()),
        false => Err(io::Error::other(format!("{pid} is another process"))),
    }
}

/// Start time of a process, in clock ticks since boot.
///
/// # Errors
/// If there is no such process, or it is not visible.
pub fn started(pid: &str) -> io::Result<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // After the name, which may contain any characters.
    let fields = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_ascii_whitespace().nth(19));
    fields.map(str::to_owned).ok_or_else(|| io::Error::other("/proc does not tell when it was started"))
}

/// Kills a process.
pub(super) fn end(pid: &str) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::kill(number(pid)?, libc::SIGTERM) }.into()).map(drop)
}

/// Checks whether a signal could be sent.
pub(super) fn signal(pid: &str) -> io::Result<()> {
    // SAFETY: takes numbers only; signal 0 is not sent.
    checked(unsafe { libc::kill(number(pid)?, 0) }.into()).map(drop)
}

/// Looks up a shared memory segment by its key.
pub(super) fn shared_memory(key: &str) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::shmget(number(key)?, 1, 0) }.into()).map(drop)
}

/// Whether this process is in the namespace of `link`.
pub(super) fn namespace(kind: &str, link: &str) -> io::Result<()> {
    let own = std::fs::read_link(format!("/proc/self/ns/{kind}"))?;
    match own.as_os_str() == link {
        true => Ok(()),
        false => Err(io::Error::other(format!("this one is {}", own.display()))),
    }
}

/// Starts a system program.
pub(super) fn start(name: &str) -> io::Result<()> {
    std::process::Command::new(name).status().map(drop)
}
