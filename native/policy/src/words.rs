//! Patterns of commands: exact, prefix (`git:*`), glob.

use super::arguments::Arguments;
use super::command_glob::CommandGlob;
use super::command_mistakes::{UNEXPANDED, check_marks, check_program, has_alternatives};
use crate::bytes;
use beamai_bash_reader::{BLANKS, Invocation, Word, globs, system_name, trimmed, words};
use std::path::Path;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) enum CommandPattern {
    /// Exactly these words.
    Exact { words: Vec<String>, text: String },
    /// These words, and any further ones.
    Prefix(Vec<String>),
    /// Words with wildcards.
    Glob(Box<CommandGlob>),
    /// A command that is more than a name and arguments, and matches only as a whole.
    Whole(String),
}

/// How certainly a pattern matches a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    No,
    /// It may match, depending on unknown words.
    Maybe,
    Surely,
}

/// Programs whose first operand is their subcommand. Elsewhere any operand can be the one that a rule means.
const WITH_SUBCOMMANDS: [&str; 5] = ["cargo", "git", "go", "kubectl", "npm"];

impl CommandPattern {
    /// The pattern of a rule in which tildes stand for `home`.
    ///
    /// # Errors
    /// The problem, as the end of a sentence.
    pub(super) fn new(text: &str, home: Option<&str>) -> Result<Self, String> {
        let text = trimmed(text);
        if text.contains('\0') {
            return Err("it has a NUL character, which no command has".into());
        }
        if text.contains([' ', '\t'])
            && text.split(BLANKS).any(|word| word.starts_with(['\u{2013}', '\u{2014}']))
        {
            return Err("it has a dash before an option that is no hyphen; write -".into());
        }
        if bytes::has_stand_ins(text) {
            return Err(
                "it has a private character, of U+10FF80 and above, which is not compared; write * for it"
                    .into(),
            );
        }
        // Wildcards in quotes are none.
        if let Some(words) = plain(text, home).filter(|words| !words.is_empty()) {
            check_marks(&words[0])?;
            return Ok(Self::Exact { words, text: text.to_owned() });
        }
        if home.is_none() && globs(text, None) != globs(text, Some("/")) {
            return Err("there is no home directory for ~ to mean".into());
        }
        let first = text.split(BLANKS).next().unwrap_or_default();
        if let Some(prefix) = text.strip_suffix(":*") {
            check_program(first.strip_suffix(":*").unwrap_or(first))?;
            let is_name = |name: &String| name.contains('/') || !name.contains(BLANKS);
            if has_alternatives(prefix) {
                return Err(UNEXPANDED.into());
            }
            let words = plain(prefix, home).filter(|words| words.first().is_some_and(is_name));
            return words.map(Self::Prefix).ok_or_else(|| {
                "before :* there must be a program's name and perhaps arguments, as in git:* or npm run:*"
                    .into()
            });
        }
        if text.is_empty() {
            return Err("the pattern is empty; write Bash for every command".into());
        }
        if text.contains(":*") {
            return Err("\":*\" belongs at the end, as in git:*".into());
        }
        match globs(text, home).map(|words| words.into_iter().collect::<Option<Vec<_>>>()) {
            Some(Some(words)) if !words.is_empty() => {
                check_program(first)?;
                CommandGlob::new(&words).map(|glob| Self::Glob(Box::new(glob)))
            }
            Some(None) if text.contains(['*', '?']) => Err(UNEXPANDED.into()),
            // Only a name and arguments can be a pattern for others.
            _ => Ok(Self::Whole(text.to_owned())),
        }
    }

    /// Whether the pattern is exactly this command.
    pub(super) fn is_whole(&self, command: &str) -> bool {
        match self {
            Self::Exact { text, .. } | Self::Whole(text) => text == trimmed(command),
            Self::Prefix(_) | Self::Glob(_) => false,
        }
    }

