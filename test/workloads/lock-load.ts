/**
 * Workload 11 (locks) on real processes: clients of a lock and of a semaphore acquire, do guarded
 * work, renew, and release or let the lifetime end, now and then in the midst of their work. Some
 * use a token once more that they have given back, when somebody else may hold the permit.
 */
import type { LocksAnswer, TransactionAnswer } from '@svc/wire';
import { checkLocks, type GuardedCommit, type LockCall } from '../checkers/lock-checker.js';
import type { HttpClient } from '../process/http-client.js';
import type { NodeCaller } from '../process/node-caller.js';
import { sleep } from '../process/node-under-test.js';
import { readPartitions } from '../process/partition-reader.js';
import type { SeededRandom } from '../seeded-random.js';
import { inputName } from './input-load.js';
import {
  bodyOf,
  type Finding,
  type LoadPart,
  type LoadPartOptions,
  Loops,
  wasRefused,
} from './load-part.js';
import { lockTold } from './lock-answers.js';

const CLIENTS = 3;
/** By name, how many permits there are. */
const LIMITS = { lock: 1, sema: 2 } as const;
type LockName = keyof typeof LIMITS;
const NAMES: readonly LockName[] = ['lock', 'lock', 'sema'];
const TTL_SECONDS_MAX = 3;
const QUIET_MS = 80;
/**
 * A request has ended, whoever still works at it, within the broker's own deadline. That counts
 * from when a process takes the request, and a process may be stopped for some seconds before.
 */
const REQUEST_MS_MAX = 31_000 + 10_000;
/** All nodes have the clock of this machine. */
const CLOCK_MARGIN_MS = 20;

interface Held {
  readonly name: LockName;
  readonly slot: number;
  readonly token: number;
  readonly ttlMs: number;
}

export class LockLoad implements LoadPart {
  readonly queues: readonly string[];
  readonly #loops: Loops;
  readonly #random: SeededRandom;
  readonly #prefix: string;
  readonly #queue: string;
  readonly #calls: LockCall[] = [];
  readonly #commits: GuardedCommit[] = [];

  constructor(options: LoadPartOptions) {
    this.#loops = new Loops(options);
    this.#random = options.random.fork();
    this.#prefix = options.name;
    this.#queue = `${options.name}.guarded`;
    this.queues = [this.#queue];
  }

  get size(): number {
    return this.#calls.length + this.#commits.length;
  }

  start(): void {
    for (let i = 0; i < CLIENTS; i++) {
      this.#loops.run((caller) => this.#work(caller, `${this.#prefix}-owner${i}`));
    }
  }

  finish(): Promise<void> {
    return this.#loops.end();
  }

  abandon(): Promise<void> {
    return this.#loops.end();
  }

  async judge([node]: readonly HttpClient[]): Promise<readonly Finding[]> {
    if (node === undefined) throw new Error('no node is running');
    const places = (Object.keys(LIMITS) as LockName[]).flatMap((name) =>
      Array.from({ length: LIMITS[name] }, (_, slot) => `${this.#queue}/${name}-${slot}`),
    );
    const records = await readPartitions(node, places);
    return checkLocks({
      calls: this.#calls,
      commits: this.#commits,
      stored: records.map(inputName),
      clockBreaksMs: [],
      earlyMsMax: CLOCK_MARGIN_MS,
      lateMsMax: CLOCK_MARGIN_MS,
      effectUntilMs: (beganMs) => beganMs + REQUEST_MS_MAX,
    });
  }

  async #work(caller: NodeCaller, owner: string): Promise<void> {
    const random = this.#random;
    let held = await this.#acquire(caller, owner);
    for (let left = random.between(0, 4); left > 0 && held !== null; left--) {
      await sleep(random.between(0, QUIET_MS));
      if (random.chance(0.3)) held = await this.#renew(caller, owner, held);
      else if (random.chance(0.1)) await sleep(held.ttlMs + random.between(-50, 100));
      else await this.#commit(caller, held);
    }
    if (held === null || random.chance(0.2)) return;
    await this.#release(caller, owner, held);
    await sleep(random.between(0, QUIET_MS));
    const kind = random.next();
    if (kind < 0.2) await this.#release(caller, owner, held);
    else if (kind < 0.4) await this.#renew(caller, owner, held);
    else if (kind < 0.6) await this.#commit(caller, held);
  }

