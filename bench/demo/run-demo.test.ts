// Goal: a whole run is clean on a node that is killed in the middle of it, and sends all of the
// input. Method: a real node, a part of the input.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { NodeGroup } from '../rig/node-group.js';
import { Scratch } from '../rig/scratch.js';
import { readInput } from './input.js';
import { runDemo } from './run-demo.js';

const MESSAGES = 2100;

test('a node that is killed loses nothing', async () => {
  const scratch = new Scratch(join(tmpdir(), `svc-demo-${process.pid}`));
  try {
    const group = await NodeGroup.start(scratch, 1, process.env.SVC_TEST_ENTRY);
    const [node] = group.nodes;
    if (node === undefined) throw new Error('a group of one has one node');
    const result = await runDemo({
      node: node.process,
      messages: readInput(1).slice(0, MESSAGES),
      groups: ['audit', 'report'],
      producers: 2,
      consumers: 1,
      kills: 1,
      leaseSeconds: 1,
      stallTimeoutMs: 20_000,
      output: { write: () => undefined },
    });
    expect(result.complaints).toEqual([]);
    expect([result.kills, result.clean]).toEqual([1, true]);
    const delivered = result.verdicts.reduce((sum, verdict) => sum + verdict.delivered, 0);
    expect(delivered).toBe(2 * MESSAGES);
    await group.end();
  } finally {
    scratch.close();
  }
});

test('the input holds both files, each round with ids of its own', () => {
  const messages = readInput(2);
  expect(messages).toHaveLength(21_000);
  expect(new Set(messages.map((message) => message.transactionId)).size).toBe(21_000);
  for (const { payload } of messages) JSON.parse(payload.toString());
});
