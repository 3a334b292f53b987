//! Commands that a shell does nothing with but start one program.

/// Words with which bash does something of its own where they come first: its reserved words and its builtins.
const OWN: &str = "\
    if then else elif fi case esac for select while until do done in function time { } ! [[ ]] coproc . \
    : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs \
    disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local \
    logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend \
    test times trap true type typeset ulimit umask unalias unset wait";

/// Builtins of which the programs of that name do the same, where they have no arguments.
const SAME_AS_PROGRAM: [&str; 2] = ["true", "false"];

/// The words of a command for which bash, started with `-c`, only takes up a program's place: one command, made of words
/// that mean themselves, whose first is no word of the shell's own. `None` for everything else, and where it is not
/// certain.
pub fn plain(command: &str) -> Option<Vec<&str>> {
    let words: Vec<&str> =
        command.trim_matches([' ', '\t', '\n']).split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let (first, rest) = words.split_first()?;
    let is_own = first.contains(['=', '%'])
        || (is_own(first) && !(rest.is_empty() && SAME_AS_PROGRAM.contains(first)));
    (!is_own && words.iter().all(|word| word.bytes().all(means_itself))).then_some(words)
}

/// Whether a name is a word of the shell's own.
pub(super) fn is_own(name: &str) -> bool {
    OWN.split(' ').any(|own| own == name)
}

/// Whether bash takes the character for itself wherever it stands in a word.
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
