//! Commands of the kinds that are easily read in another way than bash does: here-documents, evaluated values, variables
//! that builtins set, options of wrappers, redirections, functions.

use super::generator::Generator;

/// Values, some of which run a command where they are evaluated.
const VALUES: [&str; 22] = [
    "0",
    "12",
    "-3",
    "x",
    "''",
    "'a[$(rm q)]'",
    "'a[$(rm q)]'",
    "'-v a[$(rm q)]'",
    "'x y'",
    "\"$#\"",
    "${#x}",
    "$(date +%s)",
    "'[a[$(rm q)]]=1'",
    "'([a[$(rm q)]]=1)'",
    "-v",
    "$w",
    "\"$w\"",
    "$((1+2))",
    "$?",
    "a.b/c",
    "'*'",
    "$(say 'a[$(rm q)]')",
];

/// Ways to give the variable v a value, which stands for `@`.
const GIVEN: [&str; 30] = [
    "v=@",
    "v=@",
    "v=@",
    "v=@",
    "v=@",
    "w=@; v=$w",
    "read -r v <<< @",
    "read v <<< @",
    "printf -v v %s @",
    "for v in @; do",
    "for v in @ 1; do",
    "export v=@",
    "declare v=@",
    "v=(@ 2)",
    "v+=@",
    "mapfile -t v <<< @",
    "false && v=1",
    "v=1; unset v",
    "(v=1)",
    "v=1 :",
    "set -- @; v=$1",
    "v=1; v=@",
    "while no; do v=@; done; v=1",
    "v[0]=@",
    "read -ra v <<< @",
    "readonly v=@",
    "getopts x: v -x @",
    ": ${v:=@}",
    "let v=@",
    "w=@; ((v = w))",
];

/// Uses of v.
const USED: [&str; 62] = [
    "[ $v ]",
    "[ \"$v\" ]",
    "[ -n $v ]",
    "[ -n \"$v\" ]",
    "[ \"$v\" = x ]",
    "[ $v = x ]",
    "[ x = $v ]",
    "[ $v -eq 1 ]",
    "[ \"$v\" -lt 3 ]",
    "test $v",
    "test -R $v",
    "test -v $v",
    "test -v \"$v\"",
    "[ \"$w\" \"$v\" ]",
    "[ ! $v ]",
    "[ ! -n \"$v\" ]",
    "[ -n \"$v\" -a \"$w\" \"$v\" ]",
    "[ -z \"$v\" -o -n \"$w\" ]",
    "[ * ]",
    "[ -f * ]",
    "[ -f *.txt ]",
    "[ -e x* -a -v v ]",
    "[ -v v ]",
    "[ -v 'a[$(rm q)]' ]",
    "[ \"$w\" $none 'a[$(rm q)]' ]",
    "[[ $v ]]",
    "[[ $v -eq 1 ]]",
    "[[ v -gt 1 ]]",
    "[[ \"$v\" -le 1 ]]",
    "[[ -v $v ]]",
    "[[ -v v ]]",
    "[[ $v == x* ]]",
    "[[ $v =~ ^[0-9]+$ ]]",
    "[[ x =~ $v ]]",
    "[[ 1 -lt ${#v} ]]",
    "[[ $v < x && -n $v ]]",
    ": $((v))",
    ": $(($v + 1))",
    ": $((v++))",
    "((v++))",
    "((v > 1 ? v : 2))",
    "v=$((v+1))",
    "((w = v, w))",
    ": ${x:v}",
    ": ${x:$v:1}",
    ": ${x[v]}",
    ": ${x[$v]}",
    ": ${#x[$v]}",
    ": ${!v}",
    ": \"${v[@]}\"",
    ": ${v[0]}",
    "x[v]=1",
    "x[$v]=1",
    "x=([$v]=1)",
    "x=($v)",
    "let v",
    "let x=v+1",
    "let \"x = $v\"",
    "unset \"x[$v]\"",
    "for ((i = v; i < 2; i++)); do :; done",
    "declare -i x=$v",
    "declare -i x; x=$v",
];