    /// Whether it is about exactly one program with its words.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self, Self::Exact { .. })
    }

    /// Whether it can match a program by its path.
    pub(super) fn may_name_paths(&self) -> bool {
        match self {
            Self::Exact { words, .. } | Self::Prefix(words) => words[0].contains('/'),
            Self::Glob(glob) => glob.may_name_paths(),
            Self::Whole(_) => false,
        }
    }

    /// The program that it names, if it names one without wildcards.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Exact { words, .. } | Self::Prefix(words) => words.first().map(String::as_str),
            Self::Glob(glob) => glob.name(),
            Self::Whole(_) => None,
        }
    }

    /// Words of a program that it allows, perhaps with a further one behind them; `None` if it is about exactly one
    /// program, or no such words can be told.
    pub(super) fn sample(&self) -> Option<Vec<String>> {
        match self {
            Self::Prefix(words) => Some(words.clone()),
            Self::Glob(glob) => glob.sample(),
            Self::Exact { .. } | Self::Whole(_) => None,
        }
    }

    /// For a glob whose program is a path: the same globs with the absolute paths that this means in `top`, as named
    /// and without links.
    pub(super) fn absolute(&self, top: &Path) -> Vec<Self> {
        let Self::Glob(glob) = self else { return Vec::new() };
        glob.absolute(top).into_iter().map(|glob| Self::Glob(Box::new(glob))).collect()
    }

    /// Whether it has words besides the program's name.
    pub(super) fn has_arguments(&self) -> bool {
        match self {
            Self::Exact { words, .. } | Self::Prefix(words) => words.len() > 1,
            Self::Glob(_) | Self::Whole(_) => false,
        }
    }

    /// Whether the pattern certainly matches, as allow rules require.
    pub(super) fn allows(&self, program: &Invocation) -> bool {
        self.allows_words(&program.words[0], &Arguments::of(&program.words[1..]))
    }

    /// As [`Self::allows`], given a program's first word and its arguments.
    pub(super) fn allows_words(&self, first: &Word, arguments: &Arguments) -> bool {
        let Some(name) = first.text() else { return false };
        let same_name = |wanted: &str| wanted == name || system_name(&name) == Some(wanted);
        let begin_with = |wanted: &[String]| {
            let given = arguments.texts();
            given.len() >= wanted.len()
                && given.iter().zip(wanted).all(|(text, wanted)| text.as_ref() == Some(wanted))
        };
        match self {
            Self::Exact { words, .. } => {
                same_name(&words[0]) && words.len() == arguments.words.len() + 1 && begin_with(&words[1..])
            }
            Self::Prefix(words) => same_name(&words[0]) && begin_with(&words[1..]),
            Self::Glob(glob) => glob.allows(&name, arguments),
            Self::Whole(_) => false,
        }
    }

    /// Whether the pattern matches, for deny and ask rules: whatever the path and the order of options.
    pub(super) fn holds(&self, first: &Word, arguments: &Arguments) -> Certainty {
        let Some(name) = first.text() else { return self.may_be_named(first) };
        let base = name.rsplit('/').next().unwrap_or_default();
        let given = &arguments.words;
        match self {
            Self::Whole(_) => Certainty::No,
            Self::Glob(glob) => glob.holds([base, &name], arguments),
            Self::Exact { words: wanted, .. } if wanted.len() == 1 => {
                named(wanted, &name, || match &given[..] {
                    [] => Certainty::Surely,
                    _ if given.iter().all(|word| word.may_be("")) => Certainty::Maybe,
                    _ => Certainty::No,
                })
            }
            Self::Exact { words: wanted, .. } => {
                named(wanted, &name, || match given.len() + 1 == wanted.len() {
                    true => has_all(wanted, arguments),
                    false => has_all(wanted, arguments).min(if given.iter().any(Word::may_split) {
                        Certainty::Maybe
                    } else {
                        Certainty::No
                    }),
                })
            }
            Self::Prefix(wanted) => named(wanted, &name, || has_all(wanted, arguments)),
        }
    }

    /// Whether the pattern can match a program with this name or path, whatever its arguments.
    pub(super) fn may_hold_for(&self, name: &str) -> bool {
        match self {
            Self::Exact { words, .. } | Self::Prefix(words) => is_named(words, name),
            Self::Glob(_) => true,
            Self::Whole(_) => false,
        }
    }

    fn may_be_named(&self, first: &Word) -> Certainty {
        let may_be = match self {
            Self::Exact { words, .. } | Self::Prefix(words) => {
                first.may_be(&words[0]) || first.may_split() || first.may_be(&format!("/bin/{}", words[0]))
            }
            Self::Glob(_) => true,
            Self::Whole(_) => false,
        };
        if may_be { Certainty::Maybe } else { Certainty::No }
    }
}

