/**
 * The counts of an answer (gateway 10). An answer that cannot be read counts its request and
 * no messages.
 */
import { KEYS_END, keySet } from '@svc/http';
import type { Sample } from '../metering/samples.js';
import type { BodySummary } from './body-summary.js';
import type { Passed } from './decide.js';
import { type Bytes, PartsReader, type TextParts } from './parts-reader.js';
import type { RouteTarget } from './targets.js';

export interface Answered {
  readonly status: number;
  /** Bytes of a body that was kept to be read here; 0 for one that went by. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** null: it was not kept, or there is none. */
  readonly body: Bytes | null;
}

export interface Counted {
  readonly first: Sample;
  /** The sample of a cycle's sink items; null: it has none. */
  readonly sink: Sample | null;
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

/** All parts at once; null where nothing is metered: it belongs to no cluster. */
export function countAnswer(
  passed: Passed,
  summary: BodySummary | null,
  answered: Answered,
): Counted | null {
  const reader = answerReader(passed, summary, answered);
  while (reader?.parts.step() === false);
  return countedOf(passed, answered, reader);
}

/** null: there are no messages in it to be counted. */
export function answerReader(
  passed: Passed,
  summary: BodySummary | null,
  { status, body }: Answered,
): AnswerReader | null {
  const isDone = status >= 200 && status < 300;
  if (!isDone || body === null || !countsAnswer(passed, summary)) return null;
  return new AnswerReader(passed.target, summary?.items ?? 0, body);
}

/** `reader`: it has read the whole answer. */
export function countedOf(
  { cluster, target }: Passed,
  { bytesIn, bytesOut }: Answered,
  reader: AnswerReader | null,
): Counted | null {
  if (cluster === null) return null;
  const msgs = reader?.msgs ?? 0;
  const isCycle = target.body === 'cycle';
  const first: Sample = {
    clusterId: cluster.id,
    op: target.op,
    reqs: 1,
    msgs: isCycle ? 0 : msgs,
    bytesIn,
    bytesOut,
  };
  return {
    first,
    sink: isCycle && msgs > 0 ? { ...first, op: 'push', msgs, bytesIn: 0, bytesOut: 0 } : null,
    delivered: target.isPop ? msgs : 0,
    isUnreadable: reader?.parts.isUnreadable ?? false,
  };
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

/** The member whose elements count; "": the answer itself; undefined: a number tells. */
function listOf({ isPop, body }: RouteTarget): string | undefined {
  if (isPop) return 'messages';
  switch (body) {
    case 'push':
      return '';
    case 'cycle':
      return 'push_results';
    case 'transaction':
      return 'results';
    default:
      return undefined;
  }
}

/** Counts the messages that an answer tells of. */
export class AnswerReader implements TextParts {
  readonly parts: PartsReader;
  readonly #target: RouteTarget;
  readonly #list: string | undefined;
  /** Messages that the request had. */
  readonly #items: number;
  /** Elements that count; of a transaction those that were there already. */
  #count = 0;
  /** A transaction was not rolled back. */
  #isCommitted = false;

  constructor(target: RouteTarget, items: number, body: Bytes) {
    this.parts = new PartsReader(body, KEYS, 'the answer', this);
    this.#target = target;
    this.#list = listOf(target);
    this.#items = items;
  }

  /** 0 for one that cannot be read. */
  get msgs(): number {
    if (this.parts.isUnreadable) return 0;
    if (this.#list !== 'results') return this.#count;
    return this.#isCommitted ? Math.max(0, this.#items - this.#count) : 0;
  }

  isList(): boolean {
    return this.#list === '';
  }

  member(name: string | undefined): boolean {
    const { reader } = this.parts;
    if (name !== undefined && name === this.#list && this.parts.isAtList()) return true;
    reader.skipValue();
    if (name === 'success') this.#isCommitted = reader.valueText() === 'true';
    if (name === 'pushed' && this.#target.body === 'ephemeral-push') {
      const pushed = Number(reader.valueText());
      this.#count = Number.isSafeInteger(pushed) ? pushed : 0;
    }
    return false;
  }

  element(): boolean {
    const { reader } = this.parts;
    switch (this.#list) {
      case '':
        if (this.#has('status', '"queued"')) this.#count++;
        break;
      case 'results':
        if (this.#has('duplicate', 'true')) this.#count++;
        break;
      default:
        reader.skipValue();
        this.#count++;
    }
    return true;
  }

  /** Passes an element; the last value of the name is `value`, as it is written. */
  #has(name: string, value: string): boolean {
    const { reader } = this.parts;
    if (!this.parts.isAtObject()) {
      reader.skipValue();
      return false;
    }
    let has = false;
    reader.enterObject('the answer');
    for (;;) {
      const key = reader.nextKey(KEYS, 0);
      if (key === KEYS_END) return has;
      reader.skipValue();
      if (KEYS.names[key] === name) has = reader.valueText() === value;
    }
  }
}
