//! A shell that records what it would start and open, and does neither.
//!
//! One bash runs many commands, each in a subshell of its own. A library in front of libc (`recorder.c`) takes the place
//! of every program and every file, so a command costs little more than its forks and can do no harm.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Programs that are there.
const PROGRAMS: [&str; 32] = [
    "git", "rm", "ls", "cat", "cp", "npm", "make", "a", "b", "no", "say", "curl", "env", "timeout", "nice",
    "nohup", "xargs", "find", "setsid", "stdbuf", "bash", "sh", "sudo", "busybox", "wrap", "time",
    "function", "select", "coproc", "let", "read", "declare",
];

/// Files that patterns match, some with names that only an attacker gives.
const FILES: [&str; 6] = ["null", "x1", "x2.txt", "-v", "a[$(rm file)]", "a b"];

/// The user as which commands run where this program may choose.
const NOBODY: u32 = 65534;
/// The home directory.
pub(super) const HOME: &str = "/home/judge";

/// How long a command may take.
const LONGEST: Duration = Duration::from_secs(5);

/// Runs each command that it is given in a subshell; descriptor 200 is open in whatever that leaves behind.
const DRIVER: &str = r#"
while IFS= read -r -d '' command_; do
    (
        eval "$command_"
        [[ ${GIT_X+set} ]] && builtin printf 'variable\0GIT_X\0<end>\0' >&200
    ) </dev/null >/dev/null 2>&1 200>"$JUDGE_FIFO"
done"#;

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    /// It ran a program.
    Ran { name: String, args: Vec<String> },
    /// It opened a file for reading.
    Read(String),
    /// It opened a file for writing.
    Wrote(String),
    /// It set a variable that git heeds.
    Set,
}

/// Runs commands and tells what they did.
pub(crate) struct Recorder {
    home: TempDir,
    bash: Option<Child>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let recorder = Self { home: TempDir::new().unwrap(), bash: None };
        for directory in [recorder.shims(), recorder.workspace()] {
            std::fs::create_dir(&directory).unwrap();
            allow_all(&directory);
        }
        allow_all(recorder.home.path());
        PROGRAMS.iter().for_each(|name| allow_all(&made(&recorder.shims().join(name))));
        FILES.iter().for_each(|name| _ = made(&recorder.workspace().join(name)));
        rustix::fs::mkfifoat(rustix::fs::CWD, recorder.fifo(), 0o666.into()).unwrap();
        allow_all(&recorder.fifo());
        recorder.compile();
        recorder
    }

    fn compile(&self) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bash_judge/recorder.c");
        let done = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(self.library())
            .arg(source)
            .status();
        assert!(done.unwrap().success(), "the recorder does not compile");
        allow_all(&self.library());
    }

    fn library(&self) -> PathBuf {
        self.home.path().join("recorder.so")
    }

    fn fifo(&self) -> PathBuf {
        self.home.path().join("records")
    }

    pub(crate) fn shims(&self) -> PathBuf {
        self.home.path().join("bin")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn bash(&self) -> Child {
        let mut bash = Command::new("/bin/bash");
        if rustix::process::geteuid().is_root() {
            bash.uid(NOBODY).gid(NOBODY);
        }
        bash.args(["--noprofile", "--norc", "-c", DRIVER])
            .env_clear()
            .env("PATH", self.shims())
            .env("HOME", HOME)
            .env("LC_ALL", "C.UTF-8")
            .env("FUNCNEST", "5")
            .env("LD_PRELOAD", self.library())
            .env("JUDGE_FIFO", self.fifo())
            .env("JUDGE_SHIMS", self.shims())
            .current_dir(self.workspace())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Runs a command; what it did. `None` where it went on for ever.
    pub(crate) fn run(&mut self, command: &str) -> Option<Vec<Did>> {
        let mut bash = self.bash.take().unwrap_or_else(|| self.bash());
        // Without O_NONBLOCK it would wait for the first writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut fifo = File::from(rustix::fs::open(self.fifo(), flags, Mode::empty()).unwrap());
        let input = bash.stdin.as_mut().unwrap();
        input.write_all(command.as_bytes()).and_then(|()| input.write_all(b"\0")).unwrap();
        let mut log = Vec::new();
        let is_late = !reads_all(&mut fifo, &mut log);
        if is_late || bash.try_wait().unwrap().is_some() {
            _ = kill_process_group(Pid::from_child(&bash), Signal::KILL);
            _ = bash.wait();
            // What is dying still has the FIFO open, and must not be taken for the next command.
            assert!(reads_all(&mut fifo, &mut log), "{command:?} left a process that cannot be killed");
        } else {
            self.bash = Some(bash);
        }
        (!is_late).then(|| records(&log))
    }
}

/// Reads until the last process that the command started has ended; false where that takes too long.
fn reads_all(fifo: &mut File, log: &mut Vec<u8>) -> bool {
    let end = Instant::now() + LONGEST;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // Before the command has opened it, there is neither anything to read nor an end.
        match poll(&mut [PollFd::new(fifo, PollFlags::IN)], Some(&Timespec::try_from(left).unwrap())) {
            Ok(0) => return false,
            Err(Errno::INTR) => continue,
            polled => _ = polled.unwrap(),
        }
        let mut bytes = [0; 4096];
        match fifo.read(&mut bytes) {
            Ok(0) => return true,
            Ok(length) => log.extend(&bytes[..length]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("the records cannot be read: {error}"),
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(mut bash) = self.bash.take() {
            drop(bash.stdin.take());
            _ = bash.wait();
        }
    }
}

fn records(log: &[u8]) -> Vec<Did> {
    let mut words: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for word in log.split(|byte| *byte == 0) {
        if word != b"<end>" {
            words.push(String::from_utf8_lossy(word).into_owned());
            continue;
        }
        let mut args = std::mem::take(&mut words).into_iter();
        let (kind, name) = (args.next().unwrap_or_default(), args.next().unwrap_or_default());
        all.push(match &*kind {
            "run" => Did::Ran { name, args: args.collect() },
            "read" => Did::Read(name),
            "write" => Did::Wrote(name),
            _ => Did::Set,
        });
    }
    all
}

fn made(path: &Path) -> PathBuf {
    std::fs::write(path, "").unwrap();
    path.to_owned()
}

fn allow_all(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
}
