/**
 * Judges operations on single keys: each key behaves as one register on which every operation acts
 * at one instant between its beginning and its answer.
 *
 * It searches for an order of those instants, key by key (keys are independent, so a history is
 * linearizable if each key's is): of the operations that may come next, because none that still has
 * to come had ended before they began, one that agrees with the state is taken, and taken back when
 * that leads nowhere. States that were met before, with the same operations done, are not entered
 * again.
 *
 * Versions keep the search narrow. They rise for ever, and nearly every answer shows one, so an
 * answer with a lower version can only come before a write with a higher one. What an answer shows
 * without changing it can be taken at once. What remains to be tried are operations without an
 * answer, which may have had their effect at any time since they began, or never:
 * - A `put` whose value was seen is as good as answered, by the first who saw it; one whose value
 *   nobody ever saw can be left out: whoever came next either saw it, or did not depend on it.
 * - Deletions, and increments by the same number, are alike but for their beginnings, so the one
 *   that began first is tried for all of them.
 * Without versions the search would be exponential in the operations that overlap; what one key may
 * cost is bounded all the same, and a key that costs more is reported.
 */
import { type Anomaly, groupBy } from './history.js';
import type { KvAction, KvAnswer, KvOperation } from './kv-history.js';
import { afterAnswer, afterSilence, EMPTY, type Register } from './register-model.js';

export type RegisterAnomalyKind =
  | 'not_linearizable'
  /** The search for an order was given up. */
  | 'undecided'
  /** A counter was let past its bounds. */
  | 'out_of_bounds'
  /** Two writes won against one version, or more creations than rows can have been removed. */
  | 'two_winners'
  /** Two writes have one version, or a later write has a lower one. */
  | 'version_twice'
  | 'version_order'
  /** An operation was refused for good, and its value is there all the same. */
  | 'refused_read';

export type RegisterAnomaly = Anomaly<RegisterAnomalyKind>;

type Report = (kind: RegisterAnomalyKind, text: string) => void;

/** Steps of the search for one key; a key of some hundred operations needs as many. */
const STEPS_MAX = 300_000;

export function checkRegisters(
  operations: readonly KvOperation[],
  stepsMax = STEPS_MAX,
): RegisterAnomaly[] {
  const anomalies: RegisterAnomaly[] = [];
  const report: Report = (kind, text) => anomalies.push({ kind, text });
  checkVersions(operations, report);
  for (const [key, own] of groupBy(operations, (operation) => operation.key)) {
    checkBounds(key, own, report);
    checkWinners(key, own, report);
    checkRefused(key, own, report);
    const search = new Search(own, stepsMax);
    const found = search.run();
    if (found === 'undecided') report('undecided', `${key}: ${own.length} operations`);
    if (found === 'none') report('not_linearizable', `${key}: ${search.deadEnd}`);
  }
  return anomalies;
}

function answerOf({ answer }: KvOperation): KvAnswer | null {
  return answer === 'refused' || answer === 'unknown' ? null : answer;
}

/** A write that was applied and got a version of its own. */
function isStored({ action }: KvOperation, { applied }: KvAnswer): boolean {
  return applied && (action.op === 'put' || action.op === 'incr');
}

/** One counter gives the versions of all keys, in the order in which the writes happen. */
function checkVersions(operations: readonly KvOperation[], report: Report): void {
  const writes = operations.flatMap((operation) => {
    const answer = answerOf(operation);
    if (answer === null || !isStored(operation, answer)) return [];
    return [{ ...operation, version: answer.version }];
  });
  writes.sort((a, b) => a.version - b.version);
  let latest = writes[0];
  writes.forEach((write, i) => {
    const before = writes[i - 1];
    if (before === undefined || latest === undefined) return;
    if (before.version === write.version) {
      report('version_twice', `${write.version} of ${before.key} and of ${write.key}`);
    }
    if (write.endedMs < latest.beganMs) {
      report(
        'version_order',
        `${write.key} got ${write.version} before ${latest.key} was asked to get ${latest.version}`,
      );
    }
    if (write.beganMs > latest.beganMs) latest = write;
  });
}

function checkBounds(key: string, operations: readonly KvOperation[], report: Report): void {
  for (const operation of operations) {
    const { action } = operation;
    const answer = answerOf(operation);
    if (action.op !== 'incr' || answer?.applied !== true) continue;
    const result = Number(answer.value);
    const isLow = action.min !== null && result < action.min;
    const isHigh = action.max !== null && result > action.max;
    if (isLow || isHigh) report('out_of_bounds', `${key}: ${action.min}..${action.max}: ${result}`);
  }
}

