// Goal: what `npm run abuse` measures holds in the small too, on real nodes: a node whose open
// files are used up goes on and serves again, the door answers as it should, clients that leave
// take nothing with them, and calls that are wider than one turn are done whole. Method: the
// attacks of the full form with small numbers; statuses and counts are asserted, and no time.

import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@svc/test';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nodeEntry } from '../rig/checkout.js';
import { NodeProcess } from '../rig/node-process.js';
import { Scratch } from '../rig/scratch.js';
import { Attack } from './attack.js';
import type { AttackSocket } from './attack-socket.js';
import { openMany } from './flood.js';
import { fillItems, get, item, partitionItems, payloadOf, pop, post, push } from './requests.js';
import { scenarioNamed } from './scenario-list.js';

const OPEN_FILES = 256;
const OPENED = 400;
const SERVED_AGAIN = 40;
const UNTIL_MS_MAX = 20_000;

/** Log files and checkpoints come all the time, which takes open files as well. */
const SMALL_FILES = {
  SVC_RAFT_SEGMENT_BYTES: '65536',
  SVC_RAFT_DURABLE_EVERY_MS: '50',
  SVC_RAFT_LOG_KEEP: '1',
};

interface StartedNode {
  readonly node: NodeProcess;
  readonly attack: Attack;
}

async function startNode(
  scratch: Scratch,
  environment: Readonly<Record<string, string>>,
  launcher: readonly string[] = [],
): Promise<StartedNode> {
  const directory = scratch.directory('abuse-test');
  const dataDirectory = join(directory, 'node');
  mkdirSync(dataDirectory);
  const node = new NodeProcess({
    entry: nodeEntry(process.env.SVC_TEST_ENTRY),
    port: await freePort(),
    dataDirectory,
    logFile: join(directory, 'node.log'),
    runtimeArguments: [],
    launcher,
    environment: {
      SVC_RAFT_DISK_HIGH_PCT: '99.9',
      SVC_RAFT_DISK_LOW_PCT: '99.8',
      ...environment,
    },
  });
  await node.start();
  const attack = new Attack({ nodes: [node.address], seconds: 1, say: () => undefined });
  return { node, attack };
}

/** Asks again until it holds. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + UNTIL_MS_MAX;
  while (!(await holds())) {
    if (performance.now() > untilMs) throw new Error(`not within ${UNTIL_MS_MAX} ms: ${what}`);
    await sleep(20);
  }
}

describe('a node whose open files are used up', () => {
  const scratch = new Scratch(join(tmpdir(), 'svc-abuse'));
  let node: NodeProcess;
  let attack: Attack;
  let silent: readonly AttackSocket[] = [];

  beforeAll(async () => {
    const launcher = ['prlimit', `--nofile=${OPEN_FILES}:${OPEN_FILES}`];
    ({ node, attack } = await startNode(scratch, SMALL_FILES, launcher));
    silent = await openMany(attack, OPENED, () => undefined);
  });
  afterAll(async () => {
    for (const socket of silent) socket.destroy();
    attack.close();
    await node.kill();
    scratch.close();
  });

  test('serves new connections', async () => {
    await until(
      'a new connection is served',
      async () => (await attack.once(get('/health'))).status === 200,
    );
    expect(node.isRunning).toBe(true);
  });

  test('stores what is pushed, through rolls of the log and checkpoints', async () => {
    const body = `{"items":[${item('rolled', 'p', payloadOf(60_000))}]}`;
    for (let call = 0; call < 20; call += 1) await attack.ask('POST', '/api/v1/push', body);
    expect(node.isRunning).toBe(true);
  });

  test('serves everybody again when the connections have gone', async () => {
    for (const socket of silent) socket.destroy();
    const statuses = new Set<number>();
    await until('all are served', async () => {
      const answers = await Promise.all(
        Array.from({ length: SERVED_AGAIN }, () => attack.once(get('/health'))),
      );
      statuses.clear();
      for (const { status } of answers) statuses.add(status);
      return statuses.size === 1 && statuses.has(200);
    });
  });
});

describe('a node of default settings', () => {
  const scratch = new Scratch(join(tmpdir(), 'svc-abuse'));
  let node: NodeProcess;
  let attack: Attack;

  beforeAll(async () => {
    ({ node, attack } = await startNode(scratch, {}));
  });
  afterAll(async () => {
    attack.close();
    await node.kill();
    scratch.close();
  });

  test('answers what comes to its door as it must', async () => {
    await scenarioNamed('door').attack(attack);
    expect(attack.checks.filter(({ held }) => !held)).toEqual([]);
  });

  test('stores a push of more new partitions than fit into one turn', async () => {
    const count = 5000;
    const answer = await attack.once(push(partitionItems('bulk', 'p', count)));
    expect(answer.status).toBe(201);
    const detail = await attack.ask('GET', '/api/v1/resources/queues/bulk');
    const { partitions } = JSON.parse(detail.body.toString('utf8')) as {
      readonly partitions: readonly unknown[];
    };
    expect(partitions).toHaveLength(count);
  });

  test('is served for, after clients that left in the middle of large answers', async () => {
    const messages = Array.from({ length: 40 }, () => item('old', 'p', payloadOf(500_000)));
    await fillItems(attack, messages, 8);
    const fetch = post(
      '/api/v1/fetch',
      '{"entries":[{"queue":"old","partition":"p","offset":0,"maxBytes":33554432}]}',
    );
    for (let client = 0; client < 30; client += 1) {
      const socket = await attack.open();
      socket?.send(fetch);
      await until('the answer begins', async () => socket === null || socket.receivedBytes > 0);
      socket?.destroy();
    }
    expect((await attack.once(fetch)).status).toBe(200);
    expect((await attack.once(push([item('old', 'p', '0')]))).status).toBe(201);
    expect((await attack.once(pop('old', 'g'))).status).toBe(200);
    expect(node.isRunning).toBe(true);
  });
});
