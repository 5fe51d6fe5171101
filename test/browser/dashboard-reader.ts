/**
 * A person in front of the dashboard, for tests in a real browser: one Chromium with one tab, one
 * node, what is seen and what is done. Expressions are run in the page: `tab.run(press('Create'))`.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import { HttpClient } from '../process/http-client.js';
import { startNode, temporaryDirectory } from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';

/** Why these tests are left out; null: they run. */
export const reason = chromiumMissing();
if (reason !== null) console.log(reason);

export const TEXT = 'document.querySelector("main").innerText';
/** The dialog in front. */
export const DIALOG = '[...document.querySelectorAll("dialog")].at(-1)?.innerText ?? "none"';
export const TOASTS = 'document.querySelector(".toasts").innerText';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The rule of each violation, and where it is. */
const VIOLATIONS = `axe.run().then(({ violations }) => violations.map(({ id, nodes }) =>
  id + ': ' + nodes.slice(0, 3).map(({ target }) => target.join(' ')).join(', ')))`;
/** Pixels that the page is too wide by. */
export const WIDER = 'document.documentElement.scrollWidth - innerWidth';

const inPage = JSON.stringify;

export const says = (page: Page, expression = TEXT): ReturnType<typeof expect.poll> =>
  expect.poll(() => page.run(expression).then(String), { timeout: 10_000 });

/** Finds the field with this label, in the dialog in front where there is one. */
const fieldOf = (label: string) => `(() => {
  const within = [...document.querySelectorAll('dialog')].at(-1) ?? document;
  const named = [...within.querySelectorAll('label')]
    .find((one) => one.innerText.trim().startsWith(${inPage(label)}));
  return named ? document.getElementById(named.htmlFor)
    : within.querySelector('[aria-label=${inPage(label)}]');
})()`;

/** Does this to the element once it is there and may be used, as a person would wait for it. */
const onceThere = (element: string, act: string) => `new Promise((done, fail) => {
  const until = performance.now() + 10_000;
  const look = () => {
    const element = ${element};
    if (element && !element.disabled) {
      ${act};
      done();
    } else if (performance.now() < until) setTimeout(look, 20);
    else fail(new Error('not there: ' + ${inPage(element)}));
  };
  look();
})`;

/** Sets what a person would type or choose, and tells the page. */
export const typeInto = (label: string, text: string) =>
  onceThere(
    fieldOf(label),
    `element.value = ${inPage(text)};
      element.dispatchEvent(new Event('input', { bubbles: true }))`,
  );
export const typedIn = (label: string) => `${fieldOf(label)}.value`;

const click = (element: string) => onceThere(element, 'element.click()');
/** The first that this CSS selector finds. */
export const clickOn = (selector: string) => click(`document.querySelector(${inPage(selector)})`);

/** The last one on the page: that of the dialog in front. */
export const press = (label: string) =>
  click(`[...document.querySelectorAll('button')]
    .findLast((button) => button.innerText.trim() === ${inPage(label)})`);

export const openRow = (text: string) =>
  click(`[...document.querySelectorAll('tbody tr')]
    .find((row) => row.innerText.includes(${inPage(text)}))`);

/** The page of this title, from the navigation. */
export const openPage = (title: string) =>
  click(`[...document.querySelectorAll('nav a')]
    .find(({ innerText }) => innerText === ${inPage(title)})`);

/** The next call of this path is answered so, without a node. */
export const refusingOnce = (path: string, status: number, body: object) => `{
  const real = window.fetch;
  window.fetch = (url, options) => {
    if (!String(url).endsWith(${inPage(path)})) return real(url, options);
    window.fetch = real;
    return Promise.resolve(new Response('${inPage(body)}', { status: ${status} }));
  };
}`;

/** No violation in either theme, and it fits a phone; the window stays so. */
export async function expectAccessible(tab: Page): Promise<void> {
  await tab.run(`${AXE};0`);
  expect(await tab.run(VIOLATIONS)).toEqual([]);
  await tab.look(360, 740, 'dark');
  expect(await tab.run(VIOLATIONS)).toEqual([]);
  expect(await tab.run(WIDER)).toBeLessThanOrEqual(0);
}

/** Timers of a page that is opened hastily run so much faster. */
const HASTE = 50;
const HASTY = `{
  const timeout = window.setTimeout;
  window.setTimeout = (work, ms, ...rest) => timeout(work, ms / ${HASTE}, ...rest);
}`;

export async function startReader(environment: Readonly<Record<string, string>> = {}) {
  const browser = new Chromium();
  const directory = temporaryDirectory();
  const settings = { directory: directory.path, port: await freePort() };
  let node = await startNode({ ...settings, environment });
  const client = new HttpClient(node.port);
  const origin = `http://127.0.0.1:${node.port}`;
  const tab = await browser.open('about:blank');
  const open = async (path: string) => {
    await tab.look(1280, 800, 'light');
    await tab.go(origin + path);
  };
  return {
    browser,
    client,
    origin,
    tab,
    open,
    openHastily: async (path: string) => {
      const end = await tab.before(HASTY);
      await open(path);
      await end();
    },
    read: async (path: string) => JSON.parse((await client.get(path)).text),
    /** The same node after a crash, with another environment. */
    restart: async (changed: Readonly<Record<string, string>>) => {
      await node.kill();
      node = await startNode({ ...settings, environment: { ...environment, ...changed } });
    },
    expectUsable: async () => {
      await expectAccessible(tab);
      await tab.look(1280, 800, 'light');
    },
    close: async () => {
      await browser.close();
      client.close();
      await node.kill();
      directory.remove();
    },
  };
}

export type Reader = Awaited<ReturnType<typeof startReader>>;
