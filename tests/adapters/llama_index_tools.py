"""llama-index-tools-mcp: function tools of LlamaIndex."""

import contextlib

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


class Tools:
    def __init__(self, tools):
        self.all = {tool.metadata.name: tool for tool in tools}

    async def tools(self):
        return {name: tool.metadata.get_parameters_dict() for name, tool in self.all.items()}

    async def call(self, name, arguments):
        output = await self.all[name].acall(**arguments)
        return "\n".join(block.text for block in output.raw_output.content)


@contextlib.asynccontextmanager
async def connect(server):
    client = BasicMCPClient(server.command, args=server.args, env=server.env)
    yield Tools(await McpToolSpec(client=client).to_tool_list_async())
