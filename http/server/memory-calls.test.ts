// Goal: a request that was parsed elsewhere gets what one from a socket gets, to the byte; whoever
// aborts it, or does not take its answer, leaves nothing behind; and its caller may be vouched for.
// Method: random requests to every route of the document over both transports (a failure prints
// its seed), calls that are aborted in each of their states, and readers that take little.
import { setImmediate as turn } from 'node:timers/promises';
import { DEFAULT_TENANT, RESERVED_TENANT } from '@svc/wire';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Authenticator,
  type Caller,
  KV_NEEDS_NO_GRANT,
  POPS_MAKE_NO_QUEUE,
  ROLE_BITS,
  SEES_ITS_TENANT_ALONE,
} from '../exchange/access-level.js';
import type {
  AnswerHead,
  CallClient,
  CallRequest,
  Identity,
  MemoryCall,
} from '../exchange/memory-call.js';
import { openApiDocument } from '../openapi/document.js';
import type { FetchedOutcome } from '../ports/service.js';
import { PUSHED, TestFront, until } from '../testing/front.fake.js';
import { batchOf } from '../testing/message-batch.fake.js';
import type { RawAnswer, RawRequest } from '../testing/raw-client.fake.js';
import { grantWith } from '../testing/surface-service.fake.js';
import { ROUTES } from './routes.js';
import type { HttpServerOptions } from './server.js';

const PUSH = '/api/v1/push';
const BODY = '{"items":[{"queue":"q","payload":1}]}';
const LARGE_BYTES = 4_000_000;
const LOOPBACK = Uint8Array.of(127, 0, 0, 1);

let front: TestFront;

async function start(options: Partial<HttpServerOptions> = {}): Promise<void> {
  front = await TestFront.startPushed(options);
}

afterEach(() => front.stop());

/** Notes what it is told, and takes as many bytes as it is set to. */
class Client implements CallClient {
  head: AnswerHead | null = null;
  bytes = 0;
  readonly told: string[] = [];
  call: MemoryCall | null = null;
  /** The bytes that are taken of a piece of so many. */
  take: (length: number) => number = (length) => length;
  text = '';

  ask(request: Partial<CallRequest>): this {
    const whole = { method: 'GET', target: '/', headers: [], body: null, peer: LOOPBACK };
    this.call = front.server.call({ ...whole, identity: null, ...request }, this);
    return this;
  }

  get status(): number {
    return Number.parseInt(this.head?.status ?? '0', 10);
  }

  onHead(head: AnswerHead): void {
    this.told.push('head');
    this.head = head;
  }

  onBytes(bytes: Uint8Array): number {
    const taken = this.take(bytes.length);
    this.bytes += taken;
    this.text += Buffer.from(bytes.subarray(0, taken)).toString('latin1');
    return taken;
  }

  onEnd(): void {
    this.told.push('end');
  }

  onBroken(): void {
    this.told.push('broken');
  }

  onReadOn(): void {
    this.told.push('read on');
  }
}

function fetched(length: number, letter = 'x'): FetchedOutcome {
  const batch = batchOf(`"${letter.repeat(length)}"`);
  const about = { partitionNumber: 1, highWatermark: 1, logStartOffset: 0, error: null };
  return { kind: 'fetched', entries: [{ ...about, batches: [batch] }] };
}

const FETCH = Buffer.from('{"entries":[{"queue":"q","offset":0}]}');

/** A fetch whose answer is large, for a client that takes what `take` says. */
function askLarge(take: (length: number) => number): Client {
  front.service.onFetch = (_, reply) => {
    expect(reply.room?.reserve(2 * LARGE_BYTES)).toBe(true);
    reply.send(fetched(LARGE_BYTES));
  };
  const client = new Client();
  client.take = take;
  return client.ask({ method: 'POST', target: '/api/v1/fetch', body: FETCH });
}

function expectNothingHeld(): void {
  const { budget, answers } = front.rim;
  expect([budget.used('growing'), budget.used('drain')]).toEqual([0, 0]);
  expect([answers.used('read'), answers.used('pop'), front.server.inFlight()]).toEqual([0, 0, 0]);
}

