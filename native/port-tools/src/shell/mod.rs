//! Declarations of the shell tools.

mod background;
mod environment;
mod for_model;
pub mod output;

pub use background::{ShellKill, ShellPoll};
pub use output::{BackgroundOutput, CommandStatus, PrintedOutput, RefusedStart, ShellOutput};

use beamai_base::{Reason, Result, ToolError};
use beamai_bash_reader::plain;
use beamai_policy::{CommandLine, Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Door, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_workspace::WorkspacePath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Maximum length of a command: Linux's limit for one argument.
const MAX_COMMAND: usize = (128 << 10) - 1;

/// Maximum bytes of standard input in an approval request.
const SHOWN_INPUT: usize = 2_000;

/// Runs a command with `bash --noprofile --norc -c`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Shell {
    /// The command, as for `bash -c`; may have several lines. Processes that are still running when it ends are killed,
    /// unless it runs in the background.
    #[schemars(extend("self_evident" = true))]
    pub command: String,
    /// Milliseconds; default 120000, no limit in the background.
    #[serde(default)]
    #[schemars(range(min = 1, max = 86_400_000))]
    pub timeout: Option<u64>,
    /// Directory to run in. Default: the workspace.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub cwd: Option<String>,
    /// Variables to set, as strings.
    #[serde(default)]
    pub env: Option<Map<String, Value>>,
    /// Text for the command's standard input. Default: empty.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub stdin: Option<String>,
    /// Return at once with an id for shell_output and shell_kill.
    #[serde(default)]
    pub run_in_background: bool,
    /// Remove colours and other escape sequences.
    #[serde(default)]
    pub strip_ansi: bool,
    /// What the command is for, in a few words; shown when a person is asked for approval.
    #[schemars(extend("unlisted" = true))]
    pub description: Option<String>,
    /// Whether the tool has no parameters for time, so that advice must not mention them.
    #[serde(skip)]
    #[schemars(skip)]
    pub has_fixed_time: bool,
}

impl Shell {
    /// The directory to run in.
    pub fn directory(&self, cx: &CallContext) -> Result<WorkspacePath> {
        self.cwd.as_deref().map_or_else(|| Ok(cx.workspace.top()), |cwd| cx.workspace.parse_path(cwd))
    }

    /// The variables to set.
    pub fn variables(&self) -> Result<Vec<(String, String)>> {
        self.env.as_ref().map_or(Ok(Vec::new()), environment::variables)
    }

    fn check_command(&self) -> Result<()> {
        let refuse = |reason, message: &str| Err(ToolError::new(reason, message));
        if self.command.trim().is_empty() {
            return refuse(Reason::InvalidArgument, "the command is empty; give one to run");
        }
        if self.command.contains('\0') {
            return refuse(Reason::InvalidArgument, "the command has a NUL byte; remove it");
        }
        if self.command.len() > MAX_COMMAND {
            let message = format!(
                "the command has {} bytes and may have {MAX_COMMAND}; write it to a file and run that with bash, or \
                 pass its data by stdin",
                self.command.len()
            );
            return refuse(Reason::TooLarge, &message);
        }
        Ok(())
    }

    /// The command with directory, variables and input, as it would be typed in bash. They can change what the command
    /// does, so the judge must see them, and a remembered approval must not apply without them.
    ///
    /// A directory or variable applies to the whole command, so a compound command is quoted here: the result must be
    /// unambiguous.
    fn typed(&self, directory: &str) -> Result<String> {
        let mut before = match directory {
            "." => String::new(),
            // `cd` would take it for an option.
            directory if directory.starts_with('-') => {
                format!("cd {} && ", environment::quoted(&format!("./{directory}")))
            }
            directory => format!("cd {} && ", environment::quoted(directory)),
        };
        let variables = self.variables()?;
        // Before a command, these would not be about the shell that runs it.
        let is_for_shell =
            variables.iter().any(|(name, _)| name.starts_with("BASH") || FOR_SHELLS.contains(&&**name));
        for (name, value) in variables {
            before.push_str(&format!("{name}={} ", environment::quoted(&value)));
        }
        let stdin = self.stdin.as_deref().filter(|stdin| !stdin.is_empty());
        let after = stdin.map(|stdin| format!(" <<< {}", shown_input(stdin))).unwrap_or_default();
        if before.is_empty() && after.is_empty() || !is_for_shell && plain(&self.command).is_some() {
            return Ok(format!("{before}{}{after}", self.command));
        }
        Ok(format!("{before}bash -c {}{after}", environment::quoted(&self.command)))
    }
}

/// Variables that a shell takes when it starts, besides those that begin with `BASH`.
const FOR_SHELLS: [&str; 3] = ["ENV", "PS4", "SHELLOPTS"];

