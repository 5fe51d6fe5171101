/**
 * Clients of the key/value store: some use single keys, others read and write several in one call.
 * What they did and saw are two histories, for the checkers of registers and of batches. A call
 * without an answer is not repeated. After each write somebody else is asked for what it wrote.
 */
import {
  type KvCall,
  type KvJson,
  type KvOp,
  type KvOutcome,
  type KvResult,
  kvJson,
  kvText,
  type RefusedOutcome,
} from '@svc/engine';
import { checkBatches } from '../checkers/batch-checker.js';
import type {
  KvAction,
  KvAnswer,
  KvBatch,
  KvOperation,
  KvRead,
  KvWrite,
} from '../checkers/kv-history.js';
import { checkRegisters } from '../checkers/register-checker.js';
import { type KvMove, KvMoves } from '../workloads/kv-moves.js';
import { TENANT } from './client-messages.js';
import type { Caller, NoAnswer } from './client-network.js';
import {
  isRefused,
  isTold,
  type SurfaceClient,
  type SurfaceClientOptions,
} from './surface-client.js';

const NAMESPACE = 'sim';
const QUIET_MS = 60;
/** Every client reads so often after the last write. */
const LAST_READS = 2;
const UNKNOWN_BATCH = { outcome: 'unknown', versions: [], reads: [] } as const;

type Answer = KvOutcome | RefusedOutcome | NoAnswer;

export class KvClients implements SurfaceClient {
  readonly places = [];
  readonly #options: SurfaceClientOptions;
  readonly #moves: KvMoves;
  readonly #operations: KvOperation[] = [];
  readonly #batches: KvBatch[] = [];
  #ended = false;
  #clients = 0;

  constructor(options: SurfaceClientOptions) {
    this.#options = options;
    this.#moves = new KvMoves(options.random);
  }

  start(): void {
    const { network, random } = this.#options;
    for (let i = random.between(2, 3); i > 0; i--) {
      this.#begin(() => this.#useKeys(network.caller(), LAST_READS));
    }
    for (let i = random.between(2, 3); i > 0; i--) {
      this.#begin(() => this.#useBatches(network.caller(), LAST_READS));
    }
  }

  end(): void {
    this.#ended = true;
  }

  unfinished(): string | null {
    return this.#clients === 0 ? null : `${this.#clients} clients of keys are at work`;
  }

  judge(): readonly string[] {
    const { isDoubtful } = this.#options;
    const operations = this.#operations.map((one): KvOperation => {
      return isDoubtful(one.endedMs) ? { ...one, answer: 'unknown' } : one;
    });
    const batches = this.#batches.map((one): KvBatch => {
      return isDoubtful(one.endedMs) ? { ...one, ...UNKNOWN_BATCH } : one;
    });
    const anomalies = [...checkRegisters(operations), ...checkBatches(batches)];
    return anomalies.map(({ kind, text }) => `kv ${kind}: ${text}`);
  }

  #begin(client: () => void): void {
    this.#clients++;
    this.#soon(client);
  }

  #soon(work: () => void): void {
    const { loop, pace, random } = this.#options;
    loop.schedule(pace.stretch(random.between(1, QUIET_MS)), null, work);
  }

  #call(caller: Caller, ops: readonly KvOp[], done: (answer: Answer) => void): void {
    const call: KvCall = { kind: 'kv', tenant: TENANT, ops };
    caller.call<KvOutcome | RefusedOutcome>((broker, reply) => broker.kv.call(call, reply), done);
  }

  #useKeys(caller: Caller, readsLeft: number): void {
    if (readsLeft === 0) {
      this.#clients--;
      return;
    }
    const moves = this.#moves.singles(this.#ended);
    const isLast = this.#ended;
    const beganMs = this.#options.loop.nowMs;
    this.#call(caller, moves.map(opOf), (answer) => {
      moves.forEach((move, i) => {
        this.#noteOperation(move, beganMs, answer, i);
      });
      const left = isLast && isTold(answer) ? readsLeft - 1 : readsLeft;
      this.#soon(() => this.#useKeys(caller, left));
    });
  }

  #noteOperation({ key, action }: KvMove, beganMs: number, answer: Answer, place: number): void {
    const endedMs = this.#options.loop.nowMs;
    let told: KvOperation['answer'] = isRefused(answer) ? 'refused' : 'unknown';
    const result = isTold(answer) ? answer.results[place] : undefined;
    if (result !== undefined) {
      told = answerOf(action, result);
      this.#moves.saw(key, told);
    }
    this.#operations.push({ key, action, beganMs, endedMs, answer: told });
    this.#options.note(`kv ${key} ${action.op} ${JSON.stringify(told)}`);
  }

  #useBatches(caller: Caller, readsLeft: number): void {
    if (readsLeft === 0) {
      this.#clients--;
      return;
    }
    const isLast = this.#ended;
    this.#batch(caller, [], this.#moves.keys(), (reads) => {
      const left = isLast && reads !== null ? readsLeft - 1 : readsLeft;
      const again = () => this.#soon(() => this.#useBatches(caller, left));
      const writes = this.#ended ? [] : this.#moves.writes(reads);
      if (writes.length === 0) again();
      else {
        this.#batch(caller, writes, this.#moves.keysAfter(), () => {
          // At once and anywhere: a node that does not lead may not have heard of it.
          this.#batch(this.#options.network.caller(), [], this.#moves.keys(), again);
        });
      }
    });
  }

  /** `done` gets what was read; null where there was no answer. */
  #batch(
    caller: Caller,
    writes: readonly KvWrite[],
    keys: readonly string[],
    done: (reads: readonly KvRead[] | null) => void,
  ): void {
    const { loop, note } = this.#options;
    const beganMs = loop.nowMs;
    const puts = writes.map(
      ({ key, value, expect }): KvOp => ({
        op: 'put',
        namespace: NAMESPACE,
        key,
        value: kvJson(value),
        ttlSeconds: null,
        expect,
        required: true,
      }),
    );
    const many: KvOp = { op: 'getMany', namespace: NAMESPACE, keys };
    this.#call(caller, keys.length === 0 ? puts : [...puts, many], (answer) => {
      const batch = batchOf(writes, beganMs, loop.nowMs, answer);
      this.#batches.push(batch);
      const read = batch.reads.map(({ key, version }) => `${key}@${version}`).join(' ');
      const keysWritten = writes.map(({ key }) => key).join(' ');
      note(`kv batch ${keysWritten} ${batch.versions} ${read} ${batch.outcome}`);
      done(isTold(answer) ? batch.reads : null);
    });
  }
}

