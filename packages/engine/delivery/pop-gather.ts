/**
 * What a queue's `minPopWaitTime` does (message-plane 7.1): while a waiting pop is younger
 * than that, it is served only if it can be served in full. It gathers.
 *
 * The contract names the option, its range, and that it acts in the scheduler. The reading here: a
 * queue whose messages trickle in is popped one message at a time, a round trip and a lease for
 * each; its owner can say that a pop had better stay a moment and bring home more. So the time
 * counts from the arrival of the pop and not from the first message it sees: a consumer that has
 * waited long enough for anything gets the next message at once, and no message waits longer than
 * the option says for a consumer that stays, nor a client beyond its own deadline. A pop that does
 * not wait asked for what is there now, and gets it.
 *
 * What must hold:
 * - "In full" means that waiting could bring no more: the batch is reached, or the bytes of an
 *   answer, or, for groups that conflate, the width. The width alone is not it: each of the
 *   partitions may still get messages.
 * - A pop that gathers holds nothing: no lease, no partition, nobody. Pops that cannot wait,
 *   because they do not want to or because their time is up, take what lies there. In a line the
 *   first one decides for those behind it, which are younger and so gather longer; lines of
 *   partitions that are waited for by name do not concern each other.
 * - It ends by itself: at `gatherUntilMs` the pop is looked at again, and served with whatever
 *   there is, or goes on waiting like any other.
 * - A discovery goes by the least patient of the queues in which something is ready, also where it
 *   would not come to take it: the lines of such a queue never wait for the patience of another.
 * - For a queue without the option one number is compared, and nothing is counted.
 *
 * Over a change of leader the pop arrives anew. Rejected: taking messages as they come and
 * answering later. They would be leased to nobody who could process them, and lost to everyone
 * else.
 */
import { assert } from '../base/assert.js';
import type { PopCommand } from '../base/commands/commands.js';
import { POP_BYTES_MAX } from '../base/delivery-limits.js';
import { numberKey } from '../base/keys.js';
import type { GroupRow, PartitionRow } from '../base/rows.js';
import { partitions, queues } from '../base/tables.js';
import type { Draft } from '../draft/draft.js';
import { cursorOf } from '../state/subscription.js';
import { comesAlone } from './delivery-limit.js';
import type { DeliveryGroup, DeliveryMemory, PartitionStatus } from './memory.js';
import { openBudget, pick } from './pop-claim.js';
import { countVisible } from './pop-sight.js';
import { answerByMs } from './waiters.js';

/** When a pop came, and when it is answered at the latest, on the monotonic clock. */
export interface PopTimes {
  readonly arrivedMs: number;
  readonly answerByMs: number;
}

export function isPatient(groups: readonly DeliveryGroup[]): boolean {
  for (const group of groups) if (group.minPopWaitMs > 0) return true;
  return false;
}

/** null: the pop has nothing to gather for. */
export function timesOf(
  draft: Draft,
  command: PopCommand,
  groups: readonly DeliveryGroup[],
): PopTimes | null {
  if (!command.wait || !isPatient(groups)) return null;
  return { arrivedMs: draft.nowMs, answerByMs: answerByMs(command.deadlineMs, draft.nowMs) };
}

/** Whether the pop waits at all, and its deadline leaves time for it. */
export function mayWait(draft: Draft, command: PopCommand): boolean {
  return command.wait && answerByMs(command.deadlineMs, draft.nowMs) > draft.nowMs;
}

/**
 * Until when the pop gathers from the partitions that are ready in these groups; null: it is served
 * now. What turns out not to be ready leaves the lines.
 */
export function gatherUntilMs(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  groups: readonly DeliveryGroup[],
  times: PopTimes,
): number | null {
  let mostMs = 0;
  for (const group of groups) {
    if (group.ready.size > 0 && group.minPopWaitMs > mostMs) mostMs = group.minPopWaitMs;
  }
  if (mostMs === 0 || patienceEndsMs(draft, command, mostMs, times) === null) return null;
  const fill = new Fill(command);
  let leastMs = mostMs;
  for (const group of groups) {
    let status = group.ready.first;
    while (status !== null && (fill.hasRoom || group.minPopWaitMs < leastMs)) {
      const { next, partition }: PartitionStatus = status;
      const offer = lookInto(draft, memory, group, partition, group.policy);
      if (offer.messages > 0) leastMs = Math.min(leastMs, group.minPopWaitMs);
      if (fill.hasRoom) fill.add(group, offer);
      status = next;
    }
  }
  if (fill.isFull || fill.isEmpty) return null;
  return patienceEndsMs(draft, command, leastMs, times);
}