/// Whether the first word is this name, or the last component of this path.
fn is_named(wanted: &[String], name: &str) -> bool {
    wanted[0] == name || name.rsplit('/').next() == Some(&wanted[0])
}

fn named(wanted: &[String], name: &str, rest: impl FnOnce() -> Certainty) -> Certainty {
    match is_named(wanted, name) {
        true => rest(),
        false => Certainty::No,
    }
}

/// Whether arguments contain all words that are wanted after the program's name: operands in order, options anywhere.
fn has_all(wanted: &[String], arguments: &Arguments) -> Certainty {
    let Some((program, wanted)) = wanted.split_first() else { return Certainty::No };
    let texts = arguments.texts();
    let known: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let otherwise = if known.len() < texts.len() { Certainty::Maybe } else { Certainty::No };
    let mut operands = known.iter().filter(|text| !is_cluster(text) || text.len() < 2);
    let mut may_be_value = false;
    let mut has = |word: &String| {
        let follows_option = std::mem::replace(&mut may_be_value, word.starts_with('-'));
        match is_cluster(word) {
            true => word[1..].chars().all(|letter| known.iter().any(|text| has_letter(text, letter))),
            false if word.starts_with('-') => known.iter().any(|text| is_long(text, word)),
            false => follows_option && is_value(word, &known) || operands.any(|text| text == word),
        }
    };
    let is_subcommand = || wanted.first().is_none_or(|word| may_be_subcommand(program, word, &known));
    if wanted.iter().all(&mut has) && is_subcommand() { Certainty::Surely } else { otherwise }
}

/// Whether a word of a rule can be the subcommand among these arguments: options, each with a value perhaps, come before it.
/// Arguments that name the program again may be another command of it (`git bisect run git push`).
fn may_be_subcommand(program: &str, word: &str, args: &[&str]) -> bool {
    let base = program.rsplit('/').next().unwrap_or_default();
    if !WITH_SUBCOMMANDS.contains(&base) || word.starts_with(['-', '+']) || args.contains(&base) {
        return true;
    }
    let mut may_be_value = false;
    for arg in args {
        match arg.as_bytes() {
            // What begins with a plus is a toolchain for cargo.
            [b'-' | b'+', ..] => may_be_value = arg.starts_with('-') && !arg.contains('='),
            _ if *arg == word => return true,
            _ if may_be_value => may_be_value = false,
            _ => return false,
        }
    }
    false
}

/// Whether a word can be the value of an option, which may stand before the subcommand.
fn is_value(word: &str, args: &[&str]) -> bool {
    let is_next = |pair: &[&str]| pair[0].starts_with('-') && pair[1] == word;
    let is_joined =
        |arg: &&str| arg.starts_with("--") && arg.split_once('=').is_some_and(|(_, value)| value == word);
    args.windows(2).any(is_next) || args.iter().any(is_joined)
}

/// Whether a word is a cluster of short options.
fn is_cluster(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-') && !text.starts_with("--")
}

/// Whether an argument gives a short option: alone, in a cluster, or by a long name that begins with its letter.
fn has_letter(text: &str, letter: char) -> bool {
    let same =
        |char: char| char == letter || char.eq_ignore_ascii_case(&letter) && matches!(letter, 'r' | 'R');
    match text.strip_prefix("--") {
        Some(long) => long.chars().next().is_some_and(|char| char.eq_ignore_ascii_case(&letter)),
        None => is_cluster(text) && text[1..].chars().any(same),
    }
}

/// Whether an argument is a long option or an abbreviation of it, with or without a value.
fn is_long(text: &str, wanted: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    text == wanted || (name.len() > 2 && name.starts_with("--") && wanted.starts_with(name))
}

/// The words of a text that consists of a name and arguments without other expansions than tildes.
pub(super) fn plain(text: &str, home: Option<&str>) -> Option<Vec<String>> {
    words(text, home)?.iter().map(Word::text).collect()
}

