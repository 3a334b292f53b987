"""fastmcp's client."""

import contextlib

import fastmcp
from fastmcp.client.transports import StdioTransport


class Tools:
    def __init__(self, client):
        self.client = client

    async def tools(self):
        return {tool.name: tool.input_schema for tool in await self.client.list_tools()}

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments, raise_on_error=False)
        return "\n".join(block.text for block in result.content)


@contextlib.asynccontextmanager
async def connect(server):
    transport = StdioTransport(server.command, server.args, env=server.env, keep_alive=False)
    async with fastmcp.Client(transport) as client:
        yield Tools(client)