describe('an answer is that of a socket', () => {
  const SEED = Number(process.env.SVC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
  const ROUNDS = 6;
  const document = openApiDocument(ROUTES) as unknown as {
    readonly paths: Record<string, Record<string, Operation>>;
  };

  interface Operation {
    readonly parameters?: readonly { readonly in: string; readonly name: string }[];
    readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> };
  }

  let state = SEED;

  /** Below `count`: mulberry32. */
  function random(count: number): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  }

  function oneOf<T>(list: readonly T[]): T {
    return list[random(list.length)] as T;
  }

  /** Members that differ in each answer: ids that are made for it, and figures of the process. */
  const MEASURED = /"(rss|uptimeSeconds)":\d+/g;
  const MADE = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  const VALUES = [
    'orders',
    '7',
    'true',
    'a%20b',
    '%zz',
    '',
    '-1',
    'x'.repeat(2000),
    'now',
  ] as const;
  const UUID = '0193f2a0-7b1c-7000-8000-000000000001';

  function randomRequest(path: string, method: string, operation: Operation): [string, RawRequest] {
    const filled = path.replaceAll(/\{[^}]+\}/g, () => oneOf([...VALUES, UUID, 'orders', '7']));
    const names = (operation.parameters ?? []).flatMap((one) =>
      one.in === 'query' ? one.name : [],
    );
    const query = names
      .filter(() => random(3) === 0)
      .map((name) => `${name}=${oneOf(VALUES)}`)
      .join('&');
    const headers: Record<string, string> = {};
    if (random(4) === 0) headers['x-svc-tenant'] = oneOf([UUID, 'no', RESERVED_TENANT]);
    if (random(4) === 0) headers.Origin = oneOf(['http://test', 'http://evil.example']);
    if (random(4) === 0) headers['Accept-Encoding'] = 'gzip, br';
    const target = query === '' && random(2) === 0 ? filled : `${filled}?${query}`;
    const isRead = method === 'get' && random(4) === 0;
    if (isRead) return [target, { method: 'HEAD', headers }];
    const upper = method.toUpperCase();
    if (method === 'get') return [target, { method: upper, headers }];
    const [content] = Object.values(operation.requestBody?.content ?? {});
    const example = JSON.stringify(content?.example ?? {});
    const cut = example.slice(0, random(example.length + 1));
    const long = `${example}${' '.repeat(200_000)}`;
    return [target, { method: upper, headers, body: oneOf([example, example, cut, '', long]) }];
  }

  /** A scrape counts itself: of its text the length is not compared either. */
  function comparable(target: string, { status, headers, body }: RawAnswer): object {
    const isScrape = /^\/(api\/v1\/)?metrics/.test(target) && status === 200;
    const kept = [...headers].filter(([name]) => {
      if (name === 'content-length') return !isScrape;
      return !/^(date|uwebsockets|connection)$/.test(name);
    });
    const text = body.replaceAll(MADE, 'made').replaceAll(MEASURED, 'measured');
    return { status, headers: kept.sort(), body: isScrape ? '' : text };
  }

  beforeEach(() => start({ tenancyHeader: true, bodyBytesMax: 100_000 }));

  test(`on every route (SVC_TEST_SEED=${SEED})`, async () => {
    const [socket, memory] = [front.client(), front.client('memory')];
    const statuses = new Set<number>();
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        for (let round = 0; round < ROUNDS; round++) {
          const [target, request] = randomRequest(path, method, operation);
          const expected = await socket.request(target, request);
          const given = await memory.request(target, request);
          const what = `${method} ${target.slice(0, 200)} ${JSON.stringify(request).slice(0, 300)}`;
          expect(comparable(target, given), what).toEqual(comparable(target, expected));
          statuses.add(given.status);
        }
      }
    }
    // It went far enough into each kind of end.
    for (const status of [200, 400, 403, 404, 413]) expect([...statuses]).toContain(status);
    expectNothingHeld();
  });

  test('whatever its reader takes at once', async () => {
    const all = askLarge((length) => length);
    await until(() => all.told.includes('end'));
    const client = askLarge((length) => Math.min(length, random(100_000)));
    while (!client.told.includes('end')) {
      await turn();
      client.call?.takesMore();
    }
    expect(client.text === all.text).toBe(true);
    expect(client.head).toEqual(all.head);
    expect(client.bytes).toBe(client.head?.length);
    expectNothingHeld();
  });

  test('also one that was handed over whole and is taken byte by byte', async () => {
    const client = new Client();
    client.take = () => 1;
    client.ask({ target: '/api/v1/none' });
    while (!client.told.includes('end')) client.call?.takesMore();
    expect([client.told, client.bytes]).toEqual([['head', 'end'], client.head?.length]);
    expect(JSON.parse(client.text)).toMatchObject({ error: 'no_such_route' });
  });
});

