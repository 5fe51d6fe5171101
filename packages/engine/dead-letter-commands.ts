/**
 * Commands over dead letters (inspection 1.3, 1.4, 2.2, 2.3), and their form between nodes.
 */
import { NAME_BYTES_MAX, TRANSACTION_ID_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from './bytes.js';
import type { Tenant } from './commands.js';
import type { GuardedReader } from './guarded-reader.js';

/** A message as requests call it: its partition by digits or UUID, and its transaction id. */
export interface MessageAddress {
  readonly kind: 'address';
  readonly partitionId: string;
  readonly transactionId: string;
}

/** Removes what it names, in as many entries as it takes; answered when the last row is gone. */
export interface DropDeadLettersCommand {
  readonly kind: 'drop-dead-letters';
  readonly tenant: Tenant;
  readonly target:
    | MessageAddress
    /** `group` null: every group. */
    | { readonly kind: 'queue'; readonly queue: string; readonly group: string | null };
}

export interface DeadLettersDroppedOutcome {
  readonly kind: 'dead-letters-dropped';
  readonly deleted: number;
  /** False only in the record of a request that is still at work. */
  readonly isDone: boolean;
}

/** Pushes a dead letter again and removes it, in one entry. */
export interface ReplayCommand {
  readonly kind: 'replay';
  readonly tenant: Tenant;
  readonly letter: MessageAddress | { readonly kind: 'id'; readonly id: string };
  /** Where to, instead of where it came from; null: not named. */
  readonly queue: string | null;
  readonly partition: string | null;
}

export const REPLAY_RESULTS = ['moved', 'duplicate', 'too_large', 'name_too_long'] as const;

/** `moved`: pushed, and the row is gone. Everything else leaves the row alone. */
export interface Replay {
  readonly result: (typeof REPLAY_RESULTS)[number];
  /** Where to. */
  readonly queue: string;
  readonly partition: string;
  readonly group: string;
  readonly deadLetterId: string;
  /** Of the message that died. */
  readonly transactionId: string;
  /** Of the message that was stored; "" when none was. */
  readonly messageId: string;
}

export interface ReplayedOutcome {
  readonly kind: 'replayed';
  /** null: there is no such dead letter. */
  readonly replay: Replay | null;
}

// --- between nodes -----------------------------------------------------------------------------

const TARGETS = ['address', 'queue'] as const;
const LETTERS = ['address', 'id'] as const;
/** What no key is made of may be of any length: such an id is nobody's. */
const TEXT_BYTES_MAX = 2 ** 31;
const UUID_BYTES = 36;

export function writeDropDeadLetters(w: ByteWriter, { target }: DropDeadLettersCommand): void {
  w.u8(TARGETS.indexOf(target.kind));
  if (target.kind === 'address') writeAddress(w, target);
  else {
    w.text(target.queue);
    w.optionalText(target.group);
  }
}

export function readDropDeadLetters(r: GuardedReader, tenant: Tenant): DropDeadLettersCommand {
  const kind = r.oneOf(TARGETS);
  if (kind === 'address') return { kind: 'drop-dead-letters', tenant, target: readAddress(r) };
  const queue = r.text(NAME_BYTES_MAX);
  const group = r.optionalText(NAME_BYTES_MAX);
  return { kind: 'drop-dead-letters', tenant, target: { kind, queue, group } };
}

export function writeReplay(w: ByteWriter, { letter, queue, partition }: ReplayCommand): void {
  w.u8(LETTERS.indexOf(letter.kind));
  if (letter.kind === 'address') writeAddress(w, letter);
  else w.text(letter.id);
  w.optionalText(queue);
  w.optionalText(partition);
}

export function readReplay(r: GuardedReader, tenant: Tenant): ReplayCommand {
  const kind = r.oneOf(LETTERS);
  const letter = kind === 'address' ? readAddress(r) : { kind, id: r.text(TEXT_BYTES_MAX) };
  const queue = r.optionalText(NAME_BYTES_MAX);
  const partition = r.optionalText(NAME_BYTES_MAX);
  return { kind: 'replay', tenant, letter, queue, partition };
}

function writeAddress(w: ByteWriter, { partitionId, transactionId }: MessageAddress): void {
  w.text(partitionId);
  w.text(transactionId);
}

function readAddress(r: GuardedReader): MessageAddress {
  const partitionId = r.text(TEXT_BYTES_MAX);
  return { kind: 'address', partitionId, transactionId: r.text(TRANSACTION_ID_BYTES_MAX) };
}

export function writeReplayed(w: ByteWriter, { replay }: ReplayedOutcome): void {
  w.flag(replay !== null);
  if (replay === null) return;
  w.u8(REPLAY_RESULTS.indexOf(replay.result));
  w.text(replay.queue);
  w.text(replay.partition);
  w.text(replay.group);
  w.text(replay.deadLetterId);
  w.text(replay.transactionId);
  w.text(replay.messageId);
}

export function readReplayed(r: GuardedReader): ReplayedOutcome {
  if (!r.flag()) return { kind: 'replayed', replay: null };
  return {
    kind: 'replayed',
    replay: {
      result: r.oneOf(REPLAY_RESULTS),
      queue: r.text(NAME_BYTES_MAX),
      partition: r.text(NAME_BYTES_MAX),
      group: r.text(NAME_BYTES_MAX),
      deadLetterId: r.text(UUID_BYTES),
      transactionId: r.text(TRANSACTION_ID_BYTES_MAX),
      messageId: r.text(UUID_BYTES),
    },
  };
}
