/** Pops: what they ask for, the messages that they get, and the hints of the broker's autopilot. */
import { ClientError, notItsResult } from '../base/errors.js';
import { payloadTexts } from '../base/payload-texts.js';
import { path, type Transport, withQuery } from '../transport/transport.js';
import type { AckResult } from './acks.js';
import { Message, type MessageRow } from './message.js';

export interface PopTerms {
  /** undefined: every queue with the labels. */
  readonly queue: string | undefined;
  readonly partition: string | undefined;
  readonly namespace: string | undefined;
  readonly task: string | undefined;
  readonly group: string | undefined;
  /** undefined: what the broker takes. */
  readonly batch: number | undefined;
  readonly partitions: number | undefined;
  readonly wait: boolean;
  readonly waitMs: number;
  readonly leaseSeconds: number | undefined;
  readonly commitOnDelivery: boolean;
  readonly subscriptionMode: string | undefined;
  readonly subscriptionFrom: string | undefined;
  readonly conflation: boolean | undefined;
  readonly autopilot: boolean;
}

export interface Autopilot {
  readonly partitions: number;
  readonly batch: number;
  readonly waitMillis: number;
}

export interface PopResult<Data> {
  readonly messages: Message<Data>[];
  /** What the broker chose; null when it chose nothing. */
  readonly autopilot: Autopilot | null;
}

interface PopBody {
  readonly messages: readonly MessageRow[];
  readonly autopilot?: { readonly partitions: number; readonly batch: number };
  readonly texts: readonly (string | undefined)[];
}

interface AckedPopBody extends PopBody {
  readonly acks: readonly AckResult[];
}

/** Pops of one queue, partition and group go to one server. */
export function affinityOf({ queue, partition, group }: PopTerms): string {
  return [queue ?? '', partition ?? '', group ?? ''].join('\0');
}

/** The call of a pop, with acks and without. */
function popCall(terms: PopTerms, signal: AbortSignal | undefined) {
  return {
    path: popPath(terms),
    // What such a pop took is gone when its answer is lost: that is not to pass in silence.
    repeat: terms.commitOnDelivery ? ('unapplied' as const) : ('any' as const),
    ...(terms.wait && { waitMs: terms.waitMs }),
    affinity: affinityOf(terms),
    signal,
  };
}

function messagesOf<Data>(transport: Transport, { messages, texts }: PopBody): Message<Data>[] {
  return messages.map((row, i) => new Message<Data>(transport, row, texts[i] as string));
}

/**
 * The messages that there are, or that come while the call waits. The signal ends a call that
 * waits; the broker then gives back what the call had claimed.
 */
export async function pop<Data>(
  transport: Transport,
  terms: PopTerms,
  signal?: AbortSignal,
): Promise<PopResult<Data>> {
  const { body } = await transport.call<PopBody>({
    method: 'GET',
    ...popCall(terms, signal),
    read: readPop,
  });
  if (body === null) return { messages: [], autopilot: null };
  const { autopilot } = body;
  const messages = messagesOf<Data>(transport, body);
  const hints = autopilot === undefined ? null : { ...autopilot, waitMillis: terms.waitMs };
  return { messages, autopilot: hints };
}

export interface AckedPop<Data> {
  readonly messages: Message<Data>[];
  readonly acks: readonly AckResult[];
  /** An earlier try may have been applied: an ack that was refused may be its own work. */
  readonly isRepeat: boolean;
}

/**
 * A pop with a lease that carries acks, `count` of them in `acks` of the JSON `body`. Acks repeated
 * do nothing more, so it is repeated like any pop with a lease.
 */
export async function ackAndPop<Data>(
  transport: Transport,
  terms: PopTerms,
  body: string,
  count: number,
  signal: AbortSignal,
): Promise<AckedPop<Data>> {
  const answer = await transport.call<AckedPopBody>({
    method: 'POST',
    body,
    carriesAcks: true,
    ...popCall(terms, signal),
    read: (text) => readAckedPop(text, count),
  });
  if (answer.body === null) throw notItsResult('a pop with acks');
  return {
    messages: messagesOf<Data>(transport, answer.body),
    acks: answer.body.acks,
    isRepeat: answer.isRepeat,
  };
}

export function popPath(terms: PopTerms): string {
  const { queue, partition } = terms;
  return withQuery(
    queue === undefined
      ? '/api/v1/pop'
      : partition === undefined
        ? path`/api/v1/pop/queue/${queue}`
        : path`/api/v1/pop/queue/${queue}/partition/${partition}`,
    {
      namespace: queue === undefined ? terms.namespace : undefined,
      task: queue === undefined ? terms.task : undefined,
      consumerGroup: terms.group,
      batch: terms.batch,
      partitions: terms.partitions,
      wait: terms.wait,
      timeout: terms.wait ? terms.waitMs : undefined,
      leaseSeconds: terms.leaseSeconds,
      commitOnDelivery: terms.commitOnDelivery ? true : undefined,
      subscriptionMode: terms.subscriptionMode,
      subscriptionFrom: terms.subscriptionFrom,
      conflation: terms.conflation,
      autopilot: terms.autopilot ? true : undefined,
    },
  );
}

/** Throws for what is no answer of a pop: the call is then repeated like one without an answer. */
function readPop(text: string): PopBody {
  const { answer, texts } = payloadTexts(text, 'data');
  const { messages } = answer as Partial<PopBody>;
  if (!Array.isArray(messages) || texts.includes(undefined)) {
    throw new ClientError('the answer of a pop has no messages');
  }
  return { ...(answer as PopBody), texts };
}

function readAckedPop(text: string, count: number): AckedPopBody {
  const body = readPop(text);
  const { acks } = body as Partial<AckedPopBody>;
  if (Array.isArray(acks) && acks.length === count) return { ...body, acks };
  throw new ClientError(`the answer of a pop has no verdicts for its ${count} acks`);
}
