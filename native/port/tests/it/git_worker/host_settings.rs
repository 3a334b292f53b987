//! The settings of the person whose programs these are: git tools hold to them, or refuse.

use super::*;
use crate::mcp::client::Client;

/// A path in the home directory, and a text.
type HomeFile = (&'static str, &'static str);

/// A home directory, a workspace with a repository, and a hook that ends every commit.
struct Person {
    home: TempDir,
    workspace: TempDir,
}

impl Person {
    fn new(files: &[HomeFile]) -> Self {
        let person = Self { home: TempDir::new().unwrap(), workspace: TempDir::new().unwrap() };
        let top = person.workspace.path();
        git(top, &["init", "-q", "-b", "main"]);
        git(top, &["config", "user.name", "A U Thor"]);
        git(top, &["config", "user.email", "author@example.com"]);
        std::fs::write(top.join("a"), "1\n").unwrap();
        git(top, &["add", "a"]);
        git(top, &["commit", "-q", "-m", "first"]);
        std::fs::write(top.join("a"), "2\n").unwrap();
        git(top, &["add", "a"]);
        std::fs::write(top.join("my.key"), "key\n").unwrap();
        person.write("hooks/pre-commit", "#!/bin/sh\nexit 1\n");
        std::fs::set_permissions(person.at("hooks/pre-commit"), PermissionsExt::from_mode(0o755)).unwrap();
        files.iter().for_each(|(path, text)| person.write(path, text));
        person
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// Saves a file as editors do: under another name first.
    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at("new"), text).unwrap();
        std::fs::rename(self.at("new"), self.at(path)).unwrap();
    }

    fn command(&self, words: &[&str], denied: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(["--default", "allow", "--sandbox", &required(), "--workspace"]);
        command.arg(self.workspace.path()).env("HOME", self.home.path()).env_remove("XDG_CONFIG_HOME");
        denied.iter().for_each(|rule| _ = command.args(["--deny", rule]));
        command
    }

    /// What one call says where these rules deny.
    fn said(&self, tool: &str, args: &Value, denied: &[&str]) -> String {
        let done = self.command(&["call", tool, &args.to_string()], denied).output().unwrap();
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    }
}

const HOOKS: &str = "[core]\n\thooksPath = ~/hooks\n";
const HOOK: &str = "the hook pre-commit is active";

