//! Obstacles to sandbox layers on a machine, and their remedies: one table for error messages, `doctor` and start-up
//! notices.

use crate::layers::landlock_version;
use beamai_isolation::{SandboxMode, SandboxSettings, Tier};
use rustix::io::Errno;
use std::fmt;

/// An obstacle to some layers.
pub struct Obstacle {
    /// Its name, for programs.
    pub name: &'static str,
    /// The layers that it prevents.
    pub layers: &'static [&'static str],
    /// What was found.
    pub finding: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    is_there: fn() -> bool,
}

/// Finding and remedy.
impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.finding, self.remedy)
    }
}

/// The layers that are namespaces, or need one.
const NAMESPACES: &[&str] = &[
    "user_namespace",
    "pid_namespace",
    "ipc_namespace",
    "uts_namespace",
    "network_namespace",
    "mount_namespace",
];

const TABLE: &[Obstacle] = &[
    Obstacle {
        name: "masked_proc",
        layers: &["private_proc"],
        finding: "parts of /proc are masked, as in a container, and Linux then lets nobody mount a /proc of its own",
        remedy: "start the container with --security-opt unmask=ALL (podman), --security-opt systempaths=unconfined \
                 (docker) or procMount: Unmasked (Kubernetes); or do without it: sandbox => #{without => \
                 [private_proc]}, or tier landlock: --sandbox required:landlock, sandbox => #{tier => landlock}",
        is_there: is_proc_masked,
    },
    Obstacle {
        name: "filtered_namespaces",
        layers: NAMESPACES,
        finding: "a filter of system calls (seccomp) refuses namespaces, as Docker's default profile does",
        remedy: "start the container with --security-opt seccomp=unconfined, or with a profile that permits clone, \
                 unshare, mount, umount2, pivot_root, setns, open_tree, move_mount and mount_setattr; or use tier \
                 landlock: --sandbox required:landlock, sandbox => #{tier => landlock}",
        is_there: are_namespaces_filtered,
    },
    Obstacle {
        name: "apparmor",
        layers: NAMESPACES,
        finding: "AppArmor keeps programs without a profile from using user namespaces \
                  (kernel.apparmor_restrict_unprivileged_userns is 1)",
        remedy: "install a profile that permits userns to beamai-port (docs/sandbox.md has one), or set sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0; or use tier landlock: --sandbox required:landlock, \
                 sandbox => #{tier => landlock}",
        is_there: || is_plain_user() && is_set("kernel/apparmor_restrict_unprivileged_userns", "1"),
    },
    Obstacle {
        name: "clones_forbidden",
        layers: NAMESPACES,
        finding: "only root may make user namespaces (kernel.unprivileged_userns_clone is 0)",
        remedy: "set sysctl kernel.unprivileged_userns_clone=1; or use tier landlock: --sandbox required:landlock, \
                 sandbox => #{tier => landlock}",
        is_there: || is_plain_user() && is_set("kernel/unprivileged_userns_clone", "0"),
    },
    Obstacle {
        name: "no_user_namespaces",
        layers: NAMESPACES,
        finding: "no user namespaces may be made (user.max_user_namespaces is 0)",
        remedy: "set sysctl user.max_user_namespaces=15000; or use tier landlock: --sandbox required:landlock, sandbox \
                 => #{tier => landlock}",
        is_there: || is_set("user/max_user_namespaces", "0"),
    },
    Obstacle {
        name: "no_setfcap",
        layers: NAMESPACES,
        finding: "root has not the capability SETFCAP here, as in a container with --cap-drop=ALL, and Linux then gives it no \
                  user namespace with a root of its own",
        remedy: "start the container with --cap-add=SETFCAP, or as a user that is not root; or use tier landlock: \
                 --sandbox required:landlock, sandbox => #{tier => landlock}",
        is_there: || !is_plain_user() && !has_capability(CAP_SETFCAP),
    },
    Obstacle {
        name: "no_landlock",
        layers: &["landlock", "signal_scope"],
        finding: "this kernel has no Landlock, or has it switched off",
        remedy: "boot a kernel of 5.13 or newer with landlock in the list of its parameter lsm= (see \
                 /sys/kernel/security/lsm); or do without it: sandbox => #{without => [landlock]}",
        is_there: || matches!(landlock_version(), Err(Errno::NOSYS | Errno::OPNOTSUPP)),
    },
    Obstacle {
        name: "filtered_landlock",
        layers: &["landlock", "signal_scope"],
        finding: "a filter of system calls (seccomp) refuses Landlock",
        remedy: "permit landlock_create_ruleset, landlock_add_rule and landlock_restrict_self in the container's seccomp \
                 profile, or update the container's runtime",
        is_there: || matches!(landlock_version(), Err(Errno::PERM | Errno::ACCESS)),
    },
    Obstacle {
        name: "old_landlock",
        layers: &["signal_scope"],
        finding: "this kernel's Landlock cannot keep signals in (that takes Linux 6.12)",
        remedy: "boot a newer kernel, use tier full, or let commands signal other processes of the same user: sandbox \
                 => #{tier => landlock, without => [signal_scope]}",
        is_there: || landlock_version().is_ok_and(|version| version < 6),
    },
];

