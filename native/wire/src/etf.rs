//! JSON values in Erlang's external term format.
//!
//! Only types that JSON has are decoded: maps, lists, binaries, numbers, atoms. Binaries are UTF-8 text; the atoms
//! `true`, `false` and `null` stay, `undefined` and `nil` become null, and any other atom becomes text, as a key or as
//! a value. The usual decoders recurse as deep as their input and accept any term; this one is bounded, because a model
//! may write its input and its stack may be a scheduler's.
//!
//! Format: <https://www.erlang.org/doc/apps/erts/erl_ext_dist.html>

use beamai_base::json::{TooManyValues, ValueCounter, parse_bounded};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Maximum nesting of lists and maps.
const MAX_DEPTH: usize = 128;
/// Maximum number of elements that memory is reserved for before they are read: a count may be wrong.
const MAX_RESERVED: usize = 1_024;

const VERSION: u8 = 131;
const NEW_FLOAT: u8 = 70;
const SMALL_INTEGER: u8 = 97;
const INTEGER: u8 = 98;
const ATOM: u8 = 100;
const NIL: u8 = 106;
const STRING: u8 = 107;
const LIST: u8 = 108;
const BINARY: u8 = 109;
const SMALL_BIG: u8 = 110;
const LARGE_BIG: u8 = 111;
const SMALL_ATOM: u8 = 115;
const MAP: u8 = 116;
const ATOM_UTF8: u8 = 118;
const SMALL_ATOM_UTF8: u8 = 119;
const SMALL_TUPLE: u8 = 104;

/// Why a term could not be decoded, and the path to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undecodable {
    what: String,
    path: Vec<String>,
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        match path.is_empty() {
            true => f.write_str(&self.what),
            false => write!(f, "\"{}\" {}", path.join("."), self.what),
        }
    }
}

impl Undecodable {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), path: Vec::new() }
    }

    fn within(mut self, key: impl Into<String>) -> Self {
        self.path.push(key.into());
        self
    }
}

impl From<TooManyValues> for Undecodable {
    fn from(error: TooManyValues) -> Self {
        Self::new(error.to_string())
    }
}

type Result<T> = std::result::Result<T, Undecodable>;

/// Decodes one term.
///
/// # Errors
/// A term that JSON cannot represent, text that is not UTF-8, more than 128 levels, more values than
/// [`beamai_base::json`] accepts, or an incomplete term.
pub fn decode(bytes: &[u8]) -> Result<Value> {
    read(bytes, false, |reader| reader.value(0))
}

/// Decodes a map to its members, in their order. Less work than [`decode`] where a struct is made of them.
///
/// # Errors
/// As there, and for a term that is not a map.
pub(crate) fn decode_members(bytes: &[u8]) -> Result<Vec<(&str, Value)>> {
    read(bytes, false, EtfReader::members)
}

/// As [`decode`], and `{json, Text}` stands for the value of a JSON text, with its members in that order.
///
/// # Errors
/// As there.
pub(crate) fn decode_with_json(bytes: &[u8]) -> Result<Value> {
    read(bytes, true, |reader| reader.value(0))
}

fn read<'a, T>(
    bytes: &'a [u8],
    takes_json: bool,
    term: impl FnOnce(&mut EtfReader<'a>) -> Result<T>,
) -> Result<T> {
    let mut reader = EtfReader { rest: bytes, takes_json, counter: ValueCounter::default() };
    if reader.byte()? != VERSION {
        return Err(Undecodable::new("is not a term in external format"));
    }
    let value = term(&mut reader)?;
    match reader.rest.is_empty() {
        true => Ok(value),
        false => Err(Undecodable::new("has bytes after its end")),
    }
}

struct EtfReader<'a> {
    rest: &'a [u8],
    takes_json: bool,
    counter: ValueCounter,
}

