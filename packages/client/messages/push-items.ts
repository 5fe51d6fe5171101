/** Pushes: the items that users give, the body that is sent, and what is answered. */
import { misuse, nameOf, refuseUnknown } from '../base/checks.js';
import { notItsResult, shown } from '../base/errors.js';
import { mintId } from '../base/mint-id.js';
import { type StandardSchema, validated } from '../base/standard-schema.js';
import { writeJson } from '../base/write-json.js';
import type { Transport } from '../transport/transport.js';

export interface PushItem<Payload = unknown> {
  readonly payload: Payload;
  /** Messages of one partition stay in order; `Default` without. */
  readonly partition?: string | undefined;
  /** The queue stores a second push of the same id once. Minted without. */
  readonly transactionId?: string | undefined;
}

export interface PushResult {
  /** `error`: not stored, and another try would not help. */
  readonly status: 'queued' | 'duplicate' | 'error';
  readonly transactionId: string;
  /** For a duplicate, that of the first message. */
  readonly messageId: string;
  readonly queue: string;
  readonly partition: string;
}

/** An item that is ready to be sent, as often as it takes. */
export interface ReadyItem {
  readonly queue: string;
  readonly partition: string;
  readonly transactionId: string;
  /** The client made the id, so only an earlier try of the same push can have used it. */
  readonly isMinted: boolean;
  /** As JSON. */
  readonly text: string;
  /** As it was given. */
  readonly given: PushItem;
}

const KEYS: ReadonlySet<string> = new Set<keyof PushItem>([
  'payload',
  'partition',
  'transactionId',
]);
const FORM = 'write push({ payload: ... }), or an array of such items';

export interface PushTerms {
  readonly queue: string;
  /** Where items go that name no partition. */
  readonly partition: string | undefined;
  readonly nowMs: number;
}

/** Throws what is wrong with the items; does not ask the schema, which may take its time. */
export function readyItems(given: unknown, terms: PushTerms): ReadyItem[] {
  if (!Array.isArray(given)) return [readyItem(given, 'payload', terms)];
  return given.map((item, i) => readyItem(item, `items[${i}].payload`, terms));
}

export async function fitting(
  items: readonly ReadyItem[],
  schema: StandardSchema,
): Promise<readonly ReadyItem[]> {
  for (const { given } of items) await validated(schema, given.payload, 'payload');
  return items;
}

function readyItem(item: unknown, name: string, terms: PushTerms): ReadyItem {
  if (typeof item !== 'object' || item === null || !('payload' in item)) {
    throw new TypeError(`push got ${shown(item)}, which has no payload: ${FORM}`);
  }
  for (const key in item) {
    if (!KEYS.has(key)) refuseUnknown(item, [...KEYS].join(' '), 'an item of a push');
  }
  const given = item as PushItem;
  const { payload, partition = terms.partition, transactionId } = given;
  if (transactionId !== undefined && typeof transactionId !== 'string') {
    throw misuse('transactionId', transactionId, 'a text, or leave it out');
  }
  return {
    queue: terms.queue,
    partition: partition === undefined ? 'Default' : nameOf(partition, 'partition'),
    transactionId: transactionId ?? mintId(terms.nowMs),
    isMinted: transactionId === undefined,
    text: writeJson(payload, name),
    given,
  };
}

export function itemText({ queue, partition, transactionId, text }: ReadyItem): string {
  const names = `"queue":${JSON.stringify(queue)},"partition":${JSON.stringify(partition)}`;
  return `{${names},"transactionId":${JSON.stringify(transactionId)},"payload":${text}}`;
}

interface WireResult {
  readonly message_id: string;
  readonly status: PushResult['status'];
}

/** Stores the items; the results are in their order. */
export async function sendItems(
  transport: Transport,
  items: readonly ReadyItem[],
): Promise<PushResult[]> {
  const [first] = items;
  if (first === undefined) return [];
  const { body } = await transport.call<readonly WireResult[]>({
    method: 'POST',
    path: '/api/v1/push',
    body: `{"items":[${items.map(itemText).join(',')}]}`,
    repeat: 'any',
    affinity: first.queue,
  });
  if (!Array.isArray(body) || body.length !== items.length) {
    throw notItsResult(`a push of ${items.length} items`);
  }
  return items.map((item, i) => resultOf(item, body[i] as WireResult));
}

function resultOf(item: ReadyItem, { status, message_id: messageId }: WireResult): PushResult {
  const { queue, partition, transactionId, isMinted } = item;
  const isOwn = status === 'duplicate' && isMinted;
  return { status: isOwn ? 'queued' : status, transactionId, messageId, queue, partition };
}
