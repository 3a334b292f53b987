//! The limit of each text, with values that the schemas permit.

use super::{ToolOrigin, dialects, object, text_for_model};
use crate::catalogue;
use beamai_tool::for_model::LEAST_LIMIT;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Generates values of an output schema, with long texts and lists.
fn value_of(schema: &Value, size: usize) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return prop::sample::select(values.clone()).boxed();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            return prop::strategy::Union::new(choices.iter().map(|choice| value_of(choice, size))).boxed();
        }
    }
    if let Some(value) = schema.get("const") {
        return Just(value.clone()).boxed();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str().unwrap_or("string").to_owned(),
        kind => kind.as_str().unwrap_or("object").to_owned(),
    };
    match kind.as_str() {
        "string" => (prop::sample::select(vec!["x", "é\n", "@@ -1 +1 @@\n-a\n", "\u{1}", ""]), 0..size)
            .prop_map(|(text, times)| Value::from(text.repeat(times)))
            .boxed(),
        "integer" | "number" => (0..1_000_000_u64).prop_map(Value::from).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "array" => {
            let item = value_of(&schema["items"], size / 40);
            (item, 0..size / 16).prop_map(|(item, times)| Value::from(vec![item; times])).boxed()
        }
        "null" => Just(Value::Null).boxed(),
        _ => {
            let properties = schema["properties"].as_object().cloned().unwrap_or_default();
            let members: Vec<_> =
                properties.iter().map(|(name, of)| (Just(name.clone()), value_of(of, size))).collect();
            members.prop_map(|members| Value::Object(members.into_iter().collect())).boxed()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_longer_than_its_limit(limit in LEAST_LIMIT..6_000, seed in any::<u32>()) {
        use proptest::strategy::ValueTree;
        use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&seed.to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        let path = "p".repeat(3_000);
        let calls = [
            json!({"path": path, "command": "c"}),
            json!({"path": path, "offset": 3, "column": 5, "skip": 2, "depth": 4, "limit": 50, "options": {"offset": 3}}),
        ];
        for dialect in dialects() {
            for tool in catalogue::dialect(dialect).unwrap().iter() {
                let value = value_of(tool.output_schema(), 8_000).new_tree(&mut runner).unwrap().current();
                for args in &calls {
                    let text = text_for_model(ToolOrigin::Dialect(dialect), tool.name(), args.as_object().unwrap(), &value, limit).unwrap();
                    prop_assert!(text.chars().count() <= limit, "{} {}: {}", dialect, tool.name(), text.chars().count());
                    prop_assert!(!text.is_empty(), "{} {}", dialect, tool.name());
                    if let Some(object) = object(dialect, tool.name(), args.clone(), value.clone(), limit) {
                        prop_assert!(object.to_string().chars().count() <= limit, "{}", tool.name());
                    }
                }
            }
        }
    }
}
