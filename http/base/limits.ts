/** Bounds of the front, with their arithmetic. What clients rely on stands in @svc/wire. */

/**
 * Containers inside one another in a body. The scanner keeps one byte for each level; what reads a
 * payload later may recurse, and 128 levels are far below what any parser's stack takes.
 */
export const JSON_DEPTH_MAX = 128;

/**
 * Bodies up to this size are read in the call that brings them: 5,700 of the shortest items, some
 * 2 ms. Larger ones are read in parts (`large-body.ts`).
 */
export const UNCUT_BODY_BYTES_MAX = 131_072;

/**
 * In bodies from this size on long values are found beforehand, in parts (`long-values.ts`). Below
 * it the longest value takes 20 ms; each item of a larger body is read twice.
 */
export const SCANNED_BODY_BYTES_MIN = 4 * 1_048_576;

/**
 * Values below this length are passed in a third of a millisecond; a body has 1,024 longer ones in
 * each level.
 */
export const LONG_VALUE_BYTES_MIN = 65_536;

/**
 * Items of one push. What planning and applying them costs is bounded by slices of 12 ms, whatever
 * they name (work-prices.ts of the engine). Reading them and making their answer are cut too, into
 * parts of a millisecond or two. Both were measured with 100,000 items in one piece: to read an
 * item takes 0.3 us where it is short and 1.8 us where it names a partition and an id of its own;
 * to make its answer takes 1 to 3 us. What is left in one piece is a long string: 0.7 ms for a
 * MiB, in any script. With the shortest item,
 * `{"queue":"","payload":0}` and a comma, a body of 64 MiB would hold 2.7 million.
 */
export const PUSH_ITEMS_MAX = 100_000;

/**
 * Acks of one call, by the same arithmetic; their records are 10 MiB of heap until it is answered.
 */
export const ACK_ITEMS_MAX = 100_000;

/**
 * Acks that come with a pop, and the bytes of their body. They are one command, which the engine
 * plans in the entry of the pop (256 items that are targets and dead letters each cost 9,984 of the
 * 12,000 units of a slice), and are held while the pop waits: a small body, with room to itself.
 */
export const POP_ACKS_MAX = 256;
export const POP_ACKS_BODY_BYTES_MAX = 65_536;

/**
 * Acks and pushed items of one transaction, by the same arithmetic. It is not cut, and the engine
 * refuses what takes more than 410,000 units: 100,000 acks, or 51,000 messages with ids.
 */
export const TRANSACTION_ITEMS_MAX = 100_000;

/**
 * Operations on state, and pushed items, of one stream cycle, which is not cut either: 50,000
 * operations at 7 units are 350,000 of the 410,000 that it may take.
 */
export const STREAM_CYCLE_ITEMS_MAX = 50_000;

/**
 * What clients may make a node hold: bodies of pushes 112 MiB, bodies of acks and reads 64 MiB,
 * answers of pops 80 MiB and all other answers 80 MiB, together 336 MiB. A node's memory grows by
 * 512 MiB at most over what it is at rest: the rest is for copies that live for a moment (a body
 * while its buffer doubles, the entry that is made of it, an answer's text beside its bytes), for
 * pages of the store, and for what the collector and the allocator have not yet given back. With
 * 160 MiB for pushes 32 clients that put 4 MiB of values a call took a node 40 to 80 MiB further,
 * and not one call more was done.
 *
 * Bodies are held between admission and answer, over all connections. Of 112 MiB one owner's large
 * bodies take 84: one of the largest size and some ordinary ones, or, while nothing else large is
 * there, one of any size. What others find beside those stands in `body-budget.ts`. Acks have their
 * own share, so that pushes cannot keep them out.
 */
export const BODY_BYTES_IN_FLIGHT_DEFAULT = 112 * 1_048_576;
export const DRAIN_BODY_BYTES_IN_FLIGHT_DEFAULT = 64 * 1_048_576;

/**
 * Bodies up to this size have an eighth of each share to themselves, and a quarter beside the large
 * bodies of one owner: of 64 MiB, 128 and 256 bodies of the largest small size.
 */
export const SMALL_BODY_BYTES_MAX = 65_536;

/**
 * A body must arrive at 32 KB/s at least, and may fall seven seconds behind, at its beginning as at
 * any later time. (The native layer cuts off silent ones without an answer after about ten.)
 */
export const BODY_PATIENCE_MS = 7_000;
export const BODY_BYTES_PER_MS_MIN = 32;

/**
 * The first allocation for a body of known length that comes in pieces, if it is not shorter; it
 * doubles from there.
 */
export const ANNOUNCED_BODY_BYTES_FIRST = 65_536;

