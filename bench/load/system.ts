// A system under load, ours and others alike: started, spoken to by the load program, emptied after
// each round, stopped.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadProgram, LoadTarget } from '../native/load-program.js';
import { renderProfiles } from '../report/profile.js';
import { checkoutRoot } from '../rig/checkout.js';
import { HttpExchange } from '../rig/http-exchange.js';
import { NodeGroup } from '../rig/node-group.js';
import type { Scratch } from '../rig/scratch.js';

export interface System {
  readonly name: string;
  /** Its version, and what its acknowledgement means. */
  readonly about: string;
  readonly target: LoadTarget;
  /** Its servers; their children count as well. Empty: they are not on this machine. */
  readonly pids: readonly number[];
  /** Nodes of ours among them: the broker's thread is their first. */
  readonly nodePids?: readonly number[] | undefined;
  /** The queue is there, and empty. */
  readonly create: () => Promise<void>;
  /** The queue is gone, with all its messages. */
  readonly remove: () => Promise<void>;
  /** Its processes and directories are gone. */
  readonly stop: () => Promise<void>;
}

export interface SystemPlan {
  readonly scratch: Scratch;
  readonly program: LoadProgram;
  readonly queue: string;
  readonly nodes: number;
  readonly profile: boolean;
}

const REMOVED_MS_MAX = 60_000;
/** The rates of a tenant are not what is measured. */
const UNLIMITED = '1000000000';
const ENVIRONMENT = { SVC_KV_WRITE_RATE: UNLIMITED, SVC_KV_WRITE_BURST: UNLIMITED };

/** Nodes of this checkout, or of another one, on this machine. `threads`: of each; as it comes. */
export async function startOwn(
  { scratch, queue, nodes, profile }: SystemPlan,
  name: string,
  entry: string | undefined,
  threads?: number,
): Promise<System> {
  const profiles = join(checkoutRoot(), 'bench', 'results', 'profiles');
  const startedMs = Date.now();
  const group = await NodeGroup.start(scratch, nodes, entry, {
    environment: {
      ...ENVIRONMENT,
      ...(threads === undefined ? {} : { SVC_HTTP_THREADS: String(threads) }),
    },
    runtimeArguments: profile ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : [],
  });
  const leader = await group.leader();
  const target = {
    protocol: 'http',
    ports: group.nodes.map((node) => node.process.plan.port),
    queue,
    kind: '',
  } as const;
  const pids = group.nodes.map((node) => node.process.pid);
  return {
    name,
    about: `${ownVersion()} of ${entry ?? 'this checkout'}; acknowledged = synced by a majority`,
    target,
    pids,
    nodePids: pids,
    create: async () => undefined,
    remove: () => deleteQueue(target, leader.process.plan.port),
    stop: async () => {
      await group.stop();
      if (profile) process.stdout.write(`${renderProfiles(profiles, startedMs)}\n`);
    },
  };
}

/** A node or a balancer that runs somewhere: its processor time is unknown. */
export function reach(url: URL, host: string, token: string | undefined, queue: string): System {
  const port = Number(url.port || 80);
  const base = { protocol: 'http', host, ports: [port], queue, kind: '' } as const;
  const target = token === undefined ? base : { ...base, token };
  return {
    name: url.host,
    about: 'as it runs there',
    target,
    pids: [],
    create: async () => undefined,
    remove: () => deleteQueue(target, port),
    stop: async () => undefined,
  };
}

async function deleteQueue({ host = '127.0.0.1', queue, token }: LoadTarget, port: number) {
  const exchange = new HttpExchange({ host, port }, token);
  try {
    const path = `/api/v1/resources/queues/${queue}`;
    const { status, body } = await exchange.request('DELETE', path, undefined, REMOVED_MS_MAX);
    if (status !== 200) throw new Error(`DELETE ${path}: ${status} ${body.toString('utf8')}`);
  } finally {
    exchange.close();
  }
}

function ownVersion(): string {
  const manifest = readFileSync(join(checkoutRoot(), 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
