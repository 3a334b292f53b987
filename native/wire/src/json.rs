//! Conversion between JSON text and terms, for hosts without a JSON library.

use crate::reply;
use beamai_base::json::parse_bounded;
use beamai_base::{Reason, ToolError};
use serde_json::Value;

/// Decodes JSON text: `{ok, Value}`, or an error with the position.
pub fn json_decode(text: &[u8]) -> Vec<u8> {
    match parse_bounded::<Value>(text) {
        Ok(value) => reply::ok(&value),
        Err(why) if why.is_data() => wrong(format!("this JSON {why}")),
        Err(why) => wrong(format!("this is not JSON: {why}")),
    }
}

/// Encodes a term: `{ok, Text}`, or an error that says what JSON cannot represent. `{json, Text}` in the term is inserted
/// unchanged.
pub fn json_encode(term: &[u8]) -> Vec<u8> {
    match crate::etf::decode_with_json(term) {
        Ok(value) => reply::ok(&Value::String(value.to_string())),
        Err(why) => wrong(format!("this cannot be written as JSON: it {why}")),
    }
}

fn wrong(message: String) -> Vec<u8> {
    reply::error(&ToolError::new(Reason::InvalidArgument, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{decode, encode};
    use serde_json::json;

    /// The value in `{ok, Value}`, whose header takes five bytes.
    fn value(reply: &[u8]) -> Value {
        let ok = [131, 104, 2, 119, 2, b'o', b'k'];
        let rest = reply.strip_prefix(&ok).expect("{ok, Value}");
        decode(&[&[131], rest].concat()).expect("a term")
    }

    #[test]
    fn text_becomes_a_term_and_the_same_text_again() {
        let text = r#"{"b":[1,-2.5,true,null,"é\n"],"a":{}}"#;
        let decoded = value(&json_decode(text.as_bytes()));
        assert_eq!(decoded, json!({"b": [1, -2.5, true, null, "é\n"], "a": {}}));
        assert_eq!(value(&json_encode(&encode(&decoded))), json!(text));
    }

    #[test]
    fn what_is_no_json_is_an_error_with_its_place() {
        let reply = json_decode(b"{\"a\": }");
        assert!(String::from_utf8_lossy(&reply).contains("line 1 column 7"));
    }

    #[test]
    fn too_many_values_are_not_called_a_syntax_error() {
        let reply = json_decode(format!("[{}0]", "0,".repeat(500_000)).as_bytes());
        assert!(String::from_utf8_lossy(&reply).contains("this JSON has more than 500000 values"));
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(
            String::from_utf8_lossy(&json_decode("[".repeat(100_000).as_bytes())).contains("recursion limit")
        );
    }
}
