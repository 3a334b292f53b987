//! Reading.

use super::*;

#[test]
fn a_whole_file_comes_with_everything_that_is_known_of_it() {
    let fixture = Fixture::with("one\ntwo\nthree");
    let value = fixture.read(json!({"path": "f"}));
    let expected = json!({
        "content": "one\ntwo\nthree", "start_line": 1, "end_line": 3, "total_lines": 3, "has_more": false,
        "encoding": "utf-8", "line_ending": "lf", "bom": false, "hash": hash(b"one\ntwo\nthree"), "size": 13,
    });
    assert_eq!(value, expected);
}

#[test]
fn lines_are_chosen_from_the_start_and_from_the_end() {
    let fixture = Fixture::with("1\n2\n3\n4\n5\n");
    for (args, content, start, end, has_more) in [
        (json!({"path": "f", "offset": 2, "limit": 2}), "2\n3\n", 2, 3, true),
        (json!({"path": "f", "offset": 4, "limit": 2}), "4\n5\n", 4, 5, false),
        (json!({"path": "f", "offset": -2}), "4\n5\n", 4, 5, false),
        (json!({"path": "f", "offset": -4, "limit": 1}), "2\n", 2, 2, true),
        (json!({"path": "f", "offset": -99}), "1\n2\n3\n4\n5\n", 1, 5, false),
    ] {
        let value = fixture.read(args);
        assert_eq!(value["content"], content);
        assert_eq!((&value["start_line"], &value["end_line"]), (&json!(start), &json!(end)));
        assert_eq!((&value["has_more"], &value["total_lines"]), (&json!(has_more), &json!(5)));
    }
}

#[test]
fn two_thousand_lines_are_the_default() {
    let fixture = Fixture::with("x\n".repeat(2001));
    let value = fixture.read(json!({"path": "f"}));
    assert_eq!((&value["end_line"], &value["has_more"]), (&json!(2000), &json!(true)));
}

#[test]
fn past_the_end_there_is_nothing_and_the_answer_says_so() {
    let fixture = Fixture::with("1\n2\n");
    let value = fixture.read(json!({"path": "f", "offset": 9}));
    assert_eq!(value["content"], "");
    assert_eq!((&value["start_line"], &value["end_line"]), (&json!(9), &json!(8)));
    assert_eq!(value["note"], "the file has 2 lines; line 9 is past its end");
    let value = Fixture::with("").read(json!({"path": "f", "offset": 2}));
    assert_eq!(value["note"], "the file has 0 lines; line 2 is past its end");
}

#[test]
fn an_empty_file_is_read() {
    let value = Fixture::with("").read(json!({"path": "f"}));
    assert_eq!(
        (&value["content"], &value["total_lines"], &value["has_more"]),
        (&json!(""), &json!(0), &json!(false))
    );
    assert_eq!((&value["line_ending"], &value["note"]), (&json!("none"), &Value::Null));
}

#[test]
fn text_is_decoded_and_its_encoding_named() {
    let chinese = "中华人民共和国的首都是北京，这是一个中文文件。\r\n".repeat(3);
    for (bytes, text, encoding, bom) in [
        (encoded("utf-16le", "\u{FEFF}a\r\nä\r\n"), "a\r\nä\r\n".to_owned(), "utf-16le", true),
        (encoded("utf-16be", "plain ascii\r\ntext\r\n"), "plain ascii\r\ntext\r\n".into(), "utf-16be", false),
        (encoded("utf-8", "\u{FEFF}a\r\n"), "a\r\n".into(), "utf-8", true),
        (encoded("gbk", &chinese), chinese, "gbk", false),
        (b"un caf\xE9\r\n".to_vec(), "un café\r\n".into(), "windows-1252", false),
    ] {
        let fixture = Fixture::with(&bytes);
        let value = fixture.read(json!({"path": "f"}));
        assert_eq!(value["content"], text.as_str());
        assert_eq!((&value["encoding"], &value["bom"]), (&json!(encoding), &json!(bom)));
        assert_eq!((&value["line_ending"], &value["hash"]), (&json!("crlf"), &json!(hash(&bytes))));
        assert_eq!(value["lossy"], Value::Null);
    }
}

#[test]
fn an_encoding_can_be_forced() {
    let fixture = Fixture::with(b"caf\xE9 \0");
    assert_eq!(fixture.read(json!({"path": "f", "encoding": "latin2"}))["content"], "café \0");
    let value = fixture.read(json!({"path": "f", "encoding": "utf-8"}));
    assert_eq!((&value["content"], &value["lossy"]), (&json!("caf\u{FFFD} \0"), &json!(true)));
    let error = fixture.refused("file_read", json!({"path": "f", "encoding": "klingon"}));
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert!(error.message.contains("\"klingon\""));
}

#[test]
fn bytes_that_are_no_characters_are_never_dropped_silently() {
    let value = Fixture::with(b"\xC3\xA4\xC3\xB6 and \xFF\n").read(json!({"path": "f"}));
    assert_eq!((&value["content"], &value["lossy"]), (&json!("äö and \u{FFFD}\n"), &json!(true)));
}

#[test]
fn line_endings_are_reported() {
    for (text, ending) in [("a\n", "lf"), ("a\r\n", "crlf"), ("a\r\nb\n", "mixed"), ("a", "none")] {
        assert_eq!(Fixture::with(text).read(json!({"path": "f"}))["line_ending"], ending);
    }
}

