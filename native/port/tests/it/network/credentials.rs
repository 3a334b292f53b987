//! Credentials of the host: added for the one name that they are for, and seen by no command.

use super::asked::asked;
use super::packages::{file_of, of_git, of_pip};
use super::{Fixture, MACHINE, Named, done, shown, used};
use crate::common::PROGRAM;
use beamai_engine::{CallOptions, CallRequest};
use beamai_testserver::{
    Connection, ReceivedRequest, TestServer, answer, authority, identified_by, redirect,
};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, KeyPair};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::process::Command;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Nothing else on the machine has this text.
const SECRET: &str = "hush-hush-6151";

fn with_credentials(server: &Named, others: &[&Named]) -> Fixture {
    let names: Vec<_> = [server].iter().chain(others).map(|named| named.authority.clone()).collect();
    let sandbox = json!({
        "network": names,
        "credentials": {format!("http://{}", server.authority): {"Authorization": format!("Bearer {SECRET}")}},
    });
    let all: Vec<&Named> = [server].into_iter().chain(others.iter().copied()).collect();
    Fixture::new(sandbox, json!({"default": "allow"}), &all)
}

fn authorization(server: &Named) -> Vec<Option<String>> {
    let headers = |seen: &ReceivedRequest| seen.header("authorization").map(str::to_owned);
    server.server.seen().iter().map(headers).collect()
}

fn expected() -> Option<String> {
    Some(format!("Bearer {SECRET}"))
}

#[test]
fn they_are_added_for_their_name_and_port_only() {
    let other = Named::hello();
    let elsewhere = format!("http://{}/", other.authority);
    let server =
        Named::new(move |seen: &ReceivedRequest, stream: &mut dyn Connection| match seen.path.as_str() {
            "/away" => stream.write_all(&redirect("302 Found", &elsewhere)),
            _ => stream.write_all(&answer("200 OK", &[], b"hello")),
        });
    let fixture = with_credentials(&server, &[&other]);
    let at = &server.authority;
    for way in ["", "--proxytunnel", "--socks5-hostname 127.0.0.1:3128"] {
        assert_eq!(fixture.stdout(&format!("curl -sS {way} http://{at}/")), "hello", "{way}");
    }
    // One that the command sends is replaced, and a redirect takes nothing along.
    fixture.stdout(&format!("curl -sS -H 'authorization: Basic mine' -H 'Authorization: x' http://{at}/"));
    fixture.stdout(&format!("curl -sSL http://{at}/away"));
    fixture.stdout(&format!("curl -sS http://{}/", other.authority));
    assert_eq!(authorization(&server), vec![expected(); 5]);
    assert_eq!(authorization(&other), [None, None]);
    // The answer would have the request in it.
    for method in ["TRACE", "trace", "Track"] {
        let result = fixture.run(&format!("curl -sS -X {method} http://{at}/"));
        assert!(used(&result, at)["why"].as_str().unwrap().contains("TRACE"), "{result}");
    }
    // A request that says it is for this server, in a connection to the other one.
    let (said, _) = fixture.said(&[
        &format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", other.authority),
        &format!("GET / HTTP/1.1\r\nHost: {at}\r\n\r\n"),
    ]);
    assert!(said.contains("400 Bad Request"), "{said}");
    assert_eq!((server.server.seen().len(), authorization(&other)), (5, vec![None, None]));
}

#[test]
fn no_command_sees_them() {
    let server = Named::hello();
    let fixture = with_credentials(&server, &[]);
    let look = format!(
        "curl -sSv http://{}/; env; set; cat /proc/*/environ /proc/*/cmdline /proc/net/tcp /dev/*.pem; \
         grep -rsa hush-hush . \"$TMPDIR\" /tmp /dev/shm /run /etc /proc/self/fd /proc/1/fd; \
         find . \"$TMPDIR\" /tmp /dev /run /etc /var/tmp -name '*hush*' 2>/dev/null; true",
        server.authority
    );
    let shown = fixture.run(&look).to_string();
    // The pattern itself is in the command lines that were printed.
    assert!(!shown.contains(SECRET), "{shown}");
    assert_eq!(authorization(&server), [expected()]);
    let host = format!("{:?}", fixture.host);
    assert!(!host.contains("hush"), "{host}");
    let refused =
        with_credentials(&server, &[]).run("curl -sS http://other.example/; kill -9 $$").to_string();
    assert!(!refused.contains("hush"), "{refused}");
}

