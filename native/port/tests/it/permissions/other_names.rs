//! Deny rules for programs that are started under other names, tried with real programs.

use super::OPEN;
use super::attacks::Effect::Removed;
use super::fixture::Fixture;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// A fixture with a shell under a name with a version, outside of the `PATH`, and programs in the workspace.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path("~/v")).unwrap();
    std::fs::copy(Path::new("/bin/bash").canonicalize().unwrap(), fixture.path("~/v/shell5.2")).unwrap();
    symlink("shell5.2", fixture.path("~/v/shell")).unwrap();
    symlink("shell5.2", fixture.path("~/v/other")).unwrap();
    std::fs::create_dir(fixture.path("bin")).unwrap();
    for name in ["bin/tool", "deploy.sh"] {
        let top = fixture.path("");
        std::fs::write(fixture.path(name), format!("#!/bin/sh\nrm -rf {}/x\n", top.display())).unwrap();
        std::fs::set_permissions(fixture.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    fixture
}

/// Whether a command has its effect under a policy. In the command, `V` is the directory of the shell.
fn works(policy: &[&str], command: &str) -> bool {
    let fixture = fixture();
    let command = command.replace('V', &fixture.path("~/v").display().to_string());
    let answer = fixture.run(policy, &command);
    fixture.has(Removed, &answer)
}

#[test]
fn a_denied_program_does_not_start_under_another_name() {
    for (rule, others, commands) in [
        (
            "Bash(shell:*)",
            &["Bash(shel:*)", "Bash(shell -x:*)"][..],
            &[
                "V/shell5.2 -c 'rm -rf x'",
                "V/other -c 'rm -rf x'",
                "ln -s V/shell5.2 zz; ./zz -c 'rm -rf x'",
                "ln -s V/other zz; ./zz -c 'rm -rf x'",
                "printf '#!V/other\\nrm -rf x\\n' > s; chmod +x s; ./s",
                "ln -s V/shell5.2 zz; printf '#!./zz\\nrm -rf x\\n' > s; chmod +x s; ./s",
            ][..],
        ),
        (
            "Bash(bin/*)",
            &["Bash(src/*)", "Bash(tool/*)"],
            &["bin/tool", "./bin/tool", "cd bin; ./tool", "ln -s bin/tool zz; ./zz", "ln -s bin b; b/tool"],
        ),
        ("Bash(./bin/*)", &["Bash(./in/*)"], &["bin/tool", "./bin/tool", "cd src; ../bin/tool"]),
        ("Bash(./deploy*)", &["Bash(./eploy*)"], &["./deploy.sh", "cd bin; ../deploy.sh"]),
    ] {
        for command in commands {
            assert!(works(OPEN, command), "{command} does not even work");
            assert!(
                !works(&["--default", "allow", "--deny", rule], command),
                "{command} gets through {rule}"
            );
            for other in others {
                assert!(works(&["--default", "allow", "--deny", other], command), "{command} under {other}");
            }
        }
    }
}
