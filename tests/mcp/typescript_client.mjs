// The MCP server as the official TypeScript client sees it. Runs from where the client is installed.
//
// Usage: node typescript_client.mjs PROGRAM

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const PROGRAM = path.resolve(process.argv[2]);

/** A workspace, and a directory for temporary files. */
function world() {
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'beamai-mcp-test-'));
    const [workspace, temp] = ['workspace', 'temp'].map((name) => path.join(root, name));
    fs.mkdirSync(workspace);
    fs.mkdirSync(temp);
    fs.writeFileSync(path.join(workspace, 'a.txt'), 'one\ntwo\n');
    const env = { PATH: process.env.PATH, HOME: root, TMPDIR: temp };
    return { root, workspace, temp, env };
}

function client(answers) {
    const capabilities = answers ? { elicitation: {} } : {};
    const made = new Client({ name: 'test', version: '1' }, { capabilities });
    if (answers) {
        made.setRequestHandler(ElicitRequestSchema, async () => answers.shift());
    }
    return made;
}

const yes = (content) => ({ action: 'accept', content });

/** The processes of this machine with a text on their command lines. */
function processes(mark) {
    return fs.readdirSync('/proc').filter((name) => {
        try {
            return /^\d+$/.test(name) && fs.readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(mark);
        } catch {
            return false;
        }
    });
}

async function until(holds, what) {
    const end = Date.now() + 20_000;
    while (!holds()) {
        assert(Date.now() < end, `waited in vain: ${what}`);
        await sleep(50);
    }
}

async function succeeds(client, name, args, options) {
    // The client itself holds structured content to the output schema.
    const result = await client.callTool({ name, arguments: args }, CallToolResultSchema, options);
    assert(!result.isError, JSON.stringify(result));
    return result.structuredContent;
}

async function fails(client, name, args, type, reason) {
    const result = await client.callTool({ name, arguments: args });
    assert.equal(result.isError, true, JSON.stringify(result));
    const error = result._meta['beamai/error'];
    assert.deepEqual([error.tool, error.error_type, error.details.reason], [name, type, reason]);
    return error;
}

async function exercise(connect, { workspace }) {
    const files = ['file_edit', 'file_glob', 'file_grep', 'file_list', 'file_patch', 'file_read', 'file_write'];
    const answers = [
        { action: 'decline' }, yes({ decision: 'deny' }), yes({ decision: 'allow' }),
        yes({ answer_1: 'Red' }), { action: 'cancel' },
    ];
    const user = client(answers);
    await connect(user);
    const { tools } = await user.listTools();
    const names = tools.map((tool) => tool.name);
    assert(files.every((name) => names.includes(name)) && !names.includes('task'), String(names));
    assert.equal(tools.find((tool) => tool.name === 'file_read').annotations.readOnlyHint, true);
    await user.ping();

    assert.equal((await succeeds(user, 'file_read', { path: 'a.txt' })).content, 'one\ntwo\n');
    await fails(user, 'file_read', { path: 'none' }, 'not_found', 'no_such_file');
    await fails(user, 'file_read', {}, 'invalid_input', 'invalid_argument');
    assert.equal((await succeeds(user, 'file_grep', { pattern: 'two' })).total_matches, 1);
    await assert.rejects(user.callTool({ name: 'none', arguments: {} }), { code: -32602 });

    const write = { path: 'w.txt', content: 'x' };
    await fails(user, 'file_write', write, 'permission_denied', 'denied');
    await fails(user, 'file_write', write, 'permission_denied', 'denied');
    assert(!fs.existsSync(path.join(workspace, 'w.txt')));
    await succeeds(user, 'file_write', write);
    assert.equal(fs.readFileSync(path.join(workspace, 'w.txt'), 'utf8'), 'x');
    const options = ['Red', 'Green'].map((label) => ({ label, description: label }));
    const questions = [{ question: 'Which?', options }];
    assert.deepEqual((await succeeds(user, 'human_input', { questions })).answers, { 'Which?': 'Red' });
    assert.equal((await succeeds(user, 'human_input', { questions })).outcome, 'cancelled');

    const told = [];
    await succeeds(user, 'shell_exec', { command: 'sleep 1.2' }, { onprogress: (one) => told.push(one) });
    assert(told.length >= 1 && told[0].message.includes('output'), JSON.stringify(told));

    const mark = `mark-${process.pid}-${Date.now()}`;
    const abort = new AbortController();
    const command = `bash -c 'exec -a ${mark} sleep 300'`;
    const running = succeeds(user, 'shell_exec', { command }, { signal: abort.signal });
    await until(() => processes(mark).length > 0, 'the command runs');
    abort.abort('enough');
    await assert.rejects(running);
    await until(() => processes(mark).length === 0, 'the command is dead');

    const started = await succeeds(user, 'shell_exec', { command, run_in_background: true });
    await until(() => processes(mark).length > 0, 'the command runs');
    assert.equal((await succeeds(user, 'shell_output', { id: started.id })).status, 'running');
    return { user, mark };
}

/** What an HTTP client says when it ends its session. */
async function leave(user) {
    await user.transport.terminateSession?.();
    await user.close();
}

async function over(name, connect, place, stop) {
    const { user, mark } = await exercise(connect, place);
    const alone = client();
    await connect(alone);
    const error = await fails(alone, 'file_write', { path: 'v', content: '' }, 'permission_denied', 'needs_approval');
    assert(error.message.includes("--allow 'Write(./v)'"), error.message);
    const questions = [{ question: 'Well?' }];
    assert.equal((await succeeds(alone, 'human_input', { questions })).outcome, 'no_frontend');
    await leave(alone);
    await leave(user);
    await until(() => processes(mark).length === 0, 'the session has ended');
    await stop?.();
    await until(() => fs.readdirSync(place.temp).length === 0, 'the temporary directories are gone');
    fs.rmSync(place.root, { recursive: true });
    console.log(`ok - ${name}`);
}

const arguments_ = (place) => ['mcp', '--structured', '--workspace', place.workspace, '--allow', 'Bash'];

async function stdio() {
    const place = world();
    const connect = (user) =>
        user.connect(new StdioClientTransport({ command: PROGRAM, args: arguments_(place), env: place.env }));
    await over('stdio', connect, place);
}

async function http() {
    const place = world();
    const server = spawn(PROGRAM, [...arguments_(place), '--http', '127.0.0.1:0'], {
        env: place.env, stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => server.on('exit', resolve));
    const [line] = await new Promise((resolve) => server.stdout.once('data', (data) => resolve(String(data).split('\n'))));
    const connect = (user) => user.connect(new StreamableHTTPClientTransport(new URL(line)));
    await over('http', connect, place, async () => {
        server.kill('SIGTERM');
        assert.equal(await ended, 0);
    });
}

await stdio();
await http();
console.log('2 passed, 0 failed');
