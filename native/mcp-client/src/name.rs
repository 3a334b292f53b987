//! Names of a server's tools that all providers accept.

use crate::secrets::Secrets;
use beamai_base::{Reason, Result, ToolError};
use std::collections::BTreeMap;

/// Maximum length that all providers accept, in bytes.
const LONGEST: usize = 64;

/// The names of a server's tools, in order: `mcp__server__tool`. Characters that providers reject become `_`, and a
/// name that is too long is cut and ends in a hash of the complete name.
///
/// # Errors
/// `mcp_server` if two tools would get the same name, or one has none.
pub(super) fn full<'a>(
    server: &str,
    tools: impl Iterator<Item = &'a str>,
    secrets: &Secrets,
) -> Result<Vec<String>> {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    let mut names = Vec::new();
    for tool in tools {
        let name = of_tool(server, tool);
        if tool.is_empty() {
            return Err(refused(server, "a tool without a name"));
        }
        if let Some(other) = taken.insert(name.clone(), tool) {
            return Err(refused(server, &ambiguous(server, &secrets.hide(other), &secrets.hide(tool))));
        }
        names.push(name);
    }
    Ok(names)
}

fn refused(server: &str, what: &str) -> ToolError {
    ToolError::new(
        Reason::McpServer,
        format!("the MCP server {server} has {what}; its tools cannot be told apart"),
    )
}

/// Two tools with the same name. The name is made of what is shown of them: it may be cut.
fn ambiguous(server: &str, one: &str, other: &str) -> String {
    format!("two tools, {one:?} and {other:?}, that would both be named {}", of_tool(server, other))
}

fn of_tool(server: &str, tool: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    let plain: String = tool.chars().map(|char| if is_plain(char) { char } else { '_' }).collect();
    let name = format!("mcp__{server}__{plain}");
    match name.len() <= LONGEST {
        true => name,
        // The name is ASCII by now.
        false => format!("{}_{}", &name[..LONGEST - 9], &blake3::hash(tool.as_bytes()).to_hex()[..8]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_every_provider_takes() {
        let long = "x".repeat(80);
        let names =
            full("files", ["read_text", "admin.tools/list", "größe", &long].into_iter(), &Secrets::default())
                .unwrap();
        assert_eq!(
            names[..3],
            ["mcp__files__read_text", "mcp__files__admin_tools_list", "mcp__files__gr__e"]
        );
        assert!(names[3].len() == 64 && names[3].starts_with("mcp__files__xxx"), "{}", names[3]);
        let longer = format!("{long}y");
        assert_ne!(names[3], of_tool("files", &longer));
    }

    #[test]
    fn tools_that_would_have_the_same_name_are_refused_by_name() {
        let error = full("s", ["a.b", "c", "a/b"].into_iter(), &Secrets::default()).unwrap_err();
        for part in ["\"a.b\"", "\"a/b\"", "mcp__s__a_b"] {
            assert!(error.message.contains(part), "{error}");
        }
        assert!(full("s", ["a", "a"].into_iter(), &Secrets::default()).is_err());
        assert!(full("s", std::iter::once(""), &Secrets::default()).is_err());
    }

    #[test]
    fn the_names_of_tools_show_no_secrets() {
        let secrets = Secrets::of(std::iter::once("T0KEN-of-many-parts"));
        let long = format!("{}T0KEN-of-many-parts", "x".repeat(40));
        let error = full("s", [&*long, &long].into_iter(), &secrets).unwrap_err();
        assert!(error.message.contains("***") && !error.message.contains("T0"), "{error}");
    }
}