#[cfg(test)]
mod tests {
    use super::super::command_mistakes::check_reach;
    use super::*;
    use beamai_bash_reader::analyse;

    const HOME: Option<&str> = Some("/h [x]");

    fn program(command: &str) -> Invocation {
        analyse(command, HOME).programs.pop().unwrap()
    }

    fn allows(pattern: &str, command: &str) -> bool {
        CommandPattern::new(pattern, HOME).unwrap().allows(&program(command))
    }

    fn holds(pattern: &str, command: &str) -> Certainty {
        let words = program(command).words;
        CommandPattern::new(pattern, HOME).unwrap().holds(&words[0], &Arguments::of(&words[1..]))
    }

    #[test]
    fn a_prefix_ends_at_a_word() {
        assert!(
            allows("git:*", "git status") && allows("git:*", "git") && allows("git:*", "/usr/bin/git log")
        );
        assert!(!allows("git:*", "gitk") && !allows("git:*", "./git") && !allows("git:*", "/tmp/git x"));
        assert!(allows("npm run:*", "npm run build") && !allows("npm run:*", "npm runx"));
        assert!(!allows("git log:*", "git $x"));
    }

    #[test]
    fn exact_and_glob_mean_what_they_say() {
        assert!(allows("git status", "git 'status'") && !allows("git status", "git status -s"));
        assert!(allows("npm run *", "npm run build") && !allows("npm run *", "npm test"));
        assert!(allows("npm run *", "npm run $x") && !allows("npm run ?", "npm run $x"));
        assert!(allows("*", "anything at all"));
    }

    #[test]
    fn a_tilde_is_the_home_directory_unless_it_is_quoted() {
        for rule in ["dd if=~/x", "dd 'if=/h [x]/x'", "dd if=~/?", "dd *"] {
            assert!(allows(rule, "dd if=~/x"), "{rule}");
        }
        for rule in ["dd 'if=~/x'", "dd if'='~/x", "dd if=''~/x"] {
            assert!(allows(rule, r"dd if=\~/x") && !allows(rule, "dd if=~/x"), "{rule}");
        }
        assert!(!allows("dd if=~/x", "dd 'if=~/x'") && !allows("dd '~'/*", "dd ~/x"));
        assert!(allows("dd '~'/*", "dd '~/x'") && allows("dd ~/'a b'*", "dd ~/'a b'c"));
        assert!(allows("~/bin/*", "~/bin/x") && !allows("~/bin/*", "'~/bin/x'"));
        assert_eq!(holds("~/x", "'~/x'"), Certainty::No);
        assert_eq!(holds("rm ~/x:*", "rm '/h [x]/x'"), Certainty::Surely);
    }

