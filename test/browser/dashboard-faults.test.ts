/**
 * Goal: whatever answers a call, and however, the page says so in place, keeps what it had and
 * what was typed, and asks again; it never fails as a whole. Method: one Chromium, one tab, one
 * node with an encryption key, which it loses at last; other answers are given within the page,
 * whose clock runs faster where one has to wait.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  clickOn,
  DIALOG,
  openRow,
  press,
  type Reader,
  reason,
  says,
  startReader,
  TEXT,
  typedIn,
  typeInto,
} from './dashboard-reader.js';
import { fill, PAGES } from './dashboard-stage.js';

const inPage = JSON.stringify;

/** Nothing is an answer too, where a list or a map is asked for. */
const SAID = /Not shown: |reads no queue|No (group|stream) /;

/** Answers of a proxy, another program or a broken node with status 200. */
const NO_ANSWERS = ['{}', 'null', '[]', '"text"', '{"queues":[{"name":'];

/** Calls that `isAnswered` chooses are answered with this text. */
const ANSWERING = `
  window.real ??= window.fetch;
  window.asked = new Set();
  window.answering = (text, isAnswered) => {
    window.asked.clear();
    window.fetch = (url, options) => {
      const { pathname } = new URL(url);
      window.asked.add(pathname);
      return isAnswered(pathname)
        ? Promise.resolve(new Response(text, { status: 200 })) : window.real(url, options);
    };
  };`;

/** The text of a page that is drawn anew, once it asks for nothing more. */
const VISIT = `
  window.go = (path) => {
    history.pushState(null, '', path);
    dispatchEvent(new PopStateEvent('popstate'));
    return new Promise((done) => setTimeout(done, 5));
  };
  window.visit = async (path) => {
    const text = () => document.querySelector('main').innerText;
    await go('/nothing');
    await go(path);
    for (let turn = 0; turn < 2 || (turn < 400 && /Asking for/.test(text())); turn++) {
      await new Promise((done) => setTimeout(done, 5));
    }
    return text();
  };`;

/** Without a reload. */
const openPageOf = (path: string) => `history.pushState(null, '', ${inPage(path)});
  dispatchEvent(new PopStateEvent('popstate')); 0`;

