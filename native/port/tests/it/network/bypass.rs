//! Ways around the names. Nothing of all this may be heard by anybody who is not named.

use super::{Fixture, MACHINE, Named, shown, used};
use crate::common::PROGRAM;
use beamai_testserver::{answer, redirect};
use serde_json::json;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};

/// A server that is listed, and one that is not, though its address would be allowed.
struct Sides {
    friend: Named,
    stranger: Named,
    fixture: Fixture,
}

impl Sides {
    fn new() -> Self {
        let (friend, stranger) = (Named::hello(), Named::hello());
        let fixture = Fixture::listing(&[&friend.authority], &[&friend, &stranger]);
        Self { friend, stranger, fixture }
    }

    /// Asserts that the texts reach no server, and that the reply to the first contains `expected`.
    fn assert_unheard(&self, texts: &[&str], expected: &str) {
        let (said, result) = self.fixture.said(texts);
        assert!(said.contains(expected), "{texts:?}: {said:?} {result}");
        assert_eq!(self.stranger.server.connections(), 0, "{texts:?}: {said}");
        assert!(self.friend.server.seen().is_empty(), "{texts:?}: {:?}", self.friend.server.seen());
    }
}

fn get(address: &str, host: &str) -> String {
    format!("GET {address} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

fn connect(to: &str) -> String {
    format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n")
}

#[test]
fn names_that_are_not_listed_are_not_reached() {
    let sides = Sides::new();
    let stranger = &sides.stranger.authority;
    sides.assert_unheard(&[&connect(stranger)], "403 Forbidden");
    sides.assert_unheard(&[&get(&format!("http://{stranger}/"), stranger)], "403 Forbidden");
    let upper = stranger.to_uppercase();
    let dotted = stranger.replace(':', ".:");
    for authority in [&upper, &dotted] {
        sides.assert_unheard(&[&connect(authority)], "403 Forbidden");
    }
    // Spelled otherwise, a name that a rule denies is the same.
    let permissions = json!({"default": "allow", "deny": [format!("Network(domain:{})", MACHINE.0)]});
    let denied = Fixture::new(json!({"network": ["*"]}), permissions, &[&sides.stranger]);
    for authority in [stranger, &upper, &dotted] {
        let (said, result) = denied.said(&[&connect(authority)]);
        assert!(said.contains("denies it"), "{authority}: {said} {result}");
    }
    assert_eq!(sides.stranger.server.connections(), 0);
}

#[test]
fn addresses_are_not_reached_in_any_form() {
    let sides = Sides::new();
    for port in [sides.friend.server.address.port(), sides.stranger.server.address.port()] {
        for form in [
            "127.0.0.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "127.0.0.1.",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "0.0.0.0",
            "169.254.169.254",
            "1.1.1.1",
        ] {
            let authority = format!("{form}:{port}");
            sides.assert_unheard(&[&connect(&authority)], "403 Forbidden");
            sides.assert_unheard(&[&get(&format!("http://{authority}/"), &authority)], "403 Forbidden");
        }
        let [high, low] = port.to_be_bytes();
        let ipv4 = format!("\\x05\\x01\\x00\\x01\\x7f\\x00\\x00\\x01\\x{high:02x}\\x{low:02x}");
        sides.assert_unheard(&["\\x05\\x01\\x00", &ipv4], "\u{5}\u{2}");
    }
    // Every name is not every address.
    let open = Fixture::listing(&["*"], &[&sides.stranger]);
    let (said, result) = open.said(&[&connect(&sides.stranger.server.address.to_string())]);
    assert!(said.contains("it is an address"), "{said} {result}");
    assert_eq!(sides.stranger.server.connections(), 0);
}

#[test]
fn a_name_that_leads_to_a_private_address_is_not_reached() {
    let server = Named::hello();
    let fixture = Fixture::listing(&["*"], &[]);
    let (said, result) = fixture.said(&[&connect(&server.authority)]);
    assert!(said.contains("403 Forbidden"), "{said} {result}");
    let used = used(&result, &server.authority);
    let why = used["why"].as_str().unwrap();
    assert!(why.contains("Only public addresses are reached") && !why.contains("https"), "{why}");
    let remedy = used["configure"].as_str().unwrap();
    assert!(remedy.contains(&format!("allow_addresses => [<<\"{}\">>]", server.server.address)), "{remedy}");
    for authority in ["localhost:80", "ip6-localhost:80"] {
        let (said, _) = fixture.said(&[&connect(authority)]);
        assert!(said.contains("403") || said.contains("502"), "{authority}: {said}");
    }
    assert_eq!(server.server.connections(), 0);
}

#[test]
fn beside_the_proxy_there_is_no_way() {
    let (tcp, udp) = (TcpListener::bind((MACHINE.1, 0)).unwrap(), UdpSocket::bind((MACHINE.1, 0)).unwrap());
    tcp.set_nonblocking(true).unwrap();
    udp.set_nonblocking(true).unwrap();
    let fixture = Fixture::listing(&["*"], &[]);
    let attempts = [
        format!("tcp {}", tcp.local_addr().unwrap()),
        "tcp 1.1.1.1:443".to_owned(),
        "tcp [2606:4700:4700::1111]:443".to_owned(),
        "udp 1.1.1.1:53".to_owned(),
        "udp [2606:4700:4700::1111]:53".to_owned(),
    ];
    for attempt in attempts {
        let result = fixture.run(&format!("{PROGRAM} attack {attempt}"));
        assert_ne!(result["exit_code"], 0, "{attempt}: {result}");
    }
    fixture.run(&format!("{PROGRAM} attack udp {}", udp.local_addr().unwrap()));
    assert!(tcp.accept().is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    assert!(udp.recv(&mut [0; 16]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    // No names are resolved in there.
    let lookup = "python3 -c \"import socket; socket.getaddrinfo('example.com', 443)\"";
    assert_ne!(fixture.run(lookup)["exit_code"], 0);
}

#[test]
fn socks_makes_connections_and_nothing_else() {
    let sides = Sides::new();
    let port = sides.stranger.server.address.port().to_be_bytes();
    let request = |command: u8| {
        let name: String = MACHINE.0.bytes().map(|byte| format!("\\x{byte:02x}")).collect();
        let (length, [high, low]) = (MACHINE.0.len(), port);
        format!("\\x05\\x{command:02x}\\x00\\x03\\x{length:02x}{name}\\x{high:02x}\\x{low:02x}")
    };
    let hello = "\\x05\\x01\\x00";
    sides.assert_unheard(&[hello, &request(1)], "\u{5}\u{2}");
    for command in [2, 3, 9] {
        sides.assert_unheard(&[hello, &request(command)], "\u{5}\u{7}");
    }
    // With a password, and by version 4.
    sides.assert_unheard(&["\\x05\\x01\\x02"], "\u{5}\u{ff}");
    sides.assert_unheard(&["\\x04\\x01\\x00\\x50\\x7f\\x00\\x00\\x01\\x00"], "");
}

#[test]
fn requests_for_other_hosts_do_not_pass() {
    let sides = Sides::new();
    let (friend, stranger) = (&sides.friend.authority, &sides.stranger.authority);
    let at_friend = format!("http://{friend}/");
    sides.assert_unheard(&[&get(&at_friend, stranger)], "400 Bad Request");
    sides.assert_unheard(&[&get(&at_friend, &format!("{friend}\r\nHost: {stranger}"))], "400 Bad Request");
    // In a tunnel, by name, by address and by version 2; also where lines are broken before it.
    let tunnel = connect(friend);
    for inside in [
        get("/", stranger),
        format!("\r\n\r\n{}", get("/", stranger)),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        get(&format!("http://{stranger}/"), stranger),
        get(&format!("http://{stranger}/"), friend),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\\x00\\x01garbage\\n\\n".to_owned(),
    ] {
        sides.assert_unheard(&[&tunnel, &inside], "200 OK");
    }
    // The second request of a connection is looked at as the first one is.
    let (said, _) = sides.fixture.said(&[&tunnel, &get("/", friend), &get("/", stranger)]);
    assert!(said.contains("hello") && said.contains("400 Bad Request"), "{said}");
    assert_eq!(sides.friend.server.seen().len(), 1);
    assert_eq!(sides.stranger.server.connections(), 0);
}

#[test]
fn what_stands_before_a_host_is_not_the_host() {
    let sides = Sides::new();
    let (friend, stranger) = (&sides.friend.authority, &sides.stranger.authority);
    for authority in
        [format!("{friend}@{stranger}"), format!("user@{friend}"), format!("{stranger}#@{friend}")]
    {
        sides.assert_unheard(&[&connect(&authority)], "HTTP/1.1 400");
        sides.assert_unheard(&[&get(&format!("http://{authority}/"), &authority)], "HTTP/1.1 400");
    }
    sides.assert_unheard(&[&get("/", friend)], "400 Bad Request");
    sides.assert_unheard(&[&get(&format!("https://{friend}/"), friend)], "400 Bad Request");
}

#[test]
fn a_proxy_behind_the_proxy_leads_nowhere() {
    let sides = Sides::new();
    let tunnel = connect(&sides.friend.authority);
    sides.assert_unheard(&[&tunnel, &connect(&sides.stranger.authority)], "200 OK");
    sides.assert_unheard(&[&tunnel, "\\x05\\x01\\x00"], "200 OK");
    let (_, result) = sides.fixture.said(&[&tunnel, &connect(&sides.stranger.authority)]);
    assert!(result.to_string().contains("somewhere else is refused"), "{result}");
}

#[test]
fn a_redirect_to_another_name_is_judged_anew() {
    let stranger = Named::hello();
    let to = format!("http://{}/", stranger.authority);
    let friend = Named::new(move |_, stream| stream.write_all(&redirect("302 Found", &to)));
    let fixture = Fixture::listing(&[&friend.authority], &[&friend, &stranger]);
    let result = fixture.run(&format!("curl -sSL http://{}/", friend.authority));
    assert_eq!(used(&result, &stranger.authority)["refused"], 1, "{result}");
    assert_eq!((friend.server.seen().len(), stranger.server.connections()), (1, 0));
}

#[test]
fn a_connection_that_one_command_leaves_is_not_the_next_ones() {
    // A connection that nobody accepted yet when its command ended is not the next command's.
    let server = Named::new(|_, stream| stream.write_all(&answer("200 OK", &[], b"late")));
    let fixture = Fixture::listing(&["other.example"], &[&server]);
    for _ in 0..20 {
        fixture.run(&format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://{0}/ HTTP/1.1\\r\\nHost: {0}\\r\\n\\r\\n' >&3",
            server.authority
        ));
    }
    let next = super::host(
        fixture.dir.path(),
        json!({"network": [server.authority]}),
        json!({"default": "allow"}),
        &[&server],
    );
    let result = super::done(
        next.call(fixture.call(json!({"command": "sleep 0.2"})), beamai_engine::CallOptions::default()),
    );
    assert_eq!(result["network"], json!([]), "{result}");
    assert_eq!(server.server.connections(), 0);
}

#[test]
fn tunnels_take_no_more_than_their_share_of_descriptors() {
    let friend = Named::hello();
    let fixture = Fixture::listing(&[&friend.authority], &[&friend]);
    let script = "import socket, sys\n\
        held = []\n\
        for _ in range(400):\n\
        \ts = socket.create_connection(('127.0.0.1', 3128), 5)\n\
        \ts.sendall(b'CONNECT %s HTTP/1.1\\r\\n\\r\\n' % sys.argv[1].encode())\n\
        \ts.settimeout(2)\n\
        \ttry: held.append((s, s.recv(100)[9:12]))\n\
        \texcept TimeoutError: break\n\
        print(len(held), set(answer for _, answer in held))\n";
    std::fs::write(fixture.dir.path().join("hold.py"), script).unwrap();
    let said = fixture.stdout(&format!("ulimit -Sn 1000; python3 hold.py {}", friend.authority));
    let (count, answers) = said.trim().split_once(' ').unwrap();
    assert_eq!(answers, "{b'200'}");
    assert!((16..=256).contains(&count.parse::<u32>().unwrap()), "{said}");
    // The next command finds room again.
    assert!(fixture.stdout(&format!("curl -s http://{}/", friend.authority)).contains("hello"));
}

#[test]
fn names_without_a_sandbox_are_refused_at_once() {
    let address = format!("{}:80", shown(MACHINE.1));
    let settings = json!({
        "workspace": beamai_workspace::Workspace::open(std::path::Path::new("/var/tmp")).unwrap().id(),
        "sandbox": {"mode": "off", "network": [address]},
    });
    let services = std::sync::Arc::new(beamai_services::services());
    let error = beamai_engine::Host::new(&serde_json::from_value(settings).unwrap(), services).unwrap_err();
    assert!(error.message.contains("the sandbox is off"), "{}", error.message);
}