    #[test]
    fn wildcards_in_quotes_stand_for_themselves() {
        for rule in ["rm '*.bak'", r"rm \*.bak", "rm \"*\".bak"] {
            assert!(allows(rule, "rm '*.bak'"), "{rule}");
            assert!(!allows(rule, "rm a.bak") && !allows(rule, "rm *.bak"), "{rule}");
        }
        for (rule, command, other) in [
            ("cat 'a b' *", "cat 'a b' z", "cat a z"),
            ("'cat' -'n' *", "cat -n z", "cat z"),
            ("cat x'*'*", "cat 'x*y'", "cat xay"),
            ("cat '*' ?", "cat '*' z", "cat q z"),
            (r"cat '\'*", r"cat '\x'", "cat x"),
            ("cat a?b", "cat axb", "cat a b"),
            ("cat a[!x]b", "cat ayb", "cat a b"),
            ("cat a[!]x]b", "cat ayb", "cat a b"),
            ("cat a[^x]b", "cat ayb", "cat a b"),
            ("git stash drop stash@{?}", "git stash drop 'stash@{0}'", "git stash drop stash@0"),
        ] {
            assert!(allows(rule, command) && !allows(rule, other), "{rule}");
            assert_eq!(holds(rule, command), Certainty::Surely, "{rule}");
        }
        assert!(allows("cat 'a b' *", "cat 'a b' z") && !allows("cat 'a b' *", "cat a b z"));
        assert!(!allows("cat a *", "cat 'a z'") && !allows("cat a *", r"cat $'a\x1fz'"));
        assert_eq!(holds("cat a *", "cat 'a z'"), Certainty::Surely);
        assert!(matches!(CommandPattern::new("for f in *; do a; done", HOME), Ok(CommandPattern::Whole(_))));
        for text in ["rm $x *", "cat .env{,.local}*", "cat x{1..3}*", "cat {~/a,~/b}*", "cat ~root/*"] {
            assert!(CommandPattern::new(text, HOME).unwrap_err().contains("after their expansion"), "{text}");
        }
        for text in [r"cat [\^a]", "cat [a'-'c]", "cat ['^'a]*"] {
            assert!(CommandPattern::new(text, HOME).unwrap_err().contains("in a class"), "{text}");
        }
        for (rule, is_error) in [
            ("time rm *", true),
            ("time:*", true),
            ("/usr/bin/time:*", false),
            ("time rm x", true),
            ("rm x # y", true),
            ("rm x;", true),
            ("rm x > y", true),
            ("{ rm x; }", true),
            ("X=1 rm x", true),
            ("if", true),
            ("rm x; rm y", true),
            ("rm '#x'", false),
            ("rm 'a", true),
            ("rm $x", true),
            ("rm $'\\xff'", true),
            ("a | b", true),
            ("env rm x;", true),
            ("@(a|b)", true),
        ] {
            let pattern = CommandPattern::new(rule, HOME).unwrap();
            assert_eq!(check_reach(&pattern).is_err(), is_error, "{rule}");
        }
        assert!(
            CommandPattern::new("rm a #b:*", HOME).is_err() && CommandPattern::new("rm\0:*", HOME).is_err()
        );
        assert!(CommandPattern::new("rm \u{10ff80}", HOME).is_err());
        assert!(CommandPattern::new("rm \u{10ff7f}", HOME).is_ok());
        for text in ["X=1 rm *", "X+=1 rm:*", "! rm *", "if rm:*", "{ rm *", "[[ -f:*"] {
            assert!(CommandPattern::new(text, HOME).unwrap_err().contains("is no program"), "{text}");
        }
        for text in ["'!' *", "[ -f:*", "time rm:*", "./a=b *", "./X=1:*"] {
            assert!(CommandPattern::new(text, HOME).is_ok(), "{text}");
        }
        assert!(CommandPattern::new("rm [[:digit:]]*", HOME).unwrap_err().contains("named class"));
        assert!(CommandPattern::new("rm ~/x", None).unwrap_err().contains("no home directory"));
        assert!(CommandPattern::new("cat x~*", None).is_ok() && CommandPattern::new("#", None).is_ok());
        assert!(CommandPattern::new("~/x:*", None).unwrap_err().contains("no home directory"));
        assert!(allows("rm [ab]", "rm b") && !allows("rm [ab]", "rm c") && allows("[ -f x ]", "[ -f x ]"));
    }

    /// Bash separates words at spaces, tabs and line ends only.
    #[test]
    fn other_white_space_belongs_to_words() {
        for char in ['\r', '\x0b', '\x0c', '\u{85}', '\u{a0}', '\u{2003}', '\u{2028}', '\u{3000}', '\u{feff}']
        {
            for (rule, command) in [
                ("a b", format!("a b{char}")),
                ("a b", format!("{char}a b")),
                ("a | b", format!("a | b{char}")),
            ] {
                let pattern = CommandPattern::new(rule, HOME).unwrap();
                assert!(!pattern.is_whole(&command) && !allows(rule, &command), "{command:?}");
            }
            assert!(allows(&format!("a b{char}"), &format!("a 'b{char}'")), "{char:?}");
            assert_eq!(holds(&format!("a b{char}"), &format!("a 'b{char}'")), Certainty::Surely, "{char:?}");
        }
        assert!(CommandPattern::new(" a b\n", HOME).unwrap().is_whole("\ta b "));
        assert!(allows("a b\\ ", "a 'b '") && !allows("a b\\ ", "a b"));
    }

