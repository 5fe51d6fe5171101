/**
 * Goal: whatever the order of operations, times and restarts, the engine says and holds what the
 * contract says, operation by operation. Method: random sequences against a naive model written
 * from the contract; a sequence that differs is shortened to its least form. A run prints its seed.
 *
 *     npm run differential                                 10,000 sequences
 *     SVC_DIFFERENTIAL_RUNS=50 npm run differential        as many as are wanted
 *     SVC_DIFFERENTIAL_SEED=7 npm run differential         the same again
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Operation, operations } from './operations.fake.js';
import { DifferentialRun } from './run.fake.js';

const RUNS = Number(process.env.SVC_DIFFERENTIAL_RUNS ?? 200);
const SEED = Number(process.env.SVC_DIFFERENTIAL_SEED ?? Date.now() % 0x7fff_ffff);
const OPERATIONS_MAX = 60;
/** Ten thousand sequences take minutes. */
const TIMEOUT_MS = 60_000 + RUNS * 60;

function run(sequence: readonly Operation[]): void {
  const both = new DifferentialRun();
  for (const operation of sequence) both.step(operation);
}

test(`${RUNS} random sequences, seed ${SEED}`, { timeout: TIMEOUT_MS }, () => {
  const property = fc.property(operations(OPERATIONS_MAX), (sequence) => run(sequence));
  fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: false });
  expect(RUNS).toBeGreaterThan(0);
});
