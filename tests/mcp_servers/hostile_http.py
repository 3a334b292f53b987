"""A server over HTTP that misbehaves in the way its first argument says: MODE PORT LOG. Writes down in LOG who asked what.
Uses nothing but Python's own library."""

import http.server
import json
import sys
import time

mode, port, log = sys.argv[1], int(sys.argv[2]), sys.argv[3]
LONG = b"x" * (1 << 20)
sessions = 0
calls = 0


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, what):
        with open(log, "a") as file:
            key = self.headers.get("Authorization", "-")
            print(self.command, what, self.headers.get("Mcp-Session-Id", "-"), key, sep="|", file=file, flush=True)

    def head(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def whole(self, status, body, kind="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.head(status, Content_Type=kind, Content_Length=str(len(body)), **headers)
        self.wfile.write(body)

    def answer(self, request, result, **headers):
        self.whole(200, {"jsonrpc": "2.0", "id": request["id"], "result": result}, **headers)

    def error(self, status, request, code, message):
        self.whole(status, {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}})

    def said(self, request, text):
        return {"jsonrpc": "2.0", "id": request["id"], "result": {"content": [{"type": "text", "text": text}]}}

    def stream(self):
        self.head(200, Content_Type="text/event-stream")

    def event(self, message, number=None):
        named = "" if number is None else f"id: {number}\n"
        self.wfile.write(f"{named}data: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()

    def do_GET(self):
        last = self.headers.get("Last-Event-ID")
        self.note(f"stream {last}" if last else "stream")
        match mode:
            case "resumes" if last == "7":
                self.stream()
                self.event(self.said(waiting, "resumed"), 8)
            case "news" if not last:
                self.stream()
                time.sleep(1)
                tools.clear()
                self.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                time.sleep(60)
            case "resumes_not" if last:
                self.whole(404, b"", "text/plain")
            case _:
                self.whole(405, b"", "text/plain")

    def do_DELETE(self):
        self.note("end")
        self.whole(204, b"", "text/plain")

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method = message.get("method", "answer")
        self.note(method)
        if method == "initialize":
            self.initialize(message)
        elif "id" not in message or "method" not in message:
            self.head(202, Content_Length="0")
        elif mode == "modern":
            self.modern(message)
        elif self.headers.get("Mcp-Session-Id") in lost:
            self.lost(message)
        elif method == "tools/list":
            self.answer(message, {"tools": tools})
        else:
            self.call(message)

    def initialize(self, message):
        global sessions
        match mode:
            case "modern":
                return self.error(400, message, -32022, "Unsupported protocol version")
            case "mute":
                return time.sleep(60)
            case "unwelcome":
                return self.whole(403, b"", "text/plain", WWW_Authenticate='Bearer error="insufficient_scope"')
            case "page":
                return self.whole(200, b"<html>hello</html>", "text/html")
            case "nowhere":
                return self.whole(404, b"<html>no such page</html>", "text/html")
        sessions += 1
        result = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "hostile", "version": "0"},
        }
        self.answer(message, result, Mcp_Session_Id=f"s{sessions}")

    def lost(self, message):
        match mode:
            case "expects":
                self.whole(400, {"jsonrpc": "2.0", "error": {"code": -32000, "message": "No valid session ID provided"}})
            case "rejects":
                self.whole(400, b"bad request", "text/plain")
            case _:
                self.whole(404, b"", "text/plain")

    def call(self, message):
        global calls, waiting
        calls += 1
        match mode:
            case "endless":
                self.head(200, Content_Type="application/json")
                self.wfile.write(b'{"x": "')
                while True:
                    self.wfile.write(LONG)
            case "huge":
                self.stream()
                self.wfile.write(b"data: ")
                while True:
                    self.wfile.write(LONG)
            case "objects":
                self.answer(message, {"content": [], "structuredContent": {"x": [{"": 0}] * 1_000_000}})
            case "events":
                self.stream()
                params = {"x": [{"": 0}] * 1_000_000}
                notification = {"jsonrpc": "2.0", "method": "notifications/x", "params": params}
                self.wfile.write(b"data: " + json.dumps(notification).encode() + b"\n\n")
            case "drip":
                self.head(200, Content_Type="application/json")
                while True:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.1)
            case "html":
                self.whole(200, b"<html>hello</html>", "text/html")
            case "packed":
                self.whole(200, b"\x1f\x8b", Content_Encoding="gzip")
            case "nonsense":
                self.whole(200, b"no json at all")
            case "other":
                self.answer({"id": 4711}, {"content": []})
            case "oops":
                self.whole(500, b"the disk is full", "text/plain")
            case "busy":
                self.whole(429, b"", "text/plain", Retry_After="7")
            case "refuses":
                self.error(200, message, -32000, "out of order")
            case "refuses400":
                self.error(400, message, -32602, "not these")
            case "broken":
                self.stream()
                if calls == 1:
                    self.wfile.write(b'data: {"jsonrpc": "2.0", "id": 1, "result": {]\n\n')
                    self.wfile.flush()
                    time.sleep(60)
                self.event(self.said(message, "whole again"))
            case "noise":
                self.stream()
                self.wfile.write(b": hello\n\nevent: ping\ndata: now\n\ndata: no json at all\n\n")
                self.event(self.said(message, "still here"))
            case "cut":
                self.stream()
                self.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}})
            case "resumes" | "resumes_not":
                waiting = message
                self.stream()
                self.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}, 7)
            case "asks":
                self.stream()
                number = 0
                while True:
                    number += 1
                    self.event({"jsonrpc": "2.0", "id": f"p{number}", "method": "ping"})
            case "loses" | "expects" | "rejects" if calls == 1:
                lost.add(self.headers.get("Mcp-Session-Id"))
                self.answer(message, self.said(message, "before")["result"])
            case "forgets":
                lost.add(self.headers.get("Mcp-Session-Id"))
                self.lost(message)
            case "news":
                self.answer(message, {"content": [{"type": "text", "text": "nothing is left"}], "isError": True})
            case "waits":
                time.sleep(3)
                self.answer(message, self.said(message, "waited")["result"])
            case _:
                self.answer(message, self.said(message, f"{mode} {calls}")["result"])

    def modern(self, message):
        version = message["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion")
        sent = [self.headers.get(name) for name in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id")]
        complete = {"resultType": "complete"}
        match message["method"]:
            case "server/discover":
                found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                self.answer(message, {**complete, **found, "ttlMs": 0, "cacheScope": "private"})
            case "tools/list":
                self.answer(message, {**complete, "tools": tools, "ttlMs": 0, "cacheScope": "private"})
            case _:
                text = json.dumps([version, *sent])
                self.answer(message, {**complete, "content": [{"type": "text", "text": text}]})


tools = [{"name": "go", "inputSchema": {"type": "object"}}]
waiting = None
lost = set()
http.server.ThreadingHTTPServer(("127.0.0.1", port), Server).serve_forever()