#[test]
fn a_person_is_told_that_they_are_added() {
    let server = Named::hello();
    let origin = format!("http://{}", server.authority);
    let sandbox =
        json!({"network": [], "credentials": {origin: {"Authorization": format!("Bearer {SECRET}")}}});
    let fixture = Fixture::new(sandbox, json!({"default": "allow"}), &[&server]);
    let get = format!("curl -sS http://{}/", server.authority);
    // They permit nothing by themselves.
    assert_eq!(used(&fixture.run(&get), &server.authority)["refused"], 1);
    assert!(server.server.seen().is_empty());
    let (_, questions) = asked(&fixture, &get, |_| json!({"decision": "allow"}));
    let message = questions[0]["message"].as_str().unwrap();
    assert!(message.contains("credentials") && !questions[0].to_string().contains(SECRET), "{questions:?}");
    assert_eq!(authorization(&server), [expected()]);
}

#[test]
fn values_may_come_with_each_call() {
    let server = Named::hello();
    let origin = format!("http://{}", server.authority);
    let sandbox = |value: Value| json!({"network": [server.authority], "credentials": {&origin: value}});
    let settings = sandbox(json!({"Authorization": true}));
    let fixture = Fixture::new(settings, json!({"default": "allow"}), &[&server]);
    let get = json!({"command": format!("curl -sS http://{}/", server.authority)});
    let result = fixture.run_with(get.clone());
    let why = used(&result, &server.authority)["why"].as_str().unwrap();
    assert!(why.contains("did not come with the call") && server.server.seen().is_empty(), "{result}");
    let given = json!({origin: {"Authorization": format!("Bearer {SECRET}")}});
    let call = CallRequest { credentials: Some(serde_json::from_value(given).unwrap()), ..fixture.call(get) };
    assert_eq!(done(fixture.host.call(call, CallOptions::default()))["stdout"], "hello");
    assert_eq!(authorization(&server), [expected()]);
}

/// An authority that the machine trusts, in a file.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    dir: TempDir,
}

impl Authority {
    fn new() -> Self {
        let (issuer, dir) = (authority(), TempDir::new_in("/var/tmp").unwrap());
        std::fs::write(dir.path().join("ca.pem"), issuer.pem()).unwrap();
        Self { issuer, dir }
    }

    /// A server that this authority vouches for under `name`, in HTTPS.
    fn server(&self, name: &str, files: HashMap<String, Vec<u8>>) -> Named {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let config = identified_by(certificate.der().clone(), &key);
        let at = format!("{}:0", shown(MACHINE.1));
        let files = Arc::new(Mutex::new(files));
        Named::of(TestServer::tls_at(&at, config, move |seen, stream| {
            stream.write_all(&file_of(&files.lock().unwrap(), seen))
        }))
    }
}

