//! A system call filter: forbids calls that builds, tests and searches do not need, and that have been used for
//! escapes.

use super::{Layer, LayerContext};
use crate::SetupFailure;
use libc::{ENOSYS, EOPNOTSUPP, EPERM};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;

/// Calls that are refused with any arguments.
const REFUSED: &[libc::c_long] = &[
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    // Access to files without their paths.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // Keyrings, which belong to users and not to namespaces.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Large parts of the Linux kernel behind few calls.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Calls that fail with `ENOSYS`, upon which programs use an older call.
const MISSING: &[libc::c_long] = &[
    // A filter cannot see their flags and modes; it can see those of the older calls.
    libc::SYS_clone3,
    libc::SYS_openat2,
    // Memory that no limit counts.
    libc::SYS_memfd_create,
    SYS_MEMFD_SECRET,
];

/// System V IPC and POSIX message queues, forbidden if there is no IPC namespace.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Extended attributes and flags, forbidden if there are no read-only mounts: Landlock does not cover them. Programs
/// assume that the file system does not support them.
const ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

/// `ioctl` requests that change the flags, version, encryption or verity of an inode, or the subvolumes of btrfs; forbidden
/// for the same reason. From `linux/fs.h`, `linux/fscrypt.h`, `linux/fsverity.h`, `linux/btrfs.h` and ext4.
const FILE_REQUESTS: [u64; 15] = [
    0x4008_6602, // FS_IOC_SETFLAGS
    0x4004_6602, // FS_IOC32_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4004_7602, // FS_IOC32_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x5000_9401, // BTRFS_IOC_SNAP_CREATE
    0x5000_9417, // BTRFS_IOC_SNAP_CREATE_V2
    0x5000_940e, // BTRFS_IOC_SUBVOL_CREATE
    0x5000_9418, // BTRFS_IOC_SUBVOL_CREATE_V2
    0x5000_940f, // BTRFS_IOC_SNAP_DESTROY
    0x5000_943f, // BTRFS_IOC_SNAP_DESTROY_V2
    0x4008_941a, // BTRFS_IOC_SUBVOL_SETFLAGS
];

/// Numbers that are the same on all architectures, and that libc does not name yet.
const SYS_FILE_SETATTR: libc::c_long = 469;
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;

/// The same number on all architectures.
const SYS_MEMFD_SECRET: libc::c_long = 447;

/// `open_tree_attr`, which libc does not name yet; the same number on all architectures.
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;

/// Calls that set a file's mode, with the position of that argument. A set-user-ID or set-group-ID file runs as its
/// owner, which outside of the sandbox is this process's user.
const MODES: &[(libc::c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Calls that create a file with a mode, with the positions of flags and mode.
const OPENS: &[(libc::c_long, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];

/// Calls that change the limits or priority of another process, with the position of the pid. The reaper must stay able
/// to inspect and kill processes.
const CHANGES: &[(libc::c_long, u8)] = &[
    (libc::SYS_prlimit64, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// Calls that change the priority of several processes, with the constants for a group and for a user.
const TOGETHER: &[(libc::c_long, u64, u64)] = &[(libc::SYS_setpriority, 1, 2), (libc::SYS_ioprio_set, 2, 3)];

/// The flags that create a file; the second is the distinguishing part of `O_TMPFILE`.
const CREATES: [u64; 2] = [0o100, 0o20_000_000];
/// The set-user-ID and set-group-ID bits.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// Whether two processes have one address space, of what kcmp(2) compares (`linux/kcmp.h`).
pub const KCMP_VM: libc::c_int = 1;

/// The same number on all architectures.
const SYS_FCHMODAT2: libc::c_long = 452;

/// Namespaces, as flags of clone and unshare.
const NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    // For unshare only; in clone this bit is part of the signal number.
    0x80,
];

/// Terminal requests that insert input, or take over a terminal.
const TERMINAL: [u64; 4] = [
    0x5412, // TIOCSTI
    0x541c, // TIOCLINUX
    0x541d, // TIOCCONS
    0x5423, // TIOCSETD
];

pub(super) struct Seccomp;

impl Layer for Seccomp {
    fn name(&self) -> &'static str {
        "seccomp"
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let failure = |errno| SetupFailure::new("filter system calls", errno);
        let has_own_network = stage.profile.has(libc::CLONE_NEWNET) || stage.confinement.network;
        let families = families(has_own_network, stage.confinement.unix_sockets);
        let mut rules = refused(&families).map_err(|_| failure(Errno::INVAL))?;
        let mut unsupported = Rules::new();
        if !stage.profile.has_pids() {
            rules.extend(of_others().map_err(|_| failure(Errno::INVAL))?);
        }
        if !stage.profile.has_ipc() {
            rules.extend(whole(SHARED));
        }
        if !stage.profile.has_mounts() {
            unsupported.extend(whole(ATTRIBUTES));
            let requests = FILE_REQUESTS.into_iter().map(request).collect::<Built<_>>();
            unsupported.insert(libc::SYS_ioctl, requests.map_err(|_| failure(Errno::INVAL))?);
        }
        for (rules, errno) in [(whole(MISSING), ENOSYS), (unsupported, EOPNOTSUPP), (rules, EPERM)] {
            if rules.is_empty() {
                continue;
            }
            let program = compile(rules, errno).ok_or_else(|| failure(Errno::OPNOTSUPP))?;
            apply_filter(&program).map_err(|error| failure(errno_of(&error)))?;
        }
        apply_filter(&no_other_numbers()).map_err(|error| failure(errno_of(&error)))
    }
}

/// Permitted socket families.
fn families(network: bool, unix: bool) -> Vec<libc::c_int> {
    let mut families = vec![libc::AF_NETLINK];
    if network {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if unix {
        families.push(libc::AF_UNIX);
    }
    families
}

pub(super) type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

/// Calls with any arguments.
fn whole(calls: &[libc::c_long]) -> Rules {
    calls.iter().map(|number| (*number, Vec::new())).collect()
}

/// The calls of [`CHANGES`] for other processes, and of [`TOGETHER`] for several processes. Without a pid namespace, a
/// command can name the machine's processes.
fn of_others() -> Built<Rules> {
    let mut rules = Rules::new();
    for (number, process) in CHANGES {
        rules.insert(*number, vec![SeccompRule::new(vec![argument(*process, SeccompCmpOp::Ne, 0)?])?]);
    }
    for (number, group, user) in TOGETHER {
        let kinds = [*user, *group].map(|kind| SeccompRule::new(vec![argument(0, SeccompCmpOp::Eq, kind)?]));
        rules.entry(*number).or_default().extend(kinds.into_iter().collect::<Built<Vec<_>>>()?);
    }
    Ok(rules)
}

fn refused(families: &[libc::c_int]) -> Built<Rules> {
    let mut rules = whole(REFUSED);
    rules.insert(SYS_OPEN_TREE_ATTR, Vec::new());
    // The reaper, which is under this filter, too, asks which processes have one address space.
    let is_other = argument(2, SeccompCmpOp::Ne, u64::from(KCMP_VM.cast_unsigned()))?;
    rules.insert(libc::SYS_kcmp, vec![SeccompRule::new(vec![is_other])?]);
    let namespaces: Vec<SeccompRule> = NAMESPACES.iter().map(|flag| has_flag(*flag)).collect::<Built<_>>()?;
    rules.insert(libc::SYS_clone, namespaces[..NAMESPACES.len() - 1].to_vec());
    rules.insert(libc::SYS_unshare, namespaces);
    let reaper = u64::from(rustix::process::getpid().as_raw_pid().cast_unsigned());
    for (number, process) in CHANGES {
        let rule = SeccompRule::new(vec![argument(*process, SeccompCmpOp::Eq, reaper)?])?;
        rules.insert(*number, vec![rule]);
    }
    for (number, group, user) in TOGETHER {
        rules.entry(*number).or_default().extend(together(*group, *user)?);
    }
    rules.insert(libc::SYS_ioctl, TERMINAL.into_iter().map(request).collect::<Built<_>>()?);
    // A lease (fcntl(2)) on a file that may only be read keeps everybody else from opening it, beamai included.
    rules.insert(libc::SYS_fcntl, vec![request(libc::F_SETLEASE as u64)?]);
    rules.insert(libc::SYS_socket, vec![family_not_in(families)?, netlink_but_routes()?]);
    if !families.contains(&libc::AF_UNIX) {
        rules.insert(libc::SYS_socketpair, datagrams()?);
    }
    for (number, mode) in MODES {
        let rule = |bit| SeccompRule::new(vec![has_bit(*mode, bit)?]);
        rules.insert(*number, SET_ID.into_iter().map(rule).collect::<Built<_>>()?);
    }
    for (number, flags, mode) in OPENS {
        let pairs = CREATES.into_iter().flat_map(|flag| SET_ID.map(|bit| (flag, bit)));
        let rule = |(flag, bit)| SeccompRule::new(vec![has_bit(*flags, flag)?, has_bit(*mode, bit)?]);
        rules.insert(*number, pairs.map(rule).collect::<Built<_>>()?);
    }
    Ok(rules)
}

/// All processes of a user, including the reaper, and those of the reaper's group. In a pid namespace, that group has
/// no number by which commands could name it.
fn together(group: u64, user: u64) -> Built<Vec<SeccompRule>> {
    let kind = |kind| argument(0, SeccompCmpOp::Eq, kind);
    let mut rules = vec![SeccompRule::new(vec![kind(user)?])?];
    // SAFETY: takes no arguments.
    let own = u64::from(unsafe { libc::getpgrp() }.cast_unsigned());
    if own != 0 {
        rules.push(SeccompRule::new(vec![kind(group)?, argument(1, SeccompCmpOp::Eq, own)?])?);
    }
    Ok(rules)
}

/// An ioctl.
fn request(number: u64) -> Built<SeccompRule> {
    SeccompRule::new(vec![argument(1, SeccompCmpOp::Eq, number)?])
}

fn has_bit(index: u8, bit: u64) -> Built<SeccompCondition> {
    argument(index, SeccompCmpOp::MaskedEq(bit), bit)
}

fn argument(index: u8, operator: SeccompCmpOp, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

fn has_flag(flag: libc::c_int) -> Built<SeccompRule> {
    let flag = u64::from(flag.cast_unsigned());
    SeccompRule::new(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?])
}

fn family_not_in(families: &[libc::c_int]) -> Built<SeccompRule> {
    let other = |family: &libc::c_int| argument(0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned()));
    SeccompRule::new(families.iter().map(other).collect::<Built<_>>()?)
}

/// Of netlink, only interfaces and routes.
fn netlink_but_routes() -> Built<SeccompRule> {
    let netlink = argument(0, SeccompCmpOp::Eq, u64::from(libc::AF_NETLINK.cast_unsigned()))?;
    SeccompRule::new(vec![
        netlink,
        argument(2, SeccompCmpOp::Ne, u64::from(libc::NETLINK_ROUTE.cast_unsigned()))?,
    ])
}

/// Only stream socket pairs: one end of a datagram pair could be connected to another socket of the machine.
fn datagrams() -> Built<Vec<SeccompRule>> {
    let kind = |kind: libc::c_int| {
        let kind = u64::from(kind.cast_unsigned());
        SeccompRule::new(vec![argument(1, SeccompCmpOp::MaskedEq(0xf), kind)?])
    };
    [libc::SOCK_DGRAM, libc::SOCK_RAW].into_iter().map(kind).collect()
}

/// A filter that makes these calls fail, and kills processes that make calls of another architecture.
pub(super) fn compile(rules: Rules, errno: libc::c_int) -> Option<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).ok()?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).ok()?.try_into().ok()
}

/// On x86-64, the same calls have other numbers in the x32 ABI, which the rules do not cover.
pub(super) fn no_other_numbers() -> BpfProgram {
    let statement = |code: u32, jt, jf, k| sock_filter { code: code as u16, jt, jf, k };
    vec![
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, 0x4000_0000),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | ENOSYS.cast_unsigned()),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

pub(super) fn errno_of(error: &seccompiler::Error) -> Errno {
    match error {
        seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
            Errno::from_io_error(error).unwrap_or(Errno::IO)
        }
        _ => Errno::INVAL,
    }
}
