//! One `SKILL.md`: YAML front matter between two lines of `---`, then the instructions in Markdown.

use beamai_text as text;
use serde::Deserialize;

/// A parsed skill.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SkillFile {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) instructions: String,
}

/// Unknown keys are ignored: other programs use some.
#[derive(Deserialize)]
struct FrontMatter {
    name: String,
    description: String,
}

/// Parses a `SKILL.md`; the error says what is wrong.
pub(super) fn parse(text: &str) -> Result<SkillFile, String> {
    let read = text::front_matter(text)?;
    let (FrontMatter { name, description }, body) =
        read.ok_or("it does not begin with front matter between two lines of ---")?;
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_') {
        return Err(format!("its name {name:?} must be letters, digits, - and _"));
    }
    if description.trim().is_empty() {
        return Err("its description is empty; say when to load it".to_owned());
    }
    Ok(SkillFile { name, description, instructions: body.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_and_instructions_are_told_apart() {
        let skill = parse("---\r\nname: x-1\r\ndescription: >\r\n  When\r\n  needed\r\nlicense: MIT\r\n---\r\n\r\n# Do\r\n---\r\nit\r\n").unwrap();
        assert_eq!((&*skill.name, &*skill.description), ("x-1", "When needed\n"));
        assert_eq!(skill.instructions, "# Do\r\n---\r\nit");
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, problem) in [
            ("no front matter", "does not begin with front matter"),
            ("---\nname: x\ndescription: y\n", "no end"),
            ("---\nname: x\n---\n", "description"),
            ("---\nname: a b\ndescription: y\n---\n", "must be letters"),
            ("---\nname: x\ndescription: ''\n---\n", "description is empty"),
            ("---\n: : :\n---\n", "not valid"),
        ] {
            let said = parse(text).unwrap_err();
            assert!(said.contains(problem), "{text:?}: {said}");
        }
    }
}
