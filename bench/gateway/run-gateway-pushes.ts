// `npm run bench -- --gateway-pushes`: what a single push costs through the gateway of a node
// beside the same push at its plain port, without front threads and with one. Both ports are those
// of one node and have turns of half a second; requests that the gateway refuses have a turn too,
// from connections of this process. A ratio is one of two figures of the same round.

import { freePort } from '@svc/test';
import { pushRequests } from '../load/push-requests.js';
import {
  type Load,
  LoadProgram,
  type LoadTarget,
  type RunningLoad,
} from '../native/load-program.js';
import { atMost, type Figure, figure } from '../report/figure.js';
import { renderFigures, report } from '../report/report.js';
import { HttpConnection } from '../rig/http-connection.js';
import { NodeGroup } from '../rig/node-group.js';
import { mainThreadSeconds, processorSeconds } from '../rig/processor-time.js';
import { Scratch } from '../rig/scratch.js';

const ROUNDS = 3;
const WARM_UP_ROUNDS = 2;
const TURNS = 8;
const TURN_SECONDS = 0.5;
const LEAD_IN_SECONDS = 0.1;
const CONNECTIONS = 64;
const PARTITIONS = 100;
const PAYLOAD_BYTES = 256;
const RATIO_MAX = 1.25;
const QUEUE = 'bench';
const HOST = 'bench.example';
const TOKEN = 'control';
const READY_MS_MAX = 30_000;
const UNLIMITED = 1_000_000;

interface Cost {
  readonly requests: number;
  /** Processor time of the broker's thread, and of the process. */
  readonly coreSeconds: number;
  readonly seconds: number;
}

/** One way to ask, which has turns. */
interface Asker {
  readonly name: string;
  turn(): Promise<number>;
  close(): Promise<void>;
}

export async function runGatewayPushes(): Promise<void> {
  const scratch = new Scratch();
  scratch.endOnSignals();
  const startedAt = new Date();
  const figures: Figure[] = [];
  try {
    for (const threads of [0, 1]) figures.push(...(await measure(scratch, threads)));
  } finally {
    scratch.close();
  }
  const table = renderFigures(figures);
  report({
    kind: 'gateway-pushes',
    options: { jsonFile: undefined },
    startedAt,
    measured: figures,
    table,
  });
}

async function measure(scratch: Scratch, threads: number): Promise<readonly Figure[]> {
  const gatewayPort = await freePort();
  const group = await NodeGroup.start(scratch, 1, undefined, {
    environment: {
      SVC_HTTP_THREADS: String(threads),
      SVC_PROXY_EMBEDDED: 'true',
      SVC_PROXY_ENFORCE: 'true',
      SVC_PROXY_PORT: String(gatewayPort),
      SVC_PROXY_CP_TOKEN: TOKEN,
      SVC_PROXY_SPOOL_DIR: scratch.directory('spool'),
      SVC_PROXY_JWT_SECRET: 'a secret of the sessions of a bench',
      SVC_TENANCY_HEADER: 'true',
      SVC_KV_TRUSTED_PROXY: 'true',
    },
  });
  const [node] = group.nodes;
  if (node === undefined) throw new Error('there is no node');
  const key = await newTenant(gatewayPort);
  const { pid } = node.process;
  const program = LoadProgram.in(scratch);
  const { port } = node.process.plan;
  const pushes = [
    await Pushes.open(program, 'bare', port),
    await Pushes.open(program, 'gateway', gatewayPort, key),
  ];
  const askers: Asker[] = [...pushes, await Refused.open(gatewayPort)];
  const rounds: Map<string, Cost>[] = [];
  // The first rounds warm up: a node that has just started is compiling.
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const costs = await oneRound(askers, pid);
    if (round >= 0) rounds.push(costs);
  }
  for (const asker of askers) await asker.close();
  await group.stop();
  return figuresOf(threads, rounds);
}

async function oneRound(askers: readonly Asker[], pid: number): Promise<Map<string, Cost>> {
  const costs = new Map<string, Cost>();
  for (let turn = 0; turn < TURNS; turn++) {
    for (const asker of turn % 2 === 0 ? askers : [...askers].reverse()) {
      const [core, whole] = [mainThreadSeconds(pid), processorSeconds([pid])];
      const asked = await asker.turn();
      const before = costs.get(asker.name) ?? { requests: 0, coreSeconds: 0, seconds: 0 };
      costs.set(asker.name, {
        requests: before.requests + asked,
        coreSeconds: before.coreSeconds + mainThreadSeconds(pid) - core,
        seconds: before.seconds + processorSeconds([pid]) - whole,
      });
    }
  }
  return costs;
}

