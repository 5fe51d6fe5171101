/**
 * Ephemeral queues: messages in the memory of one node, for what is worth nothing later.
 *
 *     const presence = client.ephemeral('presence');
 *     await presence.push({ payload: { user: 'ada' } }, { partition: 'room-7' });
 *     const messages = await presence.pop({ group: 'widget', batch: 10, wait: true });
 *     await presence.ack(messages);
 *
 * A push has no id by which the broker could know it again, so it is sent again only when nothing
 * was stored. A full queue is 429 like any limit: the push waits and tries again for as long as
 * `retry429` says.
 */
import { flag, misuse, nameOf, oneOf, refuseUnknown, whole } from '../base/checks.js';
import { type Duration, durationMs } from '../base/durations.js';
import { notItsResult, shown } from '../base/errors.js';
import { parseButTexts } from '../base/payload-texts.js';
import { writeJson } from '../base/write-json.js';
import { path, type Transport, withQuery } from '../transport/transport.js';

export interface EphemeralItem<Payload = unknown> {
  readonly payload: Payload;
}

export interface EphemeralPushOptions {
  /** `Default` without. All items of a call go to one, all of them or none. */
  readonly partition?: string;
  readonly signal?: AbortSignal;
}

export interface EphemeralPopOptions {
  /** Consumers that name none share one. */
  readonly group?: string;
  /** Any partition that the asked node holds without. */
  readonly partition?: string;
  /** 1 without. */
  readonly batch?: number;
  /** Wait for messages when there are none; a duration: for so long. */
  readonly wait?: boolean | Duration;
  /** Nothing to acknowledge, and nothing is delivered twice. */
  readonly commitOnDelivery?: boolean;
  readonly signal?: AbortSignal;
}

export interface EphemeralMessage<Payload = unknown> {
  readonly id: string;
  readonly partition: string;
  /** Deliveries that failed: 0 at the first one. */
  readonly attempts: number;
  readonly payload: Payload;
  /** The payload as the text that is stored. */
  readonly raw: string;
  /** As the pop named it. */
  readonly group: string | undefined;
}

/** What names a message; one that was popped does. */
export type EphemeralAcked = Pick<EphemeralMessage, 'id'> &
  Partial<Pick<EphemeralMessage, 'partition' | 'group'>>;

export interface EphemeralAckOptions {
  /** That of the message without. */
  readonly group?: string;
  readonly error?: string;
}

export type EphemeralStatus = 'completed' | 'failed' | 'retry';

/**
 * `redelivered`: given back. `stale`: its node is gone, and the message with it. `unknown`: settled
 * before, or delivered again since.
 */
export type EphemeralOutcome = 'acked' | 'redelivered' | 'stale' | 'unknown';

/** docs/api.md, "Ephemeral queues"; what is absent is the broker's default. */
export interface EphemeralOptions {
  readonly maxBytes?: number;
  readonly maxLength?: number;
  /** What a full queue does with a push. */
  readonly policy?: 'reject' | 'dropOldest';
  /** 0: messages do not grow old. */
  readonly ttlSeconds?: number;
  readonly leaseSeconds?: number;
  readonly retryLimit?: number;
  /** A pop that waits collects for `ms`, or until it has `count`. */
  readonly windowBuffer?: { readonly ms: number; readonly count: number };
}

const OPTION_NAMES = 'maxBytes maxLength policy ttlSeconds leaseSeconds retryLimit windowBuffer';
const STATUSES: readonly (boolean | EphemeralStatus)[] = [
  true,
  false,
  'completed',
  'failed',
  'retry',
];
/** The bound of one call of the wire. */
const ITEMS_MAX = 10_000;
/** The wait of a pop with `wait: true`; docs/api.md bounds it by 300 s. */
const WAIT_MS = 30_000;

export function ephemeralOf(transport: Transport, queue: string): EphemeralQueue {
  return new EphemeralQueue(transport, nameOf(queue, 'the name of an ephemeral queue'));
}

export class EphemeralQueue {
  readonly name: string;
  readonly #transport: Transport;

  constructor(transport: Transport, name: string) {
    this.#transport = transport;
    this.name = name;
  }

