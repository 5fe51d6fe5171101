/** The dead letters of a queue, the newest first. */
import { misuse, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { payloadTexts } from '../base/payload-texts.js';
import { type Transport, withQuery } from '../transport/transport.js';

export interface DeadLetter<Data = unknown> {
  readonly id: string;
  readonly queue: string;
  readonly partition: string | null;
  readonly partitionId: string;
  readonly consumerGroup: string;
  readonly offset: number;
  readonly messageId: string | null;
  readonly transactionId: string;
  readonly errorMessage: string;
  readonly retryCount: number;
  readonly failedAt: string;
  readonly data: Data;
  /** The payload as the text that is stored. */
  readonly raw: string;
}

export interface DeadLetters<Data> {
  readonly messages: DeadLetter<Data>[];
  /** All that the queue and the group have, whatever `from`, `to`, `limit` and `offset` say. */
  readonly total: number;
}

interface Page {
  readonly messages: readonly Omit<DeadLetter, 'raw'>[];
  readonly total: number;
  readonly texts: readonly (string | undefined)[];
}

interface Terms {
  readonly queue: string;
  readonly group: string | undefined;
  readonly limit: number;
  readonly offset: number;
  readonly fromMs: number;
  readonly toMs: number;
}

const PAGE = 1000;

/** Steps of `queue(name).dlq(group)`; nothing is sent before `get`. */
export class DeadLetterQuery<Data> {
  readonly #transport: Transport;
  readonly #terms: Terms;

  constructor(transport: Transport, queue: string, group: string | undefined, terms?: Terms) {
    this.#transport = transport;
    const all = { limit: 100, offset: 0, fromMs: -Infinity, toMs: Infinity };
    this.#terms = terms ?? { queue, group, ...all };
  }

  /** 100 without. */
  limit(limit: number): DeadLetterQuery<Data> {
    return this.#with({ limit: whole(limit, 'limit') });
  }

  offset(offset: number): DeadLetterQuery<Data> {
    return this.#with({ offset: whole(offset, 'offset', 0) });
  }

  /** Those that were filed at or after the time: a Date, an ISO text, or how long ago. */
  from(time: Date | Duration): DeadLetterQuery<Data> {
    return this.#with({ fromMs: this.#timeMs(time, 'from') });
  }

  /** Those that were filed at or before the time. */
  to(time: Date | Duration): DeadLetterQuery<Data> {
    return this.#with({ toMs: this.#timeMs(time, 'to') });
  }

  /** The broker's list knows no times: with `from` or `to` its pages are read and sifted here. */
  async get(): Promise<DeadLetters<Data>> {
    const { limit, offset, fromMs, toMs } = this.#terms;
    const found: DeadLetter<Data>[] = [];
    const isSifted = fromMs > -Infinity || toMs < Infinity;
    let passed = isSifted ? 0 : offset;
    for (let at = passed; ; at += PAGE) {
      const page = await this.#page(at, isSifted ? PAGE : Math.min(PAGE, limit - found.length));
      for (const [i, row] of page.messages.entries()) {
        const failedMs = Date.parse(row.failedAt);
        if (failedMs > toMs || failedMs < fromMs || passed++ < offset) continue;
        if (found.length === limit) break;
        found.push({ ...(row as DeadLetter<Data>), ...payloadOf<Data>(page.texts[i]) });
      }
      const last = page.messages.at(-1);
      const isOver = last === undefined || Date.parse(last.failedAt) < fromMs;
      const isWhole = at + page.messages.length >= page.total;
      if (isOver || isWhole || found.length === limit) {
        return { messages: found, total: page.total };
      }
    }
  }

  async #page(offset: number, limit: number): Promise<Page> {
    const { queue, group: consumerGroup } = this.#terms;
    const { body } = await this.#transport.call<Page>({
      method: 'GET',
      path: withQuery('/api/v1/dlq', { queue, consumerGroup, limit, offset }),
      repeat: 'any',
      affinity: queue,
      read: (text) => {
        const { answer, texts } = payloadTexts(text, 'data');
        return { ...(answer as Page), texts };
      },
    });
    return body ?? { messages: [], total: 0, texts: [] };
  }

  #timeMs(time: Date | Duration, name: string): number {
    const ms = time instanceof Date ? time.getTime() : Date.parse(String(time));
    if (typeof time !== 'number' && Number.isFinite(ms)) return ms;
    if (time instanceof Date) throw misuse(name, time, 'a valid Date');
    return this.#transport.platform.nowMs() - durationMs(time, name);
  }

  #with(change: Partial<Terms>): DeadLetterQuery<Data> {
    const terms = { ...this.#terms, ...change };
    return new DeadLetterQuery(this.#transport, terms.queue, terms.group, terms);
  }
}

function payloadOf<Data>(raw = 'null'): { readonly data: Data; readonly raw: string } {
  return { data: JSON.parse(raw) as Data, raw };
}