describe('a call that is aborted leaves nothing behind', () => {
  const WAITING: Authenticator = { check: () => new Promise(() => {}) };

  test('while its caller is found out', async () => {
    await start({ authenticator: WAITING });
    const client = new Client().ask({ method: 'POST', target: PUSH, body: Buffer.from(BODY) });
    expect(front.server.inFlight()).toBe(1);
    client.call?.abort();
    expectNothingHeld();
  });

  test('in the middle of its body', async () => {
    await start();
    const client = new Client().ask({ method: 'POST', target: PUSH, body: 'chunks' });
    expect(client.call?.sendBody(Buffer.from(BODY.slice(0, 9)), false)).toBe(true);
    client.call?.abort();
    expectNothingHeld();
    client.call?.sendBody(Buffer.from(BODY.slice(9)), true);
    expect([front.service.submitted, client.told]).toEqual([[], []]);
  });

  test('while a large body waits for its turn', async () => {
    await start();
    const long = Buffer.alloc(8_000_000, ' ');
    const length: [string, string] = ['content-length', String(long.length)];
    const ask = { method: 'POST', target: PUSH, headers: [length] };
    const first = new Client().ask({ ...ask, body: 'chunks' });
    first.call?.sendBody(long.subarray(0, 2_000_000), false);
    const second = new Client().ask({ ...ask, body: long });
    second.call?.abort();
    first.call?.abort();
    for (let i = 0; i < 5; i++) await turn();
    expectNothingHeld();
    expect([...first.told, ...second.told]).toEqual([]);
  });

  test('while it waits for the broker, which is told that nobody took the answer', async () => {
    await start();
    const given: boolean[] = [];
    let answer = () => {};
    front.service.onPop = (_, reply) => {
      answer = () => {
        given.push(reply.send({ kind: 'delivered', leaseId: '', claims: [], terms: null }));
      };
    };
    const client = new Client().ask({ target: '/api/v1/pop/queue/q?wait=true' });
    expect(front.server.inFlight()).toBe(1);
    client.call?.abort();
    expectNothingHeld();
    answer();
    expect([given, client.told]).toEqual([[false], []]);
  });

  test.each(['head', 'bytes'])('when it is told of the %s of a large answer', async (when) => {
    await start();
    const client = new Client();
    client.onHead = () => {
      if (when === 'head') client.call?.abort();
      client.told.push('head');
    };
    const given: number[] = [];
    front.service.onFetch = (_, reply) => {
      reply.room?.reserve(2 * LARGE_BYTES);
      setImmediate(() => reply.send(fetched(LARGE_BYTES)));
    };
    client.take = (length) => {
      given.push(length);
      client.call?.abort();
      return 100;
    };
    client.ask({ method: 'POST', target: '/api/v1/fetch', body: FETCH });
    await until(() => front.server.inFlight() === 0);
    expectNothingHeld();
    expect([client.told, given.length]).toEqual([['head'], when === 'head' ? 0 : 1]);
  });
});