/** The same for one named partition; `policy` stands in where the group has no cursor. */
export function gatherPinnedUntilMs(
  draft: Draft,
  memory: DeliveryMemory,
  command: PopCommand,
  group: DeliveryGroup,
  partition: number,
  policy: GroupRow,
  times: PopTimes,
): number | null {
  if (group.minPopWaitMs === 0) return null;
  const untilMs = patienceEndsMs(draft, command, group.minPopWaitMs, times);
  if (untilMs === null) return null;
  const fill = new Fill(command);
  fill.add(group, lookInto(draft, memory, group, partition, policy));
  return fill.isFull || fill.isEmpty ? null : untilMs;
}

/** null: the pop has no patience, or it has come to its end. */
function patienceEndsMs(
  draft: Draft,
  command: PopCommand,
  leastMs: number,
  times: PopTimes,
): number | null {
  if (!command.wait) return null;
  const untilMs = Math.min(times.arrivedMs + leastMs, times.answerByMs);
  return untilMs > draft.nowMs ? untilMs : null;
}

/** What one partition could give to the pop now. */
interface Offer {
  readonly messages: number;
  readonly messageBytes: number;
  /** The first message, and nothing else in the answer (delivery-limit.ts). */
  readonly isAlone: boolean;
}

const NO_OFFER: Offer = { messages: 0, messageBytes: 0, isAlone: false };

/** A partition that has nothing to give is settled as a pop would settle it: it leaves the line. */
function lookInto(
  draft: Draft,
  memory: DeliveryMemory,
  group: DeliveryGroup,
  number: number,
  policy: GroupRow | null,
): Offer {
  const queue = draft.state.get(queues, numberKey(group.queue));
  assert(queue !== undefined, `queue ${group.queue} is gone, but its group is remembered`);
  const partition = draft.state.get(partitions, numberKey(number));
  const cursor = partition && cursorOf(draft.state, partition, group.name, policy, draft.nowUs);
  if (partition !== undefined && cursor !== undefined) {
    const held = cursor.lease !== null && memory.leaseLive(draft, group, number, cursor.lease);
    if (held) return NO_OFFER;
    const waits = cursor.heldUntilUs > draft.nowUs;
    const messages = waits ? 0 : countVisible(draft, queue.options, partition, cursor.committed);
    if (messages > 0) {
      const isAlone = comesAlone(queue.options, partition, cursor);
      return { messages, messageBytes: averageBytes(partition), isAlone };
    }
  }
  const budget = {
    batch: 1,
    messages: 1,
    partitions: 1,
    bytes: POP_BYTES_MAX,
    appends: 1,
    roomBytes: Number.POSITIVE_INFINITY,
    neededBytes: 0,
  };
  const picked = pick(draft, memory, queue, group, number, policy, budget);
  assert(picked === null, `partition ${number} shows messages, but none was counted`);
  return NO_OFFER;
}

function averageBytes({ retainedBytes, nextOffset, logStart }: PartitionRow): number {
  return retainedBytes / (nextOffset - logStart);
}

/** How far what is there fills a pop, in the order in which the pop would take it. */
class Fill {
  readonly #whole: number;
  #messages: number;
  #partitions: number;
  #bytes = POP_BYTES_MAX;
  /** Some partition among those that the pop would take can still get messages for it. */
  #grows = false;

  constructor(command: PopCommand) {
    const budget = openBudget(command);
    this.#whole = budget.messages;
    this.#messages = budget.messages;
    this.#partitions = budget.partitions;
  }

  get isEmpty(): boolean {
    return this.#messages === this.#whole;
  }

  /** More could be added. */
  get hasRoom(): boolean {
    return this.#messages > 0 && this.#bytes > 0 && this.#partitions > 0;
  }

  get isFull(): boolean {
    if (this.#messages <= 0 || this.#bytes <= 0) return true;
    return this.#partitions === 0 && !this.#grows;
  }

  add(group: DeliveryGroup, { messages, messageBytes, isAlone }: Offer): void {
    if (messages === 0) return;
    if (isAlone) {
      this.#messages--;
      this.#partitions = 0;
      this.#grows = false;
      return;
    }
    const conflates = group.policy?.conflation === true;
    const given = conflates ? 1 : messages;
    if (!conflates) this.#grows = true;
    this.#messages -= given;
    this.#bytes -= given * messageBytes;
    this.#partitions--;
  }
}
