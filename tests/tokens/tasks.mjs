// The rows of the table: one task each, as the calls that do it on each side. servers.mjs says what a step is.
//
// `reference: null` means that none of the reference servers does it; the shell is compared with then. `$W` in a step stands
// for the workspace's absolute path, `$WEB` for the web server's address. `changes` marks rows after which the workspace is put
// back as it was.

import fs from 'node:fs';
import { NEW_FILE } from './fixture.mjs';

const REPO = { repo_path: '$W' };

const TAX = `    """The tax on all items, each rounded by itself."""
    return sum(round(item["price"] * VAT[item["kind"]] / 100) for item in items)
`;
const RIGHT_TAX = TAX.replace('item["price"] *', 'item["price"] * item["count"] *');

const edit = (oldText, newText) => ({ path: 'src/shop/pricing.py', edits: [{ oldText, newText }] });

const SINGLE = [
    {
        task: 'read a module (70 lines)',
        beamai: [['file_read', { path: 'src/shop/order.py' }]],
        reference: [['files', 'read_text_file', { path: 'src/shop/order.py' }]],
        shell: ['cat src/shop/order.py'],
    },
    {
        task: 'read three lines',
        beamai: [['file_read', { path: 'notes.txt' }]],
        reference: [['files', 'read_text_file', { path: 'notes.txt' }]],
        shell: ['cat notes.txt'],
    },
    {
        task: 'read the first 20 lines',
        beamai: [['file_read', { path: 'src/shop/order.py', limit: 20 }]],
        reference: [['files', 'read_text_file', { path: 'src/shop/order.py', head: 20 }]],
        shell: ['head -n 20 src/shop/order.py'],
    },
    {
        task: 'list 200 entries',
        beamai: [['file_list', { path: 'data' }]],
        reference: [['files', 'list_directory', { path: 'data' }]],
        shell: ['ls data'],
    },
    {
        task: 'tree of the project',
        beamai: [['file_list', { path: '.', depth: 4, limit: 500 }]],
        reference: [['files', 'directory_tree', { path: '.', excludePatterns: ['.git'] }]],
        shell: ["find . -path ./.git -prune -o -print"],
    },
    {
        task: 'search contents, 50 matches',
        beamai: [['file_grep', { pattern: 'for part in', path: 'src' }]],
        reference: null,
        shell: ["grep -rn 'for part in' src"],
    },
    {
        task: 'search, files only',
        beamai: [['file_grep', { pattern: 'format_price', output_mode: 'files_with_matches' }]],
        reference: null,
        shell: ['grep -rl --exclude-dir=.git format_price .'],
    },
    {
        task: 'find files by name',
        beamai: [['file_glob', { pattern: '**/*.py' }]],
        reference: [['files', 'search_files', { path: '.', pattern: '**/*.py' }]],
        shell: ["find . -name '*.py'"],
    },
    {
        task: 'edit one place',
        changes: true,
        beamai: [['file_edit', { path: 'src/shop/pricing.py', old_string: TAX, new_string: RIGHT_TAX }]],
        reference: [['files', 'edit_file', edit(TAX, RIGHT_TAX)]],
        shell: [`sed -i '/round(item/s/item\\["price"\\]/& * item["count"]/' src/shop/pricing.py && git diff src/shop/pricing.py`],
    },
    {
        task: 'write a new file (3,900 tokens)',
        changes: true,
        beamai: [['file_write', { path: 'src/shop/all.py', content: NEW_FILE }]],
        reference: [['files', 'write_file', { path: 'src/shop/all.py', content: NEW_FILE }]],
        shell: [`cat > src/shop/all.py <<'END'\n${NEW_FILE}END`],
    },
    {
        task: 'git status',
        beamai: [['git_status', {}]],
        reference: [['git', 'git_status', REPO]],
        shell: ['git status'],
    },
    {
        task: 'git log, 8 commits',
        beamai: [['git_log', { limit: 8 }]],
        reference: [['git', 'git_log', { ...REPO, max_count: 8 }]],
        shell: ['git log -n 8'],
    },
    {
        task: 'git diff',
        beamai: [['git_diff', {}]],
        reference: [['git', 'git_diff_unstaged', REPO]],
        shell: ['git diff'],
    },
    {
        task: 'git add and commit',
        changes: true,
        beamai: [['git_add', { path: '.' }], ['git_commit', { message: 'Add a column for the tax' }]],
        reference: [['git', 'git_add', { ...REPO, files: ['.'] }], ['git', 'git_commit', { ...REPO, message: 'Add a column for the tax' }]],
        shell: ["git add . && git commit -m 'Add a column for the tax'"],
    },
    {
        task: 'fetch a page',
        beamai: [['web_fetch', { url: 'http://$WEB/tax' }]],
        reference: [['fetch', 'fetch', { url: 'http://$WEB/tax' }]],
        shell: ['curl -s http://$WEB/tax'],
    },
];

/** One error of each kind; a plain shell's is what it prints. */
const ERRORS = [
    {
        task: 'not_found: a missing file',
        beamai: [['file_read', { path: 'src/shop/orders.py' }]],
        reference: [['files', 'read_text_file', { path: 'src/shop/orders.py' }]],
        shell: ['cat src/shop/orders.py'],
    },
    {
        task: 'not_found: an unknown tool',
        beamai: [['read_file', { path: 'notes.txt' }]],
        reference: [['files', 'file_read', { path: 'notes.txt' }]],
        shell: ['file_read notes.txt'],
    },
    {
        task: 'permission_denied: outside the workspace',
        beamai: [['file_read', { path: '/etc/passwd' }]],
        reference: [['files', 'read_text_file', { path: '/etc/passwd' }]],
        shell: null,
    },
    {
        task: 'invalid_input: a missing argument',
        beamai: [['file_edit', { path: 'notes.txt', old_string: 'Ada' }]],
        reference: [['files', 'edit_file', { path: 'notes.txt' }]],
        shell: ["sed -i notes.txt"],
    },
    {
        task: 'invalid_input: an edit without a match',
        beamai: [['file_edit', { path: 'src/shop/pricing.py', old_string: TAX.replaceAll('    ', '\t'), new_string: RIGHT_TAX }]],
        reference: [['files', 'edit_file', edit(TAX.replace('round(', 'floor('), RIGHT_TAX)]],
        shell: null,
    },
    {
        task: 'execution_failed: the file has changed since',
        beamai: [['file_edit', { path: 'notes.txt', old_string: 'Ada', new_string: 'Bob', expected_hash: '0'.repeat(64) }]],
        reference: null,
        shell: null,
    },
    {
        task: 'timeout: a command that never ends',
        beamai: [['shell_exec', { command: 'echo begun; sleep 60', timeout: 300 }]],
        reference: null,
        shell: ["timeout 0.3 bash -c 'echo begun; sleep 60'"],
    },
    {
        task: 'a page that is missing',
        isPage: true,
        beamai: [['web_fetch', { url: 'http://$WEB/none' }]],
        reference: [['fetch', 'fetch', { url: 'http://$WEB/none' }]],
        shell: ['curl -sf http://$WEB/none'],
    },
];

function session(name) {
    return JSON.parse(fs.readFileSync(new URL(`sessions/${name}.json`, import.meta.url), 'utf8'));
}

export const TASKS = [
    ...SINGLE.map((row) => ({ ...row, kind: 'call' })),
    ...ERRORS.map((row) => ({ ...row, kind: 'error' })),
    ...['failing_test', 'rename', 'cause'].map((name) => ({ ...session(name), kind: 'session', changes: true })),
];
