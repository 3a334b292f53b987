//! Secrets of the home directory, which sandboxed commands can neither read nor get into sight of the next command.
//! Each test shows first that the same command reads them where nothing stands in its way.

use crate::common::{PROGRAM, is_root, required, wait_until};
use crate::mcp::client::Client;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A directory of the machine that commands can see.
fn elsewhere() -> TempDir {
    TempDir::new_in("/var/tmp").unwrap()
}

/// The standard output of a command, run with this home directory.
fn run_at_home(home: &Path, sandbox: &str, command: &str) -> String {
    run_in(TempDir::new().unwrap().path(), home, sandbox, command)
}

fn run_in(workspace: &Path, home: &Path, sandbox: &str, command: &str) -> String {
    run_with(workspace, home, sandbox, None, command)
}

fn run_with(workspace: &Path, home: &Path, sandbox: &str, settings: Option<&Path>, command: &str) -> String {
    let result = result_with(workspace, home, sandbox, settings, command);
    assert!(result["stdout"].is_string(), "{result}");
    result["stdout"].as_str().unwrap().to_owned()
}

fn result_with(
    workspace: &Path,
    home: &Path,
    sandbox: &str,
    settings: Option<&Path>,
    command: &str,
) -> Value {
    let command = json!({ "command": command });
    let output = Command::new(PROGRAM)
        .args(["call", "shell_exec", &command.to_string(), "--allow", "Bash", "--sandbox", sandbox])
        .arg("--workspace")
        .arg(workspace)
        .arg("--settings")
        .arg(settings.unwrap_or(Path::new("none")))
        .env_clear()
        .envs([("HOME", home.as_os_str()), ("PATH", &std::env::var_os("PATH").unwrap())])
        .current_dir(workspace)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn secrets_are_hidden_unless_the_host_shows_them() {
    let home = elsewhere();
    fs::create_dir_all(home.path().join(".ssh")).unwrap();
    fs::write(home.path().join(".ssh/id"), "SECRET").unwrap();
    fs::write(home.path().join(".netrc"), "SECRET").unwrap();
    fs::write(home.path().join(".profile"), "PLAIN").unwrap();
    let run = |sandbox: Value| {
        let (dir, settings) = (TempDir::new().unwrap(), elsewhere());
        let file = settings.path().join("settings.json");
        fs::write(&file, json!({"sandbox": crate::common::reporting(sandbox)}).to_string()).unwrap();
        let output = Command::new(PROGRAM)
            .args([
                "call",
                "shell_exec",
                r#"{"command": "cat ~/.ssh/id ~/.netrc ~/.profile; echo; ls -A ~/.ssh"}"#,
            ])
            .args(["--allow", "Bash", "--settings"])
            .arg(file)
            .env("HOME", home.path())
            .current_dir(dir.path())
            .output()
            .unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        result["stdout"].as_str().unwrap().to_owned()
    };
    assert_eq!(run(json!("off")), "SECRETSECRETPLAIN\nid\n");
    assert_eq!(run(json!("required")), "PLAIN\n");
    let ssh = home.path().join(".ssh");
    assert_eq!(run(json!({"readable": [ssh]})), "SECRETPLAIN\nid\n");
}

/// A home in which every known place of secrets holds one, some by way of links to another directory of it, with a file
/// that is no secret. Returns their number.
fn home_full_of_secrets(home: &Path) -> usize {
    use std::collections::BTreeSet;
    let all: BTreeSet<_> =
        beamai_isolation::secrets::places(home).into_iter().filter(|path| path.starts_with(home)).collect();
    let holds = |path: &Path| all.iter().any(|other| other != path && other.starts_with(path));
    let mut count = 0;
    for (number, path) in all.iter().enumerate().filter(|(_, path)| !holds(path)) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let real = home.join("dotfiles").join(number.to_string());
        fs::create_dir_all(&real).unwrap();
        let secret = real.join(path.file_name().unwrap());
        fs::write(&secret, "SECRET").unwrap();
        // Some are files by their names.
        match if path.extension().is_some() { number % 2 * 2 + 1 } else { number % 4 } {
            0 => symlink(&real, path).unwrap(),
            1 => symlink(&secret, path).unwrap(),
            2 => fs::rename(&real, path).unwrap(),
            _ => fs::rename(&secret, path).unwrap(),
        }
        count += 1;
    }
    fs::write(home.join("plain"), "SECRET").unwrap();
    count
}

