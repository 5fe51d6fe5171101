/** Where contract tables run: one node, three nodes, or a node with settings of its own. */
import { Cluster } from '../cluster/cluster.js';
import { HttpClient } from '../process/http-client.js';
import { type Environment, startNode, temporaryDirectory } from '../process/node-under-test.js';
import { freePort, freePorts } from '../process/ports.js';
import type { BodySeeds } from './body-agreement.js';
import type { Observe, Place } from './broker-under-test.js';
import { type OpenApi, OpenApiJudge } from './openapi-judge.js';

/** A place with what ends it; `failure` keeps the logs. */
export interface OpenPlace extends Place {
  readonly judge: OpenApiJudge;
  readonly close: (failure: boolean) => Promise<void>;
}

/** Without effect but in queues that ask for it. */
export const ENCRYPTION_KEY = '0123456789abcdef'.repeat(4);

/**
 * The shared node and the shared cluster. A setting stands here when rows need it and no other row
 * minds; each row has a tenant of its own.
 */
export const SHARED: Environment = {
  SVC_ENCRYPTION_KEY: ENCRYPTION_KEY,
  SVC_TENANCY_HEADER: 'true',
  SVC_KV_TRUSTED_PROXY: '1',
  SVC_MAX_BODY_BYTES: '4194304',
  RETENTION_INTERVAL: '200',
  METRICS_FLUSH_MS: '1000',
  // Rows are tenants that nobody has granted anything, and ask much at once.
  SVC_KV_REQUIRE_GRANT: 'false',
  SVC_EPHEMERAL_REQUIRE_GRANT: 'false',
  SVC_KV_READ_RATE: '100000',
  SVC_KV_READ_BURST: '100000',
  SVC_KV_WRITE_RATE: '100000',
  SVC_KV_WRITE_BURST: '100000',
};

/** What every node of a test has in common. */
const PLACE = { tenants: 'c0ffee00', isPinned: true } as const;

/** The shared node, whose port a front thread serves, or one with settings of its own. */
export async function openNode(
  seeds: BodySeeds,
  environment?: Environment,
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenPlace> {
  const directory = temporaryDirectory();
  const port = await freePort();
  const settings = {
    directory: directory.path,
    port,
    ...(environment === undefined ? { environment: SHARED, frontThreads: 1 } : { environment }),
  };
  let node = await startNode(settings);
  const client = new HttpClient(port);
  const restart = async (signal: 'SIGKILL' | 'SIGTERM') => {
    await node.signal(signal);
    node = await startNode(settings);
  };
  return {
    ...PLACE,
    nodes: 1,
    clients: [client],
    ...(await judged(client, seeds, headers)),
    ...(environment === undefined ? {} : { restart }),
    close: async (failure) => {
      client.close();
      await node.kill();
      if (failure) console.log(`--- the node ---\n${node.output.slice(-3000)}`);
      directory.remove();
    },
  };
}

export async function openCluster(seeds: BodySeeds): Promise<OpenPlace> {
  const cluster = await Cluster.create({ size: 3, environment: SHARED });
  await cluster.startAll();
  await cluster.waitForLeader();
  const [client] = cluster.clients;
  if (client === undefined) throw new Error('a cluster without nodes');
  return {
    ...PLACE,
    nodes: 3,
    clients: cluster.clients,
    ...(await judged(client, seeds)),
    close: (failure) => cluster.close(failure),
  };
}

/** A source and the standby of it, one node each. The place is the standby. */
export async function openPair(seeds: BodySeeds): Promise<OpenPlace> {
  const token = 'the secret of the source';
  const [port = 0, raft = 0, sourcePort = 0, sourceRaft = 0] = await freePorts(4);
  const follows = {
    SVC_LINK_SOURCE: `127.0.0.1:${sourceRaft}`,
    SVC_LINK_SOURCE_TOKEN: token,
    SVC_LINK_STANDBY: 'true',
  };
  const start = async (httpPort: number, raftPort: number, environment: Environment) => {
    const directory = temporaryDirectory();
    const node = await startNode({
      directory: directory.path,
      port: httpPort,
      environment: {
        SVC_RAFT_REPLICATOR: 'openraft',
        SVC_RAFT_LISTEN: `127.0.0.1:${raftPort}`,
        ...environment,
      },
    });
    return { directory, node, client: new HttpClient(httpPort) };
  };
  const source = await start(sourcePort, sourceRaft, { SVC_LINK_TOKEN: token });
  const standby = await start(port, raft, follows);
  return {
    ...PLACE,
    nodes: 1,
    clients: [standby.client],
    source: source.client,
    ...(await judged(standby.client, seeds)),
    close: async (failure) => {
      for (const { client, node, directory } of [standby, source]) {
        client.close();
        await node.kill();
        if (failure) console.log(`--- a node ---\n${node.output.slice(-3000)}`);
        directory.remove();
      }
    },
  };
}

/** By the document that the place itself serves. */
async function judged(
  client: HttpClient,
  seeds: BodySeeds,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly judge: OpenApiJudge; readonly observe: Observe }> {
  const { text } = await client.get('/openapi.json', { headers });
  const judge = new OpenApiJudge(JSON.parse(text) as OpenApi);
  const observe: Observe = (exchange) => {
    judge.judge(exchange);
    seeds.add(exchange, judge);
  };
  return { judge, observe };
}
