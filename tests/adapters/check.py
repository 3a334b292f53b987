"""The MCP server as agent frameworks see it through their own adapters: every dialect is listed, called and shown.

Usage: check.py PROGRAM ADAPTER...; an adapter is a module of this directory. What it gives is compared with what the server
answers on the wire, so that nothing is lost or changed on the way to the model.

An adapter has `connect(server)`, an asynchronous context manager. What it yields has `tools()`, the JSON schema of each tool's
arguments as the framework tells the model of it, and `call(name, arguments)`, the text that the model would read.
"""

import asyncio
import dataclasses
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
CALLS = json.loads(pathlib.Path(__file__).with_name("calls.json").read_text())


@dataclasses.dataclass
class Server:
    """How the server is started."""

    command: str
    args: list
    env: dict


def on_the_wire(server, calls):
    """What the server itself says: its tools, and the result of each call."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}}
    requests = [("initialize", hello), ("tools/list", {})]
    requests += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls]
    process = subprocess.Popen(
        [server.command, *server.args], env=server.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    answers = []
    with process:
        for number, (method, params) in enumerate(requests):
            if number == 1:
                print(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}), file=process.stdin)
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(request), file=process.stdin, flush=True)
            answer = {}
            while answer.get("id") != number:
                answer = json.loads(process.stdout.readline())
            answers.append(answer["result"])
        process.stdin.close()
    tools = {tool["name"]: tool["inputSchema"] for tool in answers[1]["tools"]}
    return tools, ["\n".join(block["text"] for block in result["content"]) for result in answers[2:]]


async def check(adapter, dialect):
    """Lists and calls the tools of a dialect."""
    # Not under /tmp, which commands in the sandbox do not see.
    workspace = pathlib.Path(tempfile.mkdtemp(prefix="beamai-adapters-", dir="/var/tmp"))
    try:
        (workspace / "a.txt").write_text("one\ntwo\nthree\n")
        calls = CALLS[dialect]
        options = ["mcp", "--dialect", dialect, "--workspace", str(workspace), "--allow", "Write"]
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        server = Server(PROGRAM, options, environment)
        tools, (read, failed) = on_the_wire(server, [calls["read"], calls["fail"]])
        async with adapter.connect(server) as client:
            shown = await client.tools()
            assert set(shown) == set(tools), (sorted(shown), sorted(tools))
            for name, schema in tools.items():
                told = set(shown[name].get("properties", {}))
                assert told == set(schema.get("properties", {})), (name, told)
            text = await client.call(*calls["read"])
            assert read in text, (text, read)
            text = await client.call(*calls["fail"])
            assert failed in text, (text, failed)
            await client.call(*calls["write"])
            assert (workspace / "new.txt").read_text() == "written\n"
    finally:
        shutil.rmtree(workspace)


async def main():
    passed = 0
    for name in sys.argv[2:]:
        adapter = importlib.import_module(name)
        for dialect in CALLS:
            async with asyncio.timeout(120):
                await check(adapter, dialect)
            print(f"ok - {name}: {dialect}", flush=True)
            passed += 1
    print(f"{passed} passed, 0 failed")


asyncio.run(main())