#[test]
fn every_known_place_of_secrets_is_hidden_wherever_it_leads() {
    let home = elsewhere();
    let home = home.path().canonicalize().unwrap();
    let count = home_full_of_secrets(&home);
    assert!(count > 400, "{count}");
    let command = "grep -rsl SECRET ~ | sort";
    let without = run_at_home(&home, "off", command);
    // Links are not followed, what they lead to is found.
    assert!(without.lines().filter(|line| line.starts_with('/')).count() > count, "{without}");
    assert_eq!(run_at_home(&home, &required(), command), format!("{}\n", home.join("plain").display()));
}

#[test]
fn what_is_hidden_is_a_document_where_programs_read_one() {
    let home = elsewhere();
    let home = home.path().canonicalize().unwrap();
    home_full_of_secrets(&home);
    assert_eq!(run_at_home(&home, &required(), "cat ~/.m2/settings.xml"), "<settings/>\n");
}

#[test]
fn what_links_in_places_of_secrets_lead_to_is_hidden_outside_the_home_too() {
    let (home, keys, projects) = (elsewhere(), elsewhere(), elsewhere());
    let [home, keys, projects] = [&home, &keys, &projects].map(|dir| dir.path().canonicalize().unwrap());
    let workspace = projects.join("mine");
    let ssh = home.join(".ssh");
    fs::create_dir(&ssh).unwrap();
    fs::create_dir(&workspace).unwrap();
    for secret in [keys.join("key"), workspace.join("key"), projects.join("other")] {
        fs::write(&secret, "SECRET\n").unwrap();
        symlink(&secret, ssh.join(format!("to-{}", secret.display().to_string().replace('/', "-")))).unwrap();
    }
    fs::write(workspace.join("plain"), "PLAIN\n").unwrap();
    // The workspace stays, even if a link leads to a directory around it.
    symlink(&projects, ssh.join("projects")).unwrap();
    let command =
        format!("cat plain key ~/.ssh/to-* {}/key ../other 2>/dev/null; echo x >> plain", keys.display());
    let run = |sandbox: &str| run_in(&workspace, &home, sandbox, &command);
    assert_eq!(run("off"), format!("PLAIN\n{}", "SECRET\n".repeat(6)));
    assert_eq!(run(&required()), "PLAIN\nx\n");
    assert_eq!(fs::read_to_string(workspace.join("plain")).unwrap(), "PLAIN\nx\nx\n");
}

#[test]
fn secrets_in_the_workspace_are_committed_neither_as_empty_nor_as_deleted() {
    let (home, dotfiles) = (elsewhere(), elsewhere());
    let [home, dotfiles] = [&home, &dotfiles].map(|dir| dir.path().canonicalize().unwrap());
    fs::create_dir_all(home.join(".ssh")).unwrap();
    for (path, link) in [("ssh/config", ".ssh/config"), ("npmrc", ".npmrc"), ("aws/credentials", ".aws")] {
        let file = dotfiles.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "SECRET\n").unwrap();
        let target = if link == ".aws" { dotfiles.join("aws") } else { file };
        symlink(target, home.join(link)).unwrap();
    }
    let commit =
        "git init -q; git config user.name a; git config user.email a@b; git add -A; git commit -qm one";
    run_in(&dotfiles, &home, "off", commit);
    let second = "echo x > new; git add new; git commit -qm two -- new; cat ssh/config npmrc aws/credentials";
    assert_eq!(run_in(&dotfiles, &home, &required(), second), "");
    run_in(&dotfiles, &home, &required(), "git commit -qam three; git stash");
    let show = "git show HEAD:ssh/config HEAD:npmrc HEAD:aws/credentials";
    assert_eq!(run_in(&dotfiles, &home, "off", show), "SECRET\n".repeat(3));
}

