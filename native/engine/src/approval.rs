//! The approval request for a person: the action, rules that would allow it permanently, and the diff of a change.

use beamai_policy::{FETCH, Judgement, Operand, PermissionRequest, PermissionRequests, Policy};
use beamai_text::{one_line, printable};
use beamai_tool::Preview;
use serde_json::{Value, json};
use url::{Host, Url};

/// Maximum characters of a diff in a request.
const SHOWN: usize = 4_000;

/// Maximum number of rules that a request offers. Nobody reads more, and each is compared with each part of the command.
const MOST_WANTED: usize = 100;

/// Programs with subcommands as their first argument. A rule offered for one covers its other arguments; for other
/// programs, only the exact command is offered.
const WITH_SUBCOMMANDS: [&str; 26] = [
    "apt", "brew", "bundle", "cargo", "composer", "deno", "docker", "dotnet", "gh", "git", "go", "gradle",
    "helm", "kubectl", "make", "mix", "mvn", "npm", "npx", "pip", "pnpm", "podman", "poetry", "rebar3", "uv",
    "yarn",
];

/// Creates the request. `fingerprint` identifies exactly this call: repeated with it as `approved`, the call runs; any
/// other call is refused.
pub(crate) fn request(
    tool: &str,
    permissions: &PermissionRequests,
    judgement: &Judgement,
    digest: Option<blake3::Hash>,
    policy: &Policy,
) -> Value {
    let rule = judgement.verdict.parts().1;
    let subject = permissions.subject();
    let text =
        format!("{tool}\0{subject}\0{}", digest.map_or(String::new(), |hash| hash.to_hex().to_string()));
    let mut wanted = judgement.wanted.clone();
    wanted.dedup();
    if wanted.len() > MOST_WANTED || !wanted.is_empty() && !policy.would_allow(&wanted, permissions) {
        wanted.clear();
    }
    let mut request = json!({
        "tool": tool,
        "rule": permissions.first.rule,
        "subject": subject,
        "message": policy.question(tool, permissions) + &judgement.because() + &parts(&wanted) + &permissions.extent(),
        "fingerprint": blake3::hash(text.as_bytes()).to_hex().as_str(),
        "matched_rule": rule,
    });
    let always = always(permissions, &wanted);
    // A rule that asks takes precedence over one that allows.
    if !always.is_empty() && policy.would_allow(&always, permissions) {
        request["always"] = always.into();
    }
    if !wanted.is_empty() {
        request["wanted"] = wanted.into();
    }
    if !permissions.more.is_empty() {
        request["subjects"] = permissions.iter().map(PermissionRequest::subject).collect();
        request["files"] = permissions.iter().filter_map(file).collect();
    } else if let Some((key, text)) = permissions.first.operand.detail() {
        request[key] = text.into();
    }
    request
}

/// The parts of a compound command that need permission.
fn parts(wanted: &[String]) -> String {
    match wanted {
        [] | [_] => String::new(),
        several => {
            let shown: Vec<String> = several.iter().map(|rule| one_line(rule)).collect();
            format!("; it needs {}", shown.join(", "))
        }
    }
}

