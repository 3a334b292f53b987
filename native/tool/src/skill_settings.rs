//! Where a host keeps skills, as plain data.

use serde::Deserialize;
use std::path::PathBuf;

/// Where a host keeps skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkillSettings {
    /// Absolute paths of directories in which every `SKILL.md` is a skill. The first path that has a name wins, and the
    /// others are reported.
    pub paths: Vec<PathBuf>,
}
