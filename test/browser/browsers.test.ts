/**
 * Goal: in a real browser a page of another origin can neither push, nor consume, nor read; the
 * dashboard works by name, by address and through a balancer, its pages need nothing that their
 * policy forbids, and the client works in pages and Workers. Method: Chromium, where it is
 * installed, with pages of several origins on this machine, in front of real nodes without tokens.
 */
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientBundle } from '../client/client-bundle.js';
import { BalancerUnderTest } from '../deploy/balancer-under-test.js';
import { missing } from '../deploy/real-tools.js';
import { HttpClient } from '../process/http-client.js';
import {
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from '../process/node-under-test.js';
import { freePort } from '../process/ports.js';
import { Chromium, chromiumMissing } from './chromium.js';

const reason = chromiumMissing();

if (reason !== null) {
  test('in a browser', (context) => {
    console.log(reason);
    context.skip();
  });
}

let browser: Chromium;
let directories: TemporaryDirectory[];
let guarded: NodeUnderTest;
let open: NodeUnderTest;
let client: HttpClient;
let openClient: HttpClient;
let pages: Server;
let pagesPort: number;

const TOOLS = 'tools.example';

/** What a page does with the client: `Client` is in scope. Gives what it popped and was told. */
const WORK = `async (url, name) => {
  const client = new Client(url);
  const queue = client.queue(name).group('g');
  await queue.push([{ payload: { n: 1 } }, { payload: { n: 2 } }]);
  const popped = await queue.batch(2).pop();
  const acked = await client.ack(popped);
  const rest = await queue.wait(false).pop();
  const pages = [];
  for await (const groups of client.admin.pages('groups', { limit: 1 })) pages.push(groups.length);
  const { unsent } = await client.close();
  const ns = popped.map(({ data }) => data.n);
  const refused = await queue.pop().catch(({ code }) => code);
  return [ns, acked.map(({ success }) => success), rest, Math.max(...pages), unsent, refused];
}`;
const WORKED = [[1, 2], [true, true], [], 1, [], 'closed'];
const WORKER = `
  import { Client } from '/client.js';
  const work = ${WORK};
  onmessage = async ({ data: [url, name] }) => {
    postMessage(await work(url, name).catch((error) => String(error)));
  };`;

async function startAll(): Promise<void> {
  browser = new Chromium();
  const { code } = await clientBundle('es');
  pages = createServer(({ url = '' }, response) => {
    if (url.endsWith('.js')) {
      response.setHeader('Content-Type', 'text/javascript');
      response.end(url === '/client.js' ? code : WORKER);
      return;
    }
    response.setHeader('Content-Type', 'text/html');
    // A page that leads elsewhere: `/to/` and the address.
    if (url.startsWith('/to/')) {
      response.writeHead(302, { Location: decodeURIComponent(url.slice('/to/'.length)) });
    }
    response.end('<!doctype html><title>page</title><body></body>');
  });
  pagesPort = await freePort();
  await new Promise<void>((resolve) => void pages.listen(pagesPort, '127.0.0.1', resolve));
  directories = [temporaryDirectory(), temporaryDirectory()];
  const [one, two] = directories;
  // One is for this machine, one for everybody: there a name may be anything.
  const everywhere = { SVC_BIND_ADDR: '0.0.0.0' };
  const tools = { SVC_ALLOWED_ORIGINS: `http://${TOOLS}:${pagesPort}` };
  const local = { SVC_BIND_ADDR: '127.0.0.1', ...tools };
  guarded = await startNode({
    directory: one?.path ?? '',
    port: await freePort(),
    environment: local,
  });
  open = await startNode({
    directory: two?.path ?? '',
    port: await freePort(),
    environment: everywhere,
  });
  client = new HttpClient(guarded.port);
  openClient = new HttpClient(open.port);
}

async function stopAll(): Promise<void> {
  await browser.close();
  pages.close();
  pages.closeAllConnections();
  for (const each of [client, openClient]) each.close();
  for (const node of [guarded, open]) await node.kill();
  for (const directory of directories) directory.remove();
}

/** The queue's messages, each of which is taken by this. */
async function takeAll(from: HttpClient, queue: string): Promise<unknown[]> {
  const { status, text } = await from.get(`/api/v1/pop/queue/${queue}?batch=100&autoAck=true`);
  return status === 204 ? [] : JSON.parse(text).messages.map(({ data }: { data: unknown }) => data);
}

describe.skipIf(reason !== null)('in a browser', () => {
  beforeAll(startAll, 60_000);
  afterAll(stopAll, 60_000);

  /** Addresses of a node, to which a browser says more or less of its page. */
  const targets = () => [
    `http://127.0.0.1:${guarded.port}`,
    `http://localhost:${guarded.port}`,
    `http://svc.example:${open.port}`,
  ];

  test('a page of another origin cannot push', async () => {
    for (const origin of [`http://evil.example:${pagesPort}`, `http://localhost:${pagesPort}`]) {
      const page = await browser.open(`${origin}/`);
      for (const target of targets()) {
        const body = '{"items":[{"queue":"stolen","payload":1}]}';
        await page.run(`fetch('${target}/api/v1/push', {
          method: 'POST', mode: 'no-cors', body: '${body}',
          headers: { 'Content-Type': 'text/plain' },
        }).catch(() => null)`);
        await page.run(`navigator.sendBeacon('${target}/api/v1/push', '${body}')`);
        await page.run(`new Promise((done) => {
          document.body.innerHTML = '<iframe name="sink"></iframe>'
            + '<form method="post" enctype="text/plain" target="sink"'
            + ' action="${target}/api/v1/push">'
            + '<input name=\\'{"items":[{"queue":"stolen","payload":1}],"x":"\\''
            + ' value=\\'"}\\'></form>';
          document.querySelector('iframe').onload = () => done();
          document.querySelector('form').submit();
        })`);
      }
    }
    expect(await takeAll(client, 'stolen')).toEqual([]);
    expect(await takeAll(openClient, 'stolen')).toEqual([]);
  });

  test('nor consume by an image, a frame or a script', async () => {
    const items = [{ queue: 'kept', payload: 'mine' }];
    expect((await client.post('/api/v1/push', { items })).status).toBe(201);
    const page = await browser.open(`http://evil.example:${pagesPort}/`);
    for (const host of ['127.0.0.1', 'localhost']) {
      const pop = `http://${host}:${guarded.port}/api/v1/pop/queue/kept?autoAck=true`;
      for (const element of ['img', 'iframe', 'script']) {
        await page.run(`new Promise((done) => {
          const element = document.createElement('${element}');
          element.onload = element.onerror = () => done();
          element.src = '${pop}';
          document.body.append(element);
        })`);
      }
    }
    expect(await takeAll(client, 'kept')).toEqual(['mine']);
  });

  test('nor by leading there: a link, a form, a redirect, a request unanswered', async () => {
    const items = [{ queue: 'led', payload: 'mine' }];
    expect((await client.post('/api/v1/push', { items })).status).toBe(201);
    for (const host of ['127.0.0.1', 'localhost']) {
      const pop = `http://${host}:${guarded.port}/api/v1/pop/queue/led?autoAck=true`;
      const led = `/to/${encodeURIComponent(pop)}`;
      const page = await browser.open(`http://evil.example:${pagesPort}/`);
      await page.run(`fetch('${pop}', { mode: 'no-cors' }).catch(() => null)`);
      await page.run(`fetch('${led}', { mode: 'no-cors' }).catch(() => null)`);
      await page.run(`new Promise((done) => {
        document.body.innerHTML = '<iframe name="sink"></iframe><form target="sink"'
          + ' action="${pop}"><input name="autoAck" value="true"></form>';
        document.querySelector('iframe').onload = () => done();
        document.querySelector('form').submit();
      })`);
      for (const address of [pop, led]) {
        const leading = await browser.open(`http://evil.example:${pagesPort}/`);
        await leading.run(`void (location.href = '${address}')`);
        await expect
          .poll(() => leading.run('document.body.innerText').catch(() => ''))
          .toContain('csrf_rejected');
      }
    }
    expect(await takeAll(client, 'led')).toEqual(['mine']);
  });

  test('nor change what is set', async () => {
    const page = await browser.open(`http://evil.example:${pagesPort}/`);
    const retention = '{"queue":"set","options":{"retentionSeconds":1}}';
    const switches = () =>
      Promise.all([client, openClient].map((from) => from.get('/api/v1/system/kv-timers')));
    const before = (await switches()).map(({ text }) => text);
    for (const target of targets()) {
      for (const [path, body] of [
        ['configure', retention],
        ['system/kv-timers', '{"kv":false}'],
      ]) {
        await page.run(`fetch('${target}/api/v1/${path}', {
          method: 'POST', mode: 'no-cors', body: '${body}',
        }).catch(() => null)`);
      }
    }
    for (const from of [client, openClient]) {
      expect((await from.get('/api/v1/resources/queues/set')).status).toBe(404);
    }
    expect((await switches()).map(({ text }) => text)).toEqual(before);
  });

  test('nor read, under its own name or under one that leads here', async () => {
    const page = await browser.open(`http://evil.example:${pagesPort}/`);
    for (const target of targets()) {
      const url = `${target}/api/v1/resources/queues`;
      const read = `fetch('${url}').then(() => 'read', () => 'not read')`;
      expect(await page.run(read)).toBe('not read');
    }
    // Rebinding: the page's own name is the node's, so to the browser it is the same origin.
    const rebound = await browser.open(`http://rebound.example:${guarded.port}/`);
    expect(await rebound.run('document.body.innerText')).toContain('host_not_allowed');
    const read = `fetch('/api/v1/resources/queues').then((answer) => answer.status)`;
    expect(await rebound.run(read)).toBe(403);
  });

  test('a page of an allowed origin can', async () => {
    const page = await browser.open(`http://${TOOLS}:${pagesPort}/`);
    const push = `fetch('http://127.0.0.1:${guarded.port}/api/v1/push', {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: '{"items":[{"queue":"tools","payload":7}]}',
    }).then(async (answer) => [answer.status, (await answer.json())[0].status])`;
    expect(await page.run(push)).toEqual([201, 'queued']);
    expect(await takeAll(client, 'tools')).toEqual([7]);
  });

  test('the client works: on the node itself, in an allowed origin, in a Worker', async () => {
    const { code, imports } = await clientBundle('iife');
    expect(imports).toEqual([]);
    const url = `http://127.0.0.1:${guarded.port}`;
    const own = await browser.open(`${url}/`);
    const work = `(${WORK})(location.origin, 'own')`;
    expect(await own.run(`${code}; { const { Client } = svc; ${work} }`)).toEqual(WORKED);
    const page = await browser.open(`http://${TOOLS}:${pagesPort}/`);
    const imported = `import('/client.js').then(({ Client }) => (${WORK})('${url}', 'other'))`;
    expect(await page.run(imported)).toEqual(WORKED);
    const worker = `new Promise((done) => {
      const worker = new Worker('/worker.js', { type: 'module' });
      worker.onmessage = ({ data }) => done(data);
      worker.onerror = ({ message }) => done(message);
      worker.postMessage(['${url}', 'worker']);
    })`;
    expect(await page.run(worker)).toEqual(WORKED);
    const refused = `import('/client.js').then(({ Client }) => {
      try { new Client({ url: '${url}', hostHeader: 'x' }) } catch ({ message }) { return message }
    })`;
    expect(await page.run(refused)).toContain('hostHeader works on Node alone');
  });

  async function expectDashboard(origin: string, queue: string): Promise<void> {
    const logged = browser.logged.length;
    const page = await browser.open(`${origin}/`);
    const health = `document.querySelector('#health').innerText`;
    await expect.poll(() => page.run(health), { timeout: 15_000 }).not.toMatch(/connecting|^$/);
    expect(await page.run('getComputedStyle(document.querySelector("#health")).display')).not.toBe(
      '',
    );
    const push = `fetch('/api/v1/push', { method: 'POST',
      body: '{"items":[{"queue":"${queue}","payload":1}]}' }).then((answer) => answer.status)`;
    expect(await page.run(push)).toBe(201);
    const complaints = browser.logged.slice(logged).filter((text) => !text.includes('favicon'));
    expect(complaints).toEqual([]);
  }

  test('the dashboard works by name and by address', async () => {
    await expectDashboard(`http://localhost:${guarded.port}`, 'a');
    await expectDashboard(`http://127.0.0.1:${guarded.port}`, 'b');
    await expectDashboard(`http://127.0.0.5:${open.port}`, 'c');
    await expectDashboard(`http://svc.example:${open.port}`, 'd');
  });

  test('and shows in no frame', async () => {
    const page = await browser.open(`http://evil.example:${pagesPort}/`);
    const before = browser.logged.length;
    await page.run(`new Promise((done) => {
      document.body.innerHTML = '<iframe src="http://svc.example:${open.port}/"></iframe>';
      document.querySelector('iframe').onload = () => done();
    })`);
    await expect
      .poll(() => browser.logged.slice(before).join('\n'))
      .toMatch(/frame-ancestors|Refused to (display|frame)|Framing/);
  });

  test.each(['haproxy', 'nginx'] as const)('and through %s', async (kind) => {
    const absent = missing(kind, ['-v']);
    if (absent !== null) {
      console.log(absent);
      return;
    }
    const port = await freePort();
    const balancer = new BalancerUnderTest(kind, port, [open.port, open.port, open.port]);
    try {
      await balancer.ready();
      await expectDashboard(`http://svc.example:${port}`, kind);
      await expectDashboard(`http://127.0.0.1:${port}`, kind);
      const page = await browser.open(`http://evil.example:${pagesPort}/`);
      await page.run(`fetch('http://svc.example:${port}/api/v1/push', { method: 'POST',
        mode: 'no-cors', body: '{"items":[{"queue":"stolen","payload":1}]}' }).catch(() => null)`);
      expect(await takeAll(openClient, 'stolen')).toEqual([]);
      // What the browser says of its page goes through.
      const kept = `kept-${kind}`;
      await openClient.post('/api/v1/push', { items: [{ queue: kept, payload: 'mine' }] });
      const pop = `http://127.0.0.1:${port}/api/v1/pop/queue/${kept}?autoAck=true`;
      await page.run(`new Promise((done) => {
        const image = new Image();
        image.onload = image.onerror = () => done();
        image.src = '${pop}';
      })`);
      const read = `fetch('${pop}').then(() => 'read', () => 'not read')`;
      expect(await page.run(read)).toBe('not read');
      expect(await takeAll(openClient, kept)).toEqual(['mine']);
    } finally {
      await balancer.stop();
    }
  });
});
