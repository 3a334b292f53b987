//! Which TypeScript the server for TypeScript uses.
//!
//! Left to itself, typescript-language-server runs the compiler that it finds in the workspace's `node_modules`: the
//! workspace's own code. It is told to use one of the machine.

use super::plan::{Unavailable, program};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The options with the compiler of the machine, unless they name one.
///
/// # Errors
/// There is none outside the workspace.
pub(super) fn pinned(mut options: Value, server: &Path, workspace: &Path) -> Result<Value, Unavailable> {
    if options["tsserver"]["path"].is_string() {
        return Ok(options);
    }
    let Some(compiler) = compiler(server, workspace) else {
        return Err(Unavailable::new(
            "The language server for TypeScript finds no TypeScript outside the workspace, and does not run the one \
             inside; to install it: npm install -g typescript",
        ));
    };
    options["tsserver"]["path"] = compiler.to_string_lossy().into();
    Ok(options)
}

/// The compiler that is installed beside the server, or whose program is on the `PATH`.
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

    fn install(dir: &Path, name: &str) -> PathBuf {
        let file = dir.join("node_modules").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        file.canonicalize().unwrap()
    }

    #[test]
    fn the_compiler_beside_the_server_is_taken_unless_it_is_the_workspaces() {
        let machine = tempfile::tempdir().unwrap();
        let server = install(machine.path(), "typescript-language-server/lib/cli.mjs");
        let tsserver = install(machine.path(), "typescript/lib/tsserver.js");
        let options = pinned(json!({"x": 1}), &server, Path::new("/no/workspace")).unwrap();
        assert_eq!(options, json!({"x": 1, "tsserver": {"path": tsserver.to_str().unwrap()}}));
        let inside = machine.path().canonicalize().unwrap();
        assert_ne!(compiler(&server, &inside), Some(tsserver));
    }

    #[test]
    fn a_compiler_that_the_host_names_stays() {
        let own = json!({"tsserver": {"path": "/opt/ts/tsserver.js"}});
        assert_eq!(pinned(own.clone(), Path::new("/x"), Path::new("/w")).unwrap(), own);
    }
}
