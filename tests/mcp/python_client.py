"""The MCP server as the official Python client sees it: every tool, progress, cancellation, errors, forms.

Usage: python_client.py PROGRAM
"""

import base64
import json
import signal
import subprocess
import sys
import uuid

import anyio
import jsonschema
from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client
from mcp_types import ElicitResult

from world import PNG, World, processes, sleeper, wait_until

PROGRAM = sys.argv[1]
# The revision before the handshake went, and the one after.
MODES = ["legacy", "auto"]
CHECKS = []


def check(name):
    """Notes a check, which runs with a mode and a world of its own."""

    def note(function):
        CHECKS.append((name, function))
        return function

    return note


class Person:
    """Answers forms: with what it was told to say, in this order. Remembers what it was asked."""

    def __init__(self, *says):
        self.says = list(says)
        self.asked = []

    async def __call__(self, _context, params):
        self.asked.append(params)
        say = self.says.pop(0)
        if isinstance(say, str):
            return ElicitResult(action=say)
        jsonschema.validate(say, params.requested_schema)
        return ElicitResult(action="accept", content=say)


def connect(world, mode, *options, person=None):
    # Relative, as a user would write it: the client starts the program where it is itself.
    server = StdioServerParameters(
        command=PROGRAM, args=["mcp", *world.options(*options)], env=world.environment()
    )
    return Client(server, mode=mode, elicitation_callback=person)


async def succeeds(client, tool, arguments, **more):
    result = await client.call_tool(tool, arguments, **more)
    assert not result.is_error, (tool, result)
    assert result.content[0].text, tool
    return result.structured_content


