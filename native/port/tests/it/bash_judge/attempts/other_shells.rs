//! Texts for another shell than bash.

use crate::bash_judge::generator::Generator;

const STARTS: [&str; 12] = [
    "sh -c '@'",
    "sh -c '@' _ a 'b c'",
    "v=$HOME sh -c '@' x",
    "v='a b'; export v; sh -c '@'",
    "say x y | xargs sh -c '@' _",
    "find . -maxdepth 0 -exec sh -c '@' _ {} ';'",
    "timeout 5 sh -c '@'",
    "sh -c '@' > out",
    "sh -ec '@' -- x",
    "env v=1 sh -c '@'",
    "(sh -c '@') | git",
    "sh -c \"sh -c '@'\"",
];
const WORDS: [&str; 26] = [
    "x", "-n", "$v", "\"$v\"", "$1", "\"$@\"", "$@", "2", "12", "$0", "$v1", "x$v", "\"a b\"", "v=1", "v=$v",
    "a=b", "a,b", "x2", "/x", "\"a$v\"", "$10", "--", "%s", "$_", "$HOME", "@",
];
const REDIRECTIONS: [&str; 24] = [
    "> out",
    ">out",
    ">>out",
    ">|out",
    "2>&1",
    ">&2",
    "1>&2",
    "12>out",
    "2 >out",
    "< null",
    "<null",
    "<>out",
    "2>&1-",
    "<&3",
    "3<null",
    ">&-",
    "&>out",
    ">&out",
    "> $v",
    "> \"$v\"",
    ">&1x",
    "x2>out",
    "3>&2 ",
    "3> out 4>&3",
];
const JOINTS: [&str; 13] =
    ["; ", ";", " && ", "&&", " || ", " | ", "|", " & ", "&", "\n", "|&", "&\n", " |\n"];

impl Generator {
    /// A text that `sh` runs.
    pub(super) fn for_another_shell(&mut self) -> String {
        let mut text = self.part();
        for _ in 0..self.below(3) {
            text = format!("{text}{}{}", self.of(&JOINTS), self.part());
        }
        self.of(&STARTS).replace('@', &text)
    }

    fn part(&mut self) -> String {
        let (one, word) = (self.called(), self.of(&WORDS));
        match self.below(20) {
            0 => format!("for v in {word} y; do {one}; done"),
            1 => format!("while read -r v; do {one}; done < null"),
            2 => format!("if {one}; then git; else make; fi"),
            3 => format!("set -- {word} z; {one}"),
            4 => format!("exec {}; {one}", self.of(&REDIRECTIONS)),
            5 => format!("export v={word}; {one}"),
            6 => format!("v={word}; {one}"),
            7 => format!("eval \"{}\"", one.replace('"', "")),
            8 => format!("read v < null; {one}"),
            9 => format!("cd {word} && {one}"),
            10 => format!("unset v; {one}"),
            11 => format!("local v={word}; {one}"),
            12 => format!("exec {one}"),
            13 => format!("shift; {one}"),
            14 => format!("test {word} = x && {one}"),
            _ => one,
        }
    }

    fn called(&mut self) -> String {
        let mut words = vec![self.of(&[
            "git",
            "cat",
            "ls",
            "a",
            "b",
            "say x",
            "rm",
            "echo",
            "printf %s",
            ":",
            "v=1 git",
            "\"$v\"",
        ])];
        for _ in 0..self.below(3) {
            words.push(self.of(&WORDS));
        }
        if self.chance(50) {
            let at = 1 + self.below(words.len());
            words.insert(at, self.of(&REDIRECTIONS));
        }
        words.join(" ")
    }
}
