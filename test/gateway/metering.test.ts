/**
 * Goal: what clients were told is stored is what is counted, to the message, whatever was killed
 * (gateway 10). Method: two clusters push through all of three nodes while one node after the
 * other, the leader among them, is killed by SIGKILL and started again. The clients of the first
 * cluster have all their answers when their node dies: its count must be exact. Those of the second
 * are in the middle of their pushes: nobody can tell what became of these, so its count may have
 * what was not answered, and no more. In the end all nodes are killed, so that nothing is counted
 * but by what they had written, and then once more, so that it is seen to be counted once.
 *
 * The long run: `SVC_METERED_MESSAGES=10000000 SVC_METERED_BATCH=1000`.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { GatewayNodes, type TenantAccess } from './gateway-nodes.js';
import { PushClient } from './metered-load.js';

const MESSAGES = Number(process.env.SVC_METERED_MESSAGES ?? 20_000);
const BATCH = Number(process.env.SVC_METERED_BATCH ?? 20);
const CLIENTS_PER_NODE = 2;
/** Each node twice. */
const KILLS = 6;
const RUN_MS_MAX = 3_600_000;
const COUNTED_MS_MAX = 120_000;

let nodes: GatewayNodes;
let failed = true;

beforeAll(async () => {
  nodes = await GatewayNodes.open({
    // Flushes all the time, so that kills meet them.
    SVC_PROXY_METER_FLUSH_MS: '200',
    SVC_PROXY_ROLLUP_MS: '1000',
    SVC_RAFT_SEGMENT_BYTES: '16777216',
  });
});

afterAll(() => nodes?.close(failed));

interface Party {
  readonly access: TenantAccess;
  /** By the number of the node. */
  readonly clients: ReadonlyMap<number, readonly PushClient[]>;
}

const clientsOf = ({ clients }: Party): PushClient[] => [...clients.values()].flat();
const sum = (party: Party, of: (client: PushClient) => number): number =>
  clientsOf(party).reduce((total, client) => total + of(client), 0);
const acknowledged = (party: Party): number => sum(party, (client) => client.acknowledged);

async function newParty(slug: string, mayGoOn: () => boolean): Promise<Party> {
  const access = await nodes.provision({ slug });
  const clients = nodes.cluster.nodes.map((node): [number, PushClient[]] => {
    const gateway = nodes.gatewayOf(node);
    const one = (i: number) => {
      const queue = `metered.${node.number}-${i}`;
      return new PushClient({ access, gateway, batch: BATCH, queue, mayGoOn });
    };
    return [node.number, Array.from({ length: CLIENTS_PER_NODE }, (_, i) => one(i))];
  });
  return { access, clients: new Map(clients) };
}

async function killed(node: ClusterNode, calm: Party): Promise<void> {
  const clients = calm.clients.get(node.number) ?? [];
  await Promise.all(clients.map((client) => client.pause()));
  await node.kill();
  node.start();
  await nodes.cluster.ready();
  await nodes.serving(node);
  for (const client of clients) client.resume();
}

async function killedAll(): Promise<void> {
  await Promise.all(nodes.cluster.nodes.map((node) => node.kill()));
  await nodes.cluster.startAll();
  await Promise.all(nodes.cluster.nodes.map((node) => nodes.serving(node)));
}

const counted = ({ access }: Party): Promise<number> => nodes.countedPushes(access);

test('kills in the middle of metering lose and add no message', {
  timeout: RUN_MS_MAX,
}, async () => {
  let killsLeft = KILLS;
  const parties: Party[] = [];
  const mayGoOn = () => {
    const pushed = parties.reduce((total, party) => total + acknowledged(party), 0);
    return parties.length < 2 || killsLeft > 0 || pushed < MESSAGES;
  };
  for (const slug of ['calm', 'stormy']) parties.push(await newParty(slug, mayGoOn));
  const [calm, stormy] = parties as [Party, Party];
  const pushing = Promise.all(parties.flatMap(clientsOf).map((client) => client.done));
  pushing.catch(() => undefined);
  const total = () => acknowledged(calm) + acknowledged(stormy);
  for (; killsLeft > 0; killsLeft--) {
    // The kills are spread over the whole load.
    const share = (MESSAGES * (KILLS - killsLeft + 1)) / (KILLS + 1);
    await until(RUN_MS_MAX, `${share} messages`, async () => (total() >= share ? true : null));
    const leader = await nodes.cluster.waitForLeader();
    const [follower] = await nodes.cluster.followers();
    await killed(killsLeft % 2 === 0 || follower === undefined ? leader : follower, calm);
  }
  await pushing;
  expect(
    sum(calm, (client) => client.unanswered),
    'pushes that were cut by no kill',
  ).toBe(0);
  const exact = acknowledged(calm);
  const least = acknowledged(stormy);
  const unanswered = sum(stormy, (client) => client.unanswered);
  for (const end of ['all are killed', 'and once more']) {
    await killedAll();
    await until(COUNTED_MS_MAX, `${end}: ${exact} and ${least} are counted`, async () =>
      (await counted(calm)) >= exact && (await counted(stormy)) >= least ? true : null,
    );
    expect(await counted(calm), end).toBe(exact);
    expect((await counted(stormy)) - least, end).toBeLessThanOrEqual(unanswered);
  }
  const beyond = (await counted(stormy)) - least;
  const refused = sum(calm, (client) => client.refused) + sum(stormy, (client) => client.refused);
  console.log(
    `${KILLS} kills; calm: ${exact} acknowledged and counted; stormy: ${least} acknowledged, ` +
      `${beyond} of ${unanswered} unanswered ones counted besides; ` +
      `${refused} pushes were refused`,
  );
  failed = false;
});
