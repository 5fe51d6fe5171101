/**
 * The counts of an answer (gateway 10). An answer that cannot be read counts its request and
 * no messages.
 */
import { JsonError, JsonReader, KEYS_END, keySet } from '@svc/http';
import type { Sample } from '../metering/samples.js';
import type { BodySummary } from './body-summary.js';
import type { Passed } from './decide.js';

type Bytes = ConstructorParameters<typeof JsonReader>[0];

export interface Answered {
  readonly status: number;
  /** Bytes of a body that was kept to be read here; 0 for one that went by. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** null: it was not kept, or there is none. */
  readonly body: Bytes | null;
}

export interface Counted {
  /** One, and for sink items of a cycle a second one. */
  readonly samples: readonly Sample[];
  /** Messages that were taken out, which the bucket of messages is charged with. */
  readonly delivered: number;
  /** An answer that should have been read could not be. */
  readonly isUnreadable: boolean;
}

/** Whether the answer has to be kept for counting. */
export function countsAnswer({ target, cluster }: Passed, summary: BodySummary | null): boolean {
  if (cluster === null) return false;
  if (target.isPop) return true;
  const { body } = target;
  const mayPush =
    body === 'push' || body === 'transaction' || body === 'ephemeral-push' || body === 'cycle';
  return mayPush && (summary?.items ?? 1) > 0;
}

/** null: nothing of it is metered, for it belongs to no cluster. */
export function countAnswer(
  passed: Passed,
  summary: BodySummary | null,
  answered: Answered,
): Counted | null {
  const { cluster, target } = passed;
  if (cluster === null) return null;
  const { status, bytesIn, bytesOut, body } = answered;
  const isDone = status >= 200 && status < 300;
  const reads = isDone && body !== null && countsAnswer(passed, summary);
  const found = reads ? readAnswer(passed, summary, body) : 0;
  const msgs = found ?? 0;
  const isCycle = target.body === 'cycle';
  const first: Sample = {
    clusterId: cluster.id,
    op: target.op,
    reqs: 1,
    msgs: isCycle ? 0 : msgs,
    bytesIn,
    bytesOut,
  };
  const none = { bytesIn: 0, bytesOut: 0 };
  const sink: Sample = { clusterId: cluster.id, op: 'push', reqs: 1, msgs, ...none };
  return {
    samples: isCycle && msgs > 0 ? [first, sink] : [first],
    delivered: target.isPop ? msgs : 0,
    isUnreadable: found === null,
  };
}

/** Messages that the answer tells of; null: it cannot be read. */
function readAnswer({ target }: Passed, summary: BodySummary | null, body: Bytes): number | null {
  try {
    const reader = new JsonReader(body);
    if (target.isPop) return listLength(reader, 'messages');
    switch (target.body) {
      case 'push':
        return elementsWith(reader, ({ status }) => status === 'queued');
      case 'ephemeral-push':
        return numberOf(reader, 'pushed');
      case 'cycle':
        return listLength(reader, 'push_results');
      case 'transaction':
        return transactionPushes(reader, summary?.items ?? 0);
      default:
        return 0;
    }
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

const KEYS = keySet(
  'messages',
  'push_results',
  'pushed',
  'success',
  'results',
  'status',
  'duplicate',
);
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Goes through the members of an object. */
function members(reader: JsonReader, each: (name: string | undefined) => void): void {
  reader.enterObject('the answer');
  for (;;) {
    const key = reader.nextKey(KEYS, 0);
    if (key === KEYS_END) return;
    each(KEYS.names[key]);
  }
}

function listLength(reader: JsonReader, list: string): number {
  let length = 0;
  members(reader, (name) => {
    if (name !== list || reader.peek() !== OPEN_BRACKET) {
      reader.skipValue();
      return;
    }
    reader.enterArray(list);
    for (; reader.nextElement(); length++) reader.skipValue();
  });
  return length;
}

function numberOf(reader: JsonReader, member: string): number {
  let value = 0;
  members(reader, (name) => {
    reader.skipValue();
    if (name === member) value = Number(reader.valueText());
  });
  return Number.isSafeInteger(value) ? value : 0;
}

interface Element {
  readonly status: string | null;
  readonly isDuplicate: boolean;
}

function elementsWith(reader: JsonReader, holds: (element: Element) => boolean): number {
  let count = 0;
  reader.enterArray('the answer');
  while (reader.nextElement()) {
    let status: string | null = null;
    let isDuplicate = false;
    if (reader.peek() === OPEN_BRACE) {
      members(reader, (name) => {
        if (name === 'status' && reader.isString()) status = reader.readText(name);
        else {
          reader.skipValue();
          if (name === 'duplicate') isDuplicate = reader.valueText() === 'true';
        }
      });
    } else {
      reader.skipValue();
    }
    if (holds({ status, isDuplicate })) count++;
  }
  return count;
}

/** Those that the request had, less those that were there already; none when it rolled back. */
function transactionPushes(reader: JsonReader, items: number): number {
  let isCommitted = false;
  let duplicates = 0;
  members(reader, (name) => {
    if (name === 'results' && reader.peek() === OPEN_BRACKET) {
      duplicates += elementsWith(reader, ({ isDuplicate }) => isDuplicate);
      return;
    }
    reader.skipValue();
    if (name === 'success') isCommitted = reader.valueText() === 'true';
  });
  return isCommitted ? Math.max(0, items - duplicates) : 0;
}
