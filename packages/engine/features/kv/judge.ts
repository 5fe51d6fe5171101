/**
 * What comes of a key/value call (state-surfaces 1.4, 1.5), decided without changing anything.
 *
 * Operations on one key run first, by namespace, key and place in the call; so those of one key
 * stand side by side, and what an operation sees is the row in the state or what the one before it
 * has made of it. Then come the reads of many keys, which see all writes of the call: they are
 * answered when those show in the state, by `readManyKv`. The same code answers calls that only
 * read, on any node.
 *
 * What must hold: the verdict on each operation depends on the state, the stamp and the call alone;
 * nothing is written when an operation with `required` loses, and the first of those, in the order
 * in which they run, is the one that is named.
 */

import {
  type KvCall,
  type KvFailure,
  type KvGetMany,
  type KvGetPrefix,
  type KvIncr,
  type KvJson,
  type KvLoss,
  type KvPut,
  type KvResult,
  type KvSingleOp,
  kvJson,
  kvText,
} from '../../base/commands/kv.js';
import { addDecimals, compareDecimals, isNumberText } from '../../base/decimal.js';
import { keyText } from '../../base/keys.js';
import type { Key, State } from '../../base/state.js';
import type { KvWrite } from '../../state/kv/apply.js';
import {
  isLiveAt,
  type KvRow,
  kvNamespacePrefix,
  kvRows,
  lastKvVersion,
  placeOfRow,
} from '../../state/kv/tables.js';
import { type KvBudget, readMany, readPage, viewOf } from './read.js';

/** Value bytes that the reads of one call show (SVC_KV_MAX_READ_BYTES). */
const READ_BYTES_MAX = 4 * 1024 * 1024;
/** 2^53 - 1 microseconds, in the year 2255: what is to live longer lives until then. */
const EXPIRY_MAX_US = Number.MAX_SAFE_INTEGER;
const US_PER_SECOND = 1_000_000;
const ZERO = kvJson('0');
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** What one call, or one page, may show. */
export function kvReadBudget(): KvBudget {
  return { bytesLeft: READ_BYTES_MAX };
}

/** The longest value of a row: the default of `SVC_KV_MAX_VALUE_BYTES`. */
const VALUE_BYTES_MAX = 65_536;
/** Bytes of a row in an answer without its value: a key of 512, some escaped, and names. */
const ROW_ANSWER_BYTES = 768;

/**
 * What the answer of a call takes at most, from its operations alone. Not only reads show values: a
 * put echoes its own, and a write or a check that loses, a deletion and a counter show the row's.
 */
export function kvAnswerBytes({ ops }: KvCall): number {
  let rows = 0;
  let bytes = 0;
  /** Rows of reads of many keys, which have a bound in common. */
  let read = 0;
  for (const op of ops) {
    if (op.op === 'getMany' || op.op === 'getPrefix') {
      const count = op.op === 'getMany' ? op.keys.length : op.limit;
      rows += count;
      if (op.op === 'getMany' || !op.keysOnly) read += count;
      continue;
    }
    rows++;
    const isPut = op.op === 'put' || op.op === 'putIfAbsent';
    const ownBytes = isPut ? op.value.length : VALUE_BYTES_MAX;
    bytes += isPut && op.expect !== null ? Math.max(ownBytes, VALUE_BYTES_MAX) : ownBytes;
  }
  bytes += Math.min(read * VALUE_BYTES_MAX, READ_BYTES_MAX + VALUE_BYTES_MAX);
  return bytes + rows * ROW_ANSWER_BYTES;
}

export interface KvJudged {
  /** Nothing may be written, and there are no results. */
  readonly failure: KvFailure | null;
  readonly writes: readonly KvWrite[];
  /** Results of the operations on one key; the others come by `readManyKv`. */
  readonly results: (KvResult | undefined)[];
  readBytesLeft: number;
}

interface OrderedOp {
  readonly op: KvSingleOp;
  readonly index: number;
  readonly key: Key;
}

interface OrderedRead {
  readonly op: KvGetMany | KvGetPrefix;
  readonly index: number;
  /** Namespace and prefix as bytes. */
  readonly place: string;
}

export function judgeKv(state: State, nowUs: number, call: KvCall): KvJudged {
  const judge = new Judge(state, nowUs);
  const results: (KvResult | undefined)[] = new Array(call.ops.length);
  let failure: KvFailure | null = null;
  for (const { op, index, key } of orderedSingles(call)) {
    const result = judge.judge(op, key);
    results[index] = result;
    if (result.kind !== 'judged' || result.loss === null) continue;
    if (op.op === 'get' || !op.required) continue;
    const { loss, version, value } = result;
    failure = { index, loss, version, value };
    break;
  }
  const { writes, readBytesLeft } = judge;
  return { failure, writes: failure === null ? writes : [], results, readBytesLeft };
}

/** Answers what is left: `state` shows the writes of the call. Yields between portions of rows. */
export function* readManyKv(
  state: State,
  nowUs: number,
  call: KvCall,
  verdict: KvJudged,
): Generator<void, readonly KvResult[]> {
  const { results } = verdict;
  const budget = { bytesLeft: verdict.readBytesLeft };
  for (const { op, index } of orderedReads(call)) {
    results[index] =
      op.op === 'getMany'
        ? yield* readMany(state, nowUs, call.tenant, op, budget)
        : yield* readPage(state, nowUs, call.tenant, op, budget);
  }
  return results as readonly KvResult[];
}

