//! Checks settings files that a repository's settings include. libgit2 reads them from anywhere, so an include from
//! outside the workspace makes the repository unusable.

use crate::fail::{GitError, GitResult};
use beamai_base::Reason;
use beamai_workspace::WorkspacePath;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Maximum include depth, as in git.
const MAX_DEPTH: usize = 10;
/// Maximum size of a settings file.
const MAX_BYTES: u64 = 1 << 20;

/// Fails if the settings file includes anything but files in the workspace. Missing files are accepted.
pub(super) fn check(dir: &WorkspacePath, name: &str) -> GitResult<()> {
    nested(dir, Path::new(name), 0)
}

/// The last value of a setting in the settings file itself, ignoring includes.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn setting(
    dir: &WorkspacePath,
    name: &str,
    section: &[u8],
    key: &[u8],
) -> GitResult<Option<Vec<u8>>> {
    let bytes = read(&dir.join(Path::new(name)))?.unwrap_or_default();
    let is_section = |text: &[u8]| text.trim_ascii().eq_ignore_ascii_case(section);
    Ok(values(&bytes, is_section, |name| name.trim_ascii().eq_ignore_ascii_case(key)).pop())
}

fn nested(dir: &WorkspacePath, path: &Path, depth: usize) -> GitResult<()> {
    let file = dir.join(path);
    let refuse = |why: String| Err(GitError::Unavailable(format!("its settings {} {why}", file.display())));
    if depth > MAX_DEPTH {
        return refuse("include each other recursively".to_owned());
    }
    let Some(bytes) = read(&file)? else { return Ok(()) };
    if !remote_patterns(&bytes).is_empty() {
        return refuse("include others for certain remotes, which this tool does not evaluate".to_owned());
    }
    let beside = dir.join(path.parent().unwrap_or(Path::new("")));
    for included in included(&bytes) {
        if !is_inside(&beside, &included) {
            let shown = String::from_utf8_lossy(&included).into_owned();
            return refuse(format!("include {shown:?}, which is not in the workspace"));
        }
        nested(&beside, Path::new(OsStr::from_bytes(&included)), depth + 1)?;
    }
    Ok(())
}

fn read(file: &WorkspacePath) -> GitResult<Option<Vec<u8>>> {
    let unusable = |why: &str| GitError::Unavailable(format!("its settings {} {why}", file.display()));
    let open = match file.open_file() {
        Ok((open, _)) => open,
        Err(error) if error.reason == Reason::NoSuchFile => return Ok(None),
        Err(error) if error.reason == Reason::AccessDenied => {
            return Err(GitError::unreadable(file.display()).into());
        }
        Err(error) => return Err(unusable(&format!("cannot be read ({})", error.message))),
    };
    let mut bytes = Vec::new();
    open.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unusable(&error.to_string()))?;
    match bytes.len() as u64 > MAX_BYTES {
        true => Err(unusable("are larger than 1 MiB")),
        false => Ok(Some(bytes)),
    }
}

/// Whether the path of an included file can only be in the workspace.
fn is_inside(dir: &WorkspacePath, path: &[u8]) -> bool {
    let is_plain = !path.starts_with(b"/") && !path.starts_with(b"~") && !path.starts_with(b"%");
    is_plain
        && !path.contains(&b'\\')
        && match dir.join(Path::new(OsStr::from_bytes(path))).resolved() {
            Ok(_) => true,
            // A missing file is harmless; a path that leads out gives another error.
            Err(error) => error.reason == Reason::NoSuchFile,
        }
}

/// A file that a settings file names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NamedFile {
    /// Further settings, always or under a condition.
    Include { path: Vec<u8>, is_conditional: bool },
    /// A file with patterns of ignored files, or with attributes.
    Patterns(Vec<u8>),
}

/// The files that a settings file names, whether conditions hold or not.
pub(super) fn files_named(bytes: &[u8]) -> Vec<NamedFile> {
    let is_section =
        |wanted: &'static [u8]| move |text: &[u8]| text.trim_ascii().eq_ignore_ascii_case(wanted);
    let is_conditional = |text: &[u8]| text.trim_ascii_start().to_ascii_lowercase().starts_with(b"includeif");
    let is_key = |wanted: &'static [u8]| move |name: &[u8]| name.trim_ascii().eq_ignore_ascii_case(wanted);
    let include = |is_conditional| move |path| NamedFile::Include { path, is_conditional };
    let patterns = [&b"excludesfile"[..], b"attributesfile"]
        .into_iter()
        .flat_map(|key| values(bytes, is_section(b"core"), is_key(key)));
    let always = values(bytes, is_section(b"include"), is_key(b"path")).into_iter().map(include(false));
    let maybe = values(bytes, is_conditional, is_key(b"path")).into_iter().map(include(true));
    always.chain(maybe).chain(patterns.map(NamedFile::Patterns)).collect()
}

