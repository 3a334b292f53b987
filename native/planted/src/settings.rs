//! Settings that a new repository keeps.
//!
//! Hundreds of settings of git, and of programs that read git's settings, run a program or write a file, and each
//! release adds some. This table lists the settings that stay instead: those that git or a person sets in repositories
//! every day, with values that git only compares, counts or shows, or with files of the work tree to read. It has no
//! settings that weaken what a person has set up (certificates, signatures, proxies, recipients of mail, checks of
//! objects). All others are removed. A missing row is therefore a nuisance, not a hole.
//!
//! The settings are from git-config(1) unless a row says otherwise. Names are compared as git does: sections and keys are
//! case-insensitive, subsections are not.

use beamai_git_config::ConfigEntry;

/// Settings of one section that are kept with the same values.
struct Harmless {
    section: &'static str,
    subsection: Subsection,
    values: Values,
    /// The last parts of their names; `*` is every one.
    keys: &'static [&'static str],
}

/// Whether a setting's name has a subsection.
#[derive(PartialEq, Eq)]
enum Subsection {
    None,
    Some,
    Any,
}

/// Which values are kept.
enum Values {
    /// Booleans, and numbers that git accepts as booleans. Any other value of such a setting may be a program.
    Flag,
    /// Words and lists of words that are neither paths nor options: `input`, `zdiff3`, `100m`.
    Word,
    /// Text that git passes on as an argument. Options do not stay, nor do addresses that another program handles.
    Argument,
    /// A person's name or mail address. It must not add recipients to a mail, or be an option of the program that sends it.
    Identity,
    /// Refspecs by which a fetch updates remote-tracking branches and notes only. By others, it could overwrite your
    /// own branches and tags, or delete them (`prune`).
    Refspec,
    /// Paths that do not leave the work tree.
    Inside,
    /// Any text without control characters. No other kind of value has them, either.
    Text,
}

use Subsection::{Any, None as Plain, Some as With};
use Values::{Argument, Flag, Identity, Inside, Refspec, Text, Word};

const fn keeps(
    section: &'static str,
    subsection: Subsection,
    values: Values,
    keys: &'static [&'static str],
) -> Harmless {
    Harmless { section, subsection, values, keys }
}

