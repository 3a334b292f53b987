"""mcpadapt, with the tools of smolagents."""

import asyncio
import contextlib

from mcp import StdioServerParameters
from mcpadapt.core import MCPAdapt
from mcpadapt.smolagents_adapter import SmolAgentsAdapter


class Tools:
    def __init__(self, tools):
        self.all = {tool.name: tool for tool in tools}

    async def tools(self):
        return {name: {"properties": tool.inputs} for name, tool in self.all.items()}

    async def call(self, name, arguments):
        # It waits for an answer that comes on another thread.
        return str(await asyncio.to_thread(self.all[name], **arguments))


@contextlib.asynccontextmanager
async def connect(server):
    parameters = StdioServerParameters(command=server.command, args=server.args, env=server.env)
    with MCPAdapt(parameters, SmolAgentsAdapter()) as tools:
        yield Tools(tools)
