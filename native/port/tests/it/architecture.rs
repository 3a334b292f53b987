//! The crates depend on each other as docs/architecture.md says, and the NIF on nothing that only the port may have.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// What must not be in the NIF, whoever brings it in.
const PORT_ONLY: [&str; 7] = ["tokio", "hyper", "rustls", "git2", "libgit2-sys", "rmcp", "seccompiler"];
/// What starts processes or opens connections.
const POWERS: [&str; 7] =
    ["process::Command", "libc::fork", "posix_spawn", "execve(", "TcpStream", "UdpSocket", "UnixStream"];
/// Crates for tests alone.
const TEST_ONLY: [&str; 2] = ["testenv", "testserver"];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What every crate depends on, of ours.
fn of_cargo() -> BTreeMap<String, BTreeSet<String>> {
    let own = |name: &str| name.strip_prefix("beamai-").map(str::to_owned);
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let crates = packages.map(|package| {
        let all = package["dependencies"].as_array().unwrap().iter();
        let normal = all.filter(|dependency| dependency["kind"].is_null());
        let names = normal.filter_map(|dependency| own(dependency["name"].as_str().unwrap()));
        (own(package["name"].as_str().unwrap()).unwrap(), names.collect())
    });
    crates.filter(|(name, _)| !TEST_ONLY.contains(&name.as_str())).collect()
}

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of the drawing, in order.
fn drawn() -> Vec<(String, BTreeSet<String>)> {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let drawing = page.split("```").nth(1).unwrap().trim();
    let line = |line: &str| {
        let (name, below) = line.split_once("->").unwrap();
        let below = below.split(',').map(str::trim).filter(|name| !name.is_empty());
        (name.trim().to_owned(), below.map(str::to_owned).collect())
    };
    drawing.lines().map(line).collect()
}

#[test]
fn the_drawing_is_what_cargo_has() {
    assert_eq!(drawn().into_iter().collect::<BTreeMap<_, _>>(), of_cargo());
}

#[test]
fn every_arrow_points_to_a_crate_above() {
    let mut above = BTreeSet::new();
    for (name, below) in drawn() {
        let not_above: Vec<_> = below.difference(&above).collect();
        assert!(not_above.is_empty(), "{name} depends on {not_above:?}, which do not stand above it");
        above.insert(name);
    }
}

#[test]
fn the_nif_has_nothing_that_only_the_port_may_have() {
    let tree = cargo(&["tree", "-p", "beamai-nif", "-e", "normal", "--prefix", "none", "--format", "{p}"]);
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains("beamai-engine"), "{names:?}");
    for name in PORT_ONLY {
        assert!(!names.contains(name), "the NIF depends on {name}");
    }
    for name in names.iter().filter_map(|name| name.strip_prefix("beamai-")) {
        for file in walkdir::WalkDir::new(root().join("native").join(name).join("src")) {
            let file = file.unwrap();
            let is_code = file.file_type().is_file() && !file.path().to_string_lossy().contains("/tests");
            let text = if is_code {
                std::fs::read_to_string(file.path()).unwrap_or_default()
            } else {
                String::new()
            };
            let code = text.split("#[cfg(test)]").next().unwrap();
            for power in POWERS {
                assert!(!code.contains(power), "{} has {power}", file.path().display());
            }
        }
    }
}
