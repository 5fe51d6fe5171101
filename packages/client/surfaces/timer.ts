/**
 * Timers: messages that arrive at a later time.
 *
 *     await client.timer('mail').key('remind:42').delay('2h').payload({ to: 'ada' }).schedule();
 *
 * A timer is its queue and its key, and scheduling it again replaces it, so every call may be sent
 * again. Without a key the client mints one, and a transaction id too: a timer that fired between
 * two tries of the same `schedule` then fires no second message within the queue's dedup window.
 */

import { base64, textOfBase64 } from '../base/base64.js';
import { nameOf, refuseUnknown, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { ClientError, notItsResult, shown } from '../base/errors.js';
import { mintId } from '../base/mint-id.js';
import { writeJson } from '../base/write-json.js';
import { path, type Transport, withQuery } from '../transport/transport.js';
import { Listing } from './listing.js';
import { futureMs } from './options.js';

export interface Scheduled {
  /** false: a timer of this key was replaced. */
  readonly isNew: boolean;
  readonly queue: string;
  readonly timerKey: string;
  readonly transactionId: string;
  /** The id of the message that will be pushed. */
  readonly messageId: string;
  readonly deliverAt: string;
}

export interface PendingTimer {
  readonly queue: string;
  readonly timerKey: string;
  readonly partition: string;
  readonly deliverAt: string;
  readonly transactionId: string;
  readonly messageId: string;
  readonly producerSub: string | null;
  /** Tries to fire that failed. */
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface PeekedTimer<Payload = unknown> extends PendingTimer {
  /** undefined when it is encrypted, or no JSON. */
  readonly payload: Payload | undefined;
  /** As the text that is stored. */
  readonly raw: string;
}

export interface TimerListOptions {
  /** Rows of one call: 1000 without, which is the most. */
  readonly pageSize?: number;
  readonly signal?: AbortSignal;
}

interface WireTimer extends Omit<PendingTimer, 'transactionId'> {
  readonly txn: string;
  readonly found?: boolean;
  readonly payload?: string;
}

interface Drafted {
  readonly timerKey?: string;
  readonly partition?: string;
  readonly txn?: string;
  readonly delayMs?: number;
  /** An instant since the epoch, instead of the delay. */
  readonly atMs?: number;
  readonly payload?: string;
}

const PAGE_ROWS_MAX = 1000;
const FORM = "write timer('mail').key('remind:1').delay('30s').payload({ ... }).schedule()";

export function timerOf(transport: Transport, queue: string): TimerBuilder {
  return new TimerBuilder(transport, nameOf(queue, 'the queue of a timer'), {});
}

/** Each method gives another builder: one that is kept can be gone on from more than once. */
export class TimerBuilder {
  readonly #transport: Transport;
  readonly #queue: string;
  readonly #draft: Drafted;

  constructor(transport: Transport, queue: string, draft: Drafted) {
    this.#transport = transport;
    this.#queue = queue;
    this.#draft = draft;
  }

  /** Names the timer in its queue. */
  key(timerKey: string): TimerBuilder {
    return this.#with({ timerKey: nameOf(timerKey, 'key') });
  }

  /** From now: milliseconds, or a text such as `"30s"`. */
  delay(delay: Duration): TimerBuilder {
    return this.#with({ delayMs: durationMs(delay, 'delay') });
  }

  /** A date, an ISO text, or milliseconds since the epoch; by the clock of this machine. */
  at(instant: Date | string | number): TimerBuilder {
    return this.#with({ atMs: futureMs(instant, 'at', this.#transport.platform.nowMs()) });
  }

  payload(payload: unknown): TimerBuilder {
    return this.#with({ payload: writeJson(payload, 'payload') });
  }

  /** `Default` without. */
  partition(partition: string): TimerBuilder {
    return this.#with({ partition: nameOf(partition, 'partition') });
  }

  /** The id of the message; minted without. */
  transactionId(transactionId: string): TimerBuilder {
    return this.#with({ txn: nameOf(transactionId, 'transactionId') });
  }

  async schedule(): Promise<Scheduled> {
    const op = this.operation();
    const { body } = await this.#transport.call<{ readonly results: readonly WireScheduled[] }>({
      method: 'POST',
      path: '/api/v1/timers',
      body: JSON.stringify({ operations: [op] }),
      repeat: 'any',
    });
    const result = body?.results[0];
    if (result === undefined) throw notItsResult('schedule of a timer');
    const { status, queue, timerKey, txn, messageId, deliverAt } = result;
    const isNew = status === 'scheduled';
    return { isNew, queue, timerKey, transactionId: txn, messageId, deliverAt };
  }

  /** What `schedule` sends, for the `timers` of a transaction. */
  operation(): TimerOperation {
    const { timerKey, partition, txn, delayMs, atMs, payload } = this.#draft;
    const { platform } = this.#transport;
    if (payload === undefined) throw new TypeError(`the timer has no payload: ${FORM}`);
    if ((delayMs === undefined) === (atMs === undefined)) {
      const said = delayMs === undefined ? 'says no time' : 'says delay and at';
      throw new TypeError(`the timer ${said}: ${FORM}, or .at(date) instead of .delay(...)`);
    }
    const nowMs = platform.nowMs();
    return {
      op: 'schedule',
      queue: this.#queue,
      timerKey: timerKey ?? mintId(nowMs),
      ...(partition === undefined ? {} : { partition }),
      delayMs: Math.ceil(delayMs ?? Math.max(0, (atMs as number) - nowMs)),
      txn: txn ?? mintId(nowMs),
      payload: base64(payload),
    };
  }

  /** false: no such timer was pending. It may have fired: there is no trace of what has. */
  async cancel(): Promise<boolean> {
    const { body, isRepeat } = await this.#transport.call<{ readonly ok: boolean }>({
      method: 'DELETE',
      path: this.#path('cancel'),
      repeat: 'any',
    });
    if (body === null) throw notItsResult('cancel of a timer');
    if (body.ok || !isRepeat) return body.ok;
    const text = `the timer ${shown(this.#draft.timerKey)} is gone, by an earlier try or before it`;
    throw new ClientError(text, { code: 'outcome_unknown', outcomeUnknown: true, body });
  }

  /** null: no such timer is pending. */
  async peek<Payload = unknown>(): Promise<PeekedTimer<Payload> | null> {
    const { body } = await this.#transport.call<WireTimer & { readonly encrypted: boolean }>({
      method: 'GET',
      path: this.#path('peek'),
      repeat: 'any',
    });
    if (body === null) throw notItsResult('peek of a timer');
    if (body.found === false) return null;
    const raw = textOfBase64(body.payload ?? '');
    const payload = body.encrypted ? undefined : (jsonOrUndefined(raw) as Payload | undefined);
    return { ...pendingOf(body), payload, raw };
  }

  /** The pending timers of the queue, by key, without payloads. */
  list(options: TimerListOptions = {}): Listing<PendingTimer> {
    refuseUnknown(options, 'pageSize signal', 'list');
    const { pageSize = PAGE_ROWS_MAX, signal } = options;
    const limit = whole(pageSize, 'pageSize', 1, PAGE_ROWS_MAX);
    return new Listing(async (after) => {
      const query = { after: after ?? undefined, limit };
      const { body } = await this.#transport.call<{
        readonly rows: readonly WireTimer[];
        readonly nextAfter: string | null;
      }>({
        method: 'GET',
        path: withQuery(path`/api/v1/timers/${this.#queue}`, query),
        repeat: 'any',
        signal,
      });
      if (body === null) throw notItsResult('list of a timer');
      return { rows: body.rows.map(pendingOf), nextAfter: body.nextAfter };
    });
  }

  #path(what: string): string {
    const { timerKey } = this.#draft;
    if (timerKey !== undefined) return path`/api/v1/timers/${this.#queue}/${timerKey}`;
    throw new TypeError(`${what} names no timer: write timer('mail').key('remind:1').${what}()`);
  }

  #with(draft: Drafted): TimerBuilder {
    return new TimerBuilder(this.#transport, this.#queue, { ...this.#draft, ...draft });
  }
}

export interface TimerOperation {
  readonly op: 'schedule';
  readonly queue: string;
  readonly timerKey: string;
  readonly partition?: string;
  readonly delayMs: number;
  readonly txn: string;
  /** Base64 of the JSON. */
  readonly payload: string;
}

interface WireScheduled {
  readonly status: 'scheduled' | 'rescheduled';
  readonly queue: string;
  readonly timerKey: string;
  readonly txn: string;
  readonly messageId: string;
  readonly deliverAt: string;
}

function pendingOf(row: WireTimer): PendingTimer {
  const { queue, timerKey, partition, deliverAt, txn, messageId, producerSub } = row;
  const { attempts, lastError, createdAt, updatedAt } = row;
  return {
    queue,
    timerKey,
    partition,
    deliverAt,
    transactionId: txn,
    messageId,
    producerSub,
    attempts,
    lastError,
    createdAt,
    updatedAt,
  };
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
