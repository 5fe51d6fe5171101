/**
 * A transaction: acknowledgements, pushes, key/value operations and timers that apply together or
 * not at all. Each step gives the same builder back; nothing is sent before `commit`.
 *
 * A repetition of a transaction that was applied would be refused (its pushes are duplicates, its
 * acks done), and the program would take it for one that failed. So it is repeated after an answer
 * that was lost only where a guard prevents that it applies twice (`once`, a required key/value
 * precondition). The refusal of a repetition may still be the work of the first try, whichever part
 * the broker refused first: then the key of `once` is read, and without one it is an error with
 * `outcomeUnknown`.
 */
import { base64 } from '../base/base64.js';
import { instantMs, misuse, nameOf, refuseUnknown } from '../base/checks.js';
import { type Duration, durationMs, durationSeconds } from '../base/durations.js';
import { ClientError } from '../base/errors.js';
import { mintId } from '../base/mint-id.js';
import { sleep } from '../base/platform.js';
import { writeJson } from '../base/write-json.js';
import { type Acked, type AckOptions, type AckStatus, ackItem } from '../messages/acks.js';
import { itemText, type PushItem, readyItems } from '../messages/push-items.js';
import type { Guard, KvCheck } from '../surfaces/guard.js';
import type { Answer, Transport } from '../transport/transport.js';

/** An operation as `POST /api/v1/kv` takes it. */
export interface KvOperation {
  readonly op: 'get' | 'getMany' | 'put' | 'putIfAbsent' | 'delete' | 'incr' | 'check';
  readonly ns: string;
  readonly key?: string;
  /** Not met: the transaction is rolled back. */
  readonly required?: boolean;
  readonly [member: string]: unknown;
}

/** A held lock, or its `guard()`: the transaction commits only while the lock is held. */
export type Guarding = Guard | { readonly guard: KvCheck };

export interface TransactionTimer {
  readonly queue?: string;
  readonly key: string;
  /** From now on; without it `at`. */
  readonly delay?: Duration;
  readonly at?: Date;
  readonly payload: unknown;
  readonly partition?: string;
  readonly transactionId?: string;
}

export interface OnceOptions {
  /** `once` without. */
  readonly ns?: string;
  /** For how long the key is remembered: for ever without. */
  readonly ttl?: Duration;
}

export interface Committed {
  readonly success: true;
  readonly transactionId: string;
  readonly results: readonly Readonly<Record<string, unknown>>[];
}

/** A required precondition was not met, and nothing was applied. */
export interface NotCommitted {
  readonly success: false;
  readonly reason: 'kv_precondition';
  readonly transactionId: string;
  readonly failedIndex?: number;
  readonly kvReason?: string;
  readonly version?: number;
  readonly value?: unknown;
}

interface TransactionAnswer {
  readonly success: boolean;
  readonly reason?: string;
  readonly error?: string;
  readonly transactionId?: string;
}

/** Reasons that pass: the transaction was rolled back and may be sent again. */
const PASSING = new Set(['reserved', 'unavailable']);

export class Transaction {
  readonly #transport: Transport;
  /** JSON texts, in their order; a push is made ready at `commit`. */
  readonly #operations: string[] = [];
  readonly #kv: (KvOperation | KvCheck)[] = [];
  /** Asked for their checks at each sending, which stand behind `#kv`. */
  readonly #guards: Guard[] = [];
  /** Results that stand before those of `#kv`: one for each ack and pushed message. */
  #slots = 0;
  readonly #timers: object[] = [];
  #queue: string | undefined;
  #partition: string | undefined;
  /** Places in `#kv`. */
  readonly #onces: number[] = [];
  #isGuarded = false;
  #isSent = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The message, or messages, under their own lease. `true` is `completed`. */
  ack(
    messages: Acked | readonly Acked[],
    status: AckStatus = true,
    options: AckOptions = {},
  ): this {
    refuseUnknown(options, 'group error', 'ack');
    const { group, error } = options;
    for (const message of [messages].flat() as Acked[]) {
      const item = ackItem(message, status, error);
      const consumerGroup = group ?? message.consumerGroup;
      const text = JSON.stringify({ type: 'ack', ...item, consumerGroup });
      this.#operations.push(text);
      this.#slots++;
    }
    return this;
  }

