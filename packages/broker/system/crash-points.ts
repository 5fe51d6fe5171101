/**
 * Named places where a node can be made to kill itself, so that a test can ask what survives a
 * crash exactly there. `SVC_CRASH_AT=<name>` or `SVC_CRASH_AT=<name>:<n>` (the n-th time the place
 * is reached, from 1) arms one of them; it is meant for tests alone.
 *
 * What must hold:
 * - Death is SIGKILL: no handler runs, no buffer is flushed, nothing after the point happens.
 * - A name that is not in the list refuses the boot, so that a test of a renamed point cannot pass
 *   by never dying.
 * - Unset, every point is a call of one empty function, and disk and store are not wrapped at all.
 */

/** Each point with the instant it stands for, in the order one write meets them. */
export const CRASH_POINTS = Object.freeze({
  'before-replay': 'The directory is open; nothing of the log has been replayed.',
  'before-listen': 'Everything is replayed and this node leads; the port is not open yet.',
  'after-drain': 'A turn begins with the commands that wait; none is planned.',
  'after-plan': 'The entry of a turn is planned and not proposed.',
  'after-propose': 'The entry has been handed to consensus and its log write has been asked for.',
  'log-before-write': 'A write to a segment of the log is about to be given to the system.',
  'log-after-write': 'A write to a segment is done and not synced.',
  'log-before-sync': 'A sync of a segment is about to be asked for.',
  'log-after-sync': 'A segment is synced; nobody has been told.',
  'log-roll': 'A new segment file is about to be created.',
  'log-after-roll': 'A new segment file exists and is empty.',
  'log-directory-sync': 'The names in the log directory are about to be synced.',
  'hard-state-write': 'Term and vote are about to be written.',
  'hard-state-after-write': 'Term and vote are written and not synced.',
  'hard-state-after-sync': 'Term and vote are synced; nobody has been told.',
  'before-apply': 'A committed entry is about to be applied.',
  'inside-apply': 'Some of the effects of an entry are applied.',
  'after-apply': 'An entry is applied and none of its answers is out.',
  'before-answer': 'An answer is about to be given to its connection.',
  'before-checkpoint': 'The rows of a checkpoint are about to be given to the store.',
  'checkpoint-commit': 'All rows of a checkpoint are given; the commit is about to be asked for.',
  'after-checkpoint': 'A checkpoint is durable; nobody has been told.',
  'stop-drained': 'A node that stops has answered everything and closed nothing yet.',
  'stop-checkpointed': 'A node that stops has written its last checkpoint and closed no file yet.',
});

/** Places at which a front thread fails alone, as by a bug, and again in each of its lives. */
export const THREAD_CRASH_POINTS = Object.freeze({
  'front-thread': 'A front thread is given an answer of the core; it is not handed on.',
});

export type CrashPoint = keyof typeof CRASH_POINTS;
export type ThreadCrashPoint = keyof typeof THREAD_CRASH_POINTS;

/** Called at each point. */
export type Reach = (point: CrashPoint) => void;
/** The same in front threads. */
export type ReachInThread = (point: ThreadCrashPoint) => void;

export type CrashSetting =
  | { readonly kind: 'unarmed'; readonly reach: Reach }
  | { readonly kind: 'armed'; readonly reach: Reach; readonly reachInThread?: ReachInThread }
  | { readonly kind: 'refused'; readonly error: string };

const nothing: Reach = () => {};

/** `setting` is the value of `SVC_CRASH_AT`; `die` must not return. */
export function readCrashSetting(setting: string | undefined, die: () => void): CrashSetting {
  if (setting === undefined) return { kind: 'unarmed', reach: nothing };
  const [name = '', count = '1', ...rest] = setting.split(':');
  if (!isCrashPoint(name) || !/^[1-9]\d{0,8}$/.test(count) || rest.length > 0) {
    const names = Object.keys({ ...CRASH_POINTS, ...THREAD_CRASH_POINTS }).join(', ');
    const error = `SVC_CRASH_AT=${setting}: expected <name> or <name>:<n> with one of: ${names}`;
    return { kind: 'refused', error };
  }
  let left = Number(count);
  const reach = (point: CrashPoint | ThreadCrashPoint) => {
    if (point !== name) return;
    left--;
    if (left === 0) die();
  };
  return { kind: 'armed', reach, reachInThread: reach };
}

/** Ends this process as a power switch would, as far as a process can. */
export function dieByKill(): void {
  process.kill(process.pid, 'SIGKILL');
}

function isCrashPoint(name: string): name is CrashPoint | ThreadCrashPoint {
  return Object.hasOwn(CRASH_POINTS, name) || Object.hasOwn(THREAD_CRASH_POINTS, name);
}
