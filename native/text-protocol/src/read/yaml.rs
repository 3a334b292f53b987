//! Parses the subset of YAML used in calls: mappings, lists, scalars (plain, quoted, block), and JSON on one line.

use super::lenient::LenientReader;
use super::line::split_line;
use super::value::typed;
use beamai_schema::{Param, ParamType};
use serde_json::{Map, Value};

/// Maximum nesting.
const MAX_DEPTH: usize = 32;

type Result<T> = std::result::Result<T, String>;
type Lookup<'f, 'p> = &'f dyn Fn(&str) -> Option<&'p Param>;

/// Parses the arguments after `ARGS:`. `param` looks up a parameter of the tool: scalars for strings stay as written.
pub(crate) fn arguments<'p>(text: &[u8], param: Lookup<'_, 'p>) -> Result<Map<String, Value>> {
    let text = simdutf8::basic::from_utf8(text).map_err(|_| "the text is not valid UTF-8".to_owned())?;
    let (first, block) = split_line(text);
    let first = without_comment(first.trim());
    if !first.is_empty() {
        return match flow(first)? {
            Value::Object(args) => Ok(args),
            _ => Err("expected a mapping".to_owned()),
        };
    }
    let mut reader = YamlReader { rest: block, held: None, depth: 0 };
    let Some(line) = reader.peek()? else { return Ok(Map::new()) };
    let args = reader.mapping(line.indent, param)?;
    match reader.peek()? {
        None => Ok(args),
        Some(line) => Err(format!("the indentation of {} does not fit", shown(line.text))),
    }
}

#[derive(Clone, Copy)]
struct YamlLine<'a> {
    indent: usize,
    /// Without indentation and trailing space.
    text: &'a str,
}

struct YamlReader<'a> {
    rest: &'a str,
    /// A line that was peeked at.
    held: Option<YamlLine<'a>>,
    depth: usize,
}

impl<'a> YamlReader<'a> {
    fn raw_line(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = split_line(self.rest);
        self.rest = rest;
        Some(line)
    }

