//! Applets of busybox and toybox, which run in the process of the program that has them.

/// Applets that start no other program, whatever their arguments are.
const PLAIN: &str = "[ arch basename base32 base64 cal cat chgrp chmod chown cksum clear cmp comm cp crc32 cut date dd df diff dirname \
                     dos2unix du echo egrep expand expr factor false fgrep file fold free getconf grep groups gunzip gzip head hexdump \
                     hostid hostname id kill killall link ln logname ls md5sum mkdir mkfifo mktemp mv nl nproc od paste pgrep pidof \
                     pkill printenv printf ps pwd readlink realpath rev rm rmdir sed seq sha1sum sha256sum sha512sum shred sleep sort \
                     split stat strings stty sum sync tac tail tee test touch tr true truncate tsort tty uname unexpand uniq unix2dos \
                     unlink unzip uptime usleep uudecode uuencode wc which who whoami xxd xzcat yes zcat bunzip2 bzcat bzip2";

/// Whether an applet of this name starts no other program.
pub fn is_plain_applet(name: &str) -> bool {
    PLAIN.split_ascii_whitespace().any(|plain| plain == name)
}