#[test]
fn settings_that_a_person_saves_hold_from_the_next_call() {
    let person = Person::new(&[
        (".gitconfig", "[core]\n\texcludesFile = ~/ignored\n[include]\n\tpath = more\n"),
        ("ignored", "*.key\n"),
    ]);
    let mut client = Client::start(person.command(&["mcp"], &[]));
    client.initialize("2025-11-25");
    let mut said =
        |tool: &str, args| client.call(tool, args)["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(said("git_status", json!({"short": true})), "M  a");
    person.write("ignored", "*.key\n*.tmp\n");
    std::fs::write(person.workspace.path().join("x.tmp"), "").unwrap();
    assert_eq!(said("git_status", json!({"short": true})), "M  a");
    // Files that were missing.
    person.write(".config/git/attributes", "*.secret filter=crypt\n");
    std::fs::write(person.workspace.path().join("x.secret"), "").unwrap();
    let refused = said("git_add", json!({"path": "."}));
    assert!(refused.contains("filter=crypt"), "{refused}");
    person.write("more", HOOKS);
    let refused = said("git_commit", json!({"message": "m"}));
    assert!(refused.contains(HOOK), "{refused}");
    // A link to another file.
    std::fs::remove_file(person.at(".gitconfig")).unwrap();
    person.write("dot/gitconfig", "[user]\n\tname = B\n");
    symlink("dot/gitconfig", person.at(".gitconfig")).unwrap();
    let status = said("git_status", json!({"short": true}));
    assert!(status.contains("?? my.key"), "{status}");
    let committed = said("git_commit", json!({"message": "m"}));
    assert!(committed.contains("[main "), "{committed}");
}

#[test]
fn settings_that_git_tools_may_not_read_are_named_instead_of_left_out() {
    let include = "[include]\n\tpath = ~/priv/more\n";
    let cases: [(&[HomeFile], &str, &str); 9] = [
        (&[(".gitconfig", HOOKS)], "Read(~/**)", ".gitconfig"),
        (&[(".gitconfig", HOOKS)], "Read(~/.gitconfig)", ".gitconfig"),
        (&[(".config/git/config", HOOKS)], "Read(~/.config/**)", ".config/git/config"),
        (&[(".gitconfig", include), ("priv/more", HOOKS)], "Read(~/priv/**)", "priv/more"),
        (&[(".gitconfig", "[include]\n\tpath = ~/.ssh/more\n"), (".ssh/more", HOOKS)], "", ".ssh/more"),
        (&[(".config/git/ignore", "*.key\n")], "Read(~/.config/**)", ".config/git/ignore"),
        (&[(".config/git/attributes", "*.key filter=x\n")], "Read(~/.config/**)", ".config/git/attributes"),
        (
            &[(".gitconfig", "[core]\n\texcludesFile = ~/.ssh/ignored\n"), (".ssh/ignored", "*.key\n")],
            "",
            ".ssh/ignored",
        ),
        (&[(".gitconfig", HOOKS)], "Read(~/hooks/**)", "hooks"),
    ];
    for (files, rule, named) in cases {
        let person = Person::new(files);
        let rules = if rule.is_empty() { vec![] } else { vec![rule] };
        let is_commit = files.iter().any(|(_, text)| text.contains("hooksPath"));
        let (tool, args) = match is_commit {
            true => ("git_commit", json!({"message": "m"})),
            false => ("git_add", json!({"path": "."})),
        };
        let said = person.said(tool, &args, &rules);
        let named = person.at(named).display().to_string();
        let is_told = said.contains(&format!("{named} cannot be read by this tool"));
        // Without mounts, a hook can be seen.
        assert!(is_told || rule.contains("hooks") && said.contains(HOOK), "{files:?} {rule}: {said}");
        let log = git(person.workspace.path(), &["log", "--format=%s"]);
        assert_eq!(log, "first\n", "{files:?} {rule}");
        assert_eq!(git(person.workspace.path(), &["ls-files"]), "a\n", "{files:?} {rule}");
    }
    // A file that exists nowhere, one whose condition does not hold, and keys beside all that.
    let ordinary = Person::new(&[
        (
            ".gitconfig",
            "[includeIf \"gitdir:~/elsewhere/\"]\n\tpath = ~/priv/more\n[include]\n\tpath = gone\n",
        ),
        ("priv/more", HOOKS),
        (".ssh/id_ed25519", "key\n"),
    ]);
    let rules = ["Read(~/priv/**)", "Read(~/.config/**)", "Read(~/hooks/**)"];
    let said = ordinary.said("git_commit", &json!({"message": "m"}), &rules);
    assert!(said.contains("[main "), "{said}");
}

/// The git library knows neither these forms of paths nor this condition, and would do without the settings.
#[test]
fn settings_that_git_tools_cannot_follow_are_named_instead_of_left_out() {
    for (settings, named) in [
        ("[include]\n\tpath = ~nobody/x\n", "~nobody/x"),
        ("[include]\n\tpath = %(prefix)/x\n", "%(prefix)/x"),
        ("[core]\n\thooksPath = ~nobody/hooks\n", "~nobody/hooks"),
        ("[core]\n\thooksPath = %(prefix)/hooks\n", "%(prefix)/hooks"),
        ("[core]\n\texcludesFile = ~nobody/ignored\n", "~nobody/ignored"),
        ("[core]\n\tattributesFile = ~nobody/attributes\n", "~nobody/attributes"),
        (
            "[includeIf \"hasconfig:remote.*.url:https://corp.example/**\"]\n\tpath = more\n",
            "https://corp.example/**",
        ),
        ("[includeIf \"gitdir:\"]\n\tpath = more\n", "include more"),
    ] {
        let person = Person::new(&[(".gitconfig", settings), ("more", HOOKS)]);
        let add = |name: &str, url: &str| git(person.workspace.path(), &["remote", "add", name, url]);
        add("other", "https://other.example/x");
        let commit = || person.said("git_commit", &json!({"message": "second"}), &[]);
        if settings.contains("hasconfig") {
            assert!(!person.said("git_status", &json!({}), &[]).contains("needs_shell"));
            add("origin", "https://corp.example/x");
        }
        let said = commit();
        assert!(said.contains(named) && said.contains("needs_shell"), "{said}");
        assert_eq!(git(person.workspace.path(), &["log", "--format=%s"]).trim(), "first");
    }
}

/// The git library would decide by chance whether it includes them.
#[test]
fn settings_for_a_branch_are_followed_where_head_is_at_one() {
    let settings = "[includeIf \"onbranch:other\"]\n\tpath = more\n";
    let person = Person::new(&[(".gitconfig", settings), ("more", "[user]\n\tname = Wrong\n")]);
    assert!(person.said("git_commit", &json!({"message": "second"}), &[]).contains("[main "));
    git(person.workspace.path(), &["checkout", "-q", "--detach"]);
    let said = person.said("git_commit", &json!({"message": "third"}), &[]);
    assert!(said.contains("more for some branches") && said.contains("needs_shell"), "{said}");
}

#[test]
fn an_empty_variable_hides_no_settings() {
    let person = Person::new(&[(".config/git/config", HOOKS)]);
    let args = json!({"message": "second"}).to_string();
    let mut command = person.command(&["call", "git_commit", &args], &[]);
    let done = command.env("XDG_CONFIG_HOME", "").output().unwrap();
    let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    assert!(said.contains(HOOK), "{said}");
}

#[test]
fn settings_that_the_git_library_reads_differently_are_named_instead_of_passed_over() {
    let hidden = "[alias]\n\tst = status \\\n\n[core]\n\thooksPath = ~/hooks\n";
    let include = "[include]\n\tpath = more\n";
    for (files, named) in [
        (vec![(".gitconfig", hidden)], ".gitconfig can be read in two ways"),
        (vec![(".gitconfig", include), ("more", hidden)], "more can be read in two ways"),
        (vec![(".gitconfig", "[a]\n\tb = \"open\n")], ".gitconfig are malformed"),
    ] {
        let person = Person::new(&files);
        let said = person.said("git_commit", &json!({"message": "second"}), &[]);
        assert!(said.contains(named) && said.contains("needs_shell"), "{said}");
        assert_eq!(git(person.workspace.path(), &["log", "--format=%s"]).trim(), "first");
    }
    let marked = Person::new(&[(".gitconfig", "\u{feff}[include]\n\tpath = more\n"), ("more", HOOKS)]);
    let said = marked.said("git_commit", &json!({"message": "second"}), &[]);
    assert!(said.contains(HOOK), "{said}");
}

#[test]
fn settings_of_the_machine_are_where_the_git_on_the_path_has_them() {
    let person = Person::new(&[
        ("own/bin/git", ""),
        ("own/etc/gitconfig", HOOKS),
        ("own/etc/gitattributes", "*.key filter=x\n[attr]x filter=y\n"),
    ]);
    std::fs::set_permissions(person.at("own/bin/git"), PermissionsExt::from_mode(0o755)).unwrap();
    let said = |tool: &str, args: Value, directory: PathBuf| {
        let path = std::env::join_paths([directory, "/usr/bin".into(), "/bin".into()]).unwrap();
        let mut command = person.command(&["call", tool, &args.to_string()], &[]);
        let done = command.env("PATH", path).output().unwrap();
        String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
    };
    let own = said("git_commit", json!({"message": "second"}), person.at("own/bin"));
    assert!(own.contains(HOOK), "{own}");
    let own = said("git_add", json!({"path": "my.key"}), person.at("own/bin"));
    assert!(own.contains("filter") && own.contains("needs_shell"), "{own}");
    let others = said("git_commit", json!({"message": "second"}), person.at("none"));
    assert!(others.contains("[main "), "{others}");
}

#[test]
fn patterns_ignore_case_where_the_settings_say_so() {
    let person =
        Person::new(&[(".gitconfig", "[core]\n\texcludesFile = ~/ignored\n"), ("ignored", "*.KEY\n")]);
    for (setting, status) in [("false", "M  a\\n?? my.key"), ("true", "M  a\\n\"")] {
        git(person.workspace.path(), &["config", "core.ignoreCase", setting]);
        let said = person.said("git_status", &json!({"short": true}), &[]);
        assert!(said.contains(status), "{setting}: {said}");
    }
    let said = person.said("git_add", &json!({"path": "my.key"}), &[]);
    assert!(said.contains("ignored"), "{said}");
}

#[test]
fn nothing_is_committed_beside_another_git_process() {
    let person = Person::new(&[]);
    for name in ["index.lock", "HEAD.lock"] {
        let lock = person.workspace.path().join(".git").join(name);
        std::fs::write(&lock, "").unwrap();
        let said = person.said("git_commit", &json!({"message": "second"}), &[]);
        assert!(said.contains(name) && said.contains("another git process"), "{said}");
        std::fs::remove_file(lock).unwrap();
    }
    assert!(person.said("git_commit", &json!({"message": "second"}), &[]).contains("[main "));
}
