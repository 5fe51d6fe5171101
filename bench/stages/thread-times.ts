// What the threads of a process did so far, as the kernel counts it.

import { readdirSync, readFileSync } from 'node:fs';

export interface ThreadTime {
  /** On a processor, and ready to run without having one. */
  readonly ranUs: number;
  readonly waitedUs: number;
  /** Of what it ran, in the kernel; counted in ticks of 10 ms. */
  readonly systemUs: number;
}

export interface ProcessTimes {
  readonly main: ThreadTime;
  /** All other threads together. */
  readonly others: ThreadTime;
}

const TICK_US = 10_000;
const SYSTEM_FIELD = 12;

export function processTimes(pid: number): ProcessTimes {
  const times = { main: zero(), others: zero() };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const sum = Number(thread) === pid ? times.main : times.others;
    const [ran = 0, waited = 0] = text(pid, thread, 'schedstat').split(' ').map(Number);
    const stat = text(pid, thread, 'stat');
    const system = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[SYSTEM_FIELD]);
    sum.ranUs += ran / 1000;
    sum.waitedUs += waited / 1000;
    sum.systemUs += system * TICK_US;
  }
  return times;
}

export function since(now: ThreadTime, before: ThreadTime): ThreadTime {
  return {
    ranUs: now.ranUs - before.ranUs,
    waitedUs: now.waitedUs - before.waitedUs,
    systemUs: now.systemUs - before.systemUs,
  };
}

function zero(): { ranUs: number; waitedUs: number; systemUs: number } {
  return { ranUs: 0, waitedUs: 0, systemUs: 0 };
}

function text(pid: number, thread: string, name: string): string {
  return readFileSync(`/proc/${pid}/task/${thread}/${name}`, 'utf8');
}
