//! Commands by chance: the grammar of bash, in spellings that try to hide what is run.

use std::path::PathBuf;

const NAMES: [&str; 11] = ["git", "rm", "ls", "cat", "cp", "npm", "make", "a", "b", "no", "curl"];
/// Characters that change how a text is read.
const HOSTILE: [char; 38] = [
    '\'', '"', '\\', '`', '$', '(', ')', '{', '}', ';', '&', '|', '<', '>', '#', '!', '\n', ' ', '=', '*',
    '[', ']', '~', ',', '\r', '\t', '\u{b}', '\u{a0}', '^', '%', '@', ':', '+', '-', '?', '.', 'E', '0',
];

/// Commands made from a seed.
pub(crate) struct Generator {
    state: u64,
    shims: PathBuf,
    /// Here-documents whose text follows the line.
    documents: Vec<String>,
    /// Whether programs may be named by a path: not where the text is changed afterwards.
    has_paths: bool,
}

impl Generator {
    pub(crate) fn new(seed: u64, shims: PathBuf) -> Self {
        let state = (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { state, shims, documents: Vec::new(), has_paths: true }
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    pub(crate) fn shims(&self) -> &std::path::Path {
        &self.shims
    }

    /// A command.
    pub(crate) fn command(&mut self) -> String {
        let is_changed = self.chance(30);
        self.has_paths = !is_changed;
        let mut text = match self.below(10) {
            0..=4 => self.attempt(),
            5 => format!("{}{}{}", self.attempt(), self.of(&["; ", "\n", " && ", " | "]), self.attempt()),
            _ => self.list(2),
        };
        for document in std::mem::take(&mut self.documents) {
            text.push_str(&document);
        }
        if is_changed {
            for _ in 0..=self.below(3) {
                self.change(&mut text);
            }
        }
        text
    }

    /// Puts a hostile character somewhere, or takes a character away.
    fn change(&mut self, text: &mut String) {
        let mut chars: Vec<char> = text.chars().collect();
        let at = self.below(chars.len() + 1);
        match self.below(5) {
            0 if at < chars.len() => _ = chars.remove(at),
            1 if at < chars.len() => {
                let end = (at + 1 + self.below(6)).min(chars.len());
                let part = chars[at..end].to_vec();
                let to = self.below(chars.len() + 1);
                chars.splice(to..to, part);
            }
            _ => chars.insert(at, HOSTILE[self.below(HOSTILE.len())]),
        }
        *text = chars.into_iter().collect();
    }

    fn list(&mut self, depth: usize) -> String {
        let mut text = self.compound(depth);
        for _ in 0..self.below(3) {
            let is_free = !text.contains("&>");
            let joint = self.of(&["; ", " && ", " || ", " | ", " |& ", ";", "&&", "|", " & ", "\n"]);
            let joint = if joint == "\n" && !self.documents.is_empty() || joint == " & " && !is_free {
                "; "
            } else {
                joint
            };
            let next = self.compound(depth);
            text = format!("{text}{joint}{next}");
        }
        text
    }

    fn compound(&mut self, depth: usize) -> String {
        if depth == 0 || self.chance(70) {
            return self.simple(depth);
        }
        let d = depth - 1;
        let (one, two) = (self.list(d), self.list(d));
        match self.below(19) {
            14 => format!("for ((i = 0; i < 1; i++)); do {one}; done"),
            15 => format!("case $({one}) in *) {two};; esac"),
            16 => format!("[[ -n $({one}) && x != y ]] && {two}"),
            17 => format!("{{ {one}; }} > >({two})"),
            18 => format!("coproc {{ {one}; }}; wait"),
            0 => format!("({one})"),
            1 => format!("{{ {one}; }}"),
            2 => format!("if {one}; then {two}; fi"),
            3 => format!("if no; then {one}; else {two}; fi"),
            4 => format!("while no {}; do {one}; done", self.word(d)),
            5 => format!("until a; do {one}; done"),
            6 => format!("for x in {} y; do {one}; done", self.word(d)),
            7 => format!("case {} in x) {one};; *) {two} ;; esac", self.word(d)),
            8 => format!("case x in (x|y) {one} ;& z) {two};; esac"),
            9 => format!("git(){{ {one}; }}; git x"),
            10 => format!("function b {{ {one}; }}; {two}"),
            11 => format!("[[ x == {} ]] && {one}", self.word(d)),
            12 => format!("! {one}"),
            _ => format!("((1 + 2)) && {one}"),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut words = Vec::new();
        if self.chance(12) {
            let value = self.word(depth.min(1));
            let name = self.of(&["X", "v", "FOO", "a", "PATH2"]);
            words.push(format!("{name}={value}"));
            if self.chance(20) {
                return words.remove(0);
            }
        }
        if self.chance(30) {
            words.push(self.wrapper(depth));
        } else if self.chance(12) {
            words.push(self.indirection());
        } else {
            words.push(self.name(depth));
        }
        for _ in 0..self.below(4) {
            words.push(self.word(depth));
        }
        if self.chance(18) {
            let redirection = self.redirection(depth);
            let at = self.below(words.len() + 1);
            words.insert(at, redirection);
        }
        let joint = if self.chance(5) { " \\\n " } else { " " };
        words.join(joint)
    }

    /// A name in some spelling.
    fn name(&mut self, depth: usize) -> String {
        let name = NAMES[self.below(NAMES.len())];
        if self.chance(55) {
            return name.to_owned();
        }
        let (first, rest) = name.split_at(1);
        let hex = format!("\\x{:02x}", name.as_bytes()[0]);
        let octal = format!("\\{:o}", name.as_bytes()[0]);
        match self.below(22) {
            0 => format!("{first}''{rest}"),
            1 => format!("\\{name}"),
            2 => format!("\"{name}\""),
            3 => format!("$'{hex}{rest}'"),
            4 => format!("$'{octal}{rest}'"),
            5 => format!("{{{name},x}}"),
            6 => format!("$(say {name})"),
            7 => format!("`say {name}`"),
            8 => format!("${{none:-{name}}}"),
            9 if self.has_paths => format!("{}/{name}", self.shims.display()),
            10 => format!("./{name}"),
            11 => format!("{first}\\\n{rest}"),
            12 => format!("$none {name}"),
            13 => format!("{{,}} {name}"),
            14 => format!("\"{first}\"'{rest}'"),
            15 => format!("v={name}; $v"),
            16 => format!("{first}{{{rest},}}"),
            17 => format!("$none{name}"),
            18 => format!("{name}$'\\0'x"),
            19 => format!("$'{name}\\n'"),
            20 if depth > 0 => format!("$(say {}) {name}", self.simple(0)),
            _ => format!("'{name}'"),
        }
    }

    /// A wrapper with what it starts.
    fn wrapper(&mut self, depth: usize) -> String {
        let inner = self.name(0);
        match self.below(44) {
            26 => format!("env -i {inner}"),
            27 => format!("env -C . {inner}"),
            28 => format!("timeout --foreground -k 1 5 {inner}"),
            29 => format!("nice {inner}"),
            30 => format!("exec -a other {inner}"),
            31 => format!("command -p {inner}"),
            32 => format!("builtin eval {inner}"),
            33 => format!("time -p {inner}"),
            34 => format!("find . -maxdepth 0 -execdir {inner} ';'"),
            35 => format!("find . -maxdepth 0 -name . -o -exec {inner} ';'"),
            36 => format!("say x y | xargs -n 1 {inner}"),
            37 => format!("say {inner} | xargs"),
            38 => format!("say {inner} | xargs -I@ sh -c @"),
            39 => format!("wrap {inner}"),
            40 => format!("bash <<< '{}'", inner.replace('\'', r"'\''")),
            41 => format!("bash < <(say {inner})"),
            42 => format!(". <(say {inner})"),
            43 => format!("sudo -u x env {inner}"),
            0 => format!("env X=1 {inner}"),
            1 => format!("env -u X {inner}"),
            2 => format!("timeout 5 {inner}"),
            3 => format!("timeout -s KILL --preserve-status 5 {inner}"),
            4 => format!("nice -n 3 {inner}"),
            5 => format!("nohup {inner}"),
            6 => format!("command {inner}"),
            7 => format!("exec {inner}"),
            8 => format!("eval {inner}"),
            9 => self.text_of("eval", depth),
            10 => self.text_of("bash -c", depth),
            11 => self.text_of("sh -c", depth),
            12 => self.text_of("bash --norc -euc", depth),
            13 => format!("say x y | xargs {inner}"),
            14 => format!("say x | xargs -I{{}} {inner} {{}}"),
            15 => format!("find . -maxdepth 0 -exec {inner} {{}} \\;"),
            16 => format!("find . -maxdepth 0 -exec {inner} {{}} +"),
            17 => format!("setsid -w {inner}"),
            18 => format!("stdbuf -oL {inner}"),
            19 => format!("sudo {inner}"),
            20 => format!("busybox {inner}"),
            21 => format!("time {inner}"),
            22 => format!("env env timeout 5 nice {inner}"),
            23 => format!("say {inner} x | bash"),
            24 => format!("env -S '{inner} x'"),
            _ => format!("trap '{}' EXIT;", NAMES[self.below(NAMES.len())]),
        }
    }

    /// A program whose name stands elsewhere, or that runs by a name of something else.
    fn indirection(&mut self) -> String {
        let name = NAMES[self.below(NAMES.len())];
        let other = NAMES[self.below(NAMES.len())];
        match self.below(20) {
            0 => format!("read -r v <<< {name}; $v"),
            1 => format!("printf -v v {name}; $v"),
            2 => format!("set -- {name} x; \"$@\""),
            3 => format!("v={name}; \"${{v}}\""),
            4 => format!("v={name}; w=v; ${{!w}}"),
            5 => format!("v='$({name})'; : \"${{v@P}}\""),
            6 => format!("v=({name} x); \"${{v[@]}}\""),
            7 => format!("v[$({name})0]=1; {other}"),
            8 => format!(": $((v[$({name})0]))"),
            9 => format!("declare v=$({name}); {other}"),
            10 => format!("export v=`{name}`; {other}"),
            11 => format!("shopt -s expand_aliases; alias {other}={name}\n{other}"),
            12 => format!("mapfile -c 1 -C {name} v <<< x; {other}"),
            13 => format!("PROMPT_COMMAND={name}; {other}"),
            14 => format!("trap {name} DEBUG; {other}; trap - DEBUG"),
            15 => format!("trap '{name}' ERR; no"),
            16 => format!("cd . && {name}"),
            17 => format!("test -n \"$({name})\" && {other}"),
            18 => format!("let 'v[$({name})0]=1'; {other}"),
            _ => format!("hash -p \"$PATH/{name}\" {other}; {other}"),
        }
    }

    /// A program that gets a command as a text.
    fn text_of(&mut self, program: &str, depth: usize) -> String {
        let inner = self.simple(depth.saturating_sub(1));
        match self.chance(50) {
            true => format!("{program} '{}'", inner.replace('\'', r"'\''")),
            false => {
                let quoted: String = inner
                    .chars()
                    .flat_map(|char| if "\"\\`$".contains(char) { vec!['\\', char] } else { vec![char] })
                    .collect();
                format!("{program} \"{quoted}\"")
            }
        }
    }

    fn word(&mut self, depth: usize) -> String {
        if depth == 0 || self.chance(60) {
            return self
                .of(&[
                    "x",
                    "-rf",
                    "'a b'",
                    "\"x y\"",
                    "*",
                    "x*",
                    "~",
                    "$HOME",
                    "\"${HOME}/x\"",
                    "HOME=x",
                    "$x",
                    "\"$x\"",
                    "--",
                    "-n",
                    "{a,b}",
                    "x{1..3}",
                    "$'a\\tb'",
                    "a=b",
                    "#x",
                    "x#y",
                    "\\;",
                    "'&&'",
                    "\"; rm x\"",
                    "$((1+2))",
                    "${x:-y}",
                    "\\\\",
                    "''",
                    "\"a\\\"b\"",
                    "!",
                    "{}",
                    "\"$'x'\"",
                    "a\\\nb",
                    "é",
                    "=",
                    "if",
                    "[",
                    "]]",
                    "}",
                    "done",
                    "$",
                    "%1",
                ])
                .to_owned();
        }
        let inner = self.list(depth - 1);
        match self.below(19) {
            12 => format!("${{x/$({inner})/y}}"),
            13 => format!("${{x:$({inner}):1}}"),
            14 => format!("\"${{x:-\"$({inner})\"}}\""),
            15 => format!("${{x:=$({inner})}}"),
            16 => format!("$[ $({inner}) ]"),
            17 => format!("$(cat <<< \"$({inner})\")"),
            18 => format!("\"$(say \"$({inner})\" ')' \\))\""),
            0 => format!("$({inner})"),
            1 => format!("\"$({inner})\""),
            2 => format!("`{}`", inner.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$")),
            3 => format!("<({inner})"),
            4 => format!("${{x:-$({inner})}}"),
            5 => format!("x$({inner})y"),
            6 => format!("$(( 1 + $({inner}) ))"),
            7 => format!("\"a `{}` b\"", inner.replace(['\\', '`', '$', '"'], "")),
            8 => format!("${{x#$({inner})}}"),
            9 => format!("$(\n{inner}\n)"),
            10 => format!("$( # ) '\n{inner} )"),
            _ => format!("{{x,$({inner})}}"),
        }
    }

    fn redirection(&mut self, depth: usize) -> String {
        match self.below(16) {
            12 => format!("< <({})", NAMES[self.below(NAMES.len())]),
            13 => ">| out".to_owned(),
            14 => format!("2> \"$({})\"", NAMES[self.below(NAMES.len())]),
            15 => "<> out".to_owned(),
            0 => "> out".to_owned(),
            1 => ">>out".to_owned(),
            2 => "2>null".to_owned(),
            3 => "< null".to_owned(),
            4 => "<<< 'x; rm y'".to_owned(),
            5 => format!("<<< \"{}\"", "$(a)"),
            6 => "2>&1".to_owned(),
            7 => "&> out".to_owned(),
            8 => format!("> >({})", NAMES[self.below(NAMES.len())]),
            9 if self.documents.is_empty() => {
                let inner = NAMES[self.below(NAMES.len())];
                self.documents.push(format!("\nx $({inner} y) `b`\n'\"\nE\n"));
                "<<E".to_owned()
            }
            10 if self.documents.is_empty() && depth > 0 => {
                self.documents.push("\n$(rm x)\nE E\n\tE\n".to_owned());
                "<<-'E'".to_owned()
            }
            _ => "{fd}> out".to_owned(),
        }
    }
}