/** A version is replaced once; a row can be created once, and once more for each removal. */
function checkWinners(key: string, operations: readonly KvOperation[], report: Report): void {
  const winners = new Map<number, number>();
  let removals = 0;
  for (const operation of operations) {
    const { action } = operation;
    const answer = answerOf(operation);
    if (action.op === 'delete' && operation.answer === 'unknown') removals++;
    if (answer?.applied !== true) continue;
    if (action.op === 'delete' && answer.version > 0) removals++;
    const expect = action.op === 'put' || action.op === 'delete' ? action.expect : null;
    if (expect === null || (expect === 0 && action.op === 'delete')) continue;
    winners.set(expect, (winners.get(expect) ?? 0) + 1);
  }
  for (const [expect, count] of winners) {
    const most = expect === 0 ? 1 + removals : 1;
    if (count > most) report('two_winners', `${key}: ${count} won against version ${expect}`);
  }
}

function checkRefused(key: string, operations: readonly KvOperation[], report: Report): void {
  const shown = shownValues(operations);
  for (const { action, answer } of operations) {
    if (answer !== 'refused' || action.op !== 'put' || !shown.has(action.value)) continue;
    if (timesWritten(operations, action.value) > 1) continue;
    report('refused_read', `${key}: ${action.value} was refused, and is there`);
  }
}

/** For each value that an answer showed: its version, and the first answer's end. */
function shownValues(
  operations: readonly KvOperation[],
): Map<string, { readonly version: number; readonly endedMs: number }> {
  const shown = new Map<string, { readonly version: number; readonly endedMs: number }>();
  for (const operation of operations) {
    const { value = null, version = 0 } = answerOf(operation) ?? {};
    if (value === null || version === 0) continue;
    const known = shown.get(value);
    if (known === undefined || operation.endedMs < known.endedMs) {
      shown.set(value, { version, endedMs: operation.endedMs });
    }
  }
  return shown;
}

function timesWritten(operations: readonly KvOperation[], value: string): number {
  return operations.filter(({ action }) => action.op === 'put' && action.value === value).length;
}

/** An operation that has to be given its place. */
interface Told {
  readonly action: KvAction;
  readonly answer: KvAnswer;
  readonly beganMs: number;
  readonly endedMs: number;
  /** Once it is done, no row has a lower version; 0: it does not raise the version. */
  readonly raisesTo: number;
}

/** Operations that had the same effect, if they had any; by their beginnings. */
interface Silent {
  readonly action: KvAction;
  readonly beganMs: readonly number[];
}

interface Step {
  readonly state: Register;
  /** What can come next; numbers below zero are silent ones. */
  readonly next: readonly number[];
  at: number;
  /** What led here. */
  readonly by: number;
}

class Search {
  /** Where the search got furthest: for whoever reads of a failure. */
  deadEnd = '';
  readonly #told: readonly Told[];
  readonly #silent: readonly Silent[];
  readonly #done: boolean[];
  readonly #used: number[];
  readonly #met = new Set<string>();
  readonly #stepsMax: number;
  #left: number;
  #fewestLeft: number;

  constructor(operations: readonly KvOperation[], stepsMax: number) {
    const { told, silent } = sorted(operations);
    this.#told = told;
    this.#silent = silent;
    this.#done = told.map(() => false);
    this.#used = silent.map(() => 0);
    this.#left = told.length;
    this.#fewestLeft = told.length + 1;
    this.#stepsMax = stepsMax;
  }

