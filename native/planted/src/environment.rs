//! Settings that git takes from variables of its environment, as git-config(1) describes.

use beamai_git_config::ConfigEntry;
use std::env::var_os;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// All entries, in order. If a variable is malformed, git does not run, and what comes before that counts.
pub(super) fn entries() -> Vec<ConfigEntry> {
    let count = var_os("GIT_CONFIG_COUNT").and_then(|count| count.to_str()?.trim().parse().ok());
    let numbered = (0..count.unwrap_or(0_u32)).map_while(|at| {
        let [key, value] = ["KEY", "VALUE"].map(|part| bytes(&format!("GIT_CONFIG_{part}_{at}")));
        ConfigEntry::of(&key?, Some(value?))
    });
    let parameters = bytes("GIT_CONFIG_PARAMETERS").unwrap_or_default();
    numbered.chain(of_parameters(&parameters)).collect()
}

fn bytes(variable: &str) -> Option<Vec<u8>> {
    var_os(variable).map(OsString::into_vec)
}

/// The entries of `git -c`, which passes them to its children: `'key'='value'`, or `'key=value'` of older versions.
fn of_parameters(mut text: &[u8]) -> Vec<ConfigEntry> {
    let mut entries = Vec::new();
    while let Some((first, rest)) = unquoted(text.trim_ascii_start()) {
        let (key, value, rest) = match rest {
            [b'=', rest @ ..] if rest.starts_with(b"'") => {
                let Some((value, rest)) = unquoted(rest) else { break };
                (first, Some(value), rest)
            }
            [b'=', rest @ ..] => (first, None, rest),
            _ => match first.iter().position(|byte| *byte == b'=') {
                Some(at) => (first[..at].to_vec(), Some(first[at + 1..].to_vec()), rest),
                None => (first, None, rest),
            },
        };
        let Some(entry) = ConfigEntry::of(key.trim_ascii(), value) else { break };
        entries.push(entry);
        text = rest;
    }
    entries
}

/// A text in single quotes at the beginning, and the rest. Quotes and exclamation marks in it stand outside, after a
/// backslash.
fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"'")?;
    let mut found = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'\'')?;
        found.extend(&rest[..end]);
        match &rest[end + 1..] {
            [b'\\', special @ (b'\'' | b'!'), b'\'', more @ ..] => {
                found.push(*special);
                rest = more;
            }
            more => return Some((found, more)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn parameters_are_read_as_git_reads_them() {
        for text in [
            "'core.hooksPath'='/w/hooks'",
            "'core.hooksPath=/w/hooks'",
            "'a.B.c'='it'\\''s'   'Core.Bare'= 'x.y'\t'd.e=f=g' ",
            "'a.b'='wow'\\!''",
            "'inc.lude'='' 'a.b.C.d'='=' ",
        ] {
            let mut git = Command::new("git");
            let output = git
                .args(["config", "--list", "-z"])
                .env("GIT_CONFIG_PARAMETERS", text)
                .current_dir("/")
                .env("GIT_CONFIG_NOSYSTEM", "1");
            let output = output.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
            let listed = of_parameters(text.as_bytes()).into_iter().map(|entry| {
                let value = entry.value.as_ref().map(|_| format!("\n{}", entry.text()));
                format!("{}{}\0", entry.name(), value.unwrap_or_default())
            });
            assert_eq!(listed.collect::<String>(), String::from_utf8(output.stdout).unwrap(), "{text}");
        }
        for malformed in ["a.b=c", "'a.b", "'nodot=1'"] {
            assert_eq!(of_parameters(malformed.as_bytes()), [], "{malformed}");
        }
    }
}
