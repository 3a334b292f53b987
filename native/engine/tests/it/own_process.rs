//! Tests that need a process for themselves: this program once more, with that one test.

use std::process::Command;

/// Set in such a process.
const MARK: &str = "BEAMAI_TEST_OWN_PROCESS";

/// Whether the calling test is in a process of its own. Where it is not, this runs it in one, fails as it fails there, and
/// the caller has nothing left to do.
///
/// `module` is the caller's `module_path!()`, `test` the name of its function.
pub(crate) fn is_own_process(module: &str, test: &str) -> bool {
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let (_, module) = module.split_once("::").expect("a test is in a module of this program");
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{module}::{test}"), "--exact", "--nocapture", "--test-threads", "1"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "in a process of its own: {}\n{stdout}{stderr}", output.status);
    assert!(stdout.contains("test result: ok. 1 passed"), "no test is called {module}::{test}: {stdout}");
    false
}
