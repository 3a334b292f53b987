//! Undoes what a command did to the paths by which git finds settings and hooks.

use super::directory::OpenDirectory;
use super::repository::{Cleaner, risky_settings_of, still_there, told_git_hooks, told_hook, told_hooks};
use super::sources::{TrustedKind, TrustedPath};
use super::way::{entry_in, open_parent};
use beamai_base::{Entry, PathWay};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

impl Cleaner<'_> {
    /// Puts links back as they were, and cleans what no mount has protected.
    pub(super) fn clean_trusted(&mut self) {
        let trusted = &self.root.sources.trusted;
        let lead_on: Vec<_> = trusted.iter().filter(|trusted| self.leads_on(&trusted.way)).collect();
        for trusted in lead_on {
            self.clean_content(trusted);
        }
    }

    /// Whether each link on a path is as it was before the command. A link that was changed or replaced is put back;
    /// one that is new is renamed.
    fn leads_on(&mut self, way: &PathWay) -> bool {
        for step in &way.steps {
            let Ok((directory, name)) = open_parent(&step.path) else { return false };
            match (&step.entry, entry_in(&directory, &name)) {
                (before, now) if *before == now => {}
                (_, Entry::Nothing) => return false,
                (Entry::Link(target), _) => {
                    let outcome = match put_back(&directory, &name, target) {
                        Ok(aside) => {
                            format!(
                                "the link is as it was; what was there is now {}",
                                aside.to_string_lossy()
                            )
                        }
                        Err(errno) => still_there(errno),
                    };
                    self.record(&step.path, "leads git elsewhere", outcome);
                }
                (_, Entry::Link(_)) => {
                    let outcome = directory
                        .set_aside(&name)
                        .map_or_else(still_there, |aside| format!("renamed to {}", aside.to_string_lossy()));
                    self.record(&step.path, "leads git elsewhere", outcome);
                    return false;
                }
                _ => {}
            }
        }
        true
    }

    fn clean_content(&mut self, trusted: &TrustedPath) {
        let nothing = BTreeSet::new();
        let path = &trusted.way.end;
        let kept = match &trusted.known {
            // What commands could not write is as the person wants it.
            Some(known) if known.is_held && (known.has_kept(trusted) || !self.is_writable(path)) => return,
            Some(known) => &*known.kept,
            None => &nothing,
        };
        let Ok((directory, name)) = open_parent(path) else { return };
        let above = path.parent().unwrap_or(path);
        let is_file = directory.kind(&name) == Some(FileType::RegularFile);
        match trusted.kind {
            TrustedKind::Hooks => self.clean_hooks(above, &directory, &name, kept),
            _ if !is_file => {}
            TrustedKind::Config => self.clean_config(above, &directory, &name, kept),
            TrustedKind::Hook if !kept.contains(&told_hook(&directory, &name)) => {
                self.set_aside(above, &directory, &name, "a hook");
            }
            TrustedKind::CommonDirectory if !kept.contains(&told_text(&directory, &name)) => {
                self.set_aside(above, &directory, &name, "leads to settings that are not protected");
            }
            TrustedKind::Hook | TrustedKind::CommonDirectory => {}
        }
    }

    /// Whether a name is a link by which git found settings or hooks before, too.
    pub(super) fn is_own_link(&self, path: &Path, directory: &OpenDirectory, name: &OsStr) -> bool {
        let path = self.real.join(path).join(name);
        let steps = self.root.sources.trusted.iter().flat_map(|trusted| &trusted.way.steps);
        let mut links = steps.filter(|step| step.path == path && matches!(step.entry, Entry::Link(_)));
        links.any(|step| step.entry == entry_in(directory, name))
    }
}

fn put_back(directory: &OpenDirectory, name: &OsStr, target: &OsStr) -> Result<OsString, Errno> {
    let aside = directory.set_aside(name)?;
    directory.make_link(name, target)?;
    Ok(aside)
}

/// What a path has that runs programs. `is_root` says whether it is a whole writable directory.
pub(super) fn risky_content(trusted: &TrustedPath, is_root: bool) -> BTreeSet<String> {
    let path = &trusted.way.end;
    let Ok((directory, name)) = open_parent(path) else { return BTreeSet::new() };
    match trusted.kind {
        TrustedKind::Config => risky_settings_of(&directory, &name),
        TrustedKind::Hooks if is_root => told_git_hooks(path),
        TrustedKind::Hooks => OpenDirectory::root(path).map(|hooks| told_hooks(&hooks)).unwrap_or_default(),
        TrustedKind::Hook => BTreeSet::from([told_hook(&directory, &name)]),
        TrustedKind::CommonDirectory => BTreeSet::from([told_text(&directory, &name)]),
    }
}

fn told_text(directory: &OpenDirectory, name: &OsStr) -> String {
    format!("{:?}", directory.read(name))
}
