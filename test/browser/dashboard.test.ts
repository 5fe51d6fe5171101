/**
 * Goal: every page of the dashboard loads with real traffic, says what its surface holds, has no
 * accessibility violation in either theme, and fits a phone; around them, a token is asked for in
 * place, a node that fails is said beside the last figures, nothing is asked while the tab is
 * hidden, and the app works under a prefix. Method: one Chromium, one tab for most of it, one node
 * without tokens and one with; failures happen within the page.
 */
import { createServer, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { secondsFromNow, secretSigner, signedToken } from '../contract/signed-token.js';
import { freePort } from '../process/ports.js';
import {
  clickOn,
  DIALOG,
  expectAccessible,
  openPage,
  openRow,
  press,
  type Reader,
  reason,
  refusingOnce,
  says,
  startReader,
  TEXT,
  TOASTS,
  typeInto,
} from './dashboard-reader.js';
import { fill, PAGES } from './dashboard-stage.js';

describe.skipIf(reason !== null)('the dashboard', () => {
  let reader: Reader;
  let { browser, client, tab, open, openHastily, origin, read } = {} as Reader;

  beforeAll(async () => {
    reader = await startReader();
    ({ browser, client, tab, open, openHastily, origin, read } = reader);
    await fill(client);
  }, 60_000);

  afterAll(() => reader.close());

  test.each(PAGES.map((page) => [page.name, page] as const))('%s', async (_name, page) => {
    const logged = browser.logged.length;
    await open(page.path);
    await says(tab).toContain(page.shows);
    await expectAccessible(tab);
    expect(await tab.run(`document.title`)).toMatch(/ · svc$/);
    // Names are text.
    expect(await tab.run('document.querySelectorAll("main bdi i").length')).toBe(0);
    expect(browser.logged.slice(logged)).toEqual([]);
  });

  test('a queue is created and deleted, after its name was typed', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.run(press('Create a queue'));
    await says(tab, DIALOG).toContain('Name');
    await tab.run(typeInto('Name', 'made/here'));
    await tab.run(typeInto('Namespace', 'billing'));
    await tab.run(typeInto('Task', 'ingest'));
    await tab.run(typeInto('Lease', '45'));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toBe('none');
    await says(tab).toContain('made/here');
    const path = '/api/v1/resources/queues/made%2Fhere';
    const made = { namespace: 'billing', task: 'ingest', options: { leaseTime: 45 } };
    expect(await read(path)).toMatchObject(made);
    await tab.run(typeInto('Namespace', 'billing'));
    await tab.run(typeInto('Task', 'ingest'));
    await says(tab).not.toContain('orders');
    expect(await tab.run(TEXT)).toContain('made/here');
    await tab.run(press('Create a queue'));
    await tab.run(typeInto('Name', 'made/here'));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('such a queue already');
    await tab.run(press('Cancel'));
    await tab.run(clickOn('[aria-label="Delete made/here"]'));
    await says(tab, DIALOG).toContain('Nothing of it comes');
    const isRefused =
      'document.querySelector("dialog button.danger, dialog .dialog-foot :disabled").disabled';
    await tab.run(typeInto('Type its name', 'made'));
    expect(await tab.run(isRefused)).toBe(true);
    await tab.run(typeInto('Type its name', 'made/here'));
    await tab.run(press('Delete the queue'));
    await says(tab).not.toContain('made/here');
    expect((await client.get(path)).status).toBe(404);
  });

  test('spaces and control characters of a name are seen', async () => {
    await client.post('/api/v1/push', { items: [{ queue: ' a  b\n', payload: 1 }] });
    await open('/queues');
    await says(tab).toContain(' a  b⟨U+000A⟩');
  });

  test('a refusal is said where it was asked for, and nothing typed is lost', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.run(press('Create a queue'));
    await tab.run(typeInto('Name', 'kept'));
    await tab.run(refusingOnce('/configure', 507, { error: 'disk_full' }));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('too full');
    expect(await tab.run('document.querySelector("dialog input").value')).toBe('kept');
  });

  test('figures of a node that fails stay, with the time that they are of', async () => {
    await openHastily('/queues');
    await says(tab).toContain('orders');
    const answers = (body: string, status: number) =>
      `Promise.resolve(new Response(${JSON.stringify(body)}, { status: ${status} }))`;
    for (const [failure, words, badge] of [
      [answers('{"error":"full"}', 503), 'at the moment: full', 'not serving'],
      [answers('', 503), 'cannot serve', 'not serving'],
      [answers('{}', 403), 'not allowed', 'not allowed'],
      [answers('<html>', 200), 'no JSON', 'not readable'],
      [answers('{}', 507), 'too full', 'disk full'],
      ['Promise.reject(new TypeError("down"))', 'not reachable', 'unreachable'],
    ]) {
      await tab.run(`window.real ??= window.fetch; window.fetch = () => ${failure}; 0`);
      await says(tab).toMatch(new RegExp(`as of \\d\\d:\\d\\d:\\d\\d: .*${words}`));
      await says(tab, 'document.querySelector("#health").innerText').toBe(badge);
      expect(await tab.run(TEXT)).toContain('orders');
    }
    await tab.run('window.fetch = window.real; 0');
    await says(tab).not.toContain('as of');
  });

  test('a hundred thousand rows: those seen are drawn, and keys reach the last', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.run(`{
      window.real = window.fetch;
      window.fetch = async (url, options) => {
        const answer = await window.real(url, options);
        if (!String(url).includes('/resources/queues')) return answer;
        const all = await answer.json();
        const small = all.queues.find(({ name }) => name === 'orders');
        const queues = Array.from({ length: 100_000 }, (_, i) =>
          ({ ...small, name: 'queue-' + i }));
        queues.at(-1).name = 'the last one';
        return new Response(JSON.stringify({ ...all, queues, nextAfter: null }));
      };
    }`);
    await says(tab).toContain('100,000 queues');
    const drawn = 'document.querySelectorAll("main tbody tr").length';
    expect(await tab.run(drawn)).toBeLessThan(80);
    await tab.run('document.querySelector(".table-box").focus()');
    await tab.press('End');
    await says(tab, 'document.activeElement.innerText').toContain('the last one');
    await tab.press('ArrowUp');
    await says(tab, 'document.activeElement.innerText').toContain('queue-99998');
    expect(await tab.run(drawn)).toBeLessThan(80);
    await tab.press('Enter');
    expect(await tab.run('location.pathname')).toBe('/queues/queue-99998');
    await tab.run('window.fetch = window.real; 0');
  });

  test('settings are saved for everybody, and no save is lost to another', async () => {
    await open('/settings');
    await says(tab).toContain('Span of time');
    await tab.run(typeInto('Seconds after which', 'soon'));
    await says(tab).toContain('A whole number');
    await tab.run(typeInto('Seconds after which', '60'));
    await tab.run(press('Save for everybody'));
    await says(tab, 'document.querySelector(".toasts").innerText').toContain('Saved');
    const { text } = await client.get('/api/v1/kv/svc-dashboard/settings');
    expect(JSON.parse(text).value).toMatchObject({ range: '1h', waitSeconds: 60 });
    const theirs = Buffer.from('{"value":{"waitSeconds":90},"forever":true}');
    await client.send('PUT', '/api/v1/kv/svc-dashboard/settings', theirs);
    await tab.run(typeInto('Seconds after which', '30'));
    await tab.run(press('Save for everybody'));
    await says(tab).toContain('somebody else has saved');
    expect(await tab.run('document.querySelector(".settings input").value')).toBe('30');
    await open('/settings');
    await says(tab, 'document.querySelector(".settings input").value').toBe('90');
  });

  test('workload leads from a label to its queues, and to the page of one', async () => {
    await open('/analytics?range=6h');
    await says(tab, 'location.pathname + location.search').toBe('/workload?range=6h');
    await says(tab).toContain('shop');
    await tab.run(openRow('shop'));
    await says(tab).toContain('shop.billing');
    expect(await tab.run(TEXT)).not.toContain('orders');
    await tab.run(openRow('shop.billing'));
    await says(tab, 'location.pathname').toBe('/queues/shop.billing');
  });

  test('numbers are shown as they are stored, in a tree', async () => {
    await open('/kv?namespace=settings');
    await says(tab).toContain('"one":1.0');
    await tab.run(openRow('exact'));
    await says(tab, DIALOG).toMatch(/"one": 1\.0/);
    expect(await tab.run(DIALOG)).toContain('"big": 12345678901234567890');
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

  test('a part of the queues is not taken for all of them', async () => {
    await open('/dlq?queue=none');
    await says(tab).toContain('No dead letter of this queue');
    await tab.run(`window.real = window.fetch; window.fetch = async (url, options) => {
      const answer = await window.real(url, options);
      if (!String(url).includes('/resources/queues')) return answer;
      return new Response(JSON.stringify({ ...await answer.json(), nextAfter: 'x' }));
    }`);
    await tab.press('k', 2);
    await says(tab, DIALOG).toContain('the newest 1,000');
    await tab.type('an.older.queue');
    await says(tab, DIALOG).toContain('an.older.queue queue of this name');
    await tab.press('Escape');
    await tab.run(openPage('Overview'));
    await says(tab).toContain('of the newest 1,000 queues');
    await tab.run('window.fetch = window.real; 0');
  });

  test('what was typed is not dropped by one key; a question with nothing in it is', async () => {
    await open('/queues');
    await tab.run(press('Create a queue'));
    await says(tab, DIALOG).toContain('Name');
    await tab.press('Escape');
    await says(tab, DIALOG).toBe('none');
    await tab.run(press('Create a queue'));
    await says(tab, 'document.activeElement.tagName').toBe('INPUT');
    await tab.type('half done');
    for (const back of ['Escape', 'Enter']) {
      await tab.press('Escape');
      await says(tab, DIALOG).toContain('lose what was typed?');
      if (back === 'Enter') await tab.run(press('Keep on'));
      else await tab.press(back);
      await says(tab, DIALOG).not.toContain('lose what was typed?');
      expect(await tab.run('document.activeElement.value')).toBe('half done');
    }
    await tab.press('Escape');
    await expectAccessible(tab);
    await tab.run(press('Lose it'));
    await says(tab, DIALOG).toBe('none');
  });

  test('a table wider than a phone says so, and keys move it', async () => {
    await open('/messages?queue=shop.billing');
    await says(tab, 'document.querySelector("tbody")?.innerText').toContain('dead letter');
    const box = 'document.querySelector(".table-box")';
    const sides = `['left', 'right'].filter((side) => ${box}.hasAttribute('data-more-' + side))`;
    expect(await tab.run(sides)).toEqual([]);
    await tab.look(360, 740, 'light');
    await says(tab, sides).toBe('right');
    await tab.run(`${box}.focus()`);
    await expect
      .poll(async () => {
        await tab.press('ArrowRight');
        return tab.run(sides);
      })
      .toEqual(['left']);
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

  test('under a prefix: the page at any depth, its links and its calls', async () => {
    const server = createServer((incoming, outgoing) => {
      const { url = '', method, headers } = incoming;
      const path = url.startsWith('/broker/') ? url.slice('/broker'.length) : '/api/outside';
      const onward = request(origin + path, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      incoming.pipe(onward);
    });
    const port = await freePort();
    await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
    try {
      const logged = browser.logged.length;
      for (const path of ['/broker/', '/broker/queues', '/broker/nothing/of/this/depth']) {
        await tab.go(`http://127.0.0.1:${port}${path}`);
        await says(tab, 'document.querySelector("#health").innerText').toBe('healthy');
      }
      await tab.run(openPage('Queues'));
      await says(tab).toContain('shop.mail');
      expect(await tab.run('location.pathname')).toBe('/broker/queues');
      expect(browser.logged.slice(logged)).toEqual([]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });
});

describe.skipIf(reason !== null)('with tokens', () => {
  const SECRET = 'a secret of thirty-two bytes, or more';
  const token = (role: string) =>
    signedToken(secretSigner(SECRET), { exp: secondsFromNow(600), sub: 'ada', role });

  let reader: Reader;
  let { tab, open } = {} as Reader;

  beforeAll(async () => {
    reader = await startReader({ JWT_ENABLED: 'true', JWT_SECRET: SECRET });
    ({ tab, open } = reader);
  }, 60_000);

  afterAll(() => reader.close());

  const enter = async (role: string) => {
    const asked = '[...document.querySelectorAll("dialog")].at(-1)?.innerText';
    await says(tab, asked).toContain('Bearer token');
    await tab.run(typeInto('Bearer token', `Bearer ${token(role)}`));
    await tab.run(press('Use'));
  };

  test('a reload keeps the page, and asks for a token in place', async () => {
    await open('/queues?q=k');
    await says(tab, DIALOG).toContain('Bearer token');
    await tab.run(typeInto('Bearer token', 'no “token”'));
    await says(tab, DIALOG).toContain('a character that it cannot have');
    await tab.run(typeInto('Bearer token', 'nonsense'));
    await tab.run(press('Use'));
    await says(tab, DIALOG).toContain('Not accepted: a valid token is needed');
    expect(await tab.run('getSelection().toString()')).not.toBe('');
    await enter('admin');
    await says(tab).toContain('No queue yet');
    expect(await tab.run('location.pathname + location.search')).toBe('/queues?q=k');
    expect(await tab.run('document.querySelector("dialog")')).toBeNull();
  });

  test('a token that ends is asked for again; what was typed stays and is sent', async () => {
    await tab.run(press('Create a queue'));
    await says(tab, DIALOG).toContain('Name');
    await tab.run(typeInto('Name', 'kept'));
    await tab.run(refusingOnce('/configure', 401, { error: 'Token expired' }));
    await tab.run(press('Create'));
    await enter('admin');
    await says(tab).toContain('kept');
    await says(tab, TOASTS).toContain('Created');
  });

  test('a role that only reads sees no dead buttons', async () => {
    await tab.run(clickOn('.top .wide-only'));
    await enter('read-only');
    await says(tab).not.toContain('Create a queue');
    expect(await tab.run(TEXT)).toContain('kept');
    expect(await tab.run(TEXT)).not.toContain('Delete');
    expect(await tab.run('document.querySelector(".gauges")')).toBeNull();
    expect(await tab.run('document.querySelector("#health").innerText')).toBe('healthy');
  });

  test('one that does not read is told so, and can give another token', async () => {
    await tab.run(clickOn('.top .wide-only'));
    await enter('write-only');
    await says(tab).toContain('does not read');
    await tab.look(360, 740, 'light');
    await tab.run(clickOn('[aria-label="Navigation"]'));
    await tab.run(press('Token and tenant'));
    await says(tab, DIALOG).toContain('Bearer token');
    await tab.press('Escape');
    await tab.run(press('Enter a token'));
    await enter('admin');
    await says(tab).toContain('kept');
  });
});
