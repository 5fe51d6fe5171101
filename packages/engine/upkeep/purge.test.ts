// Goal: a purge removes whatever a tenant has and nothing of others, over many turns and over
// leaders, and its request is answered once, when nothing is left (state-surfaces 5.2). Method: the
// engine's rig with two tenants that have the same; a new leader at every step; more queues and
// traces than one turn takes.
import { expect, test } from 'vitest';
import { kvJson } from '../base/commands/kv.js';
import { type GrantRow, grantOf } from '../base/grants.js';
import { queues } from '../base/tables.js';
import { ephemeralQueues } from '../state/ephemeral-queues.js';
import { kvRows } from '../state/kv/tables.js';
import { purges } from '../state/purge-table.js';
import { streamNames } from '../state/streams/tables.js';
import { TABLES } from '../state/table-list.js';
import { timers } from '../state/timers/tables.js';
import { traces } from '../state/traces/tables.js';
import { EngineRig, type Request, TENANT } from '../testing/engine.fake.js';
import { scheduleOf } from '../testing/timers.fake.js';

const OTHER = 'aaaaaaaa-0000-4000-8000-000000000001';
const GRANT: GrantRow = {
  enabled: true,
  maxRows: 5,
  maxBytes: null,
  maxTimers: null,
  maxTimerHorizonSeconds: null,
  maxReadsPerSecond: null,
  maxWritesPerSecond: null,
  maxQueues: null,
  maxMessagesPerSecond: null,
  maxQueries: null,
};

function fill(rig: EngineRig, tenant: string, queueCount: number, traceCount = 3): void {
  for (let i = 0; i < queueCount; i++) {
    const queue = `q${i}`;
    const body = new TextEncoder().encode('{"a":1}');
    rig.send({
      kind: 'push',
      tenant,
      producerSub: null,
      body,
      groups: ['p', 'r'].map((partition) => ({ queue, partition })),
      itemGroup: [0, 1],
      transactionIds: ['x', null],
      payloadStart: [0, 0],
      payloadEnd: [body.length, body.length],
    });
  }
  for (let i = 0; i < traceCount; i++) {
    rig.send({
      kind: 'trace',
      tenant,
      transactionId: `t${i}`,
      partitionId: null,
      names: i % 2 === 0 ? ['n'] : [],
      eventType: 'e',
      data: new TextEncoder().encode('1'),
      consumerGroup: null,
      worker: null,
      messageId: null,
      traceId: null,
    });
  }
  const rows = Array.from({ length: 20 }, (_, i) => ({
    op: 'put' as const,
    namespace: 'ns',
    key: `k${i}`,
    value: kvJson('1'),
    ttlSeconds: i % 2 === 0 ? 60 : null,
    expect: null,
    required: false,
  }));
  rig.send({ kind: 'kv', tenant, ops: rows });
  const ops = ['a', 'b'].map((key) => scheduleOf(key, { delayMs: 3_600_000 }));
  rig.send({ kind: 'timers', tenant, producerSub: null, ops });
  rig.send({ kind: 'set-grant', tenant, surface: 'streams', grant: GRANT });
  rig.send({
    kind: 'register-stream',
    tenant,
    name: 'stream',
    sourceQueue: 'q0',
    sinkQueue: null,
    configHash: 'h',
    reset: false,
  });
  rig.send({ kind: 'ephemeral-configure', tenant, queue: 'e', options: '{}' });
  rig.send({ kind: 'set-grant', tenant, surface: 'kv', grant: GRANT });
  rig.turnAll();
  for (let i = 0; i < queueCount; i++) {
    rig.send({ ...rig.popCommand({ queue: `q${i}` }), tenant });
  }
  rig.turnAll();
}

function putRows(rig: EngineRig, tenant: string, keys: readonly string[]): void {
  const ops = keys.map((key) => ({
    op: 'put' as const,
    namespace: 'ns',
    key,
    value: kvJson('1'),
    ttlSeconds: null,
    expect: null,
    required: false,
  }));
  rig.call({ kind: 'kv', tenant, ops });
}

/** `n` names of four digits, in their order. */
function names(n: number): string[] {
  return Array.from({ length: n }, (_, i) => String(i).padStart(4, '0'));
}

