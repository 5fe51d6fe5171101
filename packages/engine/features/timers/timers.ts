/**
 * Timers (state-surfaces 3): a message that is pushed when its time has come.
 *
 * The job: a million of them wait, five thousand a second come due, and each has to be in its queue
 * within 100 ms of its instant, exactly once, whoever leads then; or not at all once its
 * cancellation was confirmed.
 *
 * Why it is hard: what waits for up to ninety days can neither stand in the leader's memory nor be
 * looked for; and what fires is a push like any other, which may be a duplicate, may create its
 * queue, and shares the one append that its partition gets in the turn.
 *
 * What must hold:
 * - A timer fires in one entry: its message, in a push that is placed in the turn's plan like
 *   everyone's, and the removal of its rows. So it cannot fire twice, and a call that found it
 *   pending, before or after in the line of commands, has decided what becomes of it.
 * - `timerDue` has one key for each pending timer, in the order in which they are due. The leader
 *   remembers the first instant in it and nothing else of a timer, and is woken at that instant:
 *   it never looks at the table to find that nothing is due.
 * - Due is max(deliverAt, the end of a backoff), in the time of timers (timer-clock.ts).
 * - A turn fires at most `batchMax` timers and `batchBytesMax` of their messages, at least one;
 *   when more are due, the next turn comes at once. They are placed before the pushes of clients,
 *   which could otherwise keep them waiting for ever, and leave those most of the turn.
 * - Removed rows are remembered by the state for a while, so a walk never begins at the front of
 *   the table but where the last one ended, unless something was scheduled before that.
 *
 * Where the payload waits: in rows (`timerPayloads`), written once when the timer is scheduled,
 * deleted when it fires, and written once more then, in the append. So a pending timer holds no
 * entry of the log back, costs relocation nothing, goes into a snapshot like every row, and into a
 * checkpoint once. A million of them with 256 bytes each are 0.5 GB on disk and nothing in memory:
 * rows that were read are remembered by number, and large ones not at all. Payloads stand apart
 * from the rows that a list walks.
 *
 * Rejected: the payload left in the log, with its place in the row, and moved on when its entry is
 * given up. It spares one of three writings, but a timer of ninety days would be moved with every
 * generation of the log, and firing would read the disk in the turn. Due instants in a heap of the
 * leader: 100 bytes for each of a million, and a new leader would have to read all of them first. A
 * look at the table every 50 ms (SVC_RAFT_TIMER_TICK_MS of the contract): it is late by its period,
 * and costs something when nothing is due.
 */
import { TIMER_GROUP } from '@svc/wire';
import { assert } from '../../base/assert.js';
import {
  ITEM_DUPLICATE,
  ITEM_DUPLICATE_GONE,
  ITEM_QUEUED,
  type PushCommand,
  type RefusedOutcome,
} from '../../base/commands/commands.js';
import type { TimerCall, TimersOutcome } from '../../base/commands/timers.js';
import type { Key, KeyedRow, State } from '../../base/state.js';
import { switchesOf } from '../../base/switches.js';
import type { TimerClock } from '../../base/timer-clock.js';
import { PRICES, TURN_UNITS } from '../../base/work-prices.js';
import { createPartition, createQueue } from '../../draft/creation.js';
import type { Draft } from '../../draft/draft.js';
import type { PushListener, PushPlan } from '../../push/push.js';
import { readMeta } from '../../state/apply.js';
import { findPartition, findQueue } from '../../state/catalog.js';
import type { Effect } from '../../state/effects.js';
import { dropsTimersOf, isPurging } from '../../state/purge-table.js';
import {
  dueUsOfKey,
  type TimerDueRow,
  type TimerRow,
  tenantOfTimer,
  timerDue,
  timerDueKey,
  timerName,
  timerPayload,
  timers,
} from '../../state/timers/tables.js';
import type { Job, TurnRoom } from '../job.js';
import { jsonPayload } from './payload.js';
import { judgeTimers, timersEntryBytes, writeTimers } from './plan.js';

export interface TimerLimits {
  /** Timers that one turn fires. */
  readonly batchMax: number;
  /** Bytes of their messages in the entry, unless the first alone is longer. */
  readonly batchBytesMax: number;
  /** After the first failure that is charged; twice as long after each further one. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** After a failure that is not: the disk is full. */
  readonly transientBackoffMs: number;
  /** Failures after which a timer becomes a dead letter. */
  readonly attemptsMax: number;
  /** False: nothing fires at this node. */
  readonly fires: boolean;
}

export const TIMER_LIMITS: TimerLimits = {
  batchMax: 256,
  batchBytesMax: 4 * 1024 * 1024,
  backoffMinMs: 1000,
  backoffMaxMs: 60_000,
  transientBackoffMs: 1000,
  attemptsMax: 5,
  fires: true,
};

/** Where timers fire. */
export interface TimerSite {
  readonly limits: TimerLimits;
  readonly clock: TimerClock;
  readonly entryBytesMax: number;
  /** Told of the names that a dead letter makes. */
  readonly listener: PushListener;
  /** False: what grows the store has to wait. */
  readonly mayGrow: () => boolean;
}