/// The program with a settings file, in which the first server has credentials. Standard output and error of a command.
fn run_program(authority: &Authority, servers: &[&Named], command: &str) -> Value {
    let workspace = TempDir::new_in("/var/tmp").unwrap();
    let settings = authority.dir.path().join("settings.json");
    let names: Vec<_> = servers.iter().map(|server| &server.authority).collect();
    let addresses: Vec<_> = servers.iter().map(|server| server.server.address.to_string()).collect();
    let text = json!({
        "permissions": {"default": "allow"},
        "sandbox": {
            "network": names,
            "credentials": {servers[0].authority.clone(): {"Authorization": format!("Bearer {SECRET}")}},
        },
        "web": {"allow_addresses": addresses},
    });
    std::fs::write(&settings, text.to_string()).unwrap();
    let output = Command::new(PROGRAM)
        .args(["call", "shell_exec", "--settings"])
        .arg(&settings)
        .arg("--workspace")
        .arg(workspace.path())
        .arg(json!({"command": command}).to_string())
        .env("SSL_CERT_FILE", authority.dir.path().join("ca.pem"))
        .output()
        .unwrap();
    let shown = format!("{output:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

fn page(text: &str) -> HashMap<String, Vec<u8>> {
    HashMap::from([("/page".to_owned(), text.as_bytes().to_vec())])
}

#[test]
fn they_are_added_in_https_for_programs_that_know_nothing_of_it() {
    let trusted = Authority::new();
    let mut files = page("sealed");
    files.extend(of_pip());
    files.extend(of_git());
    files.insert("/tiny".to_owned(), br#"{"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "tiny", "version": "1.0.0"}}}"#.to_vec());
    let server = trusted.server(&MACHINE.0, files);
    let at = &server.authority;
    let fetch = format!("import urllib.request; print(urllib.request.urlopen('https://{at}/page').read())");
    for command in [
        format!("curl -sS https://{at}/page"),
        format!("curl -sS --socks5-hostname 127.0.0.1:3128 https://{at}/page"),
        format!("git clone -q https://{at}/repository.git copy && cat copy/file"),
        format!("python3 -c \"{fetch}\""),
        format!("npm view --registry https://{at}/ tiny version"),
        format!(
            "$(python3 -c 'import sys; print(sys.executable)') -m pip install --disable-pip-version-check \
             --index-url https://{at}/simple --target out tiny"
        ),
    ] {
        let before = server.server.seen().len();
        let result = run_program(&trusted, &[&server], &command);
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        let seen = authorization(&server).split_off(before);
        assert!(!seen.is_empty() && seen.iter().all(|value| *value == expected()), "{command}: {seen:?}");
    }
}

#[test]
fn in_https_other_names_are_not_decrypted_and_servers_are_checked() {
    let trusted = Authority::new();
    let server = trusted.server(&MACHINE.0, page("sealed"));
    let other = trusted.server(&MACHINE.0, page("other"));
    // The other server presents the authority of the machine, the first one that of the proxy.
    let script = |named: &Named| {
        format!(
            "curl -sSv https://{0}/page 2>&1 | grep -i issuer; curl -sS https://{0}/page",
            named.authority
        )
    };
    let own = run_program(&trusted, &[&server, &other], &script(&server));
    assert!(own["stdout"].as_str().unwrap().contains("beamai network proxy"), "{own}");
    assert_eq!(used(&own, &server.authority)["reached"], 2, "one connection for each request: {own}");
    let tunnelled = run_program(&trusted, &[&server, &other], &script(&other));
    let text = tunnelled["stdout"].as_str().unwrap();
    assert!(text.contains("other") && !text.contains("beamai network proxy"), "{tunnelled}");
    assert_eq!(authorization(&other), [None, None]);
    let spoilt = run_program(
        &trusted,
        &[&server],
        "echo x >> $SSL_CERT_FILE || rm $SSL_CERT_FILE || ls $SSL_CERT_FILE",
    );
    assert_eq!(spoilt["stdout"], "/dev/beamai-authorities.pem\n", "{spoilt}");
    // In clear text, nothing is added on the port of HTTPS.
    let seen = authorization(&server).len();
    run_program(&trusted, &[&server], &format!("curl -sS http://{}/page", server.authority));
    assert_eq!(authorization(&server).len(), seen);

    // A certificate for another name, and one of an authority that the machine does not trust.
    for wrong in [trusted.server("other.example", page("x")), Authority::new().server(&MACHINE.0, page("x"))]
    {
        let result = run_program(&trusted, &[&wrong], &format!("curl -sSk https://{}/page", wrong.authority));
        assert!(authorization(&wrong).is_empty(), "{result}");
        let why = used(&result, &wrong.authority)["why"].as_str().unwrap();
        assert!(why.contains("certificate"), "{why}");
    }
    // A program that trusts nobody new is refused, and the reason names the file. The command goes on until the proxy
    // has read what the program's last message was.
    let result = run_program(
        &trusted,
        &[&server],
        &format!(
            "curl -sS --cacert /dev/null https://{}/page; code=$?; sleep 2; exit $code",
            server.authority
        ),
    );
    let why = used(&result, &server.authority)["why"].as_str().unwrap();
    assert!(result["exit_code"] != 0 && why.contains("SSL_CERT_FILE"), "{result}");
}

#[test]
fn the_settings_file_with_them_is_hidden_or_refused() {
    let trusted = Authority::new();
    let server = trusted.server(&MACHINE.0, page("sealed"));
    let settings = trusted.dir.path().join("settings.json");
    let result = run_program(&trusted, &[&server], &format!("cat {0}; ls {0}", settings.display()));
    assert_eq!(result["stdout"], format!("{{}}\n{}\n", settings.display()), "{result}");
    let workspace = TempDir::new_in("/var/tmp").unwrap();
    let within = workspace.path().join("settings.json");
    let search = json!({"web": {"search": {"provider": "brave", "api_key": SECRET}}}).to_string();
    for text in [std::fs::read_to_string(&settings).unwrap(), search] {
        std::fs::write(&within, text).unwrap();
        let refused = Command::new(PROGRAM)
            .args(["call", "shell_exec", r#"{"command": "true"}"#, "--settings"])
            .arg(&within)
            .arg("--workspace")
            .arg(workspace.path())
            .output()
            .unwrap();
        let shown = format!("{refused:?}");
        assert!(!refused.status.success() && shown.contains("contains credentials"), "{shown}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
}
