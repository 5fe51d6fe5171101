/**
 * What a broker does, said as plainly as possible: lists and maps, no index, no time but `nowUs`,
 * no difference between what is planned and what is applied. It is written from the contract
 * (message-plane 2 to 4, 6, 9, 11) and from nothing else, and is what the engine is compared with.
 *
 * Where the contract leaves a choice (which of the ready partitions a pop takes), the engine's own
 * choice is taken over, and judged. Ids that the broker mints are taken over too.
 */
import type { AckItemOutcome, AckStatus } from '../../base/commands/commands.js';
import {
  type FirstContact,
  IMPLICIT,
  type ModelAck,
  type ModelCursor,
  type ModelDeadLetter,
  type ModelGroup,
  type ModelLease,
  type ModelPartition,
  type ModelQueue,
} from './state.fake.js';

const LEASE_REFUSED = 'invalid or expired lease';
const ALREADY_COMMITTED = 'already committed';
const UNRESOLVABLE = 'unresolvable';
const STRENGTH: readonly AckStatus[] = ['completed', 'retry', 'failed', 'dlq'];
const SECOND = 1_000_000;

export class DifferentialModel {
  nowUs = 0;
  queues = new Map<string, ModelQueue>();
  deadLetters: ModelDeadLetter[] = [];

  queue(name: string): ModelQueue {
    const known = this.queues.get(name);
    if (known !== undefined) return known;
    const made = { options: { ...IMPLICIT }, partitions: new Map(), groups: new Map() };
    this.queues.set(name, made);
    return made;
  }

  partition(queue: string, name: string): ModelPartition {
    const { partitions } = this.queue(queue);
    const known = partitions.get(name);
    if (known !== undefined) return known;
    const made = { name, number: 0, messages: [], cursors: new Map() };
    partitions.set(name, made);
    return made;
  }

  find(queue: string, partition: string): ModelPartition | undefined {
    return this.queues.get(queue)?.partitions.get(partition);
  }

  /** Message-plane 11.1: the lowest offset inside the window that carries the id, or -1. */
  originalOf(queue: string, partition: string, id: string): number {
    const { dedupWindowSeconds } = this.queues.get(queue)?.options ?? IMPLICIT;
    if (dedupWindowSeconds === 0) return -1;
    const sinceUs = this.nowUs - dedupWindowSeconds * SECOND;
    const messages = this.find(queue, partition)?.messages ?? [];
    return messages.findIndex((one) => one.transactionId === id && one.stampUs >= sinceUs);
  }

  /** The cursor of a group, undefined where it has none. */
  cursor(queue: string, partition: ModelPartition, group: string): ModelCursor | undefined {
    const known = partition.cursors.get(group);
    const registered = this.queues.get(queue)?.groups.get(group);
    if (known !== undefined || registered?.isSeeded !== true) return known;
    return newCursor(seedOf(partition, registered));
  }

  /** The same, to be changed. */
  ownCursor(queue: string, partition: ModelPartition, group: string): ModelCursor {
    const cursor = this.cursor(queue, partition, group) ?? newCursor(-1);
    partition.cursors.set(group, cursor);
    return cursor;
  }

