//! Untyped access to the keys of a result: dialects and filters may have removed some.

use serde_json::{Map, Value};

/// A result's keys. A key whose value has another type counts as absent.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The keys of an object; `None` for any other value.
    pub fn of(value: &'a Value) -> Option<Self> {
        value.as_object().map(Self)
    }

    /// A text, which may be empty.
    pub fn text(self, key: &str) -> Option<&'a str> {
        self.0.get(key)?.as_str()
    }

    /// A text that is not empty.
    pub fn non_empty(self, key: &str) -> Option<&'a str> {
        self.text(key).filter(|text| !text.is_empty())
    }

    /// An integer.
    pub fn number(self, key: &str) -> Option<i64> {
        self.0.get(key)?.as_i64()
    }

    /// A non-negative integer.
    pub fn count(self, key: &str) -> Option<u64> {
        self.0.get(key)?.as_u64()
    }

    /// Whether the value is true.
    pub fn flag(self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// The object under the key.
    pub fn object(self, key: &str) -> Option<Self> {
        self.0.get(key).and_then(Self::of)
    }

    /// The elements of a list; `None` if it is absent.
    pub fn list(self, key: &str) -> Option<&'a [Value]> {
        self.0.get(key)?.as_array().map(Vec::as_slice)
    }

    /// The objects in a list; empty if it is absent.
    pub fn objects(self, key: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.list(key).unwrap_or_default().iter().filter_map(Self::of)
    }

    /// The texts in a list; empty if it is absent.
    pub fn texts(self, key: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.list(key).unwrap_or_default().iter().filter_map(Value::as_str)
    }

    /// Every key with its value, in order.
    pub fn iter(self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.0.iter()
    }
}
