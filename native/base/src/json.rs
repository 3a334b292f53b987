//! JSON texts from outside, whose values are counted before they take memory.
//!
//! An object of seven bytes of text takes some hundred times as much once it is parsed, so a limit of the text's length
//! does not limit the memory.

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Maximum number of values in a text or term. Keys count, too.
pub const MOST_VALUES: usize = 500_000;
/// Maximum number of objects among them.
pub const MOST_OBJECTS: usize = 200_000;

/// Parses a text of a server, a client or a model.
///
/// # Errors
/// Those of [`count_values`], and a text that is no `T`.
pub fn parse_bounded<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    count_values(text)?;
    serde_json::from_slice(text)
}

/// Counts the values (keys included) of a JSON text with at most [`MOST_VALUES`] of them and [`MOST_OBJECTS`] objects.
/// Takes no memory for them.
///
/// # Errors
/// A syntax error, or the limit that the text exceeds, with line and column. The latter has the category `Data`.
pub fn count_values(text: &[u8]) -> serde_json::Result<usize> {
    let (mut input, mut counter) = (serde_json::Deserializer::from_slice(text), ValueCounter::default());
    counter.deserialize(&mut input)?;
    input.end().map(|()| counter.values)
}

/// Counts the values of a text or term while they are read.
#[derive(Default)]
pub struct ValueCounter {
    values: usize,
    objects: usize,
}

/// A text or term has more values than are accepted.
#[derive(Debug, thiserror::Error)]
#[error("has more than {0}")]
pub struct TooManyValues(String);

impl ValueCounter {
    /// Counts values or keys, which take about as much.
    ///
    /// # Errors
    /// There are too many.
    pub fn add(&mut self, count: usize) -> Result<(), TooManyValues> {
        self.values += count;
        match self.values <= MOST_VALUES {
            true => Ok(()),
            false => Err(TooManyValues(format!("{MOST_VALUES} values"))),
        }
    }

    /// Counts an object as such; it is also a value.
    ///
    /// # Errors
    /// There are too many.
    pub fn add_object(&mut self) -> Result<(), TooManyValues> {
        self.objects += 1;
        match self.objects <= MOST_OBJECTS {
            true => Ok(()),
            false => Err(TooManyValues(format!("{MOST_OBJECTS} objects"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut ValueCounter {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut ValueCounter {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.add(1).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.add(1).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.add(1).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.add(1).map_err(E::custom)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        self.add(1).map_err(E::custom)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.add(1).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.add(1).map_err(A::Error::custom)?;
        while items.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.add_object().and_then(|()| self.add(1)).map_err(A::Error::custom)?;
        while members.next_key_seed(&mut *self)?.is_some() {
            members.next_value_seed(&mut *self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn repeated(item: &str, times: usize) -> String {
        format!("[{}]", vec![item; times].join(","))
    }

    #[test]
    fn values_keys_and_objects_are_counted() {
        for (text, accepted) in [
            (repeated("0", MOST_VALUES - 1), true),
            (repeated("0", MOST_VALUES), false),
            (repeated("[]", MOST_VALUES), false),
            (repeated("{}", MOST_OBJECTS), true),
            (repeated("{}", MOST_OBJECTS + 1), false),
            (repeated(r#"{"a":null}"#, MOST_VALUES / 3), true),
            (repeated(r#"{"a":1.5,"b":true,"c":-1}"#, MOST_VALUES / 7 + 1), false),
            (format!("\"{}\"", "[{,".repeat(MOST_VALUES)), true),
        ] {
            let counted = count_values(text.as_bytes());
            assert_eq!(counted.is_ok(), accepted, "{}: {counted:?}", &text[..20]);
        }
    }

    #[test]
    fn a_count_has_each_key_and_value() {
        assert_eq!(count_values(br#" {"a": [1, {}], "b": null} "#).unwrap(), 7);
    }

    #[test]
    fn a_refusal_names_the_limit() {
        let error = parse_bounded::<Value>(repeated("{}", MOST_OBJECTS + 1).as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("has more than 200000 objects at line 1"), "{error}");
    }

    #[test]
    fn other_errors_are_those_of_the_parser() {
        for text in ["", "[1,", "{\"a\" 1}", "[1] 2", "\"\u{1}\"", "nul", "[01]", "1e999", "\"\\ud800\""] {
            let expected = serde_json::from_str::<Value>(text).unwrap_err().to_string();
            assert_eq!(count_values(text.as_bytes()).unwrap_err().to_string(), expected, "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert!(count_values(deep.as_bytes()).unwrap_err().to_string().contains("recursion limit"));
    }
}