/**
 * No further timer fires in a turn that has spent so much: the rest is for small commands. 256
 * timers of a few known partitions take less; but a timer may make a partition, or a queue.
 */
const FIRING_UNITS = (TURN_UNITS * 3) / 4;
const FIRST_KEY = '' as Key;
const LAST_DUE_KEY = '\xff'.repeat(9) as Key;
/** No sleep is longer: a platform's timer counts 24 days at most, a timer waits 90. */
const SLEEP_MS_MAX = 3_600_000;

export class Timers implements Job {
  readonly observes = ['timer', 'delay-timer'] as const;
  readonly #state: State;
  readonly #site: TimerSite;
  /** Nothing of `timerDue` stands before it. */
  #from: Key = FIRST_KEY;
  /** Instant of the first one, or before it; null: none is pending. */
  #nextUs: number | null;
  /** A turn ended with more that is due. */
  #more = false;
  #isOn = true;
  /** Monotonic; what is due waits until then. */
  #heldMs = 0;
  /** The time of the last turn, for timers and monotonic; null: there was none yet. */
  #last: { readonly us: number; readonly ms: number } | null = null;

  constructor(state: State, site: TimerSite) {
    this.#state = state;
    this.#site = site;
    this.#nextUs = this.#first();
    site.clock.lead();
  }

  /** The next turn has something to fire. */
  get busy(): boolean {
    return this.#more;
  }

