//! The table of what programs may start, in three kinds. A program that it does not list covers only itself.
//!
//! Entries are looked up by the name that a program is called by, without a version suffix (`python3.11`) and, for
//! compilers, without the target prefix (`x86_64-linux-gnu-gcc`).

use beamai_isolation::StartCoverage;
use std::path::Path;

/// Programs of one kind, with the reason.
#[derive(Debug)]
pub struct ProgramEntry {
    /// The kind.
    pub kind: ProgramKind,
    /// The programs' names, separated by spaces.
    pub names: &'static str,
    /// The reason, in one line.
    pub why: &'static str,
}

/// What a program may start.
#[derive(Debug)]
pub enum ProgramKind {
    /// Everything that no rule denies: its purpose is to run a project's code.
    Runner,
    /// What rules allow, as if the shell started it: it runs the program in its command line.
    Wrapper,
    /// These parts and nothing else.
    Parts(ProgramParts),
}

/// The parts of a program.
#[derive(Debug)]
pub struct ProgramParts {
    /// Names of directories: every program beneath one is a part.
    pub directories: &'static str,
    /// Names of programs.
    pub names: &'static str,
    /// Names of programs that are parts if they only filter their input and write no file.
    pub filters: &'static str,
    /// Names of scripts in these directories that start further system programs.
    pub scripts: &'static str,
    /// Names of those programs. They are parts of the scripts only.
    pub used: &'static str,
    /// Names of programs in these directories that are parts even if the program's arguments name them.
    pub spoken: &'static str,
    /// Names of programs in the directories that are not parts.
    pub except: &'static str,
    /// Whether the dynamic loader is a part if it only lists the libraries of a file.
    pub loads: bool,
}

/// The index for programs that the table does not list.
const UNLISTED: u16 = u16::MAX;

const NO_PARTS: ProgramParts = ProgramParts {
    directories: "",
    names: "",
    filters: "",
    scripts: "",
    used: "",
    spoken: "",
    except: "",
    loads: false,
};

const fn runners(names: &'static str, why: &'static str) -> ProgramEntry {
    ProgramEntry { kind: ProgramKind::Runner, names, why }
}

const fn wrappers(names: &'static str, why: &'static str) -> ProgramEntry {
    ProgramEntry { kind: ProgramKind::Wrapper, names, why }
}

