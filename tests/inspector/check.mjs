// Uses the inspector as a person would: with the keyboard and the mouse, in light and in the dark, and with 100,000 calls.
import assert from 'node:assert/strict';
import puppeteer from 'puppeteer-core';

const [chromium, url, many, screenshot] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: ['--no-sandbox', '--disable-gpu'] });
let passed = 0;

async function test(name, body) {
  try { await body(); passed++; } catch (problem) { console.error(`FAILED: ${name}`); throw problem; }
}

async function open(address) {
  const page = await browser.newPage();
  page.asked = [];
  page.problems = [];
  page.on('request', request => page.asked.push(request.url()));
  page.on('pageerror', problem => page.problems.push(String(problem)));
  page.on('console', message => message.type() === 'error' && page.problems.push(message.text()));
  await page.setViewport({ width: 1280, height: 800 });
  await page.goto(address, { waitUntil: 'load' });
  return page;
}

const text = (page, id) => page.$eval('#' + id, e => e.innerText);
const rows = page => page.$$eval('.row', list => list.map(e => ({ name: e.querySelector('b').textContent, left: parseFloat(e.firstChild.style.paddingLeft), cls: e.className })));
const until = (page, condition, ...args) => page.waitForFunction(condition, { timeout: 30000 }, ...args);

