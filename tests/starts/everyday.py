#!/usr/bin/env python3
"""Everyday commands of coding agents, which rules must not get in the way of.

Each of `everyday/*.toml` is a small project:

    packages = "make gcc"                 # Debian packages
    needs = "make"                        # a program without which the project is left out, which the run then says
    allow = ["Bash(make test:*)"]         # the rules, beside those of COMPANY
    setup = "git init -q"                 # what is done once, outside of the sandbox
    commands = ["make test"]
    unsteady = ["make -j2"]               # commands whose output differs from run to run, so that only exit codes count
    [files]
    Makefile = "…"

A command runs in a fresh copy of the project twice: where everything is allowed, and under the rules. Exit codes and
standard output have to be the same.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scene import Scene, allow

HERE = Path(__file__).resolve().parent / "everyday"
OPEN = ["--default", "allow"]
# Some install packages, and other work on the machine slows them down.
SECONDS = 240
# What every project allows: reading, searching, counting, and changes of files in the workspace.
COMPANY = (
    "awk basename read wait cat chmod comm cp cut date diff dirname du echo env file find grep head jq ls mkdir mktemp mv nl paste "
    "printf pwd realpath rev rm rmdir sed seq sha256sum sort split stat tail tar tee test timeout touch tr tree true false "
    "uniq wc which xargs xxd zip unzip gzip gunzip zcat rg"
).split() + ["Write(**)", "Edit(**)"]
# What differs from run to run: times, process ids, hashes, and names of temporary files.
UNSTEADY = [
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"\b\d+(\.\d+)?\s?(ms|s|sec|secs|seconds?)\b"), "TIME"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "CLOCK"),
    (re.compile(r"duration_ms [\d.]+"), "duration_ms"),
    (re.compile(r"/tmp/[\w./-]+"), "TEMPORARY"),
]


class Project:
    def __init__(self, path):
        table = tomllib.loads(path.read_text())
        self.name, self.needs, self.packages = path.stem, table.get("needs", ""), table.get("packages", "")
        self.rules, self.setup, self.files = table["allow"], table.get("setup", ""), table.get("files", {})
        self.unsteady = set(table.get("unsteady", []))
        self.commands = [*table["commands"], *table.get("unsteady", [])]

    def is_possible(self):
        return not self.needs or shutil.which(self.needs)

    def outcomes(self, only):
        """What is wrong with each command; None where nothing is."""
        with Scene(f"everyday-{self.name}") as scene:
            for path, text in self.files.items():
                scene.write(path, text)
            for name in (".rustup", ".cargo"):
                if (real := Path.home() / name).exists():
                    (scene.home / name).symlink_to(real)
            scene.prepare(self.setup)
            made = scene.top.with_name(f"{scene.top.name}-made")
            subprocess.run(["cp", "-a", scene.top, made], check=True)
            try:
                for command in self.commands:
                    if not only or any(part in command for part in only):
                        yield command, self.compare(scene, made, command)
            finally:
                shutil.rmtree(made)

    def compare(self, scene, made, command):
        try:
            open_, held = (run(scene, made, command, policy) for policy in (OPEN, allow([*COMPANY, *self.rules])))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return {"wrong": f"cannot be tried: {error}"}
        if "exit_code" not in open_:
            return {"wrong": f"does not run where it is allowed: {open_['message']}"}
        if open_["exit_code"] == 127:
            return {"wrong": f"does not run where it is allowed: {brief(open_['stderr'])}"}
        if "exit_code" not in held:
            return {"wrong": held["message"], "answer": held}
        for key in ("exit_code",) if command in self.unsteady else ("exit_code", "stdout"):
            if steady(open_[key]) != steady(held[key]):
                return {"wrong": f"{key}: {brief(open_[key])} without rules, {brief(held[key])} {brief(held['stderr'])} with"}
        return {"exit_code": open_["exit_code"]}


def run(scene, made, command, policy):
    shutil.rmtree(scene.top)
    subprocess.run(["cp", "-a", made, scene.top], check=True)
    return scene.run(command, policy, SECONDS)


def steady(value):
    if not isinstance(value, str):
        return value
    for pattern, name in UNSTEADY:
        value = pattern.sub(name, value)
    return value


def brief(value):
    return repr(str(value)[-200:])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("only", nargs="*", help="parts of the commands to run; all, if left out")
    options.add_argument("--project", action="append", help="a project to run; all, if left out")
    options.add_argument("--packages", action="store_true", help="list the Debian packages and do nothing")
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--report", type=Path, help="a file for all outcomes, as JSON")
    options = options.parse_args()
    projects = [Project(path) for path in sorted(HERE.glob("*.toml"))]
    if options.packages:
        print(*sorted({name for project in projects for name in project.packages.split()}))
        return
    projects = [p for p in projects if not options.project or p.name in options.project]
    for project in projects:
        if not project.is_possible():
            print(f"{project.name}: left out, for there is no {project.needs}")
    projects = [project for project in projects if project.is_possible()]
    with ThreadPoolExecutor(options.workers) as pool:
        outcomes = list(pool.map(lambda project: list(project.outcomes(options.only)), projects))
    rows = [(p.name, *outcome) for p, of_project in zip(projects, outcomes) for outcome in of_project]
    for name, command, outcome in rows:
        if "wrong" in outcome:
            print(f"{name}: {command}\n    {outcome['wrong']}")
    if options.report:
        options.report.write_text(json.dumps(rows, indent=1))
    failed = [row for row in rows if "wrong" in row[2]]
    for project in projects:
        of_project = [row for row in rows if row[0] == project.name]
        print(f"{project.name}: {len(of_project)} commands, {sum(row in failed for row in of_project)} failed")
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
