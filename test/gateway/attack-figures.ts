/**
 * What attacks on the gateways of three nodes do to a tenant that pushes through all of them: one
 * attack after the other, on all three at once, without front threads and with them.
 *
 * It is a fault if a push of that tenant fails, if each of its clients does not get a few answers
 * however long an attack goes on, if the leader's term changes, if a node ends, or if its memory
 * grows without end. Latency is shown and no fault by itself: attackers, clients and nodes share
 * the processors.
 */
import { until } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { type Caller, callerOf } from '../process/http-client.js';
import { sleep } from '../process/node-under-test.js';
import { ATTACKS, type Attacked } from './attacks.js';
import { GatewayNodes, signedSession, type TenantAccess, UNLIMITED } from './gateway-nodes.js';
import { PushClient } from './metered-load.js';
import { memoryMb } from './node-memory.js';

const PARKED_MAX = 100;
const CLIENTS_PER_NODE = 2;
/** Pushes of each client: an attack goes on until they are answered, and so long at most. */
const PUSHES_MIN = 5;
const ANSWERED_MS_MAX = 60_000;
const GROWTH_MB_MAX = 768;
const RESTED_MS = 2_000;
const SETTLED_MS_MAX = 60_000;

export interface AttackOptions {
  /** The length of each attack. */
  readonly seconds: number;
  /** Connections that an attack holds at each node. */
  readonly connections: number;
  /** Names of the attacks that are meant; empty: all of them. */
  readonly names: readonly string[];
}

/** False: there was a fault, which is told. */
export async function attacks(options: AttackOptions): Promise<boolean> {
  let isGood = true;
  for (const threads of ['0', '1']) {
    console.log(`attacks: three nodes with ${threads} front threads; of the honest tenant`);
    const nodes = await GatewayNodes.open({
      SVC_HTTP_THREADS: threads,
      SVC_RAFT_SEGMENT_BYTES: '16777216',
    });
    try {
      isGood = (await attacked(nodes, options)) && isGood;
    } finally {
      await nodes.close(false);
    }
  }
  return isGood;
}

async function attacked(nodes: GatewayNodes, options: AttackOptions): Promise<boolean> {
  const overrides = { ...UNLIMITED, max_parked_pops: PARKED_MAX };
  const tenant = await nodes.provision({ slug: 'attacker', overrides });
  const honest = await nodes.provision({ slug: 'honest' });
  const cookie = `svc_session=${await signedSession(tenant.userId)}`;
  const faults: string[] = [];
  for (const { name, run } of ATTACKS) {
    if (options.names.length > 0 && !options.names.includes(name)) continue;
    const [term, before] = [await termOf(nodes), nodes.cluster.nodes.map(memoryMb)];
    const untilMs = performance.now() + options.seconds * 1000;
    let least = () => 0;
    const mayGoOn = () => {
      const overMs = performance.now() - untilMs;
      return overMs < 0 || (least() < PUSHES_MIN && overMs < ANSWERED_MS_MAX);
    };
    const load = new Load(nodes, honest, mayGoOn);
    least = () => load.least;
    const peaks = [...before];
    const watching = watch(nodes, peaks, mayGoOn);
    const outcomes = await Promise.all(
      nodes.cluster.nodes.map(({ variables }) => {
        const place = { port: Number(variables.SVC_PROXY_PORT), isTls: false };
        const { connections } = options;
        const at: Attacked = { place, tenant, cookie, parkedMax: PARKED_MAX, connections, mayGoOn };
        return run(at);
      }),
    );
    await Promise.all([load.done, watching]);
    const found = [...load.faults()];
    if (nodes.cluster.running.length < nodes.cluster.nodes.length) found.push('a node has ended');
    else if ((await termOf(nodes)) !== term) found.push('another term');
    const grown = peaks.map((peak, i) => peak - (before[i] ?? 0));
    if (Math.max(...grown) > GROWTH_MB_MAX) found.push('memory');
    faults.push(...found.map((fault) => `${name}: ${fault}`));
    const mb = grown.map((each) => each.toFixed(0)).join(' ');
    console.log(`${name}: ${load.figures()}; memory +${mb} MB; ${told(outcomes)} ${found.join()}`);
    await sleep(RESTED_MS);
  }
  for (const fault of faults) console.log(`FAULT ${fault}`);
  return faults.length === 0;
}

/** The honest tenant: clients that push one message after the other through each node. */
class Load {
  readonly #clients: readonly PushClient[];
  readonly #ms: number[] = [];
  readonly #refusals = new Set<string>();

  constructor(nodes: GatewayNodes, access: TenantAccess, mayGoOn: () => boolean) {
    this.#clients = nodes.gateways.flatMap((gateway, node) =>
      Array.from({ length: CLIENTS_PER_NODE }, (_, i) => {
        const queue = `honest-${node}-${i}`;
        return new PushClient({ access, gateway: this.#timed(gateway), batch: 1, queue, mayGoOn });
      }),
    );
  }

  #timed(gateway: Caller): Caller {
    return callerOf(async (...request) => {
      const beganMs = performance.now();
      const answer = await gateway.send(...request);
      this.#ms.push(performance.now() - beganMs);
      if (answer.status !== 201) this.#refusals.add(`${answer.status} ${answer.text}`);
      return answer;
    });
  }

  /** Pushes that were answered, of the client that has fewest. */
  get least(): number {
    return Math.min(...this.#clients.map(({ acknowledged }) => acknowledged));
  }

  get done(): Promise<unknown> {
    return Promise.all(this.#clients.map((client) => client.done));
  }

  *faults(): Generator<string> {
    for (const { acknowledged, refused, unanswered } of this.#clients) {
      if (refused > 0) yield `${refused} pushes were refused (${[...this.#refusals].join()})`;
      if (unanswered > 0) yield `${unanswered} pushes were not answered`;
      if (acknowledged < PUSHES_MIN) yield `${acknowledged} pushes of a client came through`;
    }
  }

  figures(): string {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0);
    return `${sorted.length} pushes, median ${at(0.5)} ms, p99 ${at(0.99)} ms`;
  }
}

async function watch(nodes: GatewayNodes, peaks: number[], mayGoOn: () => boolean): Promise<void> {
  while (mayGoOn()) {
    for (const [i, node] of nodes.cluster.nodes.entries()) {
      peaks[i] = Math.max(peaks[i] ?? 0, memoryMb(node));
    }
    await sleep(50);
  }
}

function termOf(nodes: GatewayNodes): Promise<number> {
  return until(SETTLED_MS_MAX, 'a leader', async () => {
    const leader: ClusterNode | null = await nodes.cluster.leader();
    return (await leader?.status())?.term ?? null;
  });
}

function told(outcomes: readonly ReadonlyMap<string, number>[]): string {
  const sums = new Map<string, number>();
  for (const [what, times] of outcomes.flatMap((one) => [...one])) {
    sums.set(what, (sums.get(what) ?? 0) + times);
  }
  return [...sums].map(([what, times]) => `${times} x ${what}`).join(', ');
}