function opOf({ key, action }: KvMove): KvOp {
  const place = { namespace: NAMESPACE, key };
  switch (action.op) {
    case 'get':
      return { op: 'get', ...place };
    case 'put':
      return {
        op: action.expect === 0 ? 'putIfAbsent' : 'put',
        ...place,
        value: kvJson(action.value),
        ttlSeconds: null,
        expect: action.expect,
        required: false,
      };
    case 'delete':
      return { op: 'delete', ...place, expect: action.expect, required: false };
    case 'incr':
      return {
        op: 'incr',
        ...place,
        delta: `${action.delta}`,
        min: action.min === null ? null : `${action.min}`,
        max: action.max === null ? null : `${action.max}`,
        ttlSeconds: null,
        required: false,
      };
  }
}

function answerOf(action: KvAction, result: KvResult): KvAnswer {
  switch (result.kind) {
    case 'got': {
      const { value = null, version = 0 } = result.row ?? {};
      return { applied: result.row !== null, reason: null, value: textOf(value), version };
    }
    case 'put': {
      const value = action.op === 'put' ? action.value : null;
      return { applied: true, reason: null, value, version: result.version };
    }
    case 'judged': {
      const { loss, value, version } = result;
      return { applied: loss === null, reason: loss, value: textOf(value), version };
    }
    default:
      throw new Error(`a single operation was answered as ${result.kind}`);
  }
}

function batchOf(
  writes: readonly KvWrite[],
  beganMs: number,
  endedMs: number,
  answer: Answer,
): KvBatch {
  const times = { writes, beganMs, endedMs };
  if (isRefused(answer)) return { ...times, ...UNKNOWN_BATCH, outcome: 'refused' };
  if (!isTold(answer)) return { ...times, ...UNKNOWN_BATCH };
  if (answer.failure !== null) return { ...times, outcome: 'lost', versions: [], reads: [] };
  const versions = answer.results.flatMap((each) => (each.kind === 'put' ? [each.version] : []));
  const reads = answer.results.flatMap((each) => (each.kind === 'many' ? readsOf(each) : []));
  return { ...times, outcome: 'committed', versions, reads };
}

function readsOf(many: Extract<KvResult, { readonly kind: 'many' }>): KvRead[] {
  const rows = many.rows.map(({ key, value, version }) => ({ key, value: textOf(value), version }));
  return [...rows, ...many.missing.map((key) => ({ key, value: null, version: 0 }))];
}

function textOf(value: KvJson | null): string | null {
  return value === null ? null : kvText(value);
}
