#!/usr/bin/env python3
"""A language server that behaves as a test wants it to.

usage: fake_server.py LOG SCRIPT

LOG is a file to which every message that comes in is added, one JSON object a line. SCRIPT is a JSON object:

  encoding       positionEncoding to announce
  capabilities   more capabilities, over the usual ones
  banner         text on stdout before anything else
  die            text on stderr before it ends at once
  say            text on stderr at the start, which may be a long one
  dribble        bytes that are written at a time
  garbage        method whose request is answered with something that is no frame
  crash          method whose request ends it, once for each LOG
  hang           method whose request is never answered
  busy           method whose request is answered with ContentModified the first two times
  error          method whose request is answered with an error
  answer         by method: the result; "@position" in it stands for the position asked about, "@uri" for the file,
                 "@beside/NAME" for another one beside it, {"@text": T, "@times": N} for a long text
  ask            requests that it makes of its client when it is initialized: [[method, params]]
  publish        what happens when a document comes or changes: a list of [milliseconds, version, messages], where
                 version is "current", "none" or a number
  run            commands that it runs before it answers a hover, each a list of words; what came of them is logged
  work           milliseconds of work that it announces when a document is opened
"""
import json
import os
import subprocess
import sys
import threading
import time

log_path, script = sys.argv[1], json.loads(sys.argv[2])
lock = threading.Lock()
tries = {}


def write(data):
    with lock:
        step = script.get("dribble", len(data))
        for start in range(0, len(data), step):
            sys.stdout.buffer.write(data[start:start + step])
            sys.stdout.buffer.flush()


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
    write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


def read():
    length = None
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if line == b"\r\n":
            return json.loads(sys.stdin.buffer.read(length))
        name, value = line.split(b":", 1)
        if name.lower() == b"content-length":
            length = int(value)


def log(message):
    with open(log_path, "a") as file:
        file.write(json.dumps(message) + "\n")


def later(milliseconds, work):
    def run():
        time.sleep(milliseconds / 1000)
        work()
    threading.Thread(target=run, daemon=True).start()


def filled(value, params):
    if value == "@position":
        return params["position"]
    if value == "@uri":
        return params["textDocument"]["uri"]
    if isinstance(value, str) and value.startswith("@beside/"):
        return os.path.dirname(params["textDocument"]["uri"]) + value[len("@beside"):]
    if isinstance(value, dict) and "@times" in value:
        return value["@text"] * value["@times"]
    if isinstance(value, dict):
        return {key: filled(one, params) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, params) for one in value]
    return value


def initialize():
    names = ["definition", "references", "hover", "documentSymbol", "workspaceSymbol", "implementation",
             "callHierarchy"]
    capabilities = {name + "Provider": True for name in names}
    capabilities["textDocumentSync"] = {"openClose": True, "change": 1, "save": {"includeText": True}}
    if "encoding" in script:
        capabilities["positionEncoding"] = script["encoding"]
    capabilities.update(script.get("capabilities", {}))
    return {"capabilities": capabilities, "serverInfo": {"name": "fake"}}


def first_time(what):
    mark = log_path + "." + what.replace("/", "-")
    if os.path.exists(mark):
        return False
    open(mark, "w").close()
    return True


def run(words):
    try:
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except OSError as error:
        return error.strerror


def answer(message):
    method, params, reply = message["method"], message.get("params"), {"id": message["id"]}
    tries[method] = tries.get(method, 0) + 1
    if method == script.get("hang"):
        return
    if method == "textDocument/hover" and "run" in script:
        log({"method": "fake/ran", "params": [run(words) for words in script["run"]]})
    if method == script.get("garbage"):
        write(b"Traceback (most recent call last)\n")
        return
    if method == script.get("crash") and first_time("crash"):
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    if method == script.get("busy") and tries[method] <= 2:
        send({**reply, "error": {"code": -32801, "message": "content modified"}})
    elif method == script.get("error"):
        send({**reply, "error": {"code": -32603, "message": "something broke"}})
    elif method == "initialize":
        send({**reply, "result": initialize()})
    elif method in script.get("answer", {}):
        send({**reply, "result": filled(script["answer"][method], params)})
    elif method == "shutdown":
        send({**reply, "result": None})
    else:
        send({**reply, "error": {"code": -32601, "message": "method not found"}})


def publish(document):
    def say(version, messages):
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
        params = {"uri": document["uri"], "diagnostics": [{"range": place, "message": text} for text in messages]}
        if version != "none":
            params["version"] = document["version"] if version == "current" else version
        send({"method": "textDocument/publishDiagnostics", "params": params})
    for wait, version, messages in script.get("publish", []):
        later(wait, lambda version=version, messages=messages: say(version, messages))


def work():
    progress = lambda kind: send({"method": "$/progress", "params": {"token": "work", "value": {"kind": kind}}})
    progress("begin")
    later(script["work"], lambda: (log({"method": "fake/worked"}), progress("end")))


def hear(message):
    method = message["method"]
    if method == "exit":
        sys.exit(0)
    if method == "initialized":
        for number, (asked, params) in enumerate(script.get("ask", [])):
            send({"id": "ask-%d" % number, "method": asked, "params": params})
    if method in ("textDocument/didOpen", "textDocument/didChange"):
        publish(message["params"]["textDocument"])
    if method == "textDocument/didOpen" and "work" in script:
        work()


sys.stderr.write(filled(script.get("say", ""), None))
sys.stderr.flush()
if "die" in script:
    sys.stderr.write(script["die"])
    sys.exit(1)
if "banner" in script:
    write(script["banner"].encode())
while True:
    message = read()
    log(message)
    if "method" not in message:
        continue
    if "id" in message:
        answer(message)
    else:
        hear(message)
