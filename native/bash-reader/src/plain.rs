//! Commands for which a shell does nothing but start one program.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Bash's reserved words and builtins, which have a meaning of their own as the first word.
const OWN: &str = "\
    if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc . \
    : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs \
    disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local \
    logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend \
    test times trap true type typeset ulimit umask unalias unset wait";

/// Builtins that, without arguments, do the same as the program with that name.
const SAME_AS_PROGRAM: [&str; 2] = ["true", "false"];

/// The words of a command for which `bash -c` only starts a program: a single command of literal words, the first of which
/// is neither a reserved word nor a builtin. `None` for everything else, and if it is not certain.
pub fn plain(command: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> =
        command.trim_matches([' ', '\t', '\n']).split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let (first, rest) = words.split_first()?;
    let is_own = first.contains(['=', '%'])
        || (is_own(first) && !(rest.is_empty() && SAME_AS_PROGRAM.contains(first)));
    (!is_own && words.iter().all(|word| word.bytes().all(means_itself))).then_some(words)
}

/// Whether a name is a reserved word or a builtin.
pub(super) fn is_own(name: &str) -> bool {
    static NAMES: LazyLock<HashSet<&str>> = LazyLock::new(|| OWN.split(' ').collect());
    NAMES.contains(name)
}

/// Whether a character is literal for bash everywhere in a word.
fn means_itself(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./:,@%+=-".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_and_words_are_plain() {
        assert_eq!(plain("git status --short"), Some(vec!["git", "status", "--short"]));
        assert_eq!(plain(" \tmake  CC=gcc a/b.c:1,2\n"), Some(vec!["make", "CC=gcc", "a/b.c:1,2"]));
        assert_eq!(plain("./configure --prefix=/x@1%+"), Some(vec!["./configure", "--prefix=/x@1%+"]));
        assert_eq!(plain("true"), Some(vec!["true"]));
    }

    #[test]
    fn whatever_a_shell_acts_on_is_not() {
        for command in [
            "",
            " \n",
            "X=1 ls",
            "a=b",
            "%1",
            "ls *",
            "ls ?",
            "ls [a]",
            "ls ~",
            "ls $HOME",
            "ls `x`",
            "ls 'a'",
            "ls \"a\"",
            "ls a\\ b",
            "ls; x",
            "ls & x",
            "ls | x",
            "ls > x",
            "ls < x",
            "ls {a,b}",
            "(ls)",
            "! ls",
            "ls # x",
            "ls\nx",
            "ls\rx",
            "ls\u{b}x",
            "ls ^a^b",
            "ls !x",
            "ls ä",
            "time ls",
            "cd x",
            "echo x",
            "true --version",
            "exec ls",
            "command ls",
            ". x",
            "unset x",
            "wait",
        ] {
            assert_eq!(plain(command), None, "{command:?}");
        }
    }

    #[test]
    fn every_word_of_bashs_own_is_known() {
        let list = std::process::Command::new("bash")
            .args(["--noprofile", "--norc", "-c", "compgen -k; compgen -b"])
            .output()
            .unwrap();
        let list = String::from_utf8(list.stdout).unwrap();
        assert!(list.lines().count() > 60, "{list}");
        for word in list.lines() {
            assert_eq!(plain(&format!("{word} x")), None, "{word}");
        }
    }
}
