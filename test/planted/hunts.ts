/**
 * The seeded hunts. Each takes a seed and answers with what it found wrong, or null; an error that
 * the program throws is a finding too.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ShapeName } from '../simulation/shape.js';
import type { HuntName } from './bug.js';
import type { HuntTask } from './hunt-task.js';

export type Hunt = (seed: number) => string | null;

const SCRIPTS = fileURLToPath(new URL('../../../raft/testing/scenarios/scripts', import.meta.url));
const STORM_STEPS = 1000;
const MODEL_STATES_MAX = 120_000;
const SINGLE_MS = 2000;
const CLUSTER_MS = 20_000;
const BUSY_MS = 6000;

/** The programs are loaded only now, when the changes of a bug are in force. */
export async function huntOf(task: HuntTask): Promise<Hunt> {
  const hunts: { readonly [name in HuntName]: () => Promise<Hunt> } = {
    storm: () => storms(task.raftFolder, undefined),
    'storm-elections': () => storms(task.raftFolder, 'elections'),
    'storm-leases': () => storms(task.raftFolder, 'leases'),
    'storm-reads': () => storms(task.raftFolder, 'reads'),
    'storm-members': () => storms(task.raftFolder, 'members'),
    'storm-losses': () => storms(task.raftFolder, 'losses'),
    model: () => models(task.raftFolder),
    scenarios: () => scenarios(task.raftFolder),
    single: () => simulations('single', SINGLE_MS),
    cluster: () => simulations('cluster', CLUSTER_MS),
    busy: () => simulations('busy', BUSY_MS),
    disk: disks,
  };
  return hunts[task.hunt]();
}

async function storms(raftFolder: string, focus: string | undefined): Promise<Hunt> {
  const { storm } = await loaded(raftFolder, 'testing/storm.js');
  return (seed) => found(() => call(storm, seed, STORM_STEPS, focus));
}

/** Seed n is the model's variant n. */
async function models(raftFolder: string): Promise<Hunt> {
  const { VARIANTS } = await loaded(raftFolder, 'testing/model/variants.js');
  const { explore } = await loaded(raftFolder, 'testing/model/explore.js');
  const variants = VARIANTS as readonly unknown[];
  return (seed) => {
    const limits = { depthMax: 100, statesMax: MODEL_STATES_MAX, goOn: () => true };
    const exploration = call(explore, variants[seed - 1], limits);
    const { finding } = exploration as { readonly finding?: { readonly text: string } };
    return finding === undefined ? null : finding.text;
  };
}

/** All scripts, whatever the seed: the first that prints something else. */
async function scenarios(raftFolder: string): Promise<Hunt> {
  const { play } = await loaded(raftFolder, 'testing/scenarios/commands.js');
  const { stepsOf } = await loaded(raftFolder, 'testing/scenarios/script.js');
  const { differences } = await loaded(raftFolder, 'testing/scenarios/comparison.js');
  const scripts = readdirSync(SCRIPTS).filter((name) => name.endsWith('.txt'));
  const perform = (name: string): void => {
    const steps = call(stepsOf, readFileSync(join(SCRIPTS, name), 'utf8'));
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

async function loaded(folder: string, file: string): Promise<Exports> {
  return (await import(pathToFileURL(join(folder, file)).href)) as Exports;
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
