//! Table of secrets: which tool keeps them where, with the documentation as source.
//!
//! Toolchains must keep working, so in a directory that contains both secrets and programs or caches, only the files with
//! secrets are listed (`~/.cargo/credentials.toml`, not `~/.cargo`).

use super::{CredentialStore, PathBase};

use PathBase::{Cache, Config, Data, Home, Only, State};

/// A directory named by a variable, with its default beneath the home directory.
const fn named(variable: &'static str, otherwise: &'static str) -> PathBase {
    PathBase::Named { variable, otherwise }
}

const fn store(
    name: &'static str,
    source: &'static str,
    places: &'static [(PathBase, &'static str)],
) -> CredentialStore {
    CredentialStore { name, source, places }
}

/// All entries, by kind.
#[rustfmt::skip]
pub(super) const KEEPERS: &[CredentialStore] = &[
    // Keys and password stores.
    store("OpenSSH", "ssh(1), FILES", &[(Home, ".ssh")]),
    store("GnuPG", "gpg(1), FILES", &[(named("GNUPGHOME", ".gnupg"), "")]),
    store("age", "age(1); SOPS README, age", &[(Config, "age"), (Config, "sops"), (Only("SOPS_AGE_KEY_FILE"), ""), (Only("SOPS_AGE_SSH_PRIVATE_KEY_FILE"), "")]),
    store("step", "step CLI, step path", &[(named("STEPPATH", ".step"), "")]),
    store("minisign, signify", "minisign(1); signify(1)", &[(Home, ".minisign"), (Home, ".signify"), (Only("MINISIGN_CONFIG_DIR"), "")]),
    store("cosign", "Sigstore, cosign key management", &[(Home, ".sigstore"), (Home, ".cosign")]),
    store("NSS", "certutil(1)", &[(Home, ".pki")]),
    store("YubiKey tools", "ykman(1)", &[(Home, ".ykman"), (Home, ".yubico"), (Config, "Yubico")]),
    store("Google Authenticator, eCryptfs", "google-authenticator(1); ecryptfs-wrap-passphrase(1)", &[(Home, ".google_authenticator"), (Home, ".ecryptfs")]),
    store("twurl", "twurl README", &[(Home, ".twurlrc")]),
    store("acme.sh", "acme.sh wiki, DNS API", &[(named("LE_WORKING_DIR", ".acme.sh"), ""), (named("LE_CONFIG_HOME", ".acme.sh"), "")]),
    store("netrc", "curl(1), --netrc; ftp(1)", &[(named("NETRC", ".netrc"), ""), (Home, ".authinfo"), (Home, ".authinfo.gpg")]),
    store("pass", "pass(1), FILES", &[(named("PASSWORD_STORE_DIR", ".password-store"), "")]),
    store("gopass", "gopass, docs/config.md", &[(Config, "gopass"), (Data, "gopass"), (named("GOPASS_HOMEDIR", ""), ".config/gopass"), (named("GOPASS_HOMEDIR", ""), ".local/share/gopass")]),
    store("1Password", "1Password CLI reference, configuration directories", &[(Config, "op"), (Home, ".op"), (Config, "1Password"), (Home, ".1password"), (named("OP_CONFIG_DIR", ".config/op"), "")]),
    store("Bitwarden", "Bitwarden CLI, data.json; rbw README", &[(Config, "Bitwarden CLI"), (Config, "Bitwarden"), (Config, "rbw"), (Cache, "rbw"), (Data, "rbw"),
        (Home, "snap/bw"), (Home, "snap/bitwarden"), (Home, ".var/app/com.bitwarden.desktop"), (named("BITWARDENCLI_APPDATA_DIR", ".config/Bitwarden CLI"), "")]),
    store("LastPass", "lpass(1)", &[(Home, ".lpass"), (Data, "lpass"), (Config, "lpass"), (named("LPASS_HOME", ".lpass"), "")]),
    store("GNOME keyring", "gnome-keyring wiki; seahorse", &[(Data, "keyrings"), (Home, ".gnome2/keyrings")]),
    store("KWallet", "KDE UserBase, KWallet", &[(Data, "kwalletd"), (Home, ".kde/share/apps/kwallet"), (Home, ".kde4/share/apps/kwallet"), (Only("KDEHOME"), "share/apps/kwallet")]),
    store("KeePass, KeePassXC", "KeePassXC user guide; KeePass help, configuration", &[(Config, "keepassxc"), (Cache, "keepassxc"), (Config, "KeePass"), (Data, "KeePass"),
        (Home, "snap/keepassxc"), (Home, ".var/app/org.keepassxc.KeePassXC")]),
    store("Enpass", "Enpass support, data location", &[(Config, "sinew.in"), (Home, "Documents/Enpass")]),
    store("Authenticators", "Authy and GNOME Authenticator, flatpak manifests", &[(Config, "Authy Desktop"), (Home, "snap/authy"), (Home, ".var/app/com.belmoussaoui.Authenticator"), (Data, "authenticator")]),
    store("Python keyring", "keyring README, file backends", &[(Data, "python_keyring")]),
    store("Vault", "Vault CLI, token helper", &[(Home, ".vault-token"), (Home, ".vault"), (Home, ".bao-token"), (named("VAULT_CONFIG_PATH", ".vault"), ""), (Only("BAO_CONFIG_PATH"), "")]),
    store("mkcert, Okta", "mkcert README, CAROOT; Okta CLI and SDK configuration", &[(Data, "mkcert/rootCA-key.pem"), (Only("CAROOT"), "rootCA-key.pem"), (Home, ".okta/okta.yaml")]),
    store("aws-vault, Consul, Nomad, Semgrep", "aws-vault USAGE, file backend; Consul and Nomad CLI, environment variables; Semgrep docs, settings", &[
        (Only("NOMAD_TOKEN_FILE"), ""), (Home, ".awsvault"), (Only("AWS_VAULT_FILE_DIR"), ""), (Only("CONSUL_HTTP_TOKEN_FILE"), ""), (named("SEMGREP_SETTINGS_FILE", ".semgrep/settings.yml"), "")]),
    store("Doppler, Infisical", "Doppler CLI guide; Infisical CLI login", &[(Home, ".doppler"), (Home, ".infisical"), (Home, "infisical-keyring"), (named("DOPPLER_CONFIG_DIR", ".doppler"), "")]),
    store("Teleport, Boundary", "Teleport tsh reference; Boundary CLI", &[(named("TELEPORT_HOME", ".tsh"), ""), (Home, ".tctl"), (Home, ".boundary")]),

    // Agents and models.
    store("Claude Code", "Claude Code docs, credential management, settings, data usage", &[
        (Home, ".claude.json"), (Home, ".claude.json.backup"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), ".credentials.json"), (named("CLAUDE_CONFIG_DIR", ".claude"), ".claude.json"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), "settings.json"), (named("CLAUDE_CONFIG_DIR", ".claude"), "settings.local.json"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), "history.jsonl"), (named("CLAUDE_CONFIG_DIR", ".claude"), "projects"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), "sessions"), (named("CLAUDE_CONFIG_DIR", ".claude"), "session-env"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), "shell-snapshots"), (named("CLAUDE_CONFIG_DIR", ".claude"), "file-history"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), "paste-cache"), (named("CLAUDE_CONFIG_DIR", ".claude"), "backups"),
        (named("CLAUDE_CONFIG_DIR", ".claude"), "debug"), (named("CLAUDE_CONFIG_DIR", ".claude"), "todos"), (named("CLAUDE_CONFIG_DIR", ".claude"), "statsig")]),
    store("Claude Desktop", "Model Context Protocol docs, local servers", &[(Config, "Claude")]),
    store("Codex", "Codex docs, authentication, config.toml, history", &[
        (named("CODEX_HOME", ".codex"), "auth.json"), (named("CODEX_HOME", ".codex"), ".credentials.json"), (named("CODEX_HOME", ".codex"), "config.toml"),
        (named("CODEX_HOME", ".codex"), "history.jsonl"), (named("CODEX_HOME", ".codex"), "sessions"), (named("CODEX_HOME", ".codex"), "archived_sessions"),
        (named("CODEX_HOME", ".codex"), "log"), (named("CODEX_HOME", ".codex"), "shell_snapshots")]),
    store("Gemini CLI", "Gemini CLI configuration, authentication", &[(Home, ".gemini"), (named("GEMINI_CLI_HOME", ""), ".gemini")]),
    store("Qwen Code", "Qwen Code configuration", &[(named("QWEN_HOME", ".qwen"), "")]),
    store("opencode", "opencode docs, providers, credentials; config", &[
        (Data, "opencode"), (Config, "opencode/opencode.json"), (Config, "opencode/opencode.jsonc"), (Config, "opencode/config.json"),
        (State, "opencode"), (Home, ".opencode.json"), (Only("OPENCODE_CONFIG"), ""),
        (Only("OPENCODE_CONFIG_DIR"), "opencode.json"), (Only("OPENCODE_CONFIG_DIR"), "opencode.jsonc")]),
    store("Crush", "Crush README, configuration", &[(Config, "crush"), (Data, "crush"), (Only("CRUSH_GLOBAL_CONFIG"), "crush.json"), (Only("CRUSH_GLOBAL_DATA"), "crush.json")]),
    store("Plandex, Codebuff, Sourcery, Tabby", "each command line's docs, login", &[(Home, ".plandex-home-v2"), (Config, "manicode/credentials.json"), (Config, "sourcery/auth.yaml"),
        (Home, ".tabby-client/agent/config.toml")]),
    store("Mistral Vibe, iFlow, Kilo", "each command line's docs, configuration", &[(named("VIBE_HOME", ".vibe"), ".env"), (Home, ".iflow"), (Data, "kilo")]),
    store("nanobot, PicoClaw", "each README, configuration", &[(Home, ".nanobot/config.json"), (Home, ".picoclaw/config.json")]),
    store("Gmail MCP server, Google Workspace CLI", "each README, authentication", &[(Home, ".gmail-mcp"), (Config, "gws")]),
    store("clasp, GAM, bq, pydata", "clasp README; GAM wiki; bq reference; pydata-google-auth docs", &[(Home, ".clasprc.json"), (Home, ".gam"), (Home, ".bigquery.v2.token"), (Config, "pydata")]),
    store("Cursor", "Cursor docs, MCP, CLI configuration", &[(Config, "Cursor"), (Config, "cursor"), (Home, ".cursor/mcp.json"), (Home, ".cursor/cli-config.json"),
        (Home, ".cursor/chats"), (Home, ".cursor/projects"),
        (Only("CURSOR_CONFIG_DIR"), "cli-config.json"), (Only("CURSOR_CONFIG_DIR"), "mcp.json")]),
    store("Windsurf", "Windsurf docs, MCP", &[(Home, ".codeium"), (Config, "Windsurf")]),
    store("Aider", "Aider docs, options, .env and .aider.conf.yml", &[(Home, ".aider.conf.yml"), (Home, ".aider.model.settings.yml"), (Home, ".aider"),
        (Home, ".aider.input.history"), (Home, ".aider.chat.history.md"), (Home, ".env")]),
    store("Goose", "Goose docs, configuration files", &[(Config, "goose"), (Data, "goose"), (State, "goose"), (Only("GOOSE_PATH_ROOT"), "")]),
    store("Continue", "Continue docs, configuration", &[(named("CONTINUE_GLOBAL_DIR", ".continue"), "")]),
    store("Cline, Roo, Kilo", "Cline docs, CLI", &[(named("CLINE_DIR", ".cline"), ""), (Only("CLINE_DATA_DIR"), ""), (Home, ".roo"), (Home, ".kilocode")]),
    store("GitHub Copilot", "GitHub docs, Copilot CLI; copilot.vim README", &[(Config, "github-copilot"), (named("COPILOT_HOME", ".copilot"), "")]),
    store("Augment, Factory", "Auggie CLI docs, authentication; Factory CLI docs", &[(Home, ".augment/session.json"), (Home, ".factory/auth.json"), (Home, ".factory/auth.encrypted"), (Home, ".factory/config.json")]),
    store("Amp", "Amp manual, configuration", &[(Config, "amp"), (Data, "amp"), (Cache, "amp"), (Only("AMP_SETTINGS_FILE"), "")]),
    store("Amazon Q, Kiro", "Amazon Q Developer CLI; Kiro CLI, data", &[(Data, "amazon-q"), (Data, "kiro-cli"), (Home, ".kiro")]),
    store("Zed", "Zed docs, configuring", &[(Config, "zed"), (Data, "zed")]),
    store("Sourcegraph Cody, src", "src CLI README", &[(Home, "src-config.json"), (Config, "Cody-nodejs")]),
    store("llm, aichat, mods", "llm docs, keys; aichat and mods READMEs", &[(Config, "io.datasette.llm"), (Config, "aichat"), (Config, "mods"), (Data, "mods"), (Config, "shell_gpt"), (named("LLM_USER_PATH", ".config/io.datasette.llm"), ""), (named("AICHAT_CONFIG_DIR", ".config/aichat"), "")]),
    store("Open Interpreter, OpenHands", "OpenHands docs, CLI", &[(Config, "open-interpreter"), (Config, "Open Interpreter"), (Home, ".openhands")]),
    store("OpenAI tools", "OpenAI docs, API keys", &[(Config, "openai"), (Home, ".openai")]),
    store("Anthropic tools", "Anthropic CLI", &[(Config, "anthropic"), (Home, ".anthropic")]),
    store("Hugging Face", "huggingface_hub docs, environment variables", &[(named("HF_HOME", ".cache/huggingface"), "token"), (named("HF_HOME", ".cache/huggingface"), "stored_tokens"), (Home, ".huggingface/token"), (named("HF_TOKEN_PATH", ".cache/huggingface/token"), ""), (Cache, "huggingface/token"), (Cache, "huggingface/stored_tokens")]),
    store("Kaggle, Weights & Biases", "Kaggle API README; wandb docs, login", &[(Home, ".kaggle"), (Config, "kaggle"), (Config, "wandb"), (named("KAGGLE_CONFIG_DIR", ".kaggle"), ""), (named("WANDB_CONFIG_DIR", ".config/wandb"), "")]),
    store("Jupyter", "Jupyter Server docs, security; jupyter(1), paths", &[(named("JUPYTER_CONFIG_DIR", ".jupyter"), "jupyter_server_config.json"), (named("JUPYTER_CONFIG_DIR", ".jupyter"), "jupyter_server_config.py"),
        (named("JUPYTER_CONFIG_DIR", ".jupyter"), "jupyter_notebook_config.json"), (Data, "jupyter/runtime"), (named("JUPYTER_RUNTIME_DIR", ".local/share/jupyter/runtime"), ""), (named("JUPYTER_DATA_DIR", ".local/share/jupyter"), "runtime")]),
    store("Earth Engine, Copernicus, NGC, Comet", "Earth Engine docs, ee.Authenticate; cdsapi README; NGC CLI docs; Comet docs, configuration", &[(Config, "earthengine"), (named("CDSAPI_RC", ".cdsapirc"), ""), (Home, ".ecmwfapirc"), (named("NGC_CLI_HOME", ""), ".ngc"), (named("COMET_CONFIG", ".comet.config"), "")]),
    store("Ollama, LM Studio", "Ollama FAQ", &[(Home, ".ollama/id_ed25519"), (Home, ".ollama/history"), (Home, ".lmstudio/.internal")]),
    store("Replicate, Modal", "Modal docs, configuration", &[(Home, ".modal.toml"), (Config, "replicate"), (named("MODAL_CONFIG_PATH", ".modal.toml"), "")]),
    store("OpenClaw", "OpenClaw docs, configuration, environment variables", &[(named("OPENCLAW_STATE_DIR", ".openclaw"), ""), (Only("OPENCLAW_CONFIG_PATH"), ""), (Home, ".clawdbot"), (Home, ".moltbot")]),
    store("Pi, Hermes Agent, Kimi Code", "pi-coding-agent README, authentication; Hermes Agent docs, configuration; Kimi CLI docs, configuration files", &[
        (named("PI_CODING_AGENT_DIR", ".pi/agent"), "auth.json"), (named("PI_CODING_AGENT_DIR", ".pi/agent"), "models.json"), (named("PI_CODING_AGENT_DIR", ".pi/agent"), "sessions"), (named("HERMES_HOME", ".hermes"), ".env"),
        (named("HERMES_HOME", ".hermes"), "auth.json"), (Home, ".kimi/config.toml"), (Home, ".kimi/credentials"), (Home, ".kimi/sessions"), (Only("KIMI_SHARE_DIR"), "config.toml"),
        (Only("KIMI_SHARE_DIR"), "credentials"), (Only("KIMI_SHARE_DIR"), "sessions")]),
    store("mcp-remote", "mcp-remote README", &[(named("MCP_REMOTE_CONFIG_DIR", ".mcp-auth"), "")]),
    store("MLflow, ClearML", "MLflow source, mlflow/utils/credentials.py; ClearML docs, clearml.conf", &[(Home, ".mlflow/credentials"), (named("CLEARML_CONFIG_FILE", "clearml.conf"), "")]),
    store("Vast.ai, RunPod, E2B, Truss", "Vast.ai CLI, authentication; runpodctl README; E2B CLI docs; Truss docs", &[(Config, "vastai/vast_api_key"), (Home, ".vast_api_key"), (Home, ".runpod/config.toml"),
        (Home, ".e2b/config.json"), (Home, ".trussrc")]),
    store("Fabric, Daytona", "fabric README, setup; Daytona CLI docs", &[(Config, "fabric/.env"), (Config, "daytona/config.json")]),

    store("Commit writers", "opencommit and aicommits READMEs, configuration", &[(Home, ".opencommit"), (Home, ".aicommits")]),
    store("Claude Code Router", "claude-code-router README, configuration", &[(Home, ".claude-code-router/config.json")]),
    store("n8n", "n8n docs, encryption key", &[(Home, ".n8n/config")]),
    // Browsers, in their own places and in those of snap and flatpak.
    store("Firefox and its kin", "Mozilla support, profiles", &[
        (Home, ".mozilla"), (Config, "mozilla"), (Cache, "mozilla"), (Home, "snap/firefox"), (Home, ".var/app/org.mozilla.firefox"),
        (Home, ".librewolf"), (Home, ".var/app/io.gitlab.librewolf-community"), (Home, ".waterfox"), (Home, ".floorp"), (Home, ".zen"), (Home, ".var/app/app.zen_browser.zen"),
        (Home, ".local/share/torbrowser")]),
    store("Chromium and its kin", "Chromium docs, user data directory", &[
        (Config, "net.imput.helium"), (Config, "google-chrome"), (Config, "google-chrome-beta"), (Config, "google-chrome-unstable"), (Config, "google-chrome-for-testing"), (Config, "chromium"),
        (Cache, "google-chrome"), (Cache, "chromium"), (Home, "snap/chromium"), (Home, ".var/app/com.google.Chrome"), (Home, ".var/app/org.chromium.Chromium"),
        (Home, ".var/app/io.github.ungoogled_software.ungoogled_chromium"),
        (Only("CHROME_CONFIG_HOME"), "google-chrome"), (Only("CHROME_CONFIG_HOME"), "google-chrome-beta"), (Only("CHROME_CONFIG_HOME"), "google-chrome-unstable"), (Only("CHROME_CONFIG_HOME"), "chromium"),
        (Only("CHROME_USER_DATA_DIR"), "")]),
    store("Brave", "Brave help, profile location", &[(Config, "BraveSoftware"), (Cache, "BraveSoftware"), (Home, "snap/brave"), (Home, ".var/app/com.brave.Browser")]),
    store("Edge", "Microsoft Edge docs, user data directory", &[(Config, "microsoft-edge"), (Config, "microsoft-edge-beta"), (Config, "microsoft-edge-dev"), (Home, ".var/app/com.microsoft.Edge")]),
    store("Vivaldi, Opera, Yandex", "Vivaldi help, profile; Opera help", &[(Config, "vivaldi"), (Config, "vivaldi-snapshot"), (Config, "opera"), (Config, "opera-beta"), (Config, "yandex-browser"),
        (Home, ".var/app/com.vivaldi.Vivaldi"), (Home, ".var/app/com.opera.Opera"), (Home, "snap/opera")]),
    store("Epiphany, Falkon, qutebrowser", "GNOME Web help; qutebrowser docs, files", &[(Data, "epiphany"), (Config, "falkon"), (Data, "qutebrowser"), (Config, "qutebrowser"),
        (Home, ".var/app/org.gnome.Epiphany"), (Data, "konqueror")]),
    store("Text browsers", "lynx(1), w3m(1), wget(1)", &[(Home, ".lynx_cookies"), (named("W3M_DIR", ".w3m"), ""), (Home, ".wgetrc"), (Home, ".curlrc"), (Config, "curlrc"), (Config, "wget"), (named("WGETRC", ".wgetrc"), ""), (named("CURL_HOME", ""), ".curlrc")]),

    // Package managers.
    store("npm", "npm docs, npmrc", &[(named("NPM_CONFIG_USERCONFIG", ".npmrc"), ""), (named("npm_config_userconfig", ".npmrc"), "")]),
    store("Yarn", "Yarn docs, configuration; Yarn 1, .yarnrc", &[(Home, ".yarnrc.yml"), (Home, ".yarnrc")]),
    store("pnpm", "pnpm docs, settings, auth", &[(Config, "pnpm/rc"), (Config, "pnpm/auth.ini")]),
    store("Bun, Deno", "Bun docs, bunfig.toml; deno docs, DENO_AUTH_TOKENS", &[(Home, ".bunfig.toml"), (Config, ".bunfig.toml")]),
    store("pip, twine", "pip docs, configuration; PyPA, .pypirc", &[(Home, ".pypirc"), (Config, "pip/pip.conf"), (Home, ".pip/pip.conf"), (named("PIP_CONFIG_FILE", ".config/pip/pip.conf"), "")]),
    store("Poetry", "Poetry docs, configuration, auth.toml", &[(Config, "pypoetry"), (named("POETRY_CONFIG_DIR", ".config/pypoetry"), "")]),
    store("uv, PDM, Hatch", "uv docs, authentication; PDM docs, credentials; Hatch docs, publishing", &[(Data, "uv/credentials"), (Config, "uv/uv.toml"), (Config, "pdm/config.toml"), (Cache, "hatch/pyproject.toml"), (Config, "hatch/config.toml"), (named("UV_CREDENTIALS_DIR", ".local/share/uv/credentials"), ""), (named("UV_CONFIG_FILE", ".config/uv/uv.toml"), ""), (named("PDM_CONFIG_FILE", ".config/pdm/config.toml"), ""), (named("HATCH_CONFIG", ".config/hatch/config.toml"), "")]),
    store("Conda", "conda docs, .condarc; anaconda-client", &[(Home, ".condarc"), (Home, ".conda/.condarc"), (Config, "binstar"), (Data, "binstar"), (Home, ".continuum"), (Home, ".anaconda"), (named("CONDARC", ".condarc"), "")]),
    store("Cargo", "The Cargo Book, Cargo home", &[(named("CARGO_HOME", ".cargo"), "credentials"), (named("CARGO_HOME", ".cargo"), "credentials.toml")]),
    store("RubyGems, Bundler", "RubyGems guides, API credentials; bundle-config(1)", &[(Home, ".gem/credentials"), (Data, "gem/credentials"), (named("GEMRC", ".gemrc"), ""), (Home, ".bundle/config"), (Config, "gem/gemrc"), (named("BUNDLE_USER_CONFIG", ".bundle/config"), ""), (named("BUNDLE_USER_HOME", ".bundle"), "config")]),
    store("Composer", "Composer docs, auth.json", &[(named("COMPOSER_HOME", ".composer"), "auth.json"), (Config, "composer/auth.json")]),
    store("Maven", "Maven docs, settings and password encryption", &[(Home, ".m2/settings.xml"), (Home, ".m2/settings-security.xml"), (Home, ".m2/settings-security4.xml")]),
    store("Gradle, sbt, Ivy, Coursier", "Gradle docs, gradle.properties; sbt docs, publishing; Coursier docs, credentials", &[
        (named("GRADLE_USER_HOME", ".gradle"), "gradle.properties"), (Home, ".sbt/.credentials"), (Home, ".sbt/credentials"), (Home, ".ivy2/.credentials"), (Config, "coursier/credentials.properties")]),
    store("Leiningen, Clojure", "Leiningen docs, DEPLOY.md", &[(named("LEIN_HOME", ".lein"), "credentials.clj.gpg"), (named("LEIN_HOME", ".lein"), "credentials.clj"), (named("LEIN_HOME", ".lein"), "profiles.clj")]),
    store("NuGet", "NuGet docs, nuget.config", &[(Home, ".nuget/NuGet/NuGet.Config"), (Config, "NuGet/NuGet.Config")]),
    store(".NET user secrets", "ASP.NET Core docs, safe storage of app secrets", &[(Home, ".microsoft/usersecrets")]),
    store("Hex", "mix hex.config; rebar3_hex docs; rebar3 docs, environment configuration", &[(named("HEX_HOME", ".hex"), "hex.config"), (Config, "hex/hex.config"), (Config, "rebar3/hex.config"), (Config, "rebar3/rebar3.config"),
        (Only("REBAR_GLOBAL_CONFIG_DIR"), ".config/rebar3/hex.config"), (Only("REBAR_GLOBAL_CONFIG_DIR"), ".config/rebar3/rebar3.config"), (Only("REBAR_CACHE_DIR"), ".config/rebar3/hex.config")]),
    store("R", "R, Startup", &[(named("R_ENVIRON_USER", ".Renviron"), "")]),
    store("Conan", "Conan docs, configuration files", &[(named("CONAN_USER_HOME", ""), ".conan/.conan.db"), (named("CONAN_HOME", ".conan2"), ".conan.db"), (named("CONAN_HOME", ".conan2"), "credentials.json"), (named("CONAN_HOME", ".conan2"), "source_credentials.json")]),
    store("LuaRocks", "LuaRocks docs, upload", &[(Home, ".luarocks/upload_config.lua"), (Config, "luarocks/upload_config.lua")]),
    store("Stack, Nimble, pub", "Stack docs, upload; Nimble docs, publish; dart pub token", &[(named("STACK_ROOT", ".stack"), "upload"), (Config, "dart/pub-tokens.json"), (Config, "dart/pub-credentials.json"), (named("NIMBLE_DIR", ".nimble"), "github_api_token")]),
    store("PAUSE, CPAN", "cpan-upload(1)", &[(Home, ".pause")]),
    store("Nix, Cachix", "Cachix docs, cachix.dhall", &[(Config, "cachix"), (Config, "nix/netrc")]),
    store("adb", "Android Debug Bridge docs, ADB_VENDOR_KEYS", &[(named("ANDROID_USER_HOME", ".android"), "adbkey")]),
    store("CocoaPods, Artifactory", "CocoaPods guides, trunk; JFrog CLI docs", &[(named("CP_HOME_DIR", ".cocoapods"), ""), (named("JFROG_CLI_HOME_DIR", ".jfrog"), "")]),
    store("Docker", "docker(1), config.json", &[(named("DOCKER_CONFIG", ".docker"), ""), (Home, "snap/docker"), (Only("DOCKER_CERT_PATH"), ""), (Only("MACHINE_STORAGE_PATH"), "")]),
    store("Podman, Buildah, Skopeo", "containers-auth.json(5)", &[(named("REGISTRY_AUTH_FILE", ".config/containers/auth.json"), ""), (Config, "containers/auth.json"), (Only("XDG_RUNTIME_DIR"), "containers/auth.json"), (Data, "containers/cache/auth.json"), (Data, "containers/storage/secrets")]),
    store("ORAS, regctl, crane", "regctl docs, config", &[(Home, ".regctl"), (Only("REGCTL_CONFIG"), ""), (Home, ".oras"), (Home, ".config/oras")]),
    store("Julia, Dart", "Julia Pkg docs, authentication; dart pub token", &[(Home, ".julia/servers"), (Home, ".pub-cache/credentials.json")]),

    store("mamba and pixi", "mamba docs, authentication; pixi docs, authentication", &[(Home, ".mamba/auth"), (Home, ".rattler/credentials.json")]),
    store("Data apps", "Streamlit docs, secrets.toml; dlt docs, credentials", &[(Home, ".streamlit/secrets.toml"), (Home, ".dlt/secrets.toml")]),
    // Cloud and infrastructure command lines.
    store("AWS CLI", "AWS CLI user guide, configuration files", &[(Home, ".aws"), (named("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"), ""), (named("AWS_CONFIG_FILE", ".aws/config"), ""), (Home, ".boto"), (named("SAML2AWS_CONFIGFILE", ".saml2aws"), ""), (Home, ".chalice"), (Home, ".elasticbeanstalk"), (named("BOTO_CONFIG", ".boto"), ""), (Only("AWS_LOGIN_CACHE_DIRECTORY"), ""), (Only("AWS_WEB_IDENTITY_TOKEN_FILE"), "")]),
    store("Google Cloud", "gcloud topic configurations; gsutil docs", &[(named("CLOUDSDK_CONFIG", ".config/gcloud"), ""), (Home, ".gsutil"), (Home, ".appcfg_oauth2_tokens"), (Config, "firebase"), (Config, "configstore"), (Home, "snap/google-cloud-sdk"), (Only("GOOGLE_APPLICATION_CREDENTIALS"), ""), (Only("CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"), "")]),
    store("Azure", "Azure CLI docs, configuration; azd docs", &[(named("AZURE_CONFIG_DIR", ".azure"), ""), (named("AZD_CONFIG_DIR", ".azd"), ""), (Data, ".IdentityService"), (Home, ".IdentityService"), (Only("AZURE_CLIENT_CERTIFICATE_PATH"), ""), (Only("AZURE_FEDERATED_TOKEN_FILE"), "")]),
    store("Oracle Cloud", "OCI CLI docs, configuration file", &[(Home, ".oci"), (named("OCI_CLI_CONFIG_FILE", ".oci/config"), "")]),
    store("IBM Cloud", "ibmcloud CLI docs", &[(named("IBMCLOUD_HOME", ".bluemix"), "")]),
    store("Alibaba, Tencent, Huawei Cloud", "aliyun CLI README; tccli docs; hcloud docs", &[(Only("ALIBABA_CLOUD_CREDENTIALS_FILE"), ""), (Home, ".alibabacloud"), (Home, ".aliyun"), (Home, ".tccli"), (Home, ".hcloud"), (Home, ".huaweicloud")]),
    store("DigitalOcean", "doctl docs, auth init", &[(Config, "doctl"), (Home, "snap/doctl")]),
    store("Hetzner, Scaleway, Vultr, Linode, OVH, Exoscale, Civo", "each command line's docs, configuration", &[
        (Config, "hcloud"), (Config, "scw"), (Home, ".scwrc"), (Home, ".vultr-cli.yaml"), (Config, "vultr-cli.yaml"), (Config, "linode-cli"), (Home, ".linode-cli"), (named("LINODE_CLI_CONFIG", ".config/linode-cli"), ""),
        (Home, ".ovh.conf"), (Config, "exoscale"), (Only("EXOSCALE_CONFIG"), ""), (named("CIVOCONFIG", ".civo.json"), ""), (named("HCLOUD_CONFIG", ".config/hcloud/cli.toml"), ""), (named("SCW_CONFIG_PATH", ".config/scw/config.yaml"), "")]),
    store("Cloud Foundry", "cf CLI docs, CF_HOME", &[(named("CF_HOME", ""), ".cf")]),
    store("Fly.io", "flyctl docs, auth", &[(Home, ".fly"), (named("FLY_CONFIG_DIR", ".fly"), "")]),
    store("Vercel, Netlify", "Vercel CLI docs, global options; Netlify CLI docs", &[(Data, "com.vercel.cli"), (Config, "vercel"), (Home, ".vercel"), (Config, "netlify"), (Home, ".netlify")]),
    store("Heroku, Render, Railway", "Heroku CLI docs, authentication; Render CLI; Railway CLI", &[(Config, "heroku"), (Data, "heroku"), (Home, ".render"), (Home, ".railway")]),
    store("Cloudflare", "wrangler docs, login; cloudflared docs", &[(Home, ".wrangler"), (Config, ".wrangler"), (Config, "wrangler"), (Home, ".cloudflared"), (Only("TUNNEL_ORIGIN_CERT"), ""), (Home, ".cloudflare")]),
    store("Supabase, PlanetScale, Turso, Neon", "each command line's docs, login", &[(Home, ".supabase"), (Config, "planetscale"), (Config, "turso"), (Config, "neonctl")]),
    store("Terraform, OpenTofu", "Terraform docs, CLI configuration, credentials", &[(Home, ".terraform.d/credentials.tfrc.json"), (Home, ".terraformrc"), (named("TF_CLI_CONFIG_FILE", ".terraformrc"), ""), (Home, ".tofurc"), (Config, "opentofu")]),
    store("Pulumi", "Pulumi docs, login, credentials.json", &[(named("PULUMI_HOME", ".pulumi"), "credentials.json"), (named("PULUMI_HOME", ".pulumi"), "accounts.json")]),
    store("Kubernetes", "Kubernetes docs, kubeconfig; k9s docs", &[(Home, ".kube"), (named("KUBECONFIG", ".kube/config"), ""), (Home, ".minikube"), (Config, "k3d"), (Config, "k9s"), (Data, "k9s"), (Home, ".talos"), (Home, ".rancher"), (Config, "argocd"), (Home, ".argocd"), (named("MINIKUBE_HOME", ""), ".minikube"), (named("MINIKUBE_HOME", ".minikube"), "profiles"), (named("MINIKUBE_HOME", ".minikube"), "certs"), (named("K9S_CONFIG_DIR", ".config/k9s"), ""), (named("TALOSCONFIG", ".talos/config"), ""), (named("ARGOCD_CONFIG_DIR", ".config/argocd"), "")]),
    store("Helm", "Helm docs, environment variables", &[(named("HELM_CONFIG_HOME", ".config/helm"), "registry"), (named("HELM_CONFIG_HOME", ".config/helm"), "registry.json"), (Config, "helm/registry"), (Config, "helm/registry.json"), (named("HELM_CONFIG_HOME", ".config/helm"), "repositories.yaml"), (Config, "helm/repositories.yaml"), (named("HELM_REGISTRY_CONFIG", ".config/helm/registry/config.json"), ""), (named("HELM_REPOSITORY_CONFIG", ".config/helm/repositories.yaml"), ""), (named("HELM_HOME", ".helm"), "repository/repositories.yaml")]),
    store("OpenStack", "openstacksdk docs, clouds.yaml", &[(Config, "openstack"), (Home, ".openstack"), (named("OS_CLIENT_CONFIG_FILE", ".config/openstack/clouds.yaml"), "")]),
    store("Ansible, Chef, Puppet, Salt", "ansible-galaxy docs, token; Chef docs, knife", &[(named("ANSIBLE_HOME", ".ansible"), "galaxy_token"), (Home, ".vault_pass"), (Home, ".vault_pass.txt"), (Home, ".chef"), (Home, ".puppetlabs"), (Home, ".salt"), (named("ANSIBLE_GALAXY_TOKEN_PATH", ".ansible/galaxy_token"), ""), (Only("ANSIBLE_VAULT_PASSWORD_FILE"), "")]),
    store("Vagrant, Packer", "Vagrant docs, cloud login, environment variables; Packer docs, configure", &[(named("VAGRANT_HOME", ".vagrant.d"), "data"), (named("PACKER_CONFIG_DIR", ""), ".packer.d"), (named("PACKER_CONFIG", ".packerconfig"), "")]),
    store("Databricks, Snowflake", "Databricks CLI docs; SnowSQL docs", &[(Home, ".databrickscfg"), (Home, ".databricks"), (Home, ".snowsql"), (Home, ".snowflake"), (Config, "snowflake"), (Home, ".dbt/profiles.yml"), (named("DATABRICKS_CONFIG_FILE", ".databrickscfg"), ""), (named("SNOWFLAKE_HOME", ".snowflake"), ""), (named("DBT_PROFILES_DIR", ".dbt"), "profiles.yml")]),
    store("Sentry, Datadog, New Relic, Stripe, Twilio, Ngrok, Shopify, Expo", "each command line's docs, login", &[
        (Home, ".sentryclirc"), (Only("SENTRY_PROPERTIES"), ""), (Home, ".datadogrc"), (Home, ".dogrc"), (Home, ".newrelic"), (Config, "stripe"), (Home, ".twilio-cli"), (Config, "ngrok"), (Home, ".ngrok2"), (Home, "snap/ngrok"), (Config, "shopify-cli-kit-nodejs"), (Home, ".expo")]),
    store("Contentful, Sanity, Fastly", "each command line's docs, login", &[(Home, ".contentfulrc.json"), (Config, "sanity/config.json"), (Config, "fastly/config.toml")]),
    store("Appwrite, Koyeb, Xata, Infracost, Dagger", "each command line's docs, login", &[(Home, ".appwrite"), (Home, ".koyeb.yaml"), (Config, "xata/credentials"), (Config, "infracost/credentials.yml"),
        (Config, "dagger/credentials.json")]),
    store("Depot, Earthly, CircleCI, Travis, Buildkite", "each command line's docs, login", &[(Config, "depot"), (Home, ".earthly"), (Home, ".circleci"), (named("TRAVIS_CONFIG_PATH", ".travis"), ""), (Config, "buildkite.yaml"), (Home, ".buildkite.yaml")]),
    store("NATS", "NATS ADR-21, contexts; nsc docs", &[(Config, "nats/context"), (named("NKEYS_PATH", ".local/share/nats/nsc/keys"), ""), (Home, ".nkeys")]),
    store("Coder, Convex, Attic", "Coder CLI reference; Convex CLI docs; Attic docs", &[(named("CODER_CONFIG_DIR", ".config/coderv2"), "session"), (Home, ".convex/config.json"), (Config, "attic/config.toml")]),
    store("Confluent, Redpanda, Temporal", "Confluent CLI; rpk docs, rpk.yaml; Temporal CLI, environment configuration", &[(Home, ".confluent/config.json"), (Config, "rpk/rpk.yaml"), (Config, "temporalio")]),
    store("Prefect, DVC", "Prefect docs, profiles; dvc config", &[(named("PREFECT_HOME", ".prefect"), "profiles.toml"), (Config, "dvc/config")]),

    store("LXD, Incus, Lima", "LXD and Incus docs, remote servers; Lima docs, internals", &[(Config, "lxc/client.key"), (Config, "incus/client.key"), (Home, ".lima/_config/user")]),
    store("balena", "balena CLI docs, login", &[(Home, ".balena/token")]),
    store("Further clouds", "docs of the command lines of UpCloud, Clever Cloud, Scalingo and IONOS", &[(Config, "upctl.yaml"), (Config, "clever-cloud"), (Config, "scalingo"), (Config, "ionosctl")]),
    store("Shodan", "Shodan CLI docs, init", &[(Config, "shodan/api_key")]),
    // Forges.
    store("git", "git-credential-store(1), FILES; git-credential-cache(1); git-config(1), http.cookieFile", &[(Home, ".git-credentials"), (Home, ".gitcookies"), (Config, "git/credentials"), (Home, ".git-credential-cache"), (Cache, "git/credential")]),
    store("Git Credential Manager", "Git Credential Manager docs, credential stores", &[(Home, ".gcm"), (named("GCM_PLAINTEXT_STORE_PATH", ".gcm/store"), ""), (Home, ".gcm-store")]),
    store("beamai", "docs/command-line.md", &[(Config, "beamai")]),
    store("GitHub CLI, hub", "gh help environment; hub(1)", &[(named("GH_CONFIG_DIR", ".config/gh"), ""), (Config, "gh"), (Config, "hub"), (Home, "snap/gh"), (State, "gh"), (named("HUB_CONFIG", ".config/hub"), "")]),
    store("act", "act user guide, configuration file", &[(Home, ".actrc"), (Config, "act/actrc")]),
    store("GitLab", "glab docs, configuration; GitLab Runner docs", &[(Config, "lab"), (named("GLAB_CONFIG_DIR", ".config/glab-cli"), ""), (Config, "glab-cli"), (Home, ".gitlab-runner"), (Home, ".python-gitlab.cfg")]),
    store("Gitea, Forgejo, Codeberg, SourceHut, Bitbucket", "tea docs; fj README; hut docs", &[(Config, "tea"), (Data, "forgejo-cli"), (Config, "hut"), (Home, ".gitea"), (Home, ".bitbucket"), (Config, "berg-cli")]),
    store("Subversion, CVS, Mercurial, Fossil, Perforce", "svnbook, credential caching; cvs(1), .cvspass; hg help config", &[(Home, ".cvspass"), (Home, ".subversion/auth"), (Home, ".hgrc"), (Config, "hg/hgrc"), (Home, ".fossil"), (Config, "fossil.db"), (Home, ".p4tickets"), (Home, ".p4enviro"), (named("HGRCPATH", ".hgrc"), ""), (named("P4TICKETS", ".p4tickets"), ""), (named("P4ENVIRO", ".p4enviro"), ""), (named("CVS_PASSFILE", ".cvspass"), "")]),
    store("Jira, Linear, Phabricator", "jira-cli README; arcanist docs", &[(Config, ".jira"), (Home, ".jira.d"), (Home, ".arcrc"), (Config, "linear")]),

    // Mail and chat.
    store("mutt, neomutt", "muttrc(5)", &[(Home, ".muttrc"), (Home, ".mutt"), (Config, "mutt"), (Home, ".neomuttrc"), (Config, "neomutt")]),
    store("msmtp, sendmail, isync, fetchmail, getmail", "msmtp(1); mbsync(1); offlineimap docs", &[(Home, ".msmtprc"), (Config, "msmtp"), (Home, ".mbsyncrc"), (Config, "isyncrc"), (Home, ".offlineimaprc"), (Config, "offlineimap"),
        (Home, ".fetchmailrc"), (Home, ".getmail"), (Config, "getmail"), (Home, ".esmtprc"), (Home, ".mailrc"), (Home, ".s-nailrc"), (Home, ".pinerc"), (Home, ".pine-passfile"), (Config, "aerc/accounts.conf"), (Config, "himalaya"), (Home, ".himalaya"), (named("MAILRC", ".mailrc"), "")]),
    store("Thunderbird, Evolution, KMail, Claws", "Mozilla support, Thunderbird profiles; Evolution help", &[(Home, ".thunderbird"), (Home, "snap/thunderbird"), (Home, ".var/app/org.mozilla.Thunderbird"), (Data, "evolution"), (Config, "evolution"),
        (Home, ".claws-mail"), (Data, "kmail2"), (Data, "local-mail"), (Config, "geary"), (Data, "geary"), (Home, ".config/Mailspring"), (Config, "Proton Mail"), (Config, "protonmail"), (Data, "protonmail")]),
    store("Mailboxes", "mbox(5); maildir(5)", &[(Home, "Mail"), (Home, "Maildir"), (Home, "mbox"), (Home, ".mail"), (Home, ".maildir"), (Only("MAIL"), ""), (Only("MAILDIR"), ""), (Only("MBOX"), "")]),
    store("Signal, Telegram, WhatsApp, Element", "each program's docs, data directory", &[
        (Config, "Signal"), (Config, "Signal Beta"), (Data, "signal-cli"), (Home, "snap/signal-desktop"), (Home, ".var/app/org.signal.Signal"), (Data, "TelegramDesktop"), (Home, "snap/telegram-desktop"), (Home, ".var/app/org.telegram.desktop"),
        (Config, "Element"), (Config, "Riot"), (Home, ".var/app/im.riot.Riot"), (Data, "iamb"), (Config, "iamb"), (Data, "nheko"), (Home, ".var/app/io.github.mimbrero.WhatsAppDesktop"), (Config, "whatsapp-for-linux")]),
    store("Slack, Discord, Teams, Zoom, Skype, Mattermost, Keybase", "each program's docs, data directory", &[
        (Config, "Slack"), (Home, "snap/slack"), (Home, ".var/app/com.slack.Slack"), (Config, "discord"), (Config, "discordcanary"), (Config, "discordptb"), (Home, "snap/discord"), (Home, ".var/app/com.discordapp.Discord"), (Config, "vesktop"),
        (Config, "Microsoft"), (Config, "teams-for-linux"), (Home, ".zoom"), (Config, "zoomus.conf"), (Config, "zoom.conf"), (Config, "skypeforlinux"), (Config, "Mattermost"), (Config, "keybase"), (Data, "keybase"), (Config, "Ferdium"), (Config, "Rambox"),
        (Home, ".slack"), (Home, ".var/app/us.zoom.Zoom")]),
    store("IRC and XMPP", "weechat(1); irssi(1); Pidgin docs", &[(Home, ".weechat"), (Config, "weechat"), (Data, "weechat"), (Home, ".irssi"), (Home, ".purple"), (Config, "hexchat"), (Data, "profanity"), (Config, "profanity"), (Data, "gajim"), (Config, "gajim"), (Data, "dino"), (Home, ".znc"), (named("WEECHAT_HOME", ".weechat"), "")]),

    // Databases.
    store("PostgreSQL", "PostgreSQL docs, .pgpass, pg_service.conf, psql", &[(named("PGPASSFILE", ".pgpass"), ""), (Home, ".pg_service.conf"), (Home, ".postgresql"), (Home, ".psql_history"), (Home, ".psqlrc"), (Config, "pgcli"), (Config, "pgadmin"), (Home, ".pgadmin"), (Data, "pgadmin"), (named("PGSERVICEFILE", ".pg_service.conf"), ""), (named("PSQL_HISTORY", ".psql_history"), ""), (named("PSQLRC", ".psqlrc"), ""), (named("PGSSLKEY", ".postgresql/postgresql.key"), "")]),
    store("MySQL, MariaDB", "MySQL manual, option files, mysql_config_editor", &[(Home, ".my.cnf"), (Home, ".mylogin.cnf"), (Home, ".mysql_history"), (Home, ".mariadb_history"), (Home, ".mysql"), (Home, ".mysqlsh"), (Home, ".myclirc"), (Home, ".mycli-history"), (named("MYSQL_TEST_LOGIN_FILE", ".mylogin.cnf"), ""), (named("MYSQL_HISTFILE", ".mysql_history"), ""), (named("MARIADB_HISTFILE", ".mariadb_history"), ""), (Only("MYSQL_HOME"), "my.cnf")]),
    store("MongoDB", "MongoDB docs, mongosh, logs; Atlas CLI", &[(Home, ".mongorc.js"), (Home, ".mongoshrc.js"), (Home, ".mongodb"), (Home, ".dbshell"), (Config, "mongocli"), (Config, "atlascli"), (Config, "MongoDB Compass")]),
    store("Redis", "Redis docs, redis-cli, REDISCLI_HISTFILE", &[(named("REDISCLI_HISTFILE", ".rediscli_history"), ""), (Home, ".redisclirc"), (Home, ".iredisrc")]),
    store("SQLite, DuckDB", "SQLite docs, CLI; DuckDB docs, secrets manager", &[(named("SQLITE_HISTORY", ".sqlite_history"), ""), (State, "sqlite_history"), (Home, ".duckdb/stored_secrets"), (Home, ".duckdb_history"), (Home, ".litecli-history")]),
    store("Other databases", "cqlsh docs; ClickHouse docs, client; InfluxDB docs; usql README", &[(Home, ".cassandra"), (Home, ".cqlshrc"), (Home, ".clickhouse-client"), (Home, ".clickhouse-client-history"), (Home, ".influxdbv2"), (Home, ".influx_history"), (Home, ".usqlpass"), (Home, ".usql_history"), (Home, ".odbc.ini"), (Home, ".freetds.conf"), (Home, ".sqlcmd"), (Home, ".bigqueryrc"), (Home, ".cockroach-certs"), (Home, ".neo4j"), (named("USQLPASS", ".usqlpass"), ""), (named("ODBCINI", ".odbc.ini"), ""), (named("FREETDSCONF", ".freetds.conf"), ""), (named("CQL_HISTORY", ".cassandra/cqlsh_history"), "")]),
    store("DBeaver, DataGrip, Beekeeper, TablePlus", "DBeaver docs, workspace location; JetBrains docs, password safe", &[(Data, "DBeaverData"), (Home, ".dbeaver"), (Home, ".dbeaver4"), (Home, "snap/dbeaver-ce"), (Home, ".var/app/io.dbeaver.DBeaverCommunity"), (Config, "beekeeper-studio"), (Config, "JetBrains"), (Config, "sqlitebrowser")]),

    // Histories of shells and of what reads lines.
    store("bash, sh, ksh, zsh, fish, nushell, elvish, PowerShell", "each shell's manual, history", &[
        (named("HISTFILE", ".bash_history"), ""), (Home, ".bash_history"), (Home, ".bash_sessions"), (Home, ".sh_history"), (Home, ".ksh_history"), (Home, ".mksh_history"), (Home, ".ash_history"), (Home, ".history"), (Home, ".tcsh_history"),
        (Home, ".zsh_history"), (Home, ".zhistory"), (Home, ".histfile"), (Home, ".zsh_sessions"), (named("ZDOTDIR", ""), ".zsh_history"), (State, "zsh"), (State, "bash"), (Data, "fish/fish_history"),
        (Config, "fish/fish_history"), (Config, "nushell/history.txt"), (Config, "nushell/history.sqlite3"), (State, "elvish"), (Data, "elvish"), (Data, "powershell/PSReadLine"), (Data, "xonsh")]),
    store("Atuin, McFly, direnv", "Atuin docs, configuration; McFly README", &[(Data, "atuin"), (Config, "atuin"), (Only("ATUIN_DB_PATH"), ""), (Data, "mcfly"), (Home, ".mcfly"), (Data, "hstr"), (named("ATUIN_CONFIG_DIR", ".config/atuin"), "")]),
    store("REPLs", "each program's docs, history", &[
        (named("PYTHON_HISTORY", ".python_history"), ""), (Home, ".python_history"), (Home, ".pythonhist"), (Home, ".ipython/profile_default/history.sqlite"), (Home, ".ptpython"), (Data, "ptpython"), (named("NODE_REPL_HISTORY", ".node_repl_history"), ""),
        (Home, ".node_repl_history"), (Home, ".ts_node_repl_history"), (Home, ".irb_history"), (Data, "irb/history"), (Home, ".irb-history"), (Home, ".pry_history"), (Data, "pry"), (Cache, "erlang-history"), (Home, ".erlang-history"), (Home, ".iex_history"),
        (Home, ".lua_history"), (Home, ".php_history"), (Config, "psysh"), (Home, ".ghc/ghci_history"), (Data, "ghc"), (Home, ".scala_history"), (Home, ".scala_history_jline3"), (Home, ".jshell_history"), (Home, ".julia/logs"), (named("R_HISTFILE", ".Rhistory"), ""),
        (Home, ".octave_hist"), (named("GDBHISTFILE", ".gdb_history"), ""), (Home, ".lldb"), (Home, ".utop-history"), (Home, ".guile_history"), (Home, ".rebel_readline_history"), (Home, ".clojure/.history"), (Home, ".deno_history.txt"), (Cache, "deno/deno_history.txt"), (Home, ".bun_repl_history"),
        (Home, ".lftp"), (Data, "lftp"), (Home, ".mc/history"), (Home, ".scapy_history"), (Home, ".msf4"), (named("IPYTHONDIR", ".ipython"), "profile_default/history.sqlite")]),
    store("Editors, pagers and what they remember", "vim(1), viminfo; less(1), LESSHISTFILE; nano(1)", &[(Home, ".viminfo"), (State, "nvim/shada"), (Data, "nvim/shada"), (State, "vim"), (Home, ".lesshst"), (State, "lesshst"), (State, "less"), (Data, "nano"), (Home, ".nano_history"),
        (Home, ".emacs.d/auth-sources"), (Home, ".emacs.d/url/cookies"), (Data, "recently-used.xbel"), (named("LESSHISTFILE", ".lesshst"), "")]),
    store("Visual Studio Code", "VS Code docs, user data directory, secret storage", &[
        (Config, "Code/User/globalStorage"), (Config, "Code/User/workspaceStorage"), (Config, "Code/User/History"), (Config, "Code/User/settings.json"), (Config, "Code/User/mcp.json"), (Config, "Code/Cookies"), (Config, "Code/Local Storage"),
        (Config, "Code - Insiders/User"), (Config, "VSCodium/User"), (Home, ".vscode-server/data"), (Home, ".vscode-remote"), (Home, ".var/app/com.visualstudio.code")]),
    store("Editors made from Visual Studio Code", "VS Code docs, user data directory", &[
        (Config, "Kiro/User/globalStorage"), (Config, "Kiro/Cookies"), (Config, "Kiro/Local Storage"), (Config, "Antigravity/User/globalStorage"), (Config, "Antigravity/Cookies"),
        (Config, "Antigravity/Local Storage"), (Config, "Trae/User/globalStorage"), (Config, "Trae/Cookies"), (Config, "Trae/Local Storage")]),

    // Networks.
    store("WireGuard, OpenVPN, Tailscale", "wg-quick(8); openvpn(8); Tailscale docs, state", &[(Home, ".wireguard"), (Config, "wireguard"), (Home, ".openvpn"), (Config, "openvpn"), (Home, ".openvpn3"), (Data, "tailscale"), (Config, "tailscale"), (Home, ".cisco"), (Home, ".vpnc"),
        (Data, "networkmanagement"), (Home, ".cert"), (Config, "mullvad"), (Config, "nordvpn"), (Config, "protonvpn"), (Config, "Proton"), (Config, "zerotier")]),
    store("Remote desktops", "Remmina docs; FreeRDP docs; vncpasswd(1)", &[(Config, "remmina"), (Data, "remmina"), (Home, ".remmina"), (Config, "freerdp"), (Home, ".vnc"), (Config, "tigervnc"), (Home, ".config/rustdesk"), (Home, ".anydesk"), (Config, "teamviewer"), (Home, ".putty"), (Config, "putty")]),
    store("File transfer", "FileZilla docs, sitemanager.xml; smbclient(1); davfs2(5)", &[(Config, "filezilla"), (Home, ".filezilla"), (Home, ".smbcredentials"), (Home, ".smb"), (Home, ".davfs2"), (Home, ".ftpconfig"), (Config, "syncthing"), (State, "syncthing"), (Config, "Nextcloud"), (Data, "Nextcloud"), (Config, "transmission-daemon"), (Home, ".duplicacy"), (Home, ".dropbox"), (Home, ".megaCmd"), (Config, "onedrive")]),
    store("Postman, Insomnia, HTTPie", "Postman and Insomnia docs, local data; HTTPie docs, sessions", &[(Config, "Postman"), (Config, "Insomnia"), (named("HTTPIE_CONFIG_DIR", ".config/httpie"), "sessions")]),
    store("WakaTime, Grok CLI", "WakaTime plugin docs, ~/.wakatime.cfg; grok-cli README, user settings", &[(Home, ".wakatime.cfg"), (Only("WAKATIME_HOME"), ".wakatime.cfg"), (Home, ".grok/user-settings.json")]),
    store("toot, tut, Spotify", "toot docs, settings; tut README; spotify-player README; spotifyd docs", &[(Config, "toot/config.json"), (Config, "tut/accounts.toml"), (Cache, "spotify-player/credentials.json"),
        (Cache, "spotifyd/credentials.json")]),
    store("Legendary, Heroic", "Legendary README; Heroic wiki, configuration", &[(Config, "legendary/user.json"), (Config, "heroic/gog_store"), (Config, "heroic/legendaryConfig")]),
    store("IPFS", "Kubo docs, configuration", &[(named("IPFS_PATH", ".ipfs"), "config"), (named("IPFS_PATH", ".ipfs"), "keystore")]),

    // Backups and object stores.
    store("rclone, s3cmd, MinIO", "rclone docs, config; s3cmd usage; mc docs", &[(named("RCLONE_CONFIG", ".config/rclone/rclone.conf"), ""), (Config, "rclone"), (Home, ".rclone.conf"), (named("S3CMD_CONFIG", ".s3cfg"), ""), (Home, ".s3ql"), (Home, ".mc/config.json"), (Home, ".mcli"), (Home, ".b2_account_info"), (Config, "b2"), (Home, ".passwd-s3fs"), (named("MC_CONFIG_DIR", ".mc"), "config.json"), (named("B2_ACCOUNT_INFO", ".b2_account_info"), "")]),
    store("restic, Borg, Duplicity, Kopia", "restic docs, environment variables; borg docs, environment variables", &[(Config, "restic"), (Config, "resticprofile"), (Home, ".restic"), (Config, "borg"), (Only("BORG_KEY_FILE"), ""), (Config, "borgmatic"), (Home, ".duplicity"), (Config, "duplicity"), (Config, "kopia"), (Config, "duplicati"), (Config, "vorta"), (Data, "Vorta"), (Home, ".tarsnaprc"), (Home, ".tarsnap.key"), (named("BORG_CONFIG_DIR", ".config/borg"), ""), (named("BORG_KEYS_DIR", ".config/borg/keys"), ""), (named("BORG_BASE_DIR", ""), ".config/borg"), (Only("RESTIC_PASSWORD_FILE"), ""), (named("KOPIA_CONFIG_PATH", ".config/kopia/repository.config"), "")]),

    // Wallets.
    store("Bitcoin and its kin", "Bitcoin Core docs, files.md; Electrum docs", &[(Home, ".bitcoin"), (Home, ".litecoin"), (Home, ".dogecoin"), (Home, ".dashcore"), (Home, ".zcash"), (Home, ".electrum"), (Home, ".electrum-ltc"), (Home, ".electron-cash"), (Home, ".sparrow"), (Home, ".lnd"), (Home, ".lightning"), (Config, "specter"), (Home, ".specter"), (Home, ".wasabi"), (Home, ".walletwasabi"), (named("ELECTRUMDIR", ".electrum"), "")]),
    store("Ethereum and its kin", "geth docs, account management; Foundry book, cast wallet", &[(Home, ".ethereum"), (Home, ".foundry/keystores"), (Home, ".brownie"), (Config, "hardhat-nodejs"), (Data, "io.parity.ethereum"), (Home, ".web3"), (Home, ".eth2"), (Home, ".starknet_accounts"), (Home, ".starkli-wallets")]),
    store("Solana, Monero, Cardano, Cosmos, Sui, Aptos, NEAR, Polkadot", "each command line's docs, key storage", &[
        (Config, "solana"), (Config, "dfx/identity"), (Home, ".monero"), (Home, ".bitmonero"), (Home, "Monero"), (Home, ".shared-ringdb"), (Home, ".cardano"), (Home, ".gaia"), (Home, ".sui"), (Home, ".aptos"), (Home, ".near-credentials"), (Home, ".algorand"), (Home, ".tezos-client"), (Home, ".stellar"), (Config, "stellar"), (Home, ".substrate")]),
    store("Wallet programs", "Exodus, Ledger Live, Trezor Suite and Atomic, data directories", &[(Config, "Exodus"), (Config, "Ledger Live"), (Config, "@trezor"), (Config, "atomic"), (Home, ".atomic"), (Config, "Daedalus"), (Data, "Daedalus"), (Config, "MyCrypto")]),

    // Whoever has the cookie can run code on every node that is reached.
    store("Erlang", "Erlang reference manual, distributed Erlang, security", &[(Home, ".erlang.cookie"), (Config, "erlang/.erlang.cookie")]),

    store("Kerberos", "kerberos(7), environment variables", &[(Only("KRB5CCNAME"), ""), (Only("KRB5_CLIENT_KTNAME"), ""), (Only("KRB5_KTNAME"), "")]),

    store("Caddy", "Caddy docs, data directory", &[(Data, "caddy/pki"), (Data, "caddy/certificates")]),
    store("mitmproxy", "mitmproxy docs, certificates", &[(Home, ".mitmproxy/mitmproxy-ca.pem"), (Home, ".mitmproxy/mitmproxy-ca.p12")]),
    // Sessions of desktops.
    store("Desktops", "Xsecurity(7); ICEauthority(5); GNOME online accounts", &[(named("XAUTHORITY", ".Xauthority"), ""), (named("ICEAUTHORITY", ".ICEauthority"), ""), (Config, "goa-1.0"), (Data, "telepathy"), (Config, "pulse/cookie"), (Home, ".pulse-cookie"), (Home, ".dbus")]),
    store("KDE Connect", "KDE Connect, config directory", &[(Config, "kdeconnect/privateKey.pem")]),
    store("Notes", "Obsidian and Joplin docs, data directory", &[(Config, "joplin-desktop"), (Config, "joplin"), (Config, "Standard Notes"), (Config, "Notion"), (Home, ".tomboy"), (Config, "obsidian")]),
];
