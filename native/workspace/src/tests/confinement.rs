//! No path escapes, and every path that stays inside works.

use super::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Reading, appending, replacing and stat all fail, and the file outside is unchanged.
fn refused(fixture: &Fixture, text: &str) {
    assert_eq!(reason(fixture.read(text)), Reason::OutsideWorkspace, "read {text}");
    assert_eq!(reason(fixture.write(text, "evil")), Reason::OutsideWorkspace, "write {text}");
    let path = fixture.workspace.parse_path(text);
    assert_eq!(reason(path.clone().and_then(|path| path.append())), Reason::OutsideWorkspace, "{text}");
    assert_eq!(reason(path.clone().and_then(|path| path.stat())), Reason::OutsideWorkspace, "{text}");
    assert_eq!(reason(path.and_then(|path| path.destination())), Reason::OutsideWorkspace, "{text}");
    assert_eq!(fs::read_to_string(fixture.outside("secret")).unwrap(), "outside");
    assert_eq!(fs::read_dir(fixture.outside("")).unwrap().count(), 1, "{text} made something");
}

#[test]
fn dots_do_not_lead_out() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("d")).unwrap();
    for text in ["../ws-evil/secret", "d/../../ws-evil/secret", "../ws/in.txt", "new/../../ws-evil/secret"] {
        refused(&fixture, text);
    }
    assert_eq!(fixture.names("."), ["d", "in.txt"]);
    assert_eq!(fixture.read("d/../in.txt").unwrap(), "inside");
}

#[test]
fn absolute_paths_work_inside_only() {
    let fixture = Fixture::new();
    let inside = fixture.path("in.txt");
    assert_eq!(fixture.read(inside.to_str().unwrap()).unwrap(), "inside");
    refused(&fixture, "/etc/passwd");
    refused(&fixture, &format!("{}/../ws-evil/secret", fixture.workspace.path().display()));
}

#[test]
fn a_sibling_with_the_workspace_as_prefix_is_outside() {
    let fixture = Fixture::new();
    refused(&fixture, fixture.outside("secret").to_str().unwrap());
}

#[test]
fn a_home_directory_is_outside() {
    let fixture = Fixture::new();
    for text in ["~", "~/x"] {
        assert_eq!(reason(fixture.workspace.parse_path(text)), Reason::OutsideWorkspace);
    }
    fixture.write("~x", "a name like any other").unwrap();
}

#[test]
fn an_empty_path_and_a_nul_byte_are_refused() {
    let fixture = Fixture::new();
    for text in ["", "a\0b", "a\\x00b"] {
        assert_eq!(reason(fixture.workspace.parse_path(text)), Reason::InvalidArgument, "{text:?}");
    }
}

#[test]
fn an_escaped_slash_is_still_a_slash() {
    let fixture = Fixture::new();
    refused(&fixture, "\\x2Fetc\\x2Fpasswd");
    refused(&fixture, "..\\x2Fws-evil/secret");
}

#[test]
fn links_that_stay_inside_are_followed() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("d")).unwrap();
    fixture.link("../in.txt", "d/relative");
    fixture.link(fixture.path("in.txt"), "absolute");
    fixture.link(fixture.path("d"), "absolute-dir");
    fixture.link(fixture.workspace.path(), "top");
    for text in ["d/relative", "absolute", "absolute-dir/relative", "top/absolute", "top/top/d/../in.txt"] {
        assert_eq!(fixture.read(text).unwrap(), "inside", "{text}");
        assert_eq!(fixture.parse_path(text).resolved().unwrap(), "in.txt", "{text}");
    }
    fixture.write("absolute-dir/new", "x").unwrap();
    assert_eq!(fs::read_to_string(fixture.path("d/new")).unwrap(), "x");
}

