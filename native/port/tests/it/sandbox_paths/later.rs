//! Rules that deny paths, and what appears, moves or is exchanged between two commands.

use super::*;

#[test]
fn what_globs_match_is_not_carried_off_for_a_later_command() {
    for (mv, cat) in [("mv a z", "cat z/b/deep.pem"), ("mv a/b/vault open", "cat open/x")] {
        for (rules, expected) in [(&[][..], "SECRET"), (&GLOBS[..], "")] {
            let globs = Globs::new(rules, json!("required"));
            globs.write("a/b/deep.pem", "SECRET");
            globs.write("a/b/vault/x", "SECRET");
            globs.run(mv);
            assert_eq!(globs.run(cat), expected, "{mv}");
        }
    }
}

#[test]
fn what_comes_later_is_hidden_whoever_made_it() {
    let globs = Globs::new(&GLOBS, json!("required"));
    // Its directory was there when the reaper was made, and the reaper was not made anew for nothing.
    assert_eq!(globs.run("echo SECRET > secrets/new.pem; cat secrets/new.pem"), "SECRET\n");
    assert_eq!(globs.run("cat secrets/new.pem"), "");
    globs.write("secrets/host.pem", "SECRET");
    assert_eq!(globs.run("cat secrets/host.pem"), "");
    globs.write("n/e/w/host.pem", "SECRET");
    assert_eq!(globs.run("cat n/e/w/host.pem; echo end"), "end\n");
    // A file that was moved leaves no protection at its old path.
    fs::rename(globs.dir.path().join("n"), globs.dir.path().join("m")).unwrap();
    globs.write("n/e/w/host.txt", "PLAIN");
    assert_eq!(globs.run("cat n/e/w/host.txt m/e/w/host.pem"), "PLAIN");
}

#[test]
fn what_appears_under_a_rule_is_kept_from_the_next_command() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let dir = TempDir::new().unwrap();
    let file = elsewhere.path().join("d/f");
    std::os::unix::fs::symlink(elsewhere.path().join("d"), dir.path().join("l")).unwrap();
    // Names in a command are judged; so this is in a file.
    fs::write(dir.path().join("read"), format!("cat {} l/f; true", file.display())).unwrap();
    let rules = [format!("Read({})", file.display()), "Read(l/f)".to_owned(), "Read(l/*)".to_owned()];
    for denied in [&[][..], &[&*rules[0]], &[&*rules[1]], &[&*rules[2]]] {
        let read = || run_under(dir.path(), denied, "required", "bash read");
        assert_eq!(read(), "", "{denied:?}");
        fs::create_dir(elsewhere.path().join("d")).unwrap();
        fs::write(&file, "SECRET\n").unwrap();
        assert_eq!(read(), if denied.is_empty() { "SECRET\nSECRET\n" } else { "" }, "{denied:?}");
        fs::remove_dir_all(elsewhere.path().join("d")).unwrap();
    }
}

#[test]
fn what_a_person_moves_away_and_makes_again_is_kept_from_the_next_command() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let there = elsewhere.path().join("f").display().to_string();
    for (rule, moved, path) in [
        ("Read(f)".to_owned(), "f", "f".to_owned()),
        ("Read(**/*.env)".to_owned(), "f.env", "f.env".to_owned()),
        ("Read(d/f)".to_owned(), "d", "d/f".to_owned()),
        ("Read(l/f)".to_owned(), "d", "d/f".to_owned()),
        ("Read(d)".to_owned(), "d", "d/f".to_owned()),
        (format!("Read({there})"), &*there, there.clone()),
        ("Edit(d/f)".to_owned(), "d", "d/f".to_owned()),
        ("Edit(f*)".to_owned(), "f", "f".to_owned()),
    ] {
        for denied in [&[][..], &[&*rule]] {
            let dir = TempDir::new().unwrap();
            let make = |content: &str| {
                fs::create_dir_all(dir.path().join("d")).unwrap();
                fs::write(dir.path().join(&path), content).unwrap();
            };
            std::os::unix::fs::symlink("d", dir.path().join("l")).unwrap();
            make("OLD\n");
            // Names in a command are judged; so this is in a file.
            fs::write(dir.path().join("use"), format!("cat {path}; echo NEW >> {path}; true")).unwrap();
            let used = || run_under(dir.path(), denied, "required", "bash use");
            used();
            let moved = dir.path().join(moved);
            fs::rename(&moved, moved.with_file_name("away")).unwrap();
            make("AGAIN\n");
            let is_read = denied.is_empty() || rule.starts_with("Edit");
            assert_eq!(used(), if is_read { "AGAIN\n" } else { "" }, "{denied:?}");
            // Outside of the workspace, commands change nothing anyway.
            let is_changed = denied.is_empty() && path != there;
            let content = fs::read_to_string(dir.path().join(&path)).unwrap();
            assert_eq!(content == "AGAIN\nNEW\n", is_changed, "{denied:?}");
        }
    }
}