/// Rules that would allow such calls permanently; empty if no short rule covers them.
fn always(permissions: &PermissionRequests, wanted: &[String]) -> Vec<String> {
    if !wanted.is_empty() {
        let mut rules: Vec<String> = wanted.iter().map(|rule| widened(rule)).collect();
        rules.dedup();
        // As a rule, such a command would be a pattern for others.
        let is_pattern = |rule: &String| wanted.contains(rule) && rule.contains(['*', '?']);
        return if rules.iter().any(is_pattern) { Vec::new() } else { rules };
    }
    permissions.iter().map(rule_for).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The rule that allows what one permission request is about; `None` if no short rule covers it and little else.
fn rule_for(permission: &PermissionRequest) -> Option<String> {
    let rule = &permission.rule;
    match &permission.operand {
        Operand::File(_) | Operand::Project(_) => Some(permission.wanted()).filter(|wanted| wanted != rule),
        Operand::Name(name) => is_literal(name).then(|| permission.subject()),
        // A rule for a domain also covers requests that send data, so it is not offered where one is about to.
        Operand::Url { action, url, .. } if action.starts_with(FETCH) => {
            server(url).map(|server| format!("{rule}({server})"))
        }
        Operand::Url { .. } => None,
        Operand::Command(_) if rule == "Bash" => None,
        // Rules for these take no pattern, or one that would only cover the same query.
        Operand::Command(_) | Operand::Query(_) | Operand::None => Some(rule.clone()),
    }
}

/// Whether a pattern with this text matches this text only.
fn is_literal(text: &str) -> bool {
    !text.contains(['*', '?', '[', ']', '{', '}', '\\', '!'])
}

/// The pattern for all of a server's addresses: its domain, or the beginning of them if its host is an address.
fn server(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    match url.host()? {
        Host::Domain(domain) => Some(format!("domain:{domain}")),
        Host::Ipv4(_) => Some(format!("{}/*", url.origin().ascii_serialization())),
        // Its brackets would be wildcards.
        Host::Ipv6(_) => None,
    }
}

/// Generalizes the rule for one command to its subcommand: `Bash(npm test --all)` becomes `Bash(npm test:*)`.
fn widened(rule: &str) -> String {
    let command = rule.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
    let mut words = command.unwrap_or_default().split(' ');
    let is_plain = |word: &&str| {
        !word.is_empty() && word.chars().all(|char| char.is_ascii_alphanumeric() || "-_:".contains(char))
    };
    match (words.next(), words.next().filter(is_plain)) {
        (Some(program), Some(thing))
            if WITH_SUBCOMMANDS.contains(&program) && !thing.starts_with('-') && !thing.contains(':') =>
        {
            format!("Bash({program} {thing}:*)")
        }
        _ => rule.to_owned(),
    }
}

/// The read permissions needed to preview a change; `None` if the call does not change files.
pub(crate) fn reads(permissions: &PermissionRequests) -> Option<PermissionRequests> {
    let read = |permission: &PermissionRequest| match &permission.operand {
        Operand::File(_) => Some(PermissionRequest {
            rule: "Read".to_owned(),
            touches: &[],
            allowed_by: &[],
            is_safe: true,
            operand: permission.operand.clone(),
        }),
        _ => None,
    };
    let more = permissions.more.iter().map(read).collect::<Option<Vec<_>>>()?;
    Some(PermissionRequests { first: read(&permissions.first)?, more })
}

/// Adds the diff that the call would make, cut to the limit. The fingerprint covers all of the change.
pub(crate) fn show_preview(request: &mut Value, preview: &Preview) {
    let diff = preview.diff();
    let size = diff.chars().count();
    let shown = match diff.char_indices().nth(SHOWN) {
        None => printable(diff),
        Some((at, _)) => {
            // At a line's end, unless that would leave out most of what can be shown.
            let end = diff[..at].rfind('\n').filter(|end| 2 * end > at);
            let shown = printable(&diff[..end.unwrap_or(at)]);
            format!("{shown}\n[{size} characters in all; the rest is not shown]\n")
        }
    };
    request["diff"] = shown.into();
    let text = format!("{}\0{}", request["fingerprint"], preview.fingerprint());
    request["fingerprint"] = blake3::hash(text.as_bytes()).to_hex().as_str().into();
}

fn file(permission: &PermissionRequest) -> Option<&str> {
    match &permission.operand {
        Operand::File(file) => Some(&file.path),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_offered_for_the_thing_that_a_command_does() {
        for (asked, offered) in [
            ("Bash(npm test)", "Bash(npm test:*)"),
            ("Bash(git push origin main)", "Bash(git push:*)"),
            ("Bash(git -C x push)", "Bash(git -C x push)"),
            ("Bash(rm build)", "Bash(rm build)"),
            ("Bash(make)", "Bash(make)"),
            ("Bash(npx 'a b')", "Bash(npx 'a b')"),
            ("Write(a)", "Write(a)"),
            ("Bash", "Bash"),
        ] {
            assert_eq!(widened(asked), offered);
        }
    }

    #[test]
    fn a_long_diff_is_cut_at_a_line_with_its_size() {
        let mut request = json!({});
        show_preview(&mut request, &Preview::default().with(&"+line\n".repeat(2_000)));
        let shown = request["diff"].as_str().unwrap();
        assert!(shown.ends_with("+line\n[12000 characters in all; the rest is not shown]\n"), "{shown}");
        assert!(shown.len() < SHOWN + 100);
        show_preview(&mut request, &Preview::default().with(&format!("-a\n+{}\n", "b".repeat(5_000))));
        let shown = request["diff"].as_str().unwrap();
        assert!(shown.starts_with("-a\n+bbb") && shown.len() > SHOWN, "{shown}");
        assert!(shown.ends_with("b\n[5005 characters in all; the rest is not shown]\n"), "{shown}");
        show_preview(&mut request, &Preview::default().with("+a\u{1b}[2J\n"));
        assert_eq!(request["diff"], "+a\u{241b}[2J\n");
    }
}