/// More uses, in builtins.
const BUILTIN: [&str; 30] = [
    "printf %d \"$v\"",
    "printf \"$v\"",
    "printf '%s%n' x v",
    "printf \"%s $v\\n\"",
    "printf -v \"$v\" x",
    "read \"$v\" <<< 1",
    "read -r \"x[$v]\" <<< 1",
    "read -t 1 -n \"$v\" y <<< 1",
    "read -p \"$v\" y <<< 1",
    "mapfile \"$v\" <<< 1",
    "mapfile -C \"$v\" -c 1 x <<< 1",
    "wait -n -p \"$v\"",
    "wait $v",
    "wait \"$v\"",
    "wait $!",
    "export \"$v\"",
    "export \"$v=1\"",
    "export x=$v",
    "declare \"$v=1\"",
    "declare x=\"$v\"",
    "x=(1); declare x=\"$v\"",
    "declare -a x=\"$v\"",
    "f() { local x=$v; }; f",
    "f() { local x=$1; }; f \"$v\"",
    "readonly -a x=$v",
    "shift $v",
    "getopts x \"$v\" -x",
    "unset $v",
    "exit $v",
    "set -- $v; : $(($1))",
];

/// Ways to set a variable that git heeds.
const SET: [&str; 46] = [
    "GIT_X=1",
    "export GIT_X",
    "export GIT_X=1",
    "export x=1 GIT_X=2",
    "read GIT_X <<< y",
    "read -r x GIT_X <<< 'y z'",
    "read -a GIT_X <<< y",
    "read -aGIT_X <<< y",
    "read -ra GIT_X <<< y",
    "for GIT_X in 1; do :; done",
    "((GIT_X=1))",
    "((x=1, GIT_X++))",
    ": $((GIT_X=1))",
    "printf -v GIT_X y",
    "printf -vGIT_X y",
    "printf '%s%n' a GIT_X",
    "printf '%5hn' GIT_X",
    "printf -- '%s%n' a GIT_X",
    "printf '%%%n' GIT_X",
    "let GIT_X=1",
    "let x=1 GIT_X=2",
    "getopts a GIT_X -a",
    "mapfile GIT_X <<< x",
    "mapfile -t GIT_X <<< x",
    "readarray -d x GIT_X <<< x",
    ": ${GIT_X:=1}",
    ": ${GIT_X=1}",
    "coproc GIT_X { :; }",
    ": {GIT_X}> out",
    "exec {GIT_X}> out",
    "a & wait -n -p GIT_X",
    "declare GIT_X=1",
    "readonly GIT_X=1",
    "typeset GIT_X=1",
    "GIT_X+=1",
    "GIT_X[0]=1",
    "GIT_X=(1)",
    "declare -n r=GIT_X; r=1",
    "v=GIT_X; printf -v \"$v\" x",
    "v=GIT_X; read \"$v\" <<< 1",
    "v=GIT_X; declare \"$v=1\"",
    "for ((GIT_X=1; GIT_X<2; GIT_X++)); do :; done",
    "select GIT_X in 1; do :; done <<< 1",
    "x=1; ((GIT_X = x))",
    ": ${x[GIT_X=1]}",
    "printf %s%n x GIT''_X",
];

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