#[rustfmt::skip]
const HARMLESS: &[Harmless] = &[
    keeps("core", Plain, Flag, &[
        "repositoryformatversion", "filemode", "bare", "symlinks", "ignorecase", "precomposeunicode", "fsmonitor",
        "fsmonitorhookversion", "trustctime", "preloadindex", "sparsecheckout", "sparsecheckoutcone", "splitindex", "fscache",
        "longpaths", "quotepath", "compression", "loosecompression", "commitgraph", "multipackindex", "fsyncobjectfiles",
        "maxtreedepth", "usereplacerefs", "warnambiguousrefs", "filesreflocktimeout", "packedrefstimeout",
    ]),
    keeps("core", Plain, Word, &[
        "logallrefupdates", "untrackedcache", "autocrlf", "eol", "safecrlf", "checkstat", "abbrev", "fsync", "fsyncmethod",
        "createobject", "hidedotfiles", "disambiguate", "bigfilethreshold", "packedgitlimit",
        "packedgitwindowsize", "deltabasecachelimit",
    ]),
    // `leads_outside` checks the work tree.
    keeps("core", Plain, Text, &["worktree", "whitespace"]),
    keeps("extensions", Plain, Word, &[
        "worktreeconfig", "objectformat", "compatobjectformat", "refstorage", "preciousobjects", "relativeworktrees", "noop",
    ]),
    keeps("extensions", Plain, Argument, &["partialclone"]),
    keeps("remote", With, Argument, &["url", "pushurl", "partialclonefilter", "lfsurl"]),
    keeps("remote", With, Refspec, &["fetch"]),
    keeps("remote", With, Flag, &[
        "prune", "promisor", "skipdefaultupdate", "skipfetchall", "annex-ignore", "annex-sync",
    ]),
    // The last ones are of GitHub's and GitLab's command lines, and of git-annex.
    keeps("remote", With, Word, &["followremotehead", "gh-resolved", "glab-resolved", "annex-uuid"]),
    keeps("remote", With, Text, &["tagopt"]),
    keeps("remote", Plain, Argument, &["pushdefault"]),
    keeps("remotes", Plain, Argument, &["*"]),
    // The last ones are of Visual Studio Code and of GitHub's command line.
    keeps("branch", With, Argument, &["remote", "pushremote", "merge", "vscode-merge-base", "github-pr-owner-number", "gh-merge-base"]),
    keeps("branch", With, Word, &["rebase"]),
    keeps("branch", Plain, Word, &["autosetupmerge", "autosetuprebase"]),
    keeps("branch", Plain, Text, &["sort"]),
    keeps("submodule", With, Argument, &["url", "branch"]),
    keeps("submodule", With, Word, &["active", "update", "ignore", "fetchrecursesubmodules", "shallow"]),
    keeps("submodule", Plain, Word, &["recurse", "propagatebranches", "alternatelocation", "alternateerrorstrategy"]),
    keeps("submodule", Plain, Text, &["active"]),
    keeps("user", Plain, Identity, &["name", "email"]),
    keeps("user", Plain, Text, &["signingkey"]),
    keeps("user", Plain, Flag, &["useconfigonly"]),
    keeps("author", Plain, Identity, &["name", "email"]),
    keeps("committer", Plain, Identity, &["name", "email"]),
    keeps("init", Plain, Argument, &["defaultbranch"]),
    keeps("add", Plain, Flag, &["*"]),
    keeps("advice", Plain, Flag, &["*"]),
    keeps("am", Plain, Flag, &["*"]),
    keeps("apply", Plain, Word, &["ignorewhitespace", "whitespace"]),
    keeps("blame", Plain, Word, &[
        "blankboundary", "coloring", "date", "markignoredlines", "markunblamablelines", "showemail", "showroot",
    ]),
    keeps("blame", Plain, Inside, &["ignorerevsfile"]),
    keeps("checkout", Plain, Flag, &["guess"]),
    keeps("checkout", Plain, Argument, &["defaultremote"]),
    keeps("color", Any, Text, &["*"]),
    keeps("column", Plain, Text, &["*"]),
    keeps("commit", Plain, Word, &["cleanup", "gpgsign", "status", "verbose"]),
    keeps("commitgraph", Plain, Flag, &["*"]),
    keeps("credential", Any, Text, &["username"]),
    keeps("diff", Plain, Word, &[
        "algorithm", "autorefreshindex", "colormoved", "colormovedws", "context", "dirstat", "ignoresubmodules",
        "indentheuristic", "interhunkcontext", "mnemonicprefix", "noprefix", "relative", "renamelimit", "renames",
        "statgraphwidth", "statnamewidth", "submodule", "suppressblankempty", "wserrorhighlight",
    ]),
    keeps("diff", Plain, Text, &["wordregex"]),
    keeps("diff", Plain, Inside, &["orderfile"]),
    keeps("diff", With, Flag, &["binary", "cachetextconv"]),
    keeps("diff", With, Text, &["xfuncname", "wordregex"]),
    keeps("fastimport", Plain, Flag, &["unpacklimit"]),
    keeps("feature", Plain, Flag, &["*"]),
    keeps("fetch", Plain, Word, &[
        "all", "negotiationalgorithm", "output", "prune", "recursesubmodules",
        "showforcedupdates", "unpacklimit", "writecommitgraph",
    ]),
    keeps("format", Plain, Word, &[
        "coverletter", "encodeemailheaders", "forceinbodyfrom", "mboxrd", "noprefix", "numbered", "signoff", "thread",
        "useautobase",
    ]),
    keeps("gc", Plain, Word, &[
        "aggressivedepth", "aggressivewindow", "auto", "autodetach", "autopacklimit", "bigpackthreshold", "cruftpacks",
        "maxcruftsize", "packrefs", "repackfilter", "rerereresolved", "rerereunresolved", "writecommitgraph",
    ]),
    keeps("gc", Any, Text, &["logexpiry", "pruneexpire", "reflogexpire", "reflogexpireunreachable", "worktreepruneexpire"]),
    keeps("gpg", Plain, Word, &["format"]),
    keeps("grep", Plain, Word, &["column", "extendedregexp", "fullname", "linenumber", "patterntype"]),
    keeps("http", Any, Word, &["lowspeedlimit", "lowspeedtime", "postbuffer", "version"]),
    keeps("index", Plain, Flag, &["recordendofindexentries", "recordoffsettable", "skiphash", "sparse", "version"]),
    keeps("interactive", Plain, Flag, &["singlekey"]),
    keeps("log", Plain, Word, &[
        "abbrevcommit", "date", "decorate", "diffmerges", "follow", "initialdecorationset", "mailmap", "showroot",
        "showsignature",
    ]),
    keeps("log", Plain, Text, &["excludedecoration", "graphcolors"]),
    keeps("mailinfo", Plain, Flag, &["scissors"]),
    keeps("mailmap", Plain, Inside, &["blob", "file"]),
    keeps("maintenance", Any, Word, &["auto", "autodetach", "enabled", "schedule", "strategy"]),
    keeps("merge", Plain, Word, &[
        "autostash", "branchdesc", "conflictstyle", "defaulttoupstream", "directoryrenames", "ff", "log", "renamelimit",
        "renames", "renormalize", "stat", "verbosity",
    ]),
    keeps("merge", With, Text, &["name"]),
    keeps("notes", Any, Word, &["mergestrategy", "rewritemode", "amend", "rebase"]),
    keeps("notes", Plain, Text, &["displayref", "rewriteref"]),
    keeps("pack", Plain, Word, &[
        "allowpackreuse", "compression", "deltacachelimit", "deltacachesize", "depth", "indexversion", "packsizelimit",
        "readreverseindex", "usebitmaps", "usesparse", "window", "windowmemory", "writebitmaphashcache",
        "writebitmaplookuptable", "writereverseindex",
    ]),
    // Any other value is a program.
    keeps("pager", Any, Flag, &["*"]),
    keeps("promisor", Plain, Flag, &["quiet"]),
    keeps("protocol", Plain, Flag, &["version"]),
    keeps("pull", Plain, Word, &["ff", "rebase"]),
    keeps("push", Plain, Word, &[
        "autosetupremote", "default", "followtags", "gpgsign", "negotiate", "recursesubmodules", "usebitmaps",
        "useforceifincludes",
    ]),
    keeps("rebase", Plain, Word, &[
        "abbreviatecommands", "autosquash", "autostash", "backend", "forkpoint", "maxlabellength", "missingcommitscheck",
        "rebasemerges", "reschedulefailedexec", "stat", "updaterefs",
    ]),
    keeps("receive", Plain, Word, &[
        "advertiseatomic", "advertisepushoptions", "autogc", "denycurrentbranch", "denydeletecurrent", "denydeletes",
        "denynonfastforwards", "keepalive", "maxinputsize", "shallowupdate", "unpacklimit", "updateserverinfo",
    ]),
    keeps("receive", Plain, Text, &["hiderefs"]),
    keeps("reftable", Plain, Word, &["*"]),
    keeps("repack", Plain, Word, &["*"]),
    keeps("rerere", Plain, Flag, &["*"]),
    keeps("revert", Plain, Flag, &["reference"]),
    keeps("sparse", Plain, Flag, &["*"]),
    keeps("splitindex", Plain, Word, &["*"]),
    keeps("stash", Plain, Flag, &["*"]),
    keeps("status", Plain, Word, &["*"]),
    keeps("tag", Plain, Flag, &["forcesignannotated", "gpgsign"]),
    keeps("tag", Plain, Text, &["sort"]),
    keeps("transfer", Plain, Word, &["advertiseobjectinfo", "advertisesid", "unpacklimit"]),
    keeps("transfer", Plain, Text, &["hiderefs"]),
    keeps("uploadarchive", Plain, Flag, &["allowunreachable"]),
    keeps("uploadpack", Plain, Flag, &[
        "allowanysha1inwant", "allowfilter", "allowreachablesha1inwant", "allowrefinwant", "allowtipsha1inwant", "keepalive",
    ]),
    keeps("uploadpack", Plain, Text, &["hiderefs"]),
    keeps("versionsort", Plain, Text, &["suffix"]),
    keeps("worktree", Plain, Flag, &["guessremote", "userelativepaths"]),
    // git-lfs-config(5).
    keeps("lfs", Any, Word, &["access", "locksverify", "repositoryformatversion"]),
    keeps("lfs", Plain, Text, &["fetchexclude", "fetchinclude"]),
    keeps("lfs", Plain, Argument, &["url"]),
    // git-annex(1), configuration.
    keeps("annex", Plain, Word, &["adjustedbranchrefresh", "crippledfilesystem", "private", "thin", "uuid", "version"]),
    // git-sh-prompt. With its `showUpstream`, a commit's message can become an option.
    keeps("bash", Plain, Flag, &["showdirtystate", "showuntrackedfiles"]),
];

