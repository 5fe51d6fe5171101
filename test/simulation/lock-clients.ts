/**
 * Clients of a lock and of a semaphore: they acquire, do guarded work, renew, and release, or let
 * the lifetime end, now and then in the midst of their work. Some use a token once more that they
 * have given back, when somebody else may hold the permit. What they did and saw is a history for
 * the checker of locks.
 *
 * Guarded work is a transaction that stores a message in a partition of the permit, if the permit
 * is still at the client's token.
 */
import type { KvOp, RefusedOutcome, TransactionCommand } from '@svc/engine';
import { LOCK_NAMESPACE, type LockOp, type LocksView, type SubmittedOutcome } from '@svc/http';
import type { ReadRecord } from '../checkers/history.js';
import { checkLocks, type GuardedCommit, type LockCall } from '../checkers/lock-checker.js';
import { lockTold } from '../workloads/lock-answers.js';
import { pushCommand, TENANT } from './client-messages.js';
import type { Caller, NoAnswer } from './client-network.js';
import {
  isRefused,
  isTold,
  type SurfaceClient,
  type SurfaceClientOptions,
} from './surface-client.js';

const QUEUE = 'sim.guarded';
/** By name, how many permits there are. */
const LIMITS = { lock: 1, sema: 2 } as const;
type LockName = keyof typeof LIMITS;
const NAMES: readonly LockName[] = ['lock', 'lock', 'sema'];
const QUIET_MS = 30;
/** A permit as its holder knows it. */
interface Held {
  readonly name: LockName;
  readonly slot: number;
  readonly token: number;
  readonly ttlMs: number;
}

export class LockClients implements SurfaceClient {
  readonly places = (Object.keys(LIMITS) as LockName[]).flatMap((name) =>
    Array.from({ length: LIMITS[name] }, (_, slot) => [QUEUE, partitionOf(name, slot)] as const),
  );
  readonly #options: SurfaceClientOptions;
  readonly #calls: LockCall[] = [];
  readonly #commits: GuardedCommit[] = [];
  #ended = false;
  #clients = 0;

  constructor(options: SurfaceClientOptions) {
    this.#options = options;
  }

  start(): void {
    const { network, random } = this.#options;
    const count = random.between(3, 4);
    this.#clients = count;
    for (let i = 0; i < count; i++) this.#acquire(network.caller(), `owner${i}`);
  }

  end(): void {
    this.#ended = true;
  }

  unfinished(): string | null {
    return this.#clients === 0 ? null : `${this.#clients} clients of locks are at work`;
  }