/// Redirections.
const REDIRECTIONS: [&str; 62] = [
    "&>> out",
    ">& out",
    ">&\"out\"",
    ">&'$(rm q)'",
    ">&\\$\\(rm\\)",
    ">&`say out`",
    ">&$v",
    ">&\"$v\"",
    "{fd}> out",
    "{fd}>&-",
    ">| out",
    "<> out",
    "<<< w",
    "<<< $v",
    "3> out",
    "3>&1",
    "2>&-",
    "<&0",
    "<&-",
    "1<>out",
    "> {a,b}",
    "> {a}",
    "> $v",
    "> \"$v\"",
    "> x*",
    "> *.txt",
    "> ~/o",
    "> ~",
    ">&2",
    ">&1-",
    ">out<null",
    "2>&1>out",
    "&>1",
    ">1",
    "2>1",
    "12>x",
    "x2>out",
    ">$((1+1))",
    "> \"o 1\"",
    ">'o;1'",
    "> o\\ 1",
    "> o\\\n1",
    ">o$(a)",
    "> $'o\\t1'",
    "< null",
    "<null",
    "0<null",
    "< \"x1\" < null",
    "< {null,x1}",
    "< x?",
    "< $v",
    "</dev/null",
    ">/dev/stdout",
    ">/dev/fd/1",
    "< <(a)",
    "> >(a)",
    "2> >(a >&2)",
    "<>null",
    ">>out>out2",
    ">out\r",
    ">\u{a0}out",
    "> #x",
];

/// End words of here-documents, and the lines that end them.
const ENDS: [(&str, &str); 24] = [
    ("E", "E"),
    ("E", "E"),
    ("E", "E"),
    ("'E'", "E"),
    ("\"E\"", "E"),
    ("\\E", "E"),
    ("E''", "E"),
    ("E$", "E$"),
    ("$E", "$E"),
    ("E-1", "E-1"),
    ("$(a)", "$(a)"),
    ("`a`", "`a`"),
    ("\\\\", "\\"),
    ("'E F'", "E F"),
    ("E\\ F", "E F"),
    ("'E$'", "E$"),
    ("$'E'", "E"),
    ("E\\\nF", "EF"),
    ("E{a,b}", "E{a,b}"),
    ("~", "~"),
    ("*", "*"),
    ("E#", "E#"),
    ("''", ""),
    ("\"\\E\"", "\\E"),
];

/// Lines of here-documents.
const LINES: [&str; 24] = [
    "x",
    "$(rm q)",
    "`b`",
    "\\$(rm q)",
    "\\`b`",
    "E)",
    "E x",
    "\tE",
    " E",
    "E ",
    "EO",
    "E\\",
    "\\",
    "'\"",
    "$x ${x:-$(b)}",
    "$((1+1))",
    "$(",
    ")",
    "\\\\$(b)",
    "\"$(b)\"",
    "'$(b)'",
    "$'x'",
    "E\r",
    "${x",
];

impl Generator {
    /// A command of one of these kinds.
    pub(crate) fn attempt(&mut self) -> String {
        match self.below(20) {
            0..=6 => self.evaluation(),
            7..=8 => self.setting(),
            9..=10 => self.document(),
            11..=12 => self.wrapped(),
            13 => self.pattern(),
            14..=15 => self.redirected(),
            16..=17 => self.function(),
            _ => self.everyday(),
        }
    }

    fn evaluation(&mut self) -> String {
        let (first, second) = (self.of(&VALUES), self.of(&VALUES));
        let given = self.of(&GIVEN).replace('@', first);
        let used = if self.chance(70) { self.of(&USED) } else { self.of(&BUILTIN) };
        let joint = self.of(&["; ", "; ", " && ", "\n", " || "]);
        let mut text = match given.strip_suffix(" do") {
            Some(head) => format!("{head} do {used}; done"),
            None => format!("{given}{joint}{used}"),
        };
        match self.below(16) {
            0 => text = format!("w={second}; {text}"),
            1 => text = format!("{text}; v={second}"),
            2 => text = format!("while [ -z \"$s\" ]; do {text}; v={second}; s=1; done"),
            3 => text = format!("f() {{ {used}; }}; {text}; f"),
            4 => text = format!("v={second} bash -c '{}'", used.replace('\'', r"'\''")),
            5 => text = format!("({text})"),
            6 => text = format!("{text} | git; {used}"),
            7 => text = format!("v={second}; w=-v; {text}"),
            8 => text = format!("eval '{}'", text.replace('\'', r"'\''")),
            9 => {
                text = format!("for i in 1 2; do {used}; {given}; done")
                    .replace(" do; done", " do :; done; done")
            }
            _ => {}
        }
        text
    }

