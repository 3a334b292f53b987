//! Selects the files to search: by glob and by type.

use beamai_base::{Reason, Result, ToolError, excerpt, nearest};
use beamai_walk::{
    Select,
    globs::{NameFilter, as_path},
};
use ignore::types::{Types, TypesBuilder};

/// The `glob` and `type` arguments.
#[derive(Clone)]
pub(super) struct FileFilter {
    glob: Option<NameFilter>,
    types: Option<Types>,
}

impl FileFilter {
    /// # Errors
    /// `invalid_pattern` for the glob, `invalid_argument` for an unknown type.
    pub(super) fn new(glob: Option<&str>, file_type: Option<&str>) -> Result<Self> {
        Ok(Self { glob: glob.map(NameFilter::new).transpose()?, types: file_type.map(types).transpose()? })
    }
}

fn types(name: &str) -> Result<Types> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(name);
    builder.build().map_err(|_| unknown(name, &builder))
}

fn unknown(name: &str, builder: &TypesBuilder) -> ToolError {
    let known = builder.definitions();
    // A model that writes "*.rs" or ".rs" means the type whose files have that extension.
    let ending = format!("*.{}", name.trim_start_matches(['*', '.']));
    let by_ending = known.iter().filter(|known| known.globs().contains(&ending)).map(|known| known.name());
    let mut near: Vec<&str> = by_ending.take(3).collect();
    if near.is_empty() {
        near = nearest(name, known.iter().map(|known| known.name()));
    }
    let advice = match near.is_empty() {
        true => "use glob instead, such as \"*.ext\"".to_owned(),
        false => format!("did you mean {}? Or use glob, such as {:?}", near.join(", "), excerpt(&ending)),
    };
    let message = format!("there is no file type {:?}; {advice}", excerpt(name));
    ToolError::new(Reason::InvalidArgument, message).with("argument", "type").with("nearest", near)
}

impl Select for FileFilter {
    fn file(&self, path: &[u8]) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.wants(path, false))
            && self.types.as_ref().is_none_or(|types| !types.matched(as_path(path), false).is_ignore())
    }

    fn directory(&self, path: &[u8]) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.wants(path, true))
    }

    fn names_hidden(&self, name: &[u8]) -> bool {
        self.glob.as_ref().is_some_and(|glob| glob.names_hidden(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(name: &str) -> String {
        FileFilter::new(None, Some(name)).err().unwrap().message
    }

    #[test]
    fn a_type_stands_for_its_globs() {
        let filter = FileFilter::new(None, Some("rust")).unwrap();
        assert!(filter.file(b"a/b.rs") && !filter.file(b"a/b.c") && filter.directory(b"a"));
    }

    #[test]
    fn an_unknown_type_is_answered_with_the_nearest() {
        assert!(fault(".rs").starts_with("there is no file type \".rs\"; did you mean rust?"));
        assert!(fault("pyton").contains("did you mean python"));
        assert!(fault("qqqqq").contains("use glob instead"));
    }
}
