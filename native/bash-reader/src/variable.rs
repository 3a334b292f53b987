//! Variables that affect what is run, or how.

use super::{CodePath, base};

/// Parts of names of variables that control programs or the loader.
const TELLING: &str = "PATH LD_ DYLD BASH SHELL SHOPT IFS ENV GIT EDITOR VISUAL PAGER BROWSER LESS OPT FLAGS PRELOAD LIB \
    PYTHON PERL RUBY NODE NPM JAVA CLASS GO CARGO RUST CMD COMMAND PROG EXEC HOOK CONF HOME XDG SSH RSH PROXY HOST DIR FILE \
    INIT RC PROMPT PS1 PS4 ASKPASS WRAPPER AGENT MAKE COMPILER LINKER TERMINFO TERMCAP GCONV NLS MALLOC GLIBC ARGS SCRIPT LUA \
    PHP POSIX TAPE ZIP GROFF MODULE PLUGIN ENGINE JULIA GUILE SERVICE DEFAULTS INDEX_URL FIND_LINKS _MIRROR _REGISTRY \
    COMPILE LINK. PREPROCESS EMULATOR BUNDLER_ ERTS_ RAKE_SYSTEM _FOR_BUILD REBAR CCACHE VENDORS INPUTS _YAML BUN_ PROCESS_START \
    CA_BUNDLE _CERT";

/// Full names of such variables.
const WHOLE: &str = "CC CXX LD AS AR USER LOGNAME TMP TEMP DISPLAY RANDOM SRANDOM SECONDS OLDPWD PWD FCEDIT HISTCMD EMACS GLOBIGNORE \
    VIM VIMRUNTIME MIX_EXS MIX_ARCHIVES LSB_OS_RELEASE GREP DIFF CMP AWK CPMOD VARS GDB READELF GET_ID PREFIX \
    HG FLASK_APP DEPENDENCIES_OUTPUT SUNPRO_DEPENDENCIES";

/// Variables that name the programs of a build: GNU make manual, "Variables Used by Implicit Rules";
/// cmake-env-variables(7), "for Languages"; Meson reference tables, "Compiler and linker selection variables"; Autoconf
/// manual, "Particular Program Checks".
const BUILDERS: &str = "CPP FC F77 M2C PC CO GET LEX YACC LINT TEX TEXI2DVI WEAVE CWEAVE TANGLE CTANGLE RM \
    ASM ASM_NASM ASM_MASM ASM_MARMASM CUDACXX CUDAHOSTCXX HIPCXX ISPC OBJC OBJCXX SWIFTC CSC \
    CYTHON DC VALAC NASM YASM STRIP RANLIB NM OBJCOPY OBJDUMP WINDRES NINJA SCANBUILD BISON FLEX SED INSTALL LN_S M4 \
    CC_LD CXX_LD FC_LD OBJC_LD OBJCXX_LD D_LD";

/// Variables that bash and dash use themselves, without their common beginnings: bash(1), "Shell Variables"; dash(1),
/// "Environment".
const OF_SHELLS: &str = "CDPATH HOME IFS PATH OPTARG OPTIND OPTERR CHILD_MAX COLUMNS LINES COPROC DIRSTACK EMACS INSIDE_EMACS ENV \
    EPOCHREALTIME EPOCHSECONDS EUID UID PPID EXECIGNORE FCEDIT EDITOR VISUAL FIGNORE FUNCNAME FUNCNEST GLOBIGNORE GLOBSORT GROUPS \
    HOSTFILE HOSTNAME HOSTTYPE IGNOREEOF INPUTRC LANG LINENO MACHTYPE MAPFILE OLDPWD PWD OSTYPE PIPESTATUS POSIXLY_CORRECT RANDOM \
    SRANDOM SECONDS REPLY SHELL SHELLOPTS SHLVL TERM TIMEFORMAT TMOUT TMPDIR";
const SHELLS_BEGINNINGS: [&str; 9] =
    ["BASH", "COMP", "READLINE_", "HIST", "LC_", "MAIL", "TEXTDOMAIN", "PS", "PROMPT"];

/// Names that contain such a part but are harmless.
const KNOWN: &str = "NODE_ENV MIX_ENV RUST_LOG RUST_BACKTRACE GOMAXPROCS GOOS GOARCH FORCE_COLOR PYTHONDONTWRITEBYTECODE \
    PYTHONUNBUFFERED PYTHONHASHSEED";