    fn setting(&mut self) -> String {
        let set = self.of(&SET);
        match self.below(6) {
            0 => format!("f() {{ {set}; }}; f; git"),
            1 => format!("{set} | git"),
            2 => format!("if {set}; then git; fi"),
            3 => format!("eval \"{}\"", set.replace(['\\', '"', '$'], "")),
            _ => format!("{set}; git"),
        }
    }

    fn document(&mut self) -> String {
        let (word, end) = ENDS[self.below(ENDS.len())];
        let mut body = String::new();
        for _ in 0..self.below(4) {
            body.push_str(self.of(&LINES));
            body.push('\n');
        }
        let operator = self.of(&["<<", "<<", "<<", "<<-", "<< ", "3<<", "<<-\t"]);
        let last = self.of(&["\n", "\n", "", "\nls\n", " \n", ")\n", "\n\n"]);
        match self.below(9) {
            0 => format!("git \"$(cat {operator}{word}\n{body}{end}\n)\""),
            1 => format!("git $(cat {operator}{word}\n{body}{end}{last})"),
            2 => format!("cat {operator}{word} | git x && make\n{body}{end}{last}"),
            3 => format!("cat {operator}{word} <<'F'; git\n{body}{end}\n$(rm q)\nF{last}"),
            4 => format!("if cat {operator}{word}\n{body}{end}\nthen git; fi"),
            5 => format!(
                "bash -c 'cat {operator}{}\n{}{end}\n'",
                word.replace('\'', r"'\''"),
                body.replace('\'', r"'\''")
            ),
            6 => format!("x=`cat {operator}{word}\n{}{end}\n`; git", body.replace(['`', '\\'], "")),
            7 => format!("while no; do :; done {operator}{word}\n{body}{end}{last}"),
            _ => format!("cat {operator}{word}\n{body}{end}{last}"),
        }
    }