/// The patterns of `includeIf "hasconfig:remote.*.url:…"`, a condition that libgit2 takes for one that does not hold.
pub(super) fn remote_patterns(bytes: &[u8]) -> Vec<Vec<u8>> {
    const CONDITION: &[u8] = b"hasconfig:remote.*.url:";
    let pattern = |line: Vec<u8>| {
        let line = line.trim_ascii();
        let is_section = line.first() == Some(&b'[');
        let at = memchr::memmem::find(&line.to_ascii_lowercase(), CONDITION).filter(|_| is_section)?;
        let rest = &line[at + CONDITION.len()..];
        Some(rest[..memchr::memchr(b'"', rest).unwrap_or(rest.len())].to_vec())
    };
    lines(bytes).into_iter().filter_map(pattern).collect()
}

/// Whether git knows more of a path than libgit2 does: the home directory of another user, where git is installed, or that the file may
/// be missing ("pathname" in git-config(1)).
pub(super) fn is_unfollowed(path: &[u8]) -> bool {
    let is_of_user = path.first() == Some(&b'~') && path.len() > 1 && path[1] != b'/';
    is_of_user || path.starts_with(b"%(") || path.starts_with(b":(")
}

/// The paths in `include` and `includeIf` sections, whatever their conditions. False positives are harmless: every line
/// that may set a path counts.
fn included(bytes: &[u8]) -> Vec<Vec<u8>> {
    let is_include = |text: &[u8]| text.trim_ascii_start().to_ascii_lowercase().starts_with(b"include");
    values(bytes, is_include, |name| name.to_ascii_lowercase().starts_with(b"path"))
}

/// The values of certain settings in certain sections. Sections are passed without brackets, keys as the text before
/// `=`.
fn values(bytes: &[u8], in_section: impl Fn(&[u8]) -> bool, is_key: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
    let mut is_wanted = false;
    let mut found = Vec::new();
    for line in lines(bytes) {
        let mut line = line.trim_ascii();
        if line.first() == Some(&b'[') {
            let end = memchr::memrchr(b']', line);
            is_wanted = in_section(&line[1..end.unwrap_or(line.len())]);
            line = end.map_or(&[][..], |at| line[at + 1..].trim_ascii());
        }
        let (name, text) = match memchr::memchr(b'=', line) {
            Some(at) => (&line[..at], value(&line[at + 1..])),
            None => (line, Vec::new()),
        };
        if is_wanted && is_key(name) {
            found.push(text);
        }
    }
    found
}

/// Logical lines: backslash continuations are joined.
fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut goes_on = true;
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (text, more) = line.strip_suffix(b"\\").map_or((line, false), |text| (text, true));
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => last.extend_from_slice(text),
            None => lines.push(text.to_vec()),
        }
        goes_on = more;
    }
    lines
}

/// A value without quotes and comments.
fn value(text: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    let mut is_quoted = false;
    for byte in text.trim_ascii() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'#' | b';' if !is_quoted => break,
            byte => value.push(*byte),
        }
    }
    value.trim_ascii_end().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_include_is_seen() {
        let text =
            b"[core]\n\tpath = no\n[include]\n\tpath = a ; c\n[IncludeIf \"gitdir:x]y/\"] path = \"b c\"\n\
                     [user]\npath = no\n [ include ]\nPATH=/etc/x\npath = \\\n /etc/y\n";
        assert_eq!(included(text), [b"a".to_vec(), b"b c".to_vec(), b"/etc/x".to_vec(), b"/etc/y".to_vec()]);
    }

    #[test]
    fn the_files_that_settings_name_are_told_apart() {
        let text = b"[Include] path = a\n[core]\nexcludesFile = ~/b\nattributesfile=\"c d\"\npath = no\n\
                     [includeIf \"gitdir:~/x/\"]\npath = e\n";
        let include =
            |path: &[u8], is_conditional| NamedFile::Include { path: path.to_vec(), is_conditional };
        let patterns = |path: &[u8]| NamedFile::Patterns(path.to_vec());
        let expected = [include(b"a", false), include(b"e", true), patterns(b"~/b"), patterns(b"c d")];
        assert_eq!(files_named(text), expected);
    }

    #[test]
    fn conditions_about_remotes_are_seen() {
        let text = b"[includeIf \"gitdir:~/x/\"]\npath = a\n [ IncludeIf \"hasconfig:remote.*.url:https://x/**\"]\npath = b\n\
                     [x]\ny = hasconfig:remote.*.url:no\n";
        assert_eq!(remote_patterns(text), [b"https://x/**".to_vec()]);
    }

    #[test]
    fn the_last_value_of_a_setting_counts() {
        let text = b"[core]\n\tbare = false\n\tWorkTree = ../a ; no\n[core \"x\"]\nworktree = b\n[CORE]\nworktree=\"../c\"\n";
        let is_core = |section: &[u8]| section.eq_ignore_ascii_case(b"core");
        let found = values(text, is_core, |name| name.trim_ascii().eq_ignore_ascii_case(b"worktree"));
        assert_eq!(found, [b"../a".to_vec(), b"../c".to_vec()]);
    }
}
