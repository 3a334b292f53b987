//! Parses git's extended header lines, between `diff --git` and the hunks.

use super::diff::DiffChange;
use super::name::{self, HeaderName, HeaderSide};

/// The content of these lines.
#[derive(Debug, Default)]
pub(super) struct GitHeader {
    is_new: bool,
    is_deleted: bool,
    rename: (Option<String>, Option<String>),
    copy: (Option<String>, Option<String>),
    /// Whether the old content's hash is given.
    has_old_content: bool,
    /// The new mode of the file, if given.
    pub(super) mode: Option<PatchedMode>,
}

/// File modes that a patch can set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatchedMode {
    Plain,
    Executable,
}

impl GitHeader {
    /// Parses a line; false if it is not an extended header line.
    pub(super) fn read(&mut self, line: &str) -> Result<bool, String> {
        const KEYS: [&str; 13] = [
            "old mode ",
            "new mode ",
            "deleted file mode ",
            "new file mode ",
            "copy from ",
            "copy to ",
            "rename from ",
            "rename to ",
            "rename old ",
            "rename new ",
            "similarity index ",
            "dissimilarity index ",
            "index ",
        ];
        let Some(key) = KEYS.iter().find(|key| line.starts_with(**key)) else { return Ok(false) };
        self.set(key.trim_end(), &line[key.len()..]).map(|()| true)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "old mode" => _ = mode(value)?,
            "new mode" => self.mode = Some(mode(value)?),
            "deleted file mode" => (self.is_deleted, _) = (true, mode(value)?),
            "new file mode" => (self.is_new, self.mode) = (true, Some(mode(value)?)),
            "copy from" => self.copy.0 = Some(name::plain(value)?),
            "copy to" => self.copy.1 = Some(name::plain(value)?),
            "rename from" | "rename old" => self.rename.0 = Some(name::plain(value)?),
            "rename to" | "rename new" => self.rename.1 = Some(name::plain(value)?),
            "index" => self.index(value)?,
            _ => {}
        }
        Ok(())
    }

    fn index(&mut self, value: &str) -> Result<(), String> {
        let (hashes, file_mode) = value.split_once(' ').unwrap_or((value, ""));
        let old = hashes.split_once("..").map_or("", |(old, _)| old);
        self.has_old_content = old.bytes().any(|byte| byte != b'0');
        if !file_mode.is_empty() {
            // The unchanged mode; links and submodules are refused nevertheless.
            mode(file_mode)?;
        }
        Ok(())
    }

    /// Whether the header by itself changes nothing.
    pub(super) fn is_empty_change(&self) -> bool {
        !self.is_new
            && !self.is_deleted
            && self.mode.is_none()
            && self.rename.0.is_none()
            && self.copy.0.is_none()
    }

    /// Whether the `---` and `+++` lines name the files of this header, with or without prefixes.
    pub(super) fn is_about(
        &self,
        names: Option<&(String, String)>,
        sides: &(HeaderSide, HeaderSide),
    ) -> bool {
        let pair = |(old, new): &(Option<String>, Option<String>)| old.clone().zip(new.clone());
        let names = pair(&self.rename).or_else(|| pair(&self.copy)).or_else(|| names.cloned());
        let is_same = |name: &str, side: &HeaderSide| {
            side.name().is_none_or(|own| ends_with(&own.text, name) || ends_with(name, &own.text))
        };
        names.is_none_or(|(old, new)| is_same(&old, &sides.0) && is_same(&new, &sides.1))
    }

    /// The change, from the header and the names in `diff --git`, `---` and `+++`.
    pub(super) fn change(
        &self,
        names: Option<(String, String)>,
        sides: Option<(HeaderSide, HeaderSide)>,
    ) -> Result<DiffChange, String> {
        let is_without_file = matches!(&sides, Some((HeaderSide::Nothing, _) | (_, HeaderSide::Nothing)));
        match (both(&self.rename, "rename")?, both(&self.copy, "copy")?) {
            (None, None) => {}
            _ if is_without_file => {
                return Err("the file is renamed or copied, so neither of its names is /dev/null".to_owned());
            }
            (Some((old, new)), _) => return Ok(DiffChange::Rename { old, new }),
            (None, Some((old, new))) => return Ok(DiffChange::Copy { old, new }),
        }
        // Comparing both names shows whether they have prefixes.
        let bare = names.as_ref().and_then(|(old, new)| match old == new {
            true => Some(old.clone()),
            false => name::tail_of_pair(old, new).map(str::to_owned),
        });
        let (old, new) = match sides {
            Some(sides) => sides,
            None => {
                let (old, new) =
                    names.ok_or("expected \"diff --git a/path b/path\", with the same path twice")?;
                (HeaderSide::File(HeaderName::bare(old)), HeaderSide::File(HeaderName::bare(new)))
            }
        };
        let is_new = self.is_new || old == HeaderSide::Nothing;
        let is_deleted = self.is_deleted || new == HeaderSide::Nothing;
        let sure = |name: &HeaderName| match &bare {
            Some(bare) if name.text.ends_with(bare.as_str()) => HeaderName::bare(bare),
            _ => name.clone(),
        };
        match (is_new, is_deleted, old.name(), new.name()) {
            (true, false, _, Some(new)) => Ok(DiffChange::Create(sure(new))),
            (false, true, Some(old), _) => Ok(DiffChange::Delete(sure(old))),
            (false, false, Some(old), Some(new)) => self.update(&sure(old), &sure(new)),
            _ => Err("the file is marked both as new and as deleted".to_owned()),
        }
    }

    fn update(&self, old: &HeaderName, new: &HeaderName) -> Result<DiffChange, String> {
        if old.text != new.text && name::tail_of_pair(&old.text, &new.text).is_none() {
            return Err(format!(
                "the names {:?} and {:?} differ; expected \"rename from\" and \"rename to\" with them, or one name",
                old.text, new.text
            ));
        }
        Ok(DiffChange::Update { old: old.clone(), new: new.clone(), is_known: self.has_old_content })
    }
}

