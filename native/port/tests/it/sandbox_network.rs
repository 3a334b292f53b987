//! What sandboxed commands can talk to. Somebody listens, and hears what is said where it is allowed.

use crate::common::{Env, PROGRAM};
use serde_json::json;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use tempfile::TempDir;

/// Asserts that an attempt is heard without a sandbox and not under one.
fn assert_unheard(attempt: &str, heard: impl Fn() -> bool) {
    assert!(Env::with("off").attack(attempt) && heard(), "{attempt} is not heard where it is allowed");
    let succeeded = Env::with("required").attack(attempt);
    assert!(!succeeded && !heard(), "{attempt} is heard under the sandbox");
}

fn tcp() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let attempt = format!("tcp {}", listener.local_addr().unwrap());
    (listener, attempt)
}

fn is_none<T>(result: std::io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn no_connection_leaves_unless_the_network_is_on() {
    let (listener, attempt) = tcp();
    assert_unheard(&attempt, || !is_none(listener.accept()));
    assert!(Env::under(json!({"network": true})).attack(&attempt) && !is_none(listener.accept()));
}

#[test]
fn no_datagram_leaves() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let attempt = format!("udp {}", socket.local_addr().unwrap());
    // It may be sent, into a network that ends here.
    let heard = || !is_none(socket.recv(&mut [0; 16]));
    assert!(Env::with("off").attack(&attempt) && heard());
    Env::with("required").attack(&attempt);
    assert!(!heard());
    // Beyond this machine there is not even a way.
    assert!(!Env::with("required").attack("udp 192.0.2.1:53"));
    assert!(!Env::with("required").attack("tcp 192.0.2.1:443"));
}

#[test]
fn the_network_has_a_loopback_interface_of_its_own() {
    let serve = "import socket,threading\ns=socket.create_server(('127.0.0.1',0))\n\
                 threading.Thread(target=lambda: s.accept()[0].sendall(b'hello')).start()\n\
                 print(socket.create_connection(s.getsockname()).recv(9).decode())";
    assert_eq!(Env::with("required").stdout(&format!("python3 -c \"{serve}\"")), "hello\n");
}

#[test]
fn sockets_of_services_are_out_of_reach_wherever_they_are() {
    // Where services listen, where agents do, and where nobody would look.
    for place in ["/run", "/tmp", "/var/tmp"] {
        if !Path::new(place).is_dir() || std::fs::metadata(place).unwrap().permissions().readonly() {
            continue;
        }
        let dir = TempDir::new_in(place).unwrap();
        let path = dir.path().join("docker.sock");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let heard = || match listener.accept() {
            Ok((mut stream, _)) => stream.read(&mut [0; 16]).is_ok_and(|count| count > 0),
            Err(_) => false,
        };
        assert_unheard(&format!("unix {}", path.display()), heard);
    }
}

#[test]
fn a_socket_of_the_machine_is_out_of_reach_in_the_workspace_too() {
    let heard = |sandbox: &str| {
        let env = Env::with(sandbox);
        let path = env.path().join("agent.sock");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        env.attack(&format!("unix {}", path.display()));
        listener.accept().is_ok()
    };
    assert!(heard("off") && !heard("required"));
}

#[test]
fn one_of_a_pair_of_sockets_reaches_nobody_else() {
    let dir = TempDir::new_in("/var/tmp").unwrap();
    let path = dir.path().join("log");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_nonblocking(true).unwrap();
    assert_unheard(&format!("datagram_pair {}", path.display()), || !is_none(socket.recv(&mut [0; 16])));
}

#[test]
fn abstract_sockets_are_out_of_reach_with_the_network_too() {
    let name = format!("beamai-test-{}", std::process::id());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let (attempt, heard) = (format!("abstract {name}"), || !is_none(listener.accept()));
    assert_unheard(&attempt, heard);
    let sandbox = json!({"network": true, "unix_sockets": true});
    assert!(!Env::under(sandbox).attack(&attempt) && !heard());
}

#[test]
fn the_host_may_allow_sockets_within() {
    let command = "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.bind('/tmp/s')\"; echo $?";
    assert_eq!(Env::under(json!({"unix_sockets": true})).stdout(command), "0\n");
    assert!(Env::with("required").stdout(command).ends_with("1\n"));
}

#[test]
fn what_a_filter_of_calls_cannot_see_is_not_callable() {
    let result = Env::with("required").run(&format!("{PROGRAM} attack call io_uring_setup"));
    assert_eq!(result["exit_code"], 1, "{result}");
}