#[test]
fn links_that_lead_to_secrets_stay_where_commands_can_write() {
    let (home, keys) = (elsewhere(), elsewhere());
    let [home, keys] = [&home, &keys].map(|dir| dir.path().canonicalize().unwrap());
    for dir in ["aws", ".cargo", "dotfiles/v2/ssh", "dotfiles/v3"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    let secrets = [
        home.join("aws/credentials"),
        home.join("dotfiles/v2/ssh/id"),
        keys.join("netrc"),
        keys.join("cargo"),
    ];
    secrets.iter().for_each(|secret| fs::write(secret, "SECRET\n").unwrap());
    for (link, target) in [
        (".aws", Path::new("aws")),
        (".netrc", &keys.join("netrc")),
        (".cargo/credentials.toml", &keys.join("cargo")),
        (".ssh", Path::new("dotfiles/current/ssh")),
        ("dotfiles/current", Path::new("v2")),
    ] {
        symlink(target, home.join(link)).unwrap();
    }
    let read = format!("cat {}", secrets.map(|secret| secret.display().to_string()).join(" "));
    let run =
        |sandbox: &str, command: &str| run_in(&home, &home, sandbox, &format!("{command} 2>/dev/null; true"));
    assert_eq!(run("off", &read), "SECRET\n".repeat(4));
    for command in [
        "rm -f ~/.aws ~/.netrc ~/.cargo/credentials.toml ~/.ssh dotfiles/current",
        "mv .aws a; mv .netrc b; mv .cargo c; mv .ssh d; mv dotfiles e",
        "ln -sfn dotfiles .aws; ln -sfn v3 dotfiles/current; ln -sf .cargo .netrc; mv -T dotfiles/v3 dotfiles/current",
        "touch new && mv new ~/.netrc; mkdir other; mv --exchange other .cargo; mv --exchange other dotfiles",
    ] {
        run(&required(), command);
        assert_eq!(run(&required(), &read), "", "{command}");
    }
    assert_eq!(run("off", &read), "SECRET\n".repeat(4));
    // Without the sandbox the first command takes them away.
    run("off", "rm ~/.aws ~/.netrc ~/.cargo/credentials.toml ~/.ssh dotfiles/current");
    assert_eq!(run(&required(), &read), "SECRET\n".repeat(4));
}

/// Also run as a plain user by `planted::through`: root searches every directory.
#[test]
fn secrets_behind_directories_that_cannot_be_searched_stay_hidden() {
    let home = elsewhere();
    let home = home.path().canonicalize().unwrap();
    for dir in [".config/gh", ".cargo", "w/keys/aws", "w/d/e", "k"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    let secrets = [".config/gh/hosts.yml", ".cargo/credentials.toml", "w/keys/aws/credentials", "k/netrc"];
    secrets.iter().for_each(|secret| fs::write(home.join(secret), "SECRET\n").unwrap());
    for (link, target) in
        [(".aws", "w/keys/aws"), (".netrc", "w/d/e/netrc"), ("w/d/e/netrc", "../../../k/netrc")]
    {
        symlink(target, home.join(link)).unwrap();
    }
    let run = |command: &str| run_in(&home, &home, &required(), &format!("{command}; true"));
    let closed = [".config", ".cargo", "w/keys", "w/d/e", "w/d", "w"];
    let read = format!("chmod 700 w {}; rm w/d/e/netrc; cat {}", closed.join(" "), secrets.join(" "));
    let mode = |mode| {
        // Where a link in a closed directory leads is not known.
        for dir in closed.iter().take(3) {
            fs::set_permissions(home.join(dir), fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    // By a command, which is undone, and by the person, which is not.
    run("chmod 600 .config .cargo w/keys w/d/e");
    assert_eq!(run(&read), "");
    mode(0o600);
    assert_eq!(run(&read), "");
    mode(0o700);
    assert!(home.join("w/d/e/netrc").is_symlink());
    assert_eq!(run_in(&home, &home, "off", &read), "SECRET\n".repeat(4));
}

/// Also run as a plain user by `planted::through`.
#[test]
fn secrets_behind_directories_that_commands_of_one_session_close_stay_hidden() {
    let home = elsewhere();
    let home = home.path().canonicalize().unwrap();
    for dir in [".local/share", "k"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    fs::write(home.join("k/id"), "SECRET\n").unwrap();
    symlink(home.join("k"), home.join(".local/share/keyrings")).unwrap();
    assert_eq!(run_in(&home, &home, "off", "cat k/id"), "SECRET\n");
    let mut command = Command::new(PROGRAM);
    command.args(["mcp", "--allow", "Bash", "--settings", "none", "--sandbox", &required(), "--workspace"]);
    command.arg(&home).env_clear();
    command.envs([("HOME", home.as_os_str()), ("PATH", &std::env::var_os("PATH").unwrap())]);
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    let read = |client: &mut Client| {
        // Longer than places of secrets are remembered.
        std::thread::sleep(Duration::from_millis(1_100));
        let result = client.call("shell_exec", json!({"command": "cat k/id"})).to_string();
        assert!(result.contains("exit code 1") && !result.contains("SECRET"), "{result}");
    };
    let mode = || fs::metadata(home.join(".local")).unwrap().permissions().mode() & 0o777;
    client.call("shell_exec", json!({"command": "chmod 600 .local"}));
    assert!(mode() == 0o700 || is_root(), "{:o}", mode());
    read(&mut client);
    let command = "chmod 600 .local; sleep 60";
    client.call("shell_exec", json!({"command": command, "run_in_background": true}));
    wait_until(|| mode() == 0o600);
    read(&mut client);
}

#[test]
fn secrets_that_a_person_moves_away_and_makes_again_are_hidden_from_the_next_command() {
    let (home, workspace) = (elsewhere(), elsewhere());
    let home = home.path().canonicalize().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["mcp", "--allow", "Bash", "--settings", "none", "--sandbox", &required(), "--workspace"]);
    command.arg(workspace.path()).env_clear();
    command.envs([("HOME", home.as_os_str()), ("PATH", &std::env::var_os("PATH").unwrap())]);
    let mut client = Client::start(command);
    client.initialize("2025-11-25");
    for (n, content) in ["FIRST\n", "SECOND\n"].iter().enumerate() {
        for (moved, secret) in [(".netrc", ".netrc"), (".ssh", ".ssh/id"), (".plain", ".plain")] {
            if n > 0 {
                fs::rename(home.join(moved), home.join(format!("{moved}.bak"))).unwrap();
            }
            fs::create_dir_all(home.join(secret).parent().unwrap()).unwrap();
            fs::write(home.join(secret), content).unwrap();
        }
        // Longer than places of secrets are remembered.
        std::thread::sleep(Duration::from_millis(1_100));
        let result = client.call("shell_exec", json!({"command": "cat ~/.plain ~/.netrc ~/.ssh/id"}));
        let result = result.to_string();
        assert_eq!(result.matches(content.trim()).count(), 1, "{result}");
    }
}

#[test]
fn what_the_host_lists_is_not_what_a_command_puts_in_its_place() {
    let (home, workspace) = (elsewhere(), elsewhere());
    let [home, workspace] = [&home, &workspace].map(|dir| dir.path().canonicalize().unwrap());
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::write(home.join(".ssh/id"), "SECRET\n").unwrap();
    fs::write(home.join(".profile"), "PLAIN\n").unwrap();
    let attempt = "cat ~/.ssh/id; echo EVIL >> ~/.profile; true";
    for (option, target) in [("readable", home.join(".ssh")), ("writable", home.clone())] {
        let out = workspace.join("build/out");
        fs::create_dir_all(&out).unwrap();
        let settings = tempfile::NamedTempFile::new().unwrap();
        fs::write(settings.path(), json!({"sandbox": {option: [&out]}}).to_string()).unwrap();
        let run = |sandbox: &str, command: &str| {
            result_with(&workspace, &home, sandbox, Some(settings.path()), command)
        };
        assert_eq!(run(&required(), attempt)["stdout"], "", "{option}");
        let replace = format!("rm -rf was; mv build was; mkdir build; ln -s {} build/out", target.display());
        assert_eq!(run(&required(), &replace)["exit_code"], 0, "{option}");
        let refused = run(&required(), attempt);
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(&format!("the option {option} of the sandbox names")), "{message}");
        assert!(message.contains(&target.display().to_string()), "{message}");
        fs::remove_dir_all(workspace.join("build")).unwrap();
    }
    assert_eq!(fs::read_to_string(home.join(".profile")).unwrap(), "PLAIN\n");
    assert_eq!(run_in(&workspace, &home, "off", attempt), "SECRET\n");
}

#[test]
fn a_listed_path_that_does_not_exist_is_named_and_takes_no_layer_away() {
    let workspace = elsewhere();
    let missing = workspace.path().join("mistyped");
    let settings = tempfile::NamedTempFile::new().unwrap();
    for option in ["readable", "writable"] {
        fs::write(settings.path(), json!({"sandbox": {option: [&missing]}}).to_string()).unwrap();
        let run = |sandbox: &str| {
            result_with(workspace.path(), workspace.path(), sandbox, Some(settings.path()), "echo ran")
        };
        for sandbox in [required(), "best_effort".to_owned()] {
            let refused = run(&sandbox);
            let message = refused["message"].as_str().unwrap();
            let expected = format!(
                "nothing was run: the option {option} of the sandbox names {path}, where nothing is to be found. \
                 Create {path}, or take it out of {option}",
                path = missing.display()
            );
            assert_eq!(message, expected, "{sandbox}");
        }
        assert_eq!(run("off")["stdout"], "ran\n", "{option}");
    }
}

#[test]
fn a_listed_path_that_leads_to_the_whole_machine_is_refused() {
    let workspace = elsewhere();
    let settings = tempfile::NamedTempFile::new().unwrap();
    for (option, path) in [("readable", "/usr/.."), ("writable", "/usr/..")] {
        fs::write(settings.path(), json!({"sandbox": {option: [path]}}).to_string()).unwrap();
        let refused =
            result_with(workspace.path(), workspace.path(), &required(), Some(settings.path()), "echo ran");
        let expected = format!(
            "nothing was run: the option {option} of the sandbox names {path}, which leads to /, the whole machine. \
             Name the directories that commands need in {option}"
        );
        assert_eq!(refused["message"], expected);
    }
}

#[test]
fn what_the_host_names_through_a_link_is_held_as_under_its_own_name() {
    let (home, workspace) = (elsewhere(), elsewhere());
    let [home, workspace] = [&home, &workspace].map(|dir| dir.path().canonicalize().unwrap());
    for dir in ["real/on/the/way", "real/free", "keys"] {
        fs::create_dir_all(home.join(dir)).unwrap();
    }
    fs::write(home.join("keys/id"), "SECRET\n").unwrap();
    fs::write(home.join("real/npmrc"), "SECRET\n").unwrap();
    for (link, target) in [
        ("named", "real"),
        (".netrc", "real/on/the/way/netrc"),
        ("real/on/the/way/netrc", "../../../../keys/id"),
        (".npmrc", "real/npmrc"),
    ] {
        symlink(target, home.join(link)).unwrap();
    }
    let settings = tempfile::NamedTempFile::new().unwrap();
    fs::write(settings.path(), json!({"sandbox": {"writable": [home.join("named")]}}).to_string()).unwrap();
    let run = |command: &str| run_with(&workspace, &home, &required(), Some(settings.path()), command);
    assert_eq!(run("echo x > ~/named/free/new; cat ~/real/free/new; cat ~/real/npmrc || echo no"), "x\nno\n");
    for command in ["rm -f ~/real/on/the/way/netrc", "mv ~/real/on ~/real/off", "mv ~/named/on/the ~/named/a"]
    {
        run(&format!("{command}; true"));
        assert_eq!(run("cat ~/keys/id || true"), "", "{command}");
        assert!(home.join("real/on/the/way/netrc").is_symlink(), "{command}");
    }
}

#[test]
fn the_host_shows_a_part_of_a_place_of_secrets_in_a_hidden_home() {
    let home = elsewhere();
    fs::create_dir_all(home.path().join(".ssh/sub")).unwrap();
    for file in [".ssh/config", ".ssh/id", ".ssh/sub/x", "plain"] {
        fs::write(home.path().join(file), format!("{file}\n")).unwrap();
    }
    let settings = elsewhere();
    let file = settings.path().join("settings.json");
    let shown = [home.path().join(".ssh/config"), home.path().join(".ssh/sub")];
    for (deny, expected) in [
        (&[][..], ".ssh/config\n.ssh/sub/x\nplain\n"),
        (&["Read(~)"][..], ".ssh/config\n.ssh/sub/x\n"),
        (&["Read(~/**)"], ".ssh/config\n.ssh/sub/x\n"),
    ] {
        let policy = json!({"permissions": {"deny": deny}, "sandbox": {"readable": shown}});
        fs::write(&file, policy.to_string()).unwrap();
        let script = "cd; cat .ssh/config .ssh/id .ssh/sub/x plain; true";
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("script"), script).unwrap();
        assert_eq!(
            run_with(dir.path(), home.path(), &required(), Some(&file), "bash script"),
            expected,
            "{deny:?}"
        );
    }
}
