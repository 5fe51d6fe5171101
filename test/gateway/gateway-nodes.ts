/**
 * Nodes, usually three, that run the gateway, each on a port of its own beside the plain API, and
 * the clusters of tenants behind it, made as a control plane does.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { SessionTokens } from '@svc/gateway';
import { Cluster, until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { type Answer, HttpClient } from '../process/http-client.js';
import type { Environment } from '../process/node-under-test.js';
import { freePorts } from '../process/ports.js';
import { hashOf } from './scale-names.js';

const SESSION_SECRET = 'the secret of the sessions of a test';
export const CONTROL_TOKEN = 'the token of the control plane';
const READY_MS_MAX = 60_000;

/** A cluster as its tenant's clients know it. */
export interface TenantAccess {
  readonly slug: string;
  readonly key: string;
  readonly keyId: string;
  readonly clusterId: string;
  /** The tenant that the broker sees. */
  readonly brokerTenant: string;
  /** A user with a role on it. */
  readonly userId: string;
}

export interface Provisioning {
  readonly slug: string;
  /** The tenant of the cluster; absent: one of the same name. */
  readonly tenant?: string;
  readonly plan?: string;
  readonly scopes?: readonly string[];
  /** The role of its user. */
  readonly role?: string;
  readonly overrides?: Readonly<Record<string, number | null>>;
}

/** Every limit of a plan, as what a test does not want to meet. */
export const UNLIMITED = {
  max_req_per_sec: null,
  max_msgs_per_sec: null,
  max_queues: null,
  max_partitions_per_queue: null,
  max_parked_pops: null,
  max_payload_bytes: null,
  max_batch_items: null,
  max_retained_bytes: null,
  max_retention_seconds: null,
} as const;

export class GatewayNodes {
  readonly cluster: Cluster;
  /** The gateway of each node, by its place in `cluster.nodes`. */
  readonly gateways: readonly HttpClient[];
  #turn = 0;

  private constructor(cluster: Cluster, gateways: readonly HttpClient[]) {
    this.cluster = cluster;
    this.gateways = gateways;
  }

  static async open(environment: Environment = {}, size = 3): Promise<GatewayNodes> {
    const cluster = await Cluster.create({
      size,
      environment: {
        SVC_PROXY_EMBEDDED: 'true',
        SVC_PROXY_ENFORCE: 'true',
        SVC_PROXY_CP_TOKEN: CONTROL_TOKEN,
        SVC_PROXY_JWT_SECRET: SESSION_SECRET,
        SVC_TENANCY_HEADER: 'true',
        SVC_KV_TRUSTED_PROXY: '1',
        SVC_EDGE_WEB_RPS_PER_IP: '0',
        ...environment,
      },
    });
    const ports = await freePorts(cluster.nodes.length);
    for (const [i, node] of cluster.nodes.entries()) {
      const spool = join(cluster.scratch, `spool-${node.number}`);
      node.variables = { SVC_PROXY_PORT: `${ports[i]}`, SVC_PROXY_SPOOL_DIR: spool };
    }
    const nodes = new GatewayNodes(
      cluster,
      ports.map((port) => new HttpClient(port)),
    );
    try {
      await cluster.startAll();
      await Promise.all(cluster.nodes.map((node) => nodes.serving(node)));
    } catch (error) {
      await nodes.close(true);
      throw error;
    }
    return nodes;
  }

  gatewayOf(node: ClusterNode): HttpClient {
    return this.gateways[this.cluster.nodes.indexOf(node)] as HttpClient;
  }

  /** Until it can read records; a node without a leader cannot. */
  async serving(node: ClusterNode): Promise<void> {
    await until(READY_MS_MAX, `the gateway of node ${node.number}`, async () => {
      const path = 'clusters/of-nobody';
      const answer = await this.control('GET', path, undefined, node).catch(() => null);
      return answer?.status === 404 ? true : null;
    });
  }