/// Whether a path ends with another path.
fn ends_with(path: &str, end: &str) -> bool {
    path.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

fn both(names: &(Option<String>, Option<String>), what: &str) -> Result<Option<(String, String)>, String> {
    match names {
        (Some(old), Some(new)) => Ok(Some((old.clone(), new.clone()))),
        (None, None) => Ok(None),
        _ => Err(format!("expected both \"{what} from\" and \"{what} to\"")),
    }
}

fn mode(text: &str) -> Result<PatchedMode, String> {
    let mode = u32::from_str_radix(text.trim(), 8).map_err(|_| format!("{text:?} is not a file mode"))?;
    match mode & 0o170_000 {
        0o100_000 if mode & 0o111 != 0 => Ok(PatchedMode::Executable),
        0o100_000 => Ok(PatchedMode::Plain),
        0o120_000 => Err("it is about a symbolic link; links are not made or changed by patches".to_owned()),
        0o160_000 => Err("it is about a submodule; only files can be patched".to_owned()),
        _ => Err(format!("{text:?} is not the mode of a file; expected 100644 or 100755")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<GitHeader, String> {
        let mut header = GitHeader::default();
        lines.iter().try_for_each(|line| header.read(line).map(|is_known| assert!(is_known, "{line}")))?;
        Ok(header)
    }

    fn change(lines: &[&str], names: (&str, &str)) -> Result<DiffChange, String> {
        read(lines)?.change(Some((names.0.to_owned(), names.1.to_owned())), None)
    }

    #[test]
    fn a_header_tells_what_happens_to_the_file() {
        let names = ("a/f", "b/f");
        assert!(
            matches!(change(&["new file mode 100644"], names), Ok(DiffChange::Create(name)) if name.text == "f")
        );
        assert!(
            matches!(change(&["deleted file mode 100644"], names), Ok(DiffChange::Delete(name)) if name.text == "f")
        );
        let update = change(&["index 12ab..34cd 100644"], names);
        assert!(matches!(update, Ok(DiffChange::Update { is_known: true, .. })), "{update:?}");
        let renamed =
            change(&["similarity index 100%", "rename from f", "rename to \"g\\t\""], ("a/f", "b/g"));
        assert!(
            matches!(renamed, Ok(DiffChange::Rename { old, new }) if (old.as_str(), new.as_str()) == ("f", "g\t"))
        );
        assert!(matches!(change(&["copy from f", "copy to g"], ("a/f", "b/g")), Ok(DiffChange::Copy { .. })));
    }

    #[test]
    fn modes_are_those_of_files() {
        let mode = |lines: &[&str]| read(lines).map(|header| header.mode);
        assert_eq!(mode(&["old mode 100644", "new mode 100755"]), Ok(Some(PatchedMode::Executable)));
        assert_eq!(mode(&["new mode 100600"]), Ok(Some(PatchedMode::Plain)));
        for (line, why) in [
            ("new file mode 120000", "symbolic link"),
            ("index 1..2 160000", "submodule"),
            ("new mode 40000", "not the mode of a file"),
            ("new mode 99999999999999999999", "is not a file mode"),
            ("new mode x", "is not a file mode"),
        ] {
            assert!(mode(&[line]).unwrap_err().contains(why), "{line}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (lines, names, why) in [
            (
                &["new file mode 100644", "deleted file mode 100644"][..],
                ("a/f", "b/f"),
                "both as new and as deleted",
            ),
            (&["rename from f"], ("a/f", "b/g"), "both \"rename from\""),
            (&["copy to f"], ("a/f", "b/g"), "both \"copy from\""),
            (&["old mode 100644"], ("a/f", "b/g"), "differ"),
        ] {
            assert!(change(lines, names).unwrap_err().contains(why), "{lines:?}");
        }
        assert!(GitHeader::default().change(None, None).unwrap_err().contains("the same path twice"));
        assert_eq!(GitHeader::default().read("+x"), Ok(false));
    }
}
