//! Commands of a plain user that change the modes of git's settings outside of the workspace, which no mount keeps them
//! from in the tier `landlock`.

use super::{no_user_namespaces, under};
use crate::common::{PROGRAM, is_root};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A user whom nobody knows.
const USER: u32 = 23_459;

/// A home with settings that name the workspace's hooks; the workspace lies in a repository that names them, too.
struct Fixture(TempDir);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(TempDir::new_in("/var/tmp").unwrap());
        let all = [
            (".gitconfig", "[include]\n\tpath = ~/more/settings\n"),
            ("more/settings", "[core]\n\thooksPath = ~/w/hooks\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n\thooksPath = w/others\n"),
            (".git/objects/info/x", ""),
            (".git/refs/x", ""),
            ("w/hooks/README", ""),
            ("w/others/README", ""),
        ];
        for (name, text) in all {
            fs::create_dir_all(fixture.at(name).parent().unwrap()).unwrap();
            fs::write(fixture.at(name), text).unwrap();
        }
        if is_root() {
            own(fixture.0.path());
        }
        fixture
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.at(name)).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), Permissions::from_mode(mode)).unwrap();
    }

    /// What the result of a command says of what it left: paths, and settings.
    fn planted(&self, command: &str) -> Vec<(String, String)> {
        let mut program = Command::new("env");
        if is_root() {
            program = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/plain_user.sh"));
            program.arg(USER.to_string()).arg(Path::new(PROGRAM).parent().unwrap()).arg("env");
        }
        program.arg(format!("HOME={}", self.0.path().display())).arg(PROGRAM);
        program.args(["call", "shell_exec", "--settings", "none", "--sandbox", "required:landlock"]);
        program.args(["--allow", "Bash", "--workspace"]).arg(self.at("w")).args(["--command", command]);
        let output = under(program, no_user_namespaces()).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(result["exit_code"], 0, "{result}");
        let told = |planted: &Value| {
            let text = |key: &str| planted[key].as_str().unwrap().to_owned();
            (text("path"), text("setting"))
        };
        result["planted"].as_array().into_iter().flatten().map(told).collect()
    }
}

/// Gives all files in a directory to the user.
fn own(path: &Path) {
    chown(path, Some(USER), Some(USER)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| own(&entry.unwrap().path()));
    }
}

/// The files that a command can take rights from, the mode that it gives them, and the hooks that are then not known.
const TAKEN: [(&str, u32, &str); 6] = [
    (".gitconfig", 0, "hooks"),
    ("more/settings", 0o200, "hooks"),
    ("more", 0, "hooks"),
    ("more", 0o600, "hooks"),
    (".git/config", 0, "others"),
    (".git", 0o311, "others"),
];

const PLANT: &str = "for d in hooks others; do cp /bin/true $d/post-commit; done";

#[test]
fn rights_that_a_command_takes_from_gits_settings_are_given_back() {
    for (name, taken, hooks) in TAKEN {
        let fixture = Fixture::new();
        let mode = fixture.mode(name);
        let found = fixture.planted(&format!("chmod {taken:o} ~/{name}"));
        let path = fixture.at(name).display().to_string();
        assert_eq!(found, [(path, "keeps git's settings from being read".to_owned())]);
        assert_eq!(fixture.mode(name), mode, "{name}");
        let found = fixture.planted(PLANT);
        assert!(found.contains(&(format!("{hooks}/post-commit"), "a hook".to_owned())), "{name}: {found:?}");
        assert!(!fixture.at("w").join(hooks).join("post-commit").exists(), "{name}");
    }
}

#[test]
fn settings_that_could_not_be_read_are_reported() {
    for (name, taken, hooks) in TAKEN {
        let fixture = Fixture::new();
        fixture.set_mode(name, taken);
        let found = fixture.planted(PLANT);
        let path = fixture.at(name).display().to_string();
        let is_told = |(told, setting): &(String, String)| told.starts_with(&path) && setting == "unknown";
        assert!(found.iter().any(is_told), "{name}, {hooks}: {found:?}");
    }
}

#[test]
fn other_modes_are_as_a_command_leaves_them() {
    let fixture = Fixture::new();
    assert_eq!(fixture.planted("chmod 400 ~/.gitconfig; chmod 500 ~/more; touch f; chmod 0 f"), []);
    assert_eq!([".gitconfig", "more", "w/f"].map(|name| fixture.mode(name)), [0o400, 0o500, 0]);
}