/** Every row that is not of the whole cluster, as text. */
function shown(rig: EngineRig): string[] {
  const shared = new Set([
    'meta',
    'logUse',
    'clusterTotals',
    'clusterVersions',
    'kvCounter',
    'streamStores',
  ]);
  return TABLES.filter(({ local, name }) => !local && !shared.has(name)).flatMap((table) =>
    rig.rows(table).map((row) => `${table.name} ${JSON.stringify(row)}`),
  );
}

function turnsUntil(rig: EngineRig, request: Request, between: () => void = () => {}): number {
  for (let turns = 1; ; turns++) {
    expect(turns, 'it ends').toBeLessThan(500);
    rig.turn();
    if (request.outcome !== null) return turns;
    between();
    rig.advance(20);
  }
}

test('everything of the tenant goes, and nothing else', () => {
  const rig = new EngineRig();
  fill(rig, TENANT, 3);
  const before = shown(rig);
  fill(rig, OTHER, 3);
  const request = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  turnsUntil(rig, request);
  expect(request.outcome).toEqual({ kind: 'tenant-purged', partitionsDeleted: 6 });
  expect(shown(rig)).toEqual(before);
  expect(grantOf(rig.state, TENANT, 'kv')).toEqual(GRANT);
  expect(grantOf(rig.state, OTHER, 'kv')).toBeUndefined();
});

test('a tenant that has nothing is purged as well', () => {
  const rig = new EngineRig();
  fill(rig, TENANT, 1);
  const before = shown(rig);
  const request = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  turnsUntil(rig, request);
  expect(request.outcome).toEqual({ kind: 'tenant-purged', partitionsDeleted: 0 });
  expect(shown(rig)).toEqual(before);
});

test('more than fits into a turn, with a new leader after each, which goes on by itself', () => {
  const rig = new EngineRig();
  fill(rig, OTHER, 150, 2200);
  rig.send({ kind: 'purge-tenant', tenant: OTHER });
  rig.turn();
  expect(rig.rows(purges)).toHaveLength(1);
  let turns = 0;
  while (rig.rows(purges).length > 0) {
    expect(++turns).toBeLessThan(500);
    rig.restart();
    expect(rig.planner.nextDueMs()).toBeLessThanOrEqual(rig.nowMs);
    rig.turn();
  }
  expect(turns).toBeGreaterThan(6);
  expect(shown(rig)).toEqual([]);
});

test('asked again at a new leader, it says what went under both', () => {
  const rig = new EngineRig();
  fill(rig, OTHER, 100);
  rig.send({ kind: 'purge-tenant', tenant: OTHER });
  rig.turn();
  // Its timers.
  rig.turn();
  rig.turn();
  expect(rig.rows(queues).length).toBeLessThan(100);
  expect(rig.rows(queues).length).toBeGreaterThan(0);
  rig.restart();
  const again = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  turnsUntil(rig, again);
  expect(again.outcome).toEqual({ kind: 'tenant-purged', partitionsDeleted: 200 });
});

test('a second request for it waits for the same end', () => {
  const rig = new EngineRig();
  fill(rig, OTHER, 80);
  const first = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  rig.turn();
  const second = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  turnsUntil(rig, first);
  expect(second.outcome).toEqual({ kind: 'tenant-purged', partitionsDeleted: 160 });
  expect(first.outcome).toEqual(second.outcome);
});

test('it ends while the tenant goes on; what came behind it stays', () => {
  const rig = new EngineRig();
  fill(rig, OTHER, 200);
  const request = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  let more = 0;
  turnsUntil(rig, request, () => fill(rig, OTHER, 1, ++more % 2));
  expect(request.outcome).toMatchObject({ kind: 'tenant-purged' });
  expect(rig.rows(queues).map(({ name }) => name)).toEqual(['q0']);
  expect(rig.rows(kvRows).length).toBeLessThanOrEqual(20);
});

test('traces among those of many others', () => {
  const rig = new EngineRig();
  for (let i = 0; i < 5; i++) {
    fill(rig, TENANT, 0, 500);
    fill(rig, OTHER, 0, 3);
  }
  turnsUntil(rig, rig.send({ kind: 'purge-tenant', tenant: OTHER }));
  expect(rig.rows(traces)).toHaveLength(2500);
  expect(rig.rows(traces).every(({ tenant }) => tenant === TENANT)).toBe(true);
});