#[test]
fn a_mount_that_went_away_with_a_name_of_the_file_is_made_anew() {
    let elsewhere = TempDir::new_in("/var/tmp").unwrap();
    let there = elsewhere.path().join("f");
    for (rule, file) in
        [("Read(f)".to_owned(), PathBuf::from("f")), (format!("Read({})", there.display()), there)]
    {
        for denied in [&[][..], &[&*rule]] {
            let dir = TempDir::new().unwrap();
            let path = dir.path().join(&file);
            fs::write(&path, "SECRET\n").unwrap();
            // Names in a command are judged; so this is in a file.
            fs::write(dir.path().join("read"), format!("cat {}; true", file.display())).unwrap();
            let read = || run_under(dir.path(), denied, "required", "bash read");
            let expected = if denied.is_empty() { "SECRET\n" } else { "" };
            assert_eq!(read(), expected, "{denied:?}");
            // The same file, with the same number, by another entry of the directory.
            fs::hard_link(&path, path.with_file_name("kept")).unwrap();
            fs::rename(&path, path.with_file_name("moved")).unwrap();
            fs::rename(path.with_file_name("kept"), &path).unwrap();
            assert_eq!(read(), expected, "{denied:?}");
            // Replaced, as editors do it, until a number comes back.
            for _ in 0..20 {
                fs::write(path.with_file_name("new"), "SECRET\n").unwrap();
                fs::rename(path.with_file_name("new"), &path).unwrap();
                assert_eq!(read(), expected, "{denied:?}");
            }
            fs::remove_file(path.with_file_name("moved")).unwrap();
        }
    }
}

#[test]
fn what_leads_to_a_denied_file_stays() {
    // A second link of a chain, a directory that a link leaves, a link that leads outside.
    for (links, script) in [
        ([("a", "m/b"), ("m/b", "../r/s")], "rm m/b; mv m n"),
        ([("a", "r/s/t/.."), ("m/b", "../r")], "rmdir r/s/t"),
        ([("a", "m/b/s"), ("m/b", "../r")], "rm a; mv m n"),
    ] {
        for (denied, expected) in [(&[][..], "OLD"), (&["Read(a/f)"][..], "")] {
            let dir = TempDir::new().unwrap();
            for made in ["m", "r/s/t"] {
                fs::create_dir_all(dir.path().join(made)).unwrap();
            }
            for (link, target) in links {
                std::os::unix::fs::symlink(target, dir.path().join(link)).unwrap();
            }
            fs::write(dir.path().join("r/s/f"), "OLD").unwrap();
            // Names in a command are judged; so these are in files.
            fs::write(dir.path().join("read"), "cat r/s/f; true").unwrap();
            fs::write(dir.path().join("change"), format!("{script}; true")).unwrap();
            for _ in 0..2 {
                assert_eq!(run_under(dir.path(), denied, "required", "bash read"), expected, "{script}");
                run_under(dir.path(), denied, "required", "bash change");
            }
        }
    }
}
