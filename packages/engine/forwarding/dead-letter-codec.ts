/** The form of commands over dead letters, and of their outcomes, between nodes. */
import { NAME_BYTES_MAX, TRANSACTION_ID_BYTES_MAX } from '@svc/wire';
import type { ByteWriter } from '../base/bytes.js';
import type { Tenant } from '../base/commands/commands.js';
import {
  type DropDeadLettersCommand,
  type MessageAddress,
  REPLAY_RESULTS,
  type ReplayCommand,
  type ReplayedOutcome,
} from '../base/commands/dead-letters.js';
import type { GuardedReader } from '../base/guarded-reader.js';

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