/// The obstacles on this machine. Takes less than a millisecond.
pub fn obstacles() -> Vec<&'static Obstacle> {
    TABLE.iter().filter(|obstacle| (obstacle.is_there)()).collect()
}

/// The obstacles for commands under the given settings: with `required` no command will run, with `best_effort` they
/// run with fewer layers.
pub fn obstacles_to(sandbox: &SandboxSettings) -> Vec<&'static Obstacle> {
    let mut found = match sandbox.mode {
        SandboxMode::Off => return Vec::new(),
        SandboxMode::Required | SandboxMode::BestEffort => obstacles(),
    };
    found.retain(|obstacle| {
        !obstacle.layers.iter().all(|layer| sandbox.without.iter().any(|name| name == layer))
    });
    let without_namespaces = ["landlock", "signal_scope"];
    let stops =
        |obstacle: &&Obstacle, layers: &[&str]| layers.iter().any(|layer| obstacle.layers.contains(layer));
    let landlock_works = !found.iter().any(|obstacle| stops(obstacle, &without_namespaces));
    match (sandbox.mode, sandbox.tier) {
        (SandboxMode::Required, Tier::Landlock) if landlock_works => found.clear(),
        // Obstacles to a tier only matter if that tier is needed.
        (SandboxMode::Required, Tier::Full) => {
            found.retain(|obstacle| obstacle.layers != &["signal_scope"][..])
        }
        _ => {}
    }
    found
}

fn is_plain_user() -> bool {
    !rustix::process::geteuid().is_root()
}

/// `CAP_SETFCAP`: to map user 0 into a new user namespace (`user_namespaces(7)`).
const CAP_SETFCAP: u32 = 31;

/// Whether this process has a capability.
fn has_capability(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .is_none_or(|set| set >> number & 1 == 1)
}

fn is_set(sysctl: &str, value: &str) -> bool {
    std::fs::read_to_string(format!("/proc/sys/{sysctl}")).is_ok_and(|text| text.trim() == value)
}

/// Whether something is mounted over a part of `/proc`.
fn is_proc_masked() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter_map(|line| line.split(' ').nth(4)).any(masks_proc)
}

/// Systems mount binfmt_misc there.
fn masks_proc(mount: &str) -> bool {
    mount.starts_with("/proc/") && !mount.starts_with("/proc/sys/fs/binfmt_misc")
}

/// Whether a filter exists, and a user namespace is refused for no other known reason.
fn are_namespaces_filtered() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:")).unwrap_or_default();
    mode.trim() == "2" && refuses_user_namespaces()
}

/// Whether a request for a user namespace is refused as by a filter. Profiles answer with either number: Docker's with
/// `EPERM`, those made from Podman's with `ENOSYS`, which no kernel answers itself.
fn refuses_user_namespaces() -> bool {
    let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
    // SAFETY: the child has its own memory, does nothing but exit, and is waited for.
    unsafe {
        let child = libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize);
        match child {
            0 => libc::_exit(0),
            -1 => matches!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EPERM | libc::ENOSYS)),
            child => {
                libc::waitpid(i32::try_from(child).unwrap_or(-1), std::ptr::null_mut(), 0);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_obstacle_has_a_name_of_its_own_and_layers_that_there_are() {
        let names: std::collections::HashSet<_> = TABLE.iter().map(|obstacle| obstacle.name).collect();
        assert_eq!(names.len(), TABLE.len());
        let known = [NAMESPACES, &["private_proc", "landlock", "signal_scope"]].concat();
        assert!(TABLE.iter().flat_map(|obstacle| obstacle.layers).all(|layer| known.contains(layer)));
    }

    #[test]
    fn a_mount_in_proc_masks_it_unless_the_system_makes_it() {
        assert!(masks_proc("/proc/kcore") && masks_proc("/proc/sys"));
        assert!(!masks_proc("/proc") && !masks_proc("/proc/sys/fs/binfmt_misc") && !masks_proc("/processes"));
    }

    #[test]
    fn nothing_is_in_the_way_of_no_sandbox() {
        assert!(obstacles_to(&SandboxMode::Off.into()).is_empty());
    }
}
