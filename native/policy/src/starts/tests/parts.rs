//! Starts as parts of their starter.

use super::*;

#[test]
fn another_program_of_the_same_file_is_no_part() {
    let case = allowed(&["Bash(sort:*)", "Bash(git grep:*)"], "sort x");
    for (program, words, file) in
        [("sort", &["rm", "x"][..], "/usr/bin/coreutils"), ("git", &["git-rm", "x"][..], "/usr/bin/git")]
    {
        let mut start = by(program, parts_of(program), words);
        (start.file, start.starter.program) = (file.into(), file.into());
        assert!(case.asks(&start), "{words:?}");
    }
    let mut again = by("sort", parts_of("sort"), &["sort", "--merge"]);
    (again.file, again.starter.program) = ("/usr/bin/coreutils".into(), "/usr/bin/coreutils".into());
    again.starter.arguments = vec!["/usr/bin/sort".into()];
    assert!(case.covers(&again).is_some());
}

#[test]
fn any_other_program_covers_its_parts() {
    let git = parts_of("git");
    let case = allowed(&["Bash(git:*)"], "git fetch");
    for part in [
        &["/usr/lib/git-core/git-remote-https", "x"][..],
        &["/usr/lib/git-core/git-submodule", "status"],
        &["git", "rev-list"],
        &["/bin/sh", "-c", "git-upload-pack '/a/b'", "git-upload-pack '/a/b'"],
    ] {
        assert_eq!(case.covers(&by("git", git, part)), Some(git), "{part:?}");
    }
    let mut sed = by("git", git, &["sed", "-e", "s/-/ /"]);
    assert!(case.asks(&sed), "an alias could start it");
    sed.starter.program = "/usr/lib/git-core/git-submodule".into();
    assert_eq!(case.covers(&sed), Some(git));
    for other in [
        &["/usr/lib/git-core/git-remote-ext", "x"][..],
        &["/bin/sh", "-c", "rm -rf x"],
        &["/bin/sh", "-c", "git-upload-pack 'a'; rm -rf x"],
        &["/bin/sh", "-c", "git-upload-pack 'a' > x"],
        &["/bin/sh", "-c", "> x"],
        &["/bin/sh", "x"],
        &["ssh", "host"],
        &["less"],
        &["vi", "x"],
        &["rm", "-rf", "x"],
    ] {
        assert!(case.asks(&by("git", git, other)), "{other:?}");
    }
    let mine = ProgramStart { is_writable: true, ..by("git", git, &["/w/git-core/git-x"]) };
    assert!(case.asks(&mine));
    let awk = parts_of("awk");
    assert!(case.asks(&by("awk", awk, &["sh", "-c", "rm -rf x"])));
    assert!(
        case.covers(&by("gcc", parts_of("gcc"), &["/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "x"])).is_some()
    );
}

#[test]
fn a_part_of_many_uses_counts_in_one() {
    let covers = |program: &str, words: &[&str]| {
        let case = allowed(&[&format!("Bash({program}:*)")], &format!("{program} x"));
        case.covers(&by(program, parts_of(program), words)).is_some()
    };
    for (program, part) in [
        ("zgrep", &["sed", "s/'/'\\\\''/g"][..]),
        ("bzdiff", &["rm", "-f", "/tmp/bzdiff.abc"]),
        ("zcat", &["gzip", "-cd", "--", "x.gz"]),
        ("xzgrep", &["xz", "--format=lzma", "-cdfqQ", "x.xz"]),
        ("zgrep", &["mktemp", "-d", "/tmp/zgrepXXXXXX"]),
        ("tar", &["gzip", "-d"]),
        ("tar", &["/bin/sh", "-c", "xz -T 0"]),
        ("man", &["iconv", "-c", "-f", "UTF-8", "-t", "ASCII"]),
        ("groff", &["troff", "-Tascii"]),
        ("gcc", &["objcopy", "--extract-dwo", "a.o", "a.dwo"]),
    ] {
        assert!(covers(program, part), "{program}: {part:?}");
    }
    for (program, other) in [
        ("zgrep", &["rm", "x"][..]),
        ("zgrep", &["gzip", "-f", "x"]),
        ("zgrep", &["xz", "-kf", "x"]),
        ("zstdgrep", &["zstd", "-cohit", "x"]),
        ("zgrep", &["zstd", "-c", "-o", "hit", "x"]),
        ("bzgrep", &["mktemp", "hitXXXXXX"]),
        ("zgrep", &["rm", "-f", "/tmp/../x"]),
        ("zgrep", &["sed", "-n", "1whit"]),
        ("groff", &["/bin/sh", "-c", "sed -n 1whit x"]),
        ("man", &["sed", "-n", "1whit"]),
        ("man", &["iconv", "-o", "hit"]),
        ("man", &["gzip", "-f", "x"]),
        ("tar", &["/bin/sh", "-c", "gzip -f x"]),
        ("tar", &["/bin/sh", "-c", "gzip $x"]),
        ("tar", &["xz", "--files=x"]),
    ] {
        assert!(!covers(program, other), "{program}: {other:?}");
    }
    let cut = ProgramStart { has_all_arguments: false, ..by("tar", parts_of("tar"), &["gzip"]) };
    assert!(allowed(&["Bash(tar:*)"], "tar x").asks(&cut));
}

#[test]
fn a_scripts_arguments_name_none_of_its_parts() {
    let git = parts_of("git");
    let case = allowed(&["Bash(git:*)"], "git bisect run x");
    let mut told = by("git", git, &["rm", "x"]);
    told.starter.program = "/usr/lib/git-core/git-bisect".into();
    assert_eq!(case.covers(&told), Some(git));
    for name in ["rm", "/usr/bin/rm"] {
        told.starter.arguments =
            ["sh", "/usr/lib/git-core/git-bisect", "run", name, "x"].map(Into::into).into();
        assert!(case.asks(&told), "{name}");
    }
}

#[test]
fn the_loader_is_a_part_of_ldd_alone() {
    let case = allowed(&["Bash(ldd:*)", "Bash(strace:*)"], "ldd ./app");
    let loader = "/lib64/ld-linux-x86-64.so.2";
    let ldd = |words: &[&str]| by("ldd", parts_of("ldd"), &[&[loader], words].concat());
    for words in [&["--version"][..], &["--verify", "./app"], &["./app"]] {
        assert!(case.covers(&ldd(words)).is_some(), "{words:?}");
        assert!(case.asks(&by("file", parts_of("file"), &[&[loader], words].concat())), "{words:?}");
    }
    for words in [&["./app", "x"][..], &["--preload", "./x.so", "/bin/true"], &["--preload"], &[]] {
        assert!(case.asks(&ldd(words)), "{words:?}");
    }
    assert!(case.asks(&ProgramStart { is_writable: true, ..ldd(&["./app"]) }));
    assert!(case.asks(&by("ldd", parts_of("ldd"), &["/w/app"])));
}

#[test]
fn a_debugger_lists_character_sets_and_starts_nothing_else_unasked() {
    let case = allowed(&["Bash(gdb:*)"], "gdb -batch ./app");
    let gdb = |words: &[&str]| by("gdb", parts_of("gdb"), words);
    assert!(case.covers(&gdb(&["iconv", "-l"])).is_some());
    for other in [
        &["iconv", "-o", "hit", "x"][..],
        &["/w/iconv", "-l"],
        &["sh", "-c", "iconv -l > x"],
        &["sh", "-c", "exec ./app"],
        &["/w/app"],
    ] {
        assert!(
            case.asks(&ProgramStart { is_writable: other[0].contains("/w/"), ..gdb(other) }),
            "{other:?}"
        );
    }
    assert!(case.asks(&by("strace", StartCoverage::Judged, &["iconv", "-l"])));
}

#[test]
fn a_text_that_git_is_told_to_run_needs_rules_for_the_commands_in_it() {
    let case = allowed(&["Bash(git rebase:*)", "Bash(git log:*)"], "git rebase -x x main");
    let text = |text: &str| by("git", parts_of("git"), &["sh", "-c", text]);
    for told in [
        "git mv a b",
        "git-mv a b",
        "'git' 'clean' '-fdx'",
        "git-clean -fdx",
        "git log; git push",
        "git-upload-pack x; git gc",
        "git-upload-pack x; git-rm y",
    ] {
        assert!(case.asks(&text(told)), "{told}");
    }
    assert_eq!(case.covers(&text("git log -1")), Some(StartCoverage::JudgedWithFiles));
    for own in ["git-upload-pack '/a/b'", "git credential-store get", "git-credential-x get"] {
        assert_eq!(case.covers(&text(own)), Some(parts_of("git")), "{own}");
    }
    // A single word is started without a shell.
    let told = |given: &[&str], name: &str| {
        let mut start = by("git", parts_of("git"), &[&format!("/usr/lib/git-core/{name}"), "a.txt"]);
        start.starter.arguments = given.iter().map(Into::into).collect();
        start
    };
    for given in [
        &["git", "grep", "-Ogit-rm", "x"][..],
        &["git", "rebase", "--exec=git-rm"],
        &["sh", "-c", "git-rm x"],
    ] {
        assert!(case.asks(&told(given, "git-rm")), "{given:?}");
    }
    let cut = |start: ProgramStart| {
        let starter = Starter { has_all_arguments: false, ..start.starter.clone() };
        ProgramStart { starter, ..start }
    };
    assert!(case.asks(&cut(told(&["git", "grep"], "git-rm"))), "behind what was cut");
    assert!(case.covers(&told(&["git", "fetch", "x"], "git-remote-https")).is_some());
    assert!(case.covers(&told(&["sh", "-c", "git-upload-pack '/a'"], "git-upload-pack")).is_some());
    assert!(case.covers(&told(&["git", "submodule", "status"], "git-submodule")).is_some());
    let git = |words: &[&str]| by("git", parts_of("git"), words);
    assert!(case.covers(&git(&["git", "gc", "--auto"])).is_some());
    assert!(case.asks(&git(&["/usr/lib/git-core/git-difftool--helper", "a", "b"])));
}

#[test]
fn env_starts_the_interpreter_of_a_script_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let [script, link, other] = ["tool", "link", "other"].map(|name| dir.path().join(name));
    std::fs::write(&script, "#!/usr/bin/env python3\nimport os\n").unwrap();
    std::fs::write(&other, "\x7fELF").unwrap();
    std::os::unix::fs::symlink(&script, &link).unwrap();
    let case = allowed(&["Bash(tool:*)"], "tool");
    let by = |program: &Path, words: &[&str]| {
        let mut start = by("tool", StartCoverage::NOTHING, words);
        start.starter.program = program.to_owned();
        start
    };
    let [script_text, link_text, other_text] = [&script, &link, &other].map(|path| path.to_str().unwrap());
    for path in [script_text, link_text] {
        assert_eq!(
            case.covers(&by(&script, &["python3", path, "-x"])),
            Some(StartCoverage::NOTHING),
            "{path}"
        );
    }
    // A program can be told to start another one with its own path as the first argument.
    assert!(case.asks(&by(&script, &["touch", script_text])));
    assert!(case.asks(&by(&script, &["python3", other_text])));
    assert!(case.asks(&by(&other, &["touch", other_text])));
    assert!(case.asks(&by(&other, &["python3", other_text])));
}
