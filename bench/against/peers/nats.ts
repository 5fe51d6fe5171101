// NATS JetStream with one stream in files and one durable pull consumer.
//
// `sync_interval: always` is known from 2.10 on. An older server gets the same meaning from the
// file system: its directory is marked synchronous (chattr +S, which new files inherit), so that
// each of its writes is on disk before the server goes on.

import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@svc/test';
import type { System } from '../../load/system.js';
import { LoadProgramError } from '../../native/load-program.js';
import { nameOf, type PeerPlan } from '../peer.js';
import { ServerProcess } from '../server-process.js';

export const NATS_NEEDS = [
  { program: 'nats-server', debianPackage: 'nats-server' },
  { program: 'chattr', debianPackage: 'e2fsprogs' },
];

const CREATE_MS_MAX = 30_000;
const POLL_MS = 200;

export async function startNats(plan: PeerPlan): Promise<System> {
  const { scratch, program, queue, setting, nodes } = plan;
  const directory = scratch.directory('nats');
  const version = installedVersion();
  const knowsSync = isAtLeast(version, 2, 10);
  const places: (readonly [client: number, route: number])[] = [];
  for (let i = 0; i < nodes; i += 1) places.push([await freePort(), await freePort()]);
  const servers = await Promise.all(
    places.map(async ([client, route], index) => {
      const store = join(directory, `store-${index + 1}`);
      mkdirSync(store);
      if (setting === 'durable' && !knowsSync) makeSynchronous(store);
      const file = join(directory, `${index + 1}.conf`);
      const sync = setting === 'durable' && knowsSync ? 'sync_interval: always' : '';
      writeFileSync(file, configuration({ index, client, route, store, sync, places }));
      const log = join(directory, `${index + 1}.log`);
      return ServerProcess.start(
        {
          program: 'nats-server',
          arguments: ['-c', file],
          environment: {},
          user: null,
          port: client,
          logFile: log,
          endSignal: 'SIGKILL',
        },
        scratch,
      );
    }),
  );
  const ports = places.map(([client]) => client);
  const target = { protocol: 'nats', ports, queue, kind: `${nodes}` } as const;
  return {
    name: nameOf('nats', setting),
    about: `${version}, ${labelOf(plan, knowsSync)}`,
    target,
    pids: servers.map((server) => server.pid),
    create: () => whenFormed(() => program.administer('create', target)),
    remove: () => program.administer('remove', target),
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      scratch.remove(directory);
    },
  };
}

function labelOf({ setting, nodes }: PeerPlan, knowsSync: boolean): string {
  const always = knowsSync ? 'sync_interval: always' : 'its files synchronous (chattr +S)';
  const copies = nodes > 1 ? `R${nodes}` : 'R1';
  return (
    `one stream, ${copies}, file store, publishes with acknowledgement; pull consumer, an ack ` +
    'for each message, not answered; ' +
    (setting === 'durable'
      ? `${always}; acknowledged = synced`
      : 'as it comes: synced every 2 minutes; acknowledged = in the page cache')
  );
}

interface NodePlace {
  readonly index: number;
  readonly client: number;
  readonly route: number;
  readonly store: string;
  readonly sync: string;
  readonly places: readonly (readonly [client: number, route: number])[];
}

function configuration({ index, client, route, store, sync, places }: NodePlace): string {
  const routes = places.map(([, port]) => `"nats://127.0.0.1:${port}"`).join(', ');
  const cluster = `cluster {
  name: bench
  listen: "127.0.0.1:${route}"
  routes: [${routes}]
}
`;
  return `listen: "127.0.0.1:${client}"
server_name: "bench-${index + 1}"
jetstream {
  store_dir: ${JSON.stringify(store)}
  max_file_store: 64GB
  ${sync}
}
${places.length > 1 ? cluster : ''}`;
}

function installedVersion(): string {
  const { stdout } = spawnSync('nats-server', ['--version'], { encoding: 'utf8' });
  return /v?(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? 'unknown';
}

function isAtLeast(version: string, major: number, minor: number): boolean {
  const [has = 0, hasMinor = 0] = version.split('.').map(Number);
  return has > major || (has === major && hasMinor >= minor);
}

function makeSynchronous(directory: string): void {
  const { status, stderr, error } = spawnSync('chattr', ['+S', directory], { encoding: 'utf8' });
  if (status !== 0) {
    throw new Error(
      `nats-server before 2.10 syncs each message only on a synchronous directory, and chattr +S ` +
        `failed: ${error?.message ?? stderr.trim()}`,
    );
  }
}

/** A cluster that has just started refuses streams until it has a leader. */
async function whenFormed(create: () => Promise<void>): Promise<void> {
  const untilMs = performance.now() + CREATE_MS_MAX;
  for (;;) {
    try {
      await create();
      return;
    } catch (error) {
      if (!(error instanceof LoadProgramError) || performance.now() > untilMs) throw error;
      await sleep(POLL_MS);
    }
  }
}
