//! Settings of git that run programs, or name files with such settings.
//!
//! One table, from the documentation of git and of its extensions. Names are compared as git does: sections and keys
//! are case-insensitive, subsections are not.

use super::config::ConfigEntry;

/// Settings with the same name pattern.
struct Setting {
    section: &'static str,
    subsection: Subsection,
    /// The last part of the name; `*` matches anything, alone or as a prefix.
    key: &'static str,
    when: RunsWhen,
    #[cfg_attr(not(test), allow(dead_code, reason = "for readers of the table, and checked by tests"))]
    source: &'static str,
}

/// Whether a setting's name has a subsection.
#[derive(PartialEq, Eq)]
enum Subsection {
    None,
    Some,
    Any,
}

/// Which values run a program.
enum RunsWhen {
    Always,
    /// All except booleans, which switch a built-in feature, and the empty one.
    Program,
    /// Those that begin with an exclamation mark.
    Bang,
    /// Names of remotes and URLs that run a command, alone or in a list.
    Address,
    /// Those whose subsection is such a name.
    OfAddress,
    /// Those whose subsection becomes such a URL when it replaces the beginning of another one.
    OfBase,
    /// Lists with the word that makes git's prompt script pass what a commit's message says as an option.
    Svn,
    /// Options of a merge that name a strategy by a path, or pass options to it, which its script may evaluate.
    MergeOptions,
    /// Those with a slash: git adds a prefix, and the result is a path.
    Slash,
}

use RunsWhen::{Address, Always, Bang, MergeOptions, OfAddress, OfBase, Program, Slash, Svn};
use Subsection::{Any, None as Plain, Some as With};

const fn setting(
    section: &'static str,
    subsection: Subsection,
    key: &'static str,
    when: RunsWhen,
    source: &'static str,
) -> Setting {
    Setting { section, subsection, key, when, source }
}