    fn wrapped(&mut self) -> String {
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

    fn pattern(&mut self) -> String {
        let shims = self.shims().display().to_string();
        let name = self.of(&NAMES).replace('@', &shims);
        let args = self.of(&["x", "x*", "[x]", "\"*\"", "-v", "{a,b}"]);
        let wrapper = self.of(&["", "", "", "env ", "command ", "timeout 5 ", "exec ", "eval ", "! "]);
        format!("{wrapper}{name} {args}")
    }

    fn redirected(&mut self) -> String {
        let value = self.of(&VALUES);
        let (one, two) = (self.of(&REDIRECTIONS), self.of(&REDIRECTIONS));
        let body = self.of(&[
            "git x",
            "cat",
            "{ git; }",
            "(git)",
            "exec",
            ":",
            "for i in 1; do git; done",
            "",
            "[[ x ]]",
            "((1))",
        ]);
        match self.below(5) {
            0 => format!("v={value}; {body} {one}"),
            1 => format!("{body} {one} {two}"),
            2 => format!("{one} git {two} x"),
            3 => format!("f() {{ git; }} {one}; f {two}"),
            _ => format!("{body} {one}"),
        }
    }

    fn function(&mut self) -> String {
        let name = self.of(&[
            "git", "f", "f-g", "f.g", "a", "cd", "'f'", "f$x", "[", "if", "echo", "é", "a=b", "f/g", "{", "1",
        ]);
        let head = match self.below(5) {
            0 => format!("function {name}"),
            1 => format!("function {name} ()"),
            2 => format!("{name} ( )"),
            _ => format!("{name}()"),
        };
        let body = self.of(&[
            "{ make \"$1\"; }",
            "{ make; }",
            "( make )",
            "{ rm q; }",
            "if no; then make; fi",
            "for i in 1; do make; done",
            "make",
            "\n{\n make\n}",
            "[[ x ]]",
            "((1))",
            "{ unset -f f; }",
            "{ unset a; }",
            "{ unset f; make; }",
            "{ f; }",
            "{ make; } > out",
        ]);
        let call = self.of(&[
            "git x",
            "f",
            "a",
            "f; unset f; f",
            "unset -f f; f",
            "command f",
            "env a",
            "\\a x",
            "bash -c 'a'",
            "bash -c a",
            "eval a",
            "(a)",
            "$(a)",
            "a | f",
            "trap a EXIT",
            "export -f a; bash -c a",
            "exec a",
            "f-g",
            "f; a; f",
            "find . -maxdepth 0 -exec a ';'",
            "say x | xargs a",
            "a() { ls; }; a",
            "unset a; a",
            "readonly a; a",
        ]);
        match self.below(8) {
            0 => format!("no && {head} {body}; {call}"),
            1 => format!("if no; then {head} {body}; fi; {call}"),
            2 => format!("{head} {body} & {call}"),
            3 => format!("{head} {body} | {call}"),
            4 => format!("{call}; {head} {body}\n{call}"),
            5 => format!("f() {{ {call}; }}; {head} {body}; f; a"),
            _ => format!("{head} {body}; {call}"),
        }
    }

    /// What agents write every day, and the same within something else.
    fn everyday(&mut self) -> String {
        let text = self.usual();
        match self.below(12) {
            0 => format!("({text})"),
            1 => format!("git \"$({text})\""),
            2 => format!("if {text}; then make; fi").replace("\n; then", "\nthen"),
            3 => format!("bash -c '{}'", text.replace('\'', r"'\''")),
            4 => format!("f() {{ {text}\n}}; f"),
            5 => format!("{text} | {}", self.usual()),
            6 => format!("{{ {text}\n}} >> out"),
            7 => format!("{text}\n{}", self.usual()),
            8 => format!("while {text}; do break; done").replace("\n; do", "\ndo"),
            _ => text,
        }
    }

    fn usual(&mut self) -> String {
        self.of(&[
            "for f in *.txt; do cat \"$f\"; done",
            "while IFS= read -r line; do git \"$line\"; done < null",
            "say x y | while read -r a b; do make \"$b\" \"$a\"; done",
            "if [ -f null ]; then cat null; else ls; fi",
            "i=0; while [ $i -lt 3 ]; do git $i; i=$((i + 1)); done",
            "for ((i=0; i<2; i++)); do git \"$i\"; done",
            "files=(*.txt); git \"${files[@]}\" \"${#files[@]}\"",
            "[[ -n $x && -f null ]] && git || make",
            "n=$(ls | wc -l); git \"$n\"",
            "git -m \"$(cat <<'EOF'\na 'b' $(c)\nEOF\n)\"",
            "f() { local x=$1; git \"$x\"; }; f a; f 'b c'",
            "x=a.b; git \"${x%.*}\" ${x##*.} \"${x/a/c}\" ${x^^}",
            "set -euo pipefail; git",
            "mapfile -t l < null; git \"${l[@]}\"",
            "cat > out <<'EOF'\n$(rm q)\nEOF\nmake",
            "case x in a|b) git;; [a-z]*) make;; *) ls;; esac",
            "a=1 b=2 git; export c=\"$x y\"; make",
            "trap 'rm q' EXIT; git",
            "git & make & wait",
            "cd . && git 2>&1 | cat | ls",
            "for i in {1..3}; do git $i; done; git x{1..2}",
            "{ git; make; } > out 2>&1",
            "diff() { git \"$@\"; }; diff a b",
            "x=$(git) || make; [ -z \"$x\" ] && ls",
            "until git; do make; done",
            "time git; ! no",
            "git \"${x:-$(make)}\" ${1:-y}",
            "while getopts ab: o; do git \"$o\"; done",
            "printf '%s\\n' a b | xargs -n1 git",
            "find . -maxdepth 0 -name '.' -exec git {} +",
            "[[ x =~ ^[a-z]+$ ]] && git",
        ])
        .to_owned()
    }
}
