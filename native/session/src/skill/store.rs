//! All skills: the host's, then the built-in ones.

use super::BrokenSkill;
use super::file::{self, SkillFile};
use beamai_base::{Result, describe};
use beamai_tool::CallContext;
use beamai_tool::SkillSettings;
use beamai_workspace::{WorkspacePath, encode_path};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

const BUILT_IN: [&str; 1] = [include_str!("create-skill/SKILL.md")];
/// Maximum depth of skills below a path.
const DEPTH: usize = 6;
/// Maximum size of a `SKILL.md` in bytes: a model reads all of it.
const LONGEST: u64 = 256 << 10;

pub(super) struct StoredSkill {
    pub(super) description: String,
    pub(super) instructions: String,
    /// The directory of a user's skill.
    pub(super) directory: Option<String>,
}

#[derive(Default)]
pub(super) struct SkillStore {
    pub(super) skills: BTreeMap<String, StoredSkill>,
    pub(super) broken: Vec<BrokenSkill>,
}

impl SkillStore {
    pub(super) fn open(settings: &SkillSettings, cx: &CallContext) -> Result<Self> {
        let mut store = Self::default();
        for path in &settings.paths {
            store.add_path(path, cx)?;
        }
        for text in BUILT_IN {
            // Built in, and covered by a test.
            if let Ok(skill) = file::parse(text) {
                store.add(skill, None);
            }
        }
        Ok(store)
    }

    /// These directories are configured by the host, not chosen by a model: they are read outside the workspace, too, and
    /// links are followed. In the workspace, where commands can make links, the rules and limits of file tools hold.
    fn add_path(&mut self, path: &Path, cx: &CallContext) -> Result<()> {
        let mut walk =
            walkdir::WalkDir::new(path).max_depth(DEPTH).follow_links(true).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            cx.check()?;
            match entry {
                Ok(entry) if entry.file_type().is_dir() => {
                    if let Some(Err(error)) = inside(entry.path(), cx).map(|inside| inside.open_dir()) {
                        walk.skip_current_dir();
                        self.broken
                            .push(BrokenSkill { path: encode_path(entry.path()), problem: error.message });
                    }
                }
                Ok(entry) if entry.file_name() == "SKILL.md" => self.add_file(entry.path(), cx),
                Ok(_) => {}
                Err(error) => {
                    let path = encode_path(error.path().unwrap_or(path));
                    let problem = error.io_error().map_or_else(|| error.to_string(), unreadable);
                    self.broken.push(BrokenSkill { path, problem });
                }
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path, cx: &CallContext) {
        match read(path, cx).and_then(|text| file::parse(&text)) {
            Ok(skill) => match self.taken(&skill.name) {
                Some(problem) => self.broken.push(BrokenSkill { path: encode_path(path), problem }),
                None => self.add(skill, path.parent()),
            },
            Err(problem) => self.broken.push(BrokenSkill { path: encode_path(path), problem }),
        }
    }

    /// Why a user's skill cannot have this name. Built-in skills are added later, so the user's have priority.
    fn taken(&self, name: &str) -> Option<String> {
        let first = self.skills.get(name)?.directory.as_ref()?;
        Some(format!("its name {name:?} is taken by the skill in {first}, which comes first"))
    }

    fn add(&mut self, skill: SkillFile, directory: Option<&Path>) {
        let SkillFile { name, description, instructions } = skill;
        let directory = directory.map(encode_path);
        self.skills.entry(name).or_insert(StoredSkill { description, instructions, directory });
    }
}

fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file or directory".to_owned(),
        _ => format!("it cannot be read: {}", describe(error)),
    }
}

/// A path that leads into the workspace, from there on.
fn inside(path: &Path, cx: &CallContext) -> Option<WorkspacePath> {
    let mut above: Vec<&Path> = path.ancestors().collect();
    above.reverse();
    above.into_iter().find_map(|above| {
        let (real, rest) = (above.canonicalize().ok()?, path.strip_prefix(above).ok()?);
        cx.workspace.parse_path(&encode_path(&real.join(rest))).ok()
    })
}

fn read(path: &Path, cx: &CallContext) -> std::result::Result<String, String> {
    let told = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidData => "it is not in UTF-8".to_owned(),
        _ => unreadable(&error),
    };
    let mut text = String::new();
    let file = match inside(path, cx) {
        Some(inside) => inside.open_file().map_err(|error| error.message)?.0,
        None if !path.is_file() => return Err("it is not a regular file".to_owned()),
        None => std::fs::File::open(path).map_err(told)?,
    };
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(told)?;
    match text.len() as u64 > LONGEST {
        true => Err(format!("it is longer than {LONGEST} bytes")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_skill_is_whole() {
        for text in BUILT_IN {
            file::parse(text).unwrap();
        }
    }
}
