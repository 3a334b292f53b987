//! Converts locations for results.

use crate::{
    DocumentText, LanguageServer, PositionEncoding, path_of,
    wire::{Position, Range},
};
use beamai_policy::FilePath;
use beamai_port_tools::lsp::CodeLocation;
use beamai_tool::CallContext;
use beamai_workspace::{WorkspacePath, decode_path, encode_path};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum length of a preview in characters.
const PREVIEW: usize = 200;

/// Converts a server's locations, and caches the texts that this needs.
pub(super) struct LocationResolver<'a> {
    cx: &'a CallContext,
    server: &'a LanguageServer,
    encoding: PositionEncoding,
    texts: HashMap<PathBuf, Option<Arc<DocumentText>>>,
    /// Number of results that were left out.
    withheld: usize,
    /// Whether a text was left out for the same reason.
    is_text_withheld: bool,
}

impl<'a> LocationResolver<'a> {
    pub(super) fn new(cx: &'a CallContext, server: &'a LanguageServer, encoding: PositionEncoding) -> Self {
        Self { cx, server, encoding, texts: HashMap::new(), withheld: 0, is_text_withheld: false }
    }

    /// Whether a permission rule denies reading a file; results about it are left out, and counted.
    pub(super) fn withholds(&mut self, uri: &str) -> bool {
        let guard = &self.cx.guard;
        if guard.is_open() {
            return false;
        }
        let file = path_of(uri).and_then(|path| self.cx.workspace.parse_path(&encode_path(&path)).ok());
        let is_withheld = file.is_some_and(|file| {
            let file = FilePath::read(&file);
            [file.written, file.path].iter().any(|path| guard.hides(&decode_path(path)))
        });
        self.withheld += usize::from(is_withheld);
        is_withheld
    }

    /// Records that a text was left out because it may come from a denied file.
    pub(super) fn withhold_text(&mut self) {
        self.is_text_withheld = true;
    }

    /// A sentence on what was left out; `None` if nothing was.
    pub(super) fn note(&self) -> Option<String> {
        if self.is_text_withheld {
            let why = "the text is left out: it may come from a file that permission rules deny reading";
            return Some(why.to_owned());
        }
        let count = self.withheld;
        (count > 0)
            .then(|| format!("{count} results are left out: permission rules deny reading their files"))
    }

    /// The location of a range. For files outside the workspace, only the path is shown.
    pub(super) fn location(&mut self, uri: &str, range: Range) -> CodeLocation {
        let path = path_of(uri);
        let file = path.as_deref().and_then(|path| self.cx.workspace.parse_path(&encode_path(path)).ok());
        let text = path.as_deref().zip(file.as_ref()).and_then(|(path, file)| self.text(path, file));
        let text = text.as_deref();
        let (line, character) = self.position(text, range.start);
        let (end_line, end_character) = self.position(text, range.end);
        let shown = match (&file, &path) {
            (Some(file), _) => file.display(),
            (None, Some(path)) => encode_path(path),
            (None, None) => uri.to_owned(),
        };
        let preview = text.and_then(|text| text.line(index(range.start.line))).map(preview);
        let outside = file.is_none();
        CodeLocation { path: shown, line, character, end_line, end_character, preview, outside }
    }

    /// Line and character, counted from 1.
    fn position(&self, text: Option<&DocumentText>, at: Position) -> (u64, u64) {
        let line = text.and_then(|text| text.line(index(at.line)));
        let character = line.map_or(at.character, |line| self.encoding.character(line, at.character) as u64);
        (at.line.saturating_add(1), character.saturating_add(1))
    }

    /// The text that the server's positions refer to: what it was sent, or else the file's content.
    fn text(&mut self, path: &Path, file: &WorkspacePath) -> Option<Arc<DocumentText>> {
        if let Some(known) = self.texts.get(path) {
            return known.clone();
        }
        let read = || DocumentText::read(file).ok().map(|(text, _)| Arc::new(text));
        let text = self.server.text(path).or_else(read);
        self.texts.insert(path.to_owned(), text.clone());
        text
    }
}

fn index(line: u64) -> usize {
    usize::try_from(line).unwrap_or(usize::MAX)
}

fn preview(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(PREVIEW) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_short() {
        assert_eq!(preview("  a = 1\t"), "a = 1");
        let long = preview(&"ä".repeat(1000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (PREVIEW + 1, true));
    }
}
