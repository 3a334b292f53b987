// The workspace that all servers work on: a small Python project with a history, the same in every run.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const NOUNS = ['order', 'invoice', 'customer', 'parcel', 'coupon', 'stock', 'refund', 'address', 'payment', 'basket'];
const VERBS = ['load', 'check', 'store', 'merge', 'describe'];

/** A function as people write them, with a docstring and a loop. */
function method(verb, noun, number) {
    return [
        `def ${verb}_${noun}(${noun}, limit=${10 + number}):`,
        `    """Return the ${noun}s that can be ${verb}ed, at most ${10 + number} of them."""`,
        '    found = []',
        `    for part in ${noun}.parts:`,
        `        if part.is_open and len(found) < limit:`,
        `            found.append(part.with_state("${verb}"))`,
        `    return sorted(found, key=lambda part: part.name)`,
        '',
        '',
    ].join('\n');
}

function module_(noun) {
    const head = `"""Everything about ${noun}s."""\n\nimport logging\n\nlog = logging.getLogger(__name__)\n\n\n`;
    return head + VERBS.map((verb, number) => method(verb, noun, number)).join('').trimEnd() + '\n';
}

const PRICING = `"""Prices of baskets, in cents."""

VAT = {"books": 7, "food": 7, "tools": 19}


def net(items):
    """The sum of all items without tax."""
    return sum(item["price"] * item["count"] for item in items)


def tax(items):
    """The tax on all items, each rounded by itself."""
    return sum(round(item["price"] * VAT[item["kind"]] / 100) for item in items)


def total(items, discount=0):
    """What the customer pays: net and tax, less a discount in percent."""
    return round((net(items) + tax(items)) * (100 - discount) / 100)


def format_price(cents):
    """A price as people read it."""
    return f"{cents // 100}.{cents % 100:02d} EUR"
`;

const PRICING_TESTS = `import unittest

from shop.pricing import format_price, tax, total

BOOK = {"kind": "books", "price": 1000, "count": 1}
HAMMERS = {"kind": "tools", "price": 2000, "count": 2}


class Pricing(unittest.TestCase):
    def test_tax_of_one(self):
        self.assertEqual(tax([BOOK]), 70)

    def test_tax_counts_every_piece(self):
        self.assertEqual(tax([HAMMERS]), 760)

    def test_total_with_discount(self):
        self.assertEqual(total([BOOK], discount=10), 963)

    def test_format(self):
        self.assertEqual(format_price(1999), "19.99 EUR")
`;

/** Three modules that print prices; the rename touches them. */
function printing(name, what) {
    return `"""Prints ${what}."""

from shop.pricing import format_price, total


def line(items):
    """One line of ${what}."""
    return f"${what}: {format_price(total(items))}"


def lines(all_items):
    """Every line, the dearest first."""
    ordered = sorted(all_items, key=total, reverse=True)
    return [f"{number}. {format_price(total(items))}" for number, items in enumerate(ordered, 1)]
`;
}

const REPORT = [
    '"""The daily report."""',
    '',
    'import csv',
    '',
    'HEADER = ["day", "orders", "sum"]',
    '',
    '',
    'def write(rows, file, with_header=True):',
    '    """Write rows of a day as CSV."""',
    '    out = csv.writer(file)',
    '    if with_header:',
    '        out.writerow(HEADER)',
    '    out.writerows(rows)',
    '',
    '',
    'def append(rows, file):',
    '    """Add rows to a report that has its header."""',
    '    write(rows, file, with_header=False)',
    '',
].join('\n');

const JOBS = `"""What runs every night."""

from shop import report


def nightly(rows, path):
    """Write the report of the day."""
    with open(path, "w", newline="") as file:
        report.write(rows, file)
`;

/** A new file of about 3,900 tokens, as a model would write it. */
export const NEW_FILE = Array.from({ length: 4 }, (_, number) =>
    VERBS.flatMap((verb) => NOUNS.slice(0, 2 + (number % 2)).map((noun) => method(`${verb}_all`, noun, number)))
        .join('')).join('').trimEnd() + '\n';

