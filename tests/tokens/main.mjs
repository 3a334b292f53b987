// Tokens per task, against the reference servers and a plain shell, in one run. Runs from where its packages are installed.
//
// Usage: node main.mjs PROGRAM PYTHON_BIN [TEXT]; with TEXT only the rows that contain it.
//
// A task costs what its calls add to a conversation: the call as the model writes it (name and arguments as JSON) and the
// result as the model reads it (the text of a tool result). Structured content is not counted on any side. Every side works
// on a fresh copy of the same project; its path is counted as /home/ada/project wherever it is.

import fs from 'node:fs';
import path from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { AUTHOR, makeProject, restore, startWeb } from './fixture.mjs';
import { beamai, references, shell } from './servers.mjs';
import { TASKS } from './tasks.mjs';

const [PROGRAM, PYTHON_BIN, ONLY = ''] = process.argv.slice(2);
const SHOWN_AS = '/home/ada/project';
/** What the project holds itself to: for a row, for all rows together, and for the description of a tool. */
const GOALS = { row: 1.2, sum: 0.7, tool: 140 };
const SIDES = ['beamai', 'reference', 'shell'];

const tokens = (text) => encode(text).length;

/** Replaces placeholders in every text of a value. */
function filledIn(value, workspace, address) {
    const fill = (text) => text.replaceAll('$WEB', address).replaceAll('$W', workspace);
    return JSON.parse(JSON.stringify(value), (_, part) => (typeof part === 'string' ? fill(part) : part));
}

/** The tokens that the steps of a row write and read on a side. */
async function cost(side, steps, { workspace, address, isError, isPage, task }) {
    const total = { written: 0, read: 0 };
    const counted = (text) => tokens(text.replaceAll(workspace, SHOWN_AS));
    for (const step of filledIn(steps, workspace, address)) {
        const { written, text, isError: failed } = await side.call(step);
        // A recorded call that ends otherwise than it did is no measurement. A search of the shell for nothing ends with 1.
        if (failed && !isError && !(typeof step === 'string' && text.length < 2000)) {
            throw new Error(`${task}: ${JSON.stringify(written)} failed: ${text}`);
        }
        // A missing page has a status and a text for some, and is an error for others.
        if (!failed && isError && !isPage) throw new Error(`${task}: ${JSON.stringify(written)} did not fail: ${text}`);
        if (process.env.TOKENS_SHOW) console.log(`--- ${JSON.stringify(written).slice(0, 300)}\n${text}`);
        total.written += counted(JSON.stringify(written));
        total.read += counted(text);
    }
    return total;
}

async function listed(sides) {
    const row = { task: 'tools/list', kind: 'list' };
    for (const name of SIDES) {
        const tools = await sides[name].tools();
        row[name] = { written: 0, read: tokens(JSON.stringify(tools)), count: tools.length };
    }
    return row;
}

const sum = ({ written, read }) => written + read;

/** What a row is compared with: the reference servers, or the shell where they do not do it. */
const peer = (row) => row.reference ?? row.shell;

function line(cells) {
    return cells.map((cell, at) => (at === 0 ? cell.padEnd(44) : cell.padStart(12))).join('');
}

const figure = (part) => (part ? `${part.written}+${part.read}` : '-');

function shownRow(row) {
    const ratio = peer(row) ? (sum(row.beamai) / sum(peer(row))).toFixed(2) : '-';
    const read = peer(row) ? (row.beamai.read / peer(row).read).toFixed(2) : '-';
    return line([row.task, figure(row.beamai), figure(row.reference), figure(row.shell), ratio, read]);
}

function report(rows) {
    console.log(line(['task (tokens written + read)', 'beamai', 'reference', 'shell', 'ratio', 'of read']));
    rows.forEach((row) => console.log(shownRow(row)));
    const compared = rows.filter(peer);
    const all = (pick, field) => compared.reduce((total, row) => total + field(pick(row)), 0);
    const ratio = (field) => all((row) => row.beamai, field) / all(peer, field);
    const whole = ratio(sum);
    const read = ratio((part) => part.read);
    console.log(line(['sum', String(all((row) => row.beamai, sum)), String(all(peer, sum)), '', whole.toFixed(2),
        read.toFixed(2)]));
    console.log('\nThe ratio is to the reference servers (filesystem, git, fetch), and to the shell where none of them does it.');
    verdict(rows, compared, whole, read);
}

function verdict(rows, compared, whole, read) {
    const said = (holds, text) => console.log(`${holds ? 'met' : 'missed'}: ${text}`);
    said(whole <= GOALS.sum, `at most ${GOALS.sum} in sum; it is ${whole.toFixed(3)}, of what is read alone ${read.toFixed(3)}`);
    const over = compared.filter((row) => row.kind !== 'error' && sum(row.beamai) > GOALS.row * sum(peer(row)));
    said(over.length === 0, `no row above ${GOALS.row}, errors apart; above it: ${over.map((row) => row.task).join('; ') || 'none'}`);
    const list = rows.find((row) => row.kind === 'list');
    if (list) {
        const each = list.beamai.read / list.beamai.count;
        said(each <= GOALS.tool, `at most ${GOALS.tool} tokens a tool; it is ${each.toFixed(1)} for each of ${list.beamai.count}`);
    }
}

async function main() {
    // Not under /tmp, which commands in the sandbox do not see.
    const root = fs.mkdtempSync('/var/tmp/beamai-tokens-');
    const web = await startWeb();
    const env = { ...process.env, ...AUTHOR, PYTHONDONTWRITEBYTECODE: '1', LC_ALL: 'C.UTF-8',
        GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    const sides = {};
    try {
        const project = path.join(root, 'project');
        makeProject(project);
        const workspaces = Object.fromEntries(SIDES.map((name) => [name, path.join(root, name)]));
        Object.values(workspaces).forEach((workspace) => restore(project, workspace));
        sides.beamai = await beamai(path.resolve(PROGRAM), workspaces.beamai, web.address, env);
        const files = fs.realpathSync('node_modules/@modelcontextprotocol/server-filesystem/dist/index.js');
        sides.reference = await references({
            files: { command: process.execPath, args: [files] },
            git: path.join(PYTHON_BIN, 'mcp-server-git'),
            fetch: path.join(PYTHON_BIN, 'mcp-server-fetch'),
        }, workspaces.reference, env);
        sides.shell = shell(workspaces.shell, env);
        report(await rows(sides, { project, workspaces, address: web.address }));
    } finally {
        await Promise.all(Object.values(sides).map((side) => side.close()));
        web.stop();
        fs.rmSync(root, { recursive: true });
    }
}

async function rows(sides, { project, workspaces, address }) {
    const found = 'tools/list'.includes(ONLY) ? [await listed(sides)] : [];
    for (const { task, kind, isPage, changes, ...steps } of TASKS.filter(({ task }) => task.includes(ONLY))) {
        const row = { task, kind };
        for (const name of SIDES.filter((name) => steps[name])) {
            const workspace = workspaces[name];
            row[name] = await cost(sides[name], steps[name], { workspace, address, isError: kind === 'error', isPage, task });
            if (changes) restore(project, workspace);
        }
        found.push(row);
    }
    return found;
}

await main();
