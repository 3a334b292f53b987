//! Options of wrappers, and names of programs that are patterns.

use crate::bash_judge::generator::Generator;

/// Options of wrappers before the command.
const WRAPPERS: [&str; 72] = [
    "say x y | xargs --max-lines",
    "say x y | xargs --max-lines=1",
    "say x y | xargs -l",
    "say x y | xargs -l1",
    "say x y | xargs -l 1",
    "say x | xargs -i",
    "say x | xargs -i@",
    "say x | xargs -ti",
    "say x | xargs -e",
    "say x | xargs -eE",
    "say x | xargs -E E",
    "say x | xargs --eof",
    "say x | xargs --eof=E",
    "say x | xargs --replace",
    "say x | xargs --replace=%",
    "say x | xargs -0I%",
    "say x | xargs -I %",
    "say x | xargs -0I %",
    "say x | xargs -rI{}",
    "say x y | xargs -n1",
    "say x y | xargs -n 1",
    "say x y | xargs -tn1",
    "say x y | xargs -P2 -L1",
    "say x | xargs -d,",
    "say x | xargs -d ,",
    "say x | xargs --delimiter=,",
    "say x | xargs --delimiter ,",
    "say x | xargs --max-args 1",
    "say x | xargs --max-args=1 -r",
    "say x | xargs --max-procs 2",
    "say x | xargs -s 999 -x",
    "say x | xargs -s999",
    "say x | xargs --max-chars=999",
    "say x | xargs --no-run-if-empty",
    "say x | xargs --verb",
    "say x | xargs --",
    "xargs -a null",
    "xargs --arg-file=null",
    "xargs -r -a x1",
    "say x | xargs --process-slot-var=GIT_X",
    "env -u X",
    "env -uX",
    "env --unset=X",
    "env --unset X",
    "env -",
    "env -i",
    "env -C .",
    "env --chdir=.",
    "env -v",
    "env X=1 Y=2",
    "env GIT_X=1",
    "env -i X=1 --",
    "env -- X=1",
    "env --block-signal",
    "env --default-signal=INT",
    "timeout -s9 5",
    "timeout -k 1 5",
    "timeout --signal 9 5",
    "timeout -v 5",
    "timeout --kill-after=1 5",
    "timeout -- 5",
    "nice -n5",
    "nice -5",
    "nice --adjustment=5",
    "nice -n 5 --",
    "nice --adjustment 5",
    "stdbuf -o L -eL",
    "setsid -w",
    "setsid -fw",
    "command -p",
    "command --",
    "exec -cl",
];

/// Names of programs that are patterns, or nearly.
const NAMES: [&str; 24] = [
    "[r]m",
    "r?",
    "r*",
    "r[m]",
    "'[r]m'",
    "[r\\]m",
    "@/r?",
    "@/[r]m",
    "@/r[!x]",
    "@/r[[:alpha:]]",
    "@/'r'?",
    "@/[r'm'",
    "~/rm",
    "[",
    "[r",
    "r]m",
    "\\[r]m",
    "{r,}m",
    "r{m,}",
    "{rm,x}",
    "r{m..m}",
    "$none'rm'",
    "{rm}",
    "r\\{m,x}",
];

impl Generator {
    pub(super) fn wrapped(&mut self) -> String {
        let wrapper = self.of(&WRAPPERS);
        let inner = self.of(&[
            "git x",
            "rm",
            "git % {} @",
            "sh -c %",
            "sh -c 'git x'",
            "bash -c @",
            "",
            "env git",
            "sh -c {}",
            "2 git",
            "-x git",
        ]);
        match self.chance(15) {
            true => format!(
                "{wrapper} {} {inner}",
                self.of(&WRAPPERS).replace("say x | ", "").replace("say x y | ", "")
            ),
            false => format!("{wrapper} {inner}"),
        }
    }

    pub(super) fn pattern(&mut self) -> String {
        let shims = self.shims().display().to_string();
        let name = self.of(&NAMES).replace('@', &shims);
        let args = self.of(&["x", "x*", "[x]", "\"*\"", "-v", "{a,b}"]);
        let wrapper = self.of(&["", "", "", "env ", "command ", "timeout 5 ", "exec ", "eval ", "! "]);
        format!("{wrapper}{name} {args}")
    }
}
