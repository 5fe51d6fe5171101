/**
 * Goal: what several clients push in large calls at the same time is stored as it was sent, each in
 * its own place, also for a node that is killed and started again. Method: a real node, payloads
 * that differ in every KiB, small pushes in between, and all of it read back.
 */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpClient } from './http-client.js';
import {
  type NodeUnderTest,
  startNode,
  type TemporaryDirectory,
  temporaryDirectory,
} from './node-under-test.js';
import { readPartitions } from './partition-reader.js';
import { freePort } from './ports.js';

/** From below the size whose memory is made beforehand to some parts of the log's writes. */
const PAYLOAD_MIB = [1, 3, 4, 5, 12];
const CLIENTS = 3;

let directory: TemporaryDirectory;
let node: NodeUnderTest;

async function start(): Promise<void> {
  node = await startNode({ directory: directory.path, port: await freePort() });
}

beforeEach(async () => {
  directory = temporaryDirectory();
  await start();
});

afterEach(async () => {
  await node.kill();
  directory.remove();
});

/** No two KiB of any two payloads are equal. */
function payloadOf(client: number, round: number, mib: number): string {
  const lines = Array.from({ length: mib * 1024 }, (_, kib) =>
    `${client}.${round}.${kib}.`.padEnd(1024, 'x'),
  );
  return lines.join('');
}

/** Pushes until it is taken: a node without room for the body says so. */
async function push(http: HttpClient, partition: string, payload: string): Promise<void> {
  const items = [{ queue: 'q', partition, payload }];
  for (;;) {
    const { status, text } = await http.post('/api/v1/push', { items }, { timeoutMs: 30_000 });
    if (status === 201) return;
    if (status !== 503) throw new Error(`${status} ${text}`);
  }
}

async function expectStored(expected: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const http = new HttpClient(node.port);
  for (const [partition, payloads] of expected) {
    const read = await readPartitions(http, [`q/${partition}`]);
    const texts = read.map(({ payload }) => JSON.parse(payload) as string);
    expect(texts.map(({ length }) => length)).toEqual(payloads.map(({ length }) => length));
    // Not by `toEqual`: a difference would be printed.
    expect(texts.every((text, i) => text === payloads[i])).toBe(true);
  }
  http.close();
}

test('large pushes of several clients are stored as sent', { timeout: 120_000 }, async () => {
  const expected = new Map<string, string[]>();
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const http = new HttpClient(node.port);
    for (const [round, mib] of PAYLOAD_MIB.entries()) {
      const payload = payloadOf(client, round, mib);
      for (const text of [payload, `small ${client} ${round}`]) {
        const partition = `p${client}`;
        expected.set(partition, [...(expected.get(partition) ?? []), text]);
        await push(http, partition, text);
      }
    }
    http.close();
  });
  await Promise.all(clients);
  await expectStored(expected);
  await node.kill();
  await start();
  await expectStored(expected);
});
