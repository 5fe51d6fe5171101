/** How a process ends by itself: at a named point of the broker's own code, or by a fault. */
import { CRASH_POINTS, type CrashPoint } from '@svc/broker';
import type { MachineOptions } from './machine-options.js';

/** Unwinds a process that has been killed or has ended itself. */
export class ProcessEnded extends Error {
  readonly code = 'process_ended';
}

/** Some lives end at a point; which, and at which pass, is drawn when they begin. */
export function armedPoint(
  { random, faults, surroundings, counts, number }: MachineOptions,
  faultsOn: boolean,
): (point: CrashPoint) => void {
  const points = Object.keys(CRASH_POINTS) as CrashPoint[];
  const armed = faults.has('point') && faultsOn && random.chance(0.4);
  if (!armed) return () => {};
  const target = random.pick(points);
  let left = random.pick([1, 1, 2, 5, 20]);
  return (point) => {
    if (point !== target) return;
    left--;
    if (left > 0) return;
    surroundings.note(`point ${number} ${point}`);
    counts.point++;
    throw new ProcessEnded(point);
  };
}
