/**
 * Payloads at rest that nobody reads without the key (message-plane 11.5).
 *
 * The job: a queue with `encryptionEnabled` stores, in place of each payload, an envelope: a JSON
 * object with the ciphertext. Whoever reads a stored payload gets the plain text back, whatever the
 * queue's option says by then.
 *
 * What must hold:
 * - There is one place where messages are written to an append, `Draft.append`, and it encrypts. So
 *   whatever appends, now or later, needs no thought of its own, unless it counts bytes before:
 *   then it counts `sealedBytes` for each payload if the queue `isEncrypting`. Large pushes bring
 *   their envelopes along, made before they were planned.
 * - The leader decides by the queue's row as planned. What stands in the entry is the envelope, and
 *   applying knows nothing of it: the same bytes are stored on every node, with any key or none.
 * - What was stored in an envelope stays in one wherever it is copied to: a dead letter holds the
 *   message as it is stored (ack-dead-letters.ts), a replay carries its envelope along
 *   (`carriedPayload`), a move copies bytes. Readers of rows open them as readers of messages do.
 * - Ids and stamps stay clear, so duplicates, acks and seeks work without the key.
 * - Without a key, and in a queue that does not ask for it, a message costs nothing more.
 *
 * Rejected: encrypting on the node that took the request, which would spare the leader the work.
 * What the queue's option is when the message gets its place only the leader knows, and an envelope
 * in a queue that has just been made plain, or the reverse, is what clients would see.
 */
import { type WriteMessage, writeMessage } from '../base/append.js';
import type { PushCommand } from '../base/commands/commands.js';
import { numberKey } from '../base/keys.js';
import type { QueueRow } from '../base/rows.js';
import type { State } from '../base/state.js';
import { partitions, queues } from '../base/tables.js';
import { findQueue } from '../state/catalog.js';
import type { Draft, Surroundings } from './draft.js';

/** The key and the chance that encryption needs; this folder has neither. */
export interface PayloadCipher {
  /** The envelope of a payload, `sealedBytes` long. */
  seal(payload: Uint8Array): Uint8Array;
  /**
   * The payload in an envelope. What is no envelope, or none that this key opens, comes back as it
   * is: bytes that only look like one are somebody's payload.
   */
  open(stored: Uint8Array): Uint8Array;
  /** Whether these bytes have the form of an envelope, of whatever key. */
  isEnvelope(stored: Uint8Array): boolean;
}

/** `{"encrypted":"` `","iv":"` `","authTag":"` `"}`, and 16 bytes in base64 for the last two. */
const ENVELOPE_FRAME_BYTES = 14 + 8 + 13 + 2 + 24 + 24;

const SEALING_BYTES = 1024;

/** The length of the envelope around so many bytes. */
export function sealedBytes(payloadBytes: number): number {
  return ENVELOPE_FRAME_BYTES + 4 * Math.ceil(payloadBytes / 3);
}

/** The shortest payload that can stand behind so many stored bytes, encrypted or not. */
export function leastPayloadBytes(storedBytes: number): number {
  return Math.max(0, (storedBytes - ENVELOPE_FRAME_BYTES) * 0.75 - 2);
}

/** Whether what is pushed to this queue now is encrypted; undefined: one that is created by it. */
export function isEncrypting(draft: Draft, queue: QueueRow | undefined): boolean {
  return draft.surroundings.cipher !== null && queue?.options.encryptionEnabled === true;
}

/**
 * What encryption adds to the bytes by which commands are taken into a turn: the bytes that it adds
 * to the entry, and more, for a message costs about 10 us whatever its length, unless that was done
 * before. A turn of 4 MiB thus encrypts 4,096 messages at most, in 40 ms.
 */
export function encryptingBytes(
  { cipher }: Surroundings,
  state: State,
  push: PushCommand | null,
): number {
  if (cipher === null || push === null) return 0;
  let last: string | null = null;
  for (const { queue } of push.groups) {
    if (queue === last) continue;
    last = queue;
    if (findQueue(state, push.tenant, queue)?.options.encryptionEnabled !== true) continue;
    const messageBytes = push.envelopes === undefined ? SEALING_BYTES : ENVELOPE_FRAME_BYTES;
    return push.itemGroup.length * messageBytes + Math.ceil(push.body.length / 3);
  }
  return 0;
}

/** A stored payload that is pushed once more, and how the push stores it. */
export interface CarriedPayload {
  readonly payload: Uint8Array;
  /** What a queue that encrypts stores instead; undefined: what it makes itself. */
  readonly envelope: Uint8Array | undefined;
}

/**
 * A queue that encrypts takes the envelope as it stands, any other the payload in it, as the
 * queue's option says. An envelope that this key does not open goes on as it is, in either: within
 * another one it could not be read under its own key any more.
 */
export function carriedPayload(cipher: PayloadCipher | null, stored: Uint8Array): CarriedPayload {
  const payload = cipher?.open(stored) ?? stored;
  const isCarried = payload !== stored || cipher?.isEnvelope(stored) === true;
  return { payload, envelope: isCarried ? stored : undefined };
}

/** What writes the messages of an append to this partition. */
export function messageWriter(draft: Draft, partition: number): WriteMessage {
  const { cipher } = draft.surroundings;
  if (cipher === null) return writeMessage;
  const { queue = 0 } = draft.state.get(partitions, numberKey(partition)) ?? {};
  if (!isEncrypting(draft, draft.state.get(queues, numberKey(queue)))) return writeMessage;
  return (writer, body, payloadStart, payloadEnd, ...ids) => {
    const sealed = cipher.seal(body.subarray(payloadStart, payloadEnd));
    writeMessage(writer, sealed, 0, sealed.length, ...ids);
  };
}
