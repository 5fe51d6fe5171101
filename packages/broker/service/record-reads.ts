/**
 * Shows single messages, dead letters and traces to clients. A walk over the state finds them; the
 * log holds what stands in a message.
 */
import {
  type AppendRow,
  type AppendSlice,
  type DeadLetterList,
  deadLetterSignatures,
  findNamedPartition,
  forgottenEnd,
  freshSlice,
  type ListedMessage,
  listDeadLetters,
  listMessages,
  listTraceNames,
  type MessageList,
  messageCandidates,
  messageDetail,
  messageTraces,
  namedTraces,
  type PartitionRow,
  type QueueRow,
  type RefusedOutcome,
  readMeta,
  type State,
  type TraceList,
  type TransactionIndex,
  transactionDigest,
} from '@svc/engine';
import type {
  MessageBatch,
  MessageContent,
  MessageListView,
  MessageView,
  NotFoundOutcome,
  RecordService,
  Reply,
  TraceListView,
} from '@svc/http';
import { messageId } from '@svc/wire';
import { EntryGone, type MessageReader, READS_MAX } from '../reads/message-reader.js';
import { MessageSearch } from '../reads/message-search.js';
import { keyOf, type ReadReply, type StateReads } from '../reads/state-reads.js';
import { callLoop } from '../system/call-loop.js';
import type { Clock } from '../system/clock.js';

export interface RecordReadsOptions {
  readonly state: State;
  readonly transactions: TransactionIndex;
  readonly reader: MessageReader;
  readonly reads: StateReads;
  readonly clock: Clock;
  readonly deadlineMs: number;
}

/**
 * Log bytes that one list reads: 24 MiB, or one append if that is longer. What lies behind is left
 * out, and the answer says that there is more. With what it shows it is 40 MiB of the room that all
 * large answers have, 60 MiB.
 */
const READ_BYTES_MAX = 24 * 1024 * 1024;
/**
 * Payload bytes that one list shows, twice each: 8 MiB, unless the first message alone is longer.
 * The others come without theirs.
 */
const SHOWN_BYTES_MAX = 8 * 1024 * 1024;
const WINDOW_US = 3_600_000_000;
const MINUTE_US = 60_000_000;
const ENVELOPE_BEGIN = Buffer.from('{"encrypted":"', 'latin1');
const ENVELOPE_END = Buffer.from('"}', 'latin1');

/** Room for a list of dead letters or traces. The engine ends one at 16 MiB and its last item. */
const LIST_ANSWER_BYTES = 17 * 1024 * 1024;
/** Bytes of a message in an answer, without its payload. */
const MESSAGE_BYTES = 1024;

/** A message found: where it stands, in the state as it was looked at. */
interface Place {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly offset: number;
  readonly baseOffset: number;
  readonly append: AppendRow;
}

/** What an address leads to. */
interface Address {
  readonly queue: QueueRow;
  readonly partition: PartitionRow;
  readonly transactionId: string;
  /** Offsets that the indexes name. */
  readonly candidates: readonly number[];
  /** Below it the index may have forgotten the id. */
  readonly forgottenEnd: number;
}

type MessageReply = Reply<MessageView | NotFoundOutcome | RefusedOutcome>;

export class RecordReads implements RecordService {
  readonly #options: RecordReadsOptions;
  readonly #search: MessageSearch;

  constructor(options: RecordReadsOptions) {
    this.#options = options;
    this.#search = new MessageSearch(options.state, options.reader, options.clock);
  }

  get idle(): boolean {
    return this.#search.idle;
  }

  stop(): void {
    this.#search.stop();
  }