  async #release(caller: NodeCaller, owner: string, held: Held): Promise<void> {
    const { name, slot, token } = held;
    const call = { name, owner, op: 'release', ttlMs: 0, limit: 1, slot, token } as const;
    await this.#ask(caller, call, { slot, token });
  }

  async #acquire(caller: NodeCaller, owner: string): Promise<Held | null> {
    const name = this.#random.pick(NAMES);
    const ttlSeconds = this.#random.between(1, TTL_SECONDS_MAX);
    const ttlMs = ttlSeconds * 1000;
    const limit = LIMITS[name];
    const none = { slot: null, token: null };
    const call = { name, owner, op: 'acquire', ttlMs, limit, ...none } as const;
    const { slot, granted } = await this.#ask(caller, call, { ttlSeconds, owner, limit });
    return slot === null || granted === null ? null : { name, slot, token: granted, ttlMs };
  }

  /** null: it is lost. */
  async #renew(caller: NodeCaller, owner: string, held: Held): Promise<Held | null> {
    const { name, slot, token } = held;
    const ttlSeconds = this.#random.between(1, TTL_SECONDS_MAX);
    const ttlMs = ttlSeconds * 1000;
    const call = { name, owner, op: 'renew', ttlMs, limit: 1, slot, token } as const;
    const { granted, outcome } = await this.#ask(caller, call, { ttlSeconds, owner, slot, token });
    if (granted !== null) return { ...held, token: granted, ttlMs };
    return outcome === 'unknown' ? held : null;
  }

  async #ask(
    caller: NodeCaller,
    call: Omit<LockCall, 'beganMs' | 'endedMs' | 'isAhead' | 'outcome' | 'granted'>,
    fields: object,
  ): Promise<LockCall> {
    const op = { op: call.op, name: `${this.#prefix}.${call.name}`, ...fields };
    const beganMs = performance.now();
    const reply = await caller.post('locks', '/api/v1/locks', JSON.stringify([op]));
    const [result] = bodyOf<LocksAnswer>(reply)?.results ?? [];
    const outcome = wasRefused(reply) ? 'refused' : 'unknown';
    const told =
      result === undefined
        ? ({ outcome, slot: call.slot, granted: null } as const)
        : lockTold(result, call.slot);
    const judged = { ...call, ...told, beganMs, endedMs: performance.now(), isAhead: false };
    this.#calls.push(judged);
    return judged;
  }

  async #commit(caller: NodeCaller, { name, slot, token }: Held): Promise<void> {
    const beganMs = performance.now();
    const value = `g${this.#commits.length}.${Math.floor(beganMs * 1000)}`;
    const key = `${this.#prefix}.${name}#${slot}`;
    const push = { queue: this.#queue, partition: `${name}-${slot}`, payload: value };
    const body = {
      operations: [{ type: 'push', ...push }],
      kv: [{ op: 'check', ns: 'svc-locks', key, expect: token, required: true }],
    };
    const reply = await caller.post('transaction', '/api/v1/transaction', JSON.stringify(body));
    const answer = bodyOf<TransactionAnswer>(reply);
    let outcome: GuardedCommit['outcome'] = wasRefused(reply) ? 'refused' : 'unknown';
    if (answer !== null) outcome = answer.success ? 'committed' : 'guard';
    const endedMs = performance.now();
    this.#commits.push({ name, slot, token, value, beganMs, endedMs, outcome });
  }
}