/// Variables that name directories with code, the program that loads code from there, and beginnings of its argument lists
/// that can go on so that it runs any code anyway.
const CODE_PATHS: [(&str, &str, &[&[&str]]); 6] = [
    ("PYTHONPATH", "python", &[&[], &["-c"], &["-m", "pytest"]]),
    ("PYTHONPATH", "pytest", &[&[]]),
    ("PYTHONPATH", "py.test", &[&[]]),
    ("NODE_PATH", "node", &[&[], &["-e"]]),
    ("RUBYLIB", "ruby", &[&[], &["-e"]]),
    ("PERL5LIB", "perl", &[&[], &["-e"]]),
];

/// What a variable is to a program if it only names code for it.
pub(super) fn code_path(variable: &str, program: &str) -> Option<CodePath> {
    let is_version = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_it = |name: &str| base(program).strip_prefix(name).is_some_and(is_version);
    let (.., any_code) = CODE_PATHS.iter().find(|(own, name, _)| *own == variable && is_it(name))?;
    Some(CodePath { interpreter: program.to_owned(), any_code })
}

/// Whether setting a variable can affect what is run.
pub(super) fn is_telling(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // Lower-case names are mostly a script's own variables; the exceptions are listed below.
    let is_heeded = name.bytes().any(|byte| byte.is_ascii_uppercase())
        || upper.contains("PROXY")
        || upper.starts_with("NPM_")
        || upper.starts_with("PNPM_")
        || upper.starts_with("YARN_");
    is_heeded
        && !has(KNOWN, &upper)
        && (has(WHOLE, &upper)
            || has(BUILDERS, &upper)
            || TELLING.split_whitespace().any(|part| upper.contains(part)))
}

/// Whether a shell uses a variable itself, exported or not. Prompts count: `PS4` is evaluated for `set -x`.
pub(super) fn is_of_shell(name: &str) -> bool {
    has(OF_SHELLS, name) || SHELLS_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Whether a variable names the character set in which bash reads texts. In some of them a byte of a character is that of a
/// backslash (Shift_JIS, GBK, Big5).
pub(super) fn names_character_set(name: &str) -> bool {
    matches!(name, "LC_ALL" | "LC_CTYPE" | "LANG")
}

/// Whether bash reads texts in a locale as this parser does: its characters are those of UTF-8 or single bytes. In
/// others, the second byte of a character may be a backslash to bash. `C` and `POSIX` are the same everywhere; where
/// another locale names no character set, it may have any. A name of several, each for its category
/// (`LC_CTYPE=…;LC_TIME=…`), is not taken apart.
pub fn is_read_as_written(locale: &str) -> bool {
    let is_name = locale.chars().all(|char| char.is_ascii_alphanumeric() || "_-.@".contains(char));
    let set = locale.split_once('.').map_or(locale, |(_, set)| set).split('@').next().unwrap_or_default();
    let is_utf8 = || ["utf-8", "utf8"].iter().any(|name| set.eq_ignore_ascii_case(name));
    is_name && (matches!(locale, "" | "C" | "POSIX") || is_utf8())
}

fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|one| one == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_what_is_run_is_telling() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "BASH_ENV",
            "IFS",
            "GIT_SSH_COMMAND",
            "http_proxy",
            "npm_config_x",
            "ZIP",
            "POSIXLY_CORRECT",
            "PYTHONPATH",
            "ANSIBLE_CALLBACK_PLUGINS",
            "XZ_DEFAULTS",
            "PIP_INDEX_URL",
            "VIMRUNTIME",
            "MIX_EXS",
            "GREP",
            "PREFIX",
            "RM",
            "NINJA",
            "FC",
            "COMPILE.c",
            "ERLC_EMULATOR",
        ] {
            assert!(is_telling(name), "{name}");
        }
    }

    #[test]
    fn some_only_name_code_for_an_interpreter() {
        for (variable, program, is_code) in [
            ("PYTHONPATH", "python3", true),
            ("PYTHONPATH", ".venv/bin/python3.11", true),
            ("PYTHONPATH", "pythonx", false),
            ("PYTHONPATH", "make", false),
            ("PYTHONSTARTUP", "python3", false),
            ("PYTHONPATH", "", false),
            ("NODE_PATH", "node", true),
            ("NODE_OPTIONS", "node", false),
        ] {
            assert_eq!(code_path(variable, program).is_some(), is_code, "{variable} {program}");
        }
    }

    #[test]
    fn ordinary_names_are_not() {
        for name in [
            "X",
            "FOO",
            "CI",
            "LANG",
            "LC_ALL",
            "TZ",
            "NODE_ENV",
            "MIX_ENV",
            "PYTHONUNBUFFERED",
            "file",
            "i",
            "VERBOSE",
        ] {
            assert!(!is_telling(name), "{name}");
        }
    }
}