#[rustfmt::skip]
const SETTINGS: &[Setting] = &[
    setting("core", Plain, "fsmonitor", Program, "git-config(1), core.fsmonitor"),
    setting("core", Plain, "sshcommand", Always, "git-config(1), core.sshCommand"),
    setting("core", Plain, "gitproxy", Always, "git-config(1), core.gitProxy"),
    setting("core", Plain, "pager", Always, "git-config(1), core.pager"),
    setting("core", Plain, "editor", Always, "git-config(1), core.editor"),
    setting("core", Plain, "askpass", Always, "git-config(1), core.askPass"),
    setting("core", Plain, "hookspath", Always, "git-config(1), core.hooksPath"),
    setting("core", Plain, "alternaterefscommand", Always, "git-config(1), core.alternateRefsCommand"),
    setting("core", Plain, "virtualfilesystem", Always, "git-config(1) of Microsoft's git, core.virtualFilesystem"),
    setting("sequence", Plain, "editor", Always, "git-config(1), sequence.editor"),
    setting("rebase", Plain, "instructionformat", Always, "git-config(1), rebase.instructionFormat: a line break in it begins an instruction"),
    setting("pager", Any, "*", Program, "git-config(1), pager.<cmd>"),
    setting("alias", Any, "*", Always, "git-config(1), alias.*: a command, or git with any of its options"),
    setting("hook", Any, "*", Always, "git-hook(1), hook.<name>.command"),
    setting("include", Any, "*", Always, "git-config(1), include.path"),
    setting("includeif", Any, "*", Always, "git-config(1), includeIf.<condition>.path"),
    setting("credential", Any, "*helper", Program, "gitcredentials(7), credential.helper; Git Credential Manager, credential.uiHelper"),
    setting("diff", Plain, "external", Always, "git-config(1), diff.external"),
    setting("diff", With, "command", Always, "gitattributes(5), diff.<driver>.command"),
    setting("diff", With, "textconv", Always, "gitattributes(5), diff.<driver>.textconv"),
    setting("diff", Plain, "tool", Slash, "git-config(1), diff.tool: the name of a script of git's"),
    setting("diff", Plain, "guitool", Slash, "git-config(1), diff.guitool"),
    setting("merge", Plain, "tool", Slash, "git-config(1), merge.tool: the name of a script of git's"),
    setting("merge", Plain, "guitool", Slash, "git-config(1), merge.guitool"),
    setting("merge", With, "driver", Always, "gitattributes(5), merge.<driver>.driver"),
    setting("difftool", With, "cmd", Always, "git-config(1), difftool.<tool>.cmd"),
    setting("difftool", With, "path", Always, "git-config(1), difftool.<tool>.path"),
    setting("mergetool", With, "cmd", Always, "git-config(1), mergetool.<tool>.cmd"),
    setting("mergetool", With, "path", Always, "git-config(1), mergetool.<tool>.path"),
    setting("mergetool", With, "layout", Always, "git-mergetool(1), mergetool.vimdiff.layout: commands of the editor"),
    setting("filter", With, "clean", Always, "gitattributes(5), filter.<driver>.clean"),
    setting("filter", With, "smudge", Always, "gitattributes(5), filter.<driver>.smudge"),
    setting("filter", With, "process", Always, "gitattributes(5), filter.<driver>.process"),
    setting("gpg", Any, "program", Always, "git-config(1), gpg.program, gpg.<format>.program"),
    setting("gpg", Any, "defaultkeycommand", Always, "git-config(1), gpg.ssh.defaultKeyCommand"),
    setting("remote", With, "uploadpack", Always, "git-config(1), remote.<name>.uploadpack"),
    setting("remote", With, "receivepack", Always, "git-config(1), remote.<name>.receivepack"),
    setting("remote", With, "vcs", Always, "git-config(1), remote.<name>.vcs"),
    setting("remote", With, "*", OfAddress, "git-config(1), remote.<name>: without a URL, its name is one; git fetch --all and a search for missing objects pass it to git fetch"),
    setting("remotes", Any, "*", Address, "git-config(1), remotes.<group>: names or URLs, for git remote update"),
    setting("remote", With, "url", Address, "git-remote-ext(1)"),
    setting("remote", With, "pushurl", Address, "git-remote-ext(1)"),
    setting("submodule", With, "url", Address, "git-remote-ext(1)"),
    setting("branch", With, "remote", Address, "git-config(1), branch.<name>.remote: a name or a URL"),
    setting("branch", With, "pushremote", Address, "git-config(1), branch.<name>.pushRemote"),
    setting("remote", Plain, "pushdefault", Address, "git-config(1), remote.pushDefault"),
    setting("checkout", Plain, "defaultremote", Address, "git-config(1), checkout.defaultRemote"),
    setting("url", With, "insteadof", OfBase, "git-config(1), url.<base>.insteadOf"),
    setting("url", With, "pushinsteadof", OfBase, "git-config(1), url.<base>.pushInsteadOf"),
    setting("protocol", Any, "allow", Always, "git-config(1), protocol.<name>.allow"),
    setting("submodule", With, "update", Bang, "gitmodules(5), submodule.<name>.update"),
    setting("uploadpack", Plain, "packobjectshook", Always, "git-config(1), uploadpack.packObjectsHook"),
    setting("gc", Plain, "repackfilterto", Always, "git-config(1), gc.repackFilterTo: packs are written there"),
    setting("extensions", Plain, "partialclone", Address, "gitrepository-layout, partial clone: a remote that objects are fetched from"),
    setting("gc", Plain, "recentobjectshook", Always, "git-config(1), gc.recentObjectsHook"),
    setting("interactive", Plain, "difffilter", Always, "git-config(1), interactive.diffFilter"),
    setting("trailer", With, "command", Always, "git-interpret-trailers(1), trailer.<token>.command"),
    setting("trailer", With, "cmd", Always, "git-interpret-trailers(1), trailer.<token>.cmd"),
    setting("tar", With, "command", Always, "git-archive(1), tar.<format>.command"),
    setting("pull", Plain, "twohead", Slash, "git-config(1), pull.twohead"),
    setting("pull", Plain, "octopus", Slash, "git-config(1), pull.octopus"),
    setting("branch", With, "mergeoptions", MergeOptions, "git-config(1), branch.<name>.mergeOptions: a strategy"),
    setting("init", Plain, "templatedir", Always, "git-config(1), init.templateDir: its hooks are copied"),
    setting("http", Any, "savecookies", Always, "git-config(1), http.saveCookies: writes the file of http.cookieFile"),
    setting("sendemail", Any, "smtpserver", Slash, "git-send-email(1), sendemail.smtpServer"),
    setting("sendemail", Any, "smtpserveroption", Always, "git-send-email(1), sendemail.smtpServerOption: of the mail program"),
    setting("sendemail", Any, "*cmd", Always, "git-send-email(1), sendemail.toCmd, ccCmd, headerCmd, sendmailCmd"),
    setting("imap", Plain, "tunnel", Always, "git-imap-send(1), imap.tunnel"),
    setting("instaweb", Plain, "httpd", Always, "git-instaweb(1), instaweb.httpd"),
    setting("instaweb", Plain, "browser", Always, "git-instaweb(1), instaweb.browser"),
    setting("instaweb", Plain, "modulepath", Always, "git-instaweb(1), instaweb.modulePath: modules that the server loads"),
    setting("instaweb", Plain, "port", Program, "git-instaweb(1), instaweb.port: written as it is into the server's settings"),
    setting("instaweb", Plain, "gitwebdir", Always, "git-instaweb(1), git-instaweb.sh: looks for the server there"),
    setting("format", Plain, "outputdirectory", Always, "git-config(1), format.outputDirectory: patches are written there"),
    setting("format", Plain, "suffix", Slash, "git-config(1), format.suffix: the end of the patches' names"),
    setting("web", Plain, "browser", Always, "git-web--browse(1), web.browser"),
    setting("help", Plain, "browser", Always, "git-help(1), help.browser"),
    setting("browser", With, "*", Always, "git-web--browse(1), browser.<tool>.cmd, browser.<tool>.path"),
    setting("man", Plain, "viewer", Always, "git-help(1), man.viewer"),
    setting("man", With, "*", Always, "git-help(1), man.<tool>.cmd, man.<tool>.path"),
    setting("guitool", With, "cmd", Always, "git-gui, guitool.<name>.cmd"),
    setting("lfs", With, "path", Always, "git-lfs-config(5), lfs.customtransfer.<name>.path"),
    setting("lfs", With, "clean", Always, "git-lfs-config(5), lfs.extension.<name>.clean"),
    setting("lfs", With, "smudge", Always, "git-lfs-config(5), lfs.extension.<name>.smudge"),
    setting("lfs", Any, "standalonetransferagent", Always, "git-lfs-config(5), lfs.standalonetransferagent"),
    setting("annex", Plain, "*-command", Always, "git-annex(1), configuration"),
    setting("annex", Plain, "*-hook", Always, "git-annex(1), configuration"),
    setting("annex", Plain, "*-program", Always, "git-annex(1), configuration"),
    setting("remote", With, "annex-*", Always, "git-annex(1), configuration"),
    setting("bash", Plain, "showupstream", Svn, "git-sh-prompt: a commit's message names an option of git rev-list, which writes a file"),
    setting("svn-remote", With, "url", Always, "git-sh-prompt: the same"),
    setting("extensions", Plain, "refstorage", Slash, "git-config(1), extensions.refStorage: references that lie elsewhere"),
    setting("gitflow", Any, "hooks", Always, "git-flow, gitflow.path.hooks"),
    setting("stgit", Any, "editor", Always, "stg(1), stgit.editor"),
    setting("stgit", Any, "pager", Always, "stg(1), stgit.pager"),
    setting("lfs", Plain, "storage", Slash, "git-lfs-config(5), lfs.storage: files are written there"),
    setting("delta", Any, "pager", Always, "delta(1), --pager, which its section of git's settings can have"),
    setting("icdiff", Any, "*", Always, "git-icdiff, icdiff.pager and icdiff.options, which a shell evaluates"),
    setting("tig", Any, "*", Always, "tigrc(5), git configuration: tig.bind runs commands"),
    setting("branchless", Any, "*", Always, "git-branchless, branchless.test.alias.<name>"),
    setting("b4", Any, "*cmd", Always, "b4, b4.prep-perpatch-check-cmd and its like"),
    setting("patatt", Any, "gpg-bin", Always, "patatt, patatt.gpg-bin"),
    setting("http", Any, "sslcerttype", Always, "git-config(1), http.sslCertType: an engine, which is a library"),
    setting("http", Any, "sslkeytype", Always, "git-config(1), http.sslKeyType: the same"),
    setting("svn", Plain, "authorsprog", Always, "git-svn(1), --authors-prog"),
    setting("svn", Any, "configdir", Always, "git-svn(1), --config-dir: settings of Subversion, which name programs"),
    setting("svn-remote", With, "authorsprog", Always, "git-svn(1), --authors-prog"),
];