/// Input as it would be typed in bash. Long input is shown as its beginning and a hash.
fn shown_input(stdin: &str) -> String {
    if stdin.len() <= SHOWN_INPUT {
        return environment::quoted(stdin);
    }
    let beginning = environment::quoted(&stdin[..stdin.floor_char_boundary(SHOWN_INPUT)]);
    let hash = blake3::hash(stdin.as_bytes()).to_hex();
    format!("{beginning}… ({} bytes, BLAKE3 {hash})", stdin.len())
}

impl Operation for Shell {
    type Output = ShellOutput;
    const TRAITS: Traits = Traits {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        door: Door::Port,
        pace: ExecutionClass::Long,
        session: false,
        asks_user: false,
    };
    const RULE: &'static str = "Bash";

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        self.check_command()?;
        let directory = self.directory(cx)?.destination()?;
        let line = CommandLine {
            typed: self.typed(&directory)?,
            command: self.command.clone(),
            variables: self.variables()?.into_iter().map(|(name, _)| name).collect(),
            directory,
            is_background: self.run_in_background,
        };
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &["Read", "Edit", "Write"],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::Command(line),
        })
    }

    fn run(self, cx: &CallContext) -> Result<ShellOutput, Interrupt> {
        self.check_command()?;
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::ended(result, call, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_tool::{Tool, ToolBinding};
    use beamai_workspace::Workspace;
    use serde_json::json;

    fn shell(args: Value) -> Shell {
        serde_json::from_value(args).unwrap()
    }

    fn context() -> (tempfile::TempDir, CallContext) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        (dir, CallContext::new(workspace))
    }

    fn refused(args: Value) -> ToolError {
        let (_dir, cx) = context();
        shell(args).permission(&cx).unwrap_err()
    }

    #[test]
    fn an_empty_command_or_one_with_nul_is_refused() {
        assert_eq!(refused(json!({"command": " \n"})).reason, Reason::InvalidArgument);
        assert_eq!(refused(json!({"command": "a\0b"})).reason, Reason::InvalidArgument);
    }

    #[test]
    fn a_command_that_no_argument_can_hold_is_refused_with_a_way_out() {
        let error = refused(json!({"command": "x".repeat(128 << 10)}));
        assert_eq!(error.reason, Reason::TooLarge);
        assert!(error.message.contains("write it to a file"), "{}", error.message);
    }

    #[test]
    fn a_directory_outside_the_workspace_is_refused() {
        assert_eq!(refused(json!({"command": "ls", "cwd": "/etc"})).reason, Reason::OutsideWorkspace);
    }

    #[test]
    fn whoever_is_asked_sees_the_variables_with_the_command() {
        let (_dir, cx) = context();
        let shell = shell(json!({"command": "git status", "env": {"BASH_ENV": "./it's", "N": "1"}}));
        assert_eq!(
            shell.permission(&cx).unwrap().subject(),
            r"Bash(BASH_ENV='./it'\''s' N=1 bash -c 'git status')"
        );
    }

    #[test]
    fn no_call_is_shown_as_another_one() {
        let (dir, cx) = context();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        let subject = |call| shell(call).permission(&cx).unwrap().subject();
        std::fs::create_dir(dir.path().join("--")).unwrap();
        let alike = [
            [json!({"command": "x", "env": {"BASH_ENV": "f"}}), json!({"command": "BASH_ENV=f x"})],
            [json!({"command": "x", "cwd": "--"}), json!({"command": "cd -- && x"})],
            [json!({"command": "x; y", "env": {"A": "1"}}), json!({"command": "A=1 x; y"})],
            [json!({"command": "x; y", "cwd": "src"}), json!({"command": "cd src && x; y"})],
            [json!({"command": "x; y", "stdin": "in"}), json!({"command": "x; y <<< in"})],
        ];
        for [given, written] in alike {
            assert_ne!(subject(given.clone()), subject(written), "{given}");
        }
        let all = json!({"command": "x; y", "env": {"A": "1"}, "cwd": "src", "stdin": "in"});
        assert_eq!(subject(all), "Bash(cd src && A=1 bash -c 'x; y' <<< in)");
    }

    #[test]
    fn permission_requirements_the_tool_requires_permission() {
        let tool = ToolBinding::<Shell>::new("shell_exec", "");
        assert!(tool.requires_permission());
        assert_eq!(tool.rule(), "Bash");
    }

    #[test]
    fn without_the_port_it_is_listed_but_does_not_run() {
        let (_dir, cx) = context();
        let Err(Interrupt::Failed(error)) = shell(json!({"command": "true"})).run(&cx) else { panic!() };
        assert_eq!(error.reason, Reason::DoorLost);
    }
}
