/**
 * The seeded hunts. Each takes a seed and answers with what it found wrong, or null; an error that
 * the program throws is a finding too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { ShapeName } from '../simulation/shape.js';
import type { HuntName } from './bug.js';

export type Hunt = (seed: number) => string | null;

/** From `test/dist/planted`. The tests of raft are no part of what it exports. */
const RAFT = new URL('../../../raft/', import.meta.url);
const SCRIPTS = new URL('testing/scenarios/scripts/', RAFT);
const STORM_STEPS = 1000;
const MODEL_STATES_MAX = 120_000;
const SINGLE_MS = 2000;
const CLUSTER_MS = 20_000;
const BUSY_MS = 6000;

/** Loads only the program that this hunt runs. */
export async function huntOf(name: HuntName): Promise<Hunt> {
  const hunts: { readonly [hunt in HuntName]: () => Promise<Hunt> } = {
    storm: () => storms(undefined),
    'storm-elections': () => storms('elections'),
    'storm-leases': () => storms('leases'),
    'storm-reads': () => storms('reads'),
    'storm-members': () => storms('members'),
    'storm-losses': () => storms('losses'),
    model: () => models(),
    scenarios: () => scenarios(),
    single: () => simulations('single', SINGLE_MS),
    cluster: () => simulations('cluster', CLUSTER_MS),
    busy: () => simulations('busy', BUSY_MS),
    disk: disks,
  };
  return hunts[name]();
}

async function storms(focus: string | undefined): Promise<Hunt> {
  const { storm } = await loaded('testing/storm.js');
  return (seed) => found(() => call(storm, seed, STORM_STEPS, focus));
}

/** Seed n is the model's variant n. */
async function models(): Promise<Hunt> {
  const { VARIANTS } = await loaded('testing/model/variants.js');
  const { explore } = await loaded('testing/model/explore.js');
  const variants = VARIANTS as readonly unknown[];
  return (seed) => {
    const limits = { depthMax: 100, statesMax: MODEL_STATES_MAX, goOn: () => true };
    const exploration = call(explore, variants[seed - 1], limits);
    const { finding } = exploration as { readonly finding?: { readonly text: string } };
    return finding === undefined ? null : finding.text;
  };
}

/** All scripts, whatever the seed: the first that prints something else. */
async function scenarios(): Promise<Hunt> {
  const { play } = await loaded('testing/scenarios/commands.js');
  const { stepsOf } = await loaded('testing/scenarios/script.js');
  const { differences } = await loaded('testing/scenarios/comparison.js');
  const scripts = readdirSync(SCRIPTS).filter((name) => name.endsWith('.txt'));
  const perform = (name: string): void => {
    const steps = call(stepsOf, readFileSync(new URL(name, SCRIPTS), 'utf8'));
    const text = call(differences, name, steps, call(play, steps));
    if (text !== '') throw new Error(`${text}`);
  };
  return () => found(() => scripts.forEach(perform));
}

async function simulations(shape: ShapeName, simMs: number): Promise<Hunt> {
  const { run } = await import('../simulation/run.js');
  return (seed) => run({ seed, shape, simMs }).violations[0] ?? null;
}

async function disks(): Promise<Hunt> {
  const { diskHunt } = await import('./disk-hunt.js');
  return (seed) => found(() => diskHunt(seed));
}

type Exports = { readonly [name: string]: unknown };

async function loaded(file: string): Promise<Exports> {
  return (await import(new URL(`dist/${file}`, RAFT).href)) as Exports;
}

function call(value: unknown, ...args: readonly unknown[]): unknown {
  if (typeof value !== 'function') throw new TypeError('the hunt is not where it was');
  return value(...args) as unknown;
}

function found(run: () => unknown): string | null {
  try {
    run();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