  /** A call of the control plane, to any node. */
  control(method: string, path: string, body?: object, node?: ClusterNode): Promise<Answer> {
    const gateway = node === undefined ? this.#next() : this.gatewayOf(node);
    const bytes = body === undefined ? undefined : JSON.stringify(body);
    const headers = { 'x-svc-cp-token': CONTROL_TOKEN };
    return gateway.send(method, `/api/cp/${path}`, bytes, { headers, timeoutMs: 40_000 });
  }

  /** The parsed answer of a call that must succeed. */
  async controlled(method: string, path: string, body?: object): Promise<unknown> {
    const { status, text } = await this.control(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  /** One more key of a cluster, which no node has seen. */
  async newKey(
    { clusterId }: TenantAccess,
    scopes: readonly string[],
  ): Promise<{ readonly key: string; readonly id: string }> {
    const key = randomKey();
    const body = { cluster_id: clusterId, name: 'new', key_hash: hashOf(key), scopes };
    const { id } = (await this.controlled('POST', 'keys', body)) as { id: string };
    return { key, id };
  }

  /** Pushed messages that a cluster's usage has counted so far. */
  async countedPushes({ clusterId }: TenantAccess): Promise<number> {
    const { minutes } = (await this.controlled('GET', `clusters/${clusterId}/usage`)) as {
      minutes: readonly { op: string; msgs: number }[];
    };
    return minutes.reduce((total, { op, msgs }) => total + (op === 'push' ? msgs : 0), 0);
  }

  async provision(wanted: Provisioning): Promise<TenantAccess> {
    const { slug, tenant = slug, plan = 'dedicated-s', overrides = UNLIMITED } = wanted;
    const scopes = wanted.scopes ?? ['produce', 'consume', 'admin', 'read'];
    const userId = randomUUID();
    const key = randomKey();
    const made = (await this.#repeated('POST', 'provision', {
      tenant_slug: tenant,
      cluster_slug: slug,
      plan,
      user_id: userId,
      email: `${userId}@${tenant}.example`,
      role: wanted.role ?? 'admin',
      key_name: 'test',
      key_hash: hashOf(key),
      scopes,
      overrides,
    })) as { cluster_id: string; broker_tenant_uuid: string; key_id: string };
    return {
      slug,
      key,
      keyId: made.key_id,
      clusterId: made.cluster_id,
      brokerTenant: made.broker_tenant_uuid,
      userId,
    };
  }

  async #repeated(method: string, path: string, body: object): Promise<unknown> {
    for (;;) {
      const { status, text } = await this.control(method, path, body);
      if (status < 300) return JSON.parse(text);
      if (status !== 503) throw new Error(`${method} ${path}: ${status} ${text}`);
    }
  }

  async close(failure: boolean): Promise<void> {
    for (const gateway of this.gateways) gateway.close();
    await this.cluster.close(failure);
  }

  /** The next of those that run, in turn. */
  #next(): HttpClient {
    const { running } = this.cluster;
    const node = running[this.#turn++ % running.length];
    if (node === undefined) throw new Error('no node runs');
    return this.gatewayOf(node);
  }
}

const randomKey = () => `qk_live_${randomBytes(16).toString('hex')}`;

/** The headers that a client of a tenant sends with each request. */
export function accessHeaders({ slug, key }: Pick<TenantAccess, 'slug' | 'key'>) {
  return { host: `${slug}.example`, authorization: `Bearer ${key}` };
}

/** A session of a user, as a login would give one. */
export async function signedSession(userId: string): Promise<string> {
  const tokens = await SessionTokens.create({
    secret: SESSION_SECRET,
    issuer: 'svc-proxy',
    clock: {
      wallUs: () => Date.now() * 1000,
      nowMs: () => performance.now(),
      after: () => () => {},
    },
    random: { bytes: (length) => randomBytes(length) },
  });
  return tokens.sign(userId, 3600);
}
