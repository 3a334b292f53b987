//! Package managers over a registry of this machine's, with one rule.

use super::{Fixture, MACHINE, Named, shown, used};
use beamai_testserver::{ReceivedRequest, TestServer, answer};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

/// A server of files; what they are may depend on where it is.
fn registry(files: impl Fn(&str) -> HashMap<String, Vec<u8>>) -> Named {
    let known: Arc<OnceLock<HashMap<String, Vec<u8>>>> = Arc::default();
    let served = Arc::clone(&known);
    let server = Named::new(move |seen: &ReceivedRequest, stream| {
        stream.write_all(&served.get().map(|files| file_of(files, seen)).unwrap_or_default())
    });
    known.set(files(&server.authority)).unwrap();
    server
}

/// The answer of a server of files.
pub(super) fn file_of(files: &HashMap<String, Vec<u8>>, asked: &ReceivedRequest) -> Vec<u8> {
    let path = asked.path.split('?').next().unwrap_or_default();
    match files.get(path) {
        Some(body) if path.ends_with('/') => answer("200 OK", &[("Content-Type", "text/html")], body),
        Some(body) => answer("200 OK", &[], body),
        None => answer("404 Not Found", &[], b"not here"),
    }
}

/// A workspace in which this one rule opens the network.
fn with_one_rule(server: &Named) -> Fixture {
    let permissions = json!({"default": "allow", "allow": [server.rule()]});
    Fixture::new(json!("required"), permissions, &[server])
}

fn succeeded(fixture: &Fixture, server: &Named, command: &str) {
    let result = fixture.run_with(json!({"command": command}));
    assert_eq!(result["exit_code"], 0, "{result}");
    assert!(used(&result, &server.authority)["reached"].as_u64() > Some(0), "{result}");
    let refused =
        result["network"].as_array().unwrap().iter().filter(|used| used["name"] == server.authority);
    assert!(refused.into_iter().all(|used| used["refused"] == 0), "{result}");
}

/// What a program of this machine makes in a directory of its own.
fn made(script: &str, file: &str) -> Vec<u8> {
    let dir = TempDir::new_in("/var/tmp").unwrap();
    let status = Command::new("bash").args(["-ec", script]).current_dir(dir.path()).status().unwrap();
    assert!(status.success(), "{script}");
    std::fs::read(dir.path().join(file)).unwrap()
}