  run(): 'found' | 'none' | 'undecided' {
    const path: Step[] = [this.#stepOf(EMPTY, Number.NaN)];
    for (let steps = 0; this.#left > 0; steps++) {
      if (steps >= this.#stepsMax) return 'undecided';
      const step = path[path.length - 1];
      if (step === undefined) return 'none';
      const place = step.next[step.at++];
      if (place === undefined) {
        path.pop();
        this.#mark(step.by, false);
        continue;
      }
      const state = this.#after(step.state, place);
      if (state === null) continue;
      this.#mark(place, true);
      const key = this.#keyOf(state);
      if (this.#met.has(key)) this.#mark(place, false);
      else {
        this.#met.add(key);
        path.push(this.#stepOf(state, place));
      }
    }
    return 'found';
  }

  #after(state: Register, place: number): Register | null {
    const told = this.#told[place];
    if (told !== undefined) return afterAnswer(state, told.action, told.answer);
    const silent = this.#silent[-1 - place];
    return silent === undefined ? null : afterSilence(state, silent.action);
  }

  #mark(place: number, isDone: boolean): void {
    if (place >= 0) {
      this.#done[place] = isDone;
      this.#left += isDone ? -1 : 1;
    } else if (place < 0) {
      const i = -1 - place;
      this.#used[i] = (this.#used[i] ?? 0) + (isDone ? 1 : -1);
    }
  }

  #stepOf(state: Register, by: number): Step {
    const [atOnce, others] = this.#candidates(state);
    if (this.#left < this.#fewestLeft) {
      this.#fewestLeft = this.#left;
      this.deadEnd = this.#describe(state);
    }
    return { state, next: atOnce === null ? others : [atOnce], at: 0, by };
  }

  /** One that agrees with the state and leaves it as it is, or all that may come next. */
  #candidates(state: Register): readonly [atOnce: number | null, others: readonly number[]] {
    const open: number[] = [];
    let firstEndMs = Number.POSITIVE_INFINITY;
    let lowest = Number.POSITIVE_INFINITY;
    this.#told.forEach(({ beganMs, endedMs, answer }, i) => {
      if (this.#done[i] === true) return;
      if (answer.version > 0) lowest = Math.min(lowest, answer.version);
      if (beganMs > firstEndMs) return;
      open.push(i);
      firstEndMs = Math.min(firstEndMs, endedMs);
    });
    const others: number[] = [];
    for (const i of open) {
      const { action, answer, beganMs, raisesTo } = this.#told[i] as Told;
      if (beganMs > firstEndMs || raisesTo > lowest) continue;
      const isSettled = state.version !== null;
      if (isSettled && afterAnswer(state, action, answer) === state) return [i, []];
      others.push(i);
    }
    this.#silent.forEach(({ beganMs }, i) => {
      const nextMs = beganMs[this.#used[i] ?? 0];
      if (nextMs !== undefined && nextMs <= firstEndMs) others.push(-1 - i);
    });
    return [null, others];
  }

  #keyOf({ value, version, floor }: Register): string {
    const done: number[] = [];
    const first = this.#done.indexOf(false);
    for (let i = first; i < this.#done.length; i++) if (this.#done[i] === true) done.push(i);
    return `${first} ${done} ${this.#used} ${version} ${floor} ${value}`;
  }

  #describe({ value, version }: Register): string {
    const [, others] = this.#candidates({ value, version: null, floor: 0 });
    const shown = others.slice(0, 4).map((place) => {
      const told = this.#told[place];
      return told === undefined ? 'an unanswered one' : JSON.stringify(told);
    });
    return `at version ${version} with ${value}, ${this.#left} left, next of ${shown.join(', ')}`;
  }
}

/** By beginning; what had no effect, or none that matters, is left out. */
function sorted(operations: readonly KvOperation[]): {
  readonly told: readonly Told[];
  readonly silent: readonly Silent[];
} {
  const told: Told[] = [];
  const silent: KvOperation[] = [];
  const shown = shownValues(operations);
  const hasIncr = operations.some(({ action }) => action.op === 'incr');
  for (const operation of operations) {
    const { action, beganMs, endedMs } = operation;
    const answer = answerOf(operation);
    if (answer !== null) {
      const raisesTo = isStored(operation, answer) ? answer.version : 0;
      told.push({ action, answer, beganMs, endedMs, raisesTo });
    } else if (operation.answer === 'unknown' && action.op !== 'get') {
      // An increment depends on a value without showing it.
      const isPlain = action.op === 'put' && !hasIncr && timesWritten(operations, action.value) < 2;
      if (!isPlain) silent.push(operation);
      else {
        const seen = shown.get(action.value);
        if (seen !== undefined) told.push(asSeen(operation, action.value, seen));
      }
    }
  }
  told.sort((a, b) => a.beganMs - b.beganMs);
  const kinds = groupBy(silent, ({ action }) => JSON.stringify(action));
  return {
    told,
    silent: [...kinds.values()].map((alike) => ({
      action: (alike[0] as KvOperation).action,
      beganMs: alike.map(({ beganMs }) => beganMs).sort((a, b) => a - b),
    })),
  };
}

function asSeen(
  { action, beganMs }: KvOperation,
  value: string,
  { version, endedMs }: { readonly version: number; readonly endedMs: number },
): Told {
  const answer = { applied: true, reason: null, value, version };
  return { action, answer, beganMs, endedMs, raisesTo: version };
}