impl<'a> EtfReader<'a> {
    fn value(&mut self, depth: usize) -> Result<Value> {
        self.counter.add(1)?;
        match self.byte()? {
            BINARY => Ok(Value::String(self.text()?.to_owned())),
            SMALL_INTEGER => Ok(self.byte()?.into()),
            INTEGER => Ok(i32::from_be_bytes(self.array()?).into()),
            SMALL_BIG => self.big(),
            LARGE_BIG => Err(too_large()),
            NEW_FLOAT => {
                Ok(Number::from_f64(f64::from_be_bytes(self.array()?)).map_or(Value::Null, Value::Number))
            }
            NIL => Ok(Value::Array(Vec::new())),
            STRING => self.bytes_as_list(),
            LIST => self.list(depth),
            MAP => self.map(depth),
            SMALL_TUPLE if self.takes_json => self.json(),
            tag => Ok(atom_value(self.atom(tag)?)),
        }
    }

    /// The value of `{json, Text}`.
    fn json(&mut self) -> Result<Value> {
        let other = || Undecodable::new("is a tuple other than {json, Text}");
        let (arity, tag) = (self.byte()?, self.byte()?);
        if arity != 2 || self.atom(tag).ok() != Some("json") || self.byte()? != BINARY {
            return Err(other());
        }
        parse_bounded(self.text()?.as_bytes())
            .map_err(|error| Undecodable::new(format!("is not JSON: {error}")))
    }

    fn list(&mut self, depth: usize) -> Result<Value> {
        below(depth)?;
        let count = self.length()?;
        let mut items = Vec::with_capacity(count.min(MAX_RESERVED));
        for at in 0..count {
            items.push(self.value(depth + 1).map_err(|error| error.within(at.to_string()))?);
        }
        match self.byte()? {
            NIL => Ok(Value::Array(items)),
            _ => Err(Undecodable::new("is an improper list")),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Value> {
        below(depth)?;
        let count = self.length()?;
        self.counter.add_object()?;
        self.counter.add(count)?;
        let mut map = Map::with_capacity(count.min(MAX_RESERVED));
        for _ in 0..count {
            let key = self.key()?;
            let value = self.value(depth + 1).map_err(|error| error.within(key))?;
            if map.insert(key.to_owned(), value).is_some() {
                return Err(Undecodable::new("is given twice, as an atom and as a binary").within(key));
            }
        }
        Ok(Value::Object(map))
    }

    fn members(&mut self) -> Result<Vec<(&'a str, Value)>> {
        if self.rest.first() != Some(&MAP) {
            // If the term cannot be decoded at all, report that reason instead.
            self.value(0)?;
            return Err(Undecodable::new("is not a map"));
        }
        self.byte()?;
        let count = self.length()?;
        let mut members = Vec::with_capacity(count.min(MAX_RESERVED));
        for _ in 0..count {
            let key = self.key()?;
            members.push((key, self.value(1).map_err(|error| error.within(key))?));
        }
        Ok(members)
    }

    fn key(&mut self) -> Result<&'a str> {
        match self.byte()? {
            BINARY => self.text(),
            tag => {
                self.atom(tag).map_err(|_| Undecodable::new("has a key that is neither a binary nor an atom"))
            }
        }
    }

    fn bytes_as_list(&mut self) -> Result<Value> {
        let count = u16::from_be_bytes(self.array()?);
        self.counter.add(usize::from(count))?;
        Ok(self.take(usize::from(count))?.iter().map(|byte| Value::from(*byte)).collect())
    }

    fn big(&mut self) -> Result<Value> {
        let count = usize::from(self.byte()?);
        let is_negative = self.byte()? != 0;
        let digits = self.take(count)?;
        let mut little = [0; 8];
        little.get_mut(..count).ok_or_else(too_large)?.copy_from_slice(digits);
        let magnitude = u64::from_le_bytes(little);
        match is_negative {
            false => Ok(magnitude.into()),
            true => i64::try_from(-i128::from(magnitude)).map(Value::from).map_err(|_| too_large()),
        }
    }

    fn atom(&mut self, tag: u8) -> Result<&'a str> {
        let count = match tag {
            SMALL_ATOM_UTF8 | SMALL_ATOM => usize::from(self.byte()?),
            ATOM_UTF8 | ATOM => usize::from(u16::from_be_bytes(self.array()?)),
            _ => return Err(Undecodable::new("is neither text, number, list, map nor atom")),
        };
        utf8(self.take(count)?)
    }

