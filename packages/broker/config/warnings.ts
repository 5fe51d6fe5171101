/**
 * Warnings about variables of the environment that have no effect as written: values that are
 * replaced, and names that this build does not read. Each warning is a line at boot that says what
 * is used instead and what to write.
 *
 * The contract replaces such values silently, so the node starts; it does not have to be silent
 * towards its operator.
 */
import type { Environment } from './values.js';
import type { Variable } from './variable.js';
import { ABSENT_VARIABLES, VARIABLES } from './variables.js';

/** Variables that a node does not read: balancers of deploy/, tests and the demo cluster do. */
const OTHERS = /^SVC_(LB_|TEST_|CRASH_AT$|DIFFERENTIAL_RUNS$)/;
/** A container platform tells every container where a service named `svc` is. */
const SERVICE_LINKS = /^SVC_(\w+_)?(SERVICE_(HOST|PORT\w*)|PORT(_\d+_(TCP|UDP)\w*)?)$/;
/** Edits up to which a name counts as a misspelling; beyond them it is another word. */
const DISTANCE_MAX = 3;

export function configWarnings(environment: Environment): string[] {
  return [...doubts(environment), ...unknownNames(environment)];
}

function* doubts(environment: Environment): Generator<string> {
  for (const { names, kind } of Object.values(VARIABLES) as Variable<unknown>[]) {
    for (const name of names) {
      const given = environment[name]?.trim() ?? '';
      const doubt = given === '' ? null : (kind.doubt?.(given) ?? null);
      if (doubt !== null) yield `${name}=${JSON.stringify(given)} ${doubt}`;
    }
  }
}

function* unknownNames(environment: Environment): Generator<string> {
  const rows: readonly Variable<unknown>[] = [...Object.values(VARIABLES), ...ABSENT_VARIABLES];
  const known = new Set(rows.flatMap(({ names }) => names));
  for (const name of Object.keys(environment).sort()) {
    if (!name.startsWith('SVC_') || known.has(name)) continue;
    if (OTHERS.test(name) || SERVICE_LINKS.test(name)) continue;
    const near = nearest(name, known);
    const advice = near === null ? 'docs/configuration.md lists them' : `is ${near} meant?`;
    yield `${name} is set, and this build reads no such variable: ${advice}`;
  }
}

function nearest(name: string, known: ReadonlySet<string>): string | null {
  let best: string | null = null;
  let bestDistance = DISTANCE_MAX + 1;
  for (const each of known) {
    const distance = distanceBetween(name, each);
    if (distance >= bestDistance) continue;
    bestDistance = distance;
    best = each;
  }
  return best;
}

/** Letters to insert, remove or replace. */
function distanceBetween(one: string, two: string): number {
  let row = Array.from({ length: two.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= two.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === two[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[two.length] ?? 0;
}
