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


def call(tool, arguments, *options, home="/nonexistent", workspace=None):
    command = [PORT, "call", tool, "-", "--workspace", workspace or place, *options]
    environment = {**os.environ, "HOME": home}
    environment.pop("XDG_CONFIG_HOME", None)
    done = subprocess.run(command, input=json.dumps(arguments), capture_output=True, text=True, env=environment, check=False)
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
place, elsewhere = f"{top}/folding", f"{top}/elsewhere"
os.mkdir(place)
os.mkdir(elsewhere)
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
# A rule about what is missing, where the home directory or the rule spells a directory otherwise.
for rule in ["~/new.c", f"{place}/SRC/new.c", "SRC/new.c"]:
    answer = call("file_write", {"path": "src/new.c", "content": "x"}, *ALLOW, "--deny", f"Write({rule})", home=f"{place}/SRC")
    check("missing", "new.c" not in files.nodes[source] and "permission_denied" in answer, answer)
# Settings, by other spellings of the directories on the way.
settings = files.add(files.add(files.add(1, "Home"), ".config"), "beamai")
files.add(settings, "settings.json", b'{"permissions": {"allow": ["Write"]}}')
for home, inside in [("HOME", "Home"), ("Home", "Home/.config/beamai"), ("HOME", "Home/.CONFIG/beamai")]:
    answer = call("file_write", {"path": "x", "content": "x"}, home=f"{place}/{home}", workspace=f"{place}/{inside}")
    check("own settings", "your settings file" in answer and "in the workspace" in answer, answer)
credentials = json.dumps({"sandbox": {"credentials": {"http://vm:9": {"X-Key": SECRET}}}})
files.add(files.nodes[1]["Home"], "st.json", credentials.encode())
for named in ["Home/st.json", "HOME/st.json", "HOME/ST.json"]:
    answer = call("file_read", {"path": "st.json"}, "--settings", f"{place}/{named}", workspace=f"{place}/Home")
    check("credentials in the workspace", SECRET not in answer and "contains credentials" in answer, answer)
    answer = call("shell_exec", {"command": f"cat {place}/Home/st.json"}, *ALLOW, "--settings", f"{place}/{named}", "--sandbox", "required:landlock", workspace=elsewhere)
    check("credentials elsewhere", SECRET not in answer and "Permission denied" in answer, answer)
place = top
for path in ["folding/SECRETS/key", "folding/K.PEM"]:
    check("control", SECRET in (answer := call("file_read", {"path": path}, *ALLOW)), answer)
    answer = call("file_read", {"path": path}, *ALLOW, "--deny", "Read(folding/secrets/**)", "--deny", "Read(*.pem)")
    check("mounted below", SECRET not in answer, answer)
subprocess.run(["umount", "-l", f"{top}/folding"], check=True)
os.rmdir(f"{top}/folding")
os.rmdir(elsewhere)
os.rmdir(top)
print(f"{checks} checks, {failed} failed")
sys.stdout.flush()
os._exit(1 if failed else 0)