    /// The next line with content.
    fn peek(&mut self) -> Result<Option<YamlLine<'a>>> {
        while self.held.is_none() {
            let Some(raw) = self.raw_line() else { return Ok(None) };
            let text = raw.trim();
            if raw.trim_start_matches(' ').starts_with('\t') && !text.is_empty() {
                return Err(format!("a tab indents {}; indent with spaces", shown(text)));
            }
            if !text.is_empty() && !text.starts_with('#') {
                self.held = Some(YamlLine { indent: indentation(raw), text });
            }
        }
        Ok(self.held)
    }

    fn mapping(&mut self, indent: usize, param: Lookup<'_, '_>) -> Result<Map<String, Value>> {
        let mut map = Map::new();
        while let Some(line) = self.peek()?.filter(|line| line.indent == indent) {
            let (key, rest) = key(line.text)?;
            self.held = None;
            let value = self.value(indent, rest, param(&key))?;
            if map.contains_key(&key) {
                return Err(format!("\"{key}\" is given twice"));
            }
            map.insert(key, value);
        }
        Ok(map)
    }

    fn list(&mut self, indent: usize, param: Option<&Param>) -> Result<Value> {
        let items = param.and_then(|param| param.items.as_deref());
        let mut out = Vec::new();
        while let Some(line) = self.peek()?.filter(|line| line.indent == indent) {
            let Some(item) = item(line.text) else { break };
            self.held = None;
            out.push(match key(item) {
                // The first key of the mapping is on the line of the dash.
                Ok(_) if !item.starts_with(['{', '[']) => {
                    let inner = indent + (line.text.len() - item.len());
                    self.held = Some(YamlLine { indent: inner, text: item });
                    self.node(inner, items)?
                }
                _ => self.value(indent, item, items)?,
            });
        }
        Ok(Value::Array(out))
    }

    /// A mapping or a list with this indentation.
    fn node(&mut self, indent: usize, param: Option<&Param>) -> Result<Value> {
        if self.depth == MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let is_list = self.peek()?.is_some_and(|line| item(line.text).is_some());
        let value = match is_list {
            true => self.list(indent, param)?,
            false => {
                let properties = param.and_then(|param| param.properties.as_ref());
                Value::Object(self.mapping(indent, &|name| properties.and_then(|all| all.get(name)))?)
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    /// The value whose first part, `text`, is on the line of its key or dash.
    fn value(&mut self, indent: usize, text: &str, param: Option<&Param>) -> Result<Value> {
        if text.starts_with(['|', '>'])
            && let Some(style) = BlockStyle::of(text)
        {
            return Ok(Value::String(self.block(indent, &style)));
        }
        if !without_comment(text).is_empty() {
            return scalar(text, param);
        }
        match self.peek()? {
            Some(line) if line.indent > indent => self.node(line.indent, param),
            Some(line) if line.indent == indent && item(line.text).is_some() => self.list(indent, param),
            _ => Ok(Value::Null),
        }
    }

    /// A block scalar, which is indented more than its key.
    fn block(&mut self, indent: usize, style: &BlockStyle) -> String {
        let mut out = String::new();
        let mut inner = style.indent.map(|more| indent + more);
        let mut blank = 0;
        loop {
            let before = self.rest;
            let Some(line) = self.raw_line() else { break };
            let own = indentation(line);
            if line[own..].trim_ascii_start().is_empty() && inner.is_none_or(|inner| line.len() <= inner) {
                blank += 1;
                continue;
            }
            if own <= indent || inner.is_some_and(|inner| own < inner) {
                self.rest = before;
                break;
            }
            let text = &line[*inner.get_or_insert(own)..];
            style.join(&mut out, std::mem::take(&mut blank), text);
        }
        style.finish(&mut out, blank);
        out
    }
}

/// The style of a block scalar.
struct BlockStyle {
    folded: bool,
    /// `-`: no line break at the end; `+`: all of them; otherwise one.
    chomp: Option<u8>,
    /// Indentation beyond that of the key, if it is given.
    indent: Option<usize>,
}

impl BlockStyle {
    fn of(header: &str) -> Option<Self> {
        let (mark, marks) = without_comment(header).split_at(1);
        let mut style = Self { folded: mark == ">", chomp: None, indent: None };
        for mark in marks.bytes() {
            match mark {
                b'-' | b'+' => style.chomp = Some(mark),
                b'1'..=b'9' => style.indent = Some(usize::from(mark - b'0')),
                _ => return None,
            }
        }
        Some(style)
    }

    fn join(&self, out: &mut String, blank: usize, line: &str) {
        if !out.is_empty() {
            out.push(if self.folded && blank == 0 { ' ' } else { '\n' });
        }
        let breaks = if self.folded && !out.is_empty() { blank.saturating_sub(1) } else { blank };
        out.extend(std::iter::repeat_n('\n', breaks));
        out.push_str(line);
    }

    fn finish(&self, out: &mut String, blank: usize) {
        match self.chomp {
            Some(b'-') => {}
            Some(_) => out.extend(std::iter::repeat_n('\n', blank + usize::from(!out.is_empty()))),
            None if out.is_empty() => {}
            None => out.push('\n'),
        }
    }
}

fn indentation(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// The text after the dash of a list item.
fn item(text: &str) -> Option<&str> {
    match text {
        "-" => Some(""),
        _ => text.strip_prefix("- ").map(str::trim_start),
    }
}

/// A key and the text after its colon.
fn key(text: &str) -> Result<(String, &str)> {
    let missing = || format!("expected \"key: value\" at {}", shown(text));
    if text.starts_with(['"', '\'']) {
        let mark = text.as_bytes()[0];
        let end = memchr::memchr(mark, &text.as_bytes()[1..]).ok_or_else(missing)? + 1;
        let rest = text[end + 1..].trim_start().strip_prefix(':').ok_or_else(missing)?;
        return Ok((text[1..end].to_owned(), rest.trim_start()));
    }
    let end = memchr::memchr_iter(b':', text.as_bytes())
        .find(|at| text.as_bytes().get(at + 1).is_none_or(|next| *next == b' ' || *next == b'\t'))
        .ok_or_else(missing)?;
    Ok((text[..end].trim_end().to_owned(), text[end + 1..].trim_start()))
}

fn scalar(text: &str, param: Option<&Param>) -> Result<Value> {
    match text.as_bytes()[0] {
        b'{' | b'[' if param.is_none_or(|param| param.kind != ParamType::String) => {
            flow(without_comment(text))
        }
        b'"' => quoted(text).map(|text| typed(text, param)),
        b'\'' => single_quoted(text).map(|text| typed(Value::String(text), param)),
        _ => Ok(plain(without_comment(text), param)),
    }
}

fn plain(text: &str, param: Option<&Param>) -> Value {
    if param.is_some() {
        return match text {
            "~" | "null" => Value::Null,
            _ => typed(Value::String(text.to_owned()), param),
        };
    }
    match text {
        "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Value::Number(number),
            _ => Value::String(text.to_owned()),
        },
    }
}

fn flow(text: &str) -> Result<Value> {
    let mut reader = LenientReader::new(text);
    let value = reader.value().map_err(|why| format!("{why}; write it as JSON on one line"))?;
    match reader.is_done() {
        true => Ok(value),
        false => Err(format!("more than one value in {}", shown(text))),
    }
}

fn quoted(text: &str) -> Result<Value> {
    let mut reader = LenientReader::new(text);
    let value = reader.value()?;
    match reader.rest_of_line().starts_with('#') || reader.is_done() {
        true => Ok(value),
        false => Err(format!("text after the closing quote in {}", shown(text))),
    }
}

/// In single quotes, two single quotes are one.
fn single_quoted(text: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = &text[1..];
    loop {
        let end = rest.find('\'').ok_or_else(|| format!("no closing quote in {}", shown(text)))?;
        out.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        let Some(more) = rest.strip_prefix('\'') else { break };
        out.push('\'');
        rest = more;
    }
    match without_comment(rest.trim()) {
        "" => Ok(out),
        _ => Err(format!("text after the closing quote in {}", shown(text))),
    }
}

fn without_comment(text: &str) -> &str {
    if text.starts_with('#') {
        return "";
    }
    match memchr::memmem::find(text.as_bytes(), b" #") {
        Some(at) => text[..at].trim_end(),
        None => text,
    }
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value> {
        arguments(text.as_bytes(), &|_| None).map(Value::Object)
    }

    #[test]
    fn mappings_lists_and_scalars_are_read() {
        let text = "\n  path: src/main.rs # a comment\n  limit: 10\n  all: true\n  none: ~\n  \"quoted\": 'it''s'\n  \
                    url: http://x:80/a\n  list:\n    - a\n    - \"b\\n\"\n  edits:\n  - old: 1\n    new: 2\n  - old: 3\n  \
                    options: {\"regex\": true}\n  empty:\n";
        assert_eq!(
            read(text).unwrap(),
            json!({"path": "src/main.rs", "limit": 10, "all": true, "none": null, "quoted": "it's",
                "url": "http://x:80/a", "list": ["a", "b\n"], "edits": [{"old": 1, "new": 2}, {"old": 3}],
                "options": {"regex": true}, "empty": null})
        );
    }

    #[test]
    fn a_block_keeps_its_lines() {
        let text = "\n  content: |\n    fn main() {\n        x();\n\n    }\n  strip: |-\n    a\n  fold: >\n    a\n    b\n\n    c\n";
        assert_eq!(
            read(text).unwrap(),
            json!({"content": "fn main() {\n    x();\n\n}\n", "strip": "a", "fold": "a b\nc\n"})
        );
    }

    #[test]
    fn arguments_may_stand_on_the_line() {
        assert_eq!(read(" {\"path\": \"a\"}").unwrap(), json!({"path": "a"}));
        assert_eq!(read("").unwrap(), json!({}));
        assert!(read(" none").is_err());
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(read("\n  no colon here\n").unwrap_err().contains("expected \"key: value\""));
        assert!(read("\n  a: 1\n a: 2\n").unwrap_err().contains("does not fit"));
        assert!(read("\n  a: 1\n  a: 2\n").unwrap_err().contains("given twice"));
        assert!(read("\n\ta: 1\n").unwrap_err().contains("tab"));
        let deep: String = (1..100).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
        assert!(read(&format!("\n{deep}")).unwrap_err().contains("deeper than 32"));
    }
}
