/**
 * What one key does, told in the simplest way: the state that an operation finds decides what it is
 * answered with and what it leaves. Expiry is no part of it: rows of such histories stay for ever.
 */
import type { KvAction, KvAnswer } from './kv-history.js';

export interface Register {
  /** null: there is no row. */
  readonly value: string | null;
  /** 0: there is no row; null: some version above `floor` that no answer has told. */
  readonly version: number | null;
  /** No row of this key has had a higher version; the next one is above it. */
  readonly floor: number;
}

export const EMPTY: Register = { value: null, version: 0, floor: 0 };

/** The state after an operation that was answered so; null: it cannot have been. */
export function afterAnswer(state: Register, action: KvAction, answer: KvAnswer): Register | null {
  switch (action.op) {
    case 'get':
      return answer.applied === (answer.value !== null) ? seen(state, answer) : null;
    case 'put':
      return afterPut(state, action.value, action.expect, answer);
    case 'delete':
      return afterDelete(state, action.expect, answer);
    case 'incr':
      return afterIncr(state, action, answer);
  }
}

/** The state after an operation that had its effect unseen; null: it had none. */
export function afterSilence(state: Register, action: KvAction): Register | null {
  switch (action.op) {
    case 'get':
      return null;
    case 'put':
      return meets(state, action.expect) ? written(state, action.value) : null;
    case 'delete':
      if (state.value === null || !meets(state, action.expect)) return null;
      return { value: null, version: 0, floor: bound(state, action.expect).floor };
    case 'incr': {
      const result = sum(state, action.delta);
      if (result === null || !within(result, action)) return null;
      return written(state, `${result}`);
    }
  }
}

function afterPut(
  state: Register,
  value: string,
  expect: number | null,
  answer: KvAnswer,
): Register | null {
  if (!answer.applied) return afterLoss(state, expect, answer);
  if (!meets(state, expect) || answer.value !== value) return null;
  return stored(bound(state, expect), value, answer.version);
}

function afterDelete(state: Register, expect: number | null, answer: KvAnswer): Register | null {
  if (!answer.applied) {
    if (expect === null) return answer.reason === 'absent' ? seenAbsent(state, answer) : null;
    return afterLoss(state, expect, answer);
  }
  if (expect === 0) return seenAbsent(state, answer);
  const before = state.value === null || !meets(state, expect) ? null : seen(state, answer);
  return before === null ? null : { value: null, version: 0, floor: before.floor };
}

function afterIncr(
  state: Register,
  action: Extract<KvAction, { op: 'incr' }>,
  answer: KvAnswer,
): Register | null {
  const result = sum(state, action.delta);
  if (answer.applied) {
    if (result === null || !within(result, action) || answer.value !== `${result}`) return null;
    return stored(state, `${result}`, answer.version);
  }
  if (result === null) {
    const isTold = answer.reason === 'type' && answer.value === '0';
    return isTold ? seen(state, { ...answer, value: state.value }) : null;
  }
  if (answer.reason !== 'limit' || within(result, action)) return null;
  const isZero = state.value === null && answer.value === '0' && answer.version === 0;
  return isZero ? state : seen(state, answer);
}

/** A write with a precondition that did not hold. */
function afterLoss(state: Register, expect: number | null, answer: KvAnswer): Register | null {
  if (expect === null) return null;
  if (state.value === null) {
    return expect > 0 && answer.reason === 'absent' ? seenAbsent(state, answer) : null;
  }
  if (answer.reason !== (expect === 0 ? 'exists' : 'version')) return null;
  return answer.version === expect ? null : seen(state, answer);
}

/** The row is what the answer shows of it. */
function seen(state: Register, { value, version }: KvAnswer): Register | null {
  if (value !== state.value) return null;
  if (state.version === version) return state;
  return state.version === null && version > state.floor
    ? { value, version, floor: version }
    : null;
}

function seenAbsent(state: Register, { value, version }: KvAnswer): Register | null {
  return state.value === null && value === null && version === 0 ? state : null;
}

function meets(state: Register, expect: number | null): boolean {
  if (expect === null) return true;
  if (expect === 0 || state.value === null) return expect === 0 && state.value === null;
  return state.version === null ? expect > state.floor : state.version === expect;
}

/** A precondition that held tells the version. */
function bound(state: Register, expect: number | null): Register {
  return expect !== null && state.version === null
    ? { ...state, version: expect, floor: expect }
    : state;
}

function stored(state: Register, value: string, version: number): Register | null {
  return version > state.floor ? { value, version, floor: version } : null;
}

/** The floor rises by one at least, whatever the version is. */
function written(state: Register, value: string): Register {
  const floor = state.version === null ? state.floor + 1 : state.floor;
  return { value, version: null, floor };
}

/** null: what is there is no number. */
function sum({ value }: Register, delta: number): number | null {
  if (value === null) return delta;
  return /^-?\d+$/.test(value) ? Number(value) + delta : null;
}

function within(result: number, { min, max }: Extract<KvAction, { op: 'incr' }>): boolean {
  return (min === null || result >= min) && (max === null || result <= max);
}
