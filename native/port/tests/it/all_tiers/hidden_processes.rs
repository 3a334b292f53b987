//! A `/proc` that hides processes of others (`hidepid`): the port of a plain user cannot see the process that starts a
//! command.

use crate::common::{PROGRAM, is_root};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn a_proc_that_hides_processes_is_named_where_rules_need_it() {
    if !is_root() {
        return;
    }
    let dir = TempDir::new().unwrap();
    std::os::unix::fs::chown(dir.path(), Some(23_460), Some(23_460)).unwrap();
    let said = |option: &str| {
        let mut port = Command::new("unshare");
        let script = format!("mount -t proc -o {option} proc /proc && exec \"$@\"");
        port.args(["--mount", "--pid", "--fork", "sh", "-c", &script, "sh"]);
        port.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/plain_user.sh")).arg("23460");
        port.arg(Path::new(PROGRAM).parent().unwrap()).args([
            PROGRAM,
            "call",
            "shell_exec",
            "--settings",
            "none",
        ]);
        port.args(["--allow", "Bash", "--deny", "Bash(rm:*)", "--sandbox", "required", "--command", "id -u"]);
        let output = port.arg("--workspace").arg(dir.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = said("hidepid=2");
    assert!(refused.contains("exec_guard") && refused.contains("hidepid=0"), "{refused}");
    assert!(said("hidepid=0").contains("23460"));
}