  messages: RecordService['messages'] = (query, reply) => {
    const { state, reads } = this.#options;
    const nowUs = this.#nowUs();
    const toUs = Math.floor((query.toUs ?? nowUs) / MINUTE_US) * MINUTE_US + MINUTE_US;
    const filter = { ...query, fromUs: query.fromUs ?? nowUs - WINDOW_US, toUs };
    const walk = () => listMessages(state, filter, this.#nowUs());
    reads.confirmed(keyOf('messages', JSON.stringify(filter)), walk, reply, (list) =>
      this.#showList(list, reply),
    );
  };

  message: RecordService['message'] = (tenant, partitionId, transactionId, reply) => {
    const { state, reads, transactions, clock, deadlineMs } = this.#options;
    const untilMs = clock.nowMs() + deadlineMs;
    const nowUs = this.#nowUs();
    // biome-ignore lint/correctness/useYield: it is a walk of one step
    const walk = function* (): Generator<void, Address | null> {
      const found = findNamedPartition(state, tenant, partitionId);
      if (found === undefined) return null;
      const { number } = found.partition;
      const matches = transactions.find(number, transactionId);
      const candidates = messageCandidates(state, found.partition, transactionId, matches);
      const end = forgottenEnd(state, found.partition, nowUs);
      return { ...found, transactionId, candidates, forgottenEnd: end };
    };
    reads.confirmed(null, walk, reply, (address) => {
      if (address === null) reply.send({ kind: 'not-found' });
      else this.#tryCandidates(address, untilMs, reply);
    });
  };

  deadLetters: RecordService['deadLetters'] = (filter, reply) => {
    const { state, reads, reader } = this.#options;
    const walk = () => listDeadLetters(state, filter, (stored) => reader.openOne(stored));
    const done = (list: DeadLetterList) => reply.send({ kind: 'dead-letter-list', ...list });
    const key = keyOf('dead-letters', JSON.stringify(filter));
    reads.confirmed(key, walk, reply, done, undefined, LIST_ANSWER_BYTES);
  };

  deadLetterSignatures: RecordService['deadLetterSignatures'] = (tenant, queue, limit, reply) => {
    const { state, reads } = this.#options;
    const walk = () => deadLetterSignatures(state, tenant, queue, limit);
    reads.confirmed(keyOf('signatures', tenant, queue, String(limit)), walk, reply, (found) =>
      reply.send({ kind: 'dead-letter-signatures', ...found }),
    );
  };

  messageTraces: RecordService['messageTraces'] = (tenant, partition, message, paging, reply) =>
    this.#traces(
      () => messageTraces(this.#options.state, tenant, partition, message, paging),
      reply,
    );

  namedTraces: RecordService['namedTraces'] = (tenant, name, paging, reply) =>
    this.#traces(() => namedTraces(this.#options.state, tenant, name, paging), reply);

  #traces(walk: () => Generator<void, TraceList>, reply: Reply<TraceListView | RefusedOutcome>) {
    const done = (list: TraceList) => reply.send({ kind: 'trace-list', ...list });
    this.#options.reads.confirmed(null, walk, reply, done, undefined, LIST_ANSWER_BYTES);
  }

  traceNames: RecordService['traceNames'] = (tenant, paging, reply) => {
    const { state, reads } = this.#options;
    const walk = () => listTraceNames(state, tenant, paging);
    reads.confirmed(null, walk, reply, (list) => reply.send({ kind: 'trace-names', ...list }));
  };

