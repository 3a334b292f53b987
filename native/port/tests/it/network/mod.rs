//! The network by name: what commands reach of it, and everything else that they do not.

mod asked;
mod bypass;
mod credentials;
mod off;
mod packages;
mod passed;
mod revoked;

use crate::common::{PROGRAM, call};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};
use beamai_testserver::{Connection, ReceivedRequest, TestServer};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

/// The machine's own name and where it leads: a name that needs no server of names, and is not `localhost`, which is the
/// command's own machine.
static MACHINE: LazyLock<(String, IpAddr)> = LazyLock::new(|| {
    let name = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    let found = (name.as_str(), 80).to_socket_addrs();
    let mut found =
        found.unwrap_or_else(|error| panic!("{name}, the name of this machine, leads nowhere: {error}"));
    let address = found.next().unwrap().ip();
    (name, address)
});

/// A server that is reached under the machine's name.
struct Named {
    server: TestServer,
    /// Name and port.
    authority: String,
}

impl Named {
    fn new(
        answer: impl Fn(&ReceivedRequest, &mut dyn Connection) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::of(TestServer::at(&format!("{}:0", shown(MACHINE.1)), answer))
    }

    fn of(server: TestServer) -> Self {
        let authority = format!("{}:{}", MACHINE.0, server.address.port());
        Self { server, authority }
    }

    /// One that says `hello` to everybody.
    fn hello() -> Self {
        Self::new(|_, stream| stream.write_all(&beamai_testserver::answer("200 OK", &[], b"hello")))
    }

    fn rule(&self) -> String {
        format!("Network(domain:{})", self.authority)
    }
}

fn shown(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// A workspace under a host that allows every command.
struct Fixture {
    dir: TempDir,
    temp: TempDir,
    host: Arc<Host>,
}

impl Fixture {
    /// With this sandbox; these servers may be reached by their addresses, which are not public.
    fn new(sandbox: Value, permissions: Value, servers: &[&Named]) -> Self {
        beamai_process::set_program(PROGRAM);
        let (dir, temp) = (TempDir::new_in("/var/tmp").unwrap(), TempDir::new_in("/var/tmp").unwrap());
        let host = Arc::new(host(dir.path(), sandbox, permissions, servers));
        Self { dir, temp, host }
    }

    /// One that may reach what is listed.
    fn listing(names: &[&str], servers: &[&Named]) -> Self {
        Self::new(json!({"network": names}), json!({"default": "allow"}), servers)
    }

    fn call(&self, args: Value) -> CallRequest {
        let session = serde_json::from_value(json!({"temp_dir": self.temp.path()})).unwrap();
        CallRequest { session, timeout: Some(60_000), ..call(args) }
    }

    fn run(&self, command: &str) -> Value {
        self.run_with(json!({"command": command}))
    }

    fn run_with(&self, args: Value) -> Value {
        done(self.host.call(self.call(args), CallOptions::default()))
    }

    /// The standard output of a command that succeeds.
    fn stdout(&self, command: &str) -> String {
        let result = self.run(command);
        assert_eq!(result["exit_code"], 0, "{command}: {result}");
        result["stdout"].as_str().unwrap().to_owned()
    }

    /// What each text gets from the proxy that is sent over one connection, after the answer to the one before.
    fn said(&self, texts: &[&str]) -> (String, Value) {
        let script = "import socket, sys\n\
            s = socket.create_connection(('127.0.0.1', 3128), 5)\n\
            s.settimeout(5)\n\
            for text in sys.argv[1:]:\n\
            \ttry:\n\
            \t\ts.sendall(text.encode('latin-1').decode('unicode_escape').encode('latin-1'))\n\
            \t\tprint(s.recv(4096).decode('latin-1'))\n\
            \texcept OSError as error: print('ended:', error)\n";
        std::fs::write(self.dir.path().join("say.py"), script).unwrap();
        let quoted = texts.iter().map(|text| format!(" '{}'", text.replace("\r\n", "\\r\\n")));
        let result = self.run(&format!("python3 say.py{}", quoted.collect::<String>()));
        (result["stdout"].as_str().unwrap().to_owned(), result)
    }
}

fn host(workspace: &Path, sandbox: Value, permissions: Value, servers: &[&Named]) -> Host {
    let addresses: Vec<String> = servers.iter().map(|it| it.server.address.to_string()).collect();
    let settings = json!({
        "workspace": Workspace::open(workspace).unwrap().id(),
        "permissions": permissions,
        "sandbox": crate::checkout::visible(sandbox),
        "web": {"allow_addresses": addresses},
    });
    let services = Arc::new(beamai_services::services());
    Host::new(&serde_json::from_value(settings).unwrap(), services).unwrap()
}

fn done(outcome: CallOutcome) -> Value {
    match outcome {
        CallOutcome::Ok(value, _) => value,
        other => panic!("{other:?}"),
    }
}

/// What a result tells of a name.
fn used<'r>(result: &'r Value, name: &str) -> &'r Value {
    let uses = result["network"].as_array().unwrap_or_else(|| panic!("nothing of the network in {result}"));
    uses.iter().find(|used| used["name"] == name).unwrap_or(&Value::Null)
}
