//! Judges each program that a command starts, for the exec guard.
//!
//! A command's text is judged before it runs. The programs that it actually starts are judged here, by the same rules and
//! with their actual arguments. So even a text that was read wrongly starts nothing that neither a rule nor a person
//! allowed.

mod applet;
mod bounded;
mod called;
mod denied;
mod parts;
mod program_rule;
mod question;
mod shown;
mod table;
#[cfg(test)]
mod tests;

use applet::Applet;
pub use denied::DeniedStarts;
use denied::PreparedRules;
use parts::is_part;
use shown::is_long;
pub use shown::{asked_about, shown, shown_directory, shown_process, written};
pub(super) use table::has;
pub use table::{ProgramEntry, ProgramKind, ProgramParts, TABLE};

use super::permission_request::{CommandLine, Operand};
use super::rule::PermissionRule;
use super::shell::{CommandCase, may_write, open};
use super::words::CommandPattern;
use super::{PermissionRequests, Policy};
use beamai_base::Result;
use beamai_bash_reader::{Analysis, Invocation, InvocationKind, Word, is_shell, is_sink};
use beamai_isolation::{ProgramStart, StartCoverage};
use std::cell::LazyCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of expected programs; further ones need approval.
const MOST_FORESEEN: usize = 10_000;

/// What allowed a command to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandApproval {
    /// Rules allowed each part of it.
    Parts,
    /// A rule or the mode allows every command.
    Open,
    /// A person allowed exactly this command.
    Whole,
    /// A rule allowed exactly this command. The files that its shell writes need rules of their own.
    WholeButFiles,
}

/// The decision about a start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartVerdict {
    /// It continues, with this coverage.
    Start(StartCoverage),
    /// It fails. With the deny rule; `None` if the mode `deny` applies.
    Refuse(Option<String>),
    /// It needs approval.
    Ask {
        /// The rule that requires approval.
        rule: Option<String>,
        /// The reason, if the rules alone do not give it.
        why: Option<String>,
        /// Rules that would allow it.
        wanted: Vec<String>,
    },
}

/// Judges the starts of one command.
#[derive(Debug)]
pub struct StartRules {
    /// The rules, including those that a person adds while the command runs.
    policy: Mutex<Arc<Policy>>,
    line: CommandLine,
    approval: CommandApproval,
    deny: PreparedRules,
    ask: PreparedRules,
    /// The directories that the command may run in.
    directories: Vec<PathBuf>,
    /// The programs that the command's text starts, and those of each shell text judged when it starts.
    foreseen: Mutex<Analysis>,
    /// The programs that approved texts and command lines start.
    approved: Mutex<Vec<Invocation>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartRules {
    /// The judge for a call's command; `None` if no start needs a decision. `is_approved` says that a person allowed it.
    pub fn of(
        policy: &Arc<Policy>,
        permissions: &PermissionRequests,
        is_approved: bool,
    ) -> Option<Arc<Self>> {
        let Operand::Command(line) = &permissions.first.operand else { return None };
        let is_open = is_approved || open(policy).is_some();
        let has_rules = |rules: &[PermissionRule]| rules.iter().any(|rule| rule.command().is_some());
        if is_open && !has_rules(&policy.deny) && (is_approved || !has_rules(&policy.ask)) {
            return None;
        }
        let case = CommandCase::of(policy, line);
        let approval = match (is_approved, case.whole_rule(), is_open) {
            (false, None, false) => CommandApproval::Parts,
            (false, None, true) => CommandApproval::Open,
            (false, Some(_), false) => CommandApproval::WholeButFiles,
            _ => CommandApproval::Whole,
        };
        let is_whole = matches!(approval, CommandApproval::Whole | CommandApproval::WholeButFiles);
        // What a text shows has been judged.
        let is_shown = approval == CommandApproval::Whole || is_whole && !case.is_doubtful();
        let asked = if is_shown { &[][..] } else { &policy.ask };
        let ask = PreparedRules::of(asked, &policy.roots);
        let deny = policy.denied_starts().prepared();
        let judges_files = matches!(approval, CommandApproval::Parts | CommandApproval::WholeButFiles);
        if !judges_files && ask.is_empty() && deny.is_empty() {
            return None;
        }
        let directories = case.directories.unwrap_or_else(|| vec![PathBuf::from(&line.directory)]);
        let (foreseen, approved) = (Mutex::new(case.found), Mutex::default());
        let (policy, line) = (Mutex::new(Arc::clone(policy)), line.clone());
        Some(Arc::new(Self { policy, line, approval, deny, ask, directories, foreseen, approved }))
    }

    fn policy(&self) -> Arc<Policy> {
        Arc::clone(&lock(&self.policy))
    }

    /// Adds an allow rule for further starts of the command.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule and for one that is not about commands.
    pub fn add(&self, rule: &str) -> Result<()> {
        let mut policy = lock(&self.policy);
        *policy = Arc::new(policy.with_rule_about("Bash", rule)?);
        Ok(())
    }

    /// The coverage of an approved start, which is the same as by a rule. If it is a shell with a text or a wrapper with a
    /// command line, and the question showed all of it, the person has seen what it starts, so that is approved too.
    pub fn approve(&self, start: &ProgramStart) -> StartCoverage {
        let name = called::base(&start.called);
        let coverage = if start.is_writable { StartCoverage::Everything } else { table::coverage(&name) };
        if coverage != StartCoverage::Judged {
            return if self.approval == CommandApproval::Open {
                coverage.max(StartCoverage::Judged)
            } else {
                coverage
            };
        }
        if !start.has_all_arguments || is_long(&written(start)) {
            return StartCoverage::Judged;
        }
        let found = self.read(start);
        let is_read = found.doubts.is_empty() && found.programs.len() > 1;
        if is_shell(&name) && !is_read {
            return StartCoverage::Everything;
        }
        let mut approved = lock(&self.approved);
        if approved.len() < MOST_FORESEEN {
            approved.extend(found.programs);
        }
        StartCoverage::Judged
    }

    /// Whether an approved text or command line starts this.
    fn is_approved(&self, start: &ProgramStart) -> bool {
        let approved = lock(&self.approved);
        if approved.is_empty() || !called::is_called_by_its_name(start) {
            return false;
        }
        let (name, given) = (called::base(&start.called), called::arguments(start));
        let paths = LazyCell::new(|| called::spellings(start, &self.directories, &self.policy().roots));
        let is_meant = |program: &Invocation| {
            !start.is_writable || program.name().is_some_and(|name| paths.contains(&name))
        };
        let mut programs = approved.iter();
        programs.any(|program| program.foresees(&name, &given, start.has_all_arguments) && is_meant(program))
    }

    /// The command, as one would type it.
    pub fn typed(&self) -> &str {
        &self.line.typed
    }

    /// A description of what is decided when programs start.
    pub fn enforced(&self) -> &'static str {
        match self.covers_all_starts() {
            true => "its programs are covered; one that a deny rule names does not start, whoever starts it",
            false => {
                "each program is judged as it starts: one that no rule covers is asked about, or ends the command where \
                 nobody can be asked, and one that a deny rule names does not start"
            }
        }
    }

