//! Redirections and here-documents.

use super::values::VALUES;
use crate::bash_judge::generator::Generator;

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
    pub(super) fn document(&mut self) -> String {
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

    pub(super) fn redirected(&mut self) -> String {
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
}
