//! Deny rules for programs under other names: with a version, and by patterns of paths.

use super::*;
use std::os::unix::fs::symlink;

/// A directory with a program that has a version in its name.
fn versioned(name: &str, links: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(name), name).unwrap();
    for link in links {
        symlink(name, dir.path().join(link)).unwrap();
    }
    dir
}

#[test]
fn a_name_without_the_version_holds_behind_links_and_for_interpreters() {
    let dir = versioned("python3.9", &["python", "python3"]);
    let [file, link] = ["python3.9", "python"].map(|name| dir.path().join(name));
    let linked = |called: &str, links: Vec<PathBuf>, file: &Path| ProgramStart {
        links,
        file: file.to_owned(),
        is_writable: true,
        ..start(&[called, "x"])
    };
    let rule = ["Bash(python3:*)"];
    assert!(denies(&rule, &linked("/w/zz", vec![file.clone()], &file)));
    assert!(denies(&rule, &linked(link.to_str().unwrap(), vec![file.clone()], &file)));
    let moved = Path::new("/elsewhere/py");
    assert!(denies(&rule, &linked("/w/zz", vec![file.clone(), moved.into()], moved)), "a link on the way");
    assert!(denies(&["Bash(python:*)"], &linked("/w/zz", vec![file.clone()], &file)));
    assert!(!denies(&["Bash(pytho:*)", "Bash(python3.:*)"], &linked("/w/zz", vec![file.clone()], &file)));
    let by = |names: &[&Path]| ProgramStart {
        interpreters: vec![interpreter(
            &names.iter().map(|name| name.to_str().unwrap()).collect::<Vec<_>>(),
            Some("-S"),
        )],
        ..start(&["/w/script"])
    };
    assert!(denies(&rule, &by(&[&file])) && denies(&rule, &by(&[Path::new("/w/zz"), &file])));
    assert!(denies(&["Bash(python3 -S:*)"], &by(&[&file])));
    assert!(!denies(&["Bash(python3 -I:*)"], &by(&[&file])));
}

#[test]
fn versions_of_other_files_and_of_programs_that_go_by_their_name_stay_apart() {
    let dir = versioned("pip3.11", &[]);
    std::fs::write(dir.path().join("pip"), "another").unwrap();
    let start_of = |path: PathBuf| start(&[path.to_str().unwrap(), "x"]);
    assert!(!denies(&["Bash(pip:*)"], &start_of(dir.path().join("pip3.11"))));
    let dir = versioned("bun", &["tool", "tool-2"]);
    let called = ProgramStart { file: dir.path().join("bun"), ..start_of(dir.path().join("tool-2")) };
    assert!(!denies(&["Bash(tool:*)"], &called));
    assert!(denies(&["Bash(tool-2:*)"], &called) && denies(&["Bash(bun:*)"], &called));
}

/// Whether a rule denies a start of the workspace's `bin/tool` or `deploy.sh` by these names; the last one is the file's.
fn denies_in_workspace(rule: &str, names: &[&str], argument: &str) -> bool {
    let case = case(json!({"deny": [rule], "default": "allow"}), "make", true);
    let top = case.dir.path().canonicalize().unwrap();
    let path = |name: &&str| top.join(name);
    let start = ProgramStart {
        called: path(&names[0]),
        links: names[1..].iter().map(path).collect(),
        file: path(&names[names.len() - 1]),
        is_writable: true,
        ..start(&["./called", argument])
    };
    matches!(case.judge(&start), StartVerdict::Refuse(Some(_)))
}

#[test]
fn a_pattern_of_a_relative_path_starts_at_the_workspace() {
    for rule in ["Bash(bin/*)", "Bash(./bin/*)", "Bash(b?n/tool*)", "Bash(x/../bin/t*)", "Bash(./bin/* -x)"] {
        assert!(denies_in_workspace(rule, &["bin/tool"], "-x"), "{rule}");
        assert!(denies_in_workspace(rule, &["zz", "bin/tool"], "-x"), "{rule}");
        assert!(denies_in_workspace(rule, &["bin/tool", "lib/tool"], "-x"), "{rule}");
        for other in ["tool", "sub/bin/tool", "binary/x"] {
            assert!(!denies_in_workspace(rule, &[other], "-x"), "{rule}: {other}");
        }
    }
    assert!(denies_in_workspace("Bash(./deploy*)", &["deploy.sh"], "-x"));
    assert!(!denies_in_workspace("Bash(./bin/* -x)", &["bin/tool"], "-y"));
    assert!(!denies_in_workspace("Bash(bin/*)", &["other"], "bin/tool"));
}

#[test]
fn an_absolute_pattern_holds_for_each_absolute_name() {
    for names in [&["/opt/x/tool"][..], &["zz", "/opt/x/tool"], &["/opt/x/tool", "real"]] {
        assert!(denies_in_workspace("Bash(/opt/x/*)", names, "-x"), "{names:?}");
    }
    assert!(!denies_in_workspace("Bash(/opt/x/*)", &["opt/x/tool"], "-x"));
}

#[test]
fn a_pattern_of_a_relative_path_holds_where_its_links_lead() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap().join("a [b]");
    std::fs::create_dir_all(top.join("bin")).unwrap();
    symlink("bin", top.join("sbin")).unwrap();
    for text in ["./sbin/* -x", "~/sbin/* -x", "~//s?in/tool -x", "~/./sbin/t* -x"] {
        let pattern = CommandPattern::new(text, top.to_str()).unwrap();
        let holds = |name: &str| {
            let (first, arguments) =
                (Word::literal(top.join(name).to_str().unwrap()), called::compared(&["-x".into()], true));
            pattern.absolute(&top).iter().any(|pattern| pattern.allows_words(&first, &arguments))
        };
        assert!(holds("sbin/tool") && !holds("tool"), "{pattern:?}");
        // The directory before the first wildcard has two names.
        assert_eq!(holds("bin/tool"), text.contains("/sbin"), "{text}");
    }
    for other in ["tool*", "./bin/tool *", "bin/tool:*"] {
        assert!(CommandPattern::new(other, None).unwrap().absolute(&top).is_empty(), "{other}");
    }
}