  /** The time of a read: what is applied may be stamped later than this node's clock says. */
  #nowUs(): number {
    const { state, clock } = this.#options;
    return Math.max(clock.wallUs(), readMeta(state).stampUs);
  }

  // --- one message -----------------------------------------------------------------------------

  /** The index knows ids by their hashes, so the message itself has to bear the id. */
  #tryCandidates(address: Address, untilMs: number, reply: MessageReply): void {
    let at = 0;
    callLoop((again) => {
      const offset = address.candidates[at++];
      if (offset === undefined) this.#searchLog(address, untilMs, reply);
      else this.#showMessage(address, offset, reply, again);
    });
  }

  #searchLog(address: Address, untilMs: number, reply: MessageReply): void {
    const { partition, transactionId } = address;
    const end = address.forgottenEnd;
    this.#search.find(partition, transactionId, end, untilMs, reply, (found) => {
      const gone = () => void reply.send({ kind: 'not-found' });
      if (found === null) gone();
      else this.#showMessage(address, found, reply, gone);
    });
  }

  /** `otherwise`: it is gone, or another id's. */
  #showMessage(
    { queue, partition, transactionId }: Address,
    offset: number,
    reply: MessageReply,
    otherwise: () => void,
  ): void {
    const { state, reads } = this.#options;
    const walk = () => messageDetail(state, queue, partition, offset, this.#nowUs());
    reads.local(walk, reply, (detail) => {
      if (detail === undefined) {
        otherwise();
        return;
      }
      this.#read(reply, [detail], Number.POSITIVE_INFINITY, (error, [content = null]) => {
        if (error !== null) refuse(reply, error);
        else if (content === null || content.transactionId !== transactionId) otherwise();
        else reply.send({ kind: 'message', detail, content });
      });
    });
  }

  // --- a list ----------------------------------------------------------------------------------

  #showList(
    { messages, mode, truncated }: MessageList,
    reply: Reply<MessageListView | RefusedOutcome>,
  ): void {
    const readable = withinReadBytes(messages);
    this.#read(reply, readable, SHOWN_BYTES_MAX, (error, contents) => {
      if (error !== null) {
        refuse(reply, error);
        return;
      }
      const shown = readable.flatMap((message, i) => {
        const content = contents[i] ?? null;
        return content === null ? [] : [{ ...message, content }];
      });
      const isCut = truncated || readable.length < messages.length;
      reply.send({ kind: 'message-list', messages: shown, mode, truncated: isCut });
    });
  }

  /** In the order of `places`; null for what is not retained any more. */
  #read(
    reply: ReadReply,
    places: readonly Place[],
    shownBytesMax: number,
    done: (error: Error | null, contents: (MessageContent | null)[]) => void,
    tries = 1,
  ): void {
    const { reader, reads, state } = this.#options;
    const slices = new Map<string, AppendSlice>();
    for (const place of places) {
      const key = `${place.partition.number}:${place.baseOffset}`;
      const known = slices.get(key) ?? freshSlice(state, place.partition.number, sliceOf(place));
      if (known === null) continue;
      const first = Math.min(known.first, place.offset);
      slices.set(key, { ...known, first, last: Math.max(known.last, place.offset) });
    }
    const keys = [...slices.keys()];
    const wanted = [...slices.values()];
    const bytes = reader.bytesToRead(wanted) + shownBytesOf(wanted, places.length, shownBytesMax);
    reads.inRoom(reply, bytes, () => {
      reader.readStored(wanted, (error, batches) => {
        if (error instanceof EntryGone && tries < READS_MAX) {
          this.#read(reply, places, shownBytesMax, done, tries + 1);
          return;
        }
        const byKey = new Map(keys.map((key, i) => [key, batches[i]]));
        let bytesLeft = shownBytesMax;
        const contents = places.map((place) => {
          const batch = byKey.get(`${place.partition.number}:${place.baseOffset}`);
          if (error !== null || batch === undefined) return null;
          const hasRoom = bytesLeft === shownBytesMax ? Number.POSITIVE_INFINITY : bytesLeft;
          const content = this.#contentOf(place, batch, hasRoom);
          bytesLeft -= content.payload?.length ?? 0;
          return content;
        });
        done(error, contents);
      });
    });
  }

  #contentOf(place: Place, batch: MessageBatch, roomBytes: number): MessageContent {
    const { partition, offset, append } = place;
    const at = offset - batch.baseOffset;
    const given = batch.transactionIds[at] ?? null;
    const id =
      batch.messageIds?.[at] ?? messageId(append.stampUs, partition.number, given === null, offset);
    const stored = batch.bytes.subarray(batch.payloadStart[at], batch.payloadEnd[at]);
    const isShown = stored.length <= roomBytes;
    const transactionId = given ?? id;
    return {
      messageId: id,
      transactionId,
      transactionHash: Buffer.from(transactionDigest(transactionId), 'latin1').toString('hex'),
      producerSub: batch.producerSubs?.[at] ?? null,
      traceId: batch.traceIds?.[at] ?? null,
      payload: isShown ? this.#options.reader.openOne(stored) : null,
      isEncrypted: isEnvelope(stored),
    };
  }
}

function refuse(reply: { send(refused: RefusedOutcome): boolean }, error: Error): void {
  reply.send({ kind: 'refused', refusal: { reason: 'internal', error: error.message } });
}

/** Upper bound of the answer's bytes. The answer shows each payload twice. */
function shownBytesOf(slices: readonly AppendSlice[], messages: number, bytesMax: number): number {
  let all = 0;
  let longest = 0;
  for (const { length } of slices) {
    all += length;
    longest = Math.max(longest, length);
  }
  return 2 * Math.min(all, Math.max(bytesMax, longest)) + messages * MESSAGE_BYTES;
}

/** As many of the first as their appends may be read for. */
function withinReadBytes(messages: readonly ListedMessage[]): readonly ListedMessage[] {
  const appends = new Set<string>();
  let bytes = 0;
  for (const [i, { partition, baseOffset, append }] of messages.entries()) {
    const key = `${partition.number}:${baseOffset}`;
    if (appends.has(key)) continue;
    bytes += append.length;
    if (bytes > READ_BYTES_MAX && appends.size > 0) return messages.slice(0, i);
    appends.add(key);
  }
  return messages;
}

function sliceOf({ baseOffset, append, offset }: Place): AppendSlice {
  const { index, position, length, stampUs } = append;
  return { index, position, length, baseOffset, stampUs, first: offset, last: offset };
}

/** An encrypted payload is told by its form. */
function isEnvelope(stored: Uint8Array): boolean {
  const begin = stored.subarray(0, ENVELOPE_BEGIN.length);
  const end = stored.subarray(Math.max(0, stored.length - ENVELOPE_END.length));
  return ENVELOPE_BEGIN.equals(begin) && ENVELOPE_END.equals(end);
}