/// Whether a setting makes git run a program, or read settings from elsewhere.
pub(super) fn runs_programs(entry: &ConfigEntry) -> bool {
    SETTINGS.iter().any(|setting| setting.is(entry) && setting.when.holds(entry))
}

impl Setting {
    fn is(&self, entry: &ConfigEntry) -> bool {
        let has_subsection = entry.subsection.is_some();
        let key = match (self.key.strip_prefix('*'), self.key.strip_suffix('*')) {
            (Some(end), _) => entry.key.ends_with(end),
            (None, Some(beginning)) => entry.key.starts_with(beginning),
            (None, None) => entry.key == self.key,
        };
        entry.section == self.section
            && key
            && match self.subsection {
                Plain => !has_subsection,
                With => has_subsection,
                Any => true,
            }
    }
}

impl RunsWhen {
    fn holds(&self, entry: &ConfigEntry) -> bool {
        let value = entry.text();
        match self {
            Always => true,
            Program => entry.value.is_some() && !is_boolean(value.trim()),
            Bang => value.trim_start().starts_with('!'),
            Address => value.split_whitespace().any(is_command),
            OfAddress => is_command(&entry.subsection_text()),
            OfBase => {
                let base = entry.subsection_text();
                is_command(&base) || HELPERS.iter().any(|helper| helper.starts_with(&base))
            }
            // The script expands wildcards.
            Svn => value.split_whitespace().any(|word| word == "svn" || word.contains(['*', '?', '[', '\\'])),
            Slash => value.contains('/'),
            // Quoted text may be anything.
            MergeOptions => value.contains(['/', 'X', '"', '\'', '\\']) || value.contains("--strategy-"),
        }
    }
}

