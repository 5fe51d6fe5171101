/**
 * Goal: every page of the dashboard loads with real traffic, says what its surface holds, has no
 * accessibility violation in either theme, and fits a phone; around them, a token is asked for in
 * place, a node that fails is said beside the last figures, nothing is asked while the tab is
 * hidden, and the app works under a prefix. Method: one Chromium, one tab for most of it, one node
 * without tokens and one with; failures happen within the page.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HttpClient } from '../process/http-client.js';
import {
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';
import { fill, PAGES } from './dashboard-stage.js';

const reason = chromiumMissing();
if (reason !== null) console.log(reason);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Of each violation its rule and where it is. */
const VIOLATIONS = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) =>
  id + ': ' + nodes.slice(0, 3).map(({ target }) => target.join(' ')).join(', ')))`;
const WIDER = 'document.documentElement.scrollWidth - innerWidth';
const TEXT = 'document.querySelector("main").innerText';

const says = (page: Page, expression = TEXT) =>
  expect.poll(() => page.run(expression).then(String), { timeout: 10_000 });

/** Sets what a person would type, and tells the page. */
const typeInto = (selector: string, text: string) => `{
  const field = document.querySelector(${JSON.stringify(selector)});
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event('input', { bubbles: true }));
}`;
const press = (label: string) => `[...document.querySelectorAll('button')]
  .findLast((button) => button.innerText.trim() === ${JSON.stringify(label)}).click()`;

describe.skipIf(reason !== null)('the dashboard', () => {
  let browser: Chromium;
  let directory: TemporaryDirectory;
  let node: NodeUnderTest;
  let client: HttpClient;
  let tab: Page;
  let origin: string;

  beforeAll(async () => {
    browser = new Chromium();
    directory = temporaryDirectory();
    node = await startNode({ directory: directory.path, port: await freePort() });
    client = new HttpClient(node.port);
    origin = `http://127.0.0.1:${node.port}`;
    await fill(client);
    tab = await browser.open('about:blank');
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    client.close();
    await node.kill();
    directory.remove();
  });

  const open = async (path: string) => {
    await tab.look(1280, 800, 'light');
    await tab.go(origin + path);
  };

  test.each(PAGES.map((page) => [page.name, page] as const))('%s', async (_name, page) => {
    const logged = browser.logged.length;
    await open(page.path);
    await says(tab).toContain(page.shows);
    await tab.run(`${AXE};0`);
    expect(await tab.run(VIOLATIONS)).toEqual([]);
    await tab.look(360, 740, 'dark');
    expect(await tab.run(VIOLATIONS)).toEqual([]);
    expect(await tab.run(WIDER)).toBeLessThanOrEqual(0);
    expect(await tab.run(`document.title`)).toMatch(/ · svc$/);
    // Names are text.
    expect(await tab.run('document.querySelectorAll("main bdi i").length')).toBe(0);
    expect(browser.logged.slice(logged)).toEqual([]);
  });

  test('a queue is created and deleted, after its name was typed', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.run(press('Create a queue'));
    await says(tab, 'document.querySelector("dialog").innerText').toContain('Name');
    await tab.run(typeInto('dialog input', 'made/here'));
    await tab.run(press('Create'));
    await says(tab).toContain('made/here');
    const path = '/api/v1/resources/queues/made%2Fhere';
    expect((await client.get(path)).status).toBe(200);
    await tab.run(`document.querySelector('[aria-label="Delete made/here"]').click()`);
    await says(tab, 'document.querySelector("dialog").innerText').toContain('Nothing of it comes');
    const isRefused =
      'document.querySelector("dialog button.danger, dialog .dialog-foot :disabled").disabled';
    await tab.run(typeInto('dialog input', 'made'));
    expect(await tab.run(isRefused)).toBe(true);
    await tab.run(typeInto('dialog input', 'made/here'));
    await tab.run(press('Delete the queue'));
    await says(tab).not.toContain('made/here');
    expect((await client.get(path)).status).toBe(404);
  });

  test('a refusal is said where it was asked for, and nothing typed is lost', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.run(press('Create a queue'));
    await tab.run(typeInto('dialog input', 'kept'));
    await tab.run(`{
      const real = window.fetch;
      window.fetch = (url, options) => {
        if (!String(url).endsWith('/configure')) return real(url, options);
        window.fetch = real;
        return Promise.resolve(new Response('{"error":"disk_full"}', { status: 507 }));
      };
    }`);
    await tab.run(press('Create'));
    await says(tab, 'document.querySelector("dialog").innerText').toContain('too full');
    expect(await tab.run('document.querySelector("dialog input").value')).toBe('kept');
  });

  test('figures of a node that fails stay, with the time that they are of', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    for (const [failure, words] of [
      ['Promise.resolve(new Response("", { status: 503 }))', 'cannot serve'],
      ['Promise.resolve(new Response("{}", { status: 403 }))', 'not allowed'],
      ['Promise.resolve(new Response("<html>", { status: 200 }))', 'no JSON'],
      ['Promise.reject(new TypeError("down"))', 'not reachable'],
    ]) {
      await tab.run(`window.real ??= window.fetch; window.fetch = () => ${failure}; 0`);
      await says(tab).toMatch(new RegExp(`as of \\d\\d:\\d\\d:\\d\\d: .*${words}`));
      expect(await tab.run(TEXT)).toContain('orders');
    }
    await tab.run('window.fetch = window.real; 0');
    await says(tab).not.toContain('as of');
  });

  test('numbers are shown as they are stored, in a tree', async () => {
    await open('/kv?namespace=settings');
    await says(tab).toContain('"one":1.0');
    await tab.run(`[...document.querySelectorAll('tr')].find((row) =>
      row.innerText.startsWith('exact')).click()`);
    await says(tab, 'document.querySelector("dialog").innerText').toMatch(/"one": 1\.0/);
    expect(await tab.run('document.querySelector("dialog").innerText')).toContain(
      '"big": 12345678901234567890',
    );
  });

  test('by keys: the palette goes anywhere, a slash to the search, Escape back', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.press('/');
    expect(await tab.run('document.activeElement.placeholder')).toBe('Name holds');
    await tab.press('k', 2);
    await says(tab, 'document.activeElement.getAttribute("role")').toBe('combobox');
    await tab.type('timers');
    await tab.press('Enter');
    await says(tab).toContain('remind-1');
    expect(await tab.run('location.pathname')).toBe('/timers');
    await says(tab, 'document.activeElement.tagName').toBe('H1');
    expect(await tab.run('document.querySelector("dialog")')).toBeNull();
    const isShown = 'getComputedStyle(document.querySelector(".sidebar")).display !== "none"';
    await tab.press('\\', 2);
    expect(await tab.run(isShown)).toBe(false);
    await tab.press('\\', 2);
    expect(await tab.run(isShown)).toBe(true);
    await tab.run('history.back()');
    await says(tab).toContain('shop.mail');
  });

  test('nothing is asked while the tab is hidden', async () => {
    await open('/');
    await says(tab).toContain('orders');
    const asked = `performance.getEntriesByType('resource').length`;
    await tab.run(`Object.defineProperty(document, 'visibilityState',
      { configurable: true, get: () => 'hidden' }); document.dispatchEvent(new Event('x')); 0`);
    // What is under way may end, and each poll notices at its next turn.
    await tab.run('new Promise((done) => setTimeout(done, 1500))');
    const before = Number(await tab.run(asked));
    await tab.run('new Promise((done) => setTimeout(done, 3500))');
    expect(await tab.run(asked)).toBe(before);
    await tab.run(`delete document.visibilityState;
      document.dispatchEvent(new Event('visibilitychange')); 0`);
    await expect.poll(() => tab.run(asked)).toBeGreaterThan(before);
  });
});
