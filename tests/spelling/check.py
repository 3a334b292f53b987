"""Rules, secrets and the sandbox where another spelling finds the same file. Ends with the number of checks, and 1 if one failed."""

import json
import os
import subprocess
import sys
import tempfile

from folding_fs import FoldingFs

PORT = os.path.join(os.path.dirname(__file__), "../../priv/beamai-port")
SECRET = "the secret"
failed = checks = 0


def workspace():
    place = tempfile.mkdtemp(prefix="beamai-spelling-", dir="/var/tmp")
    files = FoldingFs()
    directory = files.add(1, "secrets")
    files.add(directory, "key", SECRET.encode())
    files.add(1, "k.pem", SECRET.encode())
    files.add(1, ".netrc", SECRET.encode())
    source = files.add(1, "src")
    files.add(source, "a.c", b"int a;\n")
    files.mount(place)
    return files, source, place


def call(tool, arguments, *options, home="/nonexistent"):
    command = [PORT, "call", tool, "-", "--workspace", place, *options]
    done = subprocess.run(command, input=json.dumps(arguments), capture_output=True, text=True, env={**os.environ, "HOME": home}, check=False)
    return done.stdout + done.stderr


def check(what, is_right, answer):
    global failed, checks
    checks += 1
    if not is_right:
        failed += 1
        print(f"{what}: {answer}")


DENY = ["--deny", "Read(secrets/**)", "--deny", "Read(*.pem)", "--deny", "Edit(src/**)"]
ALLOW = ["--allow", "Read", "--allow", "Edit", "--allow", "Write", "--allow", "Bash"]
files, source, place = workspace()
for path in ["secrets/key", "SECRETS/key", "secrets/KEY", "k.pem", "K.PEM"]:
    check("control", SECRET in (answer := call("file_read", {"path": path}, *ALLOW)), answer)
    check("read", SECRET not in (answer := call("file_read", {"path": path}, *ALLOW, *DENY)), answer)
    answer = call("file_read", {"path": path}, *ALLOW, "--ask", "Read(secrets/**)", "--ask", "Read(*.pem)")
    check("ask", SECRET not in answer and "needs an approval" in answer, answer)
    check("search", SECRET not in (answer := call("file_grep", {"pattern": "secret", "path": path}, *ALLOW, *DENY)), answer)
for path in ["src/a.c", "SRC/a.c", "src/A.C"]:
    for tool, arguments in [("file_write", {"content": "x"}), ("file_edit", {"old_string": "int", "new_string": "x"})]:
        answer = call(tool, {"path": path, **arguments}, *ALLOW, *DENY)
        check(tool, list(files.nodes[source]) == ["a.c"] and files.nodes[files.nodes[source]["a.c"]] == b"int a;\n", answer)
for path in [".netrc", ".NETRC"]:
    check("secrets", SECRET not in (answer := call("file_read", {"path": path}, "--allow", "Read", home=place)), answer)
answer = call("shell_exec", {"command": "cat K.PEM"}, *ALLOW, "--sandbox", "required")
check("control", SECRET in answer, answer)
answer = call("shell_exec", {"command": "cat K.PEM"}, *ALLOW, *DENY, "--sandbox", "required")
check("refused", SECRET not in answer and "k.pem" in answer and "protected_paths" in answer, answer)
for command in ["cat SECRETS/KEY", "echo x > SRC/A.C"]:
    answer = call("shell_exec", {"command": command}, *ALLOW, "--deny", "Read(secrets/**)", "--deny", "Edit(src/**)", "--sandbox", "required")
    check("directory", "enied" in answer or "Read-only" in answer, answer)
for command in ["cat K.PEM", "cat SECRETS/KEY"]:
    answer = call("shell_exec", {"command": command}, *ALLOW, *DENY, "--sandbox", "best_effort")
    check("best effort", "protected_paths" in answer, answer)
subprocess.run(["umount", "-l", place], check=True)
os.rmdir(place)
print(f"{checks} checks, {failed} failed")
sys.stdout.flush()
os._exit(1 if failed else 0)
