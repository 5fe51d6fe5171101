/**
 * The record of a key/value call for the time in which it may be sent again (request-memory.ts),
 * and how a repetition is told what the first one found.
 *
 * Why it is hard: the outcome of a call of a few bytes may show many long values, 255 times the
 * same one even. Kept as it is, it would stand in the entry and in a row: a small request would
 * make an entry that is longer than what the other nodes take. But what the call deleted or
 * replaced is nowhere else, and a repetition must not be told what was never there at one moment.
 *
 * What must hold:
 * - A long value is kept only if the call itself has made its row go, and then once. So a record
 *   holds no more long values than its call writes rows.
 * - Of each other one the version is kept, which no other value of the store ever has: it is in the
 *   record, in the call, or in the row if that is still the same. If it is not, the repetition is
 *   told that its outcome is not known, and never something else than the first one was.
 *
 * Rejected: to read anew for the repetition. A call has one moment, and the reads would show
 * another one than the writes, of the very keys that it writes too.
 *
 * A value that is left out is null beside a version above 0, which it never is else, but where only
 * keys were asked for.
 */
import type { Command, Outcome, RefusedOutcome } from '../../base/commands/commands.js';
import type { KvCall, KvJson, KvOp, KvOutcome, KvResult, KvView } from '../../base/commands/kv.js';
import type { State } from '../../base/state.js';
import { kvKey, kvRows } from '../../state/kv/tables.js';

/** A value as short as that costs little more than the numbers beside it. */
const SHORT_BYTES = 64;

const CHANGED_SINCE: RefusedOutcome = {
  kind: 'refused',
  refusal: { reason: 'outcome_unknown', error: 'what the call found has changed since it ran' },
};

/** The part of the outcome that is recorded. */
export function keptOutcome(command: Command, outcome: Outcome): Outcome {
  if (outcome.kind === 'kv') {
    return command.kind === 'kv' ? keptKv(command, outcome) : outcome;
  }
  if (outcome.kind !== 'transacted' || outcome.kv === null) return outcome;
  if (command.kind !== 'transaction' || command.kv === null) return outcome;
  return { ...outcome, kv: keptKv(command.kv, outcome.kv) };
}

/** The outcome, from its record. `state`: any after the call. */
export function recalledOutcome(state: State, command: Command, kept: Outcome): Outcome {
  if (kept.kind === 'kv') {
    return command.kind === 'kv' ? (recalledKv(state, command, kept) ?? CHANGED_SINCE) : kept;
  }
  if (kept.kind !== 'transacted' || kept.kv === null) return kept;
  if (command.kind !== 'transaction' || command.kv === null) return kept;
  const kv = recalledKv(state, command.kv, kept.kv);
  return kv === null ? CHANGED_SINCE : { ...kept, kv };
}

// --- keeping -------------------------------------------------------------------------------------

function keptKv(call: KvCall, outcome: KvOutcome): KvOutcome {
  if (!outcome.results.some(showsValue)) return outcome;
  const keeper = new Keeper(call, outcome.results);
  const results = outcome.results.map((result, i) => keeper.kept(call.ops[i] as KvOp, result));
  return { ...outcome, results };
}

function showsValue(result: KvResult): boolean {
  switch (result.kind) {
    case 'got':
      return result.row !== null;
    case 'many':
    case 'page':
      return result.rows.length > 0;
    case 'judged':
      return result.value !== null;
    case 'put':
      return false;
  }
}

/** It made the row go, or gave it what is in the outcome anyway. */
function hasChangedRow(op: KvOp, result: KvResult): boolean {
  if (result.kind === 'put') return true;
  const mayWrite = op.op === 'delete' || op.op === 'incr';
  return mayWrite && result.kind === 'judged' && result.loss === null;
}

class Keeper {
  /** Rows that the call has changed. */
  readonly #changed = new Set<string>();
  /** Versions whose values are in the call or in what is kept. */
  readonly #told = new Set<number>();

  constructor({ ops }: KvCall, results: readonly KvResult[]) {
    for (const [i, result] of results.entries()) {
      const op = ops[i] as KvOp;
      if (!('key' in op) || !hasChangedRow(op, result)) continue;
      this.#changed.add(placeOf(op.namespace, op.key));
      if ('version' in result) this.#told.add(result.version);
    }
  }