  /** How many were stored: all of them. */
  async push(
    items: EphemeralItem | readonly EphemeralItem[],
    options: EphemeralPushOptions = {},
  ): Promise<number> {
    refuseUnknown(options, 'partition signal', 'push');
    const { partition, signal } = options;
    const list: readonly unknown[] = Array.isArray(items) ? items : [items];
    whole(list.length, 'the number of items', 0, ITEMS_MAX);
    const messages = list.map((item, i) => itemText(item, list === items ? `items[${i}].` : ''));
    const head = { queue: this.name, partition: optionalName(partition, 'partition') };
    const { body } = await this.#transport.call<{ readonly pushed: number }>({
      method: 'POST',
      path: '/api/v1/ephemeral/push',
      body: `${JSON.stringify(head).slice(0, -1)},"messages":[${messages.join(',')}]}`,
      repeat: 'unapplied',
      affinity: this.#affinity(partition),
      signal,
    });
    return body?.pushed ?? 0;
  }

  /** Empty when there is nothing. */
  async pop<Payload = unknown>(
    options: EphemeralPopOptions = {},
  ): Promise<EphemeralMessage<Payload>[]> {
    refuseUnknown(options, 'group partition batch wait commitOnDelivery signal', 'pop');
    const { group, partition, batch = 1, wait = false, commitOnDelivery = false } = options;
    const waitMs = wait === true ? WAIT_MS : wait === false ? 0 : durationMs(wait, 'wait');
    const query = {
      queue: this.name,
      partition: optionalName(partition, 'partition'),
      group: optionalName(group, 'group'),
      batch: whole(batch, 'batch', 1, ITEMS_MAX),
      wait: waitMs > 0,
      timeout: waitMs > 0 ? Math.ceil(waitMs) : undefined,
      commitOnDelivery: flag(commitOnDelivery, 'commitOnDelivery') || undefined,
    };
    const { body } = await this.#transport.call<{ readonly messages: readonly WireMessage[] }>({
      method: 'GET',
      path: withQuery('/api/v1/ephemeral/pop', query),
      repeat: commitOnDelivery ? 'unapplied' : 'any',
      ...(waitMs > 0 ? { waitMs } : {}),
      affinity: this.#affinity(partition),
      signal: options.signal,
      read: (text) => parseButTexts(text, 'payload') as { messages: WireMessage[] },
    });
    return (body?.messages ?? []).map(({ id, partition, attempts, payload: raw }) => {
      return { id, partition, attempts, payload: JSON.parse(raw) as Payload, raw, group };
    });
  }

  /** One outcome for each message, in their order. */
  async ack(
    messages: EphemeralAcked | readonly EphemeralAcked[],
    status: boolean | EphemeralStatus = true,
    options: EphemeralAckOptions = {},
  ): Promise<EphemeralOutcome[]> {
    refuseUnknown(options, 'group error', 'ack');
    const { error } = options;
    const word = statusWord(status);
    const list = [messages].flat() as readonly EphemeralAcked[];
    for (const message of list) refuseUnnamed(message);
    const outcomes: EphemeralOutcome[] = [];
    for (const places of placesByCall(list, options.group)) {
      const group = options.group ?? list[places[0] as number]?.group;
      const acks = places.map((i) => ({ id: list[i]?.id, status: word, error }));
      const { body } = await this.#transport.call<{
        readonly results: readonly { readonly outcome: EphemeralOutcome }[];
      }>({
        method: 'POST',
        path: '/api/v1/ephemeral/ack',
        body: JSON.stringify({ queue: this.name, group, acks }),
        repeat: 'any',
        affinity: this.#affinity(list[places[0] as number]?.partition),
      });
      if (body?.results.length !== places.length) throw notItsResult('ack of an ephemeral queue');
      places.forEach((place, i) => {
        outcomes[place] = body.results[i]?.outcome as EphemeralOutcome;
      });
    }
    return outcomes;
  }

  /** Declares the queue: it stays, with these options, until it is deleted. */
  async configure(options: EphemeralOptions): Promise<EphemeralOptions> {
    refuseUnknown(options, OPTION_NAMES, 'configure');
    const body = writeJson({ queue: this.name, options }, 'configure');
    const { body: answer } = await this.#post<{ readonly options: EphemeralOptions }>(
      '/api/v1/ephemeral/configure',
      body,
    );
    return answer?.options ?? options;
  }

  /** Drops all messages; gives the number of those that the asked node had. */
  async reset(): Promise<number> {
    const body = JSON.stringify({ queue: this.name });
    const { body: answer } = await this.#post<{ readonly dropped: number }>(
      '/api/v1/ephemeral/reset',
      body,
    );
    return answer?.dropped ?? 0;
  }

  /** Ends the queue on every node; gives whether it had been declared. */
  async delete(): Promise<boolean> {
    const { body } = await this.#transport.call<{ readonly declared: boolean }>({
      method: 'DELETE',
      path: path`/api/v1/ephemeral/queue/${this.name}`,
      repeat: 'any',
    });
    return body?.declared ?? false;
  }

  #post<Body>(path: string, body: string) {
    return this.#transport.call<Body>({ method: 'POST', path, body, repeat: 'any' });
  }

  #affinity(partition: string | undefined): string {
    return `ephemeral/${this.name}/${partition ?? ''}`;
  }
}

interface WireMessage {
  readonly id: string;
  readonly partition: string;
  readonly attempts: number;
  /** As text. */
  readonly payload: string;
}

/** Messages of one group and partition go together: the node that holds them settles them. */
function placesByCall(
  messages: readonly EphemeralAcked[],
  group: string | undefined,
): readonly number[][] {
  const calls = new Map<string, number[]>();
  const full: number[][] = [];
  messages.forEach((message, place) => {
    const key = JSON.stringify([group ?? message.group ?? null, message.partition ?? null]);
    const places = calls.get(key) ?? [];
    if (places.push(place) === 1) calls.set(key, places);
    if (places.length < ITEMS_MAX) return;
    full.push(places);
    calls.delete(key);
  });
  return [...full, ...calls.values()];
}

function itemText(item: unknown, at: string): string {
  const isItem = typeof item === 'object' && item !== null && 'payload' in item;
  const form = 'write push({ payload: ... }), or an array of such items';
  if (!isItem) throw new TypeError(`push got ${shown(item)}, which has no payload: ${form}`);
  const other = Object.keys(item).find((name) => name !== 'payload');
  if (other === 'partition') {
    throw new TypeError(`${at}partition: write push({ payload }, { partition: 'room-7' })`);
  }
  if (other !== undefined) throw new TypeError(`an item has no member ${other}: ${form}`);
  return `{"payload":${writeJson(item.payload, `${at}payload`)}}`;
}

function statusWord(status: boolean | EphemeralStatus): EphemeralStatus {
  oneOf(status, 'the status of an ack', STATUSES);
  return typeof status === 'boolean' ? (status ? 'completed' : 'failed') : status;
}

function refuseUnnamed(message: EphemeralAcked): void {
  if (typeof message?.id === 'string' && message.id !== '') return;
  throw misuse('what ack got', message, 'a message as pop gave it, or { id }');
}

function optionalName(value: string | undefined, name: string): string | undefined {
  return value === undefined ? undefined : nameOf(value, name);
}