async def fails(client, tool, arguments, error_type, reason):
    """A call that ends with a typed error: programs find it in `_meta`, models its message in the text."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, (tool, result)
    error = result.meta["beamai/error"]
    assert error["tool"] == tool, error
    assert (error["error_type"], error["details"]["reason"]) == (error_type, reason), error
    # A model does not read how its host is configured.
    configure = error["details"].get("configure")
    told = error["message"].removesuffix(f"; {configure}") if configure else error["message"]
    assert result.content[0].text.startswith(told), result
    return error


INVALID = ("invalid_input", "invalid_argument")


@check("every tool is listed, called with effect, and refuses what it cannot take")
async def every_tool(world, mode):
    person = Person({"answer_1": "Green"})
    async with connect(world, mode, "--default", "allow", person=person) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        called = set()

        async def good(tool, arguments):
            called.add(tool)
            jsonschema.validate(arguments, listed[tool].input_schema)
            value = await succeeds(client, tool, arguments)
            jsonschema.validate(value, listed[tool].output_schema)
            return value

        async def bad(tool, arguments, error=INVALID):
            assert tool in called, tool
            called.add((tool, "bad"))
            return await fails(client, tool, arguments, *error)

        place = world.workspace
        value = await good("file_read", {"path": "a.txt", "limit": 2})
        assert (value["content"], value["total_lines"]) == ("one\ntwo\n", 3), value
        await bad("file_read", {"path": "none.txt"}, ("not_found", "no_such_file"))
        await fails(client, "file_read", {"path": "../x"}, "permission_denied", "outside_workspace")
        await good("file_write", {"path": "new/b.txt", "content": "first\n"})
        assert (place / "new/b.txt").read_text() == "first\n"
        await bad("file_write", {"path": "b.txt"})
        await good("file_edit", {"path": "a.txt", "old_string": "two", "new_string": "2"})
        assert (place / "a.txt").read_text() == "one\n2\nthree\n"
        await bad("file_edit", {"path": "a.txt", "old_string": "none", "new_string": ""}, ("invalid_input", "no_match"))
        # Somebody else changes what the session has seen.
        (place / "a.txt").write_text("one\n2\nthree\nfour\n")
        edit = {"path": "a.txt", "old_string": "four", "new_string": "4"}
        await fails(client, "file_edit", edit, "execution_failed", "stale")
        patch = "--- a/new/b.txt\n+++ b/new/b.txt\n@@ -1 +1 @@\n-first\n+second\n"
        assert (await good("file_patch", {"patch": patch}))["applied"]
        assert (place / "new/b.txt").read_text() == "second\n"
        await bad("file_patch", {"patch": "none"})
        assert "a.txt" in {entry["name"] for entry in (await good("file_list", {}))["entries"]}
        await bad("file_list", {"path": "none"}, ("not_found", "no_such_file"))
        assert (await good("file_glob", {"pattern": "**/*.txt"}))["files"] == ["a.txt", "new/b.txt"]
        await bad("file_glob", {"pattern": "["}, ("invalid_input", "invalid_pattern"))
        assert (await good("file_grep", {"pattern": "^three$"}))["total_matches"] == 1
        await bad("file_grep", {"pattern": "("}, ("invalid_input", "invalid_pattern"))

        await good("git_status", {})
        await bad("git_status", {"none": 1})
        assert "+second" not in str(await good("git_diff", {"path": "a.txt"}))
        await bad("git_diff", {"staged": "yes"})
        await good("git_add", {"path": "a.txt"})
        assert world.git("diff", "--cached", "--name-only") == "a.txt\n"
        await bad("git_add", {})
        await good("git_commit", {"message": "Second"})
        assert world.git("log", "-1", "--format=%s") == "Second\n"
        await bad("git_commit", {})
        assert "Second" in str(await good("git_log", {"limit": 1}))
        await bad("git_log", {"limit": "many"})

        added = await good("todo_add", {"content": "Write tests", "status": "in_progress"})
        assert "Write tests" in str(added), added
        await bad("todo_add", {"content": "x", "status": "never"})
        todo = (await good("todo_list", {}))["todos"][0]
        await bad("todo_list", {"status": "never"})
        await good("todo_update", {"id": todo["id"], "status": "completed"})
        assert (await good("todo_list", {}))["todos"][0]["status"] == "completed"
        await bad("todo_update", {"id": 1.5})

        question = {"question": "Which colour?", "options": [
            {"label": "Red", "description": "warm"}, {"label": "Green", "description": "calm"},
        ]}
        value = await good("human_input", {"questions": [question]})
        assert value["answers"] == {"Which colour?": "Green"}, value
        await bad("human_input", {"questions": []})
        await good("skill", {"action": "list"})
        await bad("skill", {"action": "load", "name": "none"}, ("not_found", "no_such_skill"))

        value = await good("lsp", {"operation": "documentSymbol", "path": "code.py"})
        assert "area" in str(value), value
        await bad("lsp", {"operation": "none", "path": "code.py"})
        await good("lsp_diagnostics", {"path": "code.py"})
        await bad("lsp_diagnostics", {"path": "none.py"}, ("not_found", "no_such_file"))

        value = await good("shell_exec", {"command": "echo out; echo err >&2; exit 3"})
        assert (value["exit_code"], value["stdout"], value["stderr"]) == (3, "out\n", "err\n"), value
        error = await bad("shell_exec", {"command": "echo begun; sleep 60", "timeout": 300}, ("timeout", "timeout"))
        assert error["details"]["stdout"] == "begun\n", error
        mark = uuid.uuid4().hex
        started = await good("shell_exec", {"command": f"echo up; {sleeper(mark)}", "run_in_background": True})
        wait_until(lambda: processes(mark), "the command runs")
        said = ""
        with anyio.fail_after(20):
            while "up" not in said:
                said += (await good("shell_output", {"id": started["id"]}))["stdout"]
        await good("shell_kill", {"id": started["id"]})
        wait_until(lambda: not processes(mark), "the command is dead")
        for tool in ["shell_output", "shell_kill"]:
            await bad(tool, {"id": "none"}, ("not_found", "no_such_command"))

        value = await good("web_fetch", {"url": world.url + "/page"})
        assert (value["status_code"], value["title"]) == (200, "T") and "Hello" in value["content"], value
        await bad("web_fetch", {"url": "nonsense"})
        assert (await good("web_search", {"query": "it"}))["results"][0]["title"] == "Found"
        await bad("web_search", {"query": 1})

        for tool, arguments in {"file_read": {"path": "dot.png"}, "web_fetch": {"url": world.url + "/image"}}.items():
            result = await client.call_tool(tool, arguments)
            image = result.content[1]
            assert (image.type, image.mime_type, base64.b64decode(image.data)) == ("image", "image/png", PNG), result

        assert called == set(listed) | {(tool, "bad") for tool in listed}, called ^ set(listed)
        assert "task" not in listed


@check("what is known of the tools and of the server")
async def descriptions(world, mode):
    async with connect(world, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        read, write, fetch = (tools[name].annotations for name in ["file_read", "file_write", "web_fetch"])
        assert (read.read_only_hint, read.open_world_hint) == (True, False), read
        assert tools["file_read"].title == "File read", tools["file_read"]
        assert (write.read_only_hint, write.destructive_hint, write.idempotent_hint) == (False, True, False), write
        assert fetch.open_world_hint, fetch
        for tool in tools.values():
            assert tool.description and tool.title and tool.output_schema["type"] == "object", tool
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert str(world.workspace) in client.instructions
        assert client.server_info.name == "beamai", client.server_info
        newest = {"legacy": "2025-11-25", "auto": "2026-07-28"}[mode]
        assert client.protocol_version == newest, client.protocol_version


@check("every dialect is listed, and its tools can be called")
async def dialects(world, mode):
    read = {"microai": ("Read", "file_path"), "coder": ("read", "path"), "ide": ("read_file", "path")}
    for dialect, (tool, parameter) in read.items():
        async with connect(world, mode, "--dialect", dialect) as client:
            await client.list_tools()
            assert "one" in (await succeeds(client, tool, {parameter: "a.txt"}))["content"]


@check("an unknown tool is an error of the protocol")
async def unknown_tool(world, mode):
    async with connect(world, mode) as client:
        for name in ["file_reed", "task"]:
            try:
                await client.call_tool(name, {})
            except MCPError as error:
                assert error.error.code == -32602, error.error
            else:
                raise AssertionError(name)


@check("progress is told")
async def progress(world, mode):
    told = []

    async def listen(progress, total, message):
        told.append((progress, message))

    async with connect(world, mode, "--allow", "Bash") as client:
        await succeeds(client, "shell_exec", {"command": "echo x; sleep 1.6"}, progress_callback=listen)
        assert len(told) >= 2 and "2 bytes of output" in told[-1][1], told
        assert sorted(told) == told and len(set(told)) == len(told), told


@check("a command that is cancelled dies with all that it started")
async def cancellation(world, mode):
    mark = uuid.uuid4().hex
    async with connect(world, mode, "--allow", "Bash") as client:
        await client.list_tools()
        command = {"command": f"setsid {sleeper(mark)} & {sleeper(mark)}; wait"}
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "shell_exec", command)
            with anyio.fail_after(20):
                while len(processes(mark)) < 2:
                    await anyio.sleep(0.05)
            group.cancel_scope.cancel()
        await anyio.to_thread.run_sync(wait_until, lambda: not processes(mark), "the command is dead")
        # The connection is as good as before.
        assert (await succeeds(client, "shell_exec", {"command": "echo on"}))["stdout"] == "on\n"


@check("an approval is asked for: no, yes, and yes for the session")
async def approvals(world, mode):
    person = Person({"decision": "deny"}, "decline", "cancel", {"decision": "allow"}, {"decision": "allow for this session"})
    async with connect(world, mode, person=person) as client:
        write = {"path": "w.txt", "content": "x"}
        for _ in range(3):
            await fails(client, "file_write", write, "permission_denied", "denied")
        assert not (world.workspace / "w.txt").exists()
        await succeeds(client, "file_write", write)
        assert (world.workspace / "w.txt").read_text() == "x"
        assert "w.txt" in person.asked[0].message, person.asked[0]
        for content in ["y", "z"]:
            await succeeds(client, "file_write", {**write, "content": content})
        assert (world.workspace / "w.txt").read_text() == "z"
        assert len(person.asked) == 5, person.asked
        denied = await fails(client, "file_read", {"path": "/etc/passwd"}, "permission_denied", "outside_workspace")
        assert "passwd" in denied["message"]


@check("questions are put: answered, in words of one's own, refused")
async def questions(world, mode):
    colours = {"question": "Which?", "options": [
        {"label": "Red", "description": "warm"}, {"label": "Green", "description": "calm"},
    ]}
    several = {**colours, "question": "Which ones?", "multi_select": True}
    free = {"question": "What name?"}
    person = Person(
        {"answer_1": "Red", "answer_2": ["Red", "Green"], "answer_3": "Ada"}, {"answer_1_other": "blue"}, "decline", "cancel"
    )
    async with connect(world, mode, person=person) as client:
        value = await succeeds(client, "human_input", {"questions": [colours, several, free]})
        assert value["answers"] == {"Which?": "Red", "Which ones?": "Red, Green", "What name?": "Ada"}, value
        value = await succeeds(client, "human_input", {"questions": [colours]})
        assert value["answers"] == {"Which?": "blue"}, value
        for _ in range(2):
            assert (await succeeds(client, "human_input", {"questions": [colours]}))["outcome"] == "cancelled"


@check("an approval and a question in one call")
async def both(world, mode):
    person = Person({"decision": "allow"}, {"answer_1": "Ada"})
    async with connect(world, mode, "--ask", "AskUserQuestion", person=person) as client:
        value = await succeeds(client, "human_input", {"questions": [{"question": "What name?"}]})
        assert value["answers"] == {"What name?": "Ada"} and len(person.asked) == 2, value


@check("where nobody can be asked, the refusal says how to allow it")
async def nobody(world, mode):
    async with connect(world, mode) as client:
        write = {"path": "w.txt", "content": "x"}
        error = await fails(client, "file_write", write, "permission_denied", "needs_approval")
        assert "--allow 'Write(./w.txt)'" in error["message"], error
        value = await succeeds(client, "human_input", {"questions": [{"question": "Well?"}]})
        assert value["outcome"] == "no_frontend", value


@check("the end of the connection ends everything")
async def end(world, mode):
    mark = uuid.uuid4().hex
    async with connect(world, mode, "--allow", "Bash") as client:
        command = {"command": f"touch /tmp/mine; {sleeper(mark)}", "run_in_background": True}
        await succeeds(client, "shell_exec", command)
        wait_until(lambda: processes(mark), "the command runs")
        assert world.left_behind(), "a session has a temporary directory"
    wait_until(lambda: not processes(mark), "the command is dead")
    wait_until(lambda: not world.left_behind(), "the temporary directory is gone")


@check("over HTTP: sessions of their own, progress, cancellation, forms, and an end by a signal")
async def http(world, mode):
    arguments = [PROGRAM, "mcp", "--http", "127.0.0.1:0", *world.options("--allow", "Bash")]
    server = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=world.environment())
    try:
        url = server.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:") and url.endswith("/mcp"), url
        mark = uuid.uuid4().hex
        person = Person({"decision": "deny"}, {"decision": "allow"}, {"answer_1": "Ada"})
        async with Client(url, mode=mode, elicitation_callback=person) as client, Client(url, mode=mode) as other:
            await client.list_tools()
            write = {"path": "w.txt", "content": "x"}
            await fails(client, "file_write", write, "permission_denied", "denied")
            await succeeds(client, "file_write", write)
            await fails(other, "file_write", write, "permission_denied", "needs_approval")
            value = await succeeds(client, "human_input", {"questions": [{"question": "What name?"}]})
            assert value["answers"] == {"What name?": "Ada"}, value
            if mode == "legacy":
                await succeeds(client, "todo_add", {"content": "mine"})
                assert (await succeeds(other, "todo_list", {}))["todos"] == []
            else:
                # Without sessions nothing is allowed for one.
                assert "session" not in str(person.asked[0].requested_schema), person.asked[0]
            told = []

            async def listen(progress, total, message):
                told.append(progress)

            await succeeds(client, "shell_exec", {"command": "sleep 1.2"}, progress_callback=listen)
            assert told, "progress"
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "shell_exec", {"command": sleeper(mark)})
                with anyio.fail_after(20):
                    while not processes(mark):
                        await anyio.sleep(0.05)
                group.cancel_scope.cancel()
            await anyio.to_thread.run_sync(wait_until, lambda: not processes(mark), "the command is dead")
            command = {"command": sleeper(mark), "run_in_background": True}
            await succeeds(client, "shell_exec", command)
            wait_until(lambda: processes(mark), "the command runs")
        if mode == "legacy":
            await anyio.to_thread.run_sync(wait_until, lambda: not processes(mark), "its session has ended")
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) == 0
        wait_until(lambda: not processes(mark), "the command is dead")
        assert not world.left_behind(), world.left_behind()
    finally:
        server.kill()
        server.wait()


async def main():
    for mode in MODES:
        for name, function in CHECKS:
            with World() as world, anyio.fail_after(180):
                await function(world, mode)
            print(f"ok - {name} ({mode})", flush=True)
    print(f"{len(CHECKS) * len(MODES)} passed, 0 failed")


anyio.run(main)
