//! Options of `call` and `mcp` that configure the host.

use crate::args::{self, UsageError};
use crate::settings_file::{self, UserSettings};
use crate::tool_flags::quoted;
use crate::unique_keys::UniqueKeys;
use beamai_base::{HostPattern, Reason, Result as ToolResult, ToolError, nearest};
use beamai_engine::{HostSettings, catalogue, too_wide};
use beamai_isolation::{Network, SandboxMode, SandboxSettings, Tier};
use beamai_policy::{PolicyText, RuleText, SETTINGS_PARTS, check_parts};
use beamai_tool::Limits;
use beamai_tool::SkillSettings;
use beamai_tool::lsp_settings::LspSettings;
use beamai_tool::{WebSettings, web_settings::address};
use beamai_workspace::{Workspace, WorkspaceId};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, ValueHint};
use serde_json::Value;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The value of a bare `--network`; no argument of a program can be this.
const WHOLE_NETWORK: &str = "\0";

/// The options, as parser and help know them.
pub(crate) fn args() -> Vec<Arg> {
    let option = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let rule = |name, help| option(name, "RULE", help).action(ArgAction::Append);
    let default = option(
        "default",
        "MODE",
        "What happens to a call that no rule decides: auto runs tools that only read and asks about the others",
    )
    .value_parser(PossibleValuesParser::new(["auto", "allow", "ask", "deny"]))
    .default_value("auto");
    vec![
        dialect(),
        option("workspace", "DIR", "Directory that the tools are confined to; by default the current one, unless that is / or the home directory")
            .value_parser(clap::value_parser!(PathBuf))
            .value_hint(ValueHint::DirPath),
        rule("allow", "Run calls that match this permission rule without asking: a name such as Bash or Write, or Bash(git:*), Edit(src/**), WebFetch(domain:example.com). May be repeated"),
        rule("ask", "Ask before calls that match this rule, even if a rule allows them. May be repeated"),
        rule("deny", "Refuse calls that match this rule, whatever the other rules say. May be repeated"),
        default,
        option("settings", "FILE", "JSON file with permissions and settings, read instead of your own settings file; `none` reads no file")
            .long_help(SETTINGS_HELP)
            .value_parser(clap::value_parser!(PathBuf))
            .value_hint(ValueHint::FilePath)
            .action(ArgAction::Append),
        option("allow-address", "IP:PORT", "Allow fetching from this address although it is not public. May be repeated")
            .action(ArgAction::Append),
        option("sandbox", "MODE", "How commands are isolated: required (the default, the same as required:full) runs them only with every layer, required:landlock only with the layers that need no namespaces, best_effort with the layers that are there, off with none. doctor says what works on this machine"),
        option("network", "NAME", "Let commands reach the whole network, or with =NAME only this name: example.com, *.example.com or * for every name, each with or without a port (example.com:443). May be repeated. The rule Network(domain:example.com) does the same")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value(WHOLE_NETWORK)
            .action(ArgAction::Append),
    ]
}

/// The option that selects the dialect.
pub(crate) fn dialect() -> Arg {
    // All are accepted, but only those for people are listed.
    let is_offered = |name: &str| catalogue::offered_dialects().any(|offered| offered == name);
    let values = catalogue::dialects().map(|name| PossibleValue::new(name).hide(!is_offered(name)));
    Arg::new("dialect")
        .long("dialect")
        .value_name("D")
        .value_parser(PossibleValuesParser::new(values))
        .default_value("beamai")
        .help("The set of tools: each dialect has its own names, parameters and results for the same operations")
}

const SETTINGS_HELP: &str = "\
JSON file with permissions and settings. It is read instead of your own settings file, which is
$XDG_CONFIG_HOME/beamai/settings.json, by default ~/.config/beamai/settings.json. `none` reads no file at all. Rules and addresses
on the command line are added to those of the file; --default, --sandbox and --network override it. A file has any of these parts:
  \"permissions\": {\"allow\": [], \"ask\": [], \"deny\": [], \"default\": \"auto\"}, or by tool \"permission\": {\"fetch\": \"allow\"}
  \"sandbox\": \"MODE\" or {\"mode\": \"MODE\", \"tier\": \"full\", \"without\": [], \"network\": false or [\"NAME\"],
             \"credentials\": {\"HOST\": {\"HEADER\": \"…\"}},
             \"unix_sockets\": false, \"readable\": [], \"writable\": [], \"env\": [], \"memory\": BYTES, \"processes\": N, \"cpu\": SECONDS, \"file_size\": BYTES}
  \"web\": {\"allow_addresses\": [\"IP:PORT\"], \"allowed_domains\": [\"DOMAIN\"], \"blocked_domains\": [\"DOMAIN\"], \"user_agent\": \"…\",
          \"search\": {\"provider\": \"searxng\", \"base_url\": \"…\", \"api_key\": \"…\"}}
  \"skills\": {\"paths\": []}
  \"lsp\": {\"servers\": {\"python\": {\"command\": [\"…\"]}}}";

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
    /// The person's own settings file, if it was read.
    user_settings: Option<UserSettings>,
    /// The settings files that contain credentials.
    credential_files: Vec<PathBuf>,
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
            user_settings: None,
            credential_files: Vec::new(),
        }
    }
}