  register(queue: string, group: string, first: FirstContact, isSeeded: boolean): void {
    const { groups } = this.queue(queue);
    const known = groups.get(group);
    if (known === undefined) groups.set(group, { ...this.#groupOf(group, first), isSeeded });
    else known.isSeeded ||= isSeeded;
  }

  #groupOf(group: string, { start, conflation }: FirstContact): ModelGroup {
    const mode = group === '__QUEUE_MODE__' ? 'all' : start;
    return { start: mode, registeredUs: this.nowUs, conflates: conflation, isSeeded: false };
  }

  /** Message-plane 3.3: the partitions that a pop may look at, after what it leaves behind. */
  contact(
    queue: string,
    name: string | null,
    group: string,
    first: FirstContact,
  ): ModelPartition[] {
    if (name === null) {
      this.register(queue, group, first, true);
      return [...this.queue(queue).partitions.values()];
    }
    const partition = this.find(queue, name);
    if (partition === undefined) return [];
    if (this.cursor(queue, partition, group) !== undefined) return [partition];
    const registered = this.queue(queue).groups.get(group);
    if (first.conflation && registered === undefined) this.register(queue, group, first, true);
    const policy = registered ?? this.#groupOf(group, first);
    this.move(partition, group, seedOf(partition, policy));
    return [partition];
  }

  isLive(cursor: ModelCursor | undefined): boolean {
    return cursor?.lease != null && cursor.lease.expiresUs > this.nowUs;
  }

  /** Message-plane 3.4, 1 to 4: the offsets a claim could take; empty when it can take none. */
  claimable(queue: string, partition: ModelPartition, group: string): readonly number[] {
    const { options } = this.queue(queue);
    const { messages } = partition;
    const cursor = this.cursor(queue, partition, group);
    if (cursor === undefined || this.isLive(cursor)) return [];
    if (cursor.heldUs > this.nowUs) return [];
    const quietUs = this.nowUs - options.windowBuffer * SECOND;
    if ((messages.at(-1)?.stampUs ?? 0) > quietUs) return [];
    const visibleUs = this.nowUs - options.delayedProcessing * SECOND;
    const visible = messages.flatMap(({ stampUs }, at) => (stampUs > visibleUs ? [] : [at]));
    const offsets = visible.filter((at) => at > cursor.committed);
    const conflates = this.queue(queue).groups.get(group)?.conflates === true;
    return conflates ? offsets.slice(-1) : offsets;
  }

  /** docs/api.md, a limit of deliveries: the message that would come next is a dead letter. */
  isSpent(queue: string, partition: ModelPartition, group: string): boolean {
    const [first] = this.claimable(queue, partition, group);
    const cursor = this.cursor(queue, partition, group);
    return first !== undefined && first === this.#spentAt(queue, cursor);
  }

  #spentAt(queue: string, cursor: ModelCursor | undefined): number {
    const { deliveryLimit } = this.queue(queue).options;
    if (deliveryLimit === 0 || cursor === undefined) return -1;
    const isAlone = cursor.aloneAt === cursor.attemptFirst;
    return isAlone && cursor.attempt >= deliveryLimit ? cursor.aloneAt : -1;
  }

  /** The same: it comes alone in its answer. */
  comesAlone(queue: string, partition: ModelPartition, group: string): boolean {
    const cursor = this.cursor(queue, partition, group);
    const isOn = this.queue(queue).options.deliveryLimit > 0;
    return isOn && cursor !== undefined && cursor.committed < cursor.aloneTo;
  }

  /** The pop that would have delivered it again files it, or drops it. */
  fileSpent(queue: string, partition: ModelPartition, group: string): void {
    const cursor = this.ownCursor(queue, partition, group);
    const offset = cursor.aloneAt;
    if (this.#keepsLetters(queue)) {
      const { retries } = cursor;
      this.deadLetters.push({ partition: partition.number, group, offset, retries });
    }
    const done = { committed: offset, lease: null, retries: 0, heldUs: 0, signalled: true };
    Object.assign(cursor, done);
  }

