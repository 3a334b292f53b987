"""A workspace of its own for each command, and the port program that runs the command in it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PORT = Path(os.environ.get("BEAMAI_PORT", TOP / "priv" / "beamai-port"))
# Not below /tmp, which commands see as their session's own directory.
BASE = Path(os.environ.get("BEAMAI_STARTS_DIR", "/var/tmp"))
PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin:/usr/games"
# What is done once for many commands may take longer: setting up a virtual environment copies thousands of files.
SETUP_SECONDS = 600


class Scene:
    """A workspace, a home directory and a directory of programs that commands cannot write."""

    def __init__(self, name):
        self.top = BASE / f"beamai-starts-{os.getpid()}" / name
        self.workspace, self.home, self.tools = (self.top / part for part in ("work", "home", "tools"))
        self.hit = self.workspace / "hit"

    def __enter__(self):
        for directory in (self.workspace, self.home, self.tools):
            directory.mkdir(parents=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["chmod", "-R", "u+rwX", self.top], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def environment(self):
        return {
            "PATH": f"{self.tools}:{Path.home()}/.cargo/bin:{PATH}",
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "USER": "root",
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    def settings(self):
        """The full sandbox, with sockets for multiplexers and agents to talk over."""
        path = self.top / "settings.json"
        path.write_text(json.dumps({"sandbox": {"mode": "required", "unix_sockets": True}}))
        return path

    def write(self, path, text):
        """Writes a file of the workspace, or with a leading `~/` of the home directory; a `#!` makes it executable."""
        place = self.home / path[2:] if path.startswith("~/") else self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        if text.startswith("#!"):
            place.chmod(0o755)

    def prepare(self, script):
        """Runs a script outside of the sandbox."""
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=self.workspace,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SETUP_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"the set-up fails: {done.stderr.strip()[-300:]}")

    def run(self, command, policy, seconds=40):
        """Runs a command under the sandbox and these rules; the answer of the port program."""
        call = json.dumps({"command": command, "timeout": seconds * 1000})
        done = subprocess.run(
            [PORT, "call", "shell_exec", "-", "--settings", self.settings(), *policy],
            cwd=self.workspace,
            env=self.environment(),
            input=call,
            capture_output=True,
            text=True,
            timeout=seconds + 80,
            check=False,
        )
        try:
            return json.loads(done.stdout)
        except ValueError:
            raise RuntimeError(f"the port program answers {done.stdout!r} {done.stderr!r}") from None


def allow(rules):
    """Options that allow these; a bare name stands for the program with whatever arguments."""
    spelled = [rule if "(" in rule or rule == "Bash" else f"Bash({rule}:*)" for rule in rules]
    return [option for rule in spelled for option in ("--allow", rule)]
