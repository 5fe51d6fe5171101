/**
 * The seeded hunts. Each takes a seed and answers with what it found wrong, or null; an error that
 * the program throws is a finding too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Focus } from '@svc/raft/testing';
import type { ShapeName } from '../simulation/shape.js';
import type { HuntName } from './bug.js';

export type Hunt = (seed: number) => string | null;

/** Seen from `test/dist/planted`. */
const SCRIPTS = new URL('../../../raft/testing/scenarios/scripts/', import.meta.url);
const STORM_STEPS = 1000;
const MODEL_STATES_MAX = 120_000;
/** As in simulation.test.ts: a seed that is known to find a bug needs no more time to show it. */
const SINGLE_MS = 500;
const CLUSTER_MS = 20_000;
const BUSY_MS = 6000;
const STANDBY_MS = 8000;
const JOINED_MS = 3000;
/** The program as it is comes to rest within it: planted.test.ts runs it with the same seeds. */
const SETTLE_MS_MAX = 20_000;

/** Loads only the program that this hunt runs. */
export async function huntOf(name: HuntName): Promise<Hunt> {
  const hunts: { readonly [hunt in HuntName]: () => Promise<Hunt> } = {
    storm: () => storms(undefined),
    'storm-elections': () => storms('elections'),
    'storm-leases': () => storms('leases'),
    'storm-reads': () => storms('reads'),
    'storm-members': () => storms('members'),
    'storm-losses': () => storms('losses'),
    model: models,
    scenarios,
    single: () => simulations('single', SINGLE_MS),
    cluster: () => simulations('cluster', CLUSTER_MS),
    busy: () => simulations('busy', BUSY_MS),
    standby: () => simulations('standby', STANDBY_MS),
    joined: () => simulations('joined', JOINED_MS),
    disk: disks,
  };
  return hunts[name]();
}

async function storms(focus: Focus | undefined): Promise<Hunt> {
  const { storm } = await import('@svc/raft/testing');
  return (seed) => found(() => void storm(seed, STORM_STEPS, focus));
}

/** Seed n is the model's variant n. */
async function models(): Promise<Hunt> {
  const { VARIANTS, explore } = await import('@svc/raft/testing');
  const limits = { depthMax: 100, statesMax: MODEL_STATES_MAX, goOn: () => true };
  return (seed) => {
    const variant = VARIANTS[seed - 1];
    if (variant === undefined) throw new RangeError(`the model has no variant ${seed}`);
    return explore(variant, limits).finding?.text ?? null;
  };
}

/** All scripts, whatever the seed: the first that prints something else. */
async function scenarios(): Promise<Hunt> {
  const { differences, play, stepsOf } = await import('@svc/raft/testing');
  const scripts = readdirSync(SCRIPTS).filter((name) => name.endsWith('.txt'));
  const perform = (name: string): void => {
    const steps = stepsOf(readFileSync(new URL(name, SCRIPTS), 'utf8'));
    const text = differences(name, steps, play(steps));
    if (text !== '') throw new Error(text);
  };
  return () => found(() => scripts.forEach(perform));
}

async function simulations(shape: ShapeName, simMs: number): Promise<Hunt> {
  const { run } = await import('../simulation/run.js');
  return (seed) => run({ seed, shape, simMs, settleMsMax: SETTLE_MS_MAX }).violations[0] ?? null;
}

async function disks(): Promise<Hunt> {
  const { diskHunt } = await import('./disk-hunt.js');
  return (seed) => found(() => diskHunt(seed));
}

function found(run: () => void): string | null {
  try {
    run();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
