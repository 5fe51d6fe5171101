// Where the main thread was in a part of a CPU profile, by stage.
//
// The profiler looks at the thread at fixed moments of the clock, whether it runs or waits for a
// processor, and calls it idle in all that the loop does outside of JavaScript: waiting, but also
// reading sockets and parsing heads. How long it really ran is known to the kernel. So samples in
// JavaScript are scaled by the part of its ready time in which the thread ran, and what it ran
// beyond them is the library's.

import type { CpuProfile } from '../load/profile.js';
import { STAGES, type Stage, stageOf } from './stage-table.js';
import type { ThreadTime } from './thread-times.js';

export interface MainThread {
  readonly stages: { readonly [stage in Stage]: number };
  readonly collectorUs: number;
  /** The HTTP library and the loop: waiting apart, what is neither JavaScript nor called by it. */
  readonly libraryUs: number;
  readonly idleUs: number;
}

/** On the clock of the profile, which is the monotonic one, in microseconds. */
export interface Window {
  readonly beginUs: number;
  readonly endUs: number;
}

/** `ran` is what the kernel says of the thread in the window; `root` the checkout's address. */
export function mainThread(
  profile: CpuProfile,
  window: Window,
  ran: ThreadTime,
  root: string,
): MainThread {
  const stages = new Map<Stage, number>();
  const running = ran.ranUs / (ran.ranUs + ran.waitedUs);
  let collector = 0;
  let known = 0;
  const placeOf = placesOf(profile, root);
  let at = profile.startTime;
  for (const [index, node] of profile.samples.entries()) {
    const tookUs = Math.max(0, profile.timeDeltas[index] ?? 0);
    at += tookUs;
    if (at < window.beginUs || at >= window.endUs) continue;
    const place = placeOf.get(node) ?? 'idle';
    if (place === 'idle') continue;
    const usedUs = tookUs * running;
    known += usedUs;
    if (place === 'collector') collector += usedUs;
    else stages.set(place, (stages.get(place) ?? 0) + usedUs);
  }
  const inStages = STAGES.map((stage) => [stage, stages.get(stage) ?? 0] as const);
  return {
    stages: Object.fromEntries(inStages) as { [stage in Stage]: number },
    collectorUs: collector,
    libraryUs: Math.max(0, ran.ranUs - known),
    idleUs: Math.max(0, window.endUs - window.beginUs - ran.ranUs - ran.waitedUs),
  };
}

type Place = Stage | 'collector' | 'idle';

/** Of each node of the call tree, by its own file and those of its callers. */
function placesOf(profile: CpuProfile, root: string): ReadonlyMap<number, Place> {
  const parents = new Map<number, number>();
  const files = new Map<number, string>();
  for (const { id, callFrame, children } of profile.nodes) {
    files.set(id, callFrame.url.startsWith(root) ? callFrame.url.slice(root.length) : '');
    for (const child of children ?? []) parents.set(child, id);
  }
  return new Map(
    profile.nodes.map(({ id, callFrame }) => {
      const { functionName } = callFrame;
      if (functionName === '(garbage collector)') return [id, 'collector'];
      if (functionName === '(idle)' || functionName === '(program)') return [id, 'idle'];
      const stack: string[] = [];
      for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
        stack.push(files.get(at) ?? '');
      }
      return [id, stageOf(stack)];
    }),
  );
}
