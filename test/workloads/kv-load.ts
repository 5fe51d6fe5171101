/** Workloads 3 (register) and 4 (multi-key) on real processes; `KvMoves` draws what they do. */
import type { KvAnswer as KvBody, KvResultAnswer } from '@svc/wire';
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
import type { HttpClient } from '../process/http-client.js';
import type { NodeCaller, Reply } from '../process/node-caller.js';
import { type KvMove, KvMoves } from './kv-moves.js';
import {
  bodyOf,
  type Finding,
  type LoadPart,
  type LoadPartOptions,
  Loops,
  wasRefused,
} from './load-part.js';

const CLIENTS = 2;
/** Reads of each kind, at each node, after everything. */
const LAST_READS = 6;
const PATH = '/api/v1/kv';

export class KvLoad implements LoadPart {
  readonly queues = [];
  readonly #loops: Loops;
  readonly #namespace: string;
  readonly #moves: KvMoves;
  readonly #operations: KvOperation[] = [];
  readonly #batches: KvBatch[] = [];

  constructor(options: LoadPartOptions) {
    this.#loops = new Loops(options);
    this.#namespace = options.name;
    this.#moves = new KvMoves(options.random.fork());
  }

  get size(): number {
    return this.#operations.length + this.#batches.length;
  }

  start(): void {
    for (let i = 0; i < CLIENTS; i++) {
      this.#loops.run((caller) => this.#useKeys(caller, this.#moves.singles(false)));
      this.#loops.run((caller) => this.#useBatches(caller));
    }
  }

  finish(): Promise<void> {
    return this.#loops.end();
  }

  abandon(): Promise<void> {
    return this.#loops.end();
  }

  async judge(nodes: readonly HttpClient[]): Promise<readonly Finding[]> {
    for (const node of nodes) {
      for (let i = 0; i < LAST_READS; i++) {
        await this.#useKeys(asCaller(node), this.#moves.singles(true));
        await this.#batch(asCaller(node), [], this.#moves.keys());
      }
    }
    return [...checkRegisters(this.#operations), ...checkBatches(this.#batches)];
  }

  async #useKeys(caller: Poster, moves: readonly KvMove[]): Promise<void> {
    const beganMs = performance.now();
    const reply = await caller.post('kv', PATH, this.#body(moves.map(opOf)));
    const endedMs = performance.now();
    const { results } = bodyOf<KvBody>(reply) ?? {};
    moves.forEach(({ key, action }, i) => {
      const result = results?.[i];
      let answer: KvOperation['answer'] = wasRefused(reply) ? 'refused' : 'unknown';
      if (result !== undefined) {
        answer = answerOf(action, result);
        this.#moves.saw(key, answer);
      }
      this.#operations.push({ key, action, beganMs, endedMs, answer });
    });
  }

  async #useBatches(caller: NodeCaller): Promise<void> {
    const reads = await this.#batch(caller, [], this.#moves.keys());
    const writes = this.#moves.writes(reads);
    if (writes.length > 0) await this.#batch(caller, writes, this.#moves.keysAfter());
  }

  /** What was read; null where there was no answer. */
  async #batch(
    caller: Poster,
    writes: readonly KvWrite[],
    keys: readonly string[],
  ): Promise<readonly KvRead[] | null> {
    const beganMs = performance.now();
    const ops: object[] = writes.map(putOf);
    if (keys.length > 0) ops.push({ op: 'getMany', keys });
    const reply = await caller.post('kv', PATH, this.#body(ops));
    const batch = batchOf(writes, beganMs, performance.now(), reply);
    this.#batches.push(batch);
    return reply.kind === 'answer' ? batch.reads : null;
  }

  #body(ops: readonly object[]): string {
    return JSON.stringify(ops.map((op) => ({ ns: this.#namespace, ...op })));
  }
}

type Poster = Pick<NodeCaller, 'post'>;

/** A node that is well, asked directly. */
function asCaller(node: HttpClient): Poster {
  return {
    async post(_request, path, body): Promise<Reply> {
      const answer = await node.post(path, body);
      if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      return { kind: 'answer', answer };
    },
  };
}

function putOf({ key, value, expect }: KvWrite): object {
  const guard = expect === null ? {} : { expect };
  return { op: 'put', key, value: JSON.parse(value), forever: true, required: true, ...guard };
}

function opOf({ key, action }: KvMove): object {
  switch (action.op) {
    case 'get':
      return { op: 'get', key };
    case 'put': {
      const { value, expect } = action;
      const put = { key, value: JSON.parse(value) as unknown, forever: true };
      if (expect === 0) return { op: 'putIfAbsent', ...put };
      return { op: 'put', ...put, ...(expect === null ? {} : { expect }) };
    }
    case 'delete':
      return { op: 'delete', key, ...(action.expect === null ? {} : { expect: action.expect }) };
    case 'incr': {
      const { delta, min, max } = action;
      const bounds = { ...(min === null ? {} : { min }), ...(max === null ? {} : { max }) };
      return { op: 'incr', key, delta, forever: true, ...bounds };
    }
  }
}

function answerOf(action: KvAction, result: KvResultAnswer): KvAnswer {
  const { version = 0, reason = null } = result;
  if (action.op === 'get') {
    const value = result.found === true ? JSON.stringify(result.value) : null;
    return { applied: result.found === true, reason: null, value, version };
  }
  // A stored null is none of the values that are written.
  const value = result.value == null ? null : JSON.stringify(result.value);
  return { applied: result.applied === true, reason, value, version };
}

function batchOf(
  writes: readonly KvWrite[],
  beganMs: number,
  endedMs: number,
  reply: Reply,
): KvBatch {
  const none = { writes, beganMs, endedMs, versions: [], reads: [] };
  const body = bodyOf<KvBody>(reply);
  if (body === null) return { ...none, outcome: wasRefused(reply) ? 'refused' : 'unknown' };
  const { results } = body;
  if (results === undefined) return { ...none, outcome: 'lost' };
  const puts = results.filter(({ op }) => op === 'put');
  const reads = results.flatMap(({ rows = [], missing = [] }): KvRead[] => [
    ...rows.map(({ key, value, version }) => ({ key, value: JSON.stringify(value), version })),
    ...missing.map((key) => ({ key, value: null, version: 0 })),
  ]);
  const versions = puts.map(({ version = 0 }) => version);
  return { ...none, outcome: 'committed', versions, reads };
}
