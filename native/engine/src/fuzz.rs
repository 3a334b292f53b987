//! Invariants that hold for arbitrary bytes, as entry points for fuzzers. `fuzz/` runs them on new inputs,
//! `tests/it/corpus` on saved ones. A violated invariant panics.

use crate::catalogue;
use beamai_bash_reader::analyse;
use beamai_policy::{
    CommandLine, FETCH, FilePath, Operand, PermissionRequest, Policy, PolicyMode, PolicyText, RuleText,
    Verdict,
};
use beamai_workspace::Workspace;
use std::path::Path;
use std::sync::LazyLock;

static WORKSPACE: LazyLock<Workspace> =
    LazyLock::new(|| Workspace::open(Path::new("/usr")).expect("every system has /usr"));

fn policy(allow: &[&str], deny: &[&str], default: PolicyMode) -> beamai_base::Result<Policy> {
    let rules = |texts: &[&str]| texts.iter().map(|text| RuleText::Plain((*text).to_owned())).collect();
    let text = PolicyText { allow: rules(allow), deny: rules(deny), default, ..PolicyText::default() };
    Policy::new(&text, catalogue::rules(), &catalogue::canonical_rule, &WORKSPACE)
}

fn permission(rule: &str, operand: Operand) -> PermissionRequest {
    PermissionRequest { rule: rule.to_owned(), touches: &[], allowed_by: &[], is_safe: false, operand }
}

fn is_allowed(policy: &Policy, permission: &PermissionRequest) -> bool {
    matches!(policy.judge(permission).verdict, Verdict::Allow(_))
}

/// A rule on the first line, followed by requests. A rule that allows a request must deny it when used as a deny rule.
/// A rule for exactly the text of a command may be one that allows only.
pub fn permission_rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (rule, subject) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(allowing) = policy(&[rule], &[], PolicyMode::Deny) else {
        assert!(policy(&[], &[rule], PolicyMode::Allow).is_err(), "{rule:?} is a rule in one list only");
        return;
    };
    let tool = rule.split('(').next().unwrap_or_default();
    let denying = match policy(&[], &[rule], PolicyMode::Allow) {
        Ok(denying) => denying,
        Err(error) => return assert_eq!(tool, "Bash", "a rule is one in every list: {error:?}"),
    };
    let file = || FilePath::plain(subject);
    for operand in [
        Operand::File(file()),
        Operand::Project(FilePath { is_tree: true, ..file() }),
        Operand::Name(subject.to_owned()),
        Operand::Query(subject.to_owned()),
        Operand::Url { action: FETCH.to_owned(), url: subject.to_owned(), sent: None },
        Operand::Command(CommandLine::plain(subject)),
    ] {
        let permission = permission(tool, operand);
        let is_both = is_allowed(&allowing, &permission) && is_allowed(&denying, &permission);
        assert!(!is_both, "{rule:?} allows {permission:?} and does not deny it");
    }
}

static NO_RM: LazyLock<Policy> = LazyLock::new(|| {
    policy(&["Bash", "Write"], &["Bash(rm:*)", "Read(**/*.pem)"], PolicyMode::Deny).expect("rules")
});

fn is_run(command: &str) -> bool {
    is_allowed(&NO_RM, &permission("Bash", Operand::Command(CommandLine::plain(command))))
}

/// A command. A denied command must not become allowed by text before or after it, and no completely parsed command may
/// swallow the next line.
pub fn commands(bytes: &[u8]) {
    let command = String::from_utf8_lossy(bytes);
    is_run(&command);
    for denied in ["rm -rf x", "cat k.pem", "< k.pem"] {
        assert!(!is_run(&format!("{denied}\n{command}")), "{denied:?} is allowed before {command:?}");
        // A final backslash continues on the next line.
        if analyse(&command, Some("/home/x")).doubts.is_empty() && !command.ends_with('\\') {
            assert!(!is_run(&format!("{command}\n{denied}")), "{denied:?} is allowed after {command:?}");
        }
    }
}

/// A patch, then a null byte and the file to patch.
pub fn patches(bytes: &[u8]) {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let file = bytes.get(at + 1..).unwrap_or_default();
    beamai_patch::fuzz::check(&String::from_utf8_lossy(&bytes[..at]), file);
}

/// A model's response, parsed whole and in chunks.
pub fn text_protocol(bytes: &[u8]) {
    beamai_text_protocol::check(bytes);
}
