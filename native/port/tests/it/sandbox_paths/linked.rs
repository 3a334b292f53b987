//! What deny rules with wildcards, or with a name for any depth, match where it is a link.

use super::{CallOptions, CallOutcome, Globs};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Makes links and what they lead to, and says what a script prints without a rule and under it.
fn said(rule: &str, links: &[(&str, PathBuf)], script: &str) -> [String; 2] {
    [&[][..], &[rule]].map(|rules| {
        let globs = Globs::new(rules, json!("required"));
        globs.write("a/deep/plain", "PLAIN\n");
        globs.write("kept/own", "OWN\n");
        for (link, target) in links {
            symlink(target, globs.dir.path().join(link)).unwrap();
        }
        globs.run(script)
    })
}

#[test]
fn what_a_matching_link_leads_to_cannot_be_read() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    fs::write(elsewhere.path().join("own"), "OWN\n").unwrap();
    let script = "cat a/deep/.env a/deep/plain; cat kept/own; true";
    for (rule, links) in [
        ("Read(.env)", vec![("a/deep/.env", "../../kept/own".into())]),
        ("Read(**/.e*)", vec![("a/deep/.env", "../../kept/own".into())]),
        ("Read(.env)", vec![("a/deep/.env", "../on".into()), ("a/on", "../kept/own".into())]),
        ("Read(*/deep/.env)", vec![("a/deep/.env", "../../kept/own".into())]),
    ] {
        assert_eq!(said(rule, &links, script), ["OWN\nPLAIN\nOWN\n", "PLAIN\n"], "{rule} {links:?}");
    }
    let outside = vec![("a/deep/.env", elsewhere.path().join("own"))];
    assert_eq!(
        said("Read(.env)", &outside, "cat a/deep/.env; cat a/deep/plain; true"),
        ["OWN\nPLAIN\n", "PLAIN\n"]
    );
    // Of the system, too.
    let texts = ["/etc/profile", "/etc/shells", "/etc/services", "/etc/fstab"];
    let text = texts.into_iter().find(|text| Path::new(text).is_file()).unwrap();
    let of_system = vec![("a/deep/.env", PathBuf::from(text))];
    let script = format!("for f in {text} a/deep/.env; do [ -z \"$(cat $f)\" ] || echo read; done; id -un");
    let [free, denied] = said("Read(.env)", &of_system, &script);
    assert_eq!(free, format!("read\nread\n{denied}"));
    assert_eq!(denied.lines().count(), 1, "{denied}");
    let directory = vec![("a/deep/secrets", PathBuf::from("../../kept"))];
    let script = "cat a/deep/secrets/own kept/own; cat a/deep/plain";
    assert_eq!(said("Read(**/secrets/**)", &directory, script), ["OWN\nOWN\nPLAIN\n", "PLAIN\n"]);
}

#[test]
fn what_a_matching_link_leads_to_cannot_be_changed() {
    let links = vec![("a/deep/.env", PathBuf::from("../../kept/own"))];
    let script = "echo NEW > a/deep/.env; echo NEW > kept/own; cat kept/own; echo NEW > a/deep/plain; cat a/deep/plain";
    assert_eq!(said("Edit(.env)", &links, script), ["NEW\nNEW\n", "OWN\nNEW\n"]);
}

#[test]
fn a_matching_link_stays_so_that_the_next_command_knows_it() {
    let globs = Globs::new(&["Read(.env)"], json!("required"));
    globs.write("kept/own", "OWN\n");
    globs.write("a/b/plain", "PLAIN\n");
    symlink("../../kept/own", globs.dir.path().join("a/b/.env")).unwrap();
    let script = "rm -f a/b/.env; mv a/b/.env x; mv a/b/.env x2; mv a c; mv kept d; mv kept/own e; echo on";
    assert_eq!(globs.run(script), "on\n");
    assert_eq!(globs.run("cat a/b/.env c/b/.env x x2 kept/own d/own e; true"), "");
    assert_eq!(globs.read("kept/own"), "OWN\n");
}

#[test]
fn a_link_that_a_command_makes_counts_from_the_next_one_on() {
    let globs = Globs::new(&["Read(.env)"], json!("required"));
    globs.write("kept/own", "OWN\n");
    globs.write("a/plain", "PLAIN\n");
    assert_eq!(globs.run("ln -s ../kept/own a/.env; cat a/.env"), "OWN\n");
    assert_eq!(globs.run("cat a/.env kept/own; cat a/plain"), "PLAIN\n");
    fs::remove_file(globs.dir.path().join("a/.env")).unwrap();
    assert_eq!(globs.run("cat kept/own"), "OWN\n");
}