  kept(op: KvOp, result: KvResult): KvResult {
    switch (result.kind) {
      case 'got':
        return result.row === null ? result : { ...result, row: this.#view(op, result.row) };
      case 'many':
      case 'page':
        return { ...result, rows: result.rows.map((row) => this.#view(op, row)) };
      case 'judged': {
        if (!('key' in op) || hasChangedRow(op, result)) return result;
        const { value, version } = result;
        return { ...result, value: this.#value(op, op.key, version, value) };
      }
      case 'put':
        return result;
    }
  }

  #view(op: KvOp, view: KvView): KvView {
    return { ...view, value: this.#value(op, view.key, view.version, view.value) };
  }

  #value(op: KvOp, key: string, version: number, value: KvJson | null): KvJson | null {
    if (value === null) return null;
    if (value.length > SHORT_BYTES) {
      if (this.#told.has(version) || !this.#changed.has(placeOf(op.namespace, key))) return null;
      this.#told.add(version);
    }
    // It may be a view of the request that wrote it, and would keep megabytes in memory.
    return new Uint8Array(value) as KvJson;
  }
}

/** A namespace holds no NUL. */
function placeOf(namespace: string, key: string): string {
  return `${namespace}\0${key}`;
}

// --- recalling -----------------------------------------------------------------------------------

/** null: a row has changed that is needed. */
function recalledKv(state: State, call: KvCall, kept: KvOutcome): KvOutcome | null {
  if (!kept.results.some((result, i) => lacksValue(call.ops[i], result))) return kept;
  if (kept.results.length !== call.ops.length) return null;
  const recaller = new Recaller(state, call, kept.results);
  const results = kept.results.map((result, i) => recaller.full(call.ops[i] as KvOp, result));
  return recaller.isWhole ? { ...kept, results } : null;
}

function lacksValue(op: KvOp | undefined, result: KvResult): boolean {
  switch (result.kind) {
    case 'got':
      return result.row !== null && result.row.value === null;
    case 'many':
      return result.rows.some(({ value }) => value === null);
    case 'page':
      return !isKeysOnly(op) && result.rows.some(({ value }) => value === null);
    case 'judged':
      return result.value === null && result.version > 0;
    case 'put':
      return false;
  }
}

function isKeysOnly(op: KvOp | undefined): boolean {
  return op?.op === 'getPrefix' && op.keysOnly;
}

class Recaller {
  readonly #state: State;
  readonly #call: KvCall;
  readonly #values = new Map<number, KvJson>();
  isWhole = true;

  constructor(state: State, call: KvCall, results: readonly KvResult[]) {
    this.#state = state;
    this.#call = call;
    for (const [i, result] of results.entries()) {
      const op = call.ops[i] as KvOp;
      if (result.kind === 'got' && result.row !== null) this.#know(result.row);
      else if (result.kind === 'many' || result.kind === 'page') result.rows.forEach(this.#know);
      else if (result.kind === 'put' && 'value' in op) this.#values.set(result.version, op.value);
      else if (result.kind === 'judged' && result.loss !== 'type') this.#know(result);
    }
  }

  full(op: KvOp, result: KvResult): KvResult {
    if (!lacksValue(op, result)) return result;
    switch (result.kind) {
      case 'got':
        return { ...result, row: result.row && this.#view(op, result.row) };
      case 'many':
      case 'page':
        return { ...result, rows: result.rows.map((row) => this.#view(op, row)) };
      case 'judged':
        return { ...result, value: this.#value(op, 'key' in op ? op.key : '', result.version) };
      case 'put':
        return result;
    }
  }

  readonly #know = ({ version, value }: Pick<KvView, 'version' | 'value'>): void => {
    if (value !== null) this.#values.set(version, value);
  };

  #view(op: KvOp, view: KvView): KvView {
    if (view.value !== null) return view;
    return { ...view, value: this.#value(op, view.key, view.version) };
  }

  #value(op: KvOp, key: string, version: number): KvJson | null {
    const known = this.#values.get(version);
    if (known !== undefined) return known;
    const row = this.#state.get(kvRows, kvKey(this.#call.tenant, op.namespace, key));
    if (row?.version === version) {
      this.#values.set(version, row.value);
      return row.value;
    }
    this.isWhole = false;
    return null;
  }
}