    /// The coverage of the command itself.
    pub fn coverage(&self) -> StartCoverage {
        match self.approval {
            CommandApproval::Parts | CommandApproval::WholeButFiles => StartCoverage::JudgedWithFiles,
            CommandApproval::Open if !self.ask.is_empty() => StartCoverage::Judged,
            CommandApproval::Open | CommandApproval::Whole => StartCoverage::Everything,
        }
    }

    /// Whether all that the command starts is covered, deny rules apart.
    fn covers_all_starts(&self) -> bool {
        self.approval == CommandApproval::WholeButFiles || self.coverage() == StartCoverage::Everything
    }

    /// Whether programs in the workspace must be executable, because something covers them.
    pub fn covers_workspace_programs(&self) -> bool {
        let covers = |name: &str| name.contains('/') || table::coverage(name) == StartCoverage::Everything;
        let foreseen = lock(&self.foreseen);
        self.covers_all_starts()
            || foreseen.programs.iter().any(|program| {
                let runs_script = |name: &str| is_shell(name) && is_script(&program.known_arguments());
                program.system_name().is_none_or(|name| covers(&name) || runs_script(&name))
            })
    }

    /// Whether no rule denies a start: where the command covers everything, that is all there is to decide.
    pub fn admits(&self, start: &ProgramStart) -> bool {
        self.deny.rule(start).is_none()
    }

    /// Whether a shell whose text was judged may open a file to write, by this path, which leads to this file (`None`:
    /// unknown). The text shows the paths, unless a rule allows one that cannot be analysed, and rules cover them; the
    /// command may since have made a link there.
    pub fn writes(&self, path: &OsStr, file: Option<&Path>) -> bool {
        let path = crate::bytes::text(path);
        let is_shown = match self.approval {
            CommandApproval::Open | CommandApproval::Whole => return true,
            CommandApproval::WholeButFiles => true,
            CommandApproval::Parts => lock(&self.foreseen).writes.iter().any(|word| word.may_be(&path)),
        };
        is_sink(&path) || is_shown && file.is_some_and(|file| may_write(&self.policy(), file))
    }