/// Whether git parses a value as a boolean.
fn is_boolean(value: &str) -> bool {
    let words = ["", "true", "false", "yes", "no", "on", "off"];
    words.iter().any(|word| value.eq_ignore_ascii_case(word)) || value.parse::<i64>().is_ok()
}

/// Remote helpers that run a command in a URL, or use an open file that it names.
const HELPERS: [&str; 2] = ["ext::", "fd::"];

/// Whether a remote with this name or URL runs a command: by such a helper, or because git passes it to `git fetch` or `git push`
/// without `--`, which take it as an option.
pub(super) fn is_command(address: &str) -> bool {
    let address = address.trim_start();
    address.starts_with('-') || HELPERS.iter().any(|helper| address.starts_with(helper))
}

#[cfg(test)]
mod tests {
    use super::super::config::read;
    use super::*;

    /// Names of a file's settings that run programs.
    fn running(text: &str) -> Vec<String> {
        read(text.as_bytes())
            .unwrap()
            .iter()
            .filter(|entry| runs_programs(entry))
            .map(ConfigEntry::name)
            .collect()
    }

    #[test]
    fn every_setting_of_the_table_has_a_source_and_is_written_as_it_is_compared() {
        for Setting { section, key, source, .. } in SETTINGS {
            assert!(!source.is_empty() && !section.is_empty(), "{section}.{key}");
            assert!(
                ![*section, *key].iter().any(|name| name.contains(char::is_uppercase)),
                "{section}.{key}"
            );
            assert!(key.matches('*').count() <= 1, "{section}.{key}");
        }
    }

    #[test]
    fn what_an_ordinary_repository_has_runs_nothing() {
        let text = "[core]\n repositoryformatversion = 0\n filemode = true\n bare = false\n logallrefupdates = true\n \
                    fsmonitor = true\n untrackedCache = true\n autocrlf = input\n worktree = ../x\n\
                    [remote \"origin\"]\n url = git@host:a/b.git\n fetch = +refs/heads/*:refs/remotes/origin/*\n \
                    promisor = true\n partialclonefilter = blob:none\n\
                    [branch \"main\"]\n remote = origin\n merge = refs/heads/main\n rebase = true\n\
                    [user]\n name = N\n email = e@x\n signingkey = K\n[commit]\n gpgsign = true\n\
                    [submodule \"s\"]\n url = https://host/s\n active = true\n update = rebase\n\
                    [pager]\n log = false\n[extensions]\n worktreeConfig = true\n[diff]\n algorithm = histogram\n \
                    tool = meld\n[merge]\n tool = vimdiff\n conflictStyle = zdiff3\n[pull]\n rebase = true\n twohead = ort\n\
                    [branch \"b\"]\n mergeOptions = --no-ff -s ours\n\
                    [url \"https://host/\"]\n insteadOf = git@host:\n[annex]\n uuid = 1\n version = 10\n\
                    [lfs]\n repositoryformatversion = 0\n[lfs \"https://host/x\"]\n access = basic\n\
                    [credential]\n helper =\n[sendemail]\n smtpserver = mail.host\n[format]\n suffix = .txt\n\
                    [remotes]\n default = origin other\n[remote \"ext\"]\n url = https://host/e\n[bash]\n showUpstream = auto verbose\n showDirtyState = false\n";
        assert_eq!(running(text), Vec::<String>::new());
    }