#[test]
fn an_absolute_link_by_another_name_of_the_workspace_is_followed() {
    let fixture = Fixture::new();
    let alias = fixture.dir.path().join("alias");
    std::os::unix::fs::symlink(fixture.workspace.path(), &alias).unwrap();
    fixture.link(alias.join("in.txt"), "link");
    let workspace = Workspace::open(&alias).unwrap();
    assert!(workspace.parse_path("link").unwrap().open_file().is_ok());
    assert!(workspace.parse_path(alias.join("in.txt").to_str().unwrap()).unwrap().open_file().is_ok());
    let again = Workspace::pinned(&workspace.named()).unwrap();
    assert!(again.parse_path(alias.join("in.txt").to_str().unwrap()).unwrap().open_file().is_ok());
    assert_eq!(again.id(), workspace.id());
}

#[test]
fn links_that_lead_out_are_refused() {
    let fixture = Fixture::new();
    fixture.link("../ws-evil/secret", "relative");
    fixture.link(fixture.outside("secret"), "absolute");
    fixture.link(fixture.outside(""), "dir");
    fixture.link("absolute", "twice");
    fixture.link("/", "root");
    fixture.link("/proc/self/root", "magic");
    for text in
        ["relative", "absolute", "dir/secret", "dir/new", "twice", "root/etc/passwd", "magic/etc/passwd"]
    {
        refused(&fixture, text);
    }
    assert_eq!(reason(fixture.parse_path("dir").open_dir()), Reason::OutsideWorkspace);
}

#[test]
fn a_dangling_link_makes_its_target_inside_and_nothing_outside() {
    let fixture = Fixture::new();
    fixture.link("made.txt", "inside");
    fixture.link(fixture.outside("made.txt"), "outside");
    fixture.write("inside", "x").unwrap();
    assert_eq!(fs::read_to_string(fixture.path("made.txt")).unwrap(), "x");
    assert!(fs::symlink_metadata(fixture.path("inside")).unwrap().is_symlink());
    refused(&fixture, "outside");
}

#[test]
fn a_loop_of_links_ends() {
    let fixture = Fixture::new();
    fixture.link("b", "a");
    fixture.link("a", "b");
    fixture.link(fixture.path("self/x"), "self");
    for text in ["a", "self", "self/y"] {
        assert_eq!(reason(fixture.read(text)), Reason::InvalidArgument, "{text}");
        assert_eq!(reason(fixture.write(text, "x")), Reason::InvalidArgument, "{text}");
    }
}

