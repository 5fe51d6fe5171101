/**
 * Planning a replay (inspection 2.3): the dead letter is pushed like any message, and its row goes
 * in the same entry, so that at no time there are both or neither.
 *
 * The new message's transaction id is made of the dead letter's id, so deduplication decides what a
 * replay means that comes twice: the second finds no row, or, where somebody pushed that id by
 * hand, a duplicate, and then the row stays. The row holds the payload as it was stored: a queue
 * that encrypts takes an envelope as it stands, any other the payload in it. No trace, no subject
 * of a producer.
 */
import { DEFAULT_PARTITION, NAME_BYTES_MAX } from '@svc/wire';
import { assert } from '../base/assert.js';
import {
  ITEM_DUPLICATE,
  ITEM_DUPLICATE_GONE,
  ITEM_QUEUED,
  type PushCommand,
  type RefusedOutcome,
} from '../base/commands/commands.js';
import type { Replay, ReplayCommand, ReplayedOutcome } from '../base/commands/dead-letters.js';
import { numberKey } from '../base/keys.js';
import type { DeadLetterHead, QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { partitions } from '../base/tables.js';
import { utf8Length } from '../base/utf8.js';
import type { Draft } from '../draft/draft.js';
import { carriedPayload } from '../draft/payload-cipher.js';
import { findNamedPartition } from '../state/catalog.js';
import {
  deadLetterBody,
  deadLettersAt,
  findDeadLetter,
} from '../state/dead-letters/dead-letters.js';
import type { PushPlan } from './push.js';

/** A replay that was placed in the turn. */
export interface PlacedReplay {
  readonly result: Replay['result'] | 'gone' | 'refused';
  /** To be asked for when the pushes of the turn are written. */
  outcome(): ReplayedOutcome | RefusedOutcome;
}

export interface FoundLetter {
  readonly id: string;
  readonly queue: QueueRow;
  readonly head: DeadLetterHead;
}

export function planReplay(draft: Draft, command: ReplayCommand, pushes: PushPlan): PlacedReplay {
  const found = findLetter(draft.state, command);
  if (found !== null) return replayLetter(draft, found, command, pushes);
  return { result: 'gone', outcome: () => ({ kind: 'replayed', replay: null }) };
}

/** One that exists. */
export function replayLetter(
  draft: Draft,
  { id, queue, head }: FoundLetter,
  command: Pick<ReplayCommand, 'tenant' | 'queue' | 'partition'>,
  pushes: PushPlan,
): PlacedReplay {
  const body = deadLetterBody(draft.state, queue.number, id);
  assert(body !== null, `dead letter ${id} has a head and no body`);
  const { transactionId } = body;
  const { payload, envelope } = carriedPayload(draft.surroundings.cipher, body.payload);
  const home = draft.state.get(partitions, numberKey(head.partition));
  const to = {
    queue: command.queue ?? queue.name,
    partition: command.partition ?? home?.name ?? DEFAULT_PARTITION,
  };
  const names = { ...to, group: head.group, deadLetterId: id, transactionId };
  const ended = (result: Replay['result'], messageId: () => string = () => ''): PlacedReplay => ({
    result,
    outcome: () => ({ kind: 'replayed', replay: { ...names, result, messageId: messageId() } }),
  });
  const nameBytes = command.tenant.length + utf8Length(to.queue) + utf8Length(to.partition);
  if (nameBytes > NAME_BYTES_MAX) return ended('name_too_long');
  const push: PushCommand = {
    kind: 'push',
    tenant: command.tenant,
    producerSub: null,
    body: payload,
    groups: [to],
    itemGroup: [0],
    transactionIds: [`dlq:${id}`],
    payloadStart: [0],
    payloadEnd: [payload.length],
    envelopes: [envelope],
  };
  const placed = pushes.push(push);
  const first = placed.outcome();
  if (first.kind === 'refused') return { result: 'refused', outcome: () => first };
  const [status] = first.status;
  if (status === ITEM_DUPLICATE || status === ITEM_DUPLICATE_GONE) return ended('duplicate');
  if (status !== ITEM_QUEUED) return ended('too_large');
  draft.emit({ kind: 'drop-dead-letters', queue: queue.number, ids: [id] });
  return ended('moved', () => {
    const outcome = placed.outcome();
    return outcome.kind === 'pushed' ? (outcome.messageIds[0] ?? '') : '';
  });
}

/** Bytes of the message that the command would store; 0: there is no such dead letter. */
export function replayBytes(state: State, command: ReplayCommand): number {
  return findLetter(state, command)?.head.payloadBytes ?? 0;
}

function findLetter(state: State, { tenant, letter }: ReplayCommand): FoundLetter | null {
  const id = letter.kind === 'id' ? letter.id.toLowerCase() : firstAt(state, tenant, letter);
  const found = id === null ? undefined : findDeadLetter(state, tenant, id);
  return found === undefined || id === null ? null : { id, ...found };
}

function firstAt(
  state: State,
  tenant: string,
  address: { readonly partitionId: string; readonly transactionId: string },
): string | null {
  const place = findNamedPartition(state, tenant, address.partitionId);
  if (place === undefined) return null;
  return deadLettersAt(state, place.partition.number, address.transactionId, 1)[0] ?? null;
}
