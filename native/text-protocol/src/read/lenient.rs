//! Parses values in the syntax of Python and JavaScript too: single and triple quotes, `True`, `None`, unquoted keys,
//! trailing commas.

use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;

/// Maximum nesting.
const MAX_DEPTH: usize = 64;

type Result<T> = std::result::Result<T, String>;

/// Parses values from the start of a text.
pub(crate) struct LenientReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Deviations from JSON that were accepted.
    pub liberties: BTreeSet<&'static str>,
}

impl<'a> LenientReader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, liberties: BTreeSet::new() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, what: &str) -> bool {
        let is_there = self.rest().starts_with(what);
        self.at += if is_there { what.len() } else { 0 };
        is_there
    }

    /// Skips white space.
    pub(crate) fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether only white space is left.
    pub(crate) fn is_done(&mut self) -> bool {
        self.space();
        self.rest().is_empty()
    }

    /// The rest, without leading white space.
    pub(crate) fn rest_of_line(&mut self) -> &'a str {
        self.space();
        self.rest()
    }

    fn liberty(&mut self, what: &'static str) {
        self.liberties.insert(what);
    }

    fn here(&self, wanted: &str) -> String {
        let found: String = self.rest().chars().take(20).collect();
        match found.is_empty() {
            true => format!("expected {wanted}, not the end"),
            false => format!("expected {wanted} at {found:?}"),
        }
    }

    /// Parses `name="value", …` up to the end of the text.
    pub(crate) fn named_arguments(&mut self) -> Result<Map<String, Value>> {
        let mut args = Map::new();
        while !self.is_done() {
            let name = self.bare_name().ok_or_else(|| self.here("a named argument, as in path=\"…\","))?;
            self.space();
            if !self.take("=") {
                return Err(self.here("= after the name of the argument"));
            }
            let value = self.value()?;
            if args.insert(name.to_owned(), value).is_some() {
                return Err(format!("\"{name}\" is given twice"));
            }
            if !self.is_done() && !self.take(",") {
                return Err(self.here("a comma between the arguments"));
            }
        }
        Ok(args)
    }

    fn bare_name(&mut self) -> Option<&'a str> {
        let rest = self.rest();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
        let len = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let is_good = rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '$');
        self.at += if is_good { len } else { 0 };
        is_good.then(|| &rest[..len])
    }

    /// Parses one value and the white space before it.
    pub(crate) fn value(&mut self) -> Result<Value> {
        self.space();
        match self.rest().as_bytes().first() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"' | b'\'') => self.string().map(Value::String),
            Some(b'-' | b'+' | b'.' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value>) -> Result<Value> {
        if self.depth == MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value> {
        let mut map = Map::new();
        loop {
            self.space();
            if self.take("}") {
                return Ok(Value::Object(map));
            }
            let key = self.key()?;
            self.space();
            if !self.take(":") {
                return Err(self.here(": after a key"));
            }
            let value = self.value()?;
            map.insert(key, value);
            self.separator('}')?;
        }
    }

    fn array(&mut self) -> Result<Value> {
        let mut items = Vec::new();
        loop {
            self.space();
            if self.take("]") {
                return Ok(Value::Array(items));
            }
            items.push(self.value()?);
            self.separator(']')?;
        }
    }

    /// Consumes a comma, or stops at the end of the object or list.
    fn separator(&mut self, close: char) -> Result<()> {
        self.space();
        if self.rest().starts_with(close) {
            return Ok(());
        }
        if !self.take(",") {
            return Err(self.here(&format!("a comma or {close}")));
        }
        self.space();
        if self.rest().starts_with(close) {
            self.liberty("a comma before the end of an object or list was dropped");
        }
        Ok(())
    }

    fn key(&mut self) -> Result<String> {
        if self.rest().starts_with(['"', '\'']) {
            return self.string();
        }
        let name = self.bare_name().ok_or_else(|| self.here("a key"))?;
        self.liberty("keys without quotes were quoted");
        Ok(name.to_owned())
    }

    fn word(&mut self) -> Result<Value> {
        let value = match self.bare_name() {
            Some("true") => return Ok(Value::Bool(true)),
            Some("false") => return Ok(Value::Bool(false)),
            Some("null") => return Ok(Value::Null),
            Some("True") => Value::Bool(true),
            Some("False") => Value::Bool(false),
            Some("None" | "undefined") => Value::Null,
            Some(name) => {
                self.at -= name.len();
                return Err(self.here("a value"));
            }
            None => return Err(self.here("a value")),
        };
        self.liberty("True, False and None were taken for true, false and null");
        Ok(value)
    }

    fn number(&mut self) -> Result<Value> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-');
        let text = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        let number: Number = serde_json::from_str(text).map_err(|_| self.here("a number"))?;
        self.at += text.len();
        Ok(Value::Number(number))
    }

    fn string(&mut self) -> Result<String> {
        let mark = self.rest().as_bytes()[0];
        if mark == b'\'' {
            self.liberty("strings in single quotes were put in double quotes");
        }
        let triple = self.rest().as_bytes().starts_with(&[mark; 3]);
        let count = if triple { 3 } else { 1 };
        if triple {
            self.liberty("strings in triple quotes were put in double quotes");
        }
        self.at += count;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            // In triple quotes a line break is an ordinary character.
            let also = if triple { mark } else { b'\n' };
            let stop = memchr::memchr3(mark, b'\\', also, rest.as_bytes())
                .ok_or_else(|| "a string is not ended".to_owned())?;
            out.push_str(&rest[..stop]);
            self.at += stop;
            match rest.as_bytes()[stop] {
                b'\\' => self.escape(&mut out)?,
                b'\n' => {
                    self.liberty("line breaks inside strings were escaped");
                    out.push('\n');
                    self.at += 1;
                }
                _ if rest.as_bytes()[stop..].starts_with(&[mark; 3][..count]) => {
                    self.at += count;
                    return Ok(out);
                }
                _ => {
                    out.push(char::from(mark));
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<()> {
        let after = self.rest()[1..].chars().next().ok_or("a string is not ended".to_owned())?;
        self.at += 1 + after.len_utf8();
        match after {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            '"' | '\\' | '/' => out.push(after),
            '\'' => {
                self.liberty("the escape \\' was taken for '");
                out.push('\'');
            }
            'u' => out.push(self.unicode()?),
            '\n' => self.liberty("line breaks inside strings were escaped"),
            other => {
                self.liberty("backslashes that escape nothing were doubled");
                out.push('\\');
                out.push(other);
            }
        }
        Ok(())
    }

    fn unicode(&mut self) -> Result<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).ok_or_else(|| "half a surrogate pair in a string".to_owned());
        }
        let second = if self.take("\\u") { self.hex()? } else { 0 };
        let code = 0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff);
        let is_pair = (0xdc00..0xe000).contains(&second);
        char::from_u32(code).filter(|_| is_pair).ok_or_else(|| "half a surrogate pair in a string".to_owned())
    }

    fn hex(&mut self) -> Result<u32> {
        let digits =
            self.rest().get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        code.ok_or_else(|| "\\u needs four hexadecimal digits".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value> {
        let mut lenient = LenientReader::new(text);
        let value = lenient.value()?;
        if lenient.is_done() { Ok(value) } else { Err(lenient.here("the end")) }
    }

    #[test]
    fn json_is_read_without_liberties() {
        let text = r#"{"a": [1, -2.5e3, "x\n\u00e9\ud83d\ude00\/"], "b": {"c": null, "d": true}}"#;
        let mut lenient = LenientReader::new(text);
        assert_eq!(lenient.value().unwrap(), serde_json::from_str::<Value>(text).unwrap());
        assert!(lenient.liberties.is_empty());
    }

    #[test]
    fn what_python_and_javascript_write_is_read() {
        assert_eq!(read("{a: 'it\\'s', \"b\": True,}").unwrap(), json!({"a": "it's", "b": true}));
        assert_eq!(read("'''two\nlines'''").unwrap(), json!("two\nlines"));
        assert_eq!(read(r#""a\wb""#).unwrap(), json!("a\\wb"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(read("{a: b}").unwrap_err().contains("expected a value at \"b}\""));
        assert!(read(&"[".repeat(100_000)).unwrap_err().contains("deeper than 64"));
        assert!(read("\"\\ud800\"").unwrap_err().contains("surrogate"));
        assert!(read("\"\\u12é4\"").unwrap_err().contains("hexadecimal"));
    }
}
