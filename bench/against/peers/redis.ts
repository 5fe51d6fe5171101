// Redis with one stream and one consumer group.

import { join } from 'node:path';
import { freePort } from '../../node-process.js';
import { ServerProcess } from '../server-process.js';
import { QUEUE, type RunningSystem, type SystemPlan } from './system.js';

export const REDIS_NEEDS = [{ program: 'redis-server', debianPackage: 'redis-server' }];

/** Rewriting its file in the middle of a window would be work that the window did not make. */
const DURABLE = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''].concat([
  '--auto-aof-rewrite-percentage',
  '0',
]);

const LABELS = {
  durable: 'appendonly yes, appendfsync always, no snapshots; acknowledged = synced',
  defaults: 'snapshots only (save 3600 1 300 100 60 10000); acknowledged = in memory',
} as const;

export async function startRedis(plan: SystemPlan): Promise<RunningSystem> {
  const { scratch, load, setting } = plan;
  const directory = scratch.directory('redis');
  const port = await freePort();
  const server = await ServerProcess.start(
    {
      program: 'redis-server',
      arguments: ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', directory].concat(
        setting === 'durable' ? DURABLE : [],
      ),
      environment: {},
      user: null,
      port,
      logFile: join(directory, 'log'),
      // It would write a snapshot at SIGTERM.
      endSignal: 'SIGKILL',
    },
    scratch,
  );
  const target = { protocol: 'redis', ports: [port], queue: QUEUE, kind: '' } as const;
  return {
    contender: {
      system: 'redis',
      setting,
      nodes: 1,
      version: /Redis version=([\d.]+)/.exec(server.log())?.[1] ?? 'unknown',
      label:
        `one stream, XADD pipelined; XREADGROUP and XACK in one write, entries stay; ` +
        LABELS[setting],
    },
    target,
    pids: [server.pid],
    create: () => load.administer('create', target),
    remove: () => load.administer('remove', target),
    stop: async () => {
      await server.stop();
      scratch.remove(directory);
    },
  };
}
