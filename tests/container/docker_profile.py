"""Prints a seccomp profile that refuses what Docker's default one refuses, made from the one that Podman has.

Podman lets every program make namespaces and mounts; Docker only those with CAP_SYS_ADMIN. ERRNO is what is refused with: Docker
takes 1 (EPERM), Podman 38 (ENOSYS). Usage: docker_profile.py PROFILE ERRNO.
"""

import json
import sys

# What Docker's profile allows with CAP_SYS_ADMIN alone (moby, profiles/seccomp/default.json).
ADMIN = {
    "bpf", "clone", "clone3", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "lookup_dcookie", "mount",
    "mount_setattr", "move_mount", "open_tree", "perf_event_open", "pivot_root", "quotactl", "quotactl_fd", "setdomainname",
    "sethostname", "setns", "syslog", "umount", "umount2", "unshare", "keyctl", "add_key", "request_key",
}  # fmt: skip
# The flags of clone that make namespaces.
NAMESPACES = 0x7E020000


def main(path, errno):
    with open(path) as file:
        profile = json.load(file)
    profile["defaultErrnoRet"] = errno
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in ADMIN]
    profile["syscalls"] = [rule for rule in profile["syscalls"] if rule["names"]]
    without_namespaces = {"index": 0, "value": NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    profile["syscalls"] += [
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [without_namespaces]},
        # So that the C library falls back to clone.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        {"names": sorted(ADMIN - {"clone", "clone3"}), "action": "SCMP_ACT_ERRNO", "errnoRet": errno},
    ]
    json.dump(profile, sys.stdout)


main(sys.argv[1], int(sys.argv[2]))
