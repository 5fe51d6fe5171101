// Goal: a whole run is clean on a broker that keeps its promises, through kills, and is not on one
// that breaks one of them. Method: a broker in memory with a journal; a kill cuts its connections
// and opens a new one on the journal; faults are planted in it.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FakeBroker, type PlantedFault } from '../broker.fake.js';
import { freePort } from '../node-process.js';
import type { OutgoingMessage } from './input.js';
import { readInput } from './input.js';
import { type DemoResult, runDemo } from './run-demo.js';

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'svc-demo-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

function messagesOf(count: number): readonly OutgoingMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    queue: index % 3 === 0 ? 'three' : 'rest',
    partition: `p${index % 40}`,
    transactionId: `t${index}`,
    payload: Buffer.from(`{"n":${index}.0,"text":"\\u0041 é \\"${index}"}`),
  }));
}

async function run(fault: PlantedFault, kills: number): Promise<DemoResult> {
  const port = await freePort();
  let broker = await FakeBroker.open(directory, port, fault);
  const node = {
    address: { host: '127.0.0.1', port },
    kill: () => broker.close(),
    start: async () => {
      broker = await FakeBroker.open(directory, port, fault);
      return 0;
    },
  };
  try {
    return await runDemo({
      node,
      messages: messagesOf(6_000),
      groups: ['g', 'h'],
      producers: 3,
      consumers: 2,
      kills,
      leaseSeconds: 1,
      stallTimeoutMs: 10_000,
      output: { write: () => undefined },
    });
  } finally {
    await broker.close();
  }
}

test('a broker that keeps its promises, killed twice', async () => {
  const result = await run('none', 2);
  expect(result.complaints).toEqual([]);
  expect(result.clean).toBe(true);
  const delivered = result.verdicts.map((verdict) => verdict.delivered);
  expect(delivered).toEqual([2_000, 2_000, 4_000, 4_000]);
});

test.each([
  ['lose', 'lost'],
  ['duplicate', 'duplicated'],
  ['reorder', 'outOfOrder'],
  ['alter', 'altered'],
] as const)('a broker that is made to %s', async (fault, column) => {
  const result = await run(fault, 0);
  expect(result.clean).toBe(false);
  const found = result.verdicts.reduce((sum, verdict) => sum + verdict[column], 0);
  expect(found).toBeGreaterThan(0);
});

test('the input holds both files, each round with ids of its own', () => {
  const messages = readInput(2);
  expect(messages).toHaveLength(21_000);
  expect(new Set(messages.map((message) => message.transactionId)).size).toBe(21_000);
  for (const message of messages) {
    expect(() => JSON.parse(message.payload.toString())).not.toThrow();
  }
});