describe.skipIf(reason !== null)('faults', () => {
  let reader: Reader;
  let { client, tab, open, openHastily } = {} as Reader;

  beforeAll(async () => {
    reader = await startReader({ SVC_ENCRYPTION_KEY: 'a'.repeat(64) });
    ({ client, tab, open, openHastily } = reader);
    await fill(client);
  }, 60_000);

  afterAll(() => reader.close());

  /** Without a reload: pages by their address, each with the text that it shows. */
  const visitAll = (paths = PAGES.map(({ path }) => path), before = '') =>
    tab.run(`{${VISIT}}
      (async () => {
        const shown = [];
        for (const path of ${inPage(paths)}) {
          ${before}
          shown.push([path, await visit(path)]);
        }
        return shown;
      })()`) as Promise<[string, string][]>;

  test('an answer that is none is said in place by every page', async () => {
    for (const text of NO_ANSWERS) {
      const end = await tab.before(`{${ANSWERING}}
        answering(${inPage(text)}, (path) => path !== '/auth/me');`);
      await open('/nothing');
      await end();
      await says(tab).toContain('No page has this address');
      const unsaid = (await visitAll()).filter(
        ([path, shown]) =>
          path !== '/nothing/here' &&
          (!SAID.test(shown) || /This page failed|Asking for/.test(shown)),
      );
      expect(unsaid).toEqual([]);
    }
  });

  test('and so is each one that is none among others', async () => {
    await open('/nothing');
    await tab.run(`{${ANSWERING}}; 0`);
    const shown = await visitAll(
      undefined,
      `
      answering('', () => false);
      await visit(path);
      for (const call of [...window.asked]) {
        answering('{}', (path) => path === call);
        shown.push([path + ' without ' + call, await visit(path)]);
      }
      answering('', () => false);`,
    );
    expect(shown.length).toBeGreaterThan(2 * PAGES.length);
    expect(shown.filter(([, text]) => /This page failed|Asking for/.test(text))).toEqual([]);
    const whole = shown.filter(([path]) => !path.includes(' without '));
    expect(whole.filter(([, text]) => text.includes('Not shown'))).toEqual([]);
  });

  test('values that no node gives are drawn', async () => {
    await open('/nothing');
    await tab.run(`{
      window.real = window.fetch;
      const texts = ['', '\\u202e<b>"x'.repeat(50), 'nonsense'];
      const numbers = [-1, 1e308, 0];
      const changed = (value, kind) => {
        if (typeof value === 'string') return texts[kind];
        if (typeof value === 'number') return numbers[kind];
        if (typeof value === 'boolean') return kind === 1 ? !value : value;
        if (Array.isArray(value)) return value.map((one) => changed(one, kind));
        return value && Object.fromEntries(
          Object.entries(value).map(([name, one]) => [name, changed(one, kind)]));
      };
      window.fetch = async (url, options) => {
        const answer = await window.real(url, options);
        if (String(url).endsWith('/auth/me')) return answer;
        const { status } = answer;
        return new Response(JSON.stringify(changed(await answer.json(), window.kind)), { status });
      };
    }`);
    for (const kind of [0, 1, 2]) {
      await tab.run(`window.kind = ${kind}; 0`);
      const shown = await visitAll();
      const unsaid = /This page failed|cannot be drawn|Asking for|not as a node/;
      expect(shown.filter(([, text]) => unsaid.test(text))).toEqual([]);
      expect(await tab.run('document.querySelectorAll("main bdi b").length')).toBe(0);
    }
  });

  test('an address that says nonsense leads to a page', async () => {
    await open('/nothing');
    const names =
      'queue partition status group range from to offset pid txn letter key namespace prefix ' +
      'expired timer name by view age q partitions';
    const values = ['%00', '-1', '%3Cb%3E%E2%80%AE', '0001-01-01T00:00:00Z'];
    const paths = [...new Set(PAGES.map(({ path }) => path.replace(/\?.*/, '')))];
    const addresses = paths.map((path, at) => {
      const value = values[at % values.length];
      return `${path}?${names.replace(/(\w+) ?/g, `$1=${value}&`)}`;
    });
    const spans = ['/', '/workload', '/queues/orders'].map(
      (path) => `${path}?from=0001-01-01&to=9999-12-31`,
    );
    for (const [path, text] of await visitAll([...addresses, ...spans, '/queues/%ff'])) {
      expect(text, path).not.toMatch(/This page failed|cannot be drawn|Asking for/);
      expect(text.trim(), path).not.toBe('');
    }
  });

  test('a browser that keeps nothing, and a first request that fails, are no end', async () => {
    const end = await tab.before(`{
      for (const area of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(window, area, {
          get() { throw new DOMException('denied', 'SecurityError'); },
        });
      }
      const real = window.fetch;
      window.fetch = (url, options) => {
        if (!String(url).endsWith('/auth/me')) return real(url, options);
        window.fetch = real;
        return Promise.resolve(new Response('', { status: 502 }));
      };
    }`);
    await open('/queues');
    await end();
    await says(tab).toContain('orders');
    // Safari, to somebody who types fast.
    await tab.run(
      `history.replaceState = () => { throw new DOMException('', 'SecurityError') }; 0`,
    );
    await tab.run(typeInto('Name holds', 'mail'));
    await says(tab).not.toContain('orders');
    expect(await tab.run(typedIn('Name holds'))).toBe('mail');
  });

  test('too many requests: an action says when, and what was typed stays', async () => {
    await open('/queues');
    await says(tab).toContain('orders');
    await tab.run(`{
      window.real = window.fetch;
      window.times = [];
      window.fetch = (url, options) => {
        if (!String(url).endsWith('/configure')) return window.real(url, options);
        window.times.push(performance.now());
        return Promise.resolve(new Response('{"error":"rate_limited"}',
          { status: 429, headers: { 'retry-after': '20' } }));
      };
    }`);
    await tab.run(press('Create a queue'));
    await tab.run(typeInto('Name', 'patient'));
    await tab.run(press('Create'));
    await says(tab, DIALOG).toContain('too many requests: rate_limited; again in 20 s');
    expect(await tab.run(typedIn('Name'))).toBe('patient');
    expect(await tab.run('window.times.length')).toBe(1);
    await tab.run('window.fetch = window.real; 0');
    await tab.run(press('Create'));
    await says(tab, DIALOG).toBe('none');
    await says(tab).toContain('patient');
  });

  test('what never ends is given up, said, and asked for again; actions have a way', async () => {
    await openHastily('/queues');
    await says(tab).toContain('orders');
    await tab.run(`{
      window.real = window.fetch;
      window.fetch = () => Promise.resolve(new Response('{"error":"rate_limited"}',
        { status: 429, headers: { 'retry-after': '20' } }));
    }`);
    await says(tab).toMatch(/as of .*: too many requests: rate_limited; again in 20 s/);
    expect(await tab.run(TEXT)).toContain('orders');
    await tab.run(`{
      window.open = 0;
      window.most = 0;
      window.sent = 0;
      // Headers and then a byte now and then, until it is given up.
      window.trickling = (signal) => {
        window.sent++;
        window.most = Math.max(window.most, ++window.open);
        let timer;
        const body = new ReadableStream({
          start(stream) {
            timer = setInterval(() => stream.enqueue(new Uint8Array([32])), 50);
            signal.addEventListener('abort', () => {
              clearInterval(timer);
              window.open--;
              stream.error(signal.reason);
            });
          },
        });
        return Promise.resolve(new Response(body, { status: 200 }));
      };
      window.hung = /list$/;
      window.fetch = (url, options) => options.method === 'GET' || window.hung.test(String(url))
        ? window.trickling(options.signal) : window.real(url, options);
    }`);
    await says(tab).toMatch(/as of .*: the node does not answer/);
    expect(await tab.run(TEXT)).toContain('orders');
    await says(tab, 'document.querySelector("#health").innerText').toBe('not answering');
    await tab.run(openPageOf('/'));
    await says(tab).toMatch(/Not shown: the node does not answer/);
    const sent = Number(await tab.run('window.sent'));
    await expect.poll(() => tab.run('window.sent')).toBeGreaterThan(sent + 4);
    expect(await tab.run('window.most')).toBe(4);
    await tab.run(openPageOf('/messages'));
    await tab.run(press('Push a message'));
    await tab.run(typeInto('Queue', 'pushed while others wait'));
    await tab.run('window.hung = /list$|push$/; 0');
    await tab.run(press('Push'));
    await says(tab, DIALOG).toContain('does not answer; what was asked for may have been done');
    expect(await tab.run(typedIn('Queue'))).toBe('pushed while others wait');
    await tab.run('window.hung = /list$/; 0');
    await tab.run(press('Push'));
    await says(tab, DIALOG).toBe('none');
    await tab.run('window.fetch = window.real; 0');
    await tab.run(openPageOf('/queues'));
    await says(tab).toContain('pushed while others wait');
    await says(tab, 'document.querySelector("#health").innerText').toBe('healthy');
  });

  test('an answer without an end costs no memory without one', async () => {
    await openHastily('/queues');
    await says(tab).toContain('orders');
    await tab.run(`{
      window.real = window.fetch;
      window.given = 0;
      const piece = new Uint8Array(1 << 22).fill(32);
      const body = () => {
        let given = 0;
        return new ReadableStream({
          pull(stream) { window.given = Math.max(window.given, ++given); stream.enqueue(piece); },
        });
      };
      window.fetch = (url, options) => /resources.queues/.test(String(url))
        ? Promise.resolve(new Response(body())) : window.real(url, options);
    }`);
    await says(tab).toMatch(/as of .*: the answer is longer than 128 MiB/);
    expect(await tab.run('window.given')).toBeLessThan(40);
    await tab.run('window.fetch = window.real; 0');
    await says(tab).not.toContain('as of');
  });

  /** Page, and what opens the dialog: the text of a button, or of a row. */
  const DIALOGS: readonly (readonly [string, string, 'field' | 'button'])[] = [
    ['/queues', press('Create a queue'), 'field'],
    ['/queues', clickOn('[aria-label="Delete orders"]'), 'field'],
    ['/queues/orders', press('Push a message'), 'field'],
    ['/queues/orders', press('Peek'), 'field'],
    ['/queues/orders', press('Edit options'), 'field'],
    ['/queues/orders', press('Delete…'), 'field'],
    ['/messages?queue=orders', press('Push a message'), 'field'],
    ['/messages?queue=orders', openRow('Ada'), 'button'],
    ['/dlq?queue=shop.billing', press('Replay all of a queue…'), 'field'],
    ['/dlq?queue=shop.billing', press('Purge…'), 'field'],
    ['/dlq?queue=shop.billing', openRow('declined'), 'button'],
    ['/ephemeral', openRow('presence'), 'button'],
    ['/kv', press('Create a row'), 'field'],
    ['/kv?namespace=settings', press('Create a row'), 'field'],
    ['/kv?namespace=settings', openRow('exact'), 'button'],
    ['/timers', openRow('remind-1'), 'button'],
    ['/consumers?group=billing', press('Seek…'), 'field'],
    ['/consumers?group=billing', press('Delete the group'), 'field'],
    ['/traces?name=checkout', openRow('declined'), 'button'],
    ['/workload', typeInto('Span of time', ''), 'field'],
    ['/system', press('Add a node'), 'field'],
    ['/system', clickOn('.top .wide-only'), 'field'],
    ['/system', press('Go to'), 'field'],
  ];

  test('a dialog begins in its first field, keeps the focus, and gives it back', async () => {
    await open('/nothing');
    const opened = '[...document.querySelectorAll("dialog")].at(-1)';
    const first = `${opened}?.querySelector('input:not([type=checkbox]), select, textarea')`;
    const focus = 'document.activeElement';
    for (const [path, act, begins] of DIALOGS) {
      await tab.run(openPageOf(path));
      // A person goes there first, by keys or by the mouse.
      await tab.run(act.replace(/element\.(click|value =)/, 'element.focus(); element.$1'));
      await says(tab, DIALOG).not.toBe('none');
      const told = [path, act];
      const wanted = begins === 'field' ? first : `${opened}.querySelector('button')`;
      expect([...told, await tab.run(`${focus} === ${wanted}`)]).toEqual([...told, true]);
      for (let tabs = 0; tabs < 3; tabs++) await tab.press('Tab');
      const isInside = `${focus} === document.body || ${opened}.contains(${focus})`;
      expect([...told, await tab.run(isInside)]).toEqual([...told, true]);
      await tab.press('Escape');
      await says(tab, DIALOG).toBe('none');
      const back = `${focus}.matches('main button, main tr, main select, .top button')`;
      expect([...told, await tab.run(back)]).toEqual([...told, true]);
    }
  });

  test('a payload that the node cannot decrypt is said to be one, in place', async () => {
    await client.post('/api/v1/configure', {
      queue: 'secret',
      options: { encryptionEnabled: true },
    });
    const items = [{ queue: 'secret', payload: { card: 4242 }, transactionId: 'paid' }];
    await client.post('/api/v1/push', { items });
    const address = '/messages?queue=secret';
    await open(address);
    await says(tab).toContain('"card":4242');
    await tab.run(openRow('paid'));
    await says(tab, DIALOG).toMatch(/Stored encrypted\s+yes/);
    expect(await tab.run(DIALOG)).not.toContain('does not have the key');
    for (const SVC_ENCRYPTION_KEY of ['b'.repeat(64), '']) {
      await reader.restart({ SVC_ENCRYPTION_KEY });
      await open(address);
      await says(tab).toContain('encrypted, and the node does not have its key');
      await tab.run(openRow('paid'));
      await says(tab, DIALOG).toContain('does not have the key');
      expect(await tab.run(DIALOG)).toContain('"authTag"');
      expect(await tab.run(TEXT)).not.toContain('4242');
      await reader.expectUsable();
    }
  });
});