#[test]
fn what_is_no_regular_file_is_named_and_does_not_hang() {
    let fixture = Fixture::new();
    let start = Instant::now();
    let parent = fs::File::open(fixture.path("")).unwrap();
    rustix::fs::mknodat(&parent, "fifo", rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    for name in ["fifo", "socket"] {
        for result in [
            fixture.read(name).map(drop),
            fixture.write(name, "x"),
            fixture.parse_path(name).append().map(drop),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error.reason, Reason::NotAFile);
            assert!(error.message.contains(&format!("is a {name};")), "{}", error.message);
        }
    }
    assert_eq!(reason(fixture.read(".")), Reason::IsADirectory);
    assert_eq!(reason(fixture.write(".", "x")), Reason::IsADirectory);
    assert_eq!(reason(fixture.parse_path(".").append()), Reason::IsADirectory);
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_device_is_refused() {
    let devices = Workspace::open(Path::new("/dev")).unwrap();
    for name in ["zero", "null"] {
        let path = devices.parse_path(name).unwrap();
        assert_eq!(reason(path.open_file()), Reason::NotAFile);
        assert_eq!(reason(path.append()), Reason::NotAFile);
    }
}

#[test]
fn a_workspace_that_was_swapped_is_not_followed_and_not_pinned_again() {
    let fixture = Fixture::new();
    let id = fixture.workspace.id();
    let (here, gone) = (fixture.path(""), fixture.dir.path().join("moved"));
    fs::rename(&here, &gone).unwrap();
    std::os::unix::fs::symlink(
        fixture.dir.path().join("ws-evil"),
        here.to_str().unwrap().trim_end_matches('/'),
    )
    .unwrap();
    assert_eq!(fixture.read("in.txt").unwrap(), "inside");
    assert_eq!(reason(fixture.read("secret")), Reason::NoSuchFile);
    fixture.write("new", "x").unwrap();
    assert!(gone.join("new").exists());
    assert_eq!(reason(Workspace::pinned(&id)), Reason::WorkspaceGone);
    assert_eq!(reason(fixture.workspace.expect_in_place()), Reason::WorkspaceGone);
    fs::remove_file(here.to_str().unwrap().trim_end_matches('/')).unwrap();
    assert_eq!(reason(fixture.workspace.expect_in_place()), Reason::WorkspaceGone);
    assert_eq!(reason(Workspace::pinned(&id)), Reason::WorkspaceGone);
    fs::rename(&gone, &here).unwrap();
    fixture.workspace.expect_in_place().unwrap();
}

#[test]
fn names_that_are_not_text_come_and_go_unchanged() {
    let fixture = Fixture::new();
    for name in [b"caf\xe9".as_slice(), b"line\nbreak", b"\xff\xfe", b"a\\x41"] {
        let path = fixture.workspace.path().join(OsStr::from_bytes(name));
        fs::write(&path, "named").unwrap();
        let text = crate::encode_path(Path::new(OsStr::from_bytes(name)));
        assert_eq!(fixture.read(&text).unwrap(), "named");
        assert_eq!(fixture.parse_path(&text).resolved().unwrap(), text);
        fixture.write(&text, "again").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "again");
    }
}

#[test]
fn a_temporary_directory_is_a_second_way_and_no_way_out() {
    let fixture = Fixture::new();
    let temp = tempfile::tempdir().unwrap();
    let workspace = fixture.workspace.with_temp(temp.path()).unwrap();
    let path = workspace.parse_path(temp.path().join("x").to_str().unwrap()).unwrap();
    let replacement = path.replace().unwrap();
    replacement.commit(Expected::Absent).unwrap();
    assert!(temp.path().join("x").exists());
    assert_eq!(path.resolved().unwrap(), temp.path().canonicalize().unwrap().join("x").to_str().unwrap());
    let out = temp.path().join("../ws/in.txt");
    assert_eq!(reason(workspace.parse_path(out.to_str().unwrap())), Reason::OutsideWorkspace);
}

#[test]
fn a_path_in_the_tmp_of_commands_is_refused_with_the_place_of_the_temporary_directory() {
    let fixture = Fixture::new();
    let message = |workspace: &Workspace, text: &str| workspace.parse_path(text).unwrap_err().message;
    let said = message(&fixture.workspace, "/tmp/a b.txt");
    assert!(said.ends_with("; file tools have no /tmp: use a path inside it"), "{said}");
    let temp = tempfile::tempdir().unwrap();
    let workspace = fixture.workspace.with_temp(temp.path()).unwrap();
    let said = message(&workspace, "/tmp/a b.txt");
    let (_, at) = said.split_once("; file tools have $TMPDIR alone in /tmp: use ").unwrap();
    assert_eq!(workspace.parse_path(at).unwrap().relative(), Path::new("a b.txt"));
    assert!(message(&workspace, "/tmp/../etc/x").ends_with("; use a path inside it"));
}

#[test]
fn the_destination_of_a_write_is_known_before_anything_is_made() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("real")).unwrap();
    fixture.link("real", "link");
    for (text, end) in [
        ("link/a/b.txt", "real/a/b.txt"),
        ("link/a/../b.txt", "real/b.txt"),
        ("new/deep/x", "new/deep/x"),
        (".", "."),
    ] {
        assert_eq!(fixture.parse_path(text).destination().unwrap(), end);
    }
    assert_eq!(fixture.names("real"), [""; 0]);
}