function orderedSingles({ tenant, ops }: KvCall): OrderedOp[] {
  const singles: OrderedOp[] = [];
  let namespace = '';
  let prefix = '';
  let isOrdered = true;
  let last = '' as Key;
  for (let index = 0; index < ops.length; index++) {
    const op = ops[index] as KvCall['ops'][number];
    if (op.op === 'getMany' || op.op === 'getPrefix') continue;
    if (op.namespace !== namespace) {
      namespace = op.namespace;
      prefix = kvNamespacePrefix(tenant, namespace);
    }
    const key = (prefix + keyText(op.key)) as Key;
    if (key < last) isOrdered = false;
    last = key;
    singles.push({ op, index, key });
  }
  // The sort keeps the order of equal keys.
  return isOrdered ? singles : singles.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

function orderedReads({ tenant, ops }: KvCall): OrderedRead[] {
  const reads: OrderedRead[] = [];
  ops.forEach((op, index) => {
    if (op.op !== 'getMany' && op.op !== 'getPrefix') return;
    const prefix = op.op === 'getMany' ? '' : keyText(op.prefix);
    reads.push({ op, index, place: kvNamespacePrefix(tenant, op.namespace) + prefix });
  });
  return reads.sort((a, b) => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0));
}

class Judge {
  readonly #state: State;
  readonly #nowUs: number;
  readonly writes: KvWrite[] = [];
  readBytesLeft = READ_BYTES_MAX;
  #version = 0;
  /** The key of the operation before this one, and what it has left there. */
  #key: Key | null = null;
  #row: KvRow | undefined;

  constructor(state: State, nowUs: number) {
    this.#state = state;
    this.#nowUs = nowUs;
  }

  judge(op: KvSingleOp, key: Key): KvResult {
    if (key !== this.#key) {
      this.#key = key;
      this.#row = this.#state.get(kvRows, key);
    }
    const stored = this.#row;
    const live = stored !== undefined && isLiveAt(stored, this.#nowUs) ? stored : undefined;
    switch (op.op) {
      case 'get':
        this.readBytesLeft -= live?.value.length ?? 0;
        return { kind: 'got', row: live === undefined ? null : viewOf(op.key, live) };
      case 'put':
      case 'putIfAbsent':
        return this.#put(op, key, live);
      case 'incr':
        return this.#incr(op, key, live);
      case 'delete': {
        const loss = lossOf(op.expect, live);
        const isStale = stored !== undefined && live === undefined;
        if (loss === null && live !== undefined) this.#write(key, null, 0);
        if (live !== undefined || op.expect !== null) return judged(loss, live);
        if (isStale) this.#write(key, null, 0);
        return judged('absent', undefined);
      }
      case 'check': {
        const loss = lossOf(op.expect, live);
        if (loss !== null) return judged(loss, live);
        // The caller of a check knows the row, so the answer does not carry its value.
        return { kind: 'judged', loss, value: null, version: live?.version ?? 0 };
      }
    }
  }

  #put(op: KvPut, key: Key, live: KvRow | undefined): KvResult {
    const loss = lossOf(op.expect, live);
    if (loss !== null) return judged(loss, live);
    return { kind: 'put', version: this.#write(key, op.value, this.#expiry(op.ttlSeconds)) };
  }

  #incr(op: KvIncr, key: Key, live: KvRow | undefined): KvResult {
    const before = live?.value ?? ZERO;
    const version = live?.version ?? 0;
    const number = mayBeNumber(before) ? kvText(before) : '';
    if (!isNumberText(number)) return { kind: 'judged', loss: 'type', value: ZERO, version };
    const after = addDecimals(number, op.delta);
    if (after === null || isOutside(after, op)) {
      return { kind: 'judged', loss: 'limit', value: before, version };
    }
    const value = kvJson(after);
    const expiresAtUs = live === undefined ? this.#expiry(op.ttlSeconds) : live.expiresAtUs;
    return { kind: 'judged', loss: null, value, version: this.#write(key, value, expiresAtUs) };
  }

  #expiry(ttlSeconds: number | null): number {
    if (ttlSeconds === null) return 0;
    return Math.min(this.#nowUs + ttlSeconds * US_PER_SECOND, EXPIRY_MAX_US);
  }

  /** The version that the row gets; 0 for one that goes. */
  #write(key: Key, value: KvJson | null, expiresAtUs: number): number {
    const before = this.#row;
    const replaced =
      before === undefined ? null : { bytes: before.value.length, expiresAtUs: before.expiresAtUs };
    this.writes.push({ place: placeOfRow(key), value, expiresAtUs, replaced });
    if (value === null) {
      this.#row = undefined;
      return 0;
    }
    if (this.#version === 0) this.#version = lastKvVersion(this.#state);
    const version = ++this.#version;
    this.#row = { version, expiresAtUs, updatedAtUs: this.#nowUs, value };
    return version;
  }
}

/** Why a write or check that wants this version loses; null: it may go on. */
function lossOf(expect: number | null, live: KvRow | undefined): KvLoss | null {
  if (expect === null) return null;
  if (live === undefined) return expect === 0 ? null : 'absent';
  if (expect === 0) return 'exists';
  return live.version === expect ? null : 'version';
}

function judged(loss: KvLoss | null, live: KvRow | undefined): KvResult {
  return { kind: 'judged', loss, value: live?.value ?? null, version: live?.version ?? 0 };
}

/** By its first byte: most texts that are no numbers need not be read to their end. */
function mayBeNumber(value: KvJson): boolean {
  const first = value[0] ?? 0;
  return first === MINUS || (first >= DIGIT_0 && first <= DIGIT_9);
}

function isOutside(value: string, { min, max }: KvIncr): boolean {
  if (min !== null && compareDecimals(value, min) < 0) return true;
  return max !== null && compareDecimals(value, max) > 0;
}