    /// Decides about a start.
    pub fn judge(&self, start: &ProgramStart) -> StartVerdict {
        if let Some(rule) = self.deny.rule(start) {
            return StartVerdict::Refuse(Some(rule.to_owned()));
        }
        match start.starter.coverage {
            StartCoverage::Everything => StartVerdict::Start(StartCoverage::Everything),
            StartCoverage::Parts(at) if is_part(at, start) => StartVerdict::Start(StartCoverage::Parts(at)),
            by if by.is_judged() && self.is_approved(start) => StartVerdict::Start(self.approve(start)),
            _ if self.covers_all_starts() => match self.ask.rule(start) {
                Some(rule) => self.asked(start, Some(rule.to_owned()), None),
                None => StartVerdict::Start(coverage_in_whole(start)),
            },
            StartCoverage::Parts(_) => self.by_rules(start),
            StartCoverage::JudgedWithFiles | StartCoverage::Judged => match self.is_foreseen(start) {
                true => self.by_rules(start),
                false => self.unforeseen(start),
            },
        }
    }

    /// Analyses the words of a start as if a shell ran them.
    fn read(&self, start: &ProgramStart) -> Analysis {
        called::read(start, self.is_shown(start), self.policy().roots.tilde())
    }

    /// Whether the command's text starts this. Always true if the starter is not a shell.
    fn is_foreseen(&self, start: &ProgramStart) -> bool {
        let by_shell = is_shell(&called::base(&start.starter.program));
        !by_shell || self.approval == CommandApproval::Open || self.is_shown(start)
    }

    /// Whether the command's text shows this start.
    fn is_shown(&self, start: &ProgramStart) -> bool {
        is_shell(&called::base(&start.starter.program)) && self.is_listed(start, |_| true)
    }

    /// Whether this can be the start of an expected program of this kind.
    fn is_listed(&self, start: &ProgramStart, is_one: impl Fn(&Invocation) -> bool) -> bool {
        let (name, given) = (called::base(&start.called), called::arguments(start));
        let is_it = |program: &Invocation| {
            is_one(program) && program.foresees(&name, &given, start.has_all_arguments)
        };
        lock(&self.foreseen).programs.iter().any(is_it)
    }

    fn by_rules(&self, start: &ProgramStart) -> StartVerdict {
        if let Some(rule) = self.ask.rule(start) {
            return self.asked(start, Some(rule.to_owned()), None);
        }
        if self.approval == CommandApproval::Open {
            return StartVerdict::Start(
                table::coverage(&called::base(&start.called)).max(StartCoverage::Judged),
            );
        }
        if start.is_loader() {
            let why = "the loader runs a program that shows no start of its own".to_owned();
            return self.asked(start, None, Some(why));
        }
        if self.is_judged_text(start) || self.is_covered_text(start) {
            return StartVerdict::Start(StartCoverage::JudgedWithFiles);
        }
        if called::applet(start).is_some_and(|applet| !self.covers_applet(&applet)) {
            return self.asked(
                start,
                None,
                Some("it may be another program, which shows no start of its own".to_owned()),
            );
        }
        if let Some(coverage) = self.covering(start) {
            return StartVerdict::Start(coverage);
        }
        let name = called::base(&start.called);
        let is_systems = !start.is_writable && called::is_called_by_its_name(start);
        // An unknown option may do more, and some variables make it start something else.
        if is_systems && self.is_free_wrapper(&name, start) {
            return StartVerdict::Start(StartCoverage::Judged);
        }
        if is_systems && is_harmless(&self.read(start)) {
            return StartVerdict::Start(table::coverage(&name));
        }
        self.asked(start, None, None)
    }

    /// Whether a program only starts the one of its command line, which is judged by itself.
    fn is_free_wrapper(&self, name: &str, start: &ProgramStart) -> bool {
        // Reading the command line costs more than a look at the table.
        if table::coverage(name) != StartCoverage::Judged || is_shell(name) {
            return false;
        }
        let found = self.read(start);
        let is_wrapper =
            found.programs.first().is_some_and(|program| program.standing == InvocationKind::Wrapper);
        // Variables come before the program. Where the program was not read, some of them may not have been read either.
        let is_read = start.has_all_arguments || found.programs.len() > 1;
        is_wrapper && is_read && found.doubts.is_empty()
    }

    /// Whether rules cover what an applet does in its process.
    fn covers_applet(&self, applet: &Applet) -> bool {
        applet.read().is_some_and(|found| CommandCase::with(&self.policy(), &self.line, found).is_covered())
    }

