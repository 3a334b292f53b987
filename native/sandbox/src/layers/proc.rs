//! A private `/proc`, which shows only the command's processes.

use super::{Layer, LayerContext};
use crate::SetupFailure;
use rustix::mount::MountFlags;
use rustix::process::{getegid, getgroups};

pub(super) struct Proc;

impl Layer for Proc {
    fn name(&self) -> &'static str {
        "private_proc"
    }

    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        rustix::mount::mount("proc", "/proc", "proc", flags, None)
            .map_err(|errno| SetupFailure::new("mount a /proc", errno))
    }
}

/// Whether the `/proc` of this process hides those of others from a plain user (the mount option `hidepid`, proc(5)).
pub(super) fn hides_processes() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = getgroups().unwrap_or_default().into_iter().chain([getegid()]);
    hides_from(&mounts, &groups.map(|group| group.as_raw().to_string()).collect::<Vec<_>>())
}

/// The same, for a process with these mounts and groups.
fn hides_from(mounts: &str, groups: &[String]) -> bool {
    let is_proc = |line: &&str| line.split(' ').nth(4) == Some("/proc");
    let Some(line) = mounts.lines().rfind(is_proc) else { return false };
    let options = line.rsplit(' ').next().unwrap_or_default();
    let option = |name: &str| options.split(',').find_map(|option| option.strip_prefix(name));
    let hides = option("hidepid=").is_some_and(|value| !matches!(value, "0" | "off"));
    hides && !option("gid=").is_some_and(|group| groups.iter().any(|own| own == group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_hidden_by_an_option_but_not_from_a_group() {
        let hides = |options: &str| {
            let mounts = format!(
                "21 28 0:19 / /sys rw - sysfs sysfs rw\n22 28 0:20 / /proc rw,nosuid - proc proc {options}\n"
            );
            hides_from(&mounts, &["27".to_owned()])
        };
        for options in ["rw,hidepid=2", "rw,gid=2,hidepid=invisible", "rw,hidepid=1", "rw,hidepid=ptraceable"]
        {
            assert!(hides(options), "{options}");
        }
        for options in
            ["rw", "rw,hidepid=0", "rw,hidepid=off", "rw,gid=27,hidepid=invisible", "rw,subset=pid"]
        {
            assert!(!hides(options), "{options}");
        }
    }
}
