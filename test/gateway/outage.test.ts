/**
 * Goal: when the store does not answer, who is known is served for the stated time, and nobody else
 * is let in or told that a credential is bad; and a key that is revoked is revoked on every node
 * (gateway 2 and 3, `SVC_PROXY_STALE_GRACE_MS`). Method: three nodes, of which the leader is
 * killed, then one more; the clock of the third leaps beyond the times. A route that a node answers
 * by itself, the document of the API, shows whether the gateway let a request through.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtFile } from '../cluster/built-file.js';
import { until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { accessHeaders, GatewayNodes, type TenantAccess } from './gateway-nodes.js';

/** A row that was read is fresh for so long, and is served as it is for so long again. */
const FRESH_MS = 30_000;
/** Below the default, so that a node which does not know the variable serves for too long. */
const GRACE_MS = 400_000;
/** One leap ends within the grace, though the row may have been read minutes ago; two beyond it. */
const LEAP_MS = (FRESH_MS + GRACE_MS) / 2 + 1;
const AWAY = '503 {"error":"the store does not answer","code":"unavailable"}';
const BAD = '401 {"error":"invalid credential","code":"unauthorized"}';

let nodes: GatewayNodes;
let access: TenantAccess;
let failed = true;

beforeAll(async () => {
  nodes = await GatewayNodes.open({
    SVC_PROXY_STALE_GRACE_MS: String(GRACE_MS),
    SVC_TEST_LEAP_MS: String(LEAP_MS),
    NODE_OPTIONS: `--import ${builtFile('gateway/leaping-hook.js')}`,
  });
  access = await nodes.provision({ slug: 'served' });
});

afterAll(() => nodes?.close(failed));

/** Status and body; `200` alone, for the document is long. */
async function asks(node: ClusterNode, key: string): Promise<string> {
  const headers = accessHeaders({ slug: access.slug, key });
  const { status, text } = await nodes
    .gatewayOf(node)
    .get('/openapi.json', { headers, timeoutMs: 60_000 });
  return status === 200 ? '200' : `${status} ${text}`;
}

/** Its clock is `LEAP_MS` further ahead, for the `count`th time. */
async function leap({ life }: ClusterNode, count: number): Promise<void> {
  life?.send('SIGUSR2');
  const told = `the clock leapt: ${count}\n`;
  await until(20_000, told, async () => (life?.output.includes(told) ? true : null));
}

const newKey = () => nodes.newKey(access, ['read']);

test('a revoked key is refused on every node, and others go on', async () => {
  const { key, id } = await newKey();
  for (const node of nodes.cluster.nodes) expect(await asks(node, key)).toBe('200');
  await nodes.controlled('DELETE', `keys/${id}`);
  for (const node of nodes.cluster.nodes) {
    const number = `node ${node.number}`;
    await until(10_000, number, async () => ((await asks(node, key)) === BAD ? true : null));
    expect(await asks(node, key), number).toBe(BAD);
    expect(await asks(node, access.key), number).toBe('200');
  }
});

test('while a leader is elected, nobody is let in or turned away by mistake', async () => {
  const keys = await Promise.all(Array.from({ length: 60 }, newKey));
  const leader = await nodes.cluster.waitForLeader();
  const others = nodes.cluster.nodes.filter((node) => node !== leader);
  for (const node of others) expect(await asks(node, access.key)).toBe('200');
  const seen = { known: new Set<string>(), fresh: new Set<string>(), bad: new Set<string>() };
  const dead = leader.kill();
  for (const [i, { key }] of keys.entries()) {
    const node = others[i % others.length] as ClusterNode;
    const [known, fresh, bad] = await Promise.all([
      asks(node, access.key),
      asks(node, key),
      asks(node, `qk_live_nobody${i}`),
    ]);
    seen.known.add(known);
    seen.fresh.add(fresh);
    seen.bad.add(bad);
  }
  await dead;
  expect([...seen.known]).toEqual(['200']);
  expect([AWAY, '200']).toEqual(expect.arrayContaining([...seen.fresh]));
  expect([AWAY, BAD]).toEqual(expect.arrayContaining([...seen.bad]));
  await nodes.cluster.waitForLeader();
  const last = await newKey();
  for (const node of others) expect(await asks(node, last.key)).toBe('200');
});

test('without a majority who is known is served for the stated time, and no longer', async () => {
  const unseen = await newKey();
  const [node, other] = nodes.cluster.running as [ClusterNode, ClusterNode];
  expect(await asks(node, access.key)).toBe('200');
  await other.kill();
  // The store is waited for, as it may have a leader in a moment.
  const strangers = ['qk_live_nobody', unseen.key].map((key) => asks(node, key));
  expect(await asks(node, access.key), 'what is fresh').toBe('200');
  await leap(node, 1);
  expect(await asks(node, access.key), 'within the grace').toBe('200');
  await leap(node, 2);
  expect(await asks(node, access.key), 'after the grace').toBe(AWAY);
  expect(await Promise.all(strangers)).toEqual([AWAY, AWAY]);
  await nodes.cluster.startAll();
  await until(20_000, 'all is well', async () =>
    (await asks(node, unseen.key)) === '200' && (await asks(node, access.key)) === '200'
      ? true
      : null,
  );
  failed = false;
});
