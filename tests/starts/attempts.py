#!/usr/bin/env python3
"""Attempts to start a program that no rule covers.

Each of `attempts/*.toml` has a table for each program through which it is tried:

    [tar]
    package = "tar"                   # Debian packages, by spaces, if it is not on every machine
    allow = ["tar"]                   # rules; the program with whatever arguments, if left out
    deny = ["Bash(touch:*)"]          # rules that deny, if any
    setup = "git init -q"             # what is done before, outside of the sandbox
    [tar.files]                       # what is in the workspace, beside a.txt, b.txt and dir/c.txt
    [tar.attempts]
    checkpoint = "tar cf x.tar --checkpoint=1 --checkpoint-action=exec='touch hit' a.txt"

An attempt may be a table as well, with `command` and keys that take the place of the program's. It has its effect when
the file `hit` is in the workspace afterwards. No rule covers what makes it: `touch` (here and there another tool that
writes a file), or programs that make it whatever their arguments: `payload`, in a directory of the PATH that commands cannot write, and `./p` in the workspace. In
commands and files `@HIT@`, `@P@` and `@WS@` stand for the paths of that file, of `payload` and of the workspace.

Each attempt must have its effect where everything is allowed, and must have none under its rules with nobody to ask.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scene import Scene, allow

HERE = Path(__file__).resolve().parent / "attempts"
OPEN = ["--default", "allow"]
# What attempts may use for their preparations, so that none is stopped for these.
COMPANY = "true echo printf cat cp ln mkdir mv chmod head seq sleep kill wait export".split() + ["Write(**)", "Edit(**)"]


@dataclass(frozen=True)
class Attempt:
    family: str
    program: str
    name: str
    command: str
    rules: tuple
    denied: tuple
    package: str
    setup: str
    files: tuple

    @property
    def id(self):
        return f"{self.family}/{self.program}/{self.name}"

    def scene(self):
        return Scene(self.id.replace("/", "-"))

    def has_effect(self, policy):
        """Whether the file was made under this policy, and the answer."""
        with self.scene() as scene:
            payload = scene.tools / "payload"
            fill = lambda text: (
                text.replace("@HIT@", str(scene.hit)).replace("@P@", str(payload)).replace("@WS@", str(scene.workspace))
            )
            script = f"#!/bin/sh\n: >{scene.hit}\n"
            payload.write_text(script)
            payload.chmod(0o755)
            files = {"a.txt": "one\ntwo\nthree\n", "b.txt": "one\n2\nthree\n", "dir/c.txt": "c\n", "p": script}
            for path, text in (files | dict(self.files)).items():
                scene.write(path, fill(text))
            if self.setup:
                scene.prepare(fill(self.setup))
            answer = scene.run(fill(self.command), policy)
            return scene.hit.exists(), answer


def read(path):
    for program, table in tomllib.loads(path.read_text()).items():
        for name, given in table["attempts"].items():
            own = given if isinstance(given, dict) else {"command": given}
            setting = lambda key, default, own=own: own.get(key, table.get(key, default))
            yield Attempt(
                family=path.stem,
                program=program,
                name=name,
                command=own["command"],
                rules=tuple(setting("allow", [program])),
                denied=tuple(setting("deny", [])),
                package=setting("package", ""),
                setup=setting("setup", ""),
                files=tuple((table.get("files", {}) | own.get("files", {})).items()),
            )


def outcome(attempt):
    """`held`, or what is wrong."""
    try:
        works, answer = attempt.has_effect(OPEN)
        if not works:
            return attempt, "does not work where it is allowed", answer
        policy = allow([*COMPANY, *attempt.rules]) + [o for rule in attempt.denied for o in ("--deny", rule)]
        has_effect, answer = attempt.has_effect(policy)
        return attempt, "has its effect" if has_effect else "held", answer
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        return attempt, "cannot be tried", str(error)


def brief(answer):
    """How an answer reads on one line."""
    if isinstance(answer, str):
        return answer
    streams = (f"{name} {str(answer[name])[-150:]!r}" for name in ("exit_code", "stdout", "stderr") if name in answer)
    return answer.get("message") or ", ".join(streams)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("only", nargs="*", help="parts of the ids of the attempts to make; all, if left out")
    options.add_argument("--packages", action="store_true", help="list the Debian packages and do nothing")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--report", type=Path, help="a file for all answers, as JSON")
    options = options.parse_args()
    attempts = [attempt for path in sorted(HERE.glob("*.toml")) for attempt in read(path)]
    if options.packages:
        print(*sorted({name for attempt in attempts for name in attempt.package.split()}))
        return
    attempts = [a for a in attempts if not options.only or any(part in a.id for part in options.only)]
    with ThreadPoolExecutor(options.workers) as pool:
        outcomes = list(pool.map(outcome, attempts))
    for attempt, result, answer in outcomes:
        if result != "held":
            print(f"{attempt.id}: {result}\n    {attempt.command}\n    {brief(answer)}")
    if options.report:
        rows = [{"id": a.id, "command": a.command, "outcome": r, "answer": answer} for a, r, answer in outcomes]
        options.report.write_text(json.dumps(rows, indent=1))
    for family in sorted({attempt.family for attempt in attempts}):
        counts = Counter(result for attempt, result, _ in outcomes if attempt.family == family)
        print(f"{family}: {', '.join(f'{number} {result}' for result, number in sorted(counts.items()))}")
    held = [attempt for attempt, result, _ in outcomes if result == "held"]
    print(f"{len({attempt.program for attempt in held})} programs")
    print(f"{len(held)} passed, {len(outcomes) - len(held)} failed")
    sys.exit(len(held) != len(outcomes))


if __name__ == "__main__":
    main()