/**
 * A body that holds so much of the budget gets a buffer of the length that was told: 2 MiB of it
 * came, and are copied in 3 ms. There are 30 such bodies at most, and what they ask for without
 * filling it is 2 GiB of address space.
 */
export const WHOLE_BODY_BYTES_MIN = 4 * 1_048_576;

/**
 * And so does one that holds this part of it: of 100 messages of 4 KiB, with its first piece. What
 * all of them ask for without filling it is eight times the budget of bodies: 900 MiB of address
 * space.
 */
export const WHOLE_BODY_FACTOR = 8;

/**
 * Bodies from this size on are read in turns (`body-turns.ts`): a MiB takes a millisecond or two.
 */
export const TURN_BODY_BYTES_MIN = 1_048_576;

/**
 * How long a large body waits for its turn, which comes when there is room for all of it. A body of
 * 64 MiB takes a second or two until it is answered, on a disk that is shared, and one address gets
 * every second turn.
 */
export const TURN_WAIT_MS_MAX = 10_000;

/** The first allocation for a body of unknown length; it doubles from there. */
export const CHUNKED_BODY_BYTES_FIRST = 16_384;

/**
 * Answers above this size are written as the socket takes them, from one buffer of ours, instead of
 * being copied into the native layer's queue, where they could not be counted.
 */
export const STREAMED_ANSWER_BYTES_MIN = 32_768;

/**
 * Answers from before they are made until their readers have taken them, over all connections, for
 * pops and for all else each (`answer-budget.ts`). Of 80 MiB large answers take 60, those of one
 * address 30: with 7 MB for each, four at a time.
 */
export const ANSWER_BYTES_IN_FLIGHT_DEFAULT = 80 * 1_048_576;

/**
 * Answers up to this size have a quarter of each share to themselves: 160 of the largest. The
 * buffers of the two sockets take them whole, so they leave in the turn they are made. One value of
 * the key/value store (64 KiB) is among them.
 */
export const SMALL_ANSWER_BYTES_MAX = 131_072;

/**
 * An answer must be taken at 32 KB/s at least, and may fall thirty seconds behind. It is more than
 * bodies have, because progress shows only when a third of the socket's buffer is free again, up to
 * 1.3 MB after the last time: at 44 KB/s that is thirty seconds.
 */
export const ANSWER_PATIENCE_MS = 30_000;
export const ANSWER_BYTES_PER_MS_MIN = 32;

/** How often slow bodies and slow readers are looked at. */
export const SWEEP_INTERVAL_MS = 1_000;

/** How long `stop` waits for requests in flight: one long poll. */
export const DRAIN_MS_DEFAULT = 60_000;

/** Dashboard files are held in memory: 4,096 files, 64 MiB in all. */
export const STATIC_FILES_MAX = 4_096;
export const STATIC_BYTES_MAX = 67_108_864;

/**
 * Folders above a path of the page for which a page is kept: the deepest path has three segments,
 * and a name in one may hold slashes that a proxy decodes. 16 pages of 1 KiB.
 */
export const PAGE_DEPTH_MAX = 16;

/** Nodes that one change of the members may name: far above any cluster that still commits. */
export const CHANGED_NODES_MAX = 64;

/** How long a browser may remember that an origin is allowed: a changed list counts soon. */
export const CORS_MAX_AGE_SECONDS = 600;

/** `Host` headers whose verdict is remembered: 100 bytes each, and a client sends one of them. */
export const HOST_VERDICTS_MAX = 1_024;

/**
 * From this share of the bound of connections on, idle ones are kept track of. The share below it
 * is untracked at the time; what of it is silent ends within 12 s by the native layer's limit.
 */
export const CONNECTIONS_NEAR_SHARE = 0.75;

/** A connection that had its answer less than this ago is about to be used again. */
export const ANSWERED_IDLE_MS_MIN = 1_000;

export interface KvLimits {
  readonly opsMax: number;
  readonly keysMax: number;
  readonly valueBytesMax: number;
}

export const KV_LIMITS: KvLimits = { opsMax: 256, keysMax: 1024, valueBytesMax: 65_536 };

export interface TimerCallLimits {
  /** SVC_TIMERS_MAX_OPS_PER_CALL. */
  readonly opsMax: number;
  /** Bytes of a payload as it was sent, without base64. SVC_TIMERS_MAX_PAYLOAD_BYTES. */
  readonly payloadBytesMax: number;
  /** SVC_TIMERS_MAX_HORIZON_S. */
  readonly horizonSeconds: number;
}

export const TIMER_CALL_DEFAULTS: TimerCallLimits = {
  opsMax: 256,
  payloadBytesMax: 1_048_576,
  horizonSeconds: 7_776_000,
};
