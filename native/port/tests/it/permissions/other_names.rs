//! Deny rules for programs that are started under other names, tried with real programs.

use super::OPEN;
use super::attacks::Effect::Removed;
use super::fixture::Fixture;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

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

/// Ends with the status 7, without a library, so that the Linux kernel can start it as an interpreter.
const STATIC: &str = r#"
void _start(void) {
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(231), "D"(7));
#elif defined(__aarch64__)
    register long status __asm__("x0") = 7, call __asm__("x8") = 94;
    __asm__ volatile("svc 0" : : "r"(status), "r"(call));
#endif
    __builtin_trap();
}
"#;

#[test]
fn a_denied_program_does_not_start_as_the_interpreter_of_an_elf_file() {
    let fixture = Fixture::new();
    let tool = fixture.path("~/tool");
    let compile = |source: &str, options: &[&str], program: &Path| {
        let file = fixture.path("program.c");
        std::fs::write(&file, source).unwrap();
        assert!(
            Command::new("cc").args(options).arg("-o").args([program, &file]).status().unwrap().success()
        );
    };
    compile(STATIC, &["-static", "-nostdlib"], &tool);
    let interpreter = format!("-Wl,--dynamic-linker={}", tool.display());
    compile("int main(void) { return 0; }", &[&interpreter], &fixture.path("program"));
    let made = |command: &str| format!("{command}; echo $?");
    let stdout = |policy: &[&str], command: &str| fixture.run(policy, command).value["stdout"].clone();
    let mut bytes = std::fs::read(fixture.path("program")).unwrap();
    // The Linux kernel does not look at the class of the file.
    bytes[4] = 0;
    std::fs::write(fixture.path("other"), bytes).unwrap();
    std::fs::set_permissions(fixture.path("other"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = made("printf '#!./program\\n' > s; chmod +x s; ./s");
    let link = made("ln -s program zz; ./zz");
    for command in [made("./program"), made("./other"), script, link] {
        assert_eq!(stdout(OPEN, &command), "7\n", "{command} does not even work");
        let denied = stdout(&["--default", "allow", "--deny", "Bash(tool:*)"], &command);
        assert_eq!(denied, "126\n", "{command}");
        fixture.run(OPEN, "rm -f s zz");
    }
}