    fn text(&mut self) -> Result<&'a str> {
        let count = self.length()?;
        utf8(self.take(count)?)
    }

    fn length(&mut self) -> Result<usize> {
        Ok(u32::from_be_bytes(self.array()?) as usize)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(cut)?;
        self.rest = rest;
        Ok(*head)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or_else(cut)?;
        self.rest = rest;
        Ok(head)
    }
}

fn too_large() -> Undecodable {
    Undecodable::new(format!(
        "is an integer of more than 64 bits; integers from {} to {} are accepted",
        i64::MIN,
        u64::MAX
    ))
}

fn cut() -> Undecodable {
    Undecodable::new("ends in the middle")
}

fn below(depth: usize) -> Result<()> {
    match depth < MAX_DEPTH {
        true => Ok(()),
        false => Err(Undecodable::new(format!("is nested deeper than {MAX_DEPTH} levels"))),
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    simdutf8::basic::from_utf8(bytes)
        .map_err(|_| Undecodable::new("is not valid UTF-8; send text as UTF-8, and other bytes as base64"))
}

fn atom_value(name: &str) -> Value {
    match name {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" | "undefined" | "nil" => Value::Null,
        _ => Value::from(name),
    }
}

/// Encodes a value as a complete term.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = vec![VERSION];
    write(&mut out, value);
    out
}

/// Encodes `{Tag, Value}`.
pub(crate) fn encode_tagged(tag: &str, value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(size_hint(value));
    out.extend([VERSION, SMALL_TUPLE, 2]);
    write_atom(&mut out, tag);
    write(&mut out, value);
    out
}

/// Encodes `{Tag, First, Second}`.
pub(crate) fn encode_tagged_pair(tag: &str, first: &Value, second: &Value) -> Vec<u8> {
    let mut out = vec![VERSION, SMALL_TUPLE, 3];
    write_atom(&mut out, tag);
    write(&mut out, first);
    write(&mut out, second);
    out
}

/// Enough capacity for most values, which consist of one long text and little else.
fn size_hint(value: &Value) -> usize {
    let texts = value.as_object().map_or(0, |map| map.values().filter_map(Value::as_str).map(str::len).sum());
    texts + 512
}

pub(crate) fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => write_atom(out, "null"),
        Value::Bool(flag) => write_atom(out, if *flag { "true" } else { "false" }),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            if !items.is_empty() {
                write_head(out, LIST, items.len());
                items.iter().for_each(|item| write(out, item));
            }
            out.push(NIL);
        }
        Value::Object(map) => write_object(out, map),
    }
}

pub(crate) fn write_object(out: &mut Vec<u8>, map: &Map<String, Value>) {
    write_map(out, map.len());
    for (key, value) in map {
        write_text(out, key);
        write(out, value);
    }
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    if let Some(integer) = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from)) {
        write_integer(out, integer);
    } else {
        out.push(NEW_FLOAT);
        out.extend(number.as_f64().unwrap_or_default().to_be_bytes());
    }
}

fn write_integer(out: &mut Vec<u8>, integer: i128) {
    if let Ok(small) = u8::try_from(integer) {
        out.extend([SMALL_INTEGER, small]);
    } else if let Ok(middle) = i32::try_from(integer) {
        out.push(INTEGER);
        out.extend(middle.to_be_bytes());
    } else {
        // Parsed from an i64 or u64, so eight bytes are enough.
        let magnitude = u64::try_from(integer.unsigned_abs()).unwrap_or(u64::MAX);
        out.extend([SMALL_BIG, 8, u8::from(integer < 0)]);
        out.extend(magnitude.to_le_bytes());
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_bytes(out, text.as_bytes());
}

pub(crate) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_head(out, BINARY, bytes.len());
    out.extend_from_slice(bytes);
}

/// The header of a tuple, whose elements must follow.
pub(crate) fn write_tuple(out: &mut Vec<u8>, count: u8) {
    out.extend([SMALL_TUPLE, count]);
}

/// The header of a map, whose keys and values must follow.
pub(crate) fn write_map(out: &mut Vec<u8>, count: usize) {
    write_head(out, MAP, count);
}

/// A complete list term of about `size` bytes, whose elements `each` writes.
pub(crate) fn encode_list<T>(items: &[T], size: usize, each: impl Fn(&mut Vec<u8>, &T)) -> Vec<u8> {
    let mut out = Vec::with_capacity(size);
    out.push(VERSION);
    if !items.is_empty() {
        write_head(&mut out, LIST, items.len());
        items.iter().for_each(|item| each(&mut out, item));
    }
    out.push(NIL);
    out
}