/// Whether a new repository keeps a setting.
pub(super) fn is_harmless(entry: &ConfigEntry) -> bool {
    // Names of remotes are arguments, too.
    !is_command(&entry.subsection_text())
        && HARMLESS.iter().any(|harmless| harmless.has(entry) && harmless.values.have(entry))
}

impl Harmless {
    fn has(&self, entry: &ConfigEntry) -> bool {
        let has_subsection = match self.subsection {
            Plain => entry.subsection.is_none(),
            With => entry.subsection.is_some(),
            Any => true,
        };
        entry.section == self.section
            && has_subsection
            && self.keys.iter().any(|key| *key == "*" || entry.key == *key)
    }
}

impl Values {
    fn have(&self, entry: &ConfigEntry) -> bool {
        let value = entry.text();
        let is_of_kind = match self {
            Flag => is_boolean(&value),
            Word => is_boolean(&value) || is_word(&value),
            Argument => !value.split_whitespace().any(is_command),
            Identity => is_identity(&value),
            Refspec => is_fetched(&value),
            Inside => is_inside(&value),
            Text => true,
        };
        is_of_kind && !value.contains(char::is_control)
    }
}

/// Whether git parses a value as a boolean. It does not for larger numbers, or with a space at the end. Negative
/// numbers are left out, because git reads some of them as unsigned, and those with a zero before another digit,
/// because they are octal to git.
fn is_boolean(value: &str) -> bool {
    let words = ["", "true", "false", "yes", "no", "on", "off"];
    let is_octal = value.len() > 1 && value.starts_with('0');
    let is_number =
        || !is_octal && value.parse::<u32>().is_ok_and(|number| number <= i32::MAX.cast_unsigned());
    words.iter().any(|word| value.eq_ignore_ascii_case(word)) || is_number()
}

