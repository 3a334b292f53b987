"""A server written with the official Python library, for the tests: each tool shows one thing. On its streams, or over HTTP:
http PORT sessions|json|stateless MARK."""

import asyncio
import os
import pathlib
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("python", version="1.2.3", instructions="Tools for tests.")
remembered: list[str] = []


class Sum(BaseModel):
    sum: int


class Point(BaseModel):
    x: float
    y: float


class Order(BaseModel):
    dish: str
    count: int = 1


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 1) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool(structured_output=False)
def describe(thing: int | str, place: Point) -> str:
    """Takes what no plain parameter can say: a union and a reference."""
    return f"{type(thing).__name__} {thing} at {place.x}, {place.y}"


@server.tool(structured_output=False)
def remember(text: str) -> str:
    """Keeps a text, and tells all that were kept."""
    remembered.append(text)
    return " ".join(remembered)


@server.tool(name="admin.files/list", structured_output=False)
def admin() -> str:
    """Has a name that providers refuse."""
    return "listed"


@server.tool(structured_output=False)
def fail(text: str) -> str:
    """Fails."""
    raise ToolError(text)


@server.tool(structured_output=False)
def picture() -> list:
    """Returns text and an image."""
    return ["a dot", Image(data=b"\x89PNG", format="png")]


@server.tool(structured_output=False)
async def work(file: str, seconds: float, ctx: Context) -> str:
    """Works for a while, reports progress, and writes down when it is cancelled."""
    path = pathlib.Path(file)
    try:
        path.write_text("working")
        for part in range(4):
            await ctx.report_progress(part, 4, f"part {part}")
            await asyncio.sleep(seconds / 4)
        path.write_text("done")
        return "done"
    except asyncio.CancelledError:
        path.write_text("cancelled")
        raise


@server.tool(structured_output=False)
async def order(ctx: Context) -> str:
    """Asks the user."""
    answer = await ctx.elicit("What do you want to eat?", Order)
    match answer.action:
        case "accept":
            return f"{answer.data.count} x {answer.data.dish}"
        case action:
            return action


@server.tool(structured_output=False)
async def swap(ctx: Context) -> str:
    """Takes a tool away and says so."""
    server.remove_tool("add")
    await ctx.notify_tools_changed()
    await ctx.session.send_tool_list_changed()
    return "swapped"


@server.tool()
def whoami() -> dict[str, str]:
    """Tells of the process."""
    return {"pid": str(os.getpid()), "cwd": os.getcwd(), **{f"env {name}": value for name, value in os.environ.items()}}


@server.tool(structured_output=False)
def write(file: str, text: str) -> str:
    """Writes a file."""
    pathlib.Path(file).write_text(text)
    return "written"


@server.tool(structured_output=False)
def read(file: str) -> str:
    """Reads a file."""
    return pathlib.Path(file).read_text()


@server.tool(structured_output=False)
def die() -> str:
    """Ends the process."""
    print("my last words", file=sys.stderr, flush=True)
    os._exit(3)


print("I log where it does not belong", flush=True)
match sys.argv[1:]:
    case ["http", port, how, _]:
        server.run("streamable-http", port=int(port), json_response=how == "json", stateless_http=how == "stateless")
    case _:
        server.run()
