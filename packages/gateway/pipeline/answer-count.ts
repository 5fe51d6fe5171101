/**
 * The counts of an answer (gateway 10). An answer that cannot be read counts its request and
 * no messages. A large one is read in parts, each some 64 KiB, as bodies are (`body-summary.ts`).
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

/** All parts at once. */
export function countAnswer(
  passed: Passed,
  summary: BodySummary | null,
  answered: Answered,
): Counted | null {
  const parts = countParts(passed, summary, answered);
  for (;;) {
    const step = parts.next();
    if (step.done === true) return step.value;
  }
}

/** Each step is one part. The result is null where nothing is metered: it belongs to no cluster. */
export function* countParts(
  passed: Passed,
  summary: BodySummary | null,
  answered: Answered,
): Generator<void, Counted | null> {
  const { cluster, target } = passed;
  if (cluster === null) return null;
  const { status, bytesIn, bytesOut, body } = answered;
  const isDone = status >= 200 && status < 300;
  const reads = isDone && body !== null && countsAnswer(passed, summary);
  const found = reads ? yield* readAnswer(passed, summary, body) : 0;
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
function* readAnswer(
  { target }: Passed,
  summary: BodySummary | null,
  body: Bytes,
): Generator<void, number | null> {
  try {
    const reader = new JsonReader(body);
    if (target.isPop) return yield* listLength(reader, 'messages');
    switch (target.body) {
      case 'push':
        return yield* elementsWith(reader, ({ status }) => status === 'queued');
      case 'ephemeral-push':
        return numberOf(reader, 'pushed');
      case 'cycle':
        return yield* listLength(reader, 'push_results');
      case 'transaction':
        return yield* transactionPushes(reader, summary?.items ?? 0);
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
const PART_BYTES = 65_536;
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

function* listLength(reader: JsonReader, list: string): Generator<void, number> {
  let length = 0;
  reader.enterObject('the answer');
  for (;;) {
    const key = reader.nextKey(KEYS, 0);
    if (key === KEYS_END) return length;
    if (KEYS.names[key] !== list || reader.peek() !== OPEN_BRACKET) {
      reader.skipValue();
      continue;
    }
    yield* elements(reader, () => {
      reader.skipValue();
      length++;
    });
  }
}

/** Goes through the elements of a list, and yields behind each part. */
function* elements(reader: JsonReader, each: () => void): Generator<void, void> {
  reader.enterArray('the answer');
  let until = reader.at + PART_BYTES;
  while (reader.nextElement()) {
    if (reader.at >= until) {
      yield;
      until = reader.at + PART_BYTES;
    }
    each();
  }
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

function* elementsWith(
  reader: JsonReader,
  holds: (element: Element) => boolean,
): Generator<void, number> {
  let count = 0;
  yield* elements(reader, () => {
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
  });
  return count;
}

/** Those that the request had, less those that were there already; none when it rolled back. */
function* transactionPushes(reader: JsonReader, items: number): Generator<void, number> {
  let isCommitted = false;
  let duplicates = 0;
  reader.enterObject('the answer');
  for (;;) {
    const key = reader.nextKey(KEYS, 0);
    if (key === KEYS_END) return isCommitted ? Math.max(0, items - duplicates) : 0;
    const name = KEYS.names[key];
    if (name === 'results' && reader.peek() === OPEN_BRACKET) {
      duplicates += yield* elementsWith(reader, ({ isDuplicate }) => isDuplicate);
      continue;
    }
    reader.skipValue();
    if (name === 'success') isCommitted = reader.valueText() === 'true';
  }
}