    #[test]
    fn names_and_values_are_compared_as_git_does() {
        let text = "[CORE]\n FsMonitor = ./p\n[filter \"X\"]\n CLEAN = p\n[filter]\n clean = p\n[pager]\n log = less\n\
                    [pager \"diff\"]\n x = less\n[submodule \"s\"]\n update = !p\n[remote \"o\"]\n url = ext::p\n \
                    annex-ssh-command = p\n[url \"ext::p\"]\n insteadOf = x\n[merge]\n tool = ../p\n[alias \"a\"]\n command = p\n\
                    [includeIf \"gitdir:/x\"]\n path = y\n[annex]\n secure-erase-command = p\n[pull]\n twohead = /p\n\
                    [core]\n pager\n[rebase]\n instructionFormat = %s%nexec p\n[branch \"b\"]\n mergeOptions = -s ../p\n \
                    remote = ext::p\n pushRemote = ext::p\n[remote]\n pushDefault = ext::p\n[checkout]\n defaultRemote = ext::p\n\
                    [instaweb]\n modulePath = m\n port = \"1\\nx\"\n local = true\n gitwebDir = /w\n[format]\n outputDirectory = /o\n \
                    suffix = /../x\n[svn]\n configDir = c\n[sendemail]\n smtpServerOption = -C\n\
                    [http]\n saveCookies = true\n[credential]\n uiHelper = p\n[gc]\n repackFilterTo = /x/p\n\
                    [extensions]\n partialClone = ext::p\n[remote \"ext::q\"]\n promisor = true\n[remotes \"g\"]\n x = o ext::p\n\
                    [url \"ext\"]\n insteadOf = x\n[bash]\n showUpstream = verbose svn\n[bash \"x\"]\n showUpstream = svn\n\
                    [bash]\n showUpstream = sv?\n[svn-remote \"s\"]\n url = u\n[remote \"--upload-pack=p;\"]\n promisor = true\n\
                    [remote \"-o\"]\n url = https://host/o\n[remotes]\n default = o --upl=p\n[extensions]\n partialClone = -u=p\n \
                    refStorage = reftable:///x\n[branch \"c\"]\n remote = --upload-pack=p\n pushRemote = --exec=p\n\
                    [remote]\n pushDefault = --exec=p\n[checkout]\n defaultRemote = -x\n[gitflow \"path\"]\n hooks = h\n\
                    [stgit]\n editor = e\n pager = p\n[lfs]\n storage = /x\n[delta]\n pager = p\n side-by-side = true\n\
                    [tig \"bind\"]\n generic = x !p\n[icdiff]\n pager = p\n[branchless \"test.alias\"]\n x = p\n[b4]\n \
                    prep-perpatch-check-cmd = p\n[patatt]\n gpg-bin = p\n[http \"https://host\"]\n sslKeyType = ENG\n";
        let expected = [
            "core.fsmonitor",
            "filter.X.clean",
            "pager.log",
            "pager.diff.x",
            "submodule.s.update",
            "remote.o.url",
            "remote.o.annex-ssh-command",
            "url.ext::p.insteadof",
            "merge.tool",
            "alias.a.command",
            "includeif.gitdir:/x.path",
            "annex.secure-erase-command",
            "pull.twohead",
            "core.pager",
            "rebase.instructionformat",
            "branch.b.mergeoptions",
            "branch.b.remote",
            "branch.b.pushremote",
            "remote.pushdefault",
            "checkout.defaultremote",
            "instaweb.modulepath",
            "instaweb.port",
            "instaweb.gitwebdir",
            "format.outputdirectory",
            "format.suffix",
            "svn.configdir",
            "sendemail.smtpserveroption",
            "http.savecookies",
            "credential.uihelper",
            "gc.repackfilterto",
            "extensions.partialclone",
            "remote.ext::q.promisor",
            "remotes.g.x",
            "url.ext.insteadof",
            "bash.showupstream",
            "bash.showupstream",
            "svn-remote.s.url",
            "remote.--upload-pack=p;.promisor",
            "remote.-o.url",
            "remotes.default",
            "extensions.partialclone",
            "extensions.refstorage",
            "branch.c.remote",
            "branch.c.pushremote",
            "remote.pushdefault",
            "checkout.defaultremote",
            "gitflow.path.hooks",
            "stgit.editor",
            "stgit.pager",
            "lfs.storage",
            "delta.pager",
            "tig.bind.generic",
            "icdiff.pager",
            "branchless.test.alias.x",
            "b4.prep-perpatch-check-cmd",
            "patatt.gpg-bin",
            "http.https://host.sslkeytype",
        ];
        assert_eq!(running(text), expected);
    }
}
