/**
 * From the claims of a pop to its answer: reserves room, reads the messages from this node's log
 * and hands them to the front; claims that reach nobody are given back.
 *
 * The job: claims come in crowds (one push for which hundreds of pops waited), made by this node
 * when it leads or by another one, and each may name megabytes that stand in memory or on the disk.
 *
 * Why it is hard: a leader counts the answers of its own clients before it claims, with the average
 * message of an append (`pop-answers.ts`), and the message delivered may be longer than that; what
 * another node has claimed for clients of this one, it has claimed without knowing their room.
 *
 * What must hold:
 * - Nothing is read before there is room for what is read and for the answer that is made of it.
 *   Once the messages are there their bytes are known: an answer that is larger than was reserved
 *   lets go of them, and waits for room of that size with nothing in hand.
 * - A small answer (nearly all) is made in the call that brings its claims. To begin a large one is
 *   a step of the loop's share (`LoopShare`), as are the parts in which it is read.
 * - What waits may move within the log meanwhile. It is looked for anew then.
 * - Claims wait for room for HOLD_MS at most. Then they are given back, attempt included, and the
 *   client is told to come again.
 *
 * Rejected: telling the leader with each forwarded pop what room its node has (it is another one
 * when the claim comes, up to a minute later); claims in two steps, offered and taken (two entries
 * for each pop, for the sake of a case that is rare).
 */
import type {
  AppendSlice,
  Claim,
  DeliveryTerms,
  GiveBackCommand,
  PopCommand,
  PoppedOutcome,
  RefusedOutcome,
  State,
} from '@svc/engine';
import { ANSWERS_FULL, storedTerms } from '@svc/engine';
import type {
  AnswerRoom,
  DeliveredOutcome,
  LoopShare,
  MessageBatch,
  PoppedMessages,
  Reply,
} from '@svc/http';
import type { PipelineMeters } from '@svc/wire';
import type { Activity } from '../analytics/activity.js';
import { freshClaims } from '../leader/fresh-claims.js';
import { EntryGone, type MessageReader, READS_MAX } from '../reads/message-reader.js';
import type { Clock } from '../system/clock.js';

export interface PopDeliveryOptions {
  readonly state: State;
  readonly reader: MessageReader;
  readonly clock: Clock;
  readonly loop: Pick<LoopShare, 'run'>;
  readonly activity: Activity | null;
  readonly pipeline: PipelineMeters;
  /** Has to be taken whatever waits. */
  readonly giveBack: (command: GiveBackCommand) => void;
}

type PopReply = Reply<DeliveredOutcome | RefusedOutcome>;

interface Delivery {
  readonly command: PopCommand;
  readonly outcome: PoppedOutcome;
  readonly reply: PopReply;
  readonly claims: readonly Claim[];
  readonly slices: readonly AppendSlice[];
  readonly reads: number;
}

/** What an answer adds to a message at most, but for names: keys, ids, stamps, an attempt. */
const MESSAGE_BYTES = 512;
/** Answers up to this size are made at once. */
const SMALL_BYTES_MAX = 65_536;
/** How long claims wait for room: short against a lease, which lasts minutes. */
const HOLD_MS = 5000;

export class PopDelivery {
  readonly #options: PopDeliveryOptions;
  /** Claims with large answers that have not begun. */
  readonly #line = new Set<Delivery>();
  /** Answers that left the line and wait for room, or whose messages are being read. */
  #underway = 0;

  constructor(options: PopDeliveryOptions) {
    this.#options = options;
  }

  /** Every claim has reached its client or was given back. */
  get idle(): boolean {
    return this.#line.size === 0 && this.#underway === 0;
  }

