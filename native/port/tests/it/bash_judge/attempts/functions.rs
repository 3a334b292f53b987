//! Functions, and how they are called.

use crate::bash_judge::generator::Generator;

impl Generator {
    pub(super) fn function(&mut self) -> String {
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
}
