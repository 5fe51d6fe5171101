// Processors for those who attack and for those who do not, as a machine with more of them has. On
// two that all share, an attack takes from the core what the scheduler gives the attacker, and
// nobody can tell that from what the node itself does for the attack.

import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Subject } from './shares.js';

/** Before anything is bound: this program is told of those that it may run on. */
const PROCESSORS = availableParallelism();

/** The broker's thread, the front thread of the honest client and this program have the first. */
export function setApart({ pid, fronts }: Subject): void {
  if (PROCESSORS < 2) throw new Error('--apart takes two processors');
  bind(pid, 0);
  bind(process.pid, 0);
  for (const [thread, share] of fronts) bind(thread, share === 'attacked front' ? LAST : 0);
}

/** All threads of the attacker have the last. */
export function setAttackerApart(pid: number | undefined): void {
  if (pid === undefined) throw new Error('the attacker did not start');
  bind(pid, LAST, '--all-tasks');
}

const LAST = PROCESSORS - 1;

/** `thread`: the number of a thread; that of a process is its first thread's. */
function bind(thread: number, processor: number, ...more: readonly string[]): void {
  const args = [...more, '--pid', '--cpu-list', `${processor}`, `${thread}`];
  execFileSync('taskset', args, { stdio: 'ignore' });
}
