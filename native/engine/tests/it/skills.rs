//! Skills of the host's paths and built-in ones.

use beamai_base::{Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;

fn write(directory: &Path, name: &str, text: &str) {
    let directory = directory.join(name);
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("SKILL.md"), text).unwrap();
}

fn skill(paths: &[&Path], permissions: Value, args: Value) -> Result<Value, ToolError> {
    let elsewhere = tempfile::tempdir().unwrap();
    skill_in(elsewhere.path(), paths, permissions, args)
}

fn skill_in(workspace: &Path, paths: &[&Path], permissions: Value, args: Value) -> Result<Value, ToolError> {
    let id = Workspace::open(workspace).unwrap().id();
    let settings = json!({"workspace": id, "skills": {"paths": paths}, "permissions": permissions});
    let settings: HostSettings = serde_json::from_value(settings).unwrap();
    let call: CallRequest = serde_json::from_value(json!({"tool": "skill", "args": args})).unwrap();
    match Host::new(&settings, std::sync::Arc::default()).unwrap().call(call, CallOptions::default()) {
        CallOutcome::Ok(value, _) => Ok(value),
        CallOutcome::Error(error) => Err(error),
        other => panic!("{other:?}"),
    }
}

/// Commands can write there.
#[test]
fn in_the_workspace_skills_are_read_as_files_are() {
    let (workspace, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let text = |name: &str| format!("---\nname: {name}\ndescription: D.\n---\nI.\n");
    write(workspace.path(), "skills/own", &text("own"));
    write(workspace.path(), "secret/denied", &text("denied"));
    write(outside.path(), "out", &text("out"));
    let link = |target: &Path, name: &str| {
        std::os::unix::fs::symlink(target, workspace.path().join("skills").join(name)).unwrap();
    };
    link(&outside.path().join("out"), "out");
    link(Path::new("../secret/denied"), "denied");
    std::fs::create_dir(workspace.path().join("skills/file")).unwrap();
    link(&outside.path().join("out/SKILL.md"), "file/SKILL.md");
    // A link of the host's own leads in.
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(workspace.path().join("skills"), home.path().join("skills")).unwrap();
    for path in [&workspace.path().join("skills"), home.path(), &home.path().join("skills")] {
        let permissions = json!({"deny": ["Read(secret/**)"]});
        let listed = skill_in(workspace.path(), &[path], permissions, json!({})).unwrap();
        let names: Vec<&Value> =
            listed["skills"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
        assert_eq!(names, ["create-skill", "own"], "{listed}");
        let problems: Vec<&str> = listed["broken"]
            .as_array()
            .unwrap()
            .iter()
            .map(|broken| broken["problem"].as_str().unwrap())
            .collect();
        assert_eq!(problems.len(), 3, "{listed}");
        assert!(
            problems[0].contains("not allowed") && problems[1..].iter().all(|told| told.contains("outside"))
        );
        // The files behind the links are not named.
        assert!(
            !listed.to_string().contains("denied/SKILL.md") && !listed.to_string().contains("out/SKILL.md")
        );
    }
}

#[test]
fn the_built_in_skill_is_there_without_any_path() {
    let listed = skill(&[], json!({}), json!({})).unwrap();
    assert_eq!(listed["skills"][0]["name"], "create-skill");
    let loaded = skill(&[], json!({}), json!({"action": "load", "name": "create-skill"})).unwrap();
    assert!(loaded["content"].as_str().unwrap().starts_with("# Create a skill"));
}

#[test]
fn a_users_skill_beats_the_built_in_one_of_its_name() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "mine", "---\nname: create-skill\ndescription: Mine.\n---\nMy way.\n");
    let loaded = skill(&[home.path()], json!({}), json!({"action": "load", "name": "create-skill"})).unwrap();
    assert_eq!(loaded["content"], "My way.");
    assert_eq!(loaded["directory"], home.path().join("mine").to_str().unwrap());
    let listed = skill(&[home.path()], json!({}), json!({"action": "list"})).unwrap();
    assert_eq!(listed["skills"], json!([{"name": "create-skill", "description": "Mine.", "source": "user"}]));
}

#[test]
fn a_broken_skill_and_a_missing_path_are_reported() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "broken", "no front matter");
    let missing = home.path().join("missing");
    let listed = skill(&[home.path(), &missing], json!({}), json!({})).unwrap();
    assert_eq!(listed["broken"].as_array().unwrap().len(), 2);
    let problem = json!({"path": missing.to_str().unwrap(), "problem": "there is no such file or directory"});
    assert!(listed["broken"].as_array().unwrap().contains(&problem), "{listed}");
    let error = skill(&[home.path()], json!({}), json!({"action": "load", "name": "broken"})).unwrap_err();
    assert_eq!(error.reason, Reason::NoSuchSkill);
    assert!(error.message.contains("broken/SKILL.md (it does not begin"), "{}", error.message);
}

#[test]
fn load_without_a_name_says_what_to_do() {
    let error = skill(&[], json!({}), json!({"action": "load"})).unwrap_err();
    assert_eq!(error.reason, Reason::InvalidArgument);
    assert!(error.message.contains("use \"list\""));
}

#[test]
fn a_rule_on_skills_holds_for_loading() {
    let error = skill(&[], json!({"deny": ["Skill"]}), json!({"action": "load", "name": "create-skill"}))
        .unwrap_err();
    assert_eq!((error.reason, &error.details["matched_rule"]), (Reason::Denied, &json!("Skill")));
}

#[test]
fn a_rule_on_all_files_holds_for_skills() {
    for args in [json!({}), json!({"action": "load", "name": "create-skill"})] {
        let error = skill(&[], json!({"deny": ["Read"]}), args).unwrap_err();
        assert_eq!((error.reason, &error.details["matched_rule"]), (Reason::Denied, &json!("Read")));
    }
}

#[test]
fn of_two_skills_with_a_name_the_first_is_taken_and_the_other_reported() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(first.path(), "a", "---\nname: mine\ndescription: First.\n---\nFirst.\n");
    write(second.path(), "b", "---\nname: mine\ndescription: Second.\n---\nSecond.\n");
    let listed = skill(&[first.path(), second.path()], json!({}), json!({})).unwrap();
    assert_eq!(listed["skills"][1]["description"], "First.");
    let broken = &listed["broken"][0];
    assert_eq!(broken["path"], second.path().join("b/SKILL.md").to_str().unwrap());
    assert!(broken["problem"].as_str().unwrap().contains("is taken by the skill in"), "{broken}");
}
