//! What `readable` and `writable` lift of rules that deny paths, and what not.

use super::*;

#[test]
fn what_the_host_gave_to_be_written_is_not_protected() {
    let dir = workspace();
    let path: PathBuf = dir.path().join("key.pem");
    run(dir.path(), "echo NEW > key.pem", |confinement| {
        confinement.read_only = vec![path.clone().into()];
        confinement.writable = vec![path.clone().into()];
    });
    assert_eq!(texts(dir.path(), &["key.pem"]), ["NEW\n"]);
}

#[test]
fn what_the_host_shows_is_not_hidden() {
    let globs = Globs::new(&GLOBS, json!({"readable": ["key.pem", "vault/public"]}));
    globs.write("vault/public", "PUBLIC");
    globs.write("vault/private", "SECRET");
    globs.write("other.pem", "SECRET");
    assert_eq!(globs.run("cat key.pem other.pem vault/public vault/private"), "OLDPUBLIC");
}

#[test]
fn what_the_host_gives_to_be_written_in_what_is_read_only_is_written() {
    for rule in ["Edit(**/kept/**)", "Edit(o/kept)", "Write(o/kept/**)"] {
        let globs = Globs::new(&[rule], json!("required"));
        globs.write("o/kept/out/old", "OLD");
        globs.write("o/kept/f", "OLD");
        let script = "echo NEW > o/kept/out/old; echo NEW > o/kept/out/new; echo NEW > o/kept/f; true";
        globs.run(script);
        let read =
            |globs: &Globs| ["o/kept/out/old", "o/kept/out/new", "o/kept/f"].map(|file| globs.read(file));
        assert_eq!(read(&globs), ["OLD", "", "OLD"], "{rule}");
        let sandbox = json!({"mode": "required", "writable": [globs.dir.path().join("o/kept/out")]});
        let rules = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": [rule]});
        let globs = Globs { host: crate::common::host(globs.dir.path(), rules, sandbox), ..globs };
        globs.run(script);
        assert_eq!(read(&globs), ["NEW\n", "NEW\n", "OLD"], "{rule}");
    }
}

#[test]
fn what_the_host_lifts_lifts_no_other_rule_within() {
    for (option, rules) in [
        ("readable", ["Read(o/kept/**)", "Read(*.pem)"]),
        ("writable", ["Read(o/kept/**)", "Read(*.pem)"]),
        ("writable", ["Edit(o/kept/**)", "Edit(*.pem)"]),
        ("writable", ["Edit(**/kept/**)", "Edit(**/out/*.pem)"]),
    ] {
        let globs = Globs::new(&[], json!("required"));
        globs.write("o/kept/out/k.pem", "KEY");
        globs.write("o/kept/out/plain", "PLAIN");
        globs.write("o/kept/f", "F");
        let sandbox = json!({"mode": "required", option: [globs.dir.path().join("o/kept/out")]});
        let policy = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": rules});
        let globs = Globs { host: crate::common::host(globs.dir.path(), policy, sandbox), ..globs };
        let said = globs.run("cat o/kept/out/plain o/kept/out/k.pem o/kept/f; for f in o/kept/out/k.pem o/kept/f; do echo NEW > $f; done; true");
        let is_hidden = rules[0].starts_with("Read");
        assert_eq!(said, if is_hidden { "PLAIN" } else { "PLAINKEYF" }, "{option} {rules:?}");
        assert_eq!(
            (globs.read("o/kept/out/k.pem"), globs.read("o/kept/f")),
            ("KEY".into(), "F".into()),
            "{option} {rules:?}"
        );
    }
}

#[test]
fn what_the_host_shows_is_not_writable_if_it_would_be_hidden_or_protected() {
    let (old, new) = ("OLD", "NEW\n");
    for (rules, expected) in [
        (&["Read(o/kept)"][..], (old, false)),
        (&["Read(**/kept/**)"], (old, false)),
        (&["Edit(o/kept)"], (old, false)),
        (&["Write(o/kept/**)", "Read(o/kept)"], (old, false)),
        // Without mounts, nothing is created beside a protected file.
        (&["Edit(*.txt)"], (old, crate::common::is_full())),
        (&[], (new, true)),
    ] {
        let shown = ["o/kept", "o/kept/f.txt"];
        for (writable, expected) in [(&[][..], expected), (&shown[..], (new, true))] {
            let globs = Globs::new(&[], json!("required"));
            globs.write("o/kept/f.txt", "OLD");
            let absolute = |paths: &[&str]| -> Vec<PathBuf> {
                paths.iter().map(|path| globs.dir.path().join(path)).collect()
            };
            let sandbox =
                json!({"mode": "required", "readable": absolute(&shown), "writable": absolute(writable)});
            let policy = json!({"default": "allow", "allow": ["Bash(bash script)"], "deny": rules});
            let globs = Globs { host: crate::common::host(globs.dir.path(), policy, sandbox), ..globs };
            let script = "cat o/kept/f.txt; echo NEW > o/kept/f.txt; touch o/kept/new; true";
            assert_eq!(globs.run(script), "OLD", "{rules:?} {writable:?}");
            let found = (globs.read("o/kept/f.txt"), globs.dir.path().join("o/kept/new").exists());
            assert_eq!((&*found.0, found.1), expected, "{rules:?} {writable:?}");
        }
    }
}

#[test]
fn what_the_host_puts_in_place_of_what_it_shows_is_shown_instead() {
    let globs = Globs::new(&["Read(o/kept)"], json!({"readable": ["o/kept/pub", "o/kept/file"]}));
    globs.write("o/kept/pub/f", "OLD");
    globs.write("o/kept/file", "OLD");
    let at = |path: &str| globs.dir.path().join(path);
    let cat = "cat o/kept/pub/f o/kept/file";
    assert_eq!(globs.run(cat), "OLDOLD");
    // Moved away, it is under the rule.
    fs::rename(at("o/kept/pub"), at("o/kept/private")).unwrap();
    fs::rename(at("o/kept/file"), at("o/kept/other")).unwrap();
    globs.write("o/kept/pub/f", "NEW");
    globs.write("o/kept/file", "NEW");
    globs.write("o/kept/private/key", "KEY");
    assert_eq!(globs.run(&format!("{cat}; cat o/kept/pub/key o/kept/private/* o/kept/other")), "NEWNEW");
    // The directory that is made next often gets the same number.
    for text in ["1", "2", "3"] {
        fs::remove_dir_all(at("o/kept/pub")).unwrap();
        globs.write("o/kept/pub/f", text);
        fs::remove_file(at("o/kept/file")).unwrap();
        globs.write("o/kept/file", text);
        assert_eq!(globs.run(cat), text.repeat(2));
    }
}
