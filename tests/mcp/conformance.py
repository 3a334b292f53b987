"""The protocol's conformance tests against the server over HTTP.

Usage: conformance.py PROGRAM NODE DIRECTORY, where DIRECTORY holds the node_modules with the tests.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from world import World

PROGRAM, NODE, DIRECTORY = (os.path.abspath(argument) for argument in sys.argv[1:])
TESTS = pathlib.Path(DIRECTORY, "node_modules/@modelcontextprotocol/conformance/dist/index.js")


def exclusions():
    """The scenarios that need not pass, with the reasons."""
    lines = pathlib.Path(__file__).with_name("conformance_exclusions.txt").read_text().splitlines()
    found = dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    assert all(found.values()), "every exclusion has a reason"
    return found


def main():
    excluded = exclusions()
    with World() as world, tempfile.TemporaryDirectory() as place:
        expected = pathlib.Path(place, "expected.yml")
        expected.write_text("server:\n" + "".join(f"  - {name}\n" for name in excluded))
        arguments = [PROGRAM, "mcp", "--http", "127.0.0.1:0", *world.options()]
        server = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=world.environment())
        try:
            url = server.stdout.readline().strip()
            run = [NODE, TESTS, "server", "--url", url, "--suite", "all", "--expected-failures", expected]
            # Whatever fails unexpectedly, or passes unexpectedly, makes it end with 1.
            tests = subprocess.run(run, cwd=place, text=True, capture_output=True)
        finally:
            server.terminate()
            server.wait()
    summary = re.findall(r"^([✓✗]) ([a-z0-9-]+): (\d+) passed, (\d+) failed", tests.stdout, re.MULTILINE)
    unknown = set(excluded) - {name for _, name, _, _ in summary}
    if tests.returncode or unknown or not summary:
        print(tests.stdout, tests.stderr, sep="\n")
        sys.exit(f"the conformance tests fail; excluded and unknown: {sorted(unknown)}")
    for _, name, passed, _ in summary:
        print(f"excluded - {name}: {excluded[name]}" if name in excluded else f"ok - {name} ({passed} checks)")
    print(f"{len(summary) - len(excluded)} passed, 0 failed")


main()