/// The table.
pub static TABLE: &[ProgramEntry] = &[
    runners(
        "make gmake bmake ninja meson cmake ctest cpack scons waf bazel bazelisk buck2 just \
         autoreconf automake autoconf libtool xmake",
        "build tools: they run the commands of a project's build files",
    ),
    runners(
        "npm npx pnpm pnpx yarn yarnpkg corepack bun bunx deno node nodejs tsx ts-node jest \
         vitest mocha ava playwright cypress turbo nx lerna gulp grunt webpack vite next rollup \
         eslint tsc prettier",
        "JavaScript: package scripts, tests and settings are programs of the project",
    ),
    runners(
        "cargo rustup cross wasm-pack trunk maturin",
        "Rust: build scripts, tests, and the toolchain behind rustup's names",
    ),
    runners("go golangci-lint goreleaser air", "Go: tests, generators and the toolchain"),
    runners(
        "mix iex elixir elixirc erl erlc escript rebar rebar3 gleam",
        "the BEAM: build tools, compilers and the machine itself",
    ),
    runners(
        "gradle gradlew mvn mvnw ant sbt mill lein clojure clj java javac jshell kotlin kotlinc \
         scala scalac groovy",
        "the JVM: build tools, compilers and the machine itself",
    ),
    runners(
        "python pypy ipython pytest py.test tox nox poetry uv uvx pip pipx pipenv pdm hatch conda \
         mamba coverage mypy ruff black pylint flake8 pre-commit behave robot django-admin flask \
         alembic",
        "Python: the interpreter, and tools that run a project's code or settings",
    ),
    runners(
        "ruby irb bundle bundler rake rails rspec gem rubocop jekyll",
        "Ruby: the interpreter, and tools that run a project's code",
    ),
    runners("perl prove cpan cpanm", "Perl: the interpreter, and what runs tests and builds"),
    runners("php composer phpunit artisan pest", "PHP: the interpreter, and package scripts"),
    runners("dotnet msbuild nuget mono pwsh", ".NET: builds, tests and the runtime"),
    runners(
        "swift swiftc xcodebuild zig stack cabal runghc ghci opam dune ocaml julia R Rscript lua \
         luajit luarocks tclsh guile racket sbcl nim nimble crystal dart flutter nix nix-build \
         nix-shell nix-instantiate",
        "other languages' interpreters and build tools",
    ),
    runners("bats shellspec", "tests that are shell scripts of the project"),
    wrappers(
        "env timeout nice ionice nohup setsid stdbuf time xargs",
        "they start the program of their command line, and change nothing beyond it",
    ),
    wrappers(
        "find fd fdfind parallel watch entr flock script unbuffer rlwrap expect",
        "they start programs of their command line, and do something of their own",
    ),
    wrappers(
        "chrt taskset numactl prlimit choom setarch linux32 linux64 chpst softlimit cgexec \
         systemd-run start-stop-daemon daemonize",
        "they change how a program runs and start it",
    ),
    wrappers(
        "sudo doas su runuser pkexec setpriv capsh unshare nsenter chroot",
        "they change who runs a program, or what it sees, and start it",
    ),
    wrappers(
        "strace ltrace lldb valgrind perf rr fakeroot proot firejail bwrap dbus-run-session \
         xvfb-run ccache sccache distcc direnv hyperfine",
        "they watch a program, or prepare its surroundings, and start it",
    ),
    wrappers(
        "busybox toybox",
        "they are many programs in one: what they become without a start is judged by its name",
    ),
    wrappers(
        "bash sh dash zsh ksh mksh ash rbash fish yash",
        "shells: each of their starts is judged, unless a rule names the script",
    ),
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            directories: "git-core",
            names: "git",
            scripts: "git-submodule git-bisect git-merge-octopus git-merge-one-file git-merge-resolve \
         git-request-pull git-quiltimport",
            used: "basename dirname uname sed cat expr tr grep egrep sort cut wc head tail date printf \
         echo test [ true false gettext envsubst mktemp cmp rm",
            spoken: "git-upload-pack git-receive-pack git-upload-archive git-merge-one-file",
            except: "git-remote-ext git-remote-fd remote-ext remote-fd git-difftool--helper difftool--helper \
         git-mergetool mergetool git-filter-branch filter-branch",
            ..NO_PARTS
        }),
        names: "git git-upload-pack git-receive-pack git-shell",
        why: "git's own commands, and what its scripts use; no aliases, hooks, filters, editors, pagers, or ssh",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            directories: "gcc gcc-cross llvm",
            names: "cc1 cc1plus cc1obj f951 gnat1 d21 lto1 lto-wrapper collect2 as ld ld.bfd ld.gold ld.lld \
         lld mold gcc g++ cc c++ cpp clang clang++ objcopy",
            ..NO_PARTS
        }),
        names: "gcc g++ cc c++ cpp c89 c99 clang clang++ gfortran gnatmake gdc collect2 ld gcc-ar gcc-nm \
         gcc-ranlib",
        why: "a compiler's passes, assembler and linker",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            directories: "rustlib",
            names: "rustc cc gcc clang ld lld ar ranlib as strip objcopy",
            ..NO_PARTS
        }),
        names: "rustc ghc",
        why: "compilers that link with the system's",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts { names: "m4", ..NO_PARTS }),
        names: "bison yacc flex lex",
        why: "generators of parsers write their output with m4, which starts nothing itself",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            filters: "gzip gunzip pigz bzip2 bunzip2 lbzip2 pbzip2 xz unxz lzma unlzma lzip lzop zstd \
         unzstd lz4 compress uncompress",
            ..NO_PARTS
        }),
        names: "tar bsdtar cpio zstd",
        why: "the compressors of archives",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            names: "grep egrep fgrep sed cat diff cmp expr mktemp rm test [ printf echo",
            filters: "gzip bzip2 xz zstd lzma",
            ..NO_PARTS
        }),
        names: "zcat zgrep zegrep zfgrep zdiff zcmp bzgrep bzdiff bzcmp xzgrep xzdiff xzcmp zstdgrep egrep fgrep",
        why: "scripts of the system over a compressor and grep or diff",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            names: "gzip grep sed cat cmp expr mktemp rm test [ printf echo",
            ..NO_PARTS
        }),
        names: "gunzip uncompress zforce znew",
        why: "scripts of the system that have gzip change files",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            directories: "man-db",
            names: "preconv manconv zsoelim soelim tbl eqn neqn pic refer col iconv locale nroff groff troff \
         grotty grops cat sed tr",
            filters: "gzip bzip2 xz lzma lzip zstd",
            ..NO_PARTS
        }),
        names: "man apropos whatis nroff groff",
        why: "the formatters of manual pages; no pager",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            directories: "apt dpkg",
            names: "dpkg dpkg-query dpkg-deb dpkg-split apt apt-get apt-cache tar gpgv",
            ..NO_PARTS
        }),
        names: "dpkg dpkg-query dpkg-deb apt apt-get apt-cache apt-file",
        why: "Debian's package tools among themselves; no scripts of packages",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts { loads: true, ..NO_PARTS }),
        names: "ldd",
        why: "a script that has the loader list what a program needs; the loader does not run it",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts { names: "iconv", ..NO_PARTS }),
        names: "gdb",
        why: "it lists character sets; what it debugs and its shells are judged",
    },
    ProgramEntry {
        kind: ProgramKind::Parts(ProgramParts {
            names: "uname sed grep cat ps id hostname getopt cut head tr",
            ..NO_PARTS
        }),
        names: "lsb_release nproc uptime neofetch",
        why: "what tells about the machine",
    },
];

