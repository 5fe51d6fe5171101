/**
 * What a broker has of the settings that rows need. Each is found out by doing what depends on it,
 * as a row does: in a queue or tenant of its own, which is removed afterwards.
 */
import { expect } from 'vitest';
import { bodyOf } from '../contract/broker-api.js';
import type { BrokerUnderTest } from '../contract/broker-under-test.js';
import { operations, sumOf } from '../contract/series-reads.js';
import { sleep } from '../process/node-under-test.js';

export type Need = keyof typeof PROBES;

const KV_UNGRANTED = 'SVC_KV_REQUIRE_GRANT=false';
const EPHEMERAL_UNGRANTED = 'SVC_EPHEMERAL_REQUIRE_GRANT=false';
/** Probed as a tenant that has not been granted anything. */
export const UNGRANTED: ReadonlySet<string> = new Set([KV_UNGRANTED, EPHEMERAL_UNGRANTED]);

/** Bytes that the rows about long bodies take as the bound. */
const BODY_BYTES_MAX = 4_194_304;
/** A window of a second, a look at the queue, and what a slow machine takes. */
const RETAINED_MS_MAX = 2000;
const FLUSHED_MS_MAX = 3500;

/** By the setting, as the reason of a skipped row names it. Each throws when it is not met. */
export const PROBES = {
  SVC_ENCRYPTION_KEY: storesEncrypted,
  'SVC_MAX_BODY_BYTES=4194304': takesSoLongBodies,
  'RETENTION_INTERVAL=200': retainsInTime,
  'METRICS_FLUSH_MS=1000': flushesInTime,
  'key/value, switched on': takesKeyValue,
  [KV_UNGRANTED]: takesKeyValue,
  [EPHEMERAL_UNGRANTED]: takesEphemeral,
  'ephemeral queues, switched on': takesEphemeral,
  'a broker that wants no token': takesAnyone,
} satisfies Readonly<Record<string, (broker: BrokerUnderTest) => Promise<void>>>;

async function storesEncrypted({ api, client, queue }: BrokerUnderTest): Promise<void> {
  const sizes: number[] = [];
  for (const [i, encryptionEnabled] of [false, true].entries()) {
    const name = `${queue}.${i}`;
    await api.configure(name, { encryptionEnabled });
    await api.push([{ queue: name, payload: 'x'.repeat(3000) }]);
    const answer = await client.get(`/api/v1/resources/queues/${name}/sizes`);
    const { partitions } = bodyOf(answer, 200) as { partitions: Record<string, number> };
    sizes.push(partitions.Default ?? 0);
  }
  expect((sizes[1] ?? 0) - (sizes[0] ?? 0)).toBeGreaterThan(500);
}

async function takesSoLongBodies({ client }: BrokerUnderTest): Promise<void> {
  // No JSON, so that it is refused in either case.
  expect((await client.post('/api/v1/push', '-'.repeat(BODY_BYTES_MAX))).status).toBe(400);
  expect((await client.post('/api/v1/push', '-'.repeat(BODY_BYTES_MAX + 1))).status).toBe(413);
}

/** Three times, at times that no look every few seconds can all be in time for. */
async function retainsInTime({ api, queue }: BrokerUnderTest): Promise<void> {
  const one = async (name: string) => {
    await api.pushIds(name, 'p', ['a']);
    await api.configure(name, { retentionEnabled: true, retentionSeconds: 1 });
    const untilMs = performance.now() + RETAINED_MS_MAX;
    while ((await api.fetch(name, 'p')).logStartOffset === 0) {
      if (performance.now() > untilMs) throw new Error('still retained');
      await sleep(100);
    }
  };
  const looks = [0, 1, 2].map(async (i) => {
    await sleep(1200 * i);
    await one(`${queue}.${i}`);
  });
  await Promise.all(looks);
}

/** Twice, so that no flush every few seconds is in time by chance. */
async function flushesInTime(broker: BrokerUnderTest): Promise<void> {
  for (const i of [0, 1]) {
    const name = `${broker.queue}.${i}`;
    await broker.api.pushIds(name, 'p', ['a']);
    const untilMs = performance.now() + FLUSHED_MS_MAX;
    const { series } = await operations(broker, name, 'pushMessages', 1);
    expect(sumOf(series, 'pushMessages')).toBe(1);
    expect(performance.now()).toBeLessThan(untilMs);
  }
}

async function takesKeyValue({ client }: BrokerUnderTest): Promise<void> {
  bodyOf(await client.post('/api/v1/kv', [{ op: 'get', ns: 'n', key: 'k' }]), 200);
}

async function takesEphemeral({ client }: BrokerUnderTest): Promise<void> {
  bodyOf(await client.get('/api/v1/ephemeral/queues'), 200);
}

/** A token names somebody, whom rows would find where they expect nobody. */
async function takesAnyone({ api, queue }: BrokerUnderTest): Promise<void> {
  await api.pushIds(queue, 'p', ['a']);
  expect((await api.popQueue(queue))?.messages[0]?.producerSub).toBeNull();
}