try {
  const page = await open(url);
  await until(page, () => document.querySelectorAll('.row').length > 10);

  await test('calls stand below their runs, a sub-agent below its caller', async () => {
    const seen = await rows(page);
    const depth = name => seen.find(r => r.name === name).left;
    assert.ok(depth('lead') < depth('task') && depth('task') <= depth('file_glob') - 0.5, JSON.stringify(seen));
  });
  await test('new calls appear by themselves', async () => {
    const count = async () => parseInt(await text(page, 'count'));
    const before = await count();
    await until(page, n => parseInt(document.getElementById('count').textContent) > n + 1, before);
  });
  await test('calls under way are shown with their elapsed time, until they end', async () => {
    const running = () => page.$$eval('.row.running', list => list.map(e => ({ name: e.querySelector('b').textContent, time: e.children[1].textContent, wide: e.querySelector('.bar').getBoundingClientRect().width })));
    await page.select('#outcome', 'running');
    await until(page, () => document.querySelector('.row.running'));
    await page.click('.row.running');
    assert.match(await text(page, 'side'), /outcome\s+running[\s\S]*elapsed/);
    assert.match(await text(page, 'count'), /, 1 running/);
    const elapsed = () => page.$eval('#side .elapsed', e => e.textContent);
    const before = await elapsed();
    await until(page, t => { const e = document.querySelector('#side .elapsed'); return e && e.textContent !== t; }, before);
    assert.deepEqual((await running()).map(r => r.name), ['long']);
    await until(page, () => !document.querySelector('.row.running'));
    // The details are those of the record of its end, and the totals count that alone.
    await until(page, () => /outcome\s+ok[\s\S]*duration\s+3\.0/.test(document.getElementById('side').innerText));
    await page.select('#outcome', '');
    await page.click('#totals');
    assert.match(await text(page, 'side'), /tool long\s+[1-9]\d*\s+0/);
  });
  await test('totals have charts', async () => {
    await page.click('#totals');
    const titles = await page.$$eval('#side svg', list => list.map(e => e.getAttribute('aria-label')));
    assert.deepEqual(titles, ['Outcome', 'Calls over time', '95th percentile of the duration', 'Tokens']);
    assert.ok(await page.$$eval('#side svg rect', list => list.length > 10));
  });
  await page.click('#pause');
  await page.focus('#list');
  const chosen = () => page.$eval('.row[aria-selected=true] b', e => e.textContent);
  const find = async name => {
    await page.keyboard.press('Home');
    for (let i = 0; i < 60; i++) { if (await chosen() === name) return; await page.keyboard.press('ArrowDown'); }
    throw new Error('no ' + name);
  };
  await test('the keyboard is enough', async () => {
    await find('file_edit');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'side');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'list');
    await page.keyboard.press('c');
    assert.match(await text(page, 'side'), /Make the second line loud/);
    await page.keyboard.press('t');
    assert.match(await text(page, 'side'), /Totals/);
    await page.keyboard.press('/');
    await page.keyboard.type('permission');
    assert.deepEqual((await rows(page)).map(r => r.name), ['shell_exec']);
    await page.keyboard.press('Escape');
    await page.$eval('#find', e => { e.value = ''; e.oninput(); });
    await page.focus('#list');
  });
  await test('results are shown as people read them', async () => {
    await find('file_edit');
    assert.deepEqual(await page.$$eval('#side .add', l => l.map(e => e.textContent.trim())).then(l => l.filter(t => t === '+TWO')), ['+TWO']);
    assert.equal(await page.$$eval('#side .del', l => l.filter(e => e.textContent.trim() === '-two').length), 1);
    await find('shell_exec');
    assert.match(await page.$eval('#side pre.terminal', e => e.innerText), /all good/);
    assert.match(await page.$eval('#side pre.terminal .err', e => e.innerText), /careful/);
    await page.keyboard.press('ArrowDown');
    assert.match(await text(page, 'side'), /deciding rule\s+Bash\(rm:\*\)/);
    await find('file_read');
    await page.keyboard.press('ArrowDown');
    await until(page, () => { const i = document.querySelector('#side img'); return i && i.naturalWidth === 1; });
  });
  await test('filters narrow the list', async () => {
    for (const [id, value, name] of [['kind', 'agent', 'lead'], ['outcome', 'refused', 'shell_exec'], ['who', 'lead', 'lead']]) {
      await page.select('#' + id, value);
      assert.ok((await rows(page)).some(r => r.name === name), id);
      await page.select('#' + id, '');
    }
  });
  await test('it has a dark side', async () => {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'dark' }]);
    const colour = await page.evaluate(() => getComputedStyle(document.body).color.match(/\d+/g).map(Number));
    assert.ok(colour[0] > 200, String(colour));
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  });
  if (screenshot) {
    await page.keyboard.press('t');
    await page.screenshot({ path: screenshot });
  }
  await test('nothing is asked of anybody else, and nothing goes wrong', async () => {
    const origin = new URL(url).origin;
    assert.deepEqual(page.asked.filter(a => !a.startsWith(origin) && !a.startsWith('data:') && !a.endsWith('/favicon.ico')), []);
    assert.deepEqual(page.problems.filter(p => !/favicon/.test(p) && !/403/.test(p)), []);
  });
  await test('the export is whole, without a server', async () => {
    const exported = await (await fetch(url.replace('/?', '/export?'))).text();
    const own = await open('data:text/html;base64,' + Buffer.from(exported).toString('base64'));
    await until(own, () => document.querySelectorAll('.row').length > 10);
    assert.equal(await own.$('.live'), null);
    assert.deepEqual(own.asked.filter(a => !a.startsWith('data:')), []);
    await own.close();
  });
  await test('100,000 calls do not freeze it', async () => {
    const started = Date.now();
    const big = await open('file://' + many);
    await until(big, () => document.getElementById('count').textContent.startsWith('100000 of 100000'));
    const opened = Date.now() - started;
    assert.ok(await big.$$eval('.row', l => l.length) < 100);
    await big.focus('#list');
    const times = await big.evaluate(() => {
      const took = body => { const t = performance.now(); body(); return Math.round(performance.now() - t); };
      const find = document.getElementById('find'), list = document.getElementById('list');
      return {
        filter: took(() => { find.value = 'grep'; find.oninput(); }),
        clear: took(() => { find.value = ''; find.oninput(); }),
        scroll: took(() => { for (let i = 0; i < 50; i++) { list.scrollTop = i * 40000; list.onscroll(); } }) / 50,
        key: took(() => { for (const key of ['End', 'ArrowUp', 'Home', 'PageDown']) list.onkeydown({ key, preventDefault() {} }); }) / 4,
      };
    });
    console.log(`100,000 calls: opened in ${opened} ms; ${JSON.stringify(times)} ms`);
    assert.ok(opened < 20000 && times.filter < 3000 && times.scroll < 100 && times.key < 300, JSON.stringify({ opened, ...times }));
    await big.close();
  });
  console.log(`${passed} passed, 0 failed`);
} finally {
  await browser.close();
}
