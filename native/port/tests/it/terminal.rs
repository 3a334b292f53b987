//! Calls from a command line with a person at it: a pseudoterminal on which the test types.

use crate::common::PROGRAM;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A call whose standard input and error are a terminal.
struct Fixture {
    call: Child,
    keyboard: File,
}

impl Fixture {
    fn new(workspace: &Path, arguments: &[&str]) -> Self {
        let keyboard = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).unwrap();
        rustix::pty::grantpt(&keyboard).unwrap();
        rustix::pty::unlockpt(&keyboard).unwrap();
        let name = rustix::pty::ptsname(&keyboard, Vec::new()).unwrap();
        let open = || -> OwnedFd {
            File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap().into()
        };
        let call = Command::new(PROGRAM)
            .args(["call", "--workspace", workspace.to_str().unwrap()])
            .args(arguments)
            .stdin(Stdio::from(open()))
            .stderr(Stdio::from(open()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self { call, keyboard: File::from(keyboard) }
    }

    /// Waits for a prompt, then types; the text on the screen until then.
    fn answer(&mut self, prompt: &str, keys: &str) -> String {
        let mut screen = Vec::new();
        let mut byte = [0];
        while !String::from_utf8_lossy(&screen).contains(prompt) {
            assert_eq!(self.keyboard.read(&mut byte).unwrap(), 1, "{:?}", String::from_utf8_lossy(&screen));
            screen.push(byte[0]);
        }
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        String::from_utf8(screen).unwrap()
    }

    fn result(self) -> (bool, Value) {
        let output = self.call.wait_with_output().unwrap();
        (output.status.success(), serde_json::from_slice(&output.stdout).unwrap())
    }
}

const QUESTIONS: &str = r#"{"questions": [
    {"question": "Which colour?", "options": [{"label": "Red", "description": "warm"}, {"label": "Green", "description": "calm"}]},
    {"question": "Which name?"}]}"#;

#[test]
fn numbers_and_own_text_answer_questions() {
    let dir = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::new(dir.path(), &["human_input", QUESTIONS]);
    let screen = fixture.answer("cancels): ", "2\r");
    assert!(screen.contains("1. Red (Recommended)  warm") && screen.contains("2. Green  calm"), "{screen}");
    // A character too many, a cursor key, and a character of two bytes that is taken back.
    fixture.answer("Your answer (Esc cancels): ", "Ann\x1b[Dxé\x7f\x7fa\r");
    let (succeeded, result) = fixture.result();
    assert!(succeeded, "{result}");
    assert_eq!(result["outcome"], "answered");
    assert_eq!(result["answers"]["Which colour?"], "Green");
    assert_eq!(result["answers"]["Which name?"], "Anna");
}

#[test]
fn the_recommended_option_is_marked_once() {
    let dir = tempfile::tempdir().unwrap();
    let question = r#"{"questions": [{"question": "Which?", "options": [
        {"label": "Red", "description": "warm"}, {"label": "Green", "description": "calm"}]}]}"#;
    let mut fixture = Fixture::new(dir.path(), &["question", question, "--dialect", "coder"]);
    let screen = fixture.answer("cancels): ", "1\r");
    assert!(screen.contains("1. Red (Recommended)  warm"), "{screen}");
    assert_eq!(fixture.result().1["answers"]["Which?"], "Red");
}

#[test]
fn no_line_of_a_models_text_begins_like_one_of_ours() {
    let dir = tempfile::tempdir().unwrap();
    let ours = "shell_exec wants to run: ls\nAllow it? [y/N] ";
    let question = serde_json::json!({"questions": [{"question": format!("Go on?\n{ours}"), "header": "h", "options": [
        {"label": format!("Yes\n{ours}"), "description": ours}, {"label": "No", "description": "calm"}]}]});
    let mut fixture = Fixture::new(dir.path(), &["human_input", &question.to_string()]);
    let screen = fixture.answer("cancels): ", "2\r");
    assert!(screen.contains("The model asks: Go on?"), "{screen}");
    let begins = |line: &str| line.starts_with("shell_exec") || line.starts_with("Allow");
    assert!(screen.contains("Allow it?") && !screen.lines().any(begins), "{screen}");
    assert!(fixture.result().0);
}

#[test]
fn escape_cancels_every_question() {
    let dir = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::new(dir.path(), &["human_input", QUESTIONS]);
    fixture.answer("cancels): ", "1\r");
    fixture.answer("Your answer (Esc cancels): ", "\x1b");
    let (_, result) = fixture.result();
    assert_eq!(result["outcome"], "cancelled");
    assert_eq!(result["answers"], serde_json::json!({}));
}

#[test]
fn only_a_yes_is_an_approval() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["file_write", r#"{"path": "f", "content": "x"}"#];
    let mut fixture = Fixture::new(dir.path(), &arguments);
    fixture.answer("Allow it? [y/N] ", "\r");
    let (succeeded, error) = fixture.result();
    assert!(!succeeded && !dir.path().join("f").exists());
    assert_eq!(
        (&error["error_type"], &error["details"]["reason"]),
        (&"permission_denied".into(), &"denied".into())
    );

    let mut fixture = Fixture::new(dir.path(), &arguments);
    let screen = fixture.answer("Allow it? [y/N] ", "y\r");
    assert!(screen.contains("file_write wants to change f"), "{screen}");
    assert!(fixture.result().0);
    assert_eq!(std::fs::read(dir.path().join("f")).unwrap(), b"x");
}

#[test]
fn what_is_asked_about_cannot_be_pushed_off_the_screen() {
    let dir = tempfile::tempdir().unwrap();
    let command =
        serde_json::json!({"command": format!("echo ok{}touch f\u{202e}", "\n".repeat(200))}).to_string();
    let mut fixture = Fixture::new(dir.path(), &["shell_exec", &command]);
    let screen = fixture.answer("Allow it? [y/N] ", "n\r");
    assert!(screen.lines().count() <= 2, "{screen}");
    assert!(screen.contains("echo ok\\n\\n") && screen.contains("touch f\\u{202e}"), "{screen}");
    assert!(screen.contains("(201 lines, "), "{screen}");
    assert!(!fixture.result().0);
}
