/**
 * Clients of timers: they schedule, replace and cancel, and one that consumes tells when a message
 * was there first. What they did and saw is a history for the checker of timers.
 *
 * A client uses a key alone, and leaves it for another one after a call without an answer, which
 * may still come. The queue deduplicates nothing, so that firing twice shows.
 */
import type { ConfigureCommand, TimerCall, TimerOp, TimersOutcome } from '@svc/engine';
import type { SubmittedOutcome } from '@svc/http';
import type { ReadRecord } from '../checkers/history.js';
import {
  checkTimers,
  type FiredMessage,
  type TimerCall as JudgedCall,
  type TimerSchedule,
} from '../checkers/timer-checker.js';
import { TENANT } from './client-messages.js';
import type { Caller, NoAnswer } from './client-network.js';
import { pop } from './client-pop.js';
import {
  isRefused,
  isTold,
  type SurfaceClient,
  type SurfaceClientOptions,
} from './surface-client.js';

const QUEUE = 'sim.timers';
const GROUP = 'alarm';
const PARTITIONS = ['0', '1'];
/** Timers of a run, so that firing them costs little. */
const SCHEDULES_MAX = 60;
const POP_MS = 500;
const AGAIN_MS = 50;
/** When all have fired, a while is left for those that fire again. */
const AGAIN_FIRED_MS = 100;
/** A timer is fired so soon after it is due, once the machines are at rest, by good clocks. */
const LATE_MS_MAX = 500;
const CHANGES: ConfigureCommand['changes'] = { dedupWindowSeconds: 0 };
const UNKNOWN = { outcome: 'unknown', messageId: null, removed: null } as const;

export class TimerClients implements SurfaceClient {
  readonly places = PARTITIONS.map((partition) => [QUEUE, partition] as const);
  readonly #options: SurfaceClientOptions;
  readonly #calls: JudgedCall[] = [];
  readonly #seenMs = new Map<string, { readonly messageId: string; readonly atMs: number }>();
  /** When everything that may have been scheduled is due. */
  #dueMs = 0;
  /** When the machines were found at rest first. */
  #restMs: number | null = null;
  #ended = false;
  #isOver = false;
  #open = 0;
  #keys = 0;
  #schedules = 0;

  constructor(options: SurfaceClientOptions) {
    this.#options = options;
  }

