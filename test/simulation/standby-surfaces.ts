/**
 * The clients of the state surfaces in a run with a source and a standby. They read only where
 * writes are taken: a standby would show them what was.
 */
import type { ClientNetwork } from './client-network.js';
import { type Cluster, SKEW_SAFE_US } from './cluster.js';
import { BOOT_BACK_US } from './machine-options.js';
import type { SurfaceClientOptions } from './surface-client.js';
import { LIFETIME_MS, Surfaces, TIMER_MS_MAX } from './surfaces.js';

export interface StandbySurfacesOptions
  extends Pick<SurfaceClientOptions, 'loop' | 'pace' | 'note' | 'isDoubtful' | 'losses'> {
  readonly seed: number;
  /** Those of the standby come after those of the source. */
  readonly doors: ClientNetwork;
  readonly source: Cluster;
  readonly standby: Cluster;
}

export function standbySurfaces(options: StandbySurfacesOptions): Surfaces {
  const { seed, doors, source, standby, ...common } = options;
  const firstDoor = source.machines.length;
  const apartMs = LIFETIME_MS + SKEW_SAFE_US / 1000;
  const isPrimary = (door: number) => {
    if (door <= firstDoor) return true;
    return standby.machine(door - firstDoor).node?.parts.role.isStandby === false;
  };
  const restarts = ({ starts, machines }: Cluster) => starts - machines.length;
  return new Surfaces(seed, {
    ...common,
    network: { caller: () => doors.caller(isPrimary) },
    delayMsMax: TIMER_MS_MAX.standby,
    clockBreaksMs: standby.leaseBreaksMs,
    earlyMsMax: apartMs,
    lateMs: () => apartMs + (BOOT_BACK_US / 1000) * (restarts(source) + restarts(standby)),
    effectUntilMs: (beganMs) => {
      return Math.max(source.effectUntilMs(beganMs), standby.effectUntilMs(beganMs));
    },
    isAhead: (door) => {
      return door > firstDoor ? standby.isAhead(door - firstDoor) : source.isAhead(door);
    },
    timerBreaksMs: standby.timerBreaksMs,
    voters: () => standby.voters.map((number) => number + firstDoor),
  });
}
