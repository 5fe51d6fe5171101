// Goal: an ack that names one id many times costs one look into the index of ids. Method: a planner
// over a map state, with an index that counts how often it is asked.
import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Command } from '../base/commands/commands.js';
import { MapState } from '../base/map-state.js';
import { Planner } from '../planner/planner.js';
import { applyEntry } from '../state/apply.js';
import { TransactionIndex } from '../state/transaction-ids/id-index.js';
import { TENANT } from '../testing/engine.fake.js';

test('an id that is named many times is looked up once', () => {
  const state = new MapState();
  const transactions = TransactionIndex.load(state);
  let looks = 0;
  const counting = {
    find: (partition: number, id: string) => {
      looks++;
      return transactions.find(partition, id);
    },
  };
  const planner = new Planner(state, counting, {
    nodeId: 1,
    checksum: crc32,
    newUuid: () => '01a2b3c4-0000-7000-8000-000000000001',
    readLog: () => new Uint8Array(0),
    cipher: null,
  });
  let index = 0;
  const run = (command: Command) => {
    index++;
    planner.enqueue(command, {});
    const { body, answers } = planner.turn({ index, wallUs: index * 1e6, nowMs: index * 1e3 });
    if (body !== null) applyEntry(state, transactions, index, body);
    planner.applied(index);
    return answers[0]?.outcome;
  };
  run({
    kind: 'push',
    tenant: TENANT,
    producerSub: null,
    body: new Uint8Array([0x31]),
    groups: [{ queue: 'q', partition: 'p' }],
    itemGroup: [0],
    transactionIds: ['same'],
    payloadStart: [0],
    payloadEnd: [1],
  });
  run({
    kind: 'pop',
    tenant: TENANT,
    scope: { kind: 'queue', queue: 'q' },
    consumerGroup: 'g',
    batch: 1,
    partitions: 1,
    autoAck: false,
    wait: false,
    deadlineMs: 100_000,
    leaseSeconds: 60,
    subscription: { mode: 'all' },
    conflation: null,
    autopilot: null,
  });
  looks = 0;
  const item = {
    transactionId: 'same',
    partitionId: '1',
    leaseId: '',
    status: 'completed',
    error: null,
  } as const;
  const items = [item, item, item, item];
  const acked = run({ kind: 'ack', tenant: TENANT, consumerGroup: 'g', items });
  const done = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };
  expect(acked).toEqual({ kind: 'acked', items: [done, done, done, done] });
  expect(looks).toBe(1);
});