    /// Whether the text of a shell was judged as a part of the command's text, as what its shell or a wrapper starts.
    fn is_judged_text(&self, start: &ProgramStart) -> bool {
        let is_read = |program: &Invocation| program.standing == InvocationKind::Wrapper;
        let is_passed_on = start.starter.coverage.is_judged() && is_whole(start);
        is_shell(&called::base(&start.called)) && is_passed_on && self.is_listed(start, is_read)
    }

    /// Judges a text that another program gives to a shell as a command. If rules allow all of it, its programs and
    /// files are expected. What it reads from is not judged again when it is opened, and the directory is not known
    /// here.
    fn is_covered_text(&self, start: &ProgramStart) -> bool {
        if !is_shell(&called::base(&start.called)) || !is_whole(start) {
            return false;
        }
        let found = self.read(start);
        let is_read = found.programs.first().is_some_and(|shell| shell.standing == InvocationKind::Wrapper);
        if !is_read || !found.reads.is_empty() {
            return false;
        }
        let policy = self.policy();
        let case = CommandCase::with(&policy, &self.line, found);
        let is_covered = case.is_covered();
        let mut foreseen = lock(&self.foreseen);
        if is_covered && foreseen.programs.len() < MOST_FORESEEN {
            foreseen.programs.extend(case.found.programs);
            foreseen.writes.extend(case.found.writes);
        }
        is_covered
    }

    /// The coverage under the allow rule that matches, if any.
    fn covering(&self, start: &ProgramStart) -> Option<StartCoverage> {
        let given = called::arguments(start);
        let arguments = called::compared(&given, start.has_all_arguments);
        let allows =
            |name: &str, pattern: &CommandPattern| pattern.allows_words(&Word::literal(name), &arguments);
        let name = called::base(&start.called);
        let policy = self.policy();
        let paths = LazyCell::new(|| called::spellings(start, &self.directories, &policy.roots));
        if policy.allow.iter().any(|rule| rule.tool == "Bash" && rule.pattern.is_none()) {
            return Some(StartCoverage::Everything);
        }
        let allow = || policy.allow.iter().filter_map(PermissionRule::command);
        let by_path = |pattern: &&CommandPattern| {
            pattern.may_name_paths() && paths.iter().any(|path| allows(path, pattern))
        };
        if start.is_writable {
            return allow().any(|pattern| by_path(&pattern)).then_some(StartCoverage::Everything);
        }
        let by_name = |pattern: &&CommandPattern| {
            called::is_called_by_its_name(start) && allows(&name, pattern) || by_path(pattern)
        };
        let pattern = allow().find(by_name)?;
        let names_script = is_shell(&name) && is_script(&given) && pattern.has_arguments();
        let is_shim =
            start.called.parent().and_then(|parent| parent.file_name()).is_some_and(|name| name == "shims");
        // It may be a text of the command that is too long to be compared.
        let is_cut_text = is_shell(&name) && runs_text(&given) && !start.has_all_arguments;
        Some(match () {
            () if names_script || is_shim => StartCoverage::Everything,
            () if is_cut_text => StartCoverage::JudgedWithFiles,
            () => table::coverage(&name),
        })
    }
}

/// Whether it is certain what starts: a file that no command can have changed, with all its arguments.
fn is_whole(start: &ProgramStart) -> bool {
    !start.is_writable && start.has_all_arguments
}

/// The coverage of a start where a rule covers all of the command. Ask rules, and rules for the files that shells
/// write, hold for what shells with a text and wrappers start, too.
fn coverage_in_whole(start: &ProgramStart) -> StartCoverage {
    // A link may give a shell another name.
    let names = [&start.called, &start.file].map(|path| called::base(path));
    let is_wrapper = |name: &String| table::coverage(name) == StartCoverage::Judged;
    match names.iter().any(|name| is_shell(name)) {
        // What it loads shows no start of its own, and may be such a shell.
        _ if start.is_loader() => StartCoverage::JudgedWithFiles,
        true if runs_text(&called::arguments(start)) => StartCoverage::JudgedWithFiles,
        false if names.iter().any(is_wrapper) => StartCoverage::Judged,
        _ => StartCoverage::Everything,
    }
}

/// Whether a program does the same as a harmless builtin.
fn is_harmless(found: &Analysis) -> bool {
    matches!(&*found.programs, [program] if program.standing == InvocationKind::Harmless)
}

/// Whether a shell gets its text as an argument.
fn runs_text(given: &[String]) -> bool {
    let is_it =
        |option: &String| option.starts_with('-') && !option.starts_with("--") && option.contains('c');
    !is_script(given) && given.iter().any(is_it)
}

/// Whether a shell's first argument is a script.
fn is_script(given: &[String]) -> bool {
    given.first().is_some_and(|first| !first.starts_with(['-', '+']))
}
