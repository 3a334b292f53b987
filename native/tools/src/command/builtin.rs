//! Builtins of the shell that run texts, or change what later commands mean.

use super::Standing;
use super::variable::is_telling;
use super::word::Word;

/// What is to be known of a builtin.
pub(super) struct Builtin {
    pub(super) standing: Standing,
    pub(super) hazard: Option<String>,
}

/// Builtins that do nothing beyond the shell.
const HARMLESS: [&str; 7] = [":", "true", "false", "exit", "return", "break", "continue"];

/// Builtins that change what commands mean, load code, or evaluate their arguments.
const POWERFUL: [&str; 24] = [
    "alias",
    "unalias",
    "bind",
    "complete",
    "compgen",
    "compopt",
    "enable",
    "fc",
    "hash",
    "history",
    "jobs",
    "let",
    "declare",
    "typeset",
    "local",
    "mapfile",
    "readarray",
    "shopt",
    "source",
    ".",
    "coproc",
    "dirs",
    "caller",
    "set",
];

/// Builtins whose arguments are names of variables.
const NAMING: [&str; 8] = ["read", "unset", "export", "readonly", "getopts", "printf", "wait", "test"];

/// Builtins that only say something, where they evaluate nothing.
const TELLERS: [&str; 5] = ["echo", "printf", "pwd", "test", "["];

/// Options of `set` that change nothing about what is run.
const SET: [&str; 12] = ["-e", "-u", "-x", "-v", "+e", "+u", "-eu", "-ex", "-eux", "-euo", "-o", "+x"];

/// What a builtin of that name does with these arguments; `None` for any other program.
pub(super) fn look(name: &str, args: &[Word]) -> Option<Builtin> {
    let judged = |hazard| Some(Builtin { standing: Standing::Judged, hazard });
    if HARMLESS.contains(&name) {
        return Some(Builtin { standing: Standing::Harmless, hazard: None });
    }
    if name == "set" && args.iter().all(|arg| arg.text().is_some_and(|text| is_plain_setting(&text))) {
        return Some(Builtin { standing: Standing::Harmless, hazard: None });
    }
    if POWERFUL.contains(&name) {
        return judged(Some(format!("{name} can change what commands mean or run code")));
    }
    if name == "[" || NAMING.contains(&name) {
        let hazard = naming(name, args);
        let is_harmless = hazard.is_none() && TELLERS.contains(&name);
        let standing = if is_harmless { Standing::Harmless } else { Standing::Judged };
        return Some(Builtin { standing, hazard });
    }
    if TELLERS.contains(&name) {
        return Some(Builtin { standing: Standing::Harmless, hazard: None });
    }
    None
}

fn is_plain_setting(text: &str) -> bool {
    SET.contains(&text) || ["pipefail", "errexit", "nounset", "xtrace"].contains(&text)
}

/// Why a builtin that takes names of variables may do more than it seems.
fn naming(name: &str, args: &[Word]) -> Option<String> {
    let evaluated = || Some(format!("{name} evaluates the names that it is given"));
    let texts: Vec<Option<String>> = args.iter().map(Word::text).collect();
    let is_code = |text: &String| text.contains("$(") || text.contains('`') || text.contains("${");
    if args.iter().any(|arg| is_code(&arg.shown())) {
        return evaluated();
    }
    match name {
        "test" | "[" => {
            texts.iter().flatten().any(|text| text == "-v" || text == "-R").then(evaluated).flatten()
        }
        "printf" => match texts.first() {
            Some(None) => evaluated(),
            Some(Some(text)) if text.starts_with("-v") => evaluated(),
            _ => None,
        },
        "wait" => {
            let names = |text: &Option<String>| {
                text.as_ref().is_none_or(|text| text.starts_with('-') && text.contains('p'))
            };
            texts.iter().any(names).then(evaluated).flatten()
        }
        _ => texts.iter().find_map(|text| {
            let Some(text) = text else { return evaluated() };
            let variable = text.split('=').next().unwrap_or_default();
            (is_telling(variable) || variable.contains('['))
                .then(|| format!("the variable {variable} can change what is run"))
        }),
    }
}