/// # Panics
/// Over 4 GiB; the limits of the tools keep texts and lists far below.
fn write_head(out: &mut Vec<u8>, tag: u8, count: usize) {
    out.push(tag);
    out.extend(u32::try_from(count).expect("results are far below 4 GiB").to_be_bytes());
}

/// An atom, which must exist in the receiving VM.
pub(crate) fn write_atom(out: &mut Vec<u8>, name: &str) {
    out.extend([SMALL_ATOM_UTF8, u8::try_from(name.len()).expect("own atoms are short")]);
    out.extend_from_slice(name.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1.0e300..1.0e300f64).prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::hash_map(".{0,8}", inner, 0..8)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_survives_the_round_trip(value in values()) {
            prop_assert_eq!(decode(&encode(&value)).unwrap(), value);
        }

        #[test]
        fn garbage_is_refused_without_a_crash(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut term = vec![VERSION];
            term.extend(bytes);
            _ = decode(&term);
        }
    }

    #[test]
    fn atoms_are_text_but_for_the_ones_json_knows() {
        for (atom, value) in
            [("nil", json!(null)), ("undefined", json!(null)), ("true", json!(true)), ("ok", json!("ok"))]
        {
            let mut term = vec![VERSION];
            write_atom(&mut term, atom);
            assert_eq!(decode(&term).unwrap(), value);
        }
    }

    #[test]
    fn a_list_of_small_integers_arrives_as_a_list() {
        assert_eq!(decode(&[VERSION, STRING, 0, 2, 1, 2]).unwrap(), json!([1, 2]));
    }

    #[test]
    fn an_integer_of_more_than_64_bits_is_named_with_what_is_accepted() {
        let big = |head: &[u8]| {
            let mut term = vec![VERSION, MAP, 0, 0, 0, 1];
            write_text(&mut term, "limit");
            term.extend(head);
            term.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
            decode(&term).unwrap_err().to_string()
        };
        let expected = "\"limit\" is an integer of more than 64 bits; integers from -9223372036854775808 to \
                        18446744073709551615 are accepted";
        assert_eq!(big(&[SMALL_BIG, 9]), expected);
        assert_eq!(big(&[LARGE_BIG, 0, 0, 1, 0]), expected);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let mut term = vec![VERSION];
        for _ in 0..100_000 {
            term.extend([LIST, 0, 0, 0, 1]);
        }
        assert!(decode(&term).unwrap_err().to_string().contains("deeper than 128"));
    }

    #[test]
    fn too_many_values_are_refused() {
        let list = |item: &[u8], count: u32| {
            let length = count.to_be_bytes();
            let items = item.repeat(usize::try_from(count).unwrap());
            [&[VERSION, LIST][..], &length, &items, &[NIL]].concat()
        };
        let object = [MAP, 0, 0, 0, 1, BINARY, 0, 0, 0, 0, SMALL_INTEGER, 0];
        assert!(decode(&list(&object, 150_000)).is_ok());
        for (item, what) in [
            (&object[..], "500000 values"),
            (&[MAP, 0, 0, 0, 0], "200000 objects"),
            (&[NIL], "500000 values"),
        ] {
            let error = decode(&list(item, 600_000)).unwrap_err().to_string();
            assert!(error.contains(&format!("has more than {what}")), "{error}");
        }
    }

    #[test]
    fn a_false_length_allocates_nothing() {
        assert_eq!(decode(&[VERSION, LIST, 255, 255, 255, 255]).unwrap_err().what, "ends in the middle");
        assert_eq!(decode(&[VERSION, BINARY, 255, 255, 255, 255]).unwrap_err().what, "ends in the middle");
    }

    #[test]
    fn text_that_is_not_utf8_is_named() {
        let mut term = vec![VERSION, MAP, 0, 0, 0, 1];
        write_text(&mut term, "content");
        term.extend([BINARY, 0, 0, 0, 1, 0xff]);
        assert!(decode(&term).unwrap_err().to_string().starts_with("\"content\" is not valid UTF-8"));
    }
}
