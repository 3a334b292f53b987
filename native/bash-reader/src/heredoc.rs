//! Redirections and here-documents.

use super::parser::{CommandParser, SimpleCommand};
use super::{ParseError, word::WordPiece};

type Result<T> = std::result::Result<T, ParseError>;

/// A here-document whose text begins on the next line.
#[derive(Debug)]
pub(super) struct Heredoc {
    end: String,
    strips_tabs: bool,
    is_quoted: bool,
}

/// Operators, longest first.
const OPERATORS: [&str; 12] = ["&>>", "<<<", "<<-", "&>", "<<", ">>", ">|", "<>", "<&", ">&", "<", ">"];

/// Files to which writing is always allowed. A command that makes a file that it reads its output or error is doubted.
pub(super) const SINKS: [&str; 4] = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

impl CommandParser<'_> {
    /// Reads a redirection, if one comes next.
    pub(super) fn redirection(&mut self, simple: &mut SimpleCommand) -> Result<bool> {
        let mut descriptor = None;
        let digits = self.cursor.upcoming().take_while(char::is_ascii_digit).count();
        let is_operator = |char| matches!(char, '<' | '>');
        if digits > 0 && self.cursor.ahead(digits).is_some_and(is_operator) {
            if digits > 3 {
                return Err(ParseError::new("the number of a redirection is unusual"));
            }
            descriptor = self.cursor.upcoming().take(digits).collect::<String>().parse().ok();
            (0..digits).for_each(|_| _ = self.cursor.next());
        } else if self.cursor.starts_with("<(") || self.cursor.starts_with(">(") {
            return Ok(false);
        }
        let Some(operator) = OPERATORS.into_iter().find(|operator| self.cursor.take(operator)) else {
            return Ok(false);
        };
        self.blanks();
        // A dash after `>&` is a word by itself, whatever follows.
        if matches!(operator, "<&" | ">&") && self.cursor.take("-") {
            return Ok(true);
        }
        match operator {
            "<<" | "<<-" => self.here(operator == "<<-")?,
            _ => {
                let descriptor = descriptor.unwrap_or_else(|| u32::from(!operator.starts_with('<')));
                self.target(operator, descriptor, simple)?;
            }
        }
        Ok(true)
    }

    fn here(&mut self, strips_tabs: bool) -> Result<()> {
        let word = self.word()?;
        let is_quoted = word.has_quotes
            || word.pieces.iter().any(|piece| matches!(piece, WordPiece::Char { quoted: true, .. }));
        let pieces = word.pieces.iter().filter(|piece| **piece != WordPiece::EmptyQuotes);
        let end: Option<String> = pieces.map(end_char).collect();
        let end = end
            .filter(|end| !end.is_empty())
            .ok_or(ParseError::new("the end of a here-document is unusual"))?;
        self.pending.push(Heredoc { end, strips_tabs, is_quoted });
        Ok(())
    }

    fn target(&mut self, operator: &str, descriptor: u32, simple: &mut SimpleCommand) -> Result<()> {
        let substitution = ["<(", ">("].into_iter().find(|start| self.cursor.starts_with(start));
        let word = self.word()?;
        // A process substitution is a pipe: the shell opens no file for it.
        let pipe = substitution.filter(|_| word.pieces.len() == 1);
        let words = word.expand(self.home()).unwrap_or_default();
        let [word] =
            <[_; 1]>::try_from(words).map_err(|_| ParseError::new("a redirection names no single file"))?;
        let text = word.text();
        if operator == "<<<" {
            return Ok(());
        }
        let is_stream = |text: &str| matches!(text.trim_end_matches('-'), "1" | "2");
        let is_moved = matches!(operator, "<" | "<&" | ">&") && !text.as_deref().is_some_and(is_stream);
        self.out.moves_streams |= is_moved && matches!(descriptor, 1 | 2);
        if is_duplicate(operator, text.as_deref()) {
            if word.has_quotes && text.is_some_and(|text| text.ends_with('-')) {
                self.doubt("bash may take a descriptor in quotes for a file");
            }
            return Ok(());
        }
        // After `>&` bash expands the name twice, even in quotes.
        let is_plain =
            |text: &str| text.chars().all(|char| char.is_ascii_alphanumeric() || "_-./".contains(char));
        if operator == ">&" && !text.as_deref().is_some_and(is_plain) {
            self.doubt("where a redirection leads shows only when it runs");
        }
        if text.as_deref().is_some_and(|text| text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/"))
        {
            self.doubt("a redirection opens a connection");
        }
        if operator != "<" && text.as_deref().is_some_and(is_descriptor) {
            self.doubt("a redirection opens again what a descriptor leads to");
        }
        let is_sink = pipe == Some(">(") || text.as_deref().is_some_and(|text| SINKS.contains(&text));
        let is_source = operator == "<" && pipe == Some("<(");
        if matches!(operator, "<" | "<>") && !is_source {
            simple.reads.push(word.clone());
        }
        if operator == "<&" {
            self.doubt("where a redirection leads shows only when it runs");
        } else if operator != "<" && !is_sink {
            self.out.writes.push(word);
        }
        Ok(())
    }

    /// Reads the here-documents that begin on this line.
    pub(super) fn documents(&mut self) -> Result<()> {
        for heredoc in std::mem::take(&mut self.pending) {
            let mut text = String::new();
            loop {
                let line = self.cursor.line().ok_or(ParseError::new("a here-document has no end"))?;
                let line = if heredoc.strips_tabs { line.trim_start_matches('\t') } else { &*line };
                if line == heredoc.end {
                    break;
                }
                // Within a substitution, bash may end the document here.
                if line.starts_with(&heredoc.end) && line.contains(')') {
                    return Err(ParseError::new("the end of a here-document is unclear"));
                }
                text.push_str(line);
                text.push('\n');
            }
            if heredoc.is_quoted {
                continue;
            }
            if text.contains("\\\n") {
                return Err(ParseError::new("a here-document joins lines"));
            }
            self.inner(&text, |parser| parser.document())?;
        }
        Ok(())
    }
}

/// Whether a character is unambiguous in an end word.
fn end_char(piece: &WordPiece) -> Option<char> {
    let WordPiece::Char { char, .. } = piece else { return None };
    Some(*char).filter(|char| char.is_ascii_alphanumeric() || "_-.".contains(*char))
}

/// Whether a path leads to an open descriptor.
fn is_descriptor(path: &str) -> bool {
    path == "/dev/stdin"
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/") && path.contains("/fd/")
}

/// Whether a redirection only duplicates an open descriptor.
fn is_duplicate(operator: &str, text: Option<&str>) -> bool {
    let is_number = |text: &str| {
        let number = text.strip_suffix('-').unwrap_or(text);
        !text.is_empty() && number.chars().all(|char| char.is_ascii_digit())
    };
    matches!(operator, "<&" | ">&") && text.is_some_and(is_number)
}