function figuresOf(threads: number, rounds: readonly Map<string, Cost>[]): readonly Figure[] {
  const us = (name: string, of: 'coreSeconds' | 'seconds') =>
    rounds.map((costs) => {
      const { requests, [of]: seconds } = costs.get(name) ?? {
        requests: 0,
        coreSeconds: 0,
        seconds: 0,
      };
      return (1e6 * seconds) / requests;
    });
  const ratios = (of: 'coreSeconds' | 'seconds') => {
    const bare = us('bare', of);
    return us('gateway', of).map((value, round) => value / (bare[round] ?? Number.NaN));
  };
  const by = `${threads} front threads`;
  const figures: Figure[] = [];
  for (const name of ['bare', 'gateway', 'refused']) {
    figures.push(figure(`${name}, broker's thread`, 'us', us(name, 'coreSeconds'), by));
    figures.push(figure(`${name}, process`, 'us', us(name, 'seconds'), by));
  }
  figures.push(figure("gateway / bare, broker's thread", '', ratios('coreSeconds'), by));
  const target = threads === 0 ? atMost(RATIO_MAX) : null;
  figures.push(figure('gateway / bare, process', '', ratios('seconds'), by, target));
  return figures;
}

/** A tenant whose plan limits nothing that is measured; resolves with its key. */
async function newTenant(port: number): Promise<string> {
  const body = {
    tenant_slug: 'bench',
    admin_email: 'admin@bench.example',
    plan: 'dedicated-s',
  };
  const untilMs = performance.now() + READY_MS_MAX;
  const ask = async (method: string, path: string, body: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'x-svc-cp-token': TOKEN },
      body: JSON.stringify(body),
    });
    return { status: answer.status, text: await answer.text() };
  };
  for (;;) {
    const { status, text } = await ask('POST', '/api/cp/bootstrap', body);
    if (status === 200) {
      const { api_key: key, cluster_id: id } = JSON.parse(text);
      const limits = Object.fromEntries(
        ['max_req_per_sec', 'req_burst', 'max_msgs_per_sec', 'msgs_burst'].map((n) => [
          n,
          UNLIMITED,
        ]),
      );
      const set = await ask('PUT', `/api/cp/clusters/${id}/overrides`, {
        ...limits,
        max_partitions_per_queue: 1000,
      });
      if (set.status !== 200) throw new Error(`overrides: ${set.text}`);
      return key as string;
    }
    if (performance.now() > untilMs) throw new Error(`no tenant: ${status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Single pushes to the gateway with a key, or to the plain port without one. */
function requests(key?: string): readonly Buffer[] {
  const host = key === undefined ? undefined : HOST;
  return pushRequests(QUEUE, PARTITIONS, 1, PAYLOAD_BYTES, key, host);
}

/** The load program, in a closed loop. */
class Pushes implements Asker {
  readonly name: string;
  readonly #load: RunningLoad;

  private constructor(name: string, load: RunningLoad) {
    this.name = name;
    this.#load = load;
  }

  static async open(program: LoadProgram, name: string, port: number, key?: string) {
    const target: LoadTarget = { protocol: 'http', ports: [port], queue: QUEUE, kind: '' };
    const items = requests(key);
    const load: Load = { ...target, work: 'publish', items, connections: CONNECTIONS, batch: 1 };
    return new Pushes(name, await program.open(load));
  }

  async turn(): Promise<number> {
    const plan = { warmUpSeconds: LEAD_IN_SECONDS, seconds: TURN_SECONDS };
    return (await this.#load.turn(plan)).whole.messages;
  }

  close(): Promise<void> {
    return this.#load.close();
  }
}

/** Pushes with a key that nobody has, from this process. */
class Refused implements Asker {
  readonly name = 'refused';
  readonly #connections: HttpConnection[] = [];
  readonly #request = requests('qk_live_nobody')[0] as Buffer;
  #untilMs = 0;
  #asked = 0;
  #open = 0;
  #done = () => {};

  static async open(port: number): Promise<Refused> {
    const refused = new Refused();
    await refused.#connect(port);
    return refused;
  }

  async #connect(port: number): Promise<void> {
    for (let at = 0; at < CONNECTIONS; at++) {
      const connection = await HttpConnection.open(
        { host: '127.0.0.1', port },
        {
          onAnswer: (status, body) => {
            if (status !== 401) throw new Error(`not refused: ${status} ${body}`);
            this.#asked++;
            this.#open--;
            if (performance.now() < this.#untilMs) this.#ask(connection);
            else if (this.#open === 0) this.#done();
          },
          onClosed: (reason) => {
            throw reason;
          },
        },
      );
      this.#connections.push(connection);
    }
  }

  turn(): Promise<number> {
    this.#untilMs = performance.now() + 1000 * TURN_SECONDS;
    this.#asked = 0;
    return new Promise((resolve) => {
      this.#done = () => resolve(this.#asked);
      for (const connection of this.#connections) this.#ask(connection);
    });
  }

  #ask(connection: HttpConnection): void {
    this.#open++;
    connection.send(this.#request);
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.destroy();
  }
}
