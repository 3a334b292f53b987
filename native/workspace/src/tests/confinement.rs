//! No path leads out, and every path that stays inside works.

use super::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Reading, appending, replacing and looking are all refused, and the file outside is as it was.
fn refused(scene: &Scene, text: &str) {
    assert_eq!(reason(scene.read(text)), Reason::OutsideWorkspace, "read {text}");
    assert_eq!(reason(scene.write(text, "evil")), Reason::OutsideWorkspace, "write {text}");
    let place = scene.workspace.place(text);
    assert_eq!(reason(place.clone().and_then(|place| place.append())), Reason::OutsideWorkspace, "{text}");
    assert_eq!(reason(place.clone().and_then(|place| place.stat())), Reason::OutsideWorkspace, "{text}");
    assert_eq!(reason(place.and_then(|place| place.destination())), Reason::OutsideWorkspace, "{text}");
    assert_eq!(fs::read_to_string(scene.outside("secret")).unwrap(), "outside");
    assert_eq!(fs::read_dir(scene.outside("")).unwrap().count(), 1, "{text} made something");
}

#[test]
fn dots_do_not_lead_out() {
    let scene = Scene::new();
    fs::create_dir(scene.path("d")).unwrap();
    for text in ["../ws-evil/secret", "d/../../ws-evil/secret", "../ws/in.txt", "new/../../ws-evil/secret"] {
        refused(&scene, text);
    }
    assert_eq!(scene.names("."), ["d", "in.txt"]);
    assert_eq!(scene.read("d/../in.txt").unwrap(), "inside");
}

#[test]
fn absolute_paths_work_inside_only() {
    let scene = Scene::new();
    let inside = scene.path("in.txt");
    assert_eq!(scene.read(inside.to_str().unwrap()).unwrap(), "inside");
    refused(&scene, "/etc/passwd");
    refused(&scene, &format!("{}/../ws-evil/secret", scene.workspace.path().display()));
}

#[test]
fn a_sibling_with_the_workspace_as_prefix_is_outside() {
    let scene = Scene::new();
    refused(&scene, scene.outside("secret").to_str().unwrap());
}

#[test]
fn a_home_directory_is_outside() {
    let scene = Scene::new();
    for text in ["~", "~/x"] {
        assert_eq!(reason(scene.workspace.place(text)), Reason::OutsideWorkspace);
    }
    scene.write("~x", "a name like any other").unwrap();
}

#[test]
fn an_empty_path_and_a_nul_byte_are_refused() {
    let scene = Scene::new();
    for text in ["", "a\0b", "a\\x00b"] {
        assert_eq!(reason(scene.workspace.place(text)), Reason::InvalidArgument, "{text:?}");
    }
}

#[test]
fn an_escaped_slash_is_still_a_slash() {
    let scene = Scene::new();
    refused(&scene, "\\x2Fetc\\x2Fpasswd");
    refused(&scene, "..\\x2Fws-evil/secret");
}

#[test]
fn links_that_stay_inside_are_followed() {
    let scene = Scene::new();
    fs::create_dir(scene.path("d")).unwrap();
    scene.link("../in.txt", "d/relative");
    scene.link(scene.path("in.txt"), "absolute");
    scene.link(scene.path("d"), "absolute-dir");
    scene.link(scene.workspace.path(), "top");
    for text in ["d/relative", "absolute", "absolute-dir/relative", "top/absolute", "top/top/d/../in.txt"] {
        assert_eq!(scene.read(text).unwrap(), "inside", "{text}");
        assert_eq!(scene.place(text).resolved().unwrap(), "in.txt", "{text}");
    }
    scene.write("absolute-dir/new", "x").unwrap();
    assert_eq!(fs::read_to_string(scene.path("d/new")).unwrap(), "x");
}

#[test]
fn an_absolute_link_by_another_name_of_the_workspace_is_followed() {
    let scene = Scene::new();
    let alias = scene.dir.path().join("alias");
    std::os::unix::fs::symlink(scene.workspace.path(), &alias).unwrap();
    scene.link(alias.join("in.txt"), "link");
    let workspace = Workspace::open(&alias).unwrap();
    assert!(workspace.place("link").unwrap().open_file().is_ok());
    assert!(workspace.place(alias.join("in.txt").to_str().unwrap()).unwrap().open_file().is_ok());
    let again = Workspace::pinned(&workspace.named()).unwrap();
    assert!(again.place(alias.join("in.txt").to_str().unwrap()).unwrap().open_file().is_ok());
    assert_eq!(again.id(), workspace.id());
}

#[test]
fn links_that_lead_out_are_refused() {
    let scene = Scene::new();
    scene.link("../ws-evil/secret", "relative");
    scene.link(scene.outside("secret"), "absolute");
    scene.link(scene.outside(""), "dir");
    scene.link("absolute", "twice");
    scene.link("/", "root");
    scene.link("/proc/self/root", "magic");
    for text in
        ["relative", "absolute", "dir/secret", "dir/new", "twice", "root/etc/passwd", "magic/etc/passwd"]
    {
        refused(&scene, text);
    }
    assert_eq!(reason(scene.place("dir").open_dir()), Reason::OutsideWorkspace);
}

