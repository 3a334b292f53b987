"""langchain-mcp-adapters: tools of LangChain."""

import contextlib

from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools


class Tools:
    def __init__(self, tools):
        self.all = {tool.name: tool for tool in tools}

    async def tools(self):
        described = [convert_to_openai_tool(tool)["function"] for tool in self.all.values()]
        return {tool["name"]: tool["parameters"] for tool in described}

    async def call(self, name, arguments):
        try:
            result = await self.all[name].ainvoke(arguments)
        except ToolException as error:
            return str(error)
        return result if isinstance(result, str) else "\n".join(block["text"] for block in result)


@contextlib.asynccontextmanager
async def connect(server):
    options = {"transport": "stdio", "command": server.command, "args": server.args, "env": server.env}
    client = MultiServerMCPClient({"beamai": options})
    async with client.session("beamai") as session:
        yield Tools(await load_mcp_tools(session))