  /** `reads`: the first one, or one more of what has moved meanwhile. */
  deliver(command: PopCommand, outcome: PoppedOutcome, reply: PopReply, reads = 1): void {
    const { state, reader } = this.#options;
    const claims = freshClaims(state, reader.firstIndex, outcome.claims);
    if (claims.length === 0) this.giveBack(command, outcome);
    // Most pops claim one partition, and need no list of their own then.
    const [only] = claims;
    const isOne = only !== undefined && claims.length === 1;
    const slices = isOne ? only.slices : claims.flatMap((claim) => claim.slices);
    const delivery: Delivery = { command, outcome, reply, claims, slices, reads };
    const bytes = boundOf(slices);
    const isSmall = bytes <= SMALL_BYTES_MAX;
    const { room } = reply;
    if (room === undefined || (isSmall && room.reserve(bytes))) this.#read(delivery);
    else {
      this.#line.add(delivery);
      this.#options.loop.run(() => {
        if (this.#line.delete(delivery)) this.#begin(delivery, room);
        return true;
      });
    }
  }

  /** Undoes the claims of a pop that no client received, attempt included. */
  giveBack(command: PopCommand, outcome: PoppedOutcome): void {
    if (outcome.leaseId === '' || outcome.claims.length === 0) return;
    this.#options.giveBack({
      kind: 'give-back',
      tenant: command.tenant,
      consumerGroup: outcome.consumerGroup,
      leaseId: outcome.leaseId,
      partitionNumbers: outcome.claims.map((claim) => claim.partitionNumber),
    });
  }

  /** Claims that wait are given back. */
  stop(): void {
    for (const delivery of this.#line) {
      this.#line.delete(delivery);
      this.#refuse(delivery);
    }
  }

  // --- large answers -----------------------------------------------------------------------------

  #begin(delivery: Delivery, room: AnswerRoom): void {
    this.#underway++;
    const answerBytes = room.reservedBytes > 0 ? room.reservedBytes : boundOf(delivery.slices);
    this.#attempt(delivery, room, answerBytes);
  }

  #attempt(delivery: Delivery, room: AnswerRoom, answerBytes: number): void {
    const { reader, clock } = this.#options;
    const readBytes = reader.bytesToRead(delivery.slices);
    const wanted = readBytes + answerBytes;
    if (delivery.reply.gone) this.#giveUp(delivery);
    else if (room.reserve(wanted)) this.#readLarge(delivery, room, readBytes);
    else {
      // While it waits it holds nothing.
      room.reserve(0);
      room.wait(wanted, clock.nowMs() + HOLD_MS, (hasRoom) => {
        if (hasRoom) this.#readLarge(delivery, room, readBytes);
        else this.#giveUp(delivery);
      });
    }
  }

  #readLarge(delivery: Delivery, room: AnswerRoom, readBytes: number): void {
    this.#options.reader.read(delivery.slices, (error, batches) => {
      if (error instanceof EntryGone && delivery.reads < READS_MAX) {
        this.#underway--;
        this.#again(delivery);
        return;
      }
      const answerBytes = error === null ? bytesOf(batches) : 0;
      if (delivery.reply.gone || room.reserve(readBytes + answerBytes)) {
        this.#underway--;
        this.#send(delivery, error, batches);
      } else this.#attempt(delivery, room, answerBytes);
    });
  }

  /** What it claims has moved within the log while it waited: it begins anew. */
  #again({ command, outcome, reply, reads }: Delivery): void {
    reply.room?.reserve(0);
    this.deliver(command, outcome, reply, reads + 1);
  }

  #giveUp(delivery: Delivery): void {
    this.#underway--;
    this.#refuse(delivery);
  }

  #refuse({ command, outcome, reply }: Delivery): void {
    this.giveBack(command, outcome);
    reply.send(ANSWERS_FULL);
  }

  // --- reading and sending -----------------------------------------------------------------------

  #read(delivery: Delivery): void {
    const { clock, reader, pipeline } = this.#options;
    const sinceMs = clock.nowMs();
    reader.read(delivery.slices, (error, batches) => {
      pipeline.popRead.record((clock.nowMs() - sinceMs) * 1000);
      if (error instanceof EntryGone && delivery.reads < READS_MAX) this.#again(delivery);
      else this.#send(delivery, error, batches);
    });
  }

  #send(
    { command, outcome, reply, claims }: Delivery,
    error: Error | null,
    batches: readonly MessageBatch[],
  ): void {
    const { state, activity } = this.#options;
    if (error !== null) {
      this.giveBack(command, outcome);
      reply.send({ kind: 'refused', refusal: { reason: 'internal', error: error.message } });
      return;
    }
    const isOne = claims.length === 1;
    let at = 0;
    const popped = claims.map((claim): PoppedMessages => {
      const own = isOne ? batches : batches.slice(at, at + claim.slices.length);
      at += claim.slices.length;
      return {
        queue: claim.queue,
        partition: claim.partition,
        partitionNumber: claim.partitionNumber,
        deliveryAttempt: claim.deliveryAttempt,
        batches: own,
      };
    });
    const { leaseId } = outcome;
    const terms = this.#termsOf(command, outcome);
    const received = reply.send({ kind: 'delivered', leaseId, claims: popped, terms });
    if (!received) this.giveBack(command, outcome);
    else if (claims.length === 0) activity?.poppedNothing(state, command);
    else activity?.popped(state, command, claims);
  }

  /**
   * An empty outcome need not be the leader's: whoever is being stopped answers so by itself. Who
   * names a delivery policy is told then too.
   */
  #termsOf(command: PopCommand, { claims, terms }: PoppedOutcome): DeliveryTerms | null {
    if (terms !== null || claims.length > 0 || command.conflation === null) return terms;
    return storedTerms(this.#options.state, command);
  }
}

/** The answer's bytes at most, but for long names: each append as if it were delivered whole. */
function boundOf(slices: readonly AppendSlice[]): number {
  let bytes = 0;
  for (const { length, first, last } of slices)
    bytes += length + MESSAGE_BYTES * (last - first + 1);
  return bytes;
}

/** The answer's bytes, but for long names. */
function bytesOf(batches: readonly MessageBatch[]): number {
  let bytes = 0;
  for (const { first, last, payloadStart, payloadEnd } of batches) {
    for (let i = first; i <= last; i++) {
      bytes += MESSAGE_BYTES + (payloadEnd[i] ?? 0) - (payloadStart[i] ?? 0);
    }
  }
  return bytes;
}
