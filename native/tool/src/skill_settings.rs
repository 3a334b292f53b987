//! The host's settings for skills, as plain data.

use beamai_base::SettingsMap;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::path::PathBuf;

/// Settings for skills.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillSettings {
    /// Absolute paths of directories in which every `SKILL.md` is a skill. Of several skills with one name the first
    /// wins; the others are reported.
    pub paths: Vec<PathBuf>,
}

impl<'de> Deserialize<'de> for SkillSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = |value| {
            let mut settings = SettingsMap::new("skills", value, &["paths"])?;
            let paths = settings.take("paths", "a list of directories")?;
            Ok(Self { paths: paths.unwrap_or_default() })
        };
        read(Value::deserialize(deserializer)?).map_err(|why: String| D::Error::custom(why))
    }
}
