/**
 * The rings of this node with the node's clock: each call does what is due first, and one timer
 * stands for whatever is due next. Nothing is polled.
 */
import {
  type Allowance,
  type CarriedRing,
  type Delivered,
  type EphemeralQueue,
  EphemeralRings,
  formatMessageId,
  type MessageId,
  type Payloads,
  type PopEnd,
  parseMessageId,
  type QueueTerms,
  type RingLimits,
  type RingPlace,
  type RingRefusal,
  termsInForce,
} from '@svc/ephemeral';
import type { EphemeralAckOutcome, EphemeralAcks, EphemeralMessage, EphemeralPop } from '@svc/http';
import { DEFAULT_PARTITION, type EphemeralMeters } from '@svc/wire';
import type { Cancel, Clock } from '../system/clock.js';
import { EphemeralAnswers } from './answers.js';
import { declaredTerms } from './declared.js';
import type { AskedGiveBack } from './frames.js';

export interface LocalRingsOptions {
  readonly clock: Clock;
  readonly fraction: () => number;
  readonly limits: RingLimits;
  readonly meters: EphemeralMeters;
  /** The options as they were declared; undefined: the queue is not declared. */
  readonly declared: (tenant: string, queue: string) => string | undefined;
  readonly allowance: (tenant: string) => Allowance;
}

const INCARNATIONS = 2 ** 48;
/** A platform's timer takes 24 days at most. */
const TIMER_MS_MAX = 3_600_000;

export class LocalRings {
  readonly #options: LocalRingsOptions;
  readonly #clock: Clock;
  readonly #rings: EphemeralRings;
  readonly #answers: EphemeralAnswers;
  #cancelTimer: Cancel = () => {};
  #armedMs = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(options: LocalRingsOptions) {
    const { clock, fraction, limits, meters, declared, allowance } = options;
    this.#options = options;
    this.#clock = clock;
    this.#answers = new EphemeralAnswers(clock, (ticket) =>
      this.#done(this.#rings.retry(ticket, clock.nowMs())),
    );
    this.#rings = new EphemeralRings({
      limits,
      newIncarnation: () => 1 + Math.floor(fraction() * (INCARNATIONS - 1)),
      dropped: meters.dropped,
      declaredOf: (tenant, queue) => declaredTerms(declared(tenant, queue)),
      allowanceOf: allowance,
      room: this.#answers,
    });
  }

  get bytes(): number {
    return this.#rings.bytes;
  }

  /** Bytes of one tenant. */
  bytesOf(tenant: string): number {
    return this.#rings.bytesOf(tenant);
  }

  get parked(): number {
    return this.#rings.parked;
  }

  find(tenant: string, queue: string): EphemeralQueue | null {
    return this.#rings.find(tenant, queue);
  }

  /** In no order. One that comes or goes while they are passed may be among them or not. */
  ofTenant(tenant: string): Iterable<EphemeralQueue> {
    return this.#rings.ofTenant(tenant);
  }

  /** The terms of a queue that holds nothing here. */
  termsOf(options: string | undefined): QueueTerms {
    return termsInForce(declaredTerms(options), this.#options.limits.ceilings);
  }

  push(place: RingPlace, payloads: Payloads): RingRefusal | null {
    return this.#done(this.#rings.push(place, payloads, this.#clock.nowMs()));
  }

  /**
   * `onEnd` runs once, also before this returns; not when it is refused or given up, which the
   * result does. `ticket`: a reply with room for the answer, or one without, which counts nothing.
   */
  pop(request: EphemeralPop, ticket: object, onEnd: (end: PopEnd) => void): RingRefusal | Cancel {
    const pop = { ...request, ticket, onEnd };
    const outcome = this.#done(this.#rings.pop(pop, this.#clock.nowMs()));
    if (typeof outcome === 'string') return outcome;
    if (outcome === null) return () => {};
    return () => this.#done(this.#rings.cancel(outcome, this.#clock.nowMs()));
  }

  ack({ tenant, queue, group, ids, verdicts }: EphemeralAcks): EphemeralAckOutcome[] {
    const items = ids.map((id, i) => ({
      id: parseMessageId(id),
      verdict: verdicts[i] ?? ('failed' as const),
    }));
    return this.#done(this.#rings.ack(tenant, queue, group, items, this.#clock.nowMs()));
  }

  giveBack({ tenant, queue, group, ids }: AskedGiveBack): void {
    const parsed = ids.map(parseMessageId).filter((id): id is MessageId => id !== null);
    this.#done(this.#rings.giveBack(tenant, queue, group, parsed, this.#clock.nowMs()));
  }

  /** Messages that went. */
  reset(tenant: string, queue: string): number {
    return this.#done(this.#rings.reset(tenant, queue, this.#clock.nowMs()));
  }

  /** What was declared of the queue has changed; undefined: it is gone with all that it had. */
  declarationChanged(tenant: string, queue: string, options: string | undefined): void {
    const nowMs = this.#clock.nowMs();
    if (queue === '') this.#rings.dropTenant(tenant);
    else if (options === undefined) this.#rings.drop(tenant, queue);
    else this.#rings.declare(tenant, queue, declaredTerms(options), nowMs);
    this.#done(undefined);
  }

  /** Takes out what belongs elsewhere, a batch at a step. */
  *detach(staysHere: (place: RingPlace) => boolean): Generator<CarriedRing[], void> {
    const walk = this.#rings.detach(staysHere, DEFAULT_PARTITION, () => this.#clock.nowMs());
    for (;;) {
      const step = this.#done(walk.next());
      if (step.done === true) return;
      yield step.value;
    }
  }

  landed(ring: CarriedRing): void {
    this.#done(this.#rings.landed(ring));
  }

  adopt(ring: CarriedRing): boolean {
    return this.#done(this.#rings.adopt(ring, this.#clock.nowMs()));
  }

  /** Pops that wait get nothing. */
  endWaiting(): void {
    this.#done(this.#rings.endWaiting());
  }

  /** Nothing is due any more. */
  stop(): void {
    this.#stopped = true;
    this.#answers.stop();
    this.#cancelTimer();
  }

  /** After every call: the timer and the gauges follow. */
  #done<Value>(value: Value): Value {
    const { meters } = this.#options;
    meters.bytes = this.#rings.bytes;
    meters.queues = this.#rings.queues;
    const { nextDueMs } = this.#rings;
    if (nextDueMs < this.#armedMs && !this.#stopped) this.#arm(nextDueMs);
    return value;
  }

  #arm(dueMs: number): void {
    this.#cancelTimer();
    this.#armedMs = dueMs;
    // Whole milliseconds: a fraction may be lost in the sum with now, and then nothing would be
    // due.
    const leftMs = Math.ceil(dueMs - this.#clock.nowMs());
    const delayMs = Math.min(Math.max(0, leftMs), TIMER_MS_MAX);
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#armedMs = Number.POSITIVE_INFINITY;
      this.#done(this.#rings.run(this.#clock.nowMs()));
    });
  }
}

export function messageOf(delivered: Omit<Delivered, 'atMs'>): EphemeralMessage {
  const { incarnation, partition, sequence, attempts, bytes, start, end } = delivered;
  const id = formatMessageId(incarnation, partition, sequence);
  return { id, partition, attempts, bytes, start, end };
}

/** Acks go to whoever owns the partition of the first of them. */
export function placeOfAcks({ tenant, queue, ids }: AskedGiveBack): RingPlace {
  const partition = parseMessageId(ids[0] ?? '')?.partition ?? DEFAULT_PARTITION;
  return { tenant, queue, partition };
}
