/**
 * What the state keeps of a request that has had its effects: the outcome, so that whoever leads
 * when the request is sent again answers with the first one and does nothing twice.
 *
 * The row holds the outcome itself and not a place in the log. It is small, it mostly goes again
 * before a checkpoint has seen it, and so it can be read after a restart, from a snapshot, from a
 * log that begins later, and by a leader whose log is damaged there; and a row that lives for
 * seconds never holds back the log.
 *
 *     record := outcome (outcome-codec.ts), but for a pop that took messages:
 *     claims := 255 u8 | queue | group | lease id | claims | terms (delivery-terms.ts)
 *     claim  := partition number | attempt | skipped | first offset | messages
 *
 * Where the messages of a pop stand follows from rows. What was deleted in the meantime is missing
 * in the answer, as it is in any pop that comes later. So a record takes less room than the effects
 * beside it (a cursor row for each claim, an append for the items of a push), or, where an ack was
 * refused item by item, than the command.
 */
import { assert } from '../base/assert.js';
import { ByteReader, type ByteWriter, KeptWriter } from '../base/bytes.js';
import type { Claim, Outcome, PoppedOutcome } from '../base/commands/commands.js';
import { readTerms, writeTerms } from '../base/delivery-terms.js';
import { GuardedReader } from '../base/guarded-reader.js';
import { numberKey } from '../base/keys.js';
import type { State } from '../base/state.js';
import { partitions, queues } from '../base/tables.js';
import { readOutcome, writeOutcome } from '../forwarding/outcome-codec.js';
import { findSlices } from '../state/slices.js';

const CLAIMS = 255;

const kept = new KeptWriter();

export function encodeRecord(outcome: Outcome): Uint8Array {
  const w = kept.begin();
  if (outcome.kind === 'popped' && outcome.claims.length > 0) writeClaims(w, outcome);
  else writeOutcome(w, outcome);
  return w.copied();
}

function writeClaims(w: ByteWriter, outcome: PoppedOutcome): void {
  w.u8(CLAIMS);
  w.text(outcome.queue);
  w.text(outcome.consumerGroup);
  w.text(outcome.leaseId);
  w.varint(outcome.claims.length);
  for (const { partitionNumber, deliveryAttempt, skipped, slices } of outcome.claims) {
    const first = slices[0]?.first ?? 0;
    const last = slices[slices.length - 1]?.last ?? first;
    w.varint(partitionNumber);
    w.varint(deliveryAttempt);
    w.varint(skipped);
    w.varint(first);
    w.varint(last - first + 1);
  }
  writeTerms(w, outcome.terms);
}

/** `state`: any after the entry of the record. */
export function decodeRecord(state: State, record: Uint8Array): Outcome {
  if (record[0] === CLAIMS) return readClaims(state, new ByteReader(record, 1));
  const r = new GuardedReader(record);
  const outcome = readOutcome(r);
  assert(outcome !== null && r.whole, `a request record of ${record.length} bytes is not whole`);
  return outcome;
}

function readClaims(state: State, r: ByteReader): PoppedOutcome {
  const names = { queue: r.text(), consumerGroup: r.text(), leaseId: r.text() };
  const claims: Claim[] = [];
  for (let left = r.varint(); left > 0; left--) {
    const claim = claimOf(state, r.varint(), r.varint(), r.varint(), r.varint(), r.varint());
    if (claim !== null) claims.push(claim);
  }
  return { kind: 'popped', ...names, claims, terms: readTerms(r) };
}

/** null: the partition, or all these messages, are gone. */
function claimOf(
  state: State,
  number: number,
  deliveryAttempt: number,
  skipped: number,
  offset: number,
  messages: number,
): Claim | null {
  const partition = state.get(partitions, numberKey(number));
  const queue = partition && state.get(queues, numberKey(partition.queue));
  if (partition === undefined || queue === undefined) return null;
  const first = Math.max(offset, partition.logStart);
  const count = offset + messages - first;
  if (count <= 0) return null;
  const slices = findSlices(state, partition, first, count, Number.POSITIVE_INFINITY);
  const place = { queue: queue.name, partition: partition.name, partitionNumber: number };
  return { ...place, deliveryAttempt, skipped, slices };
}
