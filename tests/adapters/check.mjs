// The MCP server as JavaScript frameworks see it: the official SDK and the AI SDK. As check.py, which says what is compared.
// Runs from where the packages are installed.
//
// Usage: node check.mjs PROGRAM CALLS

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { createMCPClient } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport as StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { asSchema } from 'ai';

const PROGRAM = path.resolve(process.argv[2]);
const CALLS = JSON.parse(fs.readFileSync(process.argv[3], 'utf8'));

const shown = ({ content }) => content.map((block) => block.text).join('\n');

/** The official SDK: what the server says on the wire. */
async function official(server) {
    const client = new Client({ name: 'check', version: '1' });
    await client.connect(new StdioClientTransport(server));
    const { tools } = await client.listTools();
    return {
        tools: Object.fromEntries(tools.map((tool) => [tool.name, tool.inputSchema])),
        call: async ([name, args]) => shown(await client.callTool({ name, arguments: args })),
        close: () => client.close(),
    };
}

/** The AI SDK: its tools, as `generateText` takes them. */
async function ai(server) {
    const client = await createMCPClient({ transport: new StdioMCPTransport(server) });
    const tools = await client.tools();
    const schemas = Object.entries(tools).map(async ([name, tool]) => [name, await asSchema(tool.inputSchema).jsonSchema]);
    return {
        tools: Object.fromEntries(await Promise.all(schemas)),
        call: async ([name, args]) => {
            const result = await tools[name].execute(args, { toolCallId: 'call_1', messages: [] });
            return shown(result);
        },
        close: () => client.close(),
    };
}

async function check(connect, expected, dialect) {
    // Not under /tmp, which commands in the sandbox do not see.
    const workspace = fs.mkdtempSync('/var/tmp/beamai-adapters-');
    fs.writeFileSync(path.join(workspace, 'a.txt'), 'one\ntwo\nthree\n');
    const args = ['mcp', '--dialect', dialect, '--workspace', workspace, '--allow', 'Write'];
    const client = await connect({ command: PROGRAM, args, env: { PATH: process.env.PATH } });
    const { read, fail, write } = CALLS[dialect];
    const seen = { schemas: {}, read: await client.call(read), fail: await client.call(fail) };
    for (const [name, schema] of Object.entries(client.tools)) {
        seen.schemas[name] = Object.keys(schema.properties ?? {}).sort();
    }
    await client.call(write);
    assert.equal(fs.readFileSync(path.join(workspace, 'new.txt'), 'utf8'), 'written\n');
    await client.close();
    fs.rmSync(workspace, { recursive: true });
    assert(seen.read.includes('two') && seen.fail.includes('none.txt'), JSON.stringify(seen));
    if (expected) assert.deepEqual(seen, expected);
    return seen;
}

let passed = 0;
for (const dialect of Object.keys(CALLS)) {
    const expected = await check(official, null, dialect);
    console.log(`ok - TypeScript SDK: ${dialect}`);
    await check(ai, expected, dialect);
    console.log(`ok - AI SDK: ${dialect}`);
    passed += 2;
}
console.log(`${passed} passed, 0 failed`);
