// An empty store against one that holds very many bytes: two nodes, measured in turn, with the same
// loads on a queue of their own. What is stored was put there by the broker's own code, with
// payloads that are holes of the file (stored-fill.ts): every record, row and checksum is there,
// and about a sixteenth of the bytes takes space.

import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Figure, figure } from '../load/figure.js';
import { pushRequests } from '../load/push-requests.js';
import { consumption, pushes } from './node-load.js';
import { Rounds, unitOf } from './rounds.js';
import type { Scale } from './scale.js';
import { ScaleNode } from './scale-node.js';
import { appendsOf, fillStore } from './stored-fill.js';

const ROUNDS = 3;
const PARTITIONS = 64;
const PAYLOAD_BYTES = 256;
const GIGABYTE = 1e9;
const SETTLE_MS = 3000;

const WORKS = ['push, batch 1', 'push, batch 100', 'pop and ack, batch 100'] as const;

export async function measureStored(scale: Scale): Promise<readonly Figure[]> {
  const { storedGb, storeDirectory, entry } = scale.options;
  const filled = storeDirectory ?? join(scale.scratch.directory('bench-stored'), 'node');
  if (existsSync(filled)) scale.say(`${filled} is there and taken for a store of ${storedGb} GB`);
  else await fill(scale, filled);
  const rounds = new Rounds();
  const nodes = [
    { name: 'empty', node: await ScaleNode.start(scale.scratch, entry) },
    { name: 'full', node: await ScaleNode.start(scale.scratch, entry, filled) },
  ];
  for (const { name, node } of nodes) {
    for (let start = 0; start < ROUNDS; start += 1) {
      await node.process.kill();
      rounds.add(`start after SIGKILL, ${name}`, await node.process.start());
    }
  }
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const { name, node } of nodes) await measureOne(scale, rounds, name, node, round);
  }
  await sleep(SETTLE_MS);
  for (const { name, node } of nodes) {
    rounds.add(`memory of the process, ${name}`, node.anonymousBytes());
    await node.process.kill();
  }
  const note = `${storedGb} GB in ${appendsOf(storedGb * GIGABYTE)} appends against none, in turn`;
  const unit = (name: string) => (name.startsWith('start') ? 'ms' : unitOf(name));
  return [
    ...rounds.figures(unit, note),
    ...WORKS.flatMap((work) => [
      figure(`${work}: cost, full to empty`, 'ratio', rounds.ratios(...rates(work)), 'by the rate'),
      figure(
        `${work}: processor time, full to empty`,
        'ratio',
        rounds.ratios(`${work}: processor time, full`, `${work}: processor time, empty`),
        'of the node',
      ),
    ]),
  ];
}

/** Under another name until it is complete, so that one that is there is whole. */
async function fill(scale: Scale, directory: string): Promise<void> {
  const { storedGb } = scale.options;
  const beganMs = performance.now();
  const draft = `${directory}.filling`;
  rmSync(draft, { recursive: true, force: true });
  await fillStore({
    directory: draft,
    bytes: storedGb * GIGABYTE,
    onProgress: (bytes) => scale.say(`${(bytes / GIGABYTE).toFixed(0)} GB of ${storedGb} stored`),
  });
  renameSync(draft, directory);
  const seconds = (performance.now() - beganMs) / 1000;
  scale.say(`${storedGb} GB stored in ${seconds.toFixed(0)} s`);
}

function rates(work: string): [over: string, under: string] {
  return [`${work}, empty`, `${work}, full`];
}

async function measureOne(
  scale: Scale,
  rounds: Rounds,
  name: string,
  { process: node }: ScaleNode,
  round: number,
): Promise<void> {
  const { seconds } = scale.options;
  const queue = `new-${round}`;
  let messages = 0;
  for (const batch of [1, 100]) {
    const requests = pushRequests(queue, PARTITIONS, batch, PAYLOAD_BYTES);
    const push = await pushes(node, { requests, batch, seconds }, scale.scratch);
    messages += Math.floor(push.messagesPerSecond * seconds);
    note(`push, batch ${batch}`, push);
  }
  const load = { queue, group: 'g', batch: 100, messages, seconds };
  note('pop and ack, batch 100', await consumption(node, load));

  function note(work: string, spent: { messagesPerSecond: number; processorUs: number }): void {
    const { messagesPerSecond, processorUs } = spent;
    scale.say(
      `${name}, ${work}: ${messagesPerSecond.toFixed(0)}/s, ${processorUs.toFixed(2)} us each`,
    );
    // The first round warms up.
    if (round < 0) return;
    rounds.add(`${work}, ${name}`, messagesPerSecond);
    rounds.add(`${work}: processor time, ${name}`, processorUs);
  }
}
