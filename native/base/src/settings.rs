//! Reads a host's settings, with errors that name the setting, what was given and what is accepted.

use crate::{excerpt, nearest};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The members of an object of settings, each of which is taken once.
pub struct SettingsMap {
    path: String,
    members: Map<String, Value>,
}

impl SettingsMap {
    /// The members of an object. `path` is its name in messages, such as `web.search`.
    ///
    /// # Errors
    /// If the value is not an object, or has a member that is not in `known`. The value is not shown, because it may be
    /// a secret.
    pub fn new(path: impl Into<String>, value: Value, known: &[&str]) -> Result<Self, String> {
        let path = path.into();
        let Value::Object(members) = value else {
            return Err(format!("{path} must be an object of {}, not {}", known.join(", "), kind(&value)));
        };
        let unknown = members.keys().find(|key| !known.contains(&key.as_str()));
        match unknown {
            None => Ok(Self { path, members }),
            Some(key) => {
                let accepted = match nearest(key, known.iter().copied()).first() {
                    Some(near) => format!("did you mean {near}? Accepted"),
                    None => "accepted".to_owned(),
                };
                Err(format!("{path}.{} is not a setting; {accepted}: {}", excerpt(key), known.join(", ")))
            }
        }
    }

    /// Takes a member; none if it is missing or null. `accepted` completes "must be …".
    ///
    /// # Errors
    /// For a value of another type.
    pub fn take<T: DeserializeOwned>(&mut self, key: &str, accepted: &str) -> Result<Option<T>, String> {
        let Some(value) = self.member(key) else { return Ok(None) };
        let given = value.to_string();
        let wrong = |_| format!("{}.{key} must be {accepted}, not {}", self.path, excerpt(&given));
        serde_json::from_value(value).map(Some).map_err(wrong)
    }

    /// As [`SettingsMap::take`], for values that messages must not show.
    ///
    /// # Errors
    /// For a value of another type.
    pub fn take_secret<T: DeserializeOwned>(
        &mut self,
        key: &str,
        accepted: &str,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.member(key) else { return Ok(None) };
        let given = kind(&value);
        let wrong = |_| format!("{}.{key} must be {accepted}, not {given}", self.path);
        serde_json::from_value(value).map(Some).map_err(wrong)
    }

    /// Takes a member with a function of its own, whose errors already name the setting.
    ///
    /// # Errors
    /// Those of the function.
    pub fn take_with<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Value) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.member(key).map(read).transpose()
    }

    /// Takes a list of texts and reads each of them. `accepted` completes "must be …".
    ///
    /// # Errors
    /// For a value that is no list of texts, and those of the function, after the name of the setting.
    pub fn take_texts<T>(
        &mut self,
        key: &str,
        accepted: &str,
        read: impl FnOnce(&[String]) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let Some(texts) = self.take::<Vec<String>>(key, accepted)? else { return Ok(None) };
        read(&texts).map(Some).map_err(|why| format!("{}.{key}: {why}", self.path))
    }

    fn member(&mut self, key: &str) -> Option<Value> {
        self.members.remove(key).filter(|value| !value.is_null())
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KNOWN: [&str; 3] = ["limit", "names", "key"];

    fn map(value: Value) -> Result<SettingsMap, String> {
        SettingsMap::new("web", value, &KNOWN)
    }

    #[test]
    fn an_unknown_setting_is_named_with_the_ones_that_there_are() {
        let said = |value| map(value).err().unwrap();
        assert_eq!(said(json!({"nope": 1})), "web.nope is not a setting; accepted: limit, names, key");
        assert_eq!(
            said(json!({"limits": 1})),
            "web.limits is not a setting; did you mean limit? Accepted: limit, names, key"
        );
        assert_eq!(said(json!("hush")), "web must be an object of limit, names, key, not a string");
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_accepted() {
        let mut settings = map(json!({"limit": -1, "names": ["a", 7], "key": 5})).unwrap();
        let said = settings.take::<u64>("limit", "a whole number from 0 on").unwrap_err();
        assert_eq!(said, "web.limit must be a whole number from 0 on, not -1");
        let said = settings.take_texts("names", "a list of names", |_| Ok(())).unwrap_err();
        assert_eq!(said, r#"web.names must be a list of names, not ["a",7]"#);
        let said = settings.take_secret::<String>("key", "a string").unwrap_err();
        assert_eq!(said, "web.key must be a string, not a number");
    }

    #[test]
    fn a_missing_value_and_null_are_none() {
        let mut settings = map(json!({"limit": null})).unwrap();
        assert_eq!(settings.take::<u64>("limit", "a number"), Ok(None));
        assert_eq!(settings.take::<u64>("key", "a number"), Ok(None));
    }
}
