/**
 * Goal: the page shows the link on both of its sides, names as text, and promotes the standby after
 * its name was typed; an error takes nothing of what was typed. Method: Chromium, where it is
 * installed, a source of one node and a standby of one node; the network fails within the page.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withPair } from '../cluster/cluster-pair.js';
import { Chromium, chromiumMissing, type Page } from './chromium.js';

const reason = chromiumMissing();
if (reason !== null) console.log(reason);

/** 200 characters, the most: markup, then text from right to left, of 2 bytes each. */
const NAME = `<i>east</i> ${'\u05d0'.repeat(188)}`;
const NOT_CONFIRMED = /^Not confirmed: .*: not now\. Asking again does no harm\.$/;

const textOf = (page: Page, selector = '[aria-label="Standby link"]') =>
  page.run(`document.querySelector('${selector}').innerText`).catch(() => '');

/** What a person does who types the name and presses the button. */
const typeAndPress = (name: string) => `{
  const typed = document.querySelector('dialog input');
  typed.value = ${JSON.stringify(name)};
  typed.dispatchEvent(new Event('input', { bubbles: true }));
  setTimeout(() => document.querySelector('dialog [type=submit]').click(), 100);
}`;
const PROMOTE = `[...document.querySelectorAll('button')].find(({ innerText }) =>
  innerText === 'Promote this standby').click()`;

const FAILING_ONCE = `{
  const real = window.fetch;
  window.fetch = (path, options) => {
    if (!String(path).endsWith('/promote')) return real(path, options);
    window.fetch = real;
    return Promise.resolve(new Response('{"error":"not now"}', { status: 503 }));
  };
}`;

const WIDER = 'document.documentElement.scrollWidth > innerWidth';

describe.skipIf(reason !== null)('the standby link in a browser', () => {
  let browser: Chromium;
  beforeAll(() => {
    browser = new Chromium();
  });
  afterAll(() => browser.close());

  test('shown on both sides, and promoted', async () => {
    const environment = { SVC_LINK_NAME: NAME };
    await withPair({ source: 1, standby: 1, environment }, async (pair) => {
      await pair.startAll();
      await pair.followed();
      const [source, standby] = [pair.source.node(1), pair.standby.node(1)];
      const at = (port: number) => browser.open(`http://127.0.0.1:${port}/system`);
      const page = await at(source.settings.httpPort);
      await expect.poll(() => textOf(page), { timeout: 10_000 }).toContain(NAME);
      expect(await textOf(page)).toMatch(/This node keeps its log for a standby/);
      expect(await textOf(page)).not.toContain('Promote');

      const other = await at(standby.settings.httpPort);
      await expect
        .poll(() => textOf(other), { timeout: 10_000 })
        .toMatch(/following\s[\s\S]* ms ago/);
      expect(await textOf(other)).toContain(NAME);
      await other.run(PROMOTE);
      await expect.poll(() => textOf(other, 'dialog')).toContain('Nothing tells the source');
      for (const one of [page, other]) {
        expect(await one.run(`document.querySelectorAll('main i, dialog i').length`)).toBe(0);
        expect(await one.run(WIDER)).toBe(false);
      }

      await other.run(typeAndPress('another'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect((await standby.link())?.role).toBe('standby');
      await other.run(FAILING_ONCE);
      await other.run(typeAndPress(NAME));
      await expect.poll(() => textOf(other, 'dialog .refusal')).toMatch(NOT_CONFIRMED);
      expect(await other.run(`document.querySelector('dialog input').value`)).toBe(NAME);
      expect((await pair.link())?.role).toBe('standby');

      await other.run(`document.querySelector('dialog [type=submit]').click()`);
      await expect.poll(() => textOf(other, '.toasts')).toMatch(/^Promoted/);
      await expect.poll(() => textOf(other)).toMatch(/Role\s+promoted/);
      expect((await standby.link())?.role).toBe('promoted');
      const items = [{ queue: 'q', payload: 1 }];
      expect((await standby.client.post('/api/v1/push', { items })).status).toBe(201);
      expect(browser.logged).toEqual([]);
    });
  });
});