test('a timer that comes due while it goes on makes no queue anew', () => {
  const rig = new EngineRig();
  fill(rig, TENANT, 0, 0);
  fill(rig, OTHER, 150, 0);
  const call = { kind: 'timers', producerSub: null } as const;
  const ops = Array.from({ length: 900 }, (_, i) => scheduleOf(`k${i}`, { delayMs: i }));
  rig.send({ ...call, tenant: OTHER, ops });
  rig.send({ ...call, tenant: TENANT, ops: [scheduleOf('own', { queue: 'own', delayMs: 5 })] });
  rig.turn();
  const request = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  // By the order of their names the first of them go late.
  turnsUntil(rig, request, () => rig.advance(60));
  expect(request.outcome).toEqual({ kind: 'tenant-purged', partitionsDeleted: 300 });
  expect(rig.rows(queues).map(({ name, tenant }) => [name, tenant])).toEqual([['own', TENANT]]);
  rig.advance(3000);
  rig.turn();
  expect(rig.rows(queues)).toHaveLength(1);
  expect(rig.rows(timers)).toHaveLength(2);
});

test('a step begins where the one before it ended, also at the next leader', () => {
  const rig = new EngineRig();
  const keys = names(900);
  putRows(rig, OTHER, keys);
  rig.send({ kind: 'purge-tenant', tenant: OTHER });
  const left = () => rig.rows(kvRows).length;
  for (let turns = 0; left() > 500; turns++) {
    expect(turns, 'it begins').toBeLessThan(50);
    rig.turn();
    rig.advance(20);
  }
  rig.restart();
  // Before its place. A step from the first row on would find it.
  putRows(rig, OTHER, ['0000']);
  for (let turns = 0; rig.rows(purges).length > 0; turns++) {
    expect(turns, 'it ends').toBeLessThan(50);
    rig.turn();
    rig.advance(20);
  }
  expect(left()).toBe(1);
});

test.each(['timers', 'streams', 'ephemeral'] as const)('what came behind its place: %s', (of) => {
  const rig = new EngineRig();
  const left = () =>
    ({
      timers: rig.rows(timers),
      streams: rig.rows(streamNames),
      ephemeral: rig.rows(ephemeralQueues),
    })[of].length;
  const make = (name: string): void => {
    const tenant = OTHER;
    if (of === 'timers') {
      const ops = [scheduleOf(name, { delayMs: 3_600_000 })];
      rig.send({ kind: 'timers', tenant, producerSub: null, ops });
    } else if (of === 'ephemeral') {
      rig.send({ kind: 'ephemeral-configure', tenant, queue: name, options: '{}' });
    } else {
      const query = { sourceQueue: 'q', sinkQueue: null, configHash: 'h', reset: false };
      rig.send({ kind: 'register-stream', tenant, name, ...query });
    }
  };
  rig.call({ kind: 'set-grant', tenant: OTHER, surface: 'streams', grant: GRANT });
  for (const name of names(500)) make(name);
  rig.turnAll();
  expect(left()).toBe(500);
  const request = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  let isMade = false;
  turnsUntil(rig, request, () => {
    if (!isMade && left() < 500) make('0000');
    isMade ||= left() < 500;
  });
  expect(isMade).toBe(true);
  expect(left()).toBe(1);
});

test('between two steps of a stage it leaves the turns to others', () => {
  const rig = new EngineRig();
  putRows(rig, OTHER, names(900));
  const request = rig.send({ kind: 'purge-tenant', tenant: OTHER });
  const left = () => rig.rows(kvRows).length;
  while (left() === 900) rig.turn();
  const afterOne = left();
  for (let i = 0; i < 20; i++) rig.turn();
  expect(left()).toBe(afterOne);
  expect(rig.planner.busy).toBe(false);
  const dueMs = rig.planner.nextDueMs() ?? Number.POSITIVE_INFINITY;
  expect(dueMs - rig.nowMs).toBeGreaterThan(0);
  expect(dueMs - rig.nowMs).toBeLessThanOrEqual(20);
  turnsUntil(rig, request);
});