fn is_word(value: &str) -> bool {
    let is_of_word = |char: char| char.is_ascii_alphanumeric() || "._-:,=+%@ ".contains(char);
    !value.starts_with('-') && value.chars().all(is_of_word)
}

/// Whether a name or an address is a single one in a mail header, and none of its words is an option.
fn is_identity(text: &str) -> bool {
    // Git before 2.44 drops dots at the beginning.
    let is_of_word = |char: char| char.is_alphanumeric() || "-_".contains(char);
    let has_option = text.split(|char| !is_of_word(char)).any(|word| word.starts_with('-'));
    !has_option && !text.contains([',', ';', '<', '>', '"', '\\', '\n', '\r'])
}

/// Whether a fetch with this refspec updates remote-tracking branches, notes or nothing (git-fetch(1)).
fn is_fetched(refspec: &str) -> bool {
    let updated = refspec.split_once(':').map_or("", |(_, updated)| updated);
    let is_of_remote = ["refs/remotes/", "refs/notes/"].iter().any(|start| updated.starts_with(start));
    !is_command(refspec) && (updated.is_empty() || is_of_remote)
}

/// Whether a path does not leave the directory that it is relative to. Git expands `~` and `%(prefix)`.
fn is_inside(path: &str) -> bool {
    !path.starts_with(['/', '~', '%', ':']) && !path.split('/').any(|part| part == "..")
}

