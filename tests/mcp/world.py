"""What the tests of the MCP server need around them: a workspace, a web server, a look at the machine's processes."""

import base64
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Web(http.server.BaseHTTPRequestHandler):
    """A page, an image, and a search engine."""

    def do_GET(self):
        path = self.path.split("?")[0]
        kind, body = {
            "/page": ("text/html", b"<html><head><title>T</title></head><body><h1>Hello</h1></body></html>"),
            "/image": ("image/png", PNG),
            "/search": (
                "application/json",
                json.dumps({"results": [{"title": "Found", "url": "http://example.com/", "content": "it"}]}).encode(),
            ),
        }[path]
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class World:
    """A workspace with a git repository, a directory for temporary files, and a web server."""

    def __enter__(self):
        self.root = tempfile.TemporaryDirectory(prefix="beamai-mcp-test-")
        root = pathlib.Path(self.root.name)
        self.workspace = root / "workspace"
        self.temp = root / "temp"
        self.workspace.mkdir()
        self.temp.mkdir()
        for name, text in {
            "a.txt": "one\ntwo\nthree\n",
            "code.py": "def area(width, height):\n    return width * height\n\n\nprint(area(2, 3))\n",
        }.items():
            (self.workspace / name).write_text(text)
        (self.workspace / "dot.png").write_bytes(PNG)
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Test")
        self.git("config", "user.email", "test@example.com")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "First")
        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Web)
        self.address = "127.0.0.1:%d" % self.web.server_port
        self.url = "http://" + self.address
        threading.Thread(target=self.web.serve_forever, daemon=True).start()
        self.settings = root / "settings.json"
        search = {"provider": "searxng", "base_url": self.url}
        self.settings.write_text(json.dumps({"web": {"allow_addresses": [self.address], "search": search}}))
        return self

    def __exit__(self, *_):
        self.web.shutdown()
        self.root.cleanup()

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.workspace, check=True, capture_output=True, text=True).stdout

    def options(self, *more):
        return ["--structured", "--workspace", str(self.workspace), "--settings", str(self.settings), *more]

    def environment(self):
        return {"PATH": os.environ["PATH"], "HOME": str(self.temp.parent), "TMPDIR": str(self.temp)}

    def left_behind(self):
        """What is left of the sessions' temporary directories."""
        return sorted(path.name for path in self.temp.iterdir())


def sleeper(mark):
    """A command that runs for long and can be found by its name."""
    return f"bash -c 'exec -a {mark} sleep 300'"


def processes(mark):
    """The processes of this machine with a text on their command lines."""
    found = []
    for directory in pathlib.Path("/proc").iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                if mark.encode() in (directory / "cmdline").read_bytes():
                    found.append(int(directory.name))
            except OSError:
                pass
    return found


def wait_until(holds, what, seconds=20):
    """Waits for something to become true, and fails where it does not."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain: " + what
        time.sleep(0.05)