  start(): void {
    const { network, random } = this.#options;
    const first = network.caller();
    this.#configure(first, () => {
      for (let i = random.between(1, 3); i > 0; i--) this.#use(network.caller(), this.#newKey());
      this.#consume(first);
    });
  }

  end(): void {
    this.#ended = true;
  }

  unfinished(): string | null {
    const { loop, lateMs } = this.#options;
    const { nowMs } = loop;
    if (this.#open > 0) return `${this.#open} calls of timers are under way`;
    this.#restMs ??= nowMs;
    if (nowMs < this.#dueMs + AGAIN_FIRED_MS) return 'timers are not due';
    const untilMs = Math.max(this.#dueMs, this.#restMs) + LATE_MS_MAX + lateMs();
    this.#isOver = nowMs >= untilMs || this.#haveFired();
    return this.#isOver ? null : 'timers are late';
  }

  /** Whatever is certain to be pending was seen. */
  #haveFired(): boolean {
    const last = new Map<string, JudgedCall>();
    for (const call of this.#calls) {
      const isOpen = last.get(call.key)?.outcome === 'unknown' || call.outcome === 'refused';
      if (!isOpen) last.set(call.key, call);
    }
    return [...last.values()].every(
      ({ schedule, messageId }) =>
        schedule === null || messageId === null || this.#seenMs.has(schedule.transactionId),
    );
  }

  judge(records: readonly ReadRecord[]): readonly string[] {
    const messages = records.map(({ partition, transactionId, payload }): FiredMessage => {
      const seen = this.#seenMs.get(transactionId);
      const seenMs = seen?.atMs ?? Number.POSITIVE_INFINITY;
      return {
        destination: partition,
        transactionId,
        messageId: seen?.messageId ?? this.#promised(transactionId),
        payload,
        seenMs,
      };
    });
    const { timerBreaksMs: clockBreaksMs, isDoubtful } = this.#options;
    const calls = this.#calls.map((call): JudgedCall => {
      return isDoubtful(call.endedMs) ? { ...call, ...UNKNOWN } : call;
    });
    const anomalies = checkTimers({ calls, messages, clockBreaksMs });
    return anomalies.map(({ kind, text }) => `timer ${kind}: ${text}`);
  }

  /** Reading by offset does not show ids, so nothing is said of one that nobody popped. */
  #promised(transactionId: string): string {
    const call = this.#calls.find(({ schedule }) => schedule?.transactionId === transactionId);
    return call?.messageId ?? '';
  }

  #soon(delayMs: number, work: () => void): void {
    const { loop, pace } = this.#options;
    loop.schedule(pace.stretch(delayMs), null, work);
  }

  #configure(caller: Caller, done: () => void): void {
    caller.call<SubmittedOutcome>(
      (broker, reply) => {
        const target = { tenant: TENANT, queue: QUEUE, replace: false, changes: CHANGES };
        broker.submit({ kind: 'configure', ...target }, reply);
      },
      (answer) => {
        if (isTold(answer) && answer.kind === 'configured') done();
        else if (!this.#ended) this.#soon(AGAIN_MS, () => this.#configure(caller, done));
      },
    );
  }

  #newKey(): string {
    return `k${this.#keys++}`;
  }

  /** One call after the other, now and then as late as the timer is due. */
  #use(caller: Caller, key: string): void {
    const { delayMsMax, random } = this.#options;
    const cancels = random.chance(0.35);
    if (this.#ended || (!cancels && this.#schedules >= SCHEDULES_MAX)) return;
    const delayMs = random.chance(0.1) ? 0 : random.between(0, delayMsMax);
    const schedule = cancels ? null : this.#newSchedule(delayMs);
    this.#ask(caller, key, schedule, (outcome) => {
      const isKnown = outcome !== 'unknown';
      const next = isKnown && random.chance(0.8) ? key : this.#newKey();
      const pauseMs = random.chance(0.4) ? random.between(0, delayMs) : random.between(1, 60);
      this.#soon(pauseMs, () => this.#use(caller, next));
    });
  }

  #newSchedule(delayMs: number): TimerSchedule {
    const transactionId = `t${this.#schedules++}`;
    const destination = `${QUEUE}/${this.#options.random.pick(PARTITIONS)}`;
    return { transactionId, delayMs, payload: `{"timer":"${transactionId}"}`, destination };
  }

  #ask(
    caller: Caller,
    key: string,
    schedule: TimerSchedule | null,
    done: (outcome: JudgedCall['outcome']) => void,
  ): void {
    const { loop, note } = this.#options;
    const beganMs = loop.nowMs;
    const call: TimerCall = {
      kind: 'timers',
      tenant: TENANT,
      producerSub: null,
      ops: [schedule === null ? cancelOf(key) : scheduleOf(key, schedule)],
    };
    this.#open++;
    caller.call<SubmittedOutcome>(
      (broker, reply) => broker.submit(call, reply),
      (answer) => {
        this.#open--;
        const endedMs = loop.nowMs;
        if (schedule !== null) this.#dueMs = Math.max(this.#dueMs, endedMs + schedule.delayMs);
        const judged = { key, schedule, beganMs, endedMs, ...toldBy(answer) };
        this.#calls.push(judged);
        note(`timer ${key} ${schedule?.transactionId ?? 'cancel'} ${judged.outcome}`);
        done(judged.outcome);
      },
    );
  }

  #consume(caller: Caller): void {
    const { loop, note, pace, random } = this.#options;
    const timeoutMs = Math.ceil(pace.stretch(POP_MS));
    const settings = { queue: QUEUE, group: GROUP, batch: 10, partitions: 2 };
    pop(caller, { ...settings, leaseSeconds: null, timeoutMs }, (claimed) => {
      for (const { transactionId, messageId } of claimed) {
        note(`timer fired ${transactionId}`);
        if (!this.#seenMs.has(transactionId)) {
          this.#seenMs.set(transactionId, { messageId, atMs: loop.nowMs });
        }
      }
      if (!this.#isOver) this.#soon(random.between(1, 20), () => this.#consume(caller));
    });
  }
}

function scheduleOf(key: string, schedule: TimerSchedule): TimerOp {
  const { transactionId, delayMs, payload, destination } = schedule;
  return {
    op: 'schedule',
    queue: QUEUE,
    timerKey: key,
    partition: destination.slice(QUEUE.length + 1),
    delayUs: delayMs * 1000,
    txn: transactionId,
    payload: Buffer.from(payload, 'latin1'),
    isJson: true,
    encrypted: false,
  };
}

function cancelOf(key: string): TimerOp {
  return { op: 'cancel', queue: QUEUE, timerKey: key, txn: null };
}

function toldBy(
  answer: SubmittedOutcome | NoAnswer,
): Pick<JudgedCall, 'outcome' | 'messageId' | 'removed'> {
  if (isRefused(answer)) return { ...UNKNOWN, outcome: 'refused' };
  if (!isTold(answer)) return UNKNOWN;
  if (answer.kind !== 'timers') throw new Error(`a call on timers was answered ${answer.kind}`);
  const [result] = (answer as TimersOutcome).results;
  if (result === undefined) throw new Error('a call on timers has no result');
  switch (result.status) {
    case 'scheduled':
    case 'rescheduled':
      return { ...UNKNOWN, outcome: result.status, messageId: result.messageId };
    case 'cancelled':
      return { ...UNKNOWN, outcome: 'cancelled', removed: result.txn };
    case 'absent':
      return { ...UNKNOWN, outcome: 'absent' };
  }
}
