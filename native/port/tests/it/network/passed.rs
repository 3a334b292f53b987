//! What a name that is allowed lets through, in each way in which programs use a proxy.

use super::{Fixture, MACHINE, Named, used};
use beamai_testserver::{TestServer, answer, authority, identified_by};
use rcgen::{CertificateParams, DnType, KeyPair};
use serde_json::json;

#[test]
fn a_listed_name_is_reached_by_every_kind_of_proxy() {
    let server = Named::hello();
    let fixture = Fixture::listing(&[&server.authority], &[&server]);
    for (nth, way) in ["", "--proxytunnel", "--socks5-hostname 127.0.0.1:3128"].into_iter().enumerate() {
        assert_eq!(fixture.stdout(&format!("curl -sS {way} http://{}/", server.authority)), "hello", "{way}");
        assert_eq!(server.server.seen().len(), nth + 1, "{way}");
    }
    let seen = &server.server.seen()[0];
    assert_eq!((seen.path.as_str(), seen.header("host")), ("/", Some(server.authority.as_str())));
    assert_eq!(seen.header("proxy-connection"), None);
}

#[test]
fn the_result_tells_what_was_reached_and_the_text_for_models_in_one_line() {
    let server = Named::hello();
    let fixture = Fixture::listing(&[&server.authority], &[&server]);
    let command =
        format!("curl -sS http://{0}/ http://{0}/x; curl -sS http://other.example/", server.authority);
    let result = fixture.run(&command);
    assert_eq!(used(&result, &server.authority)["reached"], 2, "{result}");
    let other = used(&result, "other.example:80");
    assert_eq!((&other["refused"], &other["reached"]), (&json!(1), &json!(0)), "{result}");
    assert_eq!(other["wanted"], "Network(domain:other.example)");
    assert!(result["stdout"].as_str().unwrap().contains("nobody can be asked"), "{result}");
    // Without names there is nothing to tell.
    let off = Fixture::new(json!("required"), json!({"default": "allow"}), &[]);
    assert_eq!(off.run("true").get("network"), None);
}

#[test]
fn names_are_compared_in_one_spelling() {
    let server = Named::hello();
    let fixture = Fixture::listing(&[&server.authority.to_uppercase()], &[&server]);
    let port = server.server.address.port();
    for host in [MACHINE.0.to_uppercase(), format!("{}.", MACHINE.0)] {
        let (said, result) =
            fixture.said(&[&format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n")]);
        assert!(said.starts_with("HTTP/1.1 200"), "{host}: {said} {result}");
    }
}

#[test]
fn tls_passes_to_the_server_that_it_names() {
    let key = KeyPair::generate().unwrap();
    let authority = authority();
    let mut params = CertificateParams::new(vec![MACHINE.0.clone()]).unwrap();
    // Without a name of its own, it would seem to be signed by itself.
    params.distinguished_name.push(DnType::CommonName, MACHINE.0.as_str());
    let certificate = params.signed_by(&key, &authority).unwrap();
    let config = identified_by(certificate.der().clone(), &key);
    let server =
        Named::of(TestServer::tls_at(&format!("{}:0", super::shown(MACHINE.1)), config, |_, stream| {
            stream.write_all(&answer("200 OK", &[], b"sealed"))
        }));
    let fixture = Fixture::listing(&[&server.authority], &[&server]);
    std::fs::write(fixture.dir.path().join("ca.pem"), authority.pem()).unwrap();
    let curl =
        |more: &str| fixture.run(&format!("curl -sS --cacert ca.pem {more} https://{}/", server.authority));
    for way in ["", "--socks5-hostname 127.0.0.1:3128"] {
        let result = curl(way);
        assert_eq!(result["stdout"], "sealed", "{result}");
    }
    assert_eq!(server.server.seen().len(), 2);
    // The tunnel leads to the right server, and TLS is for another one.
    let port = server.server.address.port();
    let other = format!(
        "curl -sSk --connect-to other.example:{port}:{}:{port} https://other.example:{port}/",
        MACHINE.0
    );
    let result = fixture.run(&other);
    assert_ne!(result["exit_code"], 0, "{result}");
    let why = used(&result, &server.authority)["why"].as_str().unwrap();
    assert!(why.contains("another server, other.example"), "{why}");
    let unnamed = "import socket, ssl, sys\n\
        s = socket.create_connection(('127.0.0.1', 3128))\n\
        s.sendall(f'CONNECT {sys.argv[1]} HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\n\\r\\n'.encode())\n\
        print(s.recv(4096))\n\
        c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE\n\
        c.wrap_socket(s)\n";
    std::fs::write(fixture.dir.path().join("unnamed.py"), unnamed).unwrap();
    let result = fixture.run(&format!("python3 unnamed.py {}", server.authority));
    assert_ne!(result["exit_code"], 0, "{result}");
    assert!(
        used(&result, &server.authority)["why"].as_str().unwrap().contains("names no server"),
        "{result}"
    );
    assert_eq!(server.server.seen().len(), 2);
}

#[test]
fn programs_find_the_proxy_and_caches_that_they_can_write() {
    let fixture = Fixture::listing(&[], &[]);
    let printed =
        fixture.stdout("echo $http_proxy $npm_config_cache $CARGO_HOME; mkdir -p $CARGO_HOME $GOMODCACHE");
    let cache = fixture.temp.path().join(".cache");
    assert_eq!(printed, format!("http://127.0.0.1:3128 {0}/npm {0}/cargo\n", cache.display()));
}

#[test]
fn a_server_of_the_command_itself_is_its_own() {
    let fixture = Fixture::listing(&[], &[]);
    let serve = "python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & \
                 for i in $(seq 50); do curl -sf -o /dev/null http://localhost:8000/ && echo own && break; sleep 0.1; done";
    assert_eq!(fixture.stdout(serve), "own\n");
}