#[test]
fn a_dangling_link_makes_its_target_inside_and_nothing_outside() {
    let scene = Scene::new();
    scene.link("made.txt", "inside");
    scene.link(scene.outside("made.txt"), "outside");
    scene.write("inside", "x").unwrap();
    assert_eq!(fs::read_to_string(scene.path("made.txt")).unwrap(), "x");
    assert!(fs::symlink_metadata(scene.path("inside")).unwrap().is_symlink());
    refused(&scene, "outside");
}

#[test]
fn a_loop_of_links_ends() {
    let scene = Scene::new();
    scene.link("b", "a");
    scene.link("a", "b");
    scene.link(scene.path("self/x"), "self");
    for text in ["a", "self", "self/y"] {
        assert_eq!(reason(scene.read(text)), Reason::InvalidArgument, "{text}");
        assert_eq!(reason(scene.write(text, "x")), Reason::InvalidArgument, "{text}");
    }
}

#[test]
fn what_is_no_regular_file_is_named_and_does_not_hang() {
    let scene = Scene::new();
    let start = Instant::now();
    let parent = fs::File::open(scene.path("")).unwrap();
    rustix::fs::mknodat(&parent, "fifo", rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scene.path("socket")).unwrap();
    for name in ["fifo", "socket"] {
        for result in
            [scene.read(name).map(drop), scene.write(name, "x"), scene.place(name).append().map(drop)]
        {
            let error = result.unwrap_err();
            assert_eq!(error.reason, Reason::NotAFile);
            assert!(error.message.contains(&format!("is a {name};")), "{}", error.message);
        }
    }
    assert_eq!(reason(scene.read(".")), Reason::IsADirectory);
    assert_eq!(reason(scene.write(".", "x")), Reason::IsADirectory);
    assert_eq!(reason(scene.place(".").append()), Reason::IsADirectory);
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_device_is_refused() {
    let devices = Workspace::open(Path::new("/dev")).unwrap();
    for name in ["zero", "null"] {
        let place = devices.place(name).unwrap();
        assert_eq!(reason(place.open_file()), Reason::NotAFile);
        assert_eq!(reason(place.append()), Reason::NotAFile);
    }
}

#[test]
fn a_workspace_that_was_swapped_is_not_followed_and_not_pinned_again() {
    let scene = Scene::new();
    let id = scene.workspace.id();
    let (here, gone) = (scene.path(""), scene.dir.path().join("moved"));
    fs::rename(&here, &gone).unwrap();
    std::os::unix::fs::symlink(
        scene.dir.path().join("ws-evil"),
        here.to_str().unwrap().trim_end_matches('/'),
    )
    .unwrap();
    assert_eq!(scene.read("in.txt").unwrap(), "inside");
    assert_eq!(reason(scene.read("secret")), Reason::NoSuchFile);
    scene.write("new", "x").unwrap();
    assert!(gone.join("new").exists());
    assert_eq!(reason(Workspace::pinned(&id)), Reason::WorkspaceGone);
    assert_eq!(reason(scene.workspace.expect_in_place()), Reason::WorkspaceGone);
    fs::remove_file(here.to_str().unwrap().trim_end_matches('/')).unwrap();
    assert_eq!(reason(scene.workspace.expect_in_place()), Reason::WorkspaceGone);
    assert_eq!(reason(Workspace::pinned(&id)), Reason::WorkspaceGone);
    fs::rename(&gone, &here).unwrap();
    scene.workspace.expect_in_place().unwrap();
}

#[test]
fn names_that_are_not_text_come_and_go_unchanged() {
    let scene = Scene::new();
    for name in [b"caf\xe9".as_slice(), b"line\nbreak", b"\xff\xfe", b"a\\x41"] {
        let path = scene.workspace.path().join(OsStr::from_bytes(name));
        fs::write(&path, "named").unwrap();
        let text = crate::encode_path(Path::new(OsStr::from_bytes(name)));
        assert_eq!(scene.read(&text).unwrap(), "named");
        assert_eq!(scene.place(&text).resolved().unwrap(), text);
        scene.write(&text, "again").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "again");
    }
}

#[test]
fn a_temporary_directory_is_a_second_way_and_no_way_out() {
    let scene = Scene::new();
    let temp = tempfile::tempdir().unwrap();
    let workspace = scene.workspace.with_temp(temp.path()).unwrap();
    let place = workspace.place(temp.path().join("x").to_str().unwrap()).unwrap();
    let replacement = place.replace().unwrap();
    replacement.commit(Expected::Absent).unwrap();
    assert!(temp.path().join("x").exists());
    assert_eq!(place.resolved().unwrap(), temp.path().canonicalize().unwrap().join("x").to_str().unwrap());
    let out = temp.path().join("../ws/in.txt");
    assert_eq!(reason(workspace.place(out.to_str().unwrap())), Reason::OutsideWorkspace);
}

#[test]
fn the_destination_of_a_write_is_known_before_anything_is_made() {
    let scene = Scene::new();
    fs::create_dir(scene.path("real")).unwrap();
    scene.link("real", "link");
    for (text, end) in [
        ("link/a/b.txt", "real/a/b.txt"),
        ("link/a/../b.txt", "real/b.txt"),
        ("new/deep/x", "new/deep/x"),
        (".", "."),
    ] {
        assert_eq!(scene.place(text).destination().unwrap(), end);
    }
    assert_eq!(scene.names("real"), [""; 0]);
}
