/**
 * Goal: a state that cannot be trusted is replaced only when there is something to replace it from,
 * and is otherwise left as it is. Method: each combination of a state (in order, damaged, marked,
 * foreign), a log (whole, given up at its beginning, empty) and peers, on simulated stores.
 */
import { DamageError } from '@svc/storage';
import { expect, test } from 'vitest';
import { SimulatedPlace } from '../testing/state-store-simulated.js';
import { StateStore } from './state-store.js';
import { openState } from './state-store-recovery.js';

const IDENTITY = new Uint8Array(16);

type Condition = 'whole' | 'damaged' | 'foreign';

interface Outcome {
  readonly result: string;
  readonly applied: number;
  readonly names: readonly string[];
  readonly warnings: number;
}

const LOGS = {
  whole: { firstIndex: 1, lastIndex: 90 },
  shortened: { firstIndex: 40, lastIndex: 90 },
  'shortened far': { firstIndex: 80, lastIndex: 90 },
  empty: { firstIndex: 1, lastIndex: 0 },
} as const;

/** A state at entry 50. */
function attempt(condition: Condition, log: keyof typeof LOGS, hasPeers: boolean): Outcome {
  const place = new SimulatedPlace({ seed: 1, defer: (run) => run() });
  const backing = place.open('state', IDENTITY);
  backing.begin().commit({ index: 50, term: 3 }, () => {});
  if (condition === 'damaged') backing.markDamaged('for the test');
  const store = new StateStore({
    names: () => place.names(),
    open: (name, identity) => {
      if (condition !== 'foreign') return place.open(name, identity);
      throw new DamageError('state_foreign', name, 0, 'it belongs to another directory', '');
    },
    close: (each, done) => place.close(each, done),
    rename: (from, to) => place.rename(from, to),
    remove: (name) => place.remove(name),
    pathOf: (name) => place.pathOf(name),
  });
  const warnings: string[] = [];
  const facts = { identity: IDENTITY, hasPeers, warn: (text: string) => warnings.push(text) };
  const rest = () => ({ names: [...place.names()].sort(), warnings: warnings.length });
  try {
    const opened = openState(store, { ...facts, ...LOGS[log] });
    return { result: opened.recovery, applied: opened.backing.applied.index, ...rest() };
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return { result: error.message, applied: -1, ...rest() };
  }
}

const KEPT = ['state', 'state.damaged-1'];

test.each<[Condition, keyof typeof LOGS, boolean, Outcome]>([
  ['whole', 'whole', false, intact('from-log')],
  ['whole', 'shortened', false, intact('from-log')],
  ['whole', 'shortened', true, intact('from-log')],
  ['whole', 'shortened far', true, intact('from-snapshot')],
  // That acknowledged records are missing is said by the directory's own opening.
  ['whole', 'shortened far', false, intact('from-log')],
  ['damaged', 'whole', false, replaced('from-log')],
  ['damaged', 'whole', true, replaced('from-log')],
  ['damaged', 'shortened', true, replaced('from-snapshot')],
  ['damaged', 'empty', true, replaced('from-log')],
])('%s state, %s log, peers: %s', (condition, log, hasPeers, expected) => {
  expect(attempt(condition, log, hasPeers)).toEqual(expected);
});

function intact(result: string): Outcome {
  return { result, applied: 50, names: ['state'], warnings: 0 };
}

function replaced(result: string): Outcome {
  return { result, applied: 0, names: KEPT, warnings: 1 };
}

test.each<[Condition, keyof typeof LOGS, boolean, RegExp]>([
  ['damaged', 'shortened', false, /cannot be rebuilt: the log begins at entry 40/],
  ['damaged', 'empty', false, /cannot be rebuilt: the log is empty/],
  ['foreign', 'whole', false, /another directory/],
  ['foreign', 'whole', true, /another directory/],
])('%s state, %s log, peers: %s is refused and left alone', (condition, log, hasPeers, text) => {
  const { result, names, warnings } = attempt(condition, log, hasPeers);
  expect(result).toMatch(text);
  expect([names, warnings]).toEqual([['state'], 0]);
});