impl HostOptions {
    /// What was given.
    ///
    /// # Errors
    /// A value that means nothing, a settings file that cannot be read or has mistakes in it.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, UsageError> {
        let text = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
        let texts = |name: &str| matches.get_many::<String>(name).unwrap_or_default();
        let rules = |name: &str| -> Result<Vec<RuleText>, UsageError> {
            texts(name).map(|rule| named_tool(rule).map(|()| rule.as_str().into())).collect()
        };
        let mut options = Self {
            dialect: text("dialect").to_owned(),
            workspace: matches.get_one::<PathBuf>("workspace").cloned(),
            ..Self::default()
        };
        options.policy.allow = rules("allow")?;
        options.policy.ask = rules("ask")?;
        options.policy.deny = rules("deny")?;
        options.policy.default = one_of("mode", text("default"), "auto, allow, ask, deny")?;
        if let Some(mode) = matches.get_one::<String>("sandbox") {
            let named: SandboxSettings = mode.parse().map_err(UsageError)?;
            options.mode = Some((named.mode, named.tier));
        }
        for named in texts("allow-address") {
            options.addresses.push(address(named).map_err(UsageError)?);
        }
        for named in texts("network") {
            match named.as_str() {
                WHOLE_NETWORK => options.has_network = true,
                name => options.names.push(HostPattern::parse(name).map_err(UsageError)?),
            }
        }
        if options.has_network && !options.names.is_empty() {
            let what = "--network is the whole network and --network=NAME a part of it; give one of them";
            return Err(UsageError(what.into()));
        }
        options.read_settings(matches.get_many::<PathBuf>("settings").unwrap_or_default())?;
        Ok(options)
    }

    /// Reads the files that were named, or where none was, the person's own.
    fn read_settings<'a>(&mut self, named: impl Iterator<Item = &'a PathBuf>) -> Result<(), UsageError> {
        let named: Vec<&PathBuf> = named.collect();
        if named.is_empty() {
            self.user_settings = settings_file::of_user()?;
            let Some(own) = self.user_settings.clone() else { return Ok(()) };
            return self.load(&own.path, own.text);
        }
        for path in named.into_iter().filter(|path| path.as_os_str() != settings_file::NONE) {
            self.load(path, settings_file::read(path)?)?;
        }
        Ok(())
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

    /// The options that say which call it is, as they are typed to make another one like it.
    pub(crate) fn again(&self) -> String {
        let workspace =
            self.workspace.as_ref().map(|path| format!(" --workspace {}", quoted(&path.to_string_lossy())));
        let dialect = (self.dialect != "beamai").then(|| format!(" --dialect {}", self.dialect));
        workspace.into_iter().chain(dialect).collect()
    }

    /// The settings of the host. What the command line says of the sandbox holds over what a file says.
    ///
    /// # Errors
    /// If the workspace cannot be opened.
    pub(crate) fn settings(mut self) -> ToolResult<HostSettings> {
        self.web.allow_addresses.extend(self.addresses);
        (self.sandbox.mode, self.sandbox.tier) = self.mode.unwrap_or((self.sandbox.mode, self.sandbox.tier));
        self.sandbox.network = network(self.sandbox.network, self.has_network, self.names);
        let workspace = workspace(self.workspace.as_deref())?;
        if let Some(own) = &self.user_settings {
            own.check_outside(&workspace)?;
        }
        self.sandbox.hidden = settings_file::hidden(&self.credential_files, &workspace)?;
        Ok(HostSettings {
            workspace,
            permissions: self.policy,
            sandbox: self.sandbox,
            limits: Limits::default(),
            skills: self.skills,
            lsp: self.lsp,
            web: self.web,
        })
    }

    /// Has the rules of a settings file added to those of the command line, and takes its other parts as they are.
    fn load(&mut self, file: &Path, text: String) -> Result<(), UsageError> {
        let wrong = |why: String| settings_file::wrong(file, &why);
        let UniqueKeys(mut settings) =
            serde_json::from_str(&text).map_err(|error: serde_json::Error| match error.is_data() {
                true => wrong(error.to_string()),
                false => {
                    wrong(format!("it is not JSON from line {}, column {} on", error.line(), error.column()))
                }
            })?;
        let parts = settings.as_object().ok_or_else(|| wrong("it is no object".to_owned()))?;
        check_parts(parts).map_err(wrong)?;
        if !SETTINGS_PARTS.iter().any(|part| parts.contains_key(*part)) {
            return Err(wrong(format!("it has none of the keys {}", SETTINGS_PARTS.join(", "))));
        }
        take(&mut settings, "sandbox", &mut self.sandbox).map_err(wrong)?;
        take(&mut settings, "web", &mut self.web).map_err(wrong)?;
        let has_search_key = self.web.search.as_ref().is_some_and(|search| search.api_key.is_some());
        if has_search_key || !self.sandbox.credentials.is_empty() {
            self.credential_files.push(file.to_owned());
        }
        take(&mut settings, "skills", &mut self.skills).map_err(wrong)?;
        take(&mut settings, "lsp", &mut self.lsp).map_err(wrong)?;
        if ["permissions", "permission"].iter().any(|part| settings.get(part).is_some()) {
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
        eprintln!("{}: {what}: {obstacle}", args::program());
    }
}

/// Commands are not supported.
#[cfg(not(target_os = "linux"))]
pub(crate) fn warn(_: &SandboxSettings) {}

/// The network of a settings file with what the command line says of it.
fn network(file: Network, is_all: bool, names: Vec<HostPattern>) -> Network {
    match (is_all, names.is_empty(), file) {
        (true, _, _) => Network::All,
        (false, true, file) => file,
        (false, false, Network::Names(known)) => Network::Names(known.into_iter().chain(names).collect()),
        (false, false, _) => Network::Names(names),
    }
}

/// Checks that there is the tool that a rule of the command line names; a file may be shared with hosts that have others.
fn named_tool(rule: &str) -> Result<(), UsageError> {
    let tool = rule.split('(').next().unwrap_or_default();
    let is_name = !tool.is_empty() && tool.chars().all(|char| char.is_alphanumeric() || "_-.".contains(char));
    // The parser of rules reports a text that cannot be a name.
    if !is_name || catalogue::canonical_rule(tool).is_some() || tool.starts_with("mcp__") {
        return Ok(());
    }
    let near = nearest(tool, catalogue::rules().iter().copied()).join(", ");
    let pattern = rule.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let meant = match pattern {
        _ if !near.is_empty() => format!("did you mean {near}?"),
        None => format!("a rule for a program is Bash({tool}:*), one for a file Read({tool})"),
        Some(pattern) => {
            let all = if pattern.contains('*') { "" } else { ":*" };
            format!(
                "a rule for a command is Bash({pattern}{all}), one for a file Read({pattern}) or Edit({pattern})"
            )
        }
    };
    Err(UsageError(format!("permission rule {rule:?} is not valid: there is no tool {tool}; {meant}")))
}

/// The given workspace, or the current directory, unless that is [too wide](too_wide).
fn workspace(named: Option<&Path>) -> ToolResult<WorkspaceId> {
    let absolute = |path: &Path| {
        let named = std::path::absolute(path);
        named.map_err(|error| ToolError::io("find the directory", path.display().to_string(), error))
    };
    if let Some(path) = named {
        // Where links are on its path, it is known by both names.
        return Ok(Workspace::open(&absolute(path)?)?.named());
    }
    let current = Workspace::open(&absolute(&current_directory())?)?.named();
    let Some(what) = too_wide(&current) else { return Ok(current) };
    let message = format!(
        "the current directory is {what}, which is a workspace only where it is named: pass --workspace DIR with the \
         directory that the tools may work in"
    );
    Err(ToolError::new(Reason::InvalidArgument, message))
}

/// The current directory by the name that the shell knows it by, which may have links in it.
fn current_directory() -> PathBuf {
    let same = |path: &PathBuf| {
        let id = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        path.is_absolute() && id(path).is_some_and(|named| Some(named) == id(Path::new(".")))
    };
    std::env::var_os("PWD").map(PathBuf::from).filter(same).unwrap_or_else(|| ".".into())
}

/// Takes a key of a settings file, if present. Its errors name the key.
fn take<T: serde::de::DeserializeOwned>(
    settings: &mut Value,
    part: &str,
    into: &mut T,
) -> Result<(), String> {
    if let Some(own) = settings.get_mut(part).map(Value::take) {
        *into = serde_json::from_value(own).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn one_of<T: serde::de::DeserializeOwned>(what: &str, text: &str, known: &str) -> Result<T, UsageError> {
    serde_json::from_value(text.into())
        .map_err(|_| UsageError(format!("there is no {what} {text:?}; there are: {known}")))
}
