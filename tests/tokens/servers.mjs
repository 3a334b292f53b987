// The three sides of the comparison: beamai, the reference servers, and a plain shell.

import { spawn } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';

/** The one tool of a plain shell, as agents describe it to models. */
const SHELL_TOOL = {
    name: 'bash',
    description: 'Run a bash command in the project and return its output.',
    inputSchema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
};

async function connect(command, args, cwd, env) {
    const client = new Client({ name: 'tokens', version: '1' });
    await client.connect(new StdioClientTransport({ command, args, cwd, env, stderr: 'ignore' }));
    return client;
}

/** What a model reads of a tool: hosts forward these fields. */
function described({ name, description, inputSchema }) {
    return { name, description, inputSchema };
}

/** What a model reads of a result. */
function shown({ content }) {
    return content.map((block) => block.text ?? `[${block.type}]`).join('\n');
}

async function call(client, name, args) {
    try {
        const result = await client.callTool({ name, arguments: args }, CallToolResultSchema, { timeout: 120_000 });
        return { text: shown(result), isError: Boolean(result.isError) };
    } catch (error) {
        // Refused by the protocol, such as a tool that does not exist: hosts show the message.
        return { text: error.message, isError: true };
    }
}

/** A side has `tools()`, `call(step)` and `close()`; a step is what its column of a row says. */
function side(clients, run) {
    return {
        async tools() {
            const lists = await Promise.all(clients.map((client) => client.listTools()));
            return lists.flatMap(({ tools }) => tools.map(described));
        },
        call: run,
        close: () => Promise.all(clients.map((client) => client.close())),
    };
}

/** beamai over MCP. A step is `[tool, args]`. */
export async function beamai(program, workspace, address, env) {
    const allow = ['Bash', 'Edit', 'Write', 'WebFetch', 'GitAdd', 'GitCommit'].flatMap((rule) => ['--allow', rule]);
    const args = ['mcp', '--workspace', workspace, '--allow-address', address, ...allow];
    const client = await connect(program, args, workspace, env);
    return side([client], async ([name, args]) => ({ written: { name, arguments: args }, ...await call(client, name, args) }));
}

/**
 * The reference servers for files, git and the web. A step is `[server, tool, args]`, or a command where no server does the
 * job: it counts as in a plain shell.
 */
export async function references({ files, git, fetch }, workspace, env) {
    const clients = {
        files: await connect(files.command, [...files.args, workspace], workspace, env),
        git: await connect(git, ['--repository', workspace], workspace, env),
        fetch: await connect(fetch, ['--ignore-robots-txt', '--allow-private-ips'], workspace, env),
    };
    const commands = shell(workspace, env);
    return side(Object.values(clients), async (step) => {
        if (typeof step === 'string') return commands.call(step);
        const [server, name, args] = step;
        return { written: { name, arguments: args }, ...await call(clients[server], name, args) };
    });
}

/** A plain shell. A step is a command. */
export function shell(workspace, env) {
    return {
        tools: async () => [SHELL_TOOL],
        async call(command) {
            const { output, code } = await ran(command, workspace, env);
            const written = { name: SHELL_TOOL.name, arguments: { command } };
            return { written, text: code === 0 ? output : `${output}\n[exit code ${code}]`, isError: code !== 0 };
        },
        close: async () => {},
    };
}

/** Not waited for at once: the page that a command may fetch is served by this process. */
function ran(command, cwd, env) {
    return new Promise((resolve) => {
        let output = '';
        const child = spawn('bash', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 60_000 });
        const take = (bytes) => { output += bytes; };
        child.stdout.setEncoding('utf8').on('data', take);
        child.stderr.setEncoding('utf8').on('data', take);
        child.on('close', (code) => resolve({ output, code }));
    });
}
