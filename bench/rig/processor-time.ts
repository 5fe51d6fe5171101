// What a server used of the processors: the sum over its processes and all that descend from them,
// for some servers have one for each connection. The kernel's count in nanoseconds is read, thread
// by thread: its count in ticks of 10 ms says nothing of a process that worked for a part of one.

import { readdirSync, readFileSync } from 'node:fs';

/** In seconds. A thread that has ended takes its time with it. */
export function processorSeconds(roots: readonly number[]): number {
  const children = childrenByParent();
  let nanoseconds = 0;
  const open = [...roots];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    for (const thread of namesIn(`/proc/${pid}/task`)) {
      nanoseconds += threadNanoseconds(pid, thread);
    }
    open.push(...(children.get(pid) ?? []));
  }
  return nanoseconds / 1e9;
}

/** Of the first thread of a process, in seconds. */
export function mainThreadSeconds(pid: number): number {
  return threadNanoseconds(pid, String(pid)) / 1e9;
}

/** Times of a thread since it began, in milliseconds. */
export interface ThreadTimes {
  /** On a processor. */
  readonly ranMs: number;
  /** Ready to run, while others had the processors. */
  readonly waitedMs: number;
}

export const NO_TIMES: ThreadTimes = { ranMs: 0, waitedMs: 0 };

/** Times of all threads of a process, by their numbers. */
export function threadTimes(pid: number): ReadonlyMap<number, ThreadTimes> {
  const times = new Map<number, ThreadTimes>();
  for (const thread of namesIn(`/proc/${pid}/task`)) {
    const [ran = 0, waited = 0] = schedule(pid, thread);
    times.set(Number(thread), { ranMs: ran / 1e6, waitedMs: waited / 1e6 });
  }
  return times;
}

function threadNanoseconds(pid: number, thread: string): number {
  return schedule(pid, thread)[0] ?? 0;
}

/** Nanoseconds on a processor, nanoseconds of waiting for one, time slices. */
function schedule(pid: number, thread: string): readonly number[] {
  return textOf(`/proc/${pid}/task/${thread}/schedstat`).split(' ').map(Number);
}

function childrenByParent(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const name of namesIn('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    // The name of the program may hold anything; behind its bracket stand the state and the parent.
    const stat = textOf(`/proc/${pid}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [pid]);
    else siblings.push(pid);
  }
  return children;
}

/** Empty when the process has ended meanwhile. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
