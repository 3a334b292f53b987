//! Parts that are general tools: they count as parts only in the use that their program makes of them.
//!
//! The arguments of such parts may come from outside the program: from variables (`GREP`), formatted texts (`.sy`) or
//! options (`--use-compress-program`).

use super::table::{self, PartUse, ProgramParts};

/// Whether a program with these arguments is one of the named parts.
pub(super) fn is_named(parts: &ProgramParts, name: &str, given: &[String], is_all: bool) -> bool {
    table::has(parts.filters, name) && is_all && is_used(PartUse::Filters, given)
        || table::has(parts.names, name)
            && table::use_of(name).is_none_or(|wanted| is_all && is_used(wanted, given))
}

/// Whether arguments fit a use.
fn is_used(wanted: PartUse, given: &[String]) -> bool {
    match wanted {
        PartUse::Filters => given.iter().all(|given| passes_on(given)) || is_to_output(given),
        PartUse::Prints => is_plain_sed(given),
        PartUse::Drafts => given.iter().all(|given| given.starts_with('-') || is_draft(given)),
        PartUse::WritesNothing => !given.iter().any(|given| given.starts_with('-') && given.contains('o')),
    }
}

/// Whether an argument of a compressor names no file: it is an option, or an option's number.
fn passes_on(given: &str) -> bool {
    given.starts_with('-') && !given.starts_with("--file") || given.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a compressor writes to standard output, whatever files it is given.
fn is_to_output(given: &[String]) -> bool {
    let options = given.iter().filter(|given| given.starts_with('-')).map(|given| &given[1..]);
    let is_plain = |option: &str| option.chars().all(|letter| "cdfkqQ0123456789".contains(letter));
    let is_known = |option: &str| is_plain(option) || option == "-" || option.starts_with("-format=");
    options.clone().all(is_known) && options.clone().any(|option| is_plain(option) && option.contains('c'))
}

/// Whether a file is in `/tmp`.
fn is_draft(file: &str) -> bool {
    file.starts_with("/tmp/") && !file.split('/').any(|part| part == "..")
}

/// Whether a call of `sed` only prints: it changes no files in place, and its scripts neither write nor start anything.
fn is_plain_sed(given: &[String]) -> bool {
    let mut rest = given.iter();
    let mut has_script = false;
    while let Some(one) = rest.next() {
        let is_script = match one.strip_prefix('-') {
            None | Some("") => !has_script,
            Some("e") => true,
            Some(short) if short.bytes().all(|byte| b"nErsuz".contains(&byte)) => continue,
            Some(_) => return false,
        };
        let script = if one == "-e" { rest.next() } else { Some(one) };
        if is_script && !script.is_some_and(|script| only_prints(script)) {
            return false;
        }
        has_script = true;
    }
    has_script
}

/// Whether a script of `sed` contains nothing that could be the commands `w` or `e`, except in the texts of a single `s`.
fn only_prints(script: &str) -> bool {
    let dangerous = |text: &str| text.contains(['w', 'W', 'e']);
    if !dangerous(script) {
        return true;
    }
    let mut chars = script.strip_prefix('s').unwrap_or_default().chars();
    let Some(end) = chars.next().filter(char::is_ascii_punctuation) else { return false };
    let parts: Vec<&str> = chars.as_str().split(end).collect();
    let is_single = end != '\\' && !script.contains('\n') && parts.len() == 3;
    is_single && !parts[..2].iter().any(|part| part.ends_with('\\')) && !dangerous(parts[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_plain(words: &[&str]) -> bool {
        is_plain_sed(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn sed_prints_or_it_does_more() {
        for plain in [
            &["s/x/y/g"][..],
            &["-n", "-e", "s/ //g", "-e", "s/-//g"],
            &["s|^|west:|", "file"],
            &["-E", "/^$/{ N; D; }"],
            &["p", "-"],
        ] {
            assert!(is_plain(plain), "{plain:?}");
        }
        for other in [
            &["1w hit"][..],
            &["-n1w hit"],
            &["-n", "-e", "1whit"],
            &["s/x/y/w hit"],
            &["s/x/y/e"],
            &["1e touch hit"],
            &["s/x/y/;w hit"],
            &["s/west/y/\nw hit"],
            &["s/x\\/y/z/w hit"],
            &["-i", "s/x/y/"],
            &["-ni", "s/x/y/"],
            &["-f", "script"],
            &["--in-place", "p"],
            &["p", "file", "-e", "w hit"],
            &["-e"],
            &[],
        ] {
            assert!(!is_plain(other), "{other:?}");
        }
    }
}