describe('a client that does not take its answer', () => {
  test('holds what its answer has, and is cut off as a slow reader', async () => {
    await start();
    const client = askLarge(() => 0);
    await until(() => client.told.includes('head'));
    const { answers, slow } = front.rim;
    expect(answers.used('read')).toBeGreaterThan(LARGE_BYTES);
    expect(answers.used('read')).toBeLessThan(LARGE_BYTES + 1000);
    expect(slow.size).toBe(0);
    front.service.nowMs += 60_000;
    answers.sweep(front.service.nowMs);
    expect(client.told).toEqual(['head', 'broken']);
    expectNothingHeld();
  });

  test('gets it whole, though its memory was used for other answers', async () => {
    await start();
    const target = '/api/v1/fetch';
    const clients = ['a', 'b', 'c'].map((letter) => {
      front.service.onFetch = (_, reply) => reply.send(fetched(20_000, letter));
      const client = new Client();
      client.take = () => 0;
      return client.ask({ method: 'POST', target, body: FETCH });
    });
    for (const [i, client] of clients.entries()) {
      client.take = (length) => length;
      client.call?.takesMore();
      expect(client.told).toEqual(['head', 'end']);
      const payload = JSON.parse(client.text).entries[0].records[0].payload;
      expect(payload === 'abc'.charAt(i).repeat(20_000)).toBe(true);
    }
  });

  test('of an answer that was handed over in one piece holds that piece alone', async () => {
    await start();
    const clients = Array.from({ length: 100 }, () => {
      const client = new Client();
      client.take = () => 0;
      return client.ask({ target: '/openapi.json' });
    });
    for (const client of clients) client.call?.abort();
    expectNothingHeld();
  });
});

describe('many calls', () => {
  test('at once are bounded as connections are', async () => {
    const bounds = { max: 300, perAddressMax: null, isTrustedProxy: () => false };
    await start({ connections: bounds });
    front.service.onPop = () => {};
    const target = '/api/v1/pop/queue/q?wait=true';
    const clients = Array.from({ length: 10_000 }, () => new Client().ask({ target }));
    expect(front.server.inFlight()).toBe(300);
    const refused = clients.filter(({ status }) => status === 503);
    expect(refused.length).toBe(9_700);
    const [first] = refused;
    expect(JSON.parse(first?.text ?? '').code).toBe('overloaded');
    expect(first?.head?.headers).toContainEqual(['Retry-After', '1']);
    for (const { call } of clients) call?.abort();
    expectNothingHeld();
    const client = new Client().ask({ target: '/health' });
    expect(client.status).toBe(200);
  });

  test('are answered, or broken, before a stop is over, and broken behind it', async () => {
    await start();
    front.service.onPop = () => {};
    const waiting = new Client().ask({ target: '/api/v1/pop/queue/q?wait=true' });
    await front.server.stop(0);
    const late = new Client().ask({ target: '/health' });
    expect([waiting.told, late.told]).toEqual([['broken'], ['broken']]);
  });

  test('of a front that retires say that their connections are to be closed', async () => {
    await start();
    const before = new Client().ask({ target: '/health' });
    front.server.retire();
    const after = new Client().ask({ target: '/health' });
    expect([before.head?.closes, after.head?.closes]).toEqual([false, true]);
  });
});