#[test]
fn an_answer_that_would_be_too_large_is_cut_at_a_line_and_says_where_to_go_on() {
    let mut fixture = Fixture::with("12345\n".repeat(100));
    fixture.cx.limits.content_bytes = 20;
    let value = fixture.read(json!({"path": "f", "offset": 5}));
    assert_eq!((&value["content"], &value["end_line"]), (&json!("12345\n12345\n12345\n"), &json!(7)));
    assert_eq!((&value["truncated"], &value["has_more"]), (&json!(true), &json!(true)));
    assert_eq!(value["note"], "cut after line 7, at 20 bytes; go on with offset 8");
    fixture.put("f", "ä".repeat(50));
    let value = fixture.read(json!({"path": "f"}));
    assert_eq!((&value["content"], &value["end_line"]), (&json!("ä".repeat(10)), &json!(1)));
    assert!(value["note"].as_str().unwrap().starts_with("line 1 is longer than 20 bytes"));
}

#[test]
fn a_long_line_is_read_part_by_part_and_its_length_is_that_of_the_whole_line() {
    let line: String = (0..100).map(|number| format!("{number}ä")).collect();
    let length = line.chars().count();
    for text in [line.clone(), format!("{line}\r\nb\n")] {
        let mut fixture = Fixture::with(&text);
        fixture.cx.limits.content_bytes = 20;
        let (mut read, mut column) = (String::new(), 1);
        loop {
            let value = fixture.read(json!({"path": "f", "column": column}));
            read += value["content"].as_str().unwrap();
            if value.get("line_is_cut").is_none() {
                break;
            }
            assert_eq!(
                (&value["line_length"], &value["truncated"]),
                (&json!(length), &json!(true)),
                "{column}"
            );
            column = read.chars().count() + 1;
            assert!(
                value["note"].as_str().unwrap().ends_with(&format!("offset 1 and column {column}")),
                "{value}"
            );
        }
        // What follows the line may be cut, too.
        assert!(text.starts_with(&read) && read.starts_with(&line), "{read}");
        let past = fixture.refused("file_read", json!({"path": "f", "column": length + 1}));
        assert!(past.message.contains(&format!("which has {length} characters")), "{past}");
    }
}

#[test]
fn images_come_as_base64_up_to_a_size() {
    let mut fixture = Fixture::with(b"\x89PNG\r\n\x1a\n\0\0");
    let value = fixture.read(json!({"path": "f"}));
    assert_eq!(
        (&value["media_type"], &value["image_base64"]),
        (&json!("image/png"), &json!("iVBORw0KGgoAAA=="))
    );
    assert_eq!((&value["content"], &value["encoding"]), (&json!(""), &Value::Null));
    fixture.cx.limits.image_bytes = 5;
    assert_eq!(fixture.refused("file_read", json!({"path": "f"})).reason, Reason::TooLarge);
}

#[test]
fn other_binaries_are_named_and_refused() {
    let error = Fixture::with(b"\x7FELF\x02\x01\x01\0\0\0").refused("file_read", json!({"path": "f"}));
    assert_eq!(error.reason, Reason::BinaryFile);
    assert!(error.message.starts_with("f is not text but an ELF program or library (10 bytes); "), "{error}");
}

#[test]
fn a_missing_file_is_told_with_similar_names() {
    let fixture = Fixture::with("");
    fixture.put("config.toml", "");
    std::fs::create_dir(fixture.path("src")).unwrap();
    fixture.put("src/main.rs", "");
    let error = fixture.refused("file_read", json!({"path": "confg.toml"}));
    assert_eq!(
        (error.reason, error.message.as_str()),
        (Reason::NoSuchFile, "there is no file confg.toml; did you mean config.toml?")
    );
    assert_eq!(error.details["nearest"], json!(["config.toml"]));
    let error = fixture.refused("file_read", json!({"path": "scr/main.rs"}));
    assert_eq!(error.message, "there is no directory scr, so scr/main.rs does not exist; did you mean src?");
    let error = fixture.refused("file_read", json!({"path": "src/mian.rs"}));
    assert!(error.message.ends_with("did you mean src/main.rs?"), "{error}");
}

#[test]
fn a_link_to_nothing_is_not_offered_in_its_own_place() {
    let fixture = Fixture::with("");
    std::os::unix::fs::symlink("nowhere", fixture.path("link")).unwrap();
    let error = fixture.refused("file_read", json!({"path": "link"}));
    assert_eq!(error.reason, Reason::NoSuchFile);
    assert!(error.message.starts_with("link is a symbolic link whose target does not exist"), "{error}");
    assert_eq!(error.details["nearest"], json!([]));
}

#[test]
fn what_cannot_be_read_is_refused_clearly() {
    let fixture = Fixture::new();
    let reason = |args| fixture.refused("file_read", args).reason;
    assert_eq!(reason(json!({"path": "."})), Reason::IsADirectory);
    assert_eq!(reason(json!({"path": "../x"})), Reason::OutsideWorkspace);
    assert_eq!(reason(json!({"path": "/etc/passwd"})), Reason::OutsideWorkspace);
    assert_eq!(reason(json!({"path": "f", "offset": 0})), Reason::InvalidArgument);
    assert_eq!(reason(json!({"path": "f", "limit": 0})), Reason::InvalidArgument);
    assert_eq!(reason(json!({"path": ""})), Reason::InvalidArgument);
    assert_eq!(reason(json!({"path": 1})), Reason::InvalidArgument);
}

#[test]
fn files_that_are_made_up_as_they_are_read_are_read() {
    let mut fixture = Fixture::new();
    fixture.cx.workspace = Workspace::open(std::path::Path::new("/proc")).unwrap();
    let value = fixture.read(json!({"path": "version"}));
    assert!(value["content"].as_str().unwrap().contains("version"));
}
