//! What a reaper has to know of namespaces and mounts that somebody else has made for it.

use super::placeholders::Placeholder;
use super::script::PlannedMount;
use super::{HostIdentity, SetupFailure};
use crate::Confinement;
use beamai_isolation::LayerOff;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// Namespaces, by the flags of clone, and what `/proc` calls them.
const KINDS: [(libc::c_int, &str); 6] = [
    (libc::CLONE_NEWUSER, "user"),
    (libc::CLONE_NEWPID, "pid"),
    (libc::CLONE_NEWIPC, "ipc"),
    (libc::CLONE_NEWUTS, "uts"),
    (libc::CLONE_NEWNET, "net"),
    (libc::CLONE_NEWNS, "mnt"),
];

/// What was planned outside, for the reaper inside.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReaperPlan {
    /// What was to be made.
    pub confinement: Confinement,
    /// What the reaper needs to know of the machine.
    pub outside: HostIdentity,
    /// The namespaces outside: the kernel's names of them.
    namespaces: Vec<(String, OsString)>,
    /// What is to be mounted where.
    pub(super) parts: Vec<(OsString, PlannedMount)>,
    /// Files that must not come to be: directory and name.
    pub(super) absent: Vec<(OsString, String)>,
    /// What was made on the machine so that something could be mounted there.
    pub placeholders: Vec<Placeholder>,
    pub(super) partly: Vec<LayerOff>,
    /// How many processes and threads the user has outside.
    pub(super) others: u32,
    /// How many descriptors a process may have.
    descriptors: Option<u64>,
}

impl ReaperPlan {
    pub(super) fn new(confinement: &Confinement) -> Result<Self, SetupFailure> {
        let outside = HostIdentity::here();
        let named = |(_, kind): &(libc::c_int, &str)| Ok(((*kind).to_owned(), own(kind)?));
        let namespaces = KINDS.iter().map(named).collect::<Result<_, Errno>>();
        Ok(Self {
            confinement: confinement.clone(),
            namespaces: namespaces.map_err(|errno| SetupFailure::new("look at the namespaces", errno))?,
            parts: Vec::new(),
            absent: Vec::new(),
            placeholders: Vec::new(),
            partly: Vec::new(),
            others: threads_of(outside.uid),
            descriptors: getrlimit(Resource::Nofile).current,
            outside,
        })
    }

    /// Takes back what was raised so that everything could be told.
    pub fn restore_limits(&self) -> Result<(), Errno> {
        let known = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: self.descriptors, ..known })
    }

    /// Whether this process is in another namespace of a kind than whoever planned.
    pub(super) fn is_apart(&self, namespace: libc::c_int) -> Result<bool, Errno> {
        let (_, kind) = KINDS.iter().find(|(flag, _)| *flag == namespace).ok_or(Errno::INVAL)?;
        let (_, outside) = self.namespaces.iter().find(|(name, _)| name == kind).ok_or(Errno::INVAL)?;
        Ok(own(kind)? != *outside)
    }
}

fn own(kind: &str) -> Result<OsString, Errno> {
    let link = std::fs::read_link(format!("/proc/self/ns/{kind}"));
    link.map(Into::into).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// How many processes and threads a user has, as far as `/proc` shows them.
fn threads_of(uid: u32) -> u32 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let texts = pids.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    texts.filter_map(|text| threads_in(&text, uid)).sum()
}

/// The number of threads of a process, if it is the user's.
fn threads_in(status: &str, uid: u32) -> Option<u32> {
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<u32>().ok()
    };
    (value("Uid:")? == uid).then(|| value("Threads:"))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_for_their_user_only() {
        let status = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t7\n";
        assert_eq!((threads_in(status, 1000), threads_in(status, 0)), (Some(7), None));
        assert!(threads_of(rustix::process::getuid().as_raw()) >= 1);
    }
}
