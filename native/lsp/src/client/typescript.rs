//! Chooses the TypeScript server.
//!
//! Since version 7, `tsc` is a language server. For older compilers there is typescript-language-server, which by
//! default runs the compiler in the workspace's `node_modules`: code of the workspace. It is configured to use an
//! installed compiler instead.

use super::plan::Unavailable;
use beamai_servers::program;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The first version with a built-in language server.
const SERVES_ITSELF: u64 = 7;

/// Whether a program is usable as a server.
///
/// # Errors
/// It is a server without a compiler outside the workspace, or a compiler without a server.
pub(super) fn fits(server: &Path, options: &Value, workspace: &Path) -> Result<(), Unavailable> {
    if is_wrapper(server) && !names_compiler(options) && compiler(server, workspace).is_none() {
        return Err(Unavailable::new(
            "The language server for TypeScript finds no compiler outside the workspace that it can use, and does not \
             run the one inside. The user can install one: npm install -g typescript",
        ));
    }
    if is_named(server, "tsc") && version(server).is_none_or(|version| version < SERVES_ITSELF) {
        return Err(Unavailable::new(format!(
            "{} is too old to be a language server. The user can install TypeScript {SERVES_ITSELF}: npm install -g \
             typescript@latest",
            server.display()
        )));
    }
    Ok(())
}

/// Adds the installed compiler to the options, unless they name one or the server is the compiler.
pub(super) fn pinned(mut options: Value, server: &Path, workspace: &Path) -> Value {
    let compiler = (is_wrapper(server) && !names_compiler(&options)).then(|| compiler(server, workspace));
    if let Some(compiler) = compiler.flatten() {
        options["tsserver"]["path"] = compiler.to_string_lossy().into();
    }
    options
}

fn is_wrapper(server: &Path) -> bool {
    is_named(server, "typescript-language-server")
}

fn is_named(server: &Path, name: &str) -> bool {
    server.file_name().is_some_and(|own| own == name)
}

fn names_compiler(options: &Value) -> bool {
    options["tsserver"]["path"].is_string()
}

/// The major version of the package that contains the program.
fn version(tsc: &Path) -> Option<u64> {
    let package = tsc.canonicalize().ok()?.parent()?.parent()?.join("package.json");
    let package: Value = serde_json::from_slice(&std::fs::read(package).ok()?).ok()?;
    package["version"].as_str()?.split('.').next()?.parse().ok()
}

/// The compiler installed next to the server, or the one on the `PATH`.
fn compiler(server: &Path, workspace: &Path) -> Option<PathBuf> {
    let server = server.canonicalize().ok()?;
    let beside = server.ancestors().map(|dir| dir.join("node_modules/typescript/lib/tsserver.js"));
    let on_path = program("tsserver", workspace).and_then(|found| found.canonicalize().ok());
    let on_path = on_path.and_then(|found| Some(found.parent()?.parent()?.join("lib/tsserver.js")));
    let mut real = beside.chain(on_path).filter_map(|file| file.canonicalize().ok());
    real.find(|file| file.is_file() && !file.starts_with(workspace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn install(dir: &Path, name: &str, content: &str) -> PathBuf {
        let file = dir.join("node_modules").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, content).unwrap();
        file.canonicalize().unwrap()
    }

    #[test]
    fn the_compiler_beside_the_server_is_taken_unless_it_is_the_workspaces() {
        let machine = tempfile::tempdir().unwrap();
        let server = install(machine.path(), "bin/typescript-language-server", "");
        let alone = fits(&server, &json!({}), Path::new("/no/workspace")).unwrap_err();
        assert!(alone.0.contains("npm install -g typescript"), "{alone:?}");
        let tsserver = install(machine.path(), "typescript/lib/tsserver.js", "");
        fits(&server, &json!({}), Path::new("/no/workspace")).unwrap();
        let options = pinned(json!({"x": 1}), &server, Path::new("/no/workspace"));
        assert_eq!(options, json!({"x": 1, "tsserver": {"path": tsserver.to_str().unwrap()}}));
        let inside = machine.path().canonicalize().unwrap();
        assert_ne!(compiler(&server, &inside), Some(tsserver));
    }

    #[test]
    fn a_compiler_that_the_host_names_stays() {
        let (own, server) = (json!({"tsserver": {"path": "/opt/ts/tsserver.js"}}), Path::new("/x"));
        fits(server, &own, Path::new("/w")).unwrap();
        assert_eq!(pinned(own.clone(), server, Path::new("/w")), own);
    }

    #[test]
    fn a_compiler_serves_from_version_7_on() {
        let machine = tempfile::tempdir().unwrap();
        let tsc = install(machine.path(), "typescript/bin/tsc", "");
        for (version, serves) in [("5.9.3", false), ("6.0.0", false), ("7.0.2", true), ("10.1.0", true)] {
            install(machine.path(), "typescript/package.json", &json!({"version": version}).to_string());
            assert_eq!(fits(&tsc, &json!({}), Path::new("/w")).is_ok(), serves, "{version}");
        }
        assert_eq!(pinned(json!({"x": 1}), &tsc, Path::new("/w")), json!({"x": 1}));
    }
}