fn listed(pairs: impl IntoIterator<Item = (&'static str, Vec<u8>)>) -> HashMap<String, Vec<u8>> {
    pairs.into_iter().map(|(path, body)| (path.to_owned(), body)).collect()
}

/// What pip finds on a server.
pub(super) fn of_pip() -> HashMap<String, Vec<u8>> {
    let wheel = made(
        "mkdir -p tiny tiny-1.0.dist-info; echo 'print(\"tiny\")' > tiny/__init__.py\n\
         printf 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n' > tiny-1.0.dist-info/METADATA\n\
         printf 'Wheel-Version: 1.0\\nGenerator: hand\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n' > tiny-1.0.dist-info/WHEEL\n\
         printf 'tiny/__init__.py,,\\ntiny-1.0.dist-info/METADATA,,\\ntiny-1.0.dist-info/WHEEL,,\\ntiny-1.0.dist-info/RECORD,,\\n' \
           > tiny-1.0.dist-info/RECORD\n\
         python3 -m zipfile -c tiny.whl tiny tiny-1.0.dist-info",
        "tiny.whl",
    );
    listed([
        (
            "/simple/tiny/",
            b"<a href=\"/files/tiny-1.0-py3-none-any.whl\">tiny-1.0-py3-none-any.whl</a>".to_vec(),
        ),
        ("/files/tiny-1.0-py3-none-any.whl", wheel),
    ])
}

#[test]
fn pip_installs() {
    let files = of_pip();
    let server = registry(|_| files.clone());
    let fixture = with_one_rule(&server);
    let command = format!(
        "$(python3 -c 'import sys; print(sys.executable)') -m pip install --disable-pip-version-check --index-url http://{}/simple --trusted-host {} --target out tiny \
         && PYTHONPATH=out python3 -c 'import tiny'",
        server.authority, MACHINE.0
    );
    succeeded(&fixture, &server, &command);
}

#[test]
fn npm_installs() {
    let tarball = made(
        "mkdir package; echo '{\"name\": \"tiny\", \"version\": \"1.0.0\"}' > package/package.json\n\
         echo 'module.exports = 1' > package/index.js; tar -czf tiny.tgz package",
        "tiny.tgz",
    );
    let server = registry(|authority| {
        let about = json!({
            "name": "tiny",
            "dist-tags": {"latest": "1.0.0"},
            "versions": {"1.0.0": {
                "name": "tiny", "version": "1.0.0", "dist": {"tarball": format!("http://{authority}/tiny/-/tiny-1.0.0.tgz")}}},
        });
        listed([("/tiny", about.to_string().into_bytes()), ("/tiny/-/tiny-1.0.0.tgz", tarball.clone())])
    });
    let fixture = with_one_rule(&server);
    std::fs::write(fixture.dir.path().join("package.json"), r#"{"name": "mine", "version": "1.0.0"}"#)
        .unwrap();
    let command = format!(
        "npm install --no-audit --no-fund --registry http://{}/ tiny && node -e 'require(\"tiny\")'",
        server.authority
    );
    succeeded(&fixture, &server, &command);
}

#[test]
fn cargo_fetches() {
    let archive = made(
        "mkdir -p tiny-1.0.0/src; echo 'pub fn tiny() {}' > tiny-1.0.0/src/lib.rs\n\
         printf '[package]\\nname = \"tiny\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n' > tiny-1.0.0/Cargo.toml\n\
         tar -czf tiny.crate tiny-1.0.0; sha256sum tiny.crate | cut -d' ' -f1 > sum; cat sum tiny.crate > both",
        "both",
    );
    let (sum, archive) = archive.split_at(64);
    let archive = &archive[1..];
    let sum = String::from_utf8(sum.to_vec()).unwrap();
    let entry =
        json!({"name": "tiny", "vers": "1.0.0", "deps": [], "cksum": sum, "features": {}, "yanked": false});
    let server = registry(|authority| {
        let config = json!({"dl": format!("http://{authority}/dl")});
        listed([
            ("/index/config.json", config.to_string().into_bytes()),
            ("/index/ti/ny/tiny", format!("{entry}\n").into_bytes()),
            ("/dl/tiny/1.0.0/download", archive.to_vec()),
        ])
    });
    let fixture = with_one_rule(&server);
    let write = |path: &str, text: &str| {
        let path = fixture.dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
         tiny = { version = \"1\", registry = \"own\" }\n",
    );
    write("src/lib.rs", "");
    let config = format!("[registries.own]\nindex = \"sparse+http://{}/index/\"\n", server.authority);
    write(".cargo/config.toml", &config);
    succeeded(&fixture, &server, "cargo fetch");
    assert!(server.server.seen().iter().any(|seen| seen.path == "/dl/tiny/1.0.0/download"));
}

/// A repository as git fetches it file by file, at `/repository.git`.
pub(super) fn of_git() -> HashMap<String, Vec<u8>> {
    let dir = TempDir::new_in("/var/tmp").unwrap();
    let script = "git init -q -b main work; cd work; echo hi > file; git add file\n\
        git -c user.name=A -c user.email=a@example.com commit -qm first; cd ..\n\
        git clone -q --bare work repository.git; cd repository.git; git update-server-info";
    let made = Command::new("bash").args(["-ec", script]).current_dir(dir.path()).status().unwrap();
    assert!(made.success());
    let mut files = HashMap::new();
    collect(&dir.path().join("repository.git"), "/repository.git", &mut files);
    files
}

#[test]
fn git_clones() {
    let files = of_git();
    let server = registry(|_| files.clone());
    let fixture = with_one_rule(&server);
    succeeded(
        &fixture,
        &server,
        &format!("git clone -q http://{}/repository.git copy && cat copy/file", server.authority),
    );
}

fn collect(dir: &Path, path: &str, files: &mut HashMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{path}/{}", entry.file_name().to_string_lossy());
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), &path, files),
            false => _ = files.insert(path, std::fs::read(entry.path()).unwrap()),
        }
    }
}

#[test]
fn without_the_rule_nothing_is_installed() {
    let server = Named::of(TestServer::at(&format!("{}:0", shown(MACHINE.1)), |_, stream| {
        stream.write_all(&answer("200 OK", &[], b"hello"))
    }));
    let fixture = Fixture::listing(&[], &[&server]);
    let result: Value = fixture.run(&format!("git clone -q http://{}/repository.git copy", server.authority));
    assert_ne!(result["exit_code"], 0, "{result}");
    assert_eq!(
        (server.server.connections(), &used(&result, &server.authority)["wanted"]),
        (0, &json!(server.rule()))
    );
}