/// A rule about a directory is about all that is in it, and does not weaken another one.
#[test]
fn what_links_in_a_denied_directory_lead_to_is_denied() {
    let links = vec![("a/deep/k.pem", PathBuf::from("../../kept/own")), ("a/deep/n", "plain".into())];
    let script = "cat kept/own; cat a/deep/plain; true";
    for rule in ["Read(a)", "Read(a/**)", "Read(**/deep)", "Read(a/d*p)"] {
        assert_eq!(said(rule, &links, script), ["OWN\nPLAIN\n", ""], "{rule}");
    }
    let script = "echo NEW > kept/own; cat kept/own";
    assert_eq!(said("Edit(a)", &links, script), ["NEW\n", "OWN\n"]);
    let globs = Globs::new(&["Read(a/deep)", "Edit(**/*.pem)"], json!("required"));
    globs.write("kept/own", "OWN\n");
    globs.write("a/deep/plain", "PLAIN\n");
    symlink("../../kept/own", globs.dir.path().join("a/deep/k.pem")).unwrap();
    globs.run("echo NEW > kept/own");
    assert_eq!(globs.read("kept/own"), "OWN\n");
}

#[test]
fn a_link_at_a_rules_own_name_lifts_no_other_rule() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    fs::write(elsewhere.path().join("own"), "OWN\n").unwrap();
    let read = format!("cat {}/own; true", elsewhere.path().display());
    for target in ["a", ".", "a/..", "/", "/proc/self/cwd"] {
        let globs = Globs::new(&["Read(.env)"], json!("required"));
        globs.write("a/deep/plain", "PLAIN\n");
        symlink(elsewhere.path().join("own"), globs.dir.path().join("a/deep/.env")).unwrap();
        symlink(target, globs.dir.path().join(".env")).unwrap();
        assert_eq!(globs.run(&read), "", "{target}");
    }
}

#[test]
fn a_link_at_a_rules_own_name_to_what_every_command_needs_denies_nothing() {
    for target in [".", "..", "/", "/usr", "/usr/bin/bash", "/lib64", "/proc/self/fd", ".env/x"] {
        for rule in ["Read(.env)", "Edit(.env)"] {
            let globs = Globs::new(&[rule], json!("required"));
            globs.write("a", "PLAIN\n");
            symlink(target, globs.dir.path().join(".env")).unwrap();
            assert_eq!(globs.run("cat a; true"), "PLAIN\n", "{target} {rule}");
            let read = json!({"tool": "file_read", "args": {"path": "a"}});
            let read = globs.host.call(serde_json::from_value(read).unwrap(), CallOptions::default());
            assert!(matches!(&read, CallOutcome::Ok(..)), "{target} {rule}: {read:?}");
        }
    }
}

#[test]
fn a_matching_link_to_what_every_command_needs_denies_nothing() {
    for target in
        ["..", "../..", "/", "/usr/bin", "/proc/self/cwd", "nothing", ".env", "/etc", "/tmp", "/etc/passwd"]
    {
        let globs = Globs::new(&["Read(.env)", "Edit(.env)"], json!("required"));
        globs.write("a/plain", "PLAIN\n");
        symlink(Path::new(target), globs.dir.path().join("a/.env")).unwrap();
        assert_eq!(globs.run("cat script > a/new; cat a/plain"), "PLAIN\n", "{target}");
    }
}

/// A rule reaches into a repository only if it names it.
#[test]
fn a_matching_link_into_a_repository_denies_nothing_there() {
    for link in [".env", "a/.env"] {
        for target in [".git", ".git/HEAD", ".git/index"] {
            let globs = Globs::new(&["Read(.env)", "Edit(.env)"], json!("required"));
            globs.write("a/plain", "PLAIN\n");
            let git = |arguments: &[&str]| {
                let ran = Command::new("git").args(arguments).current_dir(&globs.dir).status();
                assert!(ran.unwrap().success(), "{arguments:?}");
            };
            git(&["init", "-q"]);
            git(&["add", "a/plain"]);
            symlink(globs.dir.path().join(target), globs.dir.path().join(link)).unwrap();
            let script = "git ls-files; git add a/plain && echo added";
            assert_eq!(globs.run(script), "a/plain\nadded\n", "{link} {target}");
        }
    }
}
