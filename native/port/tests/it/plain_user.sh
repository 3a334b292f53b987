#!/bin/sh
# Runs a program as a user whom nobody knows. To be started as root.
#
#   plain_user.sh USER TARGET PROGRAM [ARGUMENT...]
#
# USER is the number of the user and of its group. TARGET is the directory of what was built, which that user has to reach.
# Nothing of it is left: mounts are in a namespace of their own.
set -eu
user="$1" target="$2"
shift 2
nobody() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
if [ "${IN_NAMESPACE:-}" = "" ]; then
    IN_NAMESPACE=1 exec unshare --mount "$0" "$user" "$target" "$@"
fi
unset IN_NAMESPACE
if ! nobody test -x "$target/beamai-port"; then
    # A directory above lets nobody in: here, another one is in its place, with the target in it and nothing else.
    mount -t tmpfs -o mode=755 tmpfs /mnt
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
cd /
export HOME=/nonexistent
exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
