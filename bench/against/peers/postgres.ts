// PostgreSQL with one table as the queue. It refuses to run as root; then it runs as its own user.

import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@svc/test';
import type { System } from '../../load/system.js';
import { nameOf, type PeerPlan } from '../peer.js';
import { ServerProcess } from '../server-process.js';

const DEBIAN_FOLDER = '/usr/lib/postgresql';
const USER = 'postgres';

/** The path of a program of the newest installed version, or its name if none is installed. */
function pathOf(name: string): string {
  const versions = existsSync(DEBIAN_FOLDER) ? readdirSync(DEBIAN_FOLDER).map(Number) : [];
  const newest = Math.max(0, ...versions.filter(Number.isFinite));
  const path = join(DEBIAN_FOLDER, `${newest}`, 'bin', name);
  return existsSync(path) ? path : name;
}

export function postgresNeeds(): readonly { program: string; debianPackage: string }[] {
  return ['initdb', 'postgres'].map((name) => ({
    program: pathOf(name),
    debianPackage: 'postgresql',
  }));
}

/** As its manual advises for a machine of its own; durability is that of the defaults. */
const TUNED = {
  synchronous_commit: 'on',
  fsync: 'on',
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  wal_buffers: '64MB',
  checkpoint_timeout: '15min',
  autovacuum_naptime: '1s',
} as const;

const LABEL = 'one table, a prepared INSERT of a batch; SKIP LOCKED and DELETE in one transaction';
const LABELS = {
  durable:
    'synchronous_commit=on, 1 GB of shared buffers, 8 GB of WAL between checkpoints; ' +
    'acknowledged = synced',
  defaults: 'as it comes, synchronous_commit=on; acknowledged = synced',
} as const;

export async function startPostgres(plan: PeerPlan): Promise<System> {
  const { scratch, program, queue, setting } = plan;
  const directory = scratch.directory('postgres');
  const data = join(directory, 'data');
  const user = process.getuid?.() === 0 ? userNamed(USER) : null;
  mkdirSync(data, { mode: 0o700 });
  chmodSync(directory, 0o755);
  if (user !== null) chownSync(data, user.uid, user.gid);
  initialize(data, user);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    unix_socket_directories: '',
    max_connections: '4200',
    ...(setting === 'durable' ? TUNED : {}),
  };
  const server = await ServerProcess.start(
    {
      program: pathOf('postgres'),
      arguments: ['-D', data].concat(
        Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ),
      environment: {},
      user,
      port,
      logFile: join(directory, 'log'),
      // Ends at once, with its children, and writes no checkpoint.
      endSignal: 'SIGQUIT',
    },
    scratch,
  );
  const target = { protocol: 'postgres', ports: [port], queue, kind: '' } as const;
  const version = /starting PostgreSQL ([\d.]+)/.exec(server.log())?.[1] ?? 'unknown';
  return {
    name: nameOf('postgres', setting),
    about: `${version}, ${LABEL}; ${LABELS[setting]}`,
    target,
    pids: [server.pid],
    create: () => program.administer('create', target),
    remove: () => program.administer('remove', target),
    stop: async () => {
      await server.stop();
      scratch.remove(directory);
    },
  };
}

interface User {
  readonly uid: number;
  readonly gid: number;
}

function userNamed(name: string): User {
  const ask = (option: string): number =>
    Number(spawnSync('id', [option, name], { encoding: 'utf8' }).stdout.trim() || Number.NaN);
  const user = { uid: ask('-u'), gid: ask('-g') };
  if (!Number.isInteger(user.uid) || !Number.isInteger(user.gid)) {
    throw new Error(`postgres does not run as root, and there is no user ${name}`);
  }
  return user;
}

function initialize(data: string, user: User | null): void {
  const { status, stdout, stderr, error } = spawnSync(
    pathOf('initdb'),
    ['-D', data, '-A', 'trust', '-U', USER, '-E', 'UTF8', '--locale', 'C', '--no-sync'],
    { encoding: 'utf8', cwd: data, ...(user ?? {}) },
  );
  if (status !== 0) {
    throw new Error(`initdb failed: ${error?.message ?? ''}${stdout}${stderr}`);
  }
}
