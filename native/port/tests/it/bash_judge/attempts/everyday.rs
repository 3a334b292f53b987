//! What agents write every day.

use crate::bash_judge::generator::Generator;

impl Generator {
    /// What agents write every day, and the same within something else.
    pub(super) fn everyday(&mut self) -> String {
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