  #keepsLetters(queue: string): boolean {
    const { deadLetterQueue, dlqAfterMaxRetries } = this.queue(queue).options;
    return deadLetterQueue || dlqAfterMaxRetries;
  }

  /** Message-plane 3.4, 6 and 7: `offsets` are delivered; the attempt that the answer must show. */
  claim(
    cursor: ModelCursor,
    offsets: readonly number[],
    lease: {
      readonly id: string;
      readonly seconds: number;
      readonly conflates: boolean;
      /** The delivery limit of the queue. */
      readonly limit: number;
      /** No other partition is in the answer. */
      readonly isOnly: boolean;
    },
  ): number {
    const [first = -1] = offsets;
    const end = offsets.at(-1) ?? -1;
    cursor.heldUs = 0;
    if (lease.id === '') {
      Object.assign(cursor, { committed: end, lease: null, attemptFirst: -1, attempt: 0 });
      return 1;
    }
    cursor.attempt = cursor.attemptFirst === first ? cursor.attempt + 1 : 1;
    cursor.attemptFirst = first;
    const { id, conflates, limit, isOnly } = lease;
    if (limit === 0) cursor.aloneTo = -1;
    else if (first > cursor.aloneTo) cursor.aloneTo = cursor.attempt * 2 >= limit ? end : -1;
    cursor.aloneAt = limit > 0 && isOnly && offsets.length === 1 ? first : -1;
    cursor.lease = { id, end, conflates, expiresUs: this.nowUs + lease.seconds * SECOND };
    return cursor.attempt;
  }

  /** Message-plane 4.1 for one target; a text of each error stands for the whole of it. */
  ack(
    queue: string,
    partition: ModelPartition,
    group: string,
    leaseId: string,
    items: readonly ModelAck[],
  ): AckItemOutcome[] {
    const before = this.cursor(queue, partition, group);
    const refusal = (error: string, leaseReleased: boolean): AckItemOutcome => {
      return { success: false, error, leaseReleased, dlq: false, noop: false };
    };
    if (before === undefined) return items.map(() => refusal(LEASE_REFUSED, false));
    const held = this.isLive(before) && before.lease?.id === leaseId;
    const repeated = leaseId !== '' && !held && before.settled?.id === leaseId;
    if (leaseId !== '' && !held && !repeated) {
      return items.map(() => refusal(LEASE_REFUSED, false));
    }
    const end = before.lease?.end ?? partition.messages.length - 1;
    const range = repeated ? before.settled : null;
    const { first: low, last: high } = range ?? { first: before.committed + 1, last: end };
    const found = items.map((item) => offsetsOf(partition, item.transactionId));
    const delivered = before.lease?.conflates === true && !repeated ? high : -1;
    const offsets = found.map((all) =>
      all.includes(delivered) ? delivered : (all.find((one) => one >= low && one <= high) ?? -1),
    );
    const named = items
      .map(({ status }, i) => ({ status, offset: offsets[i] ?? -1 }))
      .filter(({ offset }) => offset >= 0);
    const last = this.#spentAt(queue, before);
    const { released, filed } = repeated
      ? { released: true, filed: false }
      : this.#settle(queue, partition, group, named);
    return items.map(({ status }, i) => {
      if ((offsets[i] ?? -1) >= 0) {
        const isLast = status === 'retry' && offsets[i] === last;
        const dlq = filed && (status === 'failed' || status === 'dlq' || isLast);
        return { success: true, error: null, leaseReleased: released, dlq, noop: repeated };
      }
      if (!found[i]?.some((one) => one < low)) return refusal(UNRESOLVABLE, released);
      if (status !== 'completed') return refusal(ALREADY_COMMITTED, released);
      return { success: true, error: null, leaseReleased: released, dlq: false, noop: true };
    });
  }

  /** Message-plane 4.1, 4 to 8, over items that were found. */
  #settle(
    queue: string,
    partition: ModelPartition,
    group: string,
    items: readonly { readonly status: AckStatus; readonly offset: number }[],
  ): { readonly released: boolean; readonly filed: boolean } {
    const { options } = this.queue(queue);
    const cursor = this.ownCursor(queue, partition, group);
    const { lease, retries } = cursor;
    const last = this.#spentAt(queue, cursor);
    const word = (offset: number): AckStatus | undefined =>
      STRENGTH.findLast((status) =>
        items.some((one) => one.offset === offset && one.status === status),
      );
    const signals = items.filter(({ status }) => status !== 'completed');
    const head = Math.min(...signals.map(({ offset }) => offset));
    const completed = items.map(({ offset }) => offset).filter((one) => word(one) === 'completed');
    const passed = Math.max(cursor.committed, ...completed.filter((one) => one < head));
    if (signals.length === 0 || lease === null) {
      const moved = lease !== null && passed > cursor.committed;
      const whole = moved && (lease.conflates || passed === lease.end);
      this.#moveTo(cursor, whole ? lease.end : passed, whole);
      if (whole) cursor.retries = 0;
      return { released: whole, filed: false };
    }
    cursor.signalled = true;
    const spent = retries >= Math.max(options.retryLimit, 0);
    const headWord = word(head);
    if (head !== last && (headWord === 'retry' || (headWord === 'failed' && !spent))) {
      cursor.retries = headWord === 'failed' ? retries + 1 : retries;
      const delivered = passed > cursor.committed ? 1 : cursor.attempt;
      this.#moveTo(cursor, passed, true);
      this.#holdBack(queue, cursor, delivered);
      return { released: true, filed: false };
    }
    const isOn = this.#keepsLetters(queue);
    let [filed, again] = [false, false];
    cursor.retries = 0;
    let at = head;
    for (; at <= lease.end; at++) {
      const here = word(at);
      again = at !== last && (here === 'retry' || (here === 'failed' && !spent));
      if (again && here === 'failed') cursor.retries = retries;
      if (again) break;
      if (here === undefined && !completed.some((one) => one > at)) break;
      if (here === 'dlq' || (here !== undefined && here !== 'completed' && isOn)) {
        this.deadLetters.push({ partition: partition.number, group, offset: at, retries });
        filed = true;
      }
    }
    this.#moveTo(cursor, at - 1, true);
    if (again) this.#holdBack(queue, cursor, 1);
    return { released: true, filed };
  }

  /** docs/api.md: 1, 2, 4 ... times `retryBackoffMs`, by how often the message was delivered. */
  #holdBack(queue: string, cursor: ModelCursor, delivered: number): void {
    const { retryBackoffMs: least, retryBackoffMaxMs: most } = this.queue(queue).options;
    if (least === 0) return;
    cursor.heldUs = this.nowUs + 1000 * Math.min(most, least * 2 ** (delivered - 1));
  }

  /** The ends of waits. */
  holds(): number[] {
    const partitions = [...this.queues.values()].flatMap((queue) => [...queue.partitions.values()]);
    return partitions.flatMap(({ cursors }) => [...cursors.values()].map(({ heldUs }) => heldUs));
  }

  #moveTo(cursor: ModelCursor, committed: number, released: boolean): void {
    const { lease } = cursor;
    if (released && lease !== null && committed === lease.end) {
      cursor.settled = { id: lease.id, first: cursor.attemptFirst, last: committed };
    }
    // A redelivery from the next message of a lease that goes on counts on.
    if (!released && lease !== null && committed > cursor.committed) {
      cursor.attemptFirst = committed + 1;
    }
    if (released) cursor.lease = null;
    if (committed > cursor.committed) cursor.heldUs = 0;
    cursor.committed = committed;
  }

  leases(): ModelLease[] {
    const partitions = [...this.queues.values()].flatMap((queue) => [...queue.partitions.values()]);
    const cursors = partitions.flatMap((partition) => [...partition.cursors.values()]);
    return cursors.flatMap(({ lease }) => lease ?? []);
  }

  /** Message-plane 5: how many leases, and the earliest of their ends. */
  extend(leaseId: string, seconds: number): { renewed: number; expiresAtUs: number | null } {
    const held = this.leases().filter((one) => one.id === leaseId && one.expiresUs > this.nowUs);
    for (const lease of held) {
      lease.expiresUs = Math.max(lease.expiresUs, this.nowUs + seconds * SECOND);
    }
    const ends = held.map(({ expiresUs }) => expiresUs);
    return { renewed: ends.length, expiresAtUs: ends.length === 0 ? null : Math.min(...ends) };
  }

  /** A seek or a position: everything about the cursor begins anew (message-plane 6, 9). */
  move(partition: ModelPartition, group: string, committed: number): void {
    partition.cursors.set(group, newCursor(committed));
  }
}

function newCursor(committed: number): ModelCursor {
  const attempts = { attemptFirst: -1, attempt: 0, retries: 0, signalled: false };
  const bounds = { heldUs: 0, aloneTo: -1, aloneAt: -1 };
  return { committed, lease: null, settled: null, ...attempts, ...bounds };
}

/** Message-plane 3.3: the offset before the first one that the group reads. */
function seedOf(partition: ModelPartition, { start, registeredUs }: ModelGroup): number {
  return start === 'all' ? -1 : firstSince(partition, registeredUs) - 1;
}

function offsetsOf({ messages }: ModelPartition, id: string): number[] {
  if (id === '') return [];
  return messages.flatMap((message, offset) => (message.transactionId === id ? [offset] : []));
}

/** The first offset stamped at or after an instant; the next to be assigned if there is none. */
export function firstSince({ messages }: ModelPartition, sinceUs: number): number {
  const found = messages.findIndex((message) => message.stampUs >= sinceUs);
  return found < 0 ? messages.length : found;
}