    #[test]
    fn a_wildcard_in_a_name_keeps_no_argument_from_being_hidden() {
        assert_eq!(holds("kil[l] -9 *", "kill $x 1"), Certainty::Maybe);
        assert_eq!(holds("kil[l] -9 *", "kilt $x 1"), Certainty::No);
    }

    #[test]
    fn a_denied_command_is_known_in_every_spelling() {
        for spelled in [
            "rm -rf x",
            "rm -r -f x",
            "rm x -rf",
            "rm -fr x",
            "/bin/rm -rf x",
            "rm -Rvf x",
            "rm --recursive --force x",
            "rm --rec --for x",
        ] {
            assert_eq!(holds("rm -rf:*", spelled), Certainty::Surely, "{spelled}");
        }
        assert_eq!(holds("rm -rf:*", "rm x"), Certainty::No);
        assert_eq!(holds("rm -rf:*", "rm $x"), Certainty::Maybe);
        assert_eq!(holds("rm -rf:*", "$x -rf y"), Certainty::Maybe);
        assert_eq!(holds("git push:*", "git -C x push"), Certainty::Surely);
        assert_eq!(holds("git push --force:*", "git push --forc"), Certainty::Surely);
        assert_eq!(holds("git status", "git status"), Certainty::Surely);
        assert_eq!(holds("git status", "git status -s"), Certainty::No);
        assert_eq!(holds("rm *", "rm x"), Certainty::Surely);
        assert_eq!(holds("git push *", "git push"), Certainty::Surely);
        assert_eq!(holds("git push *", "git pushx"), Certainty::No);
        assert!(!allows("git push *", "git push"));
    }

    #[test]
    fn a_denied_subcommand_is_not_any_word() {
        for (rule, commands) in [
            ("git push:*", &["git push x", "git -C push push", "git -c a=b -p --git-dir x push"][..]),
            ("git push:*", &["git bisect run git push", "git submodule foreach --recursive git push"]),
            ("git push --force:*", &["git push a --force b", "git -c a=b push a --forc"]),
            ("git remote add:*", &["git remote -v add x y"]),
            ("cargo publish:*", &["cargo +nightly publish", "cargo --config a publish"]),
            ("cargo +nightly publish:*", &["cargo +nightly publish x"]),
            ("kubectl config -n prod:*", &["kubectl -n prod config view", "kubectl config view -n prod"]),
            (
                "kubectl config --context prod:*",
                &["kubectl --context=prod config", "kubectl config --context prod"],
            ),
            ("npm publish --access public x:*", &["npm --access public publish x"]),
            ("rm precious:*", &["rm other precious"]),
            ("docker run:*", &["docker container run x"]),
        ] {
            for command in commands {
                assert_eq!(holds(rule, command), Certainty::Surely, "{rule} {command}");
            }
        }
        for (rule, commands) in [
            (
                "git push:*",
                &["git stash push", "git commit -am push", "git log --grep push", "git help push"][..],
            ),
            ("git push", &["git branch push"]),
            ("git reset:*", &["git bisect reset"]),
            ("git add:*", &["git remote add x y", "git worktree add x"]),
            ("npm publish:*", &["npm run publish"]),
            ("cargo test:*", &["cargo run test"]),
            ("kubectl config -n prod:*", &["kubectl -n prod get config"]),
        ] {
            for command in commands {
                assert_eq!(holds(rule, command), Certainty::No, "{rule} {command}");
            }
        }
        assert_eq!(holds("git push:*", "git stash $x"), Certainty::Maybe);
    }

    #[test]
    fn a_pattern_that_means_nothing_says_what_is_accepted() {
        assert!(CommandPattern::new("", HOME).unwrap_err().contains("write Bash"));
        assert!(CommandPattern::new(":*", HOME).unwrap_err().contains("git:*"));
        assert!(CommandPattern::new("a | b:*", HOME).unwrap_err().contains("npm run:*"));
        assert!(CommandPattern::new("{git,hg} push:*", HOME).unwrap_err().contains("one rule for each"));
        assert!(CommandPattern::new("$HOME/bin/*", HOME).unwrap_err().contains("~/"));
        assert!(CommandPattern::new("git stash drop stash@{0}", HOME).is_ok());
    }
}
