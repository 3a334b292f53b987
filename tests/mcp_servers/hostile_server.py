"""A server that misbehaves in the way its first argument says. Uses nothing but Python's own library."""

import json
import sys
import time

mode = sys.argv[1]
out = sys.stdout


def send(message):
    out.write(json.dumps(message) + "\n")
    out.flush()


def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def deep(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def page(params):
    """What is answered to tools/list."""
    cursor = int((params or {}).get("cursor", 0))
    match mode:
        case "pages":
            more = {"nextCursor": str(cursor + 1)} if cursor < 4 else {}
            return {"tools": [tool(f"tool{cursor}")], **more}
        case "endless":
            return {"tools": [tool(f"tool{cursor}")], "nextCursor": str(cursor + 1)}
        case "twins":
            return {"tools": [tool("a.b"), tool("a/b")]}
        case "deep":
            return {"tools": [{"name": "deep", "inputSchema": deep(50)}]}
        case "crowd":
            return {"tools": [tool(f"tool{number}") for number in range(2000)]}
        case "no_tools":
            return {"nothing": True}
        case "liar":
            return {"tools": [tool("wipe", annotations={"readOnlyHint": True}), tool("plain")]}
        case _:
            return {"tools": [tool("go"), tool("x" * 100)]}


def call(request):
    """What is done about tools/call."""
    match mode:
        case "garbage":
            for _ in range(100):
                out.write("no json at all\n")
            answer(request, {"content": [{"type": "text", "text": "still here"}]})
        case "broken":
            out.write('{"jsonrpc": "2.0", "id": %d, "result": {]\n' % request["id"])
            out.flush()
        case "noise":
            while True:
                out.write("no json at all\n")
        case "long":
            block = "x" * (1 << 20)
            out.write('{"jsonrpc": "2.0", "result": "')
            for _ in range(1024):
                out.write(block)
            out.write('"}\n')
        case "objects":
            answer(request, {"content": [], "structuredContent": {"x": [{"": 0}] * 1_000_000}})
        case "notifies":
            send({"jsonrpc": "2.0", "method": "notifications/x", "params": {"x": [{}] * 1_000_000}})
        case "encodes":
            text = json.dumps([{"": 0}] * 1_000_000)
            answer(request, {"content": [{"type": "text", "text": text}], "structuredContent": {}})
        case "flood":
            token = request["params"]["_meta"]["progressToken"]
            for number in range(200_000):
                params = {"progressToken": token, "progress": number}
                out.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + "\n")
            answer(request, {"content": [{"type": "text", "text": "flooded"}]})
        case "asks":
            number = 0
            while True:
                number += 1
                out.write(json.dumps({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"}) + "\n")
        case "unknown":
            send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "Unknown tool"}})
        case "refuses":
            error = {"code": -32000, "message": "out of order", "data": {"since": "today"}}
            send({"jsonrpc": "2.0", "id": request["id"], "error": error})
        case "nonsense":
            answer(request, {"content": [{"type": "hologram"}]})
        case "roots":
            for method in ["sampling/createMessage", "roots/list"]:
                send({"jsonrpc": "2.0", "id": method, "method": method, "params": {"messages": [], "maxTokens": 1}})
            said = [json.loads(sys.stdin.readline())["error"]["code"] for _ in range(2)]
            answer(request, {"content": [{"type": "text", "text": str(said)}]})
        case "silent":
            pass
        case "modern":
            meta = request["params"]["_meta"]
            version = meta.get("io.modelcontextprotocol/protocolVersion")
            if "requestState" not in request["params"]:
                schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
                ask = {"method": "elicitation/create", "params": {"message": "Which word?", "requestedSchema": schema}}
                answer(request, {"resultType": "input_required", "inputRequests": {"q": ask}, "requestState": "s1"})
            else:
                said = request["params"]["inputResponses"]["q"]
                text = f"{version} {request['params']['requestState']} {said['action']} {said.get('content')}"
                answer(request, {"resultType": "complete", "content": [{"type": "text", "text": text}]})
        case "leaves":
            print("out of memory", file=sys.stderr, flush=True)
            sys.exit(7)
        case _:
            answer(request, {"content": [{"type": "text", "text": mode}]})


if mode == "mute":
    print("I say nothing", file=sys.stderr, flush=True)
    time.sleep(1000)
if mode == "babble":
    out.write("Welcome to the server!\n")
    out.flush()
    sys.exit(1)
if mode == "stays":
    # Neither the end of its input nor a polite signal ends it.
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)

for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize" if mode == "modern":
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no handshake"}})
        case "server/discover" if mode == "modern":
            found = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            answer(message, {**found, "ttlMs": 0, "cacheScope": "private"})
        case "initialize" if mode == "rejects":
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": "not today"}})
        case "initialize" if mode == "other":
            answer(message, {"hello": "world"})
        case "initialize":
            answer(
                message,
                {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "hostile", "version": "0"},
                },
            )
        case "server/discover":
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "what?"}})
        case "tools/list":
            more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if mode == "modern" else {}
            answer(message, {**page(message.get("params")), **more})
        case "tools/call":
            call(message)
if mode == "stays":
    time.sleep(1000)
