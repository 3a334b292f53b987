//! Which parameter an unknown argument is meant for.

use super::Parameters;
use beamai_base::nearest;
use serde_json::{Map, Value};

/// Minimum length of a word that says what a parameter is for.
const WORD: usize = 4;

/// The parameters that the arguments of a call lack.
pub(super) struct MeantParameters<'a> {
    parameters: &'a Parameters,
    /// Names without an argument.
    lacking: Vec<&'a str>,
}

impl<'a> MeantParameters<'a> {
    pub(super) fn of(parameters: &'a Parameters, args: &Map<String, Value>) -> Self {
        let lacks = |name: &&str| !args.contains_key(*name);
        Self { parameters, lacking: parameters.keys().map(String::as_str).filter(lacks).collect() }
    }

    /// The parameter that an unknown argument is probably meant for: one with a similar name, best one that is required and
    /// lacking, or one whose name begins like that, or a flag that does what the name says.
    pub(super) fn by(&self, name: &str) -> Option<&'a str> {
        let near = nearest(name, self.parameters.keys().map(String::as_str));
        let is_wanted = |near: &&str| self.parameters[*near].required && self.lacking.contains(near);
        let wanted = near.iter().copied().find(is_wanted).or(near.first().copied());
        let begun = || self.lacking.iter().copied().filter(|full| is_beginning(name, full)).min();
        wanted.or_else(begun).or_else(|| self.described(name))
    }

    /// The flag whose description has a word of the name: `-i`, case-insensitive, for `ignore_case`.
    fn described(&self, name: &str) -> Option<&'a str> {
        let flags = self.lacking.iter().copied().filter(|flag| flag.starts_with('-'));
        let words: Vec<(&str, &str)> = flags
            .flat_map(|flag| {
                let text = self.parameters[flag].description.as_deref().unwrap_or_default();
                let words = text.split(|char: char| !char.is_alphanumeric());
                words.filter(|word| word.len() >= WORD).map(move |word| (word, flag))
            })
            .collect();
        let of_name = || name.split(['_', '-']).filter(|part| part.len() >= WORD);
        let is_same = |(word, _): &&(&str, &'a str)| of_name().any(|part| part.eq_ignore_ascii_case(word));
        let near = |part: &str| nearest(part, words.iter().map(|(word, _)| *word)).first().copied();
        let alike = || {
            let near = of_name().find_map(near)?;
            words.iter().find(|(word, _)| *word == near)
        };
        words.iter().find(is_same).or_else(alike).map(|(_, flag)| *flag)
    }
}

/// Whether a name is the first word, or words, of another one.
fn is_beginning(name: &str, full: &str) -> bool {
    full.strip_prefix(name).is_some_and(|rest| rest.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn meant(parameters: Value, args: Value) -> Vec<Option<String>> {
        let parameters: Parameters = serde_json::from_value(parameters).unwrap();
        let args = args.as_object().unwrap();
        let meant = MeantParameters::of(&parameters, args);
        let unknown = args.keys().filter(|name| !parameters.contains_key(*name));
        unknown.map(|name| meant.by(name).map(str::to_owned)).collect()
    }

    fn some(names: &[&str]) -> Vec<Option<String>> {
        names.iter().map(|name| Some((*name).to_owned())).collect()
    }

    #[test]
    fn one_that_is_lacking_is_meant() {
        let shell = || json!({"command": {"type": "string", "required": true}, "cwd": {"type": "string"}});
        assert_eq!(meant(shell(), json!({"cmd": "ls"})), some(&["command"]));
        assert_eq!(meant(shell(), json!({"command": "ls", "cwdd": "x"})), some(&["cwd"]));
        assert_eq!(meant(shell(), json!({"cwdd": "x"})), some(&["cwd"]));
        assert_eq!(meant(shell(), json!({"script": "ls"})), [None]);
        assert_eq!(meant(shell(), json!({"command": "ls", "zzz": "x"})), [None]);
    }

    #[test]
    fn the_beginning_of_a_name_is_enough() {
        let edit = json!({"old_string": {"type": "string", "required": true}, "new_string": {"type": "string", "required": true}});
        assert_eq!(meant(edit, json!({"old": "a", "new": "b"})), some(&["old_string", "new_string"]));
    }

    #[test]
    fn flags_are_found_by_what_they_do() {
        let search = || {
            json!({
                "-i": {"type": "boolean", "description": "Case-insensitive."},
                "-n": {"type": "boolean", "description": "Line numbers."},
                "-A": {"type": "integer", "description": "Lines after each match."},
                "-C": {"type": "integer", "description": "Lines of context."},
            })
        };
        for (name, flag) in [
            ("ignore_case", "-i"),
            ("case_insensitive", "-i"),
            ("line_numbers", "-n"),
            ("after_context", "-A"),
            ("contxt", "-C"),
        ] {
            assert_eq!(meant(search(), json!({name: 1})), some(&[flag]), "{name}");
        }
        assert_eq!(meant(search(), json!({"colour": 1})), [None]);
    }
}
