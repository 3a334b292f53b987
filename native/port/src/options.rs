//! Options of `call` and `mcp` that configure the host.

use crate::args::{UsageError, text};
use beamai_base::{HostPattern, Reason, Result as ToolResult, ToolError};
use beamai_engine::HostSettings;
use beamai_engine::catalogue;
use beamai_isolation::{Network, SandboxMode, SandboxSettings, Tier};
use beamai_policy::PolicyText;
use beamai_tool::Limits;
use beamai_tool::SkillSettings;
use beamai_tool::lsp_settings::LspSettings;
use beamai_tool::{WebSettings, web_settings::address};
use beamai_workspace::{Workspace, WorkspaceId};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Their description in `--help`.
pub(crate) const HELP: &str = "\
  --workspace DIR   directory that the tools are confined to; default: the current one, unless that is / or the home
                    directory
  --allow RULE      a permission rule: a tool such as Bash or Write, or Bash(git:*), Edit(src/**),
                    WebFetch(domain:example.com); may be repeated
  --ask RULE        likewise; what matches is asked about
  --deny RULE       likewise; deny beats ask beats allow
  --default MODE    auto (default), allow, ask or deny: what happens where no rule decides
  --settings FILE   JSON file with rules under \"permissions\": {\"allow\": [], \"ask\": [], \"deny\": [], \"default\": \"auto\"},
                    or by tool under \"permission\": {\"fetch\": \"allow\"},
                    the sandbox under \"sandbox\": \"MODE\" or {\"mode\": \"MODE\", \"tier\": \"full\", \"without\": [],
                    \"network\": false or [\"NAME\"], \"unix_sockets\": false,
                    \"readable\": [], \"writable\": [], \"env\": [], \"memory\": BYTES, \"processes\": N, \"cpu\": SECONDS,
                    \"file_size\": BYTES}, the network under \"web\": {\"allow_addresses\": [\"IP:PORT\"], \"allowed_domains\": [],
                    \"blocked_domains\": [], \"user_agent\": \"…\", \"search\": {\"provider\": \"searxng\",
                    \"base_url\": \"…\", \"api_key\": \"…\"}},
                    skills under \"skills\": {\"paths\": []}, and language servers under
                    \"lsp\": {\"servers\": {\"python\": {\"command\": [\"…\"]}}}
  --allow-address IP:PORT
                    an address that may be fetched though it is not public; may be repeated
  --sandbox MODE    required (default), required:landlock, best_effort or off: how commands are isolated, and with
                    required the least tier that will do, full or landlock; see beamai-port doctor
  --network         let commands reach the network
  --network=NAME    let commands reach this name: example.com, *.example.com, * for every name, perhaps with a port
                    (example.com:443); may be repeated. Rules Network(domain:example.com) say it, too
";

/// The parsed options.
pub(crate) struct HostOptions {
    dialect: String,
    workspace: Option<PathBuf>,
    policy: PolicyText,
    sandbox: SandboxSettings,
    web: WebSettings,
    skills: SkillSettings,
    lsp: LspSettings,
    mode: Option<(SandboxMode, Tier)>,
    has_network: bool,
    names: Vec<HostPattern>,
    addresses: Vec<SocketAddr>,
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            dialect: "beamai".to_owned(),
            workspace: None,
            policy: PolicyText::default(),
            sandbox: SandboxSettings::default(),
            web: WebSettings::default(),
            skills: SkillSettings::default(),
            lsp: LspSettings::default(),
            mode: None,
            has_network: false,
            names: Vec::new(),
            addresses: Vec::new(),
        }
    }
}

impl HostOptions {
    /// Parses the long option of this name, with its value.
    ///
    /// # Errors
    /// For an unknown option or an invalid value.
    pub(crate) fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), UsageError> {
        match name {
            "dialect" => self.dialect = text(parser)?,
            "workspace" => self.workspace = Some(parser.value()?.into()),
            "allow" => self.policy.allow.push(text(parser)?.into()),
            "ask" => self.policy.ask.push(text(parser)?.into()),
            "deny" => self.policy.deny.push(text(parser)?.into()),
            "default" => self.policy.default = one_of("mode", &text(parser)?, "auto, allow, ask, deny")?,
            "settings" => self.load(&text(parser)?)?,
            "allow-address" => self.addresses.push(address(&text(parser)?).map_err(UsageError)?),
            "sandbox" => {
                let named: SandboxSettings = text(parser)?.parse().map_err(UsageError)?;
                self.mode = Some((named.mode, named.tier));
            }
            // The value must be attached with `=`: an argument after the bare option is not its value.
            "network" => match parser.optional_value() {
                None => self.has_network = true,
                Some(name) => self.names.push(pattern(name)?),
            },
            other => return Err(lexopt::Error::UnexpectedOption(format!("--{other}")).into()),
        }
        match self.has_network && !self.names.is_empty() {
            true => Err(UsageError(
                "--network is the whole network and --network=NAME a part of it; give one of them".into(),
            )),
            false => Ok(()),
        }
    }

    /// The selected dialect.
    ///
    /// # Errors
    /// If it does not exist.
    pub(crate) fn dialect(&self) -> Result<String, UsageError> {
        match catalogue::dialect(&self.dialect) {
            Ok(_) => Ok(self.dialect.clone()),
            Err(error) => Err(UsageError(error.message)),
        }
    }

    /// The host's settings. Sandbox options on the command line take precedence over the settings file.
    ///
    /// # Errors
    /// If the workspace cannot be opened.
    pub(crate) fn settings(mut self) -> ToolResult<HostSettings> {
        self.web.allow_addresses.extend(self.addresses);
        (self.sandbox.mode, self.sandbox.tier) = self.mode.unwrap_or((self.sandbox.mode, self.sandbox.tier));
        self.sandbox.network = network(self.sandbox.network, self.has_network, self.names);
        Ok(HostSettings {
            workspace: workspace(self.workspace.as_deref())?,
            permissions: self.policy,
            sandbox: self.sandbox,
            limits: Limits::default(),
            skills: self.skills,
            lsp: self.lsp,
            web: self.web,
        })
    }

    /// Adds the rules of a settings file to those of the command line, and takes its other settings.
    fn load(&mut self, file: &str) -> Result<(), UsageError> {
        let wrong = |why: String| UsageError(format!("settings file {file}: {why}"));
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let mut settings: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if !PARTS.iter().any(|part| settings.get(part).is_some()) {
            return Err(wrong(format!("it has none of {PARTS:?}")));
        }
        take(&mut settings, "sandbox", &mut self.sandbox).map_err(wrong)?;
        take(&mut settings, "web", &mut self.web).map_err(wrong)?;
        take(&mut settings, "skills", &mut self.skills).map_err(wrong)?;
        take(&mut settings, "lsp", &mut self.lsp).map_err(wrong)?;
        let names = settings.as_object().into_iter().flat_map(|parts| parts.keys());
        // A misspelt key is reported when the rules are parsed.
        if names.map(|name| name.to_lowercase()).any(|name| name.starts_with("perm")) {
            if self.policy.settings.is_some() {
                return Err(wrong("another settings file has permissions already; put them into one".into()));
            }
            self.policy.settings = Some(text);
        }
        Ok(())
    }
}

/// Prints to standard error what prevents sandboxed commands, or some layers, on this machine. Otherwise only the first
/// command would report it, possibly much later.
#[cfg(target_os = "linux")]
pub(crate) fn warn(sandbox: &SandboxSettings) {
    let what = match sandbox.mode {
        SandboxMode::Required => "no command will run here under the sandbox required",
        SandboxMode::BestEffort | SandboxMode::Off => {
            "commands will run here without some layers of the sandbox"
        }
    };
    for obstacle in beamai_sandbox::obstacles_to(sandbox) {
        eprintln!("beamai-port: {what}: {obstacle}");
    }
}

/// Commands are not supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn warn(_: &SandboxSettings) {}

fn pattern(name: std::ffi::OsString) -> Result<HostPattern, UsageError> {
    let name = name.into_string().map_err(|name| UsageError(format!("{name:?} is not valid UTF-8")))?;
    HostPattern::parse(&name).map_err(UsageError)
}

/// The network setting of a settings file, combined with the command line's.
fn network(file: Network, is_all: bool, names: Vec<HostPattern>) -> Network {
    match (is_all, names.is_empty(), file) {
        (true, _, _) => Network::All,
        (false, true, file) => file,
        (false, false, Network::Names(known)) => Network::Names(known.into_iter().chain(names).collect()),
        (false, false, _) => Network::Names(names),
    }
}

/// The given workspace, or the current directory. `/` and the home directory must be given explicitly: a program that
/// was started there usually does not mean to give tools access to the whole disk, or to all files of its user.
fn workspace(named: Option<&Path>) -> ToolResult<WorkspaceId> {
    if let Some(path) = named {
        return Ok(Workspace::open(path)?.id());
    }
    let current = Workspace::open(Path::new("."))?.id();
    let is_current = |path: &Path| {
        Workspace::open(path)
            .is_ok_and(|other| (other.id().device, other.id().inode) == (current.device, current.inode))
    };
    let what = match std::env::home_dir() {
        _ if is_current(Path::new("/")) => "the root of the file system",
        Some(home) if is_current(&home) => "the home directory",
        _ => return Ok(current),
    };
    let message = format!(
        "the current directory is {what}, which is a workspace only where it is named: pass --workspace DIR with the \
         directory that the tools may work in"
    );
    Err(ToolError::new(Reason::InvalidArgument, message))
}

/// The allowed keys of a settings file.
const PARTS: [&str; 6] = ["permissions", "permission", "sandbox", "web", "skills", "lsp"];

/// Takes a key of a settings file, if present.
fn take<T: serde::de::DeserializeOwned>(
    settings: &mut Value,
    part: &str,
    into: &mut T,
) -> Result<(), String> {
    if let Some(own) = settings.get_mut(part).map(Value::take) {
        *into = serde_json::from_value(own).map_err(|error| format!("{part}: {error}"))?;
    }
    Ok(())
}

fn one_of<T: serde::de::DeserializeOwned>(what: &str, text: &str, known: &str) -> Result<T, UsageError> {
    serde_json::from_value(text.into())
        .map_err(|_| UsageError(format!("there is no {what} {text:?}; there are: {known}")))
}
