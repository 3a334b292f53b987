"""pydantic-ai: a toolset over MCP."""

import contextlib

from fastmcp.client.transports import StdioTransport
from pydantic_ai import ModelRetry
from pydantic_ai.mcp import MCPToolset


class Tools:
    def __init__(self, toolset):
        self.toolset = toolset

    async def tools(self):
        return {tool.name: tool.input_schema for tool in await self.toolset.list_tools()}

    async def call(self, name, arguments):
        try:
            return str(await self.toolset.direct_call_tool(name, arguments))
        except ModelRetry as error:
            return error.message


@contextlib.asynccontextmanager
async def connect(server):
    transport = StdioTransport(server.command, server.args, env=server.env, keep_alive=False)
    async with MCPToolset(transport) as toolset:
        yield Tools(toolset)
