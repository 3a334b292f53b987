//! The host's settings for skills, as plain data.

use serde::Deserialize;
use std::path::PathBuf;

/// Settings for skills.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkillSettings {
    /// Absolute paths of directories in which every `SKILL.md` is a skill. Of several skills with one name the first
    /// wins; the others are reported.
    pub paths: Vec<PathBuf>,
}
