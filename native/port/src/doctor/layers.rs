//! Tests every sandbox layer with an attempt that it must prevent.

use super::victim::Victim;
use super::{LayerReport, LayerStatus};
use beamai_base::Reason;
use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host};
use beamai_isolation::Tier;
use beamai_services::services;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory limit of the doctor's commands, and half of what one of them tries to allocate.
const MEMORY: u64 = 256 << 20;

/// A program that exists on every machine; denied to test the exec guard.
const DENIED: &str = "true";

/// A directory on the machine with a file to protect; removed at the end.
struct DoctorFixture(PathBuf);

/// An attempt against one layer.
struct Trial {
    layer: &'static str,
    /// Its description, for people.
    text: &'static str,
    /// The arguments of the attempt program.
    attempt: String,
    /// Whether it is harmless without a sandbox.
    is_harmless: bool,
    /// Whether it sends a fatal signal: then it has succeeded if the victim has exited. The exit code says nothing,
    /// because a process in the sandbox may have the same pid.
    is_signal: bool,
}

/// Tests all layers. Also returns the best tier that works on this machine.
///
/// # Errors
/// The reason why testing could not start.
pub(super) fn examine() -> Result<(Vec<LayerReport>, Option<Tier>), String> {
    let fixture =
        DoctorFixture::set_up().map_err(|error| format!("no directory to try things in: {error}"))?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("cannot listen: {error}"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let sandbox = json!({"mode": "best_effort", "memory": MEMORY, "readable": [program], "report": "always"});
    let all = json!({"default": "allow"});
    // The guard is only active if a rule concerns programs.
    let guarded =
        host(&fixture, &sandbox, &json!({"default": "allow", "deny": [format!("Bash({DENIED}:*)")]}))?;
    let under = host(&fixture, &sandbox, &all)?;
    let without = host(&fixture, &json!("off"), &all)?;
    let [isolation, guarded_isolation] =
        [run(&under, ":")?["isolation"].take(), run(&guarded, ":")?["isolation"].take()];
    let tiers = [("full", Tier::Full), ("landlock", Tier::Landlock)].into_iter();
    let works = |name: &str| {
        let sandbox = json!({"tier": name, "memory": MEMORY, "readable": [program]});
        host(&fixture, &sandbox, &all).and_then(|host| run(&host, "true")).is_ok()
    };
    let tier = tiers.into_iter().find(|(name, _)| works(name)).map(|(_, tier)| tier);
    let examine = |trial: Trial| {
        let attempt = |host: &Host| {
            let victim = Victim::start()?;
            let attempt =
                trial.attempt.replace("{pid}", &victim.pid()).replace("{start}", &victim.started()?);
            let has_succeeded = succeeds(host, &program, &attempt)?;
            Ok(match trial.is_signal {
                true => victim.has_ended(),
                false => has_succeeded,
            })
        };
        let (under, isolation) = match trial.layer {
            "exec_guard" => (&guarded, &guarded_isolation),
            _ => (&under, &isolation),
        };
        examine_one(&trial, isolation, || attempt(under), || attempt(&without))
    };
    let layers = trials(&fixture, &address.to_string()).into_iter().map(examine).collect::<Result<_, _>>()?;
    Ok((layers, tier))
}

fn examine_one(
    trial: &Trial,
    isolation: &Value,
    under: impl Fn() -> Result<bool, String>,
    without: impl Fn() -> Result<bool, String>,
) -> Result<LayerReport, String> {
    let layer = |state, why: Option<String>| LayerReport {
        layer: trial.layer.to_owned(),
        state,
        attempt: trial.text,
        why,
    };
    let off = isolation["off"].as_array().into_iter().flatten().find(|off| off["layer"] == trial.layer);
    if let Some(off) = off {
        return Ok(layer(LayerStatus::Off, off["why"].as_str().map(str::to_owned)));
    }
    if under()? {
        return Ok(layer(LayerStatus::Broken, Some("the attempt succeeded".to_owned())));
    }
    Ok(match trial.is_harmless && without()? {
        true => layer(LayerStatus::Proved, None),
        false => layer(LayerStatus::On, None),
    })
}

fn trials(fixture: &DoctorFixture, address: &str) -> Vec<Trial> {
    let trial = |layer, text, attempt: String| Trial {
        layer,
        text,
        is_signal: attempt.starts_with("end "),
        attempt,
        is_harmless: layer != "landlock",
    };
    let namespace = |layer, kind: &str, text| {
        let link = std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
        trial(layer, text, format!("namespace {kind} '{}'", link.display()))
    };
    let victim = fixture.path("victim");
    vec![
        trial("user_namespace", "find other users", "users".into()),
        trial("pid_namespace", "end a process of the machine", "end {pid}".into()),
        namespace("ipc_namespace", "ipc", "share the machine's message queues"),
        namespace("uts_namespace", "uts", "share the machine's host name"),
        trial("network_namespace", "connect to a server of the machine", format!("tcp {address}")),
        namespace("mount_namespace", "mnt", "share the machine's mounts"),
        trial("private_proc", "look up a process of the machine", "process_of {pid} {start}".into()),
        trial("resource_limits", "take more memory than is given", format!("memory {}", MEMORY * 2)),
        trial(
            "resource_limits",
            "take more by several processes",
            format!("memory_together 6 {}", MEMORY / 4),
        ),
        trial("read_only_filesystem", "write outside the workspace", write(&victim)),
        trial("protected_paths", "change a repository's settings", write(&fixture.path("ws/.git/config"))),
        trial("no_capabilities", "have a capability", "capability".into()),
        trial("no_new_privileges", "have a program give privileges", "privileges".into()),
        trial("landlock", "create a file in /dev, which the mounts permit", "write /dev/beamai".into()),
        trial("exec_guard", "start a program that a rule denies", format!("start {DENIED}")),
        trial("seccomp", "trace a process", "call ptrace".into()),
        trial("seccomp", "change the limits of what watches over them", "limit $PPID".into()),
    ]
}

fn write(path: &Path) -> String {
    format!("write '{}'", path.display())
}

fn host(fixture: &DoctorFixture, sandbox: &Value, permissions: &Value) -> Result<Host, String> {
    let workspace = Workspace::open(&fixture.path("ws")).map_err(|error| error.message)?.id();
    let settings = json!({"workspace": workspace, "permissions": permissions, "sandbox": sandbox});
    let settings = serde_json::from_value(settings).map_err(|error| error.to_string())?;
    Host::new(&settings, Arc::new(services())).map_err(|error| error.message)
}

fn succeeds(host: &Host, program: &Path, attempt: &str) -> Result<bool, String> {
    let result = match outcome(host, &format!("exec '{}' attack {attempt}", program.display()))? {
        CallOutcome::Error(error) if error.reason == Reason::OutOfMemory => return Ok(false),
        outcome => value(outcome)?,
    };
    match result["exit_code"].as_i64() {
        Some(0) => Ok(true),
        // Being killed by a signal is a refusal too.
        Some(1) | None => Ok(false),
        Some(code) => {
            Err(format!("the attempt {attempt:?} could not be made (exit code {code}): {}", result["stderr"]))
        }
    }
}

fn run(host: &Host, command: &str) -> Result<Value, String> {
    value(outcome(host, command)?)
}

fn outcome(host: &Host, command: &str) -> Result<CallOutcome, String> {
    let call = json!({"tool": "shell_exec", "args": {"command": command, "timeout": 20_000}});
    let call: CallRequest = serde_json::from_value(call).map_err(|error| error.to_string())?;
    Ok(host.call(call, CallOptions::default()))
}

fn value(outcome: CallOutcome) -> Result<Value, String> {
    match outcome {
        CallOutcome::Ok(value, _) => Ok(value),
        CallOutcome::Error(error) => Err(error.message),
        _ => Err("a command asked something".to_owned()),
    }
}

impl DoctorFixture {
    /// A directory that commands can see: not the temporary directory, which is private in a sandbox.
    fn set_up() -> std::io::Result<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let candidates = [Some(PathBuf::from("/var/tmp")), home, std::env::current_dir().ok()];
        let mut failed = std::io::Error::other("nothing to write in");
        for dir in candidates.into_iter().flatten() {
            let path = dir.join(format!(".beamai-doctor-{}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Self(path).furnished(),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn furnished(self) -> std::io::Result<Self> {
        std::fs::create_dir_all(self.path("ws/.git"))?;
        std::fs::write(self.path("ws/.git/HEAD"), "ref: refs/heads/main\n")?;
        std::fs::write(self.path("ws/.git/config"), "[core]\n")?;
        std::fs::write(self.path("victim"), "")?;
        Ok(self)
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.join(relative)
    }
}

impl Drop for DoctorFixture {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
