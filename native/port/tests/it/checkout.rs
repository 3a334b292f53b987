//! Where this checkout is. The sandbox puts a directory of its own in the place of `/tmp`; a checkout that lies there is
//! shown all the same, because the tests have commands run programs of it.

use serde_json::{Value, json};
use std::path::Path;

/// The settings of a sandbox with the checkout visible.
pub(crate) fn visible(sandbox: Value) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    if !root.starts_with("/tmp") || sandbox == "off" {
        return sandbox;
    }
    let mut settings = match sandbox {
        Value::String(mode) => json!({"mode": mode}),
        Value::Null => json!({}),
        other => other,
    };
    let mut readable = settings["readable"].as_array().cloned().unwrap_or_default();
    readable.push(json!(root));
    settings["readable"] = readable.into();
    settings
}
