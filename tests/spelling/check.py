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


def workspace(place):
    files = FoldingFs()
    directory = files.add(1, "secrets")
    files.add(directory, "key", SECRET.encode())
    files.add(1, "k.pem", SECRET.encode())
    files.add(1, ".netrc", SECRET.encode())
    files.add(files.add(1, ".AWS"), "credentials", SECRET.encode())
    source = files.add(1, "src")
    files.add(source, "a.c", b"int a;\n")
    files.mount(place)
    return files, source


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
top = tempfile.mkdtemp(prefix="beamai-spelling-", dir="/var/tmp")
place = f"{top}/folding"
os.mkdir(place)
files, source = workspace(place)
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
for path in [".netrc", ".NETRC", ".aws/credentials", ".AWS/credentials"]:
    check("secrets", SECRET not in (answer := call("file_read", {"path": path}, "--allow", "Read", home=place)), answer)
# In a script, so that no word of the command names a file of a rule.
for script, rule in [("cat K.PEM", "Read(*.pem)"), ("cat SECRETS/KEY", "Read(secrets/**)"), ("echo x > SRC/A.C", "Edit(src/**)")]:
    name = f"script{checks}"
    files.add(1, name, script.encode())
    answer = call("shell_exec", {"command": f"sh {name}"}, *ALLOW, "--sandbox", "required")
    check("control", SECRET in answer or "src" in rule, answer)
    files.nodes[files.nodes[source]["a.c"]][:] = b"int a;\n"
    answer = call("shell_exec", {"command": f"sh {name}"}, *ALLOW, "--deny", rule, "--sandbox", "required:full")
    check("refused", SECRET not in answer and "protected_paths" in answer, answer)
    answer = call("shell_exec", {"command": f"sh {name}"}, *ALLOW, "--deny", rule, "--sandbox", "required:landlock")
    check("kept", SECRET not in answer and files.nodes[files.nodes[source]["a.c"]] == b"int a;\n", answer)
    answer = call("shell_exec", {"command": f"sh {name}"}, *ALLOW, "--deny", rule, "--sandbox", "best_effort")
    check("told", "protected_paths" in answer, answer)
answer = call("shell_exec", {"command": "cat KEY", "cwd": "secrets"}, *ALLOW, "--ask", "Read(secrets/**)")
check("words", SECRET not in answer and "needs an approval" in answer, answer)
place = top
for path in ["folding/SECRETS/key", "folding/K.PEM"]:
    check("control", SECRET in (answer := call("file_read", {"path": path}, *ALLOW)), answer)
    answer = call("file_read", {"path": path}, *ALLOW, "--deny", "Read(folding/secrets/**)", "--deny", "Read(*.pem)")
    check("mounted below", SECRET not in answer, answer)
subprocess.run(["umount", "-l", f"{top}/folding"], check=True)
os.rmdir(f"{top}/folding")
os.rmdir(top)
print(f"{checks} checks, {failed} failed")
sys.stdout.flush()
os._exit(1 if failed else 0)