/// Schemes of URLs that git handles itself. For any other, and for `NAME::ADDRESS`, it starts a program
/// (gitremote-helpers(7)).
const SCHEMES: [&str; 7] = ["file", "git", "git+ssh", "http", "https", "ssh", "ssh+git"];

/// Whether git runs another program for a remote with this name or URL, or passes the name, the URL or its host on as
/// an option.
pub(super) fn is_command(address: &str) -> bool {
    let address = address.trim_start();
    let is_of_scheme = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    let rest = address.trim_start_matches(is_of_scheme);
    let scheme = &address[..address.len() - rest.len()];
    let is_foreign = match rest.strip_prefix("://") {
        Some(rest) => rest.starts_with('-') || !SCHEMES.contains(&scheme),
        None => !scheme.is_empty() && rest.starts_with("::"),
    };
    address.starts_with('-') || is_foreign
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_git_config::read;

    /// Names of a file's settings that a new repository does not keep.
    fn removed(text: &str) -> Vec<String> {
        let entries = read(text.as_bytes()).unwrap();
        entries.iter().filter(|entry| !is_harmless(entry)).map(ConfigEntry::name).collect()
    }

    #[test]
    fn the_table_is_written_as_names_are_compared() {
        for Harmless { section, keys, .. } in HARMLESS {
            for name in keys.iter().chain([section]) {
                assert!(!name.is_empty() && !name.contains(char::is_uppercase), "{section}.{name}");
                assert!(*name == "*" || !name.contains('*'), "{section}.{name}");
            }
        }
    }

    #[test]
    fn what_an_ordinary_repository_has_is_kept() {
        let text = "[core]\n repositoryformatversion = 0\n filemode = true\n bare = false\n logallrefupdates = true\n \
                    fsmonitor = true\n untrackedCache = true\n autocrlf = input\n worktree = ../x\n whitespace = -trailing-space,cr-at-eol\n\
                    [remote \"origin\"]\n url = git@host:a/b.git\n pushurl = ssh://git@[::1]:22/x\n url = ../a-b\n url = [::1]:x\n fetch = +refs/heads/*:refs/remotes/origin/*\n \
                    promisor = true\n partialclonefilter = blob:none\n tagOpt = --no-tags\n\
                    [branch \"main\"]\n remote = origin\n merge = refs/heads/main\n rebase = true\n\
                    [user]\n name = José O'Neil-Smith (work)\n email = 1+a-b.c@x-y.example\n signingkey = K\n[commit]\n gpgsign = true\n\
                    [submodule \"s\"]\n url = https://host/s\n active = true\n update = rebase\n\
                    [pager]\n log = false\n[extensions]\n worktreeConfig = true\n[diff]\n algorithm = histogram\n\
                    [merge]\n conflictStyle = zdiff3\n[pull]\n rebase = true\n[annex]\n uuid = 1-2\n version = 10\n\
                    [lfs]\n repositoryformatversion = 0\n[lfs \"https://host/x\"]\n access = basic\n\
                    [remotes]\n default = origin other\n[remote \"ext\"]\n url = https://host/e\n[bash]\n showDirtyState = false\n\
                    [pack]\n windowMemory = 100m\n[color \"diff\"]\n meta = bold yellow\n[gc]\n auto = 0\n pruneExpire = 2.weeks.ago\n\
                    [blame]\n ignoreRevsFile = .git-blame-ignore-revs\n[http]\n postBuffer = 524288000\n\
                    [tag]\n sort = -version:refname\n[init]\n defaultBranch = main\n[advice]\n detachedHead = false\n";
        assert_eq!(removed(text), Vec::<String>::new());
    }

    #[test]
    fn names_and_values_are_compared_as_git_does() {
        let text = "[CORE]\n FsMonitor = ./p\n[core]\n fsmonitor = \"1 \"\n FSMONITOR = 99999999999\n fsmonitor = 08\n fsmonitor = 0\n fsmonitor\n bare = true\n\
                    [filter \"X\"]\n CLEAN = p\n required = true\n[pager]\n log = less\n diff = true\n\
                    [submodule \"s\"]\n update = !p\n[remote \"o\"]\n url = ext::p\n url = https://host/o\n annex-ssh-command = p\n\
                    [url \"ext::p\"]\n insteadOf = x\n[merge]\n tool = ../p\n[alias]\n a = !p\n\
                    [includeIf \"gitdir:/x\"]\n path = y\n[pull]\n twohead = /p\n[branch \"b\"]\n remote = ext::p\n pushRemote = --exec=p\n\
                    [remote]\n pushDefault = ext::p\n[format]\n suffix = /../x\n[extensions]\n partialClone = -u=p\n \
                    refStorage = reftable:///x\n[remote \"ext::q\"]\n promisor = true\n[remotes]\n default = o --upl=p\n\
                    [url \"ext\"]\n insteadOf = x\n[remote \"--upload-pack=p;\"]\n promisor = true\n[sendemail]\n smtpServer = /p\n\
                    [lfs]\n storage = /x\n[a-program-of-tomorrow]\n command = p\n[core \"x\"]\n bare = true\n[color]\n";
        let expected = [
            "core.fsmonitor",
            "core.fsmonitor",
            "core.fsmonitor",
            "core.fsmonitor",
            "filter.X.clean",
            "filter.X.required",
            "pager.log",
            "submodule.s.update",
            "remote.o.url",
            "remote.o.annex-ssh-command",
            "url.ext::p.insteadof",
            "merge.tool",
            "alias.a",
            "includeif.gitdir:/x.path",
            "pull.twohead",
            "branch.b.remote",
            "branch.b.pushremote",
            "remote.pushdefault",
            "format.suffix",
            "extensions.partialclone",
            "extensions.refstorage",
            "remote.ext::q.promisor",
            "remotes.default",
            "url.ext.insteadof",
            "remote.--upload-pack=p;.promisor",
            "sendemail.smtpserver",
            "lfs.storage",
            "a-program-of-tomorrow.command",
            "core.x.bare",
        ];
        assert_eq!(removed(text), expected);
    }

    /// Known settings of git, its extensions and other programs that run something, include settings, or name files to
    /// write.
    #[rustfmt::skip]
    const DANGEROUS: &[&str] = &[
        "core.fsmonitor=p", "core.sshcommand=p", "core.gitproxy=p", "core.pager=p", "core.editor=p", "core.askpass=p",
        "core.hookspath=p", "core.alternaterefscommand=p", "core.virtualfilesystem=p", "sequence.editor=p",
        "rebase.instructionformat=p", "pager.x=p", "alias.x=p", "hook.x=p", "include.x=p", "includeif.x=p",
        "credential.xhelper=p", "diff.external=p", "diff.s.command=p", "diff.s.textconv=p", "diff.tool=/p",
        "diff.guitool=/p", "merge.tool=/p", "merge.guitool=/p", "merge.s.driver=p", "difftool.s.cmd=p",
        "difftool.s.path=p", "mergetool.s.cmd=p", "mergetool.s.path=p", "mergetool.s.layout=p", "filter.s.clean=p",
        "filter.s.smudge=p", "filter.s.process=p", "gpg.program=p", "gpg.defaultkeycommand=p", "remote.s.uploadpack=p",
        "remote.s.receivepack=p", "remote.s.vcs=p", "remotes.x=ext::p", "remote.s.url=ext::p",
        "remote.s.pushurl=ext::p", "submodule.s.url=ext::p", "branch.s.remote=ext::p", "branch.s.pushremote=ext::p",
        "remote.pushdefault=ext::p", "checkout.defaultremote=ext::p", "protocol.allow=p", "submodule.s.update=!p",
        "uploadpack.packobjectshook=p", "gc.repackfilterto=p", "extensions.partialclone=ext::p",
        "gc.recentobjectshook=p", "interactive.difffilter=p", "trailer.s.command=p", "trailer.s.cmd=p",
        "tar.s.command=p", "pull.twohead=/p", "pull.octopus=/p", "branch.s.mergeoptions=-s ../p", "init.templatedir=p",
        "http.savecookies=p", "sendemail.smtpserver=/p", "sendemail.smtpserveroption=p", "sendemail.xcmd=p",
        "imap.tunnel=p", "instaweb.httpd=p", "instaweb.browser=p", "instaweb.modulepath=p", "instaweb.port=p",
        "instaweb.gitwebdir=p", "format.outputdirectory=p", "format.suffix=/p", "web.browser=p", "help.browser=p",
        "browser.s.x=p", "man.viewer=p", "man.s.x=p", "guitool.s.cmd=p", "lfs.s.path=p", "lfs.s.clean=p",
        "lfs.s.smudge=p", "lfs.standalonetransferagent=p", "annex.x-command=p", "annex.x-hook=p", "annex.x-program=p",
        "remote.s.annex-x=p", "bash.showupstream=svn", "svn-remote.s.url=p", "extensions.refstorage=/p",
        "gitflow.hooks=p", "stgit.editor=p", "stgit.pager=p", "lfs.storage=/p", "delta.pager=p", "icdiff.x=p",
        "tig.x=p", "branchless.x=p", "b4.xcmd=p", "patatt.gpg-bin=p", "http.sslcerttype=p", "http.sslkeytype=p",
        "url.s.insteadof=p", "format.suffix=.bashrc", "format.filenamemaxlength=-1", "core.excludesfile=/p",
        "blame.ignorerevsfile=~/p", "mailmap.file=a/../../p", "pack.windowmemory=-1", "commit.template=p", "merge.tool=p",
        // Git's own comments in a rebase become instructions; other programs start; other users may write.
        "core.commentstring=exec p", "core.commentchar=p", "remote.s.url=hg::/p", "remote.s.pushurl=hg://h/p",
        "submodule.s.url=ssh://-oProxyCommand=p/x", "core.sharedrepository=0666",
        // A character becomes a line break in the instructions of a rebase; names become options of the mail program; a
        // push deletes.
        "i18n.logoutputencoding=IBM922", "i18n.commitencoding=CP856", "user.email=-C/p@h", "user.email=a@h,-C/p@h",
        "author.email=<-C/p@h", "user.name=x (-C/p)", "user.name=x, -Cp@h",
        "user.email=.-C/p@h", "author.name=..-Cp@h", "index.threads=100000", "http.maxrequests=100000", "remote.s.mirror=true", "remote.s.push=:refs/heads/x",
        "remote.s.fetch=+refs/heads/*:refs/heads/*", "remote.s.fetch=+refs/*:refs/*", "remote.s.fetch=x:refs/tags/x",
        "remote.s.prunetags=true", "fetch.prunetags=true",
        "checkout.workers=100000", "pack.threads=100000", "grep.threads=100000",
        // Addresses become options of the mail program.
        "sendemail.to=L <-Cp@h>", "sendemail.s.cc=<-Cp@h>", "format.to=<-Cp@h>", "format.headers=To: <-Cp@h>",
        // What the person has set up becomes weaker.
        "core.excludesfile=p", "core.attributesfile=p", "filter.s.required=false", "core.ignorestat=true", "push.pushoption=p",
        "http.proxy=p", "http.s.sslverify=false", "http.sslcainfo=p", "sendemail.smtpencryption=none", "remote.s.proxy=p",
        "credential.protectprotocol=false", "transfer.fsckobjects=false", "fsck.missingemail=ignore",
        "gpg.ssh.allowedsignersfile=p", "gpg.mintrustlevel=never", "merge.verifysignatures=false", "clean.requireforce=false",
        "svn.authorsprog=p", "svn.configdir=p", "svn-remote.s.authorsprog=p",
    ];

    #[test]
    fn what_is_known_to_run_programs_is_not_kept() {
        for setting in DANGEROUS {
            let (name, value) = setting.split_once('=').unwrap();
            let (section, key) = name.rsplit_once('.').unwrap();
            let section = section.replacen('.', " \"", 1) + if section.contains('.') { "\"" } else { "" };
            assert_eq!(removed(&format!("[{section}]\n{key} = {value}\n")), [name], "{setting}");
        }
    }
}
