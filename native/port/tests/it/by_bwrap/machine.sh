#!/bin/sh
# Runs a program as nobody special on a machine that refuses namespaces to it, but not to bwrap. To be started as root.
#
#   machine.sh KIND USER TARGET PREPARATION PROGRAM [ARGUMENT...]
#
# KIND is what refuses them:
#   kernel    the kernel, to everybody; bwrap is set-uid root, as in hardened systems
#   profile   a rule that knows bwrap, as AppArmor has them in Ubuntu; here, a filter of system calls
#   nothing   nothing: the machine is like any other
# USER is the number of the user and of its group; users that nothing else has are not disturbed by what others use up.
# TARGET is the directory of what was built, which that user has to reach. PREPARATION is a script for root on that machine.
# Nothing of it is left: mounts and limits are in namespaces of their own.
set -eu
kind="$1" user="$2" target="$3" preparation="$4"
shift 4
here="$(cd "$(dirname "$0")" && pwd)"

if [ "${IN_MACHINE:-}" = "" ]; then
    export IN_MACHINE=mounts
    if [ "$kind" != kernel ]; then
        exec unshare --mount "$0" "$kind" "$user" "$target" "$preparation" "$@"
    fi
    # A user namespace in which there are all users, with limits of its own.
    unshare --user --mount sh -c 'until grep -q . /proc/self/gid_map; do sleep 0.01; done; exec "$@"' sh \
        "$0" "$kind" "$user" "$target" "$preparation" "$@" &
    child=$!
    until [ "$(readlink "/proc/$child/ns/user")" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.01; done
    echo "0 0 65536" >"/proc/$child/uid_map"
    echo "0 0 65536" >"/proc/$child/gid_map"
    wait "$child"
    exit
fi

mount -t tmpfs -o mode=1777 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /mnt
cp "$here/filter.py" /mnt/filter.py
nobody() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
if ! nobody test -x "$target/beamai-port"; then
    # A directory above lets nobody in: here, another one is in its place, with the target in it and nothing else.
    mkdir /mnt/target
    mount --rbind "$target" /mnt/target
    closed="$target"
    above="$target"
    while [ "$above" != / ]; do
        nobody test -x "$above" || closed="$above"
        above="$(dirname "$above")"
    done
    mount -t tmpfs -o mode=755 tmpfs "$closed"
    mkdir -p "$target"
    mount --rbind /mnt/target "$target"
fi
cp "$(command -v bwrap)" /mnt/bwrap
if [ "$kind" = kernel ]; then
    echo 0 >/proc/sys/user/max_user_namespaces
    chmod 4755 /mnt/bwrap
fi
mount --bind /mnt/bwrap "$(readlink -f "$(command -v bwrap)")"
cp "$(command -v id)" /mnt/id
chown 65533 /mnt/id
chmod 4755 /mnt/id
eval "$preparation"
unset IN_MACHINE
cd /
export HOME=/nonexistent
filter=""
[ "$kind" != profile ] || filter="python3 /mnt/filter.py"
exec $filter setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