describe('whoever vouches for a caller', () => {
  const NEVER: Authenticator = {
    check: () => {
      throw new Error('the header was asked');
    },
  };
  const callerOf = (role: keyof typeof ROLE_BITS): Caller => ({
    kind: 'caller',
    subject: 'me',
    roles: ROLE_BITS[role],
  });
  const identityOf = (role: keyof typeof ROLE_BITS, tenant = DEFAULT_TENANT): Identity => ({
    caller: callerOf(role),
    tenant,
  });
  const push = (identity: Identity) =>
    new Client().ask({
      method: 'POST',
      target: PUSH,
      body: Buffer.from(BODY),
      headers: [
        ['x-svc-tenant', 'nonsense'],
        ['authorization', 'Bearer nonsense'],
        ['origin', 'http://evil.example'],
        ['sec-fetch-site', 'cross-site'],
      ],
      identity,
    });

  beforeEach(async () => {
    await start({ authenticator: NEVER, tenancyHeader: true });
    front.service.onSubmit = (_, reply) => reply.send(PUSHED);
  });

  test('names subject and tenant, also the one that clients cannot name', () => {
    for (const tenant of [DEFAULT_TENANT, RESERVED_TENANT]) {
      const client = push(identityOf('read-write', tenant));
      expect(client.status).toBe(201);
      expect(front.service.submitted.pop()).toMatchObject({ tenant, producerSub: 'me' });
    }
  });

  test('says whether its pops make queues', () => {
    for (const [bit, scope] of [
      [0, { kind: 'queue', queue: 'q' }],
      [POPS_MAKE_NO_QUEUE, { kind: 'queue', queue: 'q', creates: false }],
    ] as const) {
      const caller = { ...callerOf('admin'), roles: ROLE_BITS.admin | bit };
      const target = '/api/v1/pop/queue/q';
      new Client().ask({ method: 'GET', target, identity: { caller, tenant: DEFAULT_TENANT } });
      expect(front.service.pops.at(-1)?.scope).toEqual(scope);
    }
  });

  test('says whose bytes a list of ephemeral queues shows', async () => {
    const page = { queues: [], truncated: false, nextAfter: null, nodeId: 1 };
    const listed = { kind: 'ephemeral-queues', ...page, cellBytes: 70, tenantBytes: 7 } as const;
    front.service.ephemeral.answers.queues = listed;
    for (const [bit, cellBytes] of [
      [0, 70],
      [SEES_ITS_TENANT_ALONE, 7],
    ] as const) {
      const caller = { ...callerOf('admin'), roles: ROLE_BITS.admin | bit };
      const identity = { caller, tenant: DEFAULT_TENANT };
      const target = '/api/v1/ephemeral/queues';
      const client = new Client().ask({ method: 'GET', target, identity });
      await expect.poll(() => client.told).toContain('end');
      expect(JSON.parse(client.text)).toMatchObject({ cellBytes });
    }
  });

  test('says whether key/value needs the grant of its tenant', () => {
    front.service.surfaces.grants.set(`kv ${DEFAULT_TENANT}`, grantWith({ enabled: false }));
    const body = Buffer.from('[{"op":"get","ns":"n","key":"k"}]');
    const codes = [0, KV_NEEDS_NO_GRANT].map((bit) => {
      const caller = { ...callerOf('admin'), roles: ROLE_BITS.admin | bit };
      const identity = { caller, tenant: DEFAULT_TENANT };
      const target = '/api/v1/kv';
      const client = new Client().ask({ method: 'POST', target, body, identity });
      return client.text.includes('feature_gated');
    });
    expect(codes).toEqual([true, false]);
  });

  test.each([
    ['/api/v1/timers', (op: object) => [op]],
    ['/api/v1/transaction', (op: object) => ({ timers: [op] })],
  ])('says how long a compressed payload of %s may become', async (target, bodyOf) => {
    // `{"a":1}`, in a block as it is.
    const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, 7, 7 * 8 + 1, 0, 0]);
    const payload = Buffer.concat([head, Buffer.from('{"a":1}')]).toString('base64');
    const names = { op: 'schedule', queue: 'q', timerKey: 'k', txn: 't', delayMs: 1 };
    const body = Buffer.from(JSON.stringify(bodyOf({ ...names, payload, payloadZstd: true })));
    for (const [payloadBytesMax, submitted] of [
      [6, 0],
      [7, 1],
      [null, 2],
    ] as const) {
      const caller = { ...callerOf('admin'), roles: ROLE_BITS.admin };
      const identity = { caller, tenant: DEFAULT_TENANT, payloadBytesMax };
      const client = new Client().ask({ method: 'POST', target, body, identity });
      if (payloadBytesMax === 6) await expect.poll(() => client.status).toBe(413);
      await expect.poll(() => front.service.submitted.length).toBe(submitted);
    }
  });

  test('lets it do what its roles allow', () => {
    const client = push(identityOf('read-only'));
    expect([client.status, front.service.submitted]).toEqual([403, []]);
  });
});