  judge(records: readonly ReadRecord[]): readonly string[] {
    const { isDoubtful } = this.#options;
    const anomalies = checkLocks({
      calls: this.#calls.map((call): LockCall => {
        return isDoubtful(call.endedMs) ? { ...call, outcome: 'unknown', granted: null } : call;
      }),
      commits: this.#commits.map((commit): GuardedCommit => {
        return isDoubtful(commit.endedMs) ? { ...commit, outcome: 'unknown' } : commit;
      }),
      stored: records.map(({ payload }) => JSON.parse(payload) as string),
      clockBreaksMs: this.#options.clockBreaksMs,
      earlyMsMax: this.#options.earlyMsMax,
      lateMsMax: this.#options.lateMs(),
      effectUntilMs: this.#options.effectUntilMs,
    });
    return anomalies.map(({ kind, text }) => `lock ${kind}: ${text}`);
  }

  #soon(work: () => void): void {
    const { loop, pace, random } = this.#options;
    loop.schedule(pace.stretch(random.between(1, QUIET_MS)), null, work);
  }

  #acquire(caller: Caller, owner: string): void {
    if (this.#ended) {
      this.#clients--;
      return;
    }
    const { random } = this.#options;
    const name = random.pick(NAMES);
    const ttlSeconds = random.pick([1, 1, 2]);
    const limit = LIMITS[name];
    const call = { name, owner, op: 'acquire', ttlMs: ttlSeconds * 1000, limit } as const;
    const op: LockOp = { op: 'acquire', name, ttlSeconds, owner, limit };
    this.#ask(caller, op, { ...call, slot: null, token: null }, ({ slot, granted, ttlMs }) => {
      if (slot === null || granted === null) this.#soon(() => this.#acquire(caller, owner));
      else {
        const held = { name, slot, token: granted, ttlMs };
        this.#soon(() => this.#hold(caller, owner, held, random.between(0, 4)));
      }
    });
  }

  /** Does so many things more under the permit. */
  #hold(caller: Caller, owner: string, held: Held, left: number): void {
    const { loop, random } = this.#options;
    const again = () => this.#soon(() => this.#acquire(caller, owner));
    const next = (now: Held) => this.#soon(() => this.#hold(caller, owner, now, left - 1));
    if (left === 0 || this.#ended) {
      if (random.chance(0.2)) again();
      else this.#release(caller, owner, held, () => this.#afterwards(caller, owner, held, again));
    } else if (random.chance(0.25)) this.#renew(caller, owner, held, next, again);
    else if (random.chance(0.2)) {
      // Its lifetime ends meanwhile, or nearly so, and it works on under its token.
      const awayMs = held.ttlMs + random.between(-50, 500);
      loop.after(awayMs, () => this.#commit(caller, held, () => next(held)));
    } else this.#commit(caller, held, () => next(held));
  }

  #renew(
    caller: Caller,
    owner: string,
    held: Held,
    goOn: (now: Held) => void,
    lost: () => void,
  ): void {
    const { name, slot, token } = held;
    const ttlSeconds = this.#options.random.between(1, 2);
    const ttlMs = ttlSeconds * 1000;
    const op: LockOp = { op: 'renew', name, token, ttlSeconds, slot, owner };
    const call = { name, owner, op: 'renew', ttlMs, limit: 1, slot, token } as const;
    this.#ask(caller, op, call, ({ outcome, granted }) => {
      if (granted !== null) goOn({ ...held, token: granted, ttlMs });
      // Under the old token, which may be that of nothing any more.
      else if (outcome === 'unknown') goOn(held);
      else lost();
    });
  }

  /** What a client does that has forgotten that it gave the permit back. */
  #afterwards(caller: Caller, owner: string, held: Held, done: () => void): void {
    const { random } = this.#options;
    const kind = random.next();
    if (kind < 0.25) this.#soon(() => this.#release(caller, owner, held, done));
    else if (kind < 0.5) this.#soon(() => this.#renew(caller, owner, held, done, done));
    else if (kind < 0.75) this.#soon(() => this.#commit(caller, held, done));
    else done();
  }

  #release(caller: Caller, owner: string, held: Held, done: () => void): void {
    const { name, slot, token } = held;
    const call = { name, owner, op: 'release', ttlMs: 0, limit: 1, slot, token } as const;
    this.#ask(caller, { op: 'release', name, token, slot }, call, done);
  }

  #ask(
    caller: Caller,
    op: LockOp,
    call: Omit<LockCall, 'beganMs' | 'endedMs' | 'isAhead' | 'outcome' | 'granted'>,
    done: (call: LockCall) => void,
  ): void {
    const { loop, note } = this.#options;
    const beganMs = loop.nowMs;
    // A clock that is set meanwhile is a break, from which on nothing is certain anyway.
    const isAhead = this.#options.isAhead(caller.machine);
    caller.call<LocksView | RefusedOutcome>(
      (broker, reply) => broker.locks.run(TENANT, [op], reply),
      (answer) => {
        const endedMs = loop.nowMs;
        const told = { ...call, ...toldBy(answer, call.slot), beganMs, endedMs, isAhead };
        this.#calls.push(told);
        const place = `${told.name}#${told.slot}`;
        note(`lock ${told.op} ${place} by ${told.owner} ${told.outcome} ${told.granted}`);
        done(told);
      },
    );
  }

  #commit(caller: Caller, { name, slot, token }: Held, done: () => void): void {
    const { loop, note } = this.#options;
    const beganMs = loop.nowMs;
    const value = `g${this.#commits.length}.${beganMs.toFixed(3)}`;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(guarded(name, slot, token, value), reply),
      (answer) => {
        const outcome = commitOutcome(answer);
        const endedMs = loop.nowMs;
        this.#commits.push({ name, slot, token, value, beganMs, endedMs, outcome });
        note(`lock guarded ${name}#${slot} ${token} ${value} ${outcome}`);
        done();
      },
    );
  }
}

function partitionOf(name: string, slot: number): string {
  return `${name}-${slot}`;
}

function guarded(name: LockName, slot: number, token: number, value: string): TransactionCommand {
  const place = { namespace: LOCK_NAMESPACE, key: `${name}#${slot}` };
  const check: KvOp = { op: 'check', ...place, expect: token, required: true };
  const partition = partitionOf(name, slot);
  const message = { value, partition, transactionId: null, payload: `"${value}"` };
  return {
    kind: 'transaction',
    tenant: TENANT,
    acks: [],
    pushes: pushCommand(QUEUE, [message]),
    traceIds: null,
    positions: [],
    kv: { kind: 'kv', tenant: TENANT, ops: [check] },
    timers: null,
    flaw: null,
  };
}

function commitOutcome(answer: SubmittedOutcome | NoAnswer): GuardedCommit['outcome'] {
  if (!isTold(answer)) return isRefused(answer) ? 'refused' : 'unknown';
  if (answer.kind !== 'transacted') throw new Error(`a transaction was answered ${answer.kind}`);
  const { rollback } = answer;
  if (rollback === null) return 'committed';
  if (rollback.reason === 'kv_precondition') return 'guard';
  throw new Error(`a guarded transaction failed: ${rollback.reason} ${rollback.error}`);
}

type Told = Pick<LockCall, 'outcome' | 'slot' | 'granted'>;

function toldBy(answer: LocksView | RefusedOutcome | NoAnswer, named: number | null): Told {
  const none = { slot: named, granted: null };
  if (!isTold(answer)) return { ...none, outcome: isRefused(answer) ? 'refused' : 'unknown' };
  const [result] = answer.results;
  if (result === undefined) throw new Error('an operation on a lock has no result');
  return lockTold(result, named);
}