/// The use in which a general tool is a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartUse {
    /// It filters its input and writes no file.
    Filters,
    /// It only prints: its script neither writes nor starts anything.
    Prints,
    /// It makes or removes files in `/tmp` only.
    Drafts,
    /// No option names an output file.
    WritesNothing,
}

/// Parts that could do more than their program needs, with the permitted use.
const USES: [(&str, PartUse); 3] =
    [("sed", PartUse::Prints), ("rm mktemp", PartUse::Drafts), ("iconv", PartUse::WritesNothing)];

/// The permitted use of a part; `None` if every use is permitted.
pub(super) fn use_of(name: &str) -> Option<PartUse> {
    USES.iter().find(|(names, _)| has(names, name)).map(|(_, wanted)| *wanted)
}

/// Programs that are another program under each of their names: a rule that names a link to one holds for that name, not for
/// the file.
const NAMED_BY_CALL: &str = "busybox toybox coreutils uutils sbase-box ubase-box dropbearmulti git rustup rustup-init \
     ccache sccache distcc icecc mise asdf rtx volta-shim proto-shim bun nix lix snap systemctl openrc kmod pgrep lvm \
     xtables-nft-multi xtables-legacy-multi pg_wrapper magick gm mtools llvm llvm-ar bash zsh pdftex luahbtex";

/// Whether a file behaves as another program under another name.
pub(super) fn is_named_by_call(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_shim = file.parent().and_then(Path::file_name).is_some_and(|directory| directory == "shims");
    is_shim || has(NAMED_BY_CALL, &name)
}

/// Whether a space-separated list of names contains this one.
pub(crate) fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|one| one == name)
}

/// A program's entry and its index.
fn entry(name: &str) -> Option<(u16, &'static ProgramEntry)> {
    let find = |name: &str| TABLE.iter().position(|entry| has(entry.names, name));
    let bare = name.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.').trim_end_matches('-');
    let tool = bare
        .rsplit('-')
        .next()
        .filter(|tool| ["gcc", "g++", "cc", "c++", "cpp", "gfortran", "clang", "clang++"].contains(tool));
    let at = find(name).or_else(|| find(bare)).or_else(|| find(tool?))?;
    Some((u16::try_from(at).unwrap_or(UNLISTED), &TABLE[at]))
}

/// The coverage of a program, by the name that it is called by.
pub(super) fn coverage(name: &str) -> StartCoverage {
    match entry(name) {
        Some((_, ProgramEntry { kind: ProgramKind::Runner, .. })) => StartCoverage::Everything,
        Some((_, ProgramEntry { kind: ProgramKind::Wrapper, .. })) => StartCoverage::Judged,
        Some((at, ProgramEntry { kind: ProgramKind::Parts(_), .. })) => StartCoverage::Parts(at),
        None => StartCoverage::Parts(UNLISTED),
    }
}

/// The parts in an entry of the table.
pub(super) fn parts(at: u16) -> &'static ProgramParts {
    match TABLE.get(usize::from(at)).map(|entry| &entry.kind) {
        Some(ProgramKind::Parts(parts)) => parts,
        _ => &NO_PARTS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_of_one_kind() {
        for (at, entry) in TABLE.iter().enumerate() {
            for name in entry.names.split(' ') {
                let first = TABLE.iter().position(|entry| has(entry.names, name));
                assert_eq!(first, Some(at), "{name}");
            }
            assert!(!entry.why.is_empty() && entry.why.len() < 120, "{}", entry.why);
        }
    }

    #[test]
    fn versions_and_machines_make_no_difference() {
        assert_eq!(coverage("python3.11"), StartCoverage::Everything);
        assert_eq!(coverage("x86_64-linux-gnu-gcc-12"), coverage("gcc"));
        assert_eq!(coverage("clang++-14"), coverage("clang"));
        assert_eq!(coverage("env"), StartCoverage::Judged);
    }

    #[test]
    fn whatever_takes_orders_from_its_input_is_no_runner() {
        for name in [
            "awk", "gawk", "mawk", "sed", "tar", "ssh", "scp", "vim", "vi", "nano", "ed", "emacs", "less",
            "more",
        ] {
            assert!(matches!(coverage(name), StartCoverage::Parts(_)), "{name}");
        }
    }
}