  /** Where the next pushes and timers go. */
  queue(name: string): this {
    this.#queue = nameOf(name, 'queue');
    this.#partition = undefined;
    return this;
  }

  /** Where the next pushes go that name no partition. */
  partition(name: string): this {
    this.#partition = nameOf(name, 'partition');
    return this;
  }

  push<Payload>(items: PushItem<Payload> | readonly PushItem<Payload>[]): this {
    const queue = this.#queue;
    if (queue === undefined) {
      throw new TypeError('push in a transaction without a queue: write queue(name).push(...)');
    }
    const nowMs = this.#transport.platform.nowMs();
    const ready = readyItems(items, { queue, partition: this.#partition, nowMs });
    this.#slots += ready.length;
    this.#operations.push(`{"type":"push","items":[${ready.map(itemText).join(',')}]}`);
    return this;
  }

  kv(operations: KvOperation | KvCheck | readonly (KvOperation | KvCheck)[]): this {
    for (const operation of [operations].flat() as (KvOperation | KvCheck)[]) {
      if (typeof operation?.op !== 'string') {
        throw misuse('what kv got', operation, "{ op: 'put', ns, key, value, forever: true }");
      }
      writeJson(operation, 'kv');
      this.#isGuarded ||= tellsRepetition(operation);
      this.#kv.push(operation);
    }
    return this;
  }

  /** Commits only if no transaction did with this key. */
  once(key: string, options: OnceOptions = {}): this {
    refuseUnknown(options, 'ns ttl', 'once');
    const { ns = 'once', ttl } = options;
    const expiry =
      ttl === undefined ? { forever: true } : { ttlSeconds: durationSeconds(ttl, 'ttl') };
    const names = { ns: nameOf(ns, 'ns'), key: nameOf(key, 'key') };
    this.#onces.push(this.#kv.length);
    return this.kv({ op: 'putIfAbsent', ...names, value: true, required: true, ...expiry });
  }

  timer(timer: TransactionTimer): this {
    refuseUnknown(timer, 'queue key delay at payload partition transactionId', 'timer');
    const { queue = this.#queue, key, delay, at, payload, partition, transactionId } = timer;
    if (queue === undefined) {
      throw new TypeError(
        'timer in a transaction without a queue: write timer({ queue, key, ... })',
      );
    }
    if ((delay === undefined) === (at === undefined)) {
      throw new TypeError('timer needs one of delay ("30s") and at (a Date)');
    }
    const nowMs = this.#transport.platform.nowMs();
    const delayMs =
      at === undefined
        ? durationMs(delay as Duration, 'delay')
        : Math.max(0, instantMs(at, 'at') - nowMs);
    this.#timers.push({
      op: 'schedule',
      queue: nameOf(queue, 'queue'),
      timerKey: nameOf(key, 'key'),
      delayMs: Math.ceil(delayMs),
      txn: transactionId === undefined ? mintId(nowMs) : nameOf(transactionId, 'transactionId'),
      ...(partition !== undefined && { partition: nameOf(partition, 'partition') }),
      payload: base64(writeJson(payload, 'payload')),
    });
    return this;
  }

  /** Commits only while the lock is held. One that was only renewed meanwhile is no loss. */
  guard(lock: Guarding): this {
    if (typeof lock?.guard === 'object') return this.kv(lock.guard);
    if (typeof lock?.guard !== 'function') {
      throw misuse('what guard got', lock, 'what acquire() of a lock gave');
    }
    this.#guards.push(lock as Guard);
    return this;
  }

  /** Rejects with a `ClientError` whose `reason` says why it was rolled back. */
  async commit(): Promise<Committed | NotCommitted> {
    if (this.#isSent) throw new TypeError('a transaction commits once: make another');
    const parts = [this.#operations, this.#kv, this.#timers, this.#guards];
    if (parts.every(({ length }) => length === 0)) {
      throw new TypeError('the transaction is empty: add ack, push, kv or timer before commit');
    }
    this.#isSent = true;
    for (;;) {
      const checks = this.#guards.map((lock) => lock.guard());
      const answer = await this.#send(this.#body([...this.#kv, ...checks]));
      if (answer.success || answer.failedIndex === undefined) return answer;
      const lost = answer.failedIndex - this.#slots - this.#kv.length;
      const [lock, check] = [this.#guards[lost], checks[lost]];
      const isHeld = lock !== undefined && check !== undefined && (await lock.guardRefused(check));
      if (!isHeld) return answer;
    }
  }

  #body(kv: readonly object[]): string {
    const parts = [`"operations":[${this.#operations.join(',')}]`];
    if (kv.length > 0) parts.push(`"kv":${JSON.stringify(kv)}`);
    if (this.#timers.length > 0) parts.push(`"timers":${JSON.stringify(this.#timers)}`);
    return `{${parts.join(',')}}`;
  }

  async #send(body: string): Promise<Committed | NotCommitted> {
    const { attemptsMax, retryDelayMs } = this.#transport.settings;
    let isRepeat = false;
    for (let attempt = 1; ; attempt++) {
      const answer: Answer<TransactionAnswer> = await this.#transport.call({
        method: 'POST',
        path: '/api/v1/transaction',
        body,
        repeat: this.#isGuarded ? 'any' : 'unapplied',
        isRepeat,
      });
      const said = answer.body as TransactionAnswer;
      if (said.success) return said as Committed;
      isRepeat = answer.isRepeat;
      const { reason, error } = said;
      if (reason === 'kv_precondition' && !isRepeat) return said as NotCommitted;
      if (attempt === attemptsMax || reason === undefined || !PASSING.has(reason)) {
        const before = isRepeat ? await this.#doneBefore(said) : null;
        if (before !== null) return before;
        const code = isRepeat ? 'outcome_unknown' : reason;
        const facts = { status: answer.status, code, reason, body: said, outcomeUnknown: isRepeat };
        const again = isRepeat ? ', perhaps since an earlier try was applied' : '';
        throw new ClientError(`the transaction was rolled back: ${error ?? reason}${again}`, facts);
      }
      await sleep(this.#transport.platform, retryDelayMs);
    }
  }

  /** Whether a key of `once` is there, and so the transaction was applied, or another with it. */
  async #doneBefore({ transactionId = '' }: TransactionAnswer): Promise<NotCommitted | null> {
    const places = this.#onces;
    if (places.length === 0) return null;
    const operations = places.map((place) => {
      const { ns, key } = this.#kv[place] as KvOperation;
      return { op: 'get', ns, key };
    });
    const { body } = await this.#transport.call<{
      readonly results: readonly { readonly found: boolean }[];
    }>({
      method: 'POST',
      path: '/api/v1/kv',
      body: JSON.stringify({ operations }),
      repeat: 'any',
      isRepeat: true,
    });
    const nth = body?.results.findIndex(({ found }) => found) ?? -1;
    if (nth === -1) return null;
    const failedIndex = this.#slots + (places[nth] as number);
    const verdict = { reason: 'kv_precondition', kvReason: 'exists', failedIndex } as const;
    return { success: false, ...verdict, transactionId };
  }
}

/** Whether it fails when the transaction was applied before. A check changes nothing: no. */
function tellsRepetition({ op, required, expect }: KvOperation | KvCheck): boolean {
  return required === true && (op === 'putIfAbsent' || (op !== 'check' && expect !== undefined));
}
