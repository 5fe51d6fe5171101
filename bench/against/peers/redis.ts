// Redis with one stream and one consumer group.

import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@svc/test';
import type { System } from '../../load/system.js';
import type { Scratch } from '../../rig/scratch.js';
import { nameOf, type PeerPlan } from '../peer.js';
import { ServerProcess } from '../server-process.js';

export const REDIS_NEEDS = [{ program: 'redis-server', debianPackage: 'redis-server' }];

const TIDIED_MS_MAX = 60_000;
const LOOK_MS = 10;

/**
 * Rewriting its file in the middle of a window would be work that the window did not make. It is
 * rewritten after each, see `tidy`.
 */
export const DURABLE_REDIS = [
  '--appendonly',
  'yes',
  '--appendfsync',
  'always',
  '--save',
  '',
].concat(['--auto-aof-rewrite-percentage', '0']);

const LABEL = 'one stream, XADD pipelined; XREADGROUP and XACK in one write, entries stay';
const LABELS = {
  durable: 'appendonly yes, appendfsync always, no snapshots; acknowledged = synced',
  defaults:
    'snapshots (save 3600 1 300 100 60 10000), one before each window; acknowledged = in memory',
} as const;

export async function redisServer(scratch: Scratch, settings: readonly string[]) {
  const directory = scratch.directory('redis');
  const port = await freePort();
  const server = await ServerProcess.start(
    {
      program: 'redis-server',
      arguments: ['--bind', '127.0.0.1', '--port', `${port}`, '--dir', directory, ...settings],
      environment: {},
      user: null,
      port,
      logFile: join(directory, 'log'),
      // It would write a snapshot at SIGTERM.
      endSignal: 'SIGKILL',
    },
    scratch,
  );
  const stop = async (): Promise<void> => {
    await server.stop();
    scratch.remove(directory);
  };
  return { server, port, stop };
}

export async function startRedis(plan: PeerPlan): Promise<System> {
  const { scratch, program, queue, setting } = plan;
  const { server, port, stop } = await redisServer(
    scratch,
    setting === 'durable' ? DURABLE_REDIS : [],
  );
  const target = { protocol: 'redis', ports: [port], queue, kind: '' } as const;
  const version = /Redis version=([\d.]+)/.exec(server.log())?.[1] ?? 'unknown';
  return {
    name: nameOf('redis', setting),
    about: `${version}, ${LABEL}; ${LABELS[setting]}`,
    target,
    pids: [server.pid],
    create: async () => {
      if (setting === 'defaults') await tidy(port, 'SAVE');
      await program.administer('create', target);
    },
    remove: async () => {
      await program.administer('remove', target);
      if (setting === 'durable') await tidy(port, 'BGREWRITEAOF');
    },
    stop,
  };
}

/**
 * While there is no stream: what lies on disk becomes as empty as what lies in memory, so that
 * every window begins alike. The append-only file would grow to tens of gigabytes in a run. It goes
 * after a window, as the files of other systems do. And snapshots come a minute after the last one:
 * some windows would have one from their beginning and others none; with one made right before,
 * none has that is shorter than that.
 */
async function tidy(port: number, command: 'BGREWRITEAOF' | 'SAVE'): Promise<void> {
  const untilMs = performance.now() + TIDIED_MS_MAX;
  await whenIdle(port, untilMs);
  await ask(port, command);
  await whenIdle(port, untilMs);
}

/** Neither a snapshot nor a rewrite is under way. Throws an Error when one lasts for too long. */
async function whenIdle(port: number, untilMs: number): Promise<void> {
  const busy = /(rdb_bgsave_in_progress|aof_rewrite_in_progress|aof_rewrite_scheduled):1/;
  while (busy.test(await ask(port, 'INFO persistence'))) {
    if (performance.now() > untilMs) throw new Error('redis: its file was not written in time');
    await sleep(LOOK_MS);
  }
}

/** The answer to one command; an Error when that is one, or the connection fails. */
function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(TIDIED_MS_MAX, () =>
      socket.destroy(new Error(`redis: no answer: ${command}`)),
    );
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.once('error', reject);
    socket.once('close', () => {
      // The last is the answer to QUIT: without it the connection broke.
      const isWhole = answer.endsWith('+OK\r\n') && !answer.startsWith('-');
      if (isWhole) resolve(answer);
      else reject(new Error(`redis: ${command}: ${answer.trim() || 'no answer'}`));
    });
    socket.write(`${command}\r\nQUIT\r\n`);
  });
}