  /** Monotonic milliseconds; null: never. */
  nextDueMs(): number | null {
    if (this.#nextUs === null || !this.#isOn) return null;
    if (this.#last === null) return 0;
    const { us, ms } = this.#last;
    const sleepMs = Math.min((this.#nextUs - us) / 1000, SLEEP_MS_MAX);
    return Math.max(ms + sleepMs, this.#heldMs);
  }

  observe(effect: Effect): void {
    if (effect.kind === 'timer') this.#added(effect.row.dueUs, effect.row.place);
    else if (effect.kind === 'delay-timer') {
      const row = this.#state.get(timers, effect.key);
      if (row !== undefined) this.#added(row.dueUs, row.place);
    }
  }

  #added(dueUs: number, place: Key): void {
    if (this.#nextUs === null || dueUs < this.#nextUs) this.#nextUs = dueUs;
    const key = timerDueKey(dueUs, place);
    if (key < this.#from) this.#from = key;
  }

  // --- calls -------------------------------------------------------------------------------------

  plan(draft: Draft, call: TimerCall): TimersOutcome | RefusedOutcome {
    const flaw = judgeTimers(draft, call);
    if (flaw !== null) return { kind: 'timers', flaw, results: [] };
    const bytes = timersEntryBytes(draft, call);
    const { entryBytesMax } = this.#site;
    if (bytes > entryBytesMax) {
      const error = `the call takes ${bytes} bytes, an entry holds ${entryBytesMax}`;
      return { kind: 'refused', refusal: { reason: 'too_large', error } };
    }
    return this.write(draft, call);
  }

  /** What was judged before, and fits. */
  write(draft: Draft, call: TimerCall): TimersOutcome {
    const results = writeTimers(draft, call, this.#now(draft));
    if (results.some(({ status }) => status !== 'absent')) this.#tell(draft);
    return { kind: 'timers', flaw: null, results };
  }

  // --- firing ------------------------------------------------------------------------------------

  /** Places the messages of the timers that are due. */
  turn(draft: Draft, room: TurnRoom): void {
    this.#more = false;
    if (this.#nextUs === null) return;
    const nowUs = this.#now(draft);
    if (this.#nextUs > nowUs) return;
    this.#isOn = this.#site.limits.fires && switchesOf(draft.state).timersFire;
    if (!this.#isOn || draft.nowMs < this.#heldMs) return;
    if (!this.#site.mayGrow()) {
      this.#heldMs = draft.nowMs + this.#site.limits.transientBackoffMs;
      return;
    }
    const plan = room.pushes;
    const found = this.#due(nowUs);
    let bytes = 0;
    const gone: Key[] = [];
    const mayBePurged = isPurging(this.#state);
    for (const [i, { key, row }] of found.entries()) {
      const isLong = bytes + row.bytes > this.#batchBytesMax;
      if (i > 0 && (isLong || draft.work + plan.units >= FIRING_UNITS)) {
        this.#more = true;
        break;
      }
      draft.spend(PRICES.timer);
      bytes += row.bytes;
      this.#from = `${key}\0` as Key;
      const { timer } = row;
      const isDropped = mayBePurged && dropsTimersOf(this.#state, tenantOfTimer(timer));
      if (isDropped || this.#fireOne(draft, plan, timer, nowUs)) gone.push(timer);
    }
    if (gone.length > 0) draft.emit({ kind: 'remove-timers', keys: gone });
    if (found.length > 0) this.#tell(draft);
    if (found.length === this.#site.limits.batchMax) this.#more = true;
    this.#nextUs = this.#first();
    // What failed is due later, and what the batch ended with may have been the last.
    this.#more &&= this.#nextUs !== null && this.#nextUs <= nowUs;
    room.placedBytes += bytes;
  }

  /** An entry takes at most so many bytes of one command's messages, so a batch takes no more. */
  get #batchBytesMax(): number {
    return Math.min(this.#site.limits.batchBytesMax, this.#site.entryBytesMax);
  }

  #due(nowUs: number): KeyedRow<TimerDueRow>[] {
    const to = timerDueKey(nowUs + 1, FIRST_KEY);
    return this.#state.range(timerDue, this.#from, to, this.#site.limits.batchMax);
  }

  /** True: it is done with; false: it is due later. */
  #fireOne(draft: Draft, plan: PushPlan, timer: Key, nowUs: number): boolean {
    const row = this.#state.get(timers, timer);
    assert(row !== undefined, 'a timer is due that does not exist');
    const payload = jsonPayload(timerPayload(this.#state, row), row.isJson);
    const [status] = plan.pushPromised(pushOf(timer, row, payload)).outcome().status;
    const isDuplicate = status === ITEM_DUPLICATE || status === ITEM_DUPLICATE_GONE;
    if (status === ITEM_QUEUED || isDuplicate) return true;
    // A push is refused only for its length: an entry may hold less than when it was scheduled.
    const { entryBytesMax } = this.#site;
    const what = `the message has ${payload.length} bytes, an entry holds ${entryBytesMax}`;
    return this.#failed(draft, timer, row, `too_large: ${what}`, nowUs);
  }

  /** True: it has become a dead letter; false: it is due later. */
  #failed(draft: Draft, timer: Key, row: TimerRow, lastError: string, nowUs: number): boolean {
    const { limits } = this.#site;
    const attempts = row.attempts + 1;
    if (attempts < limits.attemptsMax) {
      const backoffMs = Math.min(limits.backoffMinMs * 2 ** row.attempts, limits.backoffMaxMs);
      const dueUs = nowUs + backoffMs * 1000;
      const delay = { dueUs, attempts, lastError, updatedAtUs: nowUs };
      draft.emit({ kind: 'delay-timer', key: timer, delay });
      return false;
    }
    fileTimer(draft, this.#site.listener, timer, { ...row, attempts, lastError });
    return true;
  }

  // --- time --------------------------------------------------------------------------------------

  #now(draft: Draft): number {
    const { nowMs } = draft;
    const leastUs = readMeta(this.#state).timerUs;
    const us = this.#site.clock.nowUs({ wallUs: draft.nowUs, nowMs }, leastUs);
    this.#last = { us, ms: nowMs };
    return us;
  }

  /** The entry says what time it was, for those who lead later. */
  #tell(draft: Draft): void {
    const { us = 0 } = this.#last ?? {};
    if (us > readMeta(this.#state).timerUs) draft.emit({ kind: 'timer-clock', us });
  }

  /** null: none is pending. */
  #first(): number | null {
    const [first] = this.#state.range(timerDue, this.#from, LAST_DUE_KEY, 1);
    if (first === undefined) return null;
    this.#from = first.key;
    return dueUsOfKey(first.key);
  }
}

/**
 * A payload that was encrypted when it was scheduled is pushed as it is, to any queue. A payload
 * that was not is encrypted if the queue asks for that by now.
 */
function pushOf(timer: Key, row: TimerRow, payload: Uint8Array): PushCommand {
  const { tenant, queue } = timerName(timer);
  return {
    kind: 'push',
    tenant,
    producerSub: row.producerSub,
    body: payload,
    groups: [{ queue, partition: row.partition }],
    itemGroup: [0],
    transactionIds: [row.txn],
    payloadStart: [0],
    payloadEnd: [payload.length],
    envelopes: [row.encrypted ? payload : undefined],
    messageIds: [row.messageId],
  };
}

/** In the queue that the message was for; encrypted if the timer is. */
function fileTimer(draft: Draft, listener: PushListener, timer: Key, row: TimerRow): void {
  const { tenant, queue: name } = timerName(timer);
  let queue = findQueue(draft.state, tenant, name);
  if (queue === undefined) {
    queue = createQueue(draft, tenant, name);
    listener.queueCreated(draft, queue);
  }
  let partition = findPartition(draft.state, queue.number, row.partition);
  if (partition === undefined) {
    partition = createPartition(draft, queue.number, row.partition);
    listener.partitionCreated(draft, queue, partition);
  }
  const payload = jsonPayload(timerPayload(draft.state, row), row.isJson);
  const letter = {
    id: draft.mintDeadLetterId(queue.number),
    queue: queue.number,
    partition: partition.number,
    group: TIMER_GROUP,
    offset: -1,
    messageId: row.messageId,
    transactionId: row.txn,
    producerSub: row.producerSub,
    retries: row.attempts,
    error: row.lastError ?? '',
    failedAtUs: draft.nowUs,
    payload: new Uint8Array(payload),
    reason: 'timer' as const,
  };
  draft.emit({ kind: 'dead-letter', row: letter });
}
