"""openai-agents: function tools of the OpenAI Agents SDK."""

import contextlib
import json

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool_context import ToolContext


class Tools:
    def __init__(self, tools):
        self.all = {tool.name: tool for tool in tools}

    async def tools(self):
        return {name: tool.params_json_schema for name, tool in self.all.items()}

    async def call(self, name, arguments):
        written = json.dumps(arguments)
        context = ToolContext(context=None, tool_name=name, tool_call_id="call_1", tool_arguments=written)
        result = await self.all[name].on_invoke_tool(context, written)
        return result["text"] if isinstance(result, dict) else str(result)


@contextlib.asynccontextmanager
async def connect(server):
    params = {"command": server.command, "args": server.args, "env": server.env}
    async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as connected:
        context, agent = RunContextWrapper(context=None), Agent(name="check", mcp_servers=[connected])
        yield Tools(await MCPUtil.get_function_tools(connected, False, context, agent))
