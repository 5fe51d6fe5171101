// Shares of the processors, and waits for them, while the honest client pushed: the threads of
// the node one by one, what else runs in it, the honest client, and the attacker. A thread that
// runs no more for a push than in peace does nothing for the attack; one that waits longer is kept
// from the processors by whoever runs.

import { setTimeout as sleep } from 'node:timers/promises';
import { NO_TIMES, type ThreadTimes, threadTimes } from '../rig/processor-time.js';
import { type Loop, threadOfLoop } from './thread-places.js';

const TRY_MS = 10;
const TRIES_MAX = 1000;

export const SHARES = [
  'core',
  'own front',
  'attacked front',
  'rest',
  'client',
  'attacker',
] as const;
export type Share = (typeof SHARES)[number];
export type Shares = Readonly<Record<Share, ThreadTimes>>;

export interface Subject {
  readonly pid: number;
  /** By thread number: the front threads, as far as there are any. */
  readonly fronts: ReadonlyMap<number, Share>;
}

/** While nobody asks anything of the node: a thread is found while it waits for its loop. */
export async function subjectOf(
  pid: number,
  own: Loop | null,
  attacked: Loop | null,
): Promise<Subject> {
  const fronts = new Map<number, Share>();
  for (const [loop, share] of [
    [own, 'own front'],
    [attacked, 'attacked front'],
  ] as const) {
    if (loop === null) continue;
    let thread = threadOfLoop(pid, loop);
    for (let tries = 0; thread === null && tries < TRIES_MAX; tries++) {
      await sleep(TRY_MS);
      thread = threadOfLoop(pid, loop);
    }
    if (thread === null) throw new Error(`no thread of the node waits for its loop ${loop}`);
    if (thread !== pid) fronts.set(thread, share);
  }
  return { pid, fronts };
}

/** Starts a window; the function that it returns ends it. */
export function measureShares({ pid, fronts }: Subject, attacker: number | null): () => Shares {
  const processes = [pid, process.pid, ...(attacker === null ? [] : [attacker])];
  const before = processes.map(threadTimes);
  return () => {
    const shares = Object.fromEntries(SHARES.map((share) => [share, NO_TIMES])) as Record<
      Share,
      ThreadTimes
    >;
    processes.forEach((one, at) => {
      for (const [thread, { ranMs, waitedMs }] of threadTimes(one)) {
        const since = before[at]?.get(thread) ?? NO_TIMES;
        const share = shareOf(one, thread);
        const sum = shares[share];
        shares[share] = {
          ranMs: sum.ranMs + ranMs - since.ranMs,
          waitedMs: sum.waitedMs + waitedMs - since.waitedMs,
        };
      }
    });
    return shares;
  };

  function shareOf(one: number, thread: number): Share {
    if (one === process.pid) return 'client';
    if (one !== pid) return 'attacker';
    return thread === pid ? 'core' : (fronts.get(thread) ?? 'rest');
  }
}