/** What is in the workspace, in the order of its commits. */
const HISTORY = [
    ['Start the shop', {
        'README.md': '# Shop\n\nA shop for tests.\n',
        '.gitignore': '__pycache__/\n*.log\n',
        'src/shop/__init__.py': '',
        ...Object.fromEntries(NOUNS.slice(0, 5).map((noun) => [`src/shop/${noun}.py`, module_(noun)])),
    }],
    ['Add payments and baskets',
        Object.fromEntries(NOUNS.slice(5).map((noun) => [`src/shop/${noun}.py`, module_(noun)]))],
    ['Compute prices', { 'src/shop/pricing.py': PRICING, 'tests/test_pricing.py': PRICING_TESTS, 'tests/__init__.py': '' }],
    ['Print bills, offers and reminders', {
        'src/shop/bill.py': printing('bill', 'bill'),
        'src/shop/offer.py': printing('offer', 'offer'),
        'src/shop/reminder.py': printing('reminder', 'reminder'),
    }],
    ['Keep the data of two hundred days',
        Object.fromEntries(Array.from({ length: 200 }, (_, day) =>
            [`data/day-${String(day + 1).padStart(3, '0')}.csv`, `day,orders,sum\n${day + 1},${day % 7},${day * 100}\n`]))],
    ['Write the daily report', { 'src/shop/report.py': REPORT, 'src/shop/jobs.py': JOBS }],
    ['Write reports in pieces', {
        'src/shop/jobs.py': JOBS.replace('report.write(rows, file)',
            'for start in range(0, len(rows), 100):\n            report.append(rows[start:start + 100], file)'),
    }],
    ['Describe how to run the tests', { 'README.md': '# Shop\n\nA shop for tests.\n\n    python3 -m unittest discover\n' }],
];

/** What has changed since the last commit. */
const CHANGED = {
    'README.md': '# Shop\n\nA shop for tests. Python 3.10 or newer.\n\n    python3 -m unittest discover\n',
    'src/shop/report.py': REPORT.replace('"sum"]', '"sum", "tax"]'),
    'notes.txt': 'Ask about the tax column.\nSend the report to Ada.\nClose the old shop.\n',
};

export const AUTHOR = Object.fromEntries(['AUTHOR', 'COMMITTER'].flatMap((who) => [
    [`GIT_${who}_NAME`, 'Ada'], [`GIT_${who}_EMAIL`, 'ada@example.org'],
]));

function git(directory, day, ...args) {
    const date = `2026-01-${String(day).padStart(2, '0')}T10:00:00Z`;
    const env = { ...process.env, ...AUTHOR, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date,
        GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
    execFileSync('git', args, { cwd: directory, env });
}

function write(directory, files) {
    for (const [name, text] of Object.entries(files)) {
        fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
        fs.writeFileSync(path.join(directory, name), text);
    }
}

/** Makes the project in a new directory. */
export function makeProject(directory) {
    fs.mkdirSync(directory, { recursive: true });
    git(directory, 1, 'init', '-q', '-b', 'main');
    git(directory, 1, 'config', 'user.name', 'Ada');
    git(directory, 1, 'config', 'user.email', 'ada@example.org');
    HISTORY.forEach(([subject, files], index) => {
        write(directory, files);
        git(directory, index + 1, 'add', '-A');
        git(directory, index + 1, 'commit', '-q', '-m', subject);
    });
    write(directory, CHANGED);
}

/** Puts the project's files back into a directory, which stays the same directory: servers hold it open. */
export function restore(project, directory) {
    for (const name of fs.existsSync(directory) ? fs.readdirSync(directory) : []) {
        fs.rmSync(path.join(directory, name), { recursive: true });
    }
    execFileSync('cp', ['-a', `${project}/.`, directory]);
}

const PAGE = `<!doctype html><html><head><title>Tax tables</title><style>body { margin: 2em }</style>
<script>window.tracked = true;</script></head><body><nav><a href="/">Home</a> <a href="/contact">Contact</a></nav>
<main><article><h1>Tax tables</h1><p>These rates hold for <em>all</em> orders of the year. See <a href="/rules">the rules</a>
for exceptions, and ask before you change a rate that is older than a month.</p><h2>Rates</h2><ul>${
    NOUNS.map((noun, number) => `<li><b>${noun}s</b>: ${number + 5} percent, rounded to the next cent</li>`).join('')
}</ul><h2>How they are used</h2>${
    VERBS.map((verb) => `<p>To ${verb} an order, look its kind up in the table and use the rate of the day on which it was
placed. An order of several kinds has several rates, and each of its parts is rounded by itself.</p>`).join('')
}</article></main><footer>Since 2019</footer></body></html>`;

/** A web server with one page; answers its address and how to end it. */
export async function startWeb() {
    const server = http.createServer((request, response) => {
        const isPage = request.url === '/tax';
        response.writeHead(isPage ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' });
        response.end(isPage ? PAGE : '<html><body><h1>Not found</h1></body></html>');
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { address: `127.0.0.1:${server.address().port}`, stop: () => server.close() };
}
